"""The functions by which .pth files describe tensors and parameters; every bound is checked first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.formats import SPARSE, sparse_coo
from ..base.shapes import strided_view
from ..core.tensor import Tensor, wrap
from ..operators.create.filled import empty_strided
from ..operators.memory.storage import UntypedStorage
from . import nested
from .errors import CorruptFileError, check_claim


def rebuilders(call: Callable[[Any, tuple], Any]) -> dict[str, Any]:
    """PyTorch's names of these functions, and two of ours that it lacks; `call` calls one on behalf of another."""

    def typed_tensor(fn: Any, kind: Any, args: Any, state: Any) -> Any:
        if not isinstance(args, tuple):
            raise CorruptFileError("the file describes a tensor wrongly")
        made = call(fn, args)
        if getattr(made, "is_nested", False):  # its attributes are what it is made of
            return made
        if isinstance(made, Tensor) and isinstance(kind, type) and kind is not type(made):
            made = made.as_subclass(kind) if issubclass(kind, Tensor) else made
        return _with_attributes(made, state)

    return {
        "torch._utils._rebuild_tensor_v2": tensor,
        "torch._utils._rebuild_tensor": tensor,
        "torch._utils._rebuild_tensor_v3": tensor_of_bytes,
        "torch._utils._rebuild_meta_tensor_no_storage": tensor_without_memory,
        "torch._utils._rebuild_parameter": parameter,
        "torch._utils._rebuild_parameter_with_state": parameter_with_state,
        "torch._utils._rebuild_sparse_tensor": sparse_tensor,
        "torch._utils._rebuild_wrapper_subclass": wrapper,
        "torch._tensor._rebuild_from_type_v2": typed_tensor,
        **nested.REBUILDERS,
        "torch.nn.parameter.Parameter": parameter,
        "rushlight.distributed.device_mesh.rebuilt_mesh": mesh_of_ranks,
        "rushlight.distributed.tensor.dtensor.rebuilt": part_of_tensor,
    }


def tensor(storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any = False, *rest: Any) -> Tensor:
    """A view of a storage, after its bounds were checked."""
    if type(size) not in (tuple, list) and not isinstance(size, tuple):
        raise CorruptFileError("the file describes a tensor wrongly")
    if not isinstance(stride, (tuple, list)) or not isinstance(storage, UntypedStorage):
        raise CorruptFileError("the file describes a tensor wrongly")
    storage = wrap(storage._root)
    if len(size) != len(stride) or len(size) > 64 or storage.ndim != 1:
        raise CorruptFileError("the file describes a tensor whose sizes and strides differ in number")
    if not all(type(i) is int and 0 <= i < 1 << 62 for i in (offset, *size, *stride)):
        raise CorruptFileError("the file describes a tensor wrongly")
    check_claim(size, storage.element_size(), "a tensor of the file")
    if 0 not in size:
        last = offset + sum((n - 1) * s for n, s in zip(size, stride))
        if last >= storage.numel():
            raise CorruptFileError(f"a tensor of size {list(size)} reaches beyond its storage")
    elif offset > storage.numel():
        raise CorruptFileError("a tensor starts beyond its storage")
    t = _strided(storage, size, stride, offset) if 0 not in size else storage.new_empty(size)
    return t.requires_grad_() if requires_grad is True else t


def _strided(storage: Tensor, size: Sequence[int], stride: Sequence[int], offset: int) -> Tensor:
    """A window into a flat storage, sharing its memory."""
    if not storage.is_cpu:
        return storage.as_strided(size, stride, offset).detach()
    steps = [s * storage.itemsize for s in stride]
    return wrap(strided_view(np, storage._a[offset:], size, steps))


def tensor_of_bytes(
    storage: Any, offset: Any, size: Any, stride: Any, grad: Any, hooks: Any, d: Any, *rest: Any
) -> Tensor:
    """A tensor over an untyped storage, whose dtype stands beside it."""
    if not isinstance(storage, UntypedStorage) or not isinstance(d, dtypes.dtype):
        raise CorruptFileError("the file describes a tensor wrongly")
    whole = wrap(storage._root)
    if whole.ndim != 1 or whole.numel() % d.itemsize:
        raise CorruptFileError("the bytes of a storage do not make whole elements")
    return tensor(UntypedStorage(whole.view(d)._a), offset, size, stride, grad)


def tensor_without_memory(d: Any, size: Any, stride: Any, requires_grad: Any = False) -> Tensor:
    """A tensor on the "meta" device."""
    sizes = (size, stride) if isinstance(size, tuple) and isinstance(stride, tuple) else ((-1,),)
    if not isinstance(d, dtypes.dtype) or not all(type(i) is int and 0 <= i < 1 << 62 for i in sum(sizes, ())):
        raise CorruptFileError("the file describes a tensor wrongly")
    if len(size) != len(stride):
        raise CorruptFileError("the file describes a tensor whose sizes and strides differ in number")
    t = empty_strided(size, stride, dtype=d, device="meta")
    return t.requires_grad_() if requires_grad is True else t


def parameter(data: Any, requires_grad: Any = True, *rest: Any) -> Any:
    """A Parameter over a tensor's memory."""
    from ..nn.parameter import Parameter

    if not isinstance(data, Tensor):
        raise CorruptFileError("the file describes a parameter wrongly")
    return Parameter(data, bool(requires_grad is True))


def is_parameter(t: Tensor) -> bool:
    """Whether a tensor is written as a Parameter."""
    from ..nn.parameter import Parameter

    return type(t) is Parameter


def is_uninitialized(t: Tensor) -> bool:
    """Whether a tensor has no memory yet."""
    from ..nn.parameter import UninitializedTensorMixin

    return isinstance(t, UninitializedTensorMixin)


def is_spread(t: Tensor) -> bool:
    """Whether a tensor lies on several ranks, of which this one has a part."""
    return type(t) is not Tensor and hasattr(t, "device_mesh") and hasattr(t, "placements")


def mesh_of_ranks(*words: Any) -> Any:
    """A mesh of ranks, without groups until somebody needs them."""
    from ..distributed.device_mesh import rebuilt_mesh

    return _described(rebuilt_mesh, words)


def part_of_tensor(*words: Any) -> Any:
    """A rank's part of a tensor that lies on several."""
    from ..distributed.tensor.dtensor import rebuilt

    return _described(rebuilt, words)


def _described(make: Callable, words: tuple) -> Any:
    try:
        return make(*words)
    except (ValueError, TypeError, OverflowError) as error:
        raise CorruptFileError(f"the file describes a DTensor wrongly: {error}") from None


def wrapper(cls: Any, *words: Any) -> Any:
    """A tensor of a class of the user's that is made of others; its attributes come behind."""
    from ..operators.memory.interop import rebuild_wrapper

    if not isinstance(cls, type) or not issubclass(cls, Tensor) or len(words) != 7:
        raise CorruptFileError("the file describes a tensor wrongly")
    return rebuild_wrapper(cls, *words)


def parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    """A Parameter with attributes of its own."""
    return _with_attributes(parameter(data, requires_grad), state)


def sparse_tensor(layout: Any, data: Any) -> Any:
    """A tensor of coordinates and values, or a compressed one, whose making checks the indices."""
    from ..operators.matrix.compressed import sparse_compressed_tensor
    from ..operators.matrix.sparse import sparse_coo_tensor

    if layout in SPARSE[1:]:
        try:
            return sparse_compressed_tensor(*data, layout=layout)
        except (RuntimeError, TypeError, IndexError, NotImplementedError) as error:
            raise CorruptFileError(f"the file describes a sparse tensor wrongly: {error}") from None
    if layout is not sparse_coo or not isinstance(data, tuple) or len(data) not in (3, 4):
        raise CorruptFileError("the file describes a sparse tensor of an unknown layout")
    indices, values, size = data[:3]
    if not all(isinstance(t, Tensor) for t in (indices, values)) or not isinstance(size, tuple):
        raise CorruptFileError("the file describes a sparse tensor wrongly")
    if indices.numel() > 0:
        low, high = indices.amin(1).tolist(), indices.amax(1).tolist()
        if any(a < 0 or b >= n for a, b, n in zip(low, high, size)):
            raise CorruptFileError("a sparse tensor in the file has a value outside of its size")
    made = sparse_coo_tensor(indices, values, size)
    return made.coalesce() if len(data) == 4 and data[3] is True else made


def _with_attributes(made: Any, state: Any) -> Any:
    """What a tensor's `__dict__` held; slots are none of a file's business."""
    plain = state[0] if isinstance(state, tuple) and len(state) == 2 else state
    if isinstance(plain, dict) and plain:
        if not all(type(name) is str and name.isidentifier() for name in plain):
            raise CorruptFileError("the file gives a tensor an attribute without a name")
        vars(made).update(plain)
    return made
