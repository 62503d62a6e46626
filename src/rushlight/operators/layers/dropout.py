"""Dropout: elements, channels or features set to zero at random while training."""

from __future__ import annotations

import warnings
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import bool_, title
from ...core.inplace import change
from ...core.op import Op
from ...core.public import public, publish
from ...core.tensor import Tensor
from ...runtime import devices
from ...runtime.facts import Facts
from ...runtime.point import Point
from ..create.filled import dim_order
from ..create.like import empty_like
from ..made_of.precision import in_float32


def _dropout_mask_body(xp: ArrayModule, x: Array, *, p: float, shape: tuple[int, ...]) -> Any:
    """Numbers that are 0 with probability `p` and 1 / (1 - p) otherwise."""
    backend = devices.backend_of_type(x.__class__)
    stream = backend.stream(backend.device_of(x))
    # PyTorch draws in the order of memory, which differs from that of dims for transposed inputs.
    order = dim_order(x, None) if shape == x.shape else None
    turned = shape if order is None else tuple([shape[i] for i in order])
    mask = stream.bernoulli(1.0 - p, turned, x.dtype)
    mask *= mask.dtype.type(1.0 / (1.0 - p))
    return mask if order is None else mask.transpose(_inverse(order))


def _inverse(order: tuple[int, ...]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


dropout_mask = Op(_dropout_mask_body, "dropout_mask", meta=lambda x, *, p, shape: (shape, x.dtype))
dropout_mask.kernel.random = True


# Contract, for devices that have kernels of their own for it:
#   dropout(x, *, p) -> out, kept: which elements were kept, as a mask or in the device's own form
#   dropout_grad(gy, kept, *, p) -> gx


def _dropout_body(xp: ArrayModule, x: Any, *, p: float) -> tuple:
    mask = _dropout_mask_body(xp, x, p=p, shape=x.shape)
    return x * mask, mask


def _dropout_grad_body(xp: ArrayModule, gy: Any, kept: Any, *, p: float) -> Any:
    return gy * kept


_dropout = Op(
    _dropout_body, "dropout", meta=lambda x, *, p: [(x.shape, x.dtype), (x.shape, x.dtype)],
    grad_name="NativeDropoutBackward0",
)  # fmt: skip
_dropout.kernel.random = True
_dropout_grad = Op(
    _dropout_grad_body, "dropout_grad", meta=lambda gy, kept, *, p: (gy.shape, gy.dtype), facts=Facts(vmap="alike")
)
_dropout.derivative(x=lambda g, out1, p: _dropout_grad(g, out1, p=p))
_dropout_grad.derivative(gy=lambda g, kept, p: _dropout_grad(g, kept, p=p))


# -- with the mask as a result of its own ---------------------------------------------------------


def _kept_body(xp: ArrayModule, gy: Array, mask: Array, *, scale: float) -> Any:
    return gy * (mask * gy.dtype.type(scale))


_kept = Op(
    in_float32(_kept_body),
    "native_dropout_backward",
    point=Point("gy mask | scale", "gy * (scale if mask else 0)"),
    meta=lambda gy, mask, *, scale: (gy.shape, gy.dtype),
    facts=Facts(aten="native_dropout_backward ordered scale"),
)
_kept.derivative(gy=lambda g, mask, scale: _kept(g, mask, scale=scale))
_kept_forward = Op(_kept_body, "native_dropout", kernel=_kept.kernel, grad_name="NativeDropoutBackward0")
_kept_forward.derivative(gy=lambda g, mask, scale: _kept(g, mask, scale=scale))


@public("aten")
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The derivative of `native_dropout`: `grad_output` times `scale` where the mask is set, 0 elsewhere."""
    kinds = mask._a.dtype.kind + grad_output._a.dtype.kind
    if kinds not in ("bf", "bV", "bc") or mask._a.shape != grad_output._a.shape:
        return grad_output * (mask * scale)
    return _kept(grad_output, mask, scale=float(scale))


@public("torch")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout that also returns which elements were kept.

    Args:
        input: any shape.
        p: the probability of an element to be dropped.
        train: False keeps all elements; None means True.

    Example:
        >>> torch.native_dropout(torch.ones(2), 0.5, False)
        (tensor([1., 1.]), tensor([True, True]))
    """
    if p == 0 or train is False or not input._a.size:
        return input, input.new_ones(input._a.shape, dtype=bool_)
    _check_floats(input)
    mask = empty_like(input.detach()).bernoulli_(1.0 - p).to(bool_)
    return _kept_forward(input, mask, scale=0.0 if p == 1 else 1.0 / (1.0 - p)), mask


def _check_floats(x: Tensor) -> None:
    if x._a.dtype.kind in "biu":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {title(x.dtype)}")


def _draws_again(x: Tensor) -> bool:
    """Whether the device draws the same numbers again in backward, instead of keeping a mask."""
    return _dropout.is_whole(x) and bool(x._a.flags.c_contiguous)


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped(x: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    if x._a.dtype.kind in "biu":
        if p != 1.0:
            _check_floats(x)
        return x.new_zeros(x._a.shape)
    if p == 1.0:
        return x * 0.0
    if shape == x._a.shape and _draws_again(x):
        return _dropout(x, p=float(p))[0]
    return x * dropout_mask(x.detach(), p=float(p), shape=shape)


def _apply(x: Tensor, p: float, shape: tuple[int, ...] | None, training: bool, inplace: bool) -> Tensor:
    """`shape` is that of the mask; None for whole channels."""
    if x._a.size == 0 or not training or p == 0.0:  # what is no tensor has no array
        return x
    if shape is None:
        shape = _channel_shape(x)
    if inplace:
        return change(x, _dropped, p, shape)
    return _dropped(x, p, shape)


@public("functional")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """As `nn.Dropout`; `training=False` returns the input."""
    _check(p)
    return _apply(input, p, input._a.shape, training, inplace)


def _channel_shape(x: Tensor) -> tuple[int, ...]:
    shape = x._a.shape
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return shape[:2] + (1,) * (len(shape) - 2)


def _of_one_sample(x: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Whole channels of an input without a batch, which is a batch of one meanwhile."""
    batch = x.unsqueeze_(0) if inplace else x.unsqueeze(0)
    made = _apply(batch, p, None, training, inplace)
    return made.squeeze_(0) if inplace else made.squeeze(0)


def _of_channels(n: int, shapes: str, size: str, dims: str) -> None:
    """`dropout1d`, `dropout2d` or `dropout3d`: whole channels of inputs with n dims of their own, or a batch of them."""
    name = f"dropout{n}d"
    purpose = (
        f"Note that {name} exists to provide channel-wise dropout on inputs with {n} spatial "
        f"dimension{'s' * (n > 1)}, a channel dimension, and an optional batch dimension (i.e. "
        f"{n + 1}D or {n + 2}D inputs)."
    )

    def fn(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        _check(p)
        if input.ndim not in (n + 1, n + 2):
            if n == 1:
                raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. {purpose}")
            warnings.warn(
                f"{name}: Received a {input.ndim}-D input to {name}, which is deprecated and will result in an error in "
                f"a future release. To retain the behavior and silence this warning, please use dropout instead. {purpose}",
                stacklevel=2,
            )
        if n == 2 and input.ndim == 3:
            warnings.warn(
                "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
                "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
                "dim. This behavior will change in a future release to interpret the input as one "
                "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
                "dropout behavior, please switch to using dropout1d instead.",
                stacklevel=2,
            )
        if (n == 1 and input.ndim == 2) or (n == 3 and input.ndim != 5):
            return _of_one_sample(input, p, training, inplace)
        return _apply(input, p, None, training, inplace)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = f"""Set whole channels to zero at random, and scale the others by 1 / (1 - p).

    Args:
        input: {shapes}.
        p: probability that a channel becomes zero.
        training: False returns the input.
        inplace: write the result into the input.

    Example:
        >>> y = F.{name}(torch.ones({size}), 0.5)
        >>> bool((y.amax({dims}) == y.amin({dims})).all())  # a channel is all 0 or all 2
        True
    """
    public("functional")(fn)


_of_channels(1, "(N, C, L) or (C, L)", "2, 8, 5", "2")
_of_channels(2, "(N, C, H, W) or (C, H, W)", "2, 8, 3, 3", "(2, 3)")
_of_channels(3, "(N, C, D, H, W) or (C, D, H, W)", "2, 8, 2, 2, 2", "(2, 3, 4)")


# Self-normalizing networks (Klambauer et al. 2017): dropped units take the negative saturation of
# SELU instead of zero, and an affine map restores mean and variance.
_ALPHA = -1.7580993408473766


def _alpha_dropped(x: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    if p == 1.0:
        return x * 0.0
    keep = (dropout_mask(x.detach(), p=float(p), shape=shape) != 0).to(x.dtype)
    scale = ((_ALPHA**2 * p + 1) * (1 - p)) ** -0.5
    shift = -scale * _ALPHA * p
    return x * (keep * scale) + ((1 - keep) * (_ALPHA * scale) + shift)


def _alpha(x: Tensor, p: float, channels: bool, training: bool, inplace: bool) -> Tensor:
    if x._a.size == 0 or not training or p == 0.0:  # what is no tensor has no array
        return x
    shape = _channel_shape(x) if channels else x._a.shape
    if x._a.dtype.kind in "biu":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {title(x.dtype)}")
    return change(x, _alpha_dropped, p, shape) if inplace else _alpha_dropped(x, p, shape)


@public("functional")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """As `nn.AlphaDropout`; without `training` the input comes back."""
    _check(p)
    return _alpha(input, p, False, training, inplace)


@public("functional")
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """As `nn.FeatureAlphaDropout`; without `training` the input comes back."""
    _check(p)
    return _alpha(input, p, True, training, inplace)


# -- the top namespace --------------------------------------------------------------------------


def _publish_top(name: str, fn: Any) -> None:
    def plain(input: Tensor, p: float, train: bool) -> Tensor:
        return fn(input, p, train)

    def inplace(input: Tensor, p: float, train: bool) -> Tensor:
        return fn(input, p, train, inplace=True)

    for label, made in ((name, plain), (name + "_", inplace)):
        made.__name__ = made.__qualname__ = label
        made.__doc__ = f"""{(fn.__doc__ or "").partition(chr(10))[0]}

    Args:
        p: the probability that an element or a channel is left out.
        train: False returns the input.

    Example:
        >>> torch.{label}(torch.ones(1, 2), 0.5, False)
        tensor([[1., 1.]])
    """
        publish("torch", label, made)


def feature_dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels (dimension 1) to zero at random, for any number of dimensions."""
    _check(p)
    return _apply(input, p, None, training, inplace)


_publish_top("dropout", dropout)
_publish_top("alpha_dropout", alpha_dropout)
_publish_top("feature_dropout", feature_dropout)
_publish_top("feature_alpha_dropout", feature_alpha_dropout)
