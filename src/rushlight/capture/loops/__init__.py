"""Loops that repeat, found without annotation: Python runs, kernels are matched and run as programs."""
