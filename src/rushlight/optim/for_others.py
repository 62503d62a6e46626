"""Helpers that optimisers of other libraries import from `torch.optim.optimizer`; ours have no use for them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from ..base import dtypes
from ..core.modes import set_grad_enabled
from ..core.overriding import asks
from ..core.tensor import Tensor
from ..operators.pointwise.complex import view_as_real
from ..operators.shape.join import stack
from ..runtime.thread import here

TensorListList = list[list[Tensor | None]]
Indices = list[int]
_foreach_supported_types = [Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Where lists of tensors are worked on in few launches, so that optimisers choose that unasked."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Where a whole update is one kernel."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Columns of lists, gathered by device and dtype of the first list: (lists, places of the columns)."""
    if not tensorlistlist or not tensorlistlist[0]:
        return {}
    first = tensorlistlist[0]
    if any(rest and len(rest) != len(first) for rest in tensorlistlist):
        raise RuntimeError("Tensors of the same index must be on the same device and dtype")
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for place, t in enumerate(first):
        lists, places = groups.setdefault((t.device, t.dtype), ([[] for _ in tensorlistlist], []))
        for kept, given in zip(lists, tensorlistlist):
            if given:
                kept.append(given[place])
        if with_indices:
            places.append(place)
    return groups


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: Sequence[Any], device: Any) -> bool:
    """Whether all of them can be given to `_foreach_*` functions: plain tensors, or None."""
    plain = all(t is None or type(t) in _foreach_supported_types for t in tensors)
    return plain and _device_has_foreach_support(device)


ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
StateDict: TypeAlias = dict[str, Any]
DeviceDict = dict[Any, Tensor]
DeviceDtypeDict = dict[Any, Tensor]

_params_doc = "params: parameters, named parameters, or dicts that describe groups of them"
_foreach_doc = (
    "foreach: whether updates run over whole lists of tensors; None lets the library choose"
)
_fused_doc = "fused: whether an update is one kernel; None lets the library choose"
_capturable_doc = "capturable: whether a step may be recorded in a CUDA graph (default: False)"
_differentiable_doc = "differentiable: whether steps are put on the tape (default: False)"
_maximize_doc = "maximize: climb instead of descend (default: False)"


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of `step`: on the tape if the optimiser is `differentiable`, else not."""

    @functools.wraps(func)
    def step(*args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(args[0].defaults["differentiable"])):
            return func(*args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    """The number in a tensor; while a recorder listens the tensor itself, which a replay reads anew."""
    return x.item() if isinstance(x, Tensor) and here.recorder is None else x


def _stack_if_compiling(x: Any) -> Any:
    return x if here.recorder is None else stack(x)


def _dispatch_sqrt(x: Any) -> Any:
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Callable], Callable]:
    """Decorator of update rules; every rule can be recorded here."""
    return lambda func: func


def _default_to_fused_or_foreach(
    params: Sequence[Any], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """What an optimiser does unasked: (fused, foreach), at most one of them true."""
    if differentiable:
        return False, False
    some = [p for p in params if p is not None]
    plain = all(isinstance(p, Tensor) and not asks(type(p)) for p in some)
    fusable = _get_fused_kernels_supported_devices()
    fused = use_fused and plain
    fused = fused and all(p.device.type in fusable and p.is_floating_point() for p in some)
    listable = _get_foreach_kernels_supported_devices()
    return fused, not fused and plain and all(p.device.type in listable for p in some)


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    allowed = _get_fused_kernels_supported_devices()
    if cuda_unsupported:
        allowed.remove("cuda")
    if not (p.device.type in allowed and p.is_floating_point()):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported devices: "
            f"{allowed} but {p.dtype} and {p.device.type}"
        )


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Let complex tensors in these lists be seen as pairs of real numbers."""
    for i, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = view_as_real(tensors[i])


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of step counts."""
    double = dtypes.get_default_dtype() == dtypes.float64 and not is_fused
    return dtypes.float64 if double else dtypes.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Devices whose steps PyTorch can put into a graph."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without its dims."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() else x


def group_tensors(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Lists by device and dtype; all in one group under a recorder, whose passes sort them themselves."""
    if here.recorder is not None:
        places = list(range(len(tensorlistlist[0])))
        return {(None, None): ([list(one) for one in tensorlistlist], places)}
    return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)
