"""`torch.distributed.tensor._utils`: which part of a spread tensor a process has."""

from .._one import functions

globals().update(functions("tensor._utils", "compute_local_shape_and_global_offset"))
