"""`torch.distributed.tensor`: tensors of which every rank has a part."""

from ..device_mesh import DeviceMesh, init_device_mesh
from .dtensor import DTensor, distribute_tensor
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_tensor",
    "init_device_mesh",
]  # fmt: skip
