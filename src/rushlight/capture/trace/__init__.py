"""Functions split at host reads: Python runs, kernels are matched and run as programs."""
