"""The same elements under another shape, order or window."""
