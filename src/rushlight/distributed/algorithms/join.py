"""`torch.distributed.algorithms.join`: processes with different numbers of batches."""

from .._one import classes

globals().update(classes("algorithms.join", "Join", "JoinHook", "Joinable"))
