"""ShapeProp: runs a graph and notes the shape and dtype of every node's value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

if TYPE_CHECKING:
    from ..graph_module import GraphModule

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its values."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


class ShapeProp(Interpreter):
    """`ShapeProp(gm).propagate(x)` leaves `node.meta["tensor_meta"]` and `node.meta["type"]`."""

    def __init__(self, gm: GraphModule, fake_mode: Any = None) -> None:
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        found = False

        def note(value: Any) -> Any:
            nonlocal found
            if not isinstance(value, Tensor):
                return value
            found = True
            return TensorMetadata(value.shape, value.dtype, value.requires_grad, value.stride(), None, False, {})

        seen = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = seen
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run on these inputs."""
        return super().run(*args)
