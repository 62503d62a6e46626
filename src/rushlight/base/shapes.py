"""Sizes, dimensions and broadcasting, with the errors users see when they do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from .config import settings
from .symbols import SymInt

MOST = (1 << 63) - 1  # the largest whole number that PyTorch's functions take
LEAST = -MOST - 1
MOST_DIMS = 64  # of an array

if TYPE_CHECKING:
    _Ints = tuple[int, ...]
else:
    _Ints = tuple


def strided_view(xp: Any, a: Any, shape: Sequence[int], steps: Sequence[int]) -> Any:
    """`as_strided` of NumPy and CuPy, also of float8, whose name it cannot read."""
    if a.dtype.itemsize == 1 and a.dtype.kind not in "biu":
        return strided_view(xp, a.view("uint8"), shape, steps).view(a.dtype)
    return xp.lib.stride_tricks.as_strided(a, shape, steps)


class Size(_Ints):
    """The shape of a tensor: a tuple of integers that can count elements.

    Args:
        iterable: the sizes.

    Example:
        >>> size = torch.zeros(2, 3).shape
        >>> size[0], size.numel()
        (2, 6)
    """

    __slots__ = ()

    def __new__(cls, iterable: Iterable[Any] = ()) -> Size:
        sizes = tuple(iterable)
        for i, size in enumerate(sizes):
            if not isinstance(size, int):
                return tuple.__new__(cls, (*sizes[:i], *map(_as_int, sizes[i:], count(i))))
        return tuple.__new__(cls, sizes)

    def numel(self) -> int:
        """The product of all sizes: how many elements a tensor of this shape has.

        Example:
            >>> torch.Size([2, 3]).numel()
            6
        """
        return prod(self)

    def __repr__(self) -> str:
        return f"{settings.module}.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: Any) -> Any:
        item = tuple.__getitem__(self, key)
        return tuple.__new__(Size, item) if key.__class__ is slice else item

    def __add__(self, other: Any) -> Size:
        both = tuple.__add__(self, tuple(other))
        return tuple.__new__(Size, both) if other.__class__ is Size else Size(both)

    def __radd__(self, other: Any) -> Size:
        return Size(tuple.__add__(tuple(other), self))

    def __mul__(self, n: Any) -> Size:
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return (Size, (tuple(self),))


def _as_int(size: Any, place: int) -> Any:
    if isinstance(size, SymInt):  # of a nested tensor, a size that has no value
        return size
    try:
        return size.__index__()
    except (AttributeError, TypeError):
        kind = type(size).__name__
        raise TypeError(f"{settings.module}.Size() takes an iterable of 'int' (item {place} is '{kind}')") from None


def as_size(size: Sequence[Any]) -> tuple[int, ...]:
    """Flatten the two spellings `f(2, 3)` and `f((2, 3))` into one tuple of ints."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    for s in size:
        if s.__class__ is not int or not LEAST <= s <= MOST:
            break
    else:
        return tuple(size)
    try:
        sizes = tuple([s.__index__() for s in size])
    except (AttributeError, TypeError):
        bad = next(s for s in size if not hasattr(s, "__index__"))
        raise TypeError(f"size must be a tuple of ints, but found element of type {type(bad).__name__}") from None
    if sizes and size[0].__class__ is bool:  # PyTorch, too, looks at the first
        raise TypeError("size must be a tuple of ints, but found element of type bool at pos 0")
    return in_range("size", sizes)


def in_range(name: str, values: tuple[int, ...]) -> tuple[int, ...]:
    """Whole numbers that PyTorch's functions can be given; TypeError, in its words, where one is larger."""
    for i, value in enumerate(values):
        if not LEAST <= value <= MOST:
            raise TypeError(
                f"argument '{name}' failed to unpack the object at pos {i + 1} with error "
                '"Overflow when unpacking long long"'
            )
    return values


def a_number(value: Any, name: str) -> int:
    """A whole number of any size; TypeError for a truth value, which Python would take for 0 or 1, and for what is no number."""
    if value.__class__ is int:
        return value
    if value.__class__ is bool or not hasattr(value, "__index__"):
        raise TypeError(f"argument '{name}' must be int, not {type(value).__name__}")
    return value.__index__()


def whole(value: Any, name: str) -> int:
    """A whole number that PyTorch's functions can be given."""
    value = a_number(value, name)
    if not LEAST <= value <= MOST:
        raise ValueError("Overflow when unpacking long long")
    return value


def several_whole(value: Any, n: int, name: str) -> tuple[int, ...]:
    """Whole numbers, one that is spread to `n` or as many as were given."""
    if hasattr(value, "__index__"):
        return (whole(value, name),) * n
    values = tuple([v.__index__() for v in value])
    if values and value[0].__class__ is bool:  # PyTorch, too, looks at the first
        raise TypeError(f"argument '{name}' must be tuple of ints, but found element of type bool at pos 0")
    return in_range(name, values * n if len(values) == 1 else values)


def by_name(name: str, given: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """What a method that takes several numbers was given: `f(dims=(2, 3))` means what `f(2, 3)` does."""
    if value is None:
        if not given:
            raise TypeError(f'missing 1 required positional arguments: "{name}"')
        return given
    if given:
        raise TypeError(f"got both {name}= and {len(given)} positional arguments for it")
    return (value,)


def check_size(size: Iterable[int], itemsize: int = 1) -> None:
    """The one check of the sizes of a tensor that is to be made: RuntimeError, in PyTorch's words, before it is."""
    count, dims = itemsize, 0
    for s in size:
        if s < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {s}: {list(size)}")
        count *= s or 1
        dims += 1
    if count > MOST:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)}")
    if dims > MOST_DIMS:
        raise RuntimeError(f"only tensors with up to {MOST_DIMS} dims are supported, but {dims} were given")


def wrap_dim(dim: int, ndim: int) -> int:
    """A non-negative dim, or PyTorch's IndexError; a 0-d tensor accepts 0 and -1."""
    n = ndim if ndim > 0 else 1
    if dim is True or dim is False:
        raise TypeError("argument 'dim' must be int, not bool")
    try:
        inside = -n <= dim < n
    except TypeError:
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}") from None
    if not inside:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim + n if dim < 0 else dim


def wrap_dims(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """Normalise `dim=` of reductions: None, an int or a sequence; None and () mean every dim."""
    if dim is None:
        return None
    if dim.__class__ is int and ndim:
        return (wrap_dim(dim, ndim),)
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if not dims:
        return None
    for d in dims:
        if d.__class__ is not int and (isinstance(d, bool) or not hasattr(d, "__index__")):
            raise TypeError(f"dim must be an int or a tuple of ints, not {type(d).__name__}")
    if not ndim:
        _check_scalar_dims(dims)
        return None
    wrapped = tuple([wrap_dim(d.__index__(), ndim) for d in dims])
    if len(set(wrapped)) != len(wrapped):
        twice = next(d for d in wrapped if wrapped.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return wrapped


def _check_scalar_dims(dims: Sequence[int]) -> None:
    for d in dims:
        wrap_dim(d.__index__(), 0)
    if len(dims) > 1:
        raise RuntimeError("dim 0 appears multiple times in the list of dims")


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape, or PyTorch's RuntimeError naming the first pair that does not fit."""
    out: list[int] = []
    for shape in shapes:
        shape = tuple(shape)
        if len(shape) > len(out):
            out = [1] * (len(shape) - len(out)) + out
        for i in range(1, len(shape) + 1):
            s, o = shape[-i], out[-i]
            if s == o or s == 1:
                continue
            if o != 1:
                raise RuntimeError(
                    f"The size of tensor a ({o}) must match the size of tensor b ({s}) "
                    f"at non-singleton dimension {len(out) - i}"
                )
            out[-i] = s
    return tuple(out)


def view_size(size: Sequence[Any], numel: int) -> tuple[int, ...]:
    """`infer_view` of sizes as a user writes them, found once for those that are plain numbers."""
    given = size
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        given = tuple(size[0])
    for s in given:
        if s.__class__ is not int:
            return infer_view(as_size(size), numel)
    return _known_size(given, numel)


def infer_view(size: Sequence[int], numel: int) -> tuple[int, ...]:
    """Fill in the -1 of a view or reshape; RuntimeError when the sizes do not fit."""
    size = tuple(size)
    if -1 in size:
        at = size.index(-1)
        if -1 in size[at + 1 :]:
            raise RuntimeError("only one dimension can be inferred")
        rest = prod(size[:at]) * prod(size[at + 1 :])
        if rest == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(size)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
            )
        if rest > 0 and numel % rest == 0:
            return size[:at] + (numel // rest,) + size[at + 1 :]
    elif prod(size) == numel and min(size, default=0) >= 0:
        return size
    for s in size:
        if s < -1:
            raise RuntimeError(f"invalid shape dimension {s}")
    raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")


@lru_cache(1024)
def _known_size(size: tuple[int, ...], numel: int) -> tuple[int, ...]:
    return infer_view(as_size(size), numel)


def reduced_shape(shape: Sequence[int], dims: tuple[int, ...] | None) -> tuple[int, ...]:
    """The shape with the reduced dims kept as 1."""
    if dims is None:
        return (1,) * len(shape)
    return tuple([1 if i in dims else s for i, s in enumerate(shape)])


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * max(shape[i + 1], 1)
    return tuple(strides)


def channels_last_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of an NHWC (or NDHWC) tensor of logical shape NCHW (NCDHW)."""
    order = (0, *range(2, len(shape)), 1)
    inner = contiguous_strides([shape[i] for i in order])
    strides = [0] * len(shape)
    for position, axis in enumerate(order):
        strides[axis] = inner[position]
    return tuple(strides)


def window_count(
    size: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> tuple[int, ...]:
    """How many places a window has along each dim: the spatial size of a convolution's result."""
    return tuple(
        [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation)]
    )


def ntuple(value: Any, n: int, name: str = "argument") -> tuple[int, ...]:
    """Spread one int to n, or check that a sequence has n (or 1) entries."""
    values = several_whole(value, n, name)
    if len(values) != n:
        raise RuntimeError(f"expected {name} to be a single integer or a list of {n}, got {value}")
    return values
