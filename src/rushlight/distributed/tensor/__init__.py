"""`torch.distributed.tensor`: tensors of which every rank has a part."""

from ..device_mesh import DeviceMesh, init_device_mesh
from . import rules as rules  # what functions do with these tensors
from .dtensor import DTensor, distribute_tensor
from .making import distribute_module, empty, full, ones, rand, randn, zeros
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor",
    "empty", "full", "init_device_mesh", "ones", "rand", "randn", "zeros",
]  # fmt: skip
