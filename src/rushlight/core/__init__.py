"""Tensor, the tape and Op: the engine, which knows no particular op."""
