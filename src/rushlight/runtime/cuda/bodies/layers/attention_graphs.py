"""Attention as graphs of cuDNN: what is computed, forward and backward, for arrays that lie as they do."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .....base.config import settings
from ...library.cudnn import frontend, handle, version

if TYPE_CHECKING:
    from .....base.protocols import DeviceArray


def _graph(char: str) -> tuple[Any, Any]:
    cudnn = frontend()
    io = cudnn.data_type.HALF if char == "e" else cudnn.data_type.BFLOAT16
    wide = cudnn.data_type.FLOAT
    made = cudnn.pygraph(
        handle=handle(), io_data_type=io, intermediate_data_type=wide, compute_data_type=wide
    )
    return made, io


def _tensor(graph: Any, a: DeviceArray, kind: Any) -> Any:
    strides = [s // a.itemsize for s in a.strides]
    return graph.tensor(dim=list(a.shape), stride=strides, data_type=kind)


def _output(tensor: Any, like: DeviceArray, kind: Any) -> Any:
    strides = [s // like.itemsize for s in like.strides]
    return tensor.set_output(True).set_data_type(kind).set_dim(list(like.shape)).set_stride(strides)


def _extras(
    graph: Any, io: Any, bias: DeviceArray | None, p: float
) -> tuple[dict[str, Any], list[Any]]:
    """The options of a graph with a bias or dropout, and its tensors for them."""
    how: dict[str, Any] = {}
    tensors = []
    if bias is not None:
        how["bias"] = _tensor(graph, bias, io)
        tensors.append(how["bias"])
    if p:
        one, kind = [1, 1, 1, 1], frontend().data_type.INT64
        drawn = [graph.tensor(dim=one, stride=one, data_type=kind) for _ in range(2)]
        how["dropout"] = (p, *drawn)
        tensors += drawn
    return how, tensors


def forward(arrays: tuple, made: tuple, causal: bool, scale: float, p: float) -> Any:
    q, k, v, bias = arrays
    graph, io = _graph(q.dtype.char)
    ins = [_tensor(graph, a, io) for a in (q, k, v)]
    how, more = _extras(graph, io, bias, p)
    o, s = graph.sdpa(
        q=ins[0], k=ins[1], v=ins[2], attn_scale=scale, use_causal_mask=causal,
        generate_stats=True, name="attention", **how,
    )  # fmt: skip
    _output(o, made[0], io)
    _output(s, made[1], frontend().data_type.FLOAT)
    return graph, (*ins, *more, o, s)


def backward(arrays: tuple, grads: tuple, causal: bool, scale: float, p: float) -> Any:
    gy, q, k, v, bias, out, stats = arrays
    graph, io = _graph(q.dtype.char)
    wide = frontend().data_type.FLOAT
    tq, tk, tv, to, tg = [_tensor(graph, a, io) for a in (q, k, v, out, gy)]
    ts = _tensor(graph, stats, wide)
    how, more = _extras(graph, io, bias, p)
    found = graph.sdpa_backward(
        q=tq, k=tk, v=tv, o=to, dO=tg, stats=ts, attn_scale=scale, use_causal_mask=causal,
        use_deterministic_algorithm=settings.deterministic or settings.cudnn_deterministic,
        name="attention_grad", **how,
    )  # fmt: skip
    for t, a in zip(found, grads):
        _output(t, a, io)
    return graph, (tg, tq, tk, tv, *more, to, ts, *found)


def tell_of_versions(name: str, said: str) -> None:
    """Warn when the front end asks for something that the installed cuDNN does not know."""
    if "set_attribute" in said:
        front, own = getattr(frontend(), "__version__", "?"), version()
        warnings.warn(
            f"nvidia-cudnn-frontend {front} does not fit cuDNN {own}, so {name} takes a way that is "
            "several times slower; pip install 'nvidia-cudnn-frontend<1.23' or a newer cuDNN",
            stacklevel=2,
        )
