"""NestedParts: tensors of any shapes with equally many dims as one, which is `torch.nested` with `layout=torch.strided`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from math import prod
from typing import Any

from ...base.shapes import wrap_dim
from ...core.op import is_pointwise
from ...core.tensor import Tensor
from .gradients import grad_of_standing
from .names import OF_VALUES, plain_name
from .standing import Standing, of_values

_NO_SIZES = "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue."
_NO_STRIDES = "Internal error: NestedTensorImpl doesn't support strides. Please file an issue."


class NestedParts(Standing):
    """Tensors of different shapes one behind another in one piece of memory.

    Made by `torch.nested.nested_tensor`. Functions compute part by part.

    Args:
        buffer: the numbers of all parts, in one dimension.
        sizes: the shape of each part.

    Example:
        >>> nt = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 2)])
        >>> nt * 2
        nested_tensor([
          tensor([[2., 2., 2.],
                  [2., 2., 2.]]),
          tensor([[2., 2.]])
        ])
    """

    _sizes: list[tuple[int, ...]]

    def __new__(cls, buffer: Tensor, sizes: Sequence[Any]) -> Any:
        return cls._over(buffer, _sizes=[tuple(size) for size in sizes])

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return answer(func, args, kwargs or {})

    def _like(self, values: Tensor) -> NestedParts:
        return NestedParts(values, self._sizes)

    def _parts(self) -> tuple[Tensor, ...]:
        found, start = [], 0
        for size in self._sizes:
            n = prod(size)
            found.append(self._values.narrow(0, start, n).view(size))
            start += n
        return tuple(found)

    # -- shape ----------------------------------------------------------------------------------

    @property
    def shape(self) -> Any:
        raise RuntimeError(_NO_SIZES)

    def size(self, dim: int | None = None) -> Any:
        if dim is None:
            raise RuntimeError(_NO_SIZES)
        at = wrap_dim(dim, self.dim())
        if at == 0:
            return len(self._sizes)
        found = {size[at - 1] for size in self._sizes}
        if len(found) != 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return found.pop()

    def dim(self) -> int:
        return 1 + (len(self._sizes[0]) if self._sizes else 0)

    ndimension = dim

    @property
    def ndim(self) -> int:
        return self.dim()

    def __len__(self) -> int:
        raise RuntimeError(_NO_SIZES)

    def stride(self, dim: int | None = None) -> Any:
        raise RuntimeError(_NO_STRIDES)

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        return True

    def data_ptr(self) -> int:
        return self._values.data_ptr()

    def tolist(self) -> Any:
        raise RuntimeError(_NO_SIZES)

    def values(self) -> Tensor:
        """The numbers of all parts in one dimension."""
        return self._values

    def _nested_tensor_size(self) -> Tensor:
        from ...operators.create.from_data import tensor

        return tensor(self._sizes)

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """The parts in one dense tensor, with `padding` behind them."""
        return to_padded(self, padding, output_size)

    # -- what Python asks -----------------------------------------------------------------------

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        shown = ",\n".join(f"  {str(part).replace(chr(10), chr(10) + '  ')}" for part in self._parts())
        behind = ""
        if self.grad_fn is not None:
            behind = f", grad_fn={self.grad_fn}"
        elif self.requires_grad:
            behind = ", requires_grad=True"
        return f"nested_tensor([\n{shown}\n]{behind})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __iter__(self) -> Any:
        return iter(self._parts())

    def __copy__(self) -> NestedParts:
        return self._like(copy(self._values))

    def __deepcopy__(self, memo: dict) -> NestedParts:
        return memo.setdefault(id(self), self._like(deepcopy(self._values, memo)))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (self._values.detach(), self._sizes, self.requires_grad)


def _rebuild(buffer: Tensor, sizes: list[Any], requires_grad: bool) -> NestedParts:
    return NestedParts(buffer, sizes).requires_grad_(requires_grad)


def from_parts(parts: Sequence[Tensor]) -> NestedParts:
    """The nested tensor of some parts, which are copied."""
    from ...operators.create.filled import empty
    from ...operators.shape.join import cat

    flat = cat([part.reshape(-1) for part in parts]) if parts else empty(0)
    return NestedParts(flat, [tuple(part.shape) for part in parts])


def answer(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The one way in: `func` was called with these arguments, one of which is nested."""
    name = plain_name(func)
    if is_pointwise(name):
        return _pointwise(func, name, args, kwargs)
    if name in OF_VALUES:
        return of_values(NestedParts, func, args, kwargs)
    if name in _SHIFTED:
        return _shifted(func, name, *args, **kwargs)
    if name in _EACH:
        return _each(func, args, kwargs)
    handler = _OTHERS.get(name)
    if handler is None:
        what = getattr(getattr(func, "__self__", None), "fget", None)
        raise NotImplementedError(
            f"Could not run 'aten::{name if what is None else what.__name__}' with arguments from the "
            "'NestedTensorCPU' backend: nested tensors of layout strided do not have it. nt.unbind() gives the parts."
        )
    return handler(*args, **kwargs)


def _pointwise(func: Any, name: str, args: tuple, kwargs: dict) -> Any:
    nested = [a for a in (*args, *kwargs.values()) if isinstance(a, NestedParts)]
    if any(n._sizes != nested[0]._sizes for n in nested):
        raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
    dense = [a for a in args if isinstance(a, Tensor) and not isinstance(a, NestedParts) and a.dim()]
    if dense:
        kinds = ["nested" if isinstance(a, NestedParts) else "non-nested" for a in args[:2]]
        raise RuntimeError(
            f"Expected both self and other to be nested, but got a {kinds[0]} self and {kinds[-1]} other"
        )
    plain = [a._values if isinstance(a, NestedParts) else a for a in args]
    out = func(*plain, **{k: getattr(v, "_values", v) for k, v in kwargs.items()})
    return args[0] if name.endswith("_") else nested[0]._like(out)


# Part by part, with every nested argument's part; a dense tensor of as many dims gives its rows.
_EACH = frozenset("linear layer_norm rms_norm scaled_dot_product_attention embedding".split())


def _each(func: Any, args: tuple, kwargs: dict) -> NestedParts:
    like = next(a for a in (*args, *kwargs.values()) if isinstance(a, NestedParts))
    count, ndim = len(like._sizes), like.dim()

    def of(value: Any) -> list[Any]:
        if isinstance(value, NestedParts):
            return list(value._parts())
        rows = isinstance(value, Tensor) and value.dim() == ndim and value.shape[0] == count
        return list(value) if rows else [value] * count

    columns = [of(a) for a in args]
    named = {k: of(v) for k, v in kwargs.items()}
    outs = [func(*[c[i] for c in columns], **{k: v[i] for k, v in named.items()}) for i in range(count)]
    return from_parts(outs)


# Functions that take dims: the place of the first, and how many.
_SHIFTED = {"softmax": 1, "log_softmax": 1, "transpose": 2, "squeeze": 1, "unsqueeze": 1, "sum": 1, "chunk": 2}


def _shifted(func: Any, name: str, input: NestedParts, *args: Any, **kwargs: Any) -> Any:
    """A function of dims: those of the parts are one less."""
    names = {"transpose": ("dim0", "dim1"), "chunk": ("chunks", "dim")}.get(name, ("dim",))
    given = dict(zip(names, args)) | kwargs
    rest = args[len(names) :]
    ndim = input.dim() + (name == "unsqueeze")
    for key in names:
        if not key.startswith("dim"):
            continue
        value = given.get(key)
        if value is None:
            raise NotImplementedError(f"{name} of a nested tensor with the strided layout needs a dim")
        one = value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
        at = wrap_dim(one, ndim)
        if at == 0:
            raise RuntimeError(f"Nested tensor dimension 0 cannot be {_DONE.get(name, 'used')}")
        given[key] = at - 1
    if name == "sum" and (given["dim"] != input.dim() - 2 or not given.get("keepdim")):
        raise RuntimeError(
            "NestedTensor can only be reduced across the last dimension, and always requires keepdim=True for now."
        )
    outs = [func(part, *[given[k] for k in names], *rest, **_rest_of(given, names)) for part in input._parts()]
    if isinstance(outs[0], Tensor):
        return from_parts(outs)
    return tuple([from_parts(same) for same in zip(*outs)])


_DONE = {"transpose": "transposed"}


def _rest_of(given: dict, names: tuple) -> dict:
    return {k: v for k, v in given.items() if k not in names}


def _matmul(input: Any, other: Any) -> NestedParts:
    if not (isinstance(input, NestedParts) and isinstance(other, NestedParts)):
        kinds = ["nested" if isinstance(t, NestedParts) else "non-nested" for t in (input, other)]
        raise RuntimeError(f"Expected both to be nested, but got a {kinds[0]} self and {kinds[1]} other")
    return from_parts([a @ b for a, b in zip(input._parts(), other._parts())])


def _unbind(input: NestedParts, dim: int = 0) -> tuple[Tensor, ...]:
    if dim != 0:
        raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead.")
    return input._parts()


def _select(input: NestedParts, dim: int, index: int) -> Any:
    at = wrap_dim(dim, input.dim())
    if at == 0:
        return input._parts()[index]
    return from_parts([part.select(at - 1, index) for part in input._parts()])


def _getitem(input: NestedParts, index: Any) -> Any:
    places = index if isinstance(index, tuple) else (index,)
    if not isinstance(places[0], int):
        raise NotImplementedError(
            "aten::slice.Tensor: a nested tensor with the strided layout gives parts by number only"
        )
    part = input._parts()[places[0]]
    return part[places[1:]] if len(places) > 1 else part


def _reshape(input: NestedParts, *shape: Any) -> NestedParts:
    sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    if sizes[0] not in (-1, len(input._sizes)):
        raise RuntimeError(f"reshape: For now nested reshape can't change batch size, got {sizes}")
    return from_parts([part.reshape(sizes[1:]) for part in input._parts()])


def _cat(tensors: Any, dim: int = 0) -> NestedParts:
    from ...operators.shape.join import cat

    if not all(isinstance(t, NestedParts) for t in tensors):
        raise RuntimeError("cat(): expected each tensor in given list to be nested")
    at = wrap_dim(dim, tensors[0].dim())
    if at == 0:
        return from_parts([part for t in tensors for part in t._parts()])
    return from_parts([cat(same, at - 1) for same in zip(*[t._parts() for t in tensors])])


def to_padded(input: NestedParts, padding: float, output_size: Any = None) -> Tensor:
    """Every part in the front corner of a dense tensor's row."""
    from ...operators.image.padding import pad
    from ...operators.shape.join import stack

    if not input._sizes:
        raise RuntimeError("to_padded_tensor: at least one constituent tensor is needed")
    largest = [max(n) for n in zip(*input._sizes)]
    size = largest if output_size is None else list(output_size)[1:]
    if len(size) != len(largest) or any(n < m for n, m in zip(size, largest)):
        raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
    rows = []
    for part in input._parts():
        ends = [n for a, b in zip(reversed(size), reversed(part.shape)) for n in (0, a - b)]
        rows.append(pad(part, ends, value=padding))
    return stack(rows)


def _copy_(self: NestedParts, src: Any, non_blocking: bool = False) -> NestedParts:
    if not isinstance(src, NestedParts) or src._sizes != self._sizes:
        raise RuntimeError("copy_ only supports nested tensors of the same sizes")
    self._values.copy_(src._values)
    return self


def _contiguous(input: NestedParts, memory_format: Any = None) -> NestedParts:
    return input


_OTHERS: dict[str, Callable[..., Any]] = {
    "matmul": _matmul, "bmm": _matmul, "unbind": _unbind, "select": _select, "getitem": _getitem, "reshape": _reshape, "view": _reshape,
    "cat": _cat, "concat": _cat, "copy_": _copy_, "grad": grad_of_standing, "to_padded_tensor": to_padded, "contiguous": _contiguous,
    "is_same_size": lambda a, b: getattr(a, "_sizes", None) == getattr(b, "_sizes", None),
}  # fmt: skip
