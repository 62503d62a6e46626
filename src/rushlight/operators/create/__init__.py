"""New tensors: filled, like another, from data, by a rule."""
