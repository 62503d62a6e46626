"""Copies in another order: repeated, flipped, rolled and rotated."""

from __future__ import annotations

from typing import Any

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.shapes import as_size, by_name, check_size, whole, wrap_dim, wrap_dims
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..index.brackets import is_position
from ..made_of.checks import check_values
from ..made_of.spelling import axis_for_dim

# -- repetition ---------------------------------------------------------------------------------


def _repeat_meta(x: Shaped, *, repeats: tuple[int, ...]) -> tuple:
    lead = len(repeats) - x.ndim
    shape = (1,) * lead + x.shape
    return tuple([s * r for s, r in zip(shape, repeats)]), x.dtype


_repeat = Op(
    lambda xp, x, *, repeats: xp.tile(x, repeats),
    "repeat",
    moves_only=True,
    meta=_repeat_meta,
    facts=Facts(vmap="repeat", onnx="repeat", aten="repeat ordered repeats"),
)


@_repeat.backward
def _repeat_backward(g: Tensor, x_shape: tuple, repeats: tuple) -> tuple:
    if 0 in repeats:
        return (g.new_zeros(x_shape),)
    shape = (1,) * (len(repeats) - len(x_shape)) + x_shape
    if not shape:
        return (g,)
    pairs = [n for pair in zip(repeats, shape) for n in pair]
    return (g.reshape(pairs).sum(tuple(range(0, len(pairs), 2))).reshape(x_shape),)


@public("Tensor")
def repeat(self: Tensor, *sizes: Any, repeats: Any = None) -> Tensor:
    """Copies of this tensor side by side.

    Args:
        sizes: how often along each dimension, one by one or as a tuple; more numbers than
            dimensions add new ones in front.
        repeats: the same, by name.

    Raises:
        RuntimeError: if there are fewer numbers than dimensions.

    Example:
        >>> torch.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    times = as_size(by_name("repeats", sizes, repeats))
    if len(times) < self._a.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    lead = len(times) - self._a.ndim
    check_size([r * s for r, s in zip(times, (1,) * lead + self._a.shape)], self._a.itemsize)
    return _repeat(self, repeats=times)


@public("torch")
def tile(input: Tensor, dims: Any) -> Tensor:  # noqa: A002
    """As `Tensor.repeat`, but dimensions that are not named are not repeated.

    Args:
        dims: how often along each dimension; the last number belongs to the last dimension.

    Example:
        >>> torch.tile(torch.tensor([[1, 2], [3, 4]]), (2,))
        tensor([[1, 2, 1, 2],
                [3, 4, 3, 4]])
    """
    times = as_size((tuple(dims),))
    return repeat(input, (1,) * (input._a.ndim - len(times)) + times)


@public("Tensor", name="tile")
def _tile_method(self: Tensor, *times: Any, dims: Any = None) -> Tensor:
    """Copies of this tensor side by side; dimensions that are not named are not repeated.

    Args:
        times: how often along each dimension, one by one or as a tuple; the last belongs to the
            last dimension.
        dims: the same, by name.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).tile(2)
        tensor([[1, 2, 1, 2],
                [3, 4, 3, 4]])
    """
    return tile(self, as_size(by_name("dims", times, dims)))


@public()
@axis_for_dim
def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:  # noqa: A002
    """Every element several times in a row.

    Args:
        repeats: how often; one number for all, or a tensor with one for each position of `dim`.
            If it is left out, `input` holds these numbers and the positions are repeated.
        dim: the dimension; the flattened tensor if not given.
        output_size: the size of the result along `dim`, if it is known.

    Example:
        >>> torch.tensor([1, 2]).repeat_interleave(2)
        tensor([1, 1, 2, 2])
        >>> torch.tensor([1, 2]).repeat_interleave(torch.tensor([3, 1]))
        tensor([1, 1, 1, 2])
    """
    if repeats is None:
        return _interleaved_positions(input, output_size)
    x = input.reshape(-1) if dim is None else input
    at = 0 if dim is None else wrap_dim(dim, x._a.ndim)
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not isinstance(repeats, Tensor):
        return _interleave_evenly(x, whole(repeats, "repeats"), at, output_size)
    if not is_position(repeats._a.dtype):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if repeats._a.size == 1:
        return _interleave_evenly(x, int(repeats.item()), at, output_size)
    if repeats._a.ndim != 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats._a.shape[0] != x._a.shape[at]:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._a.shape[0]} and input.size({at}) = {x._a.shape[at]}"
        )
    return x.index_select(at, _interleaved_positions(repeats, output_size))


def _interleave_evenly(x: Tensor, times: int, dim: int, size: int | None) -> Tensor:
    if times < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape = x._a.shape
    if size is not None and size != shape[dim] * times:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {shape[dim] * times} but got {size}")
    wide = x.unsqueeze(dim + 1).expand(*shape[: dim + 1], times, *shape[dim + 1 :])
    return wide.clone().reshape(*shape[:dim], shape[dim] * times, *shape[dim + 1 :])


def _count_body(xp: ArrayModule, counts: Array) -> Any:
    return xp.repeat(xp.arange(counts.shape[0], dtype=counts.dtype), counts)


def _not_negative(counts: Array) -> None:
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")


_repeat_positions = Op(_count_body, "repeat_positions", moves_only=True, facts=Facts(shape_by_values=True))


def _interleaved_positions(repeats: Tensor, output_size: int | None) -> Tensor:
    """Each position of `repeats` as often as it says."""
    if repeats._a.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if not is_position(repeats._a.dtype):
        raise RuntimeError("repeats has to be Long or Int tensor")
    check_values(_not_negative, repeats)
    at = _repeat_positions(repeats)
    if output_size is not None and at._a.shape[0] != output_size:
        raise RuntimeError("allocated size does not match required size")
    return at


# -- order --------------------------------------------------------------------------------------

# The copies keep strides positive, which every kernel may rely on.
_flip = Op(
    lambda xp, x, *, dims: xp.flip(x, dims).copy(),
    "flip",
    moves_only=True,
    meta=lambda x, *, dims: (x.shape, x.dtype),
    facts=Facts(vmap="several", layout="first", onnx="flip"),
)
_flip.derivative(x=lambda g, dims: _flip(g, dims=dims))


@public("torch")
def flip(input: Tensor, dims: Any) -> Tensor:  # noqa: A002
    """The elements in reverse order along dimensions; always a copy.

    Args:
        dims: a tuple of dimensions.

    Example:
        >>> torch.flip(torch.tensor([[1, 2], [3, 4]]), (1,))
        tensor([[2, 1],
                [4, 3]])
    """
    order = (dims,) if isinstance(dims, int) else tuple(dims)
    return _flip(input, dims=(wrap_dims(order, input._a.ndim) or ()))


@public("Tensor", name="flip")
def _flip_method(self: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """The elements in reverse order along dimensions; always a copy.

    Args:
        order: the dimensions, one by one or as a tuple.
        dims: the same, by name.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).flip(0, 1)
        tensor([[4, 3],
                [2, 1]])
    """
    return flip(self, as_size(by_name("dims", order, dims)))


def _flip_one(name: str, dim: int, what: str, few: str, shown: str) -> None:
    """`fliplr` or `flipud`."""

    def turned(input: Tensor) -> Tensor:  # noqa: A002
        if input._a.ndim <= dim:
            raise RuntimeError(f"Input must be >= {dim + 1}-d.")
        return _flip(input, dims=(dim,))

    turned.__name__ = turned.__qualname__ = name
    turned.__doc__ = f"""The {what} in reverse order.

    Raises:
        RuntimeError: for {few}.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).{name}()
        {shown}
    """
    public()(turned)


_flip_one("fliplr", 1, "columns", "fewer than two dimensions", "tensor([[2, 1],\n                [4, 3]])")
_flip_one("flipud", 0, "rows", "a tensor without dimensions", "tensor([[3, 4],\n                [1, 2]])")


_roll = Op(
    lambda xp, x, *, shifts, dims: xp.roll(x, shifts if dims else shifts[0], dims),
    "roll",
    moves_only=True,
    meta=lambda x, *, shifts, dims: (x.shape, x.dtype),
    facts=Facts(vmap="roll", layout="image", onnx="roll"),
)
_roll.derivative(x=lambda g, shifts, dims: _roll(g, shifts=tuple([-s for s in shifts]), dims=dims))


@public()
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:  # noqa: A002
    """The elements moved along dimensions; what leaves at the end comes back at the front.

    Args:
        shifts: how far, for each dimension.
        dims: the dimensions; the flattened tensor if not given.

    Example:
        >>> torch.arange(5).roll(2)
        tensor([3, 4, 0, 1, 2])
    """
    steps = as_size((shifts,))
    axes = () if dims is None else as_size((dims,))
    if not steps:
        raise RuntimeError("`shifts` required")
    if not axes and len(steps) == 1:
        return _roll(input, shifts=steps, dims=None)
    if len(axes) != len(steps):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}")
    if not input._a.size:
        return input.clone()
    if not input._a.ndim:
        raise IndexError(f"Dimension specified as {axes[0]} but tensor has no dimensions")
    return _roll(input, shifts=steps, dims=tuple([wrap_dim(d, input._a.ndim) for d in axes]))


def _rot90_body(xp: Any, x: Any, *, k: int, dims: tuple) -> Any:
    """Quarters are a copy that is turned round along one dim and then seen with two dims exchanged, as in PyTorch."""
    if k % 2 == 0:
        return xp.rot90(x, k, dims).copy()
    return xp.flip(x, dims[1] if k % 4 == 1 else dims[0]).copy(order="K").swapaxes(*dims)


_rot90 = Op(_rot90_body, "rot90", moves_only=True)
_rot90.derivative(x=lambda g, k, dims: _rot90(g, k=-k, dims=dims))


@public()
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:  # noqa: A002
    """The elements turned by quarters of a circle in the plane of two dimensions.

    Args:
        k: how many quarters, from the first dimension towards the second; negative ones the
            other way.
        dims: the two dimensions.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).rot90()
        tensor([[2, 4],
                [1, 3]])
    """
    k, axes = whole(k, "k"), as_size((tuple(dims),))
    if len(axes) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(axes)}")
    if input._a.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input._a.ndim}")
    if len({wrap_dim(d, input._a.ndim) for d in axes}) < 2:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {axes[0]} and dim1 = {axes[1]}")
    return _rot90(input, k=k, dims=axes)
