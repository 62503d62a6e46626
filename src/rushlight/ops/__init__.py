"""Every op, one file per family; importing this package defines them and gives Tensor its methods."""

from importlib import import_module as _import

for _family in (
    "casting", "arithmetic", "movement", "unary", "rounding", "compare", "bitwise", "select", "pairs", "special", "bessel", "reduce", "statistics", "scan",
    "sorting", "memory", "window", "strided", "reshape_inplace", "storage", "join", "split", "rearrange", "combine", "indexing", "gather", "scatter_reduce", "masked", "diagonal", "view_copies", "creation", "creation_like", "ranges", "signal_windows", "tensor_factory",
    "generator", "random", "sampling", "legacy", "query", "interop", "matmul", "einsum", "linalg", "fft", "complex", "conv", "conv_grad", "pool", "fold", "resample",
    "padding", "activation", "softmax", "loss", "loss_more", "norm", "dropout", "attention", "embedding",
    "recurrent", "distance", "vision_ops", "update",
):  # fmt: skip
    try:  # lead: replace by plain imports when all exist
        _import(f"{__name__}.{_family}")
    except ModuleNotFoundError as _error:
        if _error.name != f"{__name__}.{_family}":
            raise
