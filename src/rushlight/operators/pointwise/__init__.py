"""Element by element: arithmetic, comparison, elementary and special functions, activations."""
