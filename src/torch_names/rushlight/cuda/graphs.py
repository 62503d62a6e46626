"""`torch.cuda.graphs`: graphs that the caller captures; rushlight captures its own in `compile`."""

from ..base.refusal import absent_classes, refuser

_LACKS = "captures CUDA graphs by itself"
_INSTEAD = 'rushlight.compile(fn, mode="reduce-overhead") replays one where it can.'

globals().update(absent_classes("cuda", _LACKS, _INSTEAD, ("CUDAGraph", "graph")))
_refuse = refuser("cuda", _LACKS, _INSTEAD)
graph_pool_handle = _refuse("graph_pool_handle")
make_graphed_callables = _refuse("make_graphed_callables")


def is_current_stream_capturing() -> bool:
    """Whether what is launched now goes into a graph of the caller's: never."""
    return False
