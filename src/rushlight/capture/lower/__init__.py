"""Lowering: a program becomes something that runs, a list of calls on the CPU or a CUDA graph."""
