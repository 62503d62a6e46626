"""Tensor, the tape and Op: the engine, which does not know any particular op."""
