# ruff: noqa: N999 - PyTorch's name
"""`torch._C`: the part of PyTorch's inner module that libraries reach into."""

from __future__ import annotations

from typing import Any

from ..base.device import device
from ..base.dtypes import dtype
from ..base.formats import layout, memory_format
from ..base.refusal import absent_classes, refuser
from ..base.shapes import Size
from ..core.modes import is_grad_enabled
from ..core.modes import set_grad_enabled as _set_grad_enabled
from ..core.tensor import Tensor as TensorBase
from ..futures import Future
from ..operators.matrix.linalg_rules import LinAlgError as _LinAlgError
from ..operators.memory.casting import _parse_to as _device_and_dtype
from ..operators.random.generator import Generator
from ..overrides import DisableTorchFunctionSubclass, _disabled_torch_function_impl

__all__ = [
    "DisableTorchFunctionSubclass", "Future", "Generator", "Graph", "Node", "Size", "TensorBase", "Value",
    "device", "dtype", "is_grad_enabled", "layout", "memory_format",
    "_LinAlgError", "_disabled_torch_function_impl", "_set_grad_enabled",
]  # fmt: skip

_no_graphs = refuser("_C", "has no TorchScript graphs", "See rushlight.compile.")
Graph = _no_graphs("Graph")
Node = _no_graphs("Node")
Value = _no_graphs("Value")
ScriptMethod = _no_graphs("ScriptMethod")
PyTorchFileReader = refuser("_C", "reads files in one go", "Use rushlight.load.")("PyTorchFileReader")
_SCRIPT_TYPES = (
    "AnyType BoolType ClassType ComplexType DeviceObjType DictType EnumType FloatType FutureType IntType "
    "InterfaceType ListType NoneType NumberType OptionalType PyObjectType RRefType StreamObjType StringType "
    "TensorType TupleType UnionType"
)
globals().update(absent_classes("_C", "has no TorchScript types", "See rushlight.compile.", _SCRIPT_TYPES.split()))
_TensorBase = TensorBase
_TensorMeta = type(TensorBase)  # the class of the class, which libraries annotate with


def _get_tracing_state() -> None:
    """What a tracer has recorded so far: there is none."""
    return None


def _is_tracing() -> bool:
    """Whether `jit.trace` is recording this line."""
    from ..jit import is_tracing

    return is_tracing()


def _log_api_usage_once(event: str) -> None:
    """A count for PyTorch's makers; nothing is counted here."""


def _get_accelerator(check: Any = None) -> device:
    """The accelerator's device, or the CPU's."""
    from ..accelerator import current_accelerator

    return current_accelerator() or device("cpu")


def _get_privateuse1_backend_name() -> str:
    """The name of a device that others add to PyTorch: the one it has when nobody did."""
    return "privateuseone"


class _nn:  # noqa: N801 - a module of functions in PyTorch
    """`torch._C._nn`."""

    @staticmethod
    def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
        """(device, dtype, non_blocking, memory_format) of the arguments of `.to`."""
        form = kwargs.pop("memory_format", None)
        blocking = bool(kwargs.get("non_blocking", False))
        where, kind = _device_and_dtype(args, kwargs)
        return (None if where is None else device(where)), kind, blocking, form


def _are_functorch_transforms_active() -> bool:
    """Whether the tensors at hand are wrappers of a transform: there are none here."""
    return False


def _show_config() -> str:
    """What `torch.__config__.show()` says."""
    from ..__config__ import show

    return show()


def _get_default_device() -> str:
    """The name of the device of new tensors."""
    from ..base.device import get_default_device

    return str(get_default_device())


def _get_cudnn_enabled() -> bool:
    """`torch.backends.cudnn.enabled`."""
    from ..backends import cudnn

    return cudnn.enabled  # type: ignore[attr-defined]


def _parallel_info() -> str:
    """What `torch.__config__.parallel_info()` says."""
    from ..__config__ import parallel_info

    return parallel_info()


def _jit_switch(*values: Any) -> bool:
    """A switch of TorchScript's compiler, of which there is none: it is off, and stays so."""
    return False


_jit_set_profiling_executor = _jit_set_profiling_mode = _jit_override_can_fuse_on_cpu = _jit_switch
_jit_override_can_fuse_on_gpu = _jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = _jit_switch
_jit_can_fuse_on_cpu = _jit_can_fuse_on_gpu = _jit_set_nvfuser_guard_mode = _jit_switch


from . import _functorch as _functorch  # noqa: E402 - it is there without an import of its own
