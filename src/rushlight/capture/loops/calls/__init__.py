"""Calls of a loop that stand for many kernels: `backward()` and `optimizer.step()` are compared as a whole."""
