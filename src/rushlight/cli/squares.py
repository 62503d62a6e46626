"""ONNX's nodes for what is done to a picture before a network: the same steps as `data.pictures.shrink` and `data.augment.plain`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .data.augment import ground
from .data.pictures import LONGEST, kept_side

PICTURES, SQUARES = "image", "squares"


def put_before(model: Any, saved: dict[str, Any], margin: float) -> None:
    """Let a model of squares take pictures of any size, as bytes: rows of pixels as files have them."""
    from onnx import TensorProto, helper, numpy_helper

    graph, size, channels = model.graph, saved["size"], saved["channels"]
    made: list[Any] = []

    def value(given: Any) -> str:
        if isinstance(given, str):
            return given
        name = f"{SQUARES}_constant_{len(graph.initializer)}"
        graph.initializer.append(numpy_helper.from_array(np.asarray(given), name))
        return name

    def node(op: str, *given: Any, **attributes: Any) -> str:
        made.append(helper.make_node(op, [value(g) for g in given], [f"{SQUARES}_{len(made)}"], **attributes))
        return made[-1].output[0]

    def times(sides: str, to: Any, by: str, last: str = "Round") -> str:
        """sides x to / by, rounded half to even or, by Floor, down."""
        a, b, c = (node("Cast", v, to=TensorProto.DOUBLE) for v in (sides, to, by))
        return node("Cast", node(last, node("Div", node("Mul", a, b), c)), to=TensorProto.INT64)

    def resized(x: str, sides: Any) -> str:
        return node("Resize", x, "", "", sides, axes=[2, 3], mode="linear", antialias=1)

    def half(sides: str) -> str:
        return times(sides, [1], value(np.array([2])))

    x = node("Transpose", PICTURES, perm=[0, 3, 1, 2])
    sides = node("Shape", x, start=2, end=4)
    short = node("ReduceMin", sides)
    cut = node("Div", node("Sub", sides, node("Min", sides, node("Mul", short, [int(LONGEST)]))), [2])
    x = node("Slice", x, cut, node("Sub", sides, cut), [2, 3])
    sides = node("Sub", sides, node("Mul", cut, [2]))
    sides = node("Max", times(sides, node("Min", short, [kept_side(size)]), short), [1])
    x = resized(x, sides)
    kind = saved["config"]["fit"]
    if kind == "squash":
        x = resized(x, [size, size])
    elif kind == "pad":
        sides = times(sides, [size], node("ReduceMax", sides))
        x = resized(x, sides)
    else:
        sides = times(sides, [round(size * margin)], node("ReduceMin", sides), "Floor")
        begin = half(node("Sub", sides, [size]))
        x = node("Slice", resized(x, sides), begin, node("Add", begin, [size]), [2, 3])
    x = node("Cast", x, to=TensorProto.FLOAT)
    if kind == "pad":
        colour = np.array(ground(channels), np.float32).reshape(1, -1, 1, 1)
        gap = node("Sub", [size, size], sides)
        around = node("Concat", [0, 0], half(gap), [0, 0], node("Sub", gap, half(gap)), axis=0)
        x = node("Add", node("Pad", node("Sub", x, colour), around), colour)
    mean, std = (255 * np.float32(saved[name]).reshape(1, -1, 1, 1) for name in ("mean", "std"))
    x = node("Div", node("Sub", x, mean), std)
    made[-1].output[0] = graph.input[0].name
    batch = graph.input[0].type.tensor_type.shape.dim[0]
    shape = [batch.dim_param or batch.dim_value, "height", "width", channels]
    graph.input[0].CopyFrom(helper.make_tensor_value_info(PICTURES, TensorProto.UINT8, shape))
    nodes = [*made, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
