"""`torch.distributed.tensor`: tensors spread over several processes."""

from .._one import classes, functions
from ..device_mesh import DeviceMesh  # type: ignore[attr-defined]
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DeviceMesh", "Partial", "Placement", "Replicate", "Shard"]

globals().update(classes("tensor", "DTensor"))
globals().update(functions("tensor", "distribute_module", "distribute_tensor", "init_device_mesh"))
