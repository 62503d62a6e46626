"""Activation layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from ...operators.create.filled import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

if TYPE_CHECKING:
    from ...base.device import device
    from ...base.dtypes import dtype

    pass

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU",
    "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


class MultiheadAttention(Module):
    """Attention in several heads: each looks at all keys with its own part of the width.

    Args:
        embed_dim: width E of queries and of the output.
        num_heads: number of heads; E must be a multiple of it.
        dropout: probability with which weights are set to zero in training.
        bias: False leaves out the biases of all maps.
        add_bias_kv: add a learnt key and value.
        add_zero_attn: add a key and a value of zeros.
        kdim, vdim: widths of keys and values; E if None.
        batch_first: inputs are (N, L, E) instead of (L, N, E).

    Shape:
        query (L, N, E), key (S, N, kdim), value (S, N, vdim), or all without N ->
        output (L, N, E) and the weights (N, L, S), or None.

    Attributes:
        in_proj_weight: (3 E, E), the maps of query, key and value, if they have one width; else
            `q_proj_weight`, `k_proj_weight` and `v_proj_weight`.
        in_proj_bias: (3 E,).
        out_proj: the last Linear.

    Example:
        >>> attention = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = torch.zeros(3, 5, 8)
        >>> output, weights = attention(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    __constants__ = ["batch_first"]
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        _check_sizes(embed_dim, num_heads)
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self._make_in_proj(where)
        if bias:
            self.in_proj_bias = Parameter(empty(3 * embed_dim, **where))
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **where)
        if add_bias_kv:
            self.bias_k = Parameter(empty((1, 1, embed_dim), **where))
            self.bias_v = Parameter(empty((1, 1, embed_dim), **where))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _make_in_proj(self, where: dict) -> None:
        """Make one matrix for all three maps if their widths are equal, else three."""
        names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(empty((3 * self.embed_dim, self.embed_dim), **where))
            for name in names:
                self.register_parameter(name, None)
        else:
            for name, width in zip(names, (self.embed_dim, self.kdim, self.vdim)):
                setattr(self, name, Parameter(empty((self.embed_dim, width), **where)))
            self.register_parameter("in_proj_weight", None)

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

    def __setstate__(self, state: dict) -> None:
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the attention of queries over keys and values.

        Args:
            query, key, value: see the shapes of the class.
            key_padding_mask: (N, S), True at keys that are padding; or numbers that are added.
            need_weights: False returns None for the weights, and is quicker.
            attn_mask: (L, S) or (N num_heads, L, S), True where a query may not look; or numbers that
                are added.
            average_attn_weights: False returns the weights of each head, (N, num_heads, L, S).
            is_causal: `attn_mask` is the causal mask; it has to be given as well.
        """
        turn = self.batch_first and query.dim() == 3
        if turn:
            query, key, value = _turned(query, key, value)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if turn else out), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Return both masks as one, and its kind: 0 attention, 1 padding, 2 both, None without masks."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        if key_padding_mask is None:
            return attn_mask, 0
        batch, length, _ = query.shape
        per_head = attn_mask if attn_mask.dim() == 3 else attn_mask.view(1, 1, length, length)
        per_head = (
            per_head.view(batch, -1, length, length)
            if attn_mask.dim() == 3
            else (per_head.expand(batch, self.num_heads, -1, -1))
        )
        padding = key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return per_head + padding, 2


def _turned(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Swap batch and time of all three; a tensor that is given twice is swapped once."""
    turned = {id(t): t.transpose(1, 0) for t in (query, key, value)}
    return turned[id(query)], turned[id(key)], turned[id(value)]


def _check_sizes(embed_dim: int, num_heads: int) -> None:
    if embed_dim <= 0 or num_heads <= 0:
        raise ValueError(
            "embed_dim and num_heads must be greater than 0, got "
            f"embed_dim={embed_dim} and num_heads={num_heads} instead"
        )
    if embed_dim % num_heads != 0:
        raise AssertionError("embed_dim must be divisible by num_heads")


class _InPlace(Module):
    """An activation whose only setting is whether to overwrite its input."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """Replace negative elements by zero: max(0, x).

    Shape:
        any -> the same.

    Example:
        >>> nn.ReLU()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class SELU(_InPlace):
    """ELU with fixed constants that keep activations near mean 0 and variance 1.

    Computes `scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))` with scale 1.0507 and
    alpha 1.6733.

    Shape:
        any -> the same.

    Example:
        >>> nn.SELU()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-1.5202,  0.0000,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class SiLU(_InPlace):
    """Multiply by the sigmoid: x sigmoid(x), also called swish.

    Shape:
        any -> the same.

    Example:
        >>> nn.SiLU()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.2384,  0.0000,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """Compute x tanh(softplus(x)), a smooth relative of ReLU.

    Shape:
        any -> the same.

    Example:
        >>> nn.Mish()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.2525,  0.0000,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Hardswish(_InPlace):
    """SiLU made of straight lines: x relu6(x + 3) / 6.

    Shape:
        any -> the same.

    Example:
        >>> nn.Hardswish()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.3333,  0.0000,  1.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_InPlace):
    """Sigmoid made of straight lines: relu6(x + 3) / 6.

    Shape:
        any -> the same.

    Example:
        >>> nn.Hardsigmoid()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([0.1667, 0.5000, 0.8333])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardtanh(_InPlace):
    """Limit elements to [min_val, max_val].

    Args:
        min_val: the smallest result.
        max_val: the largest result.
        min_value, max_value: the old names of these two; deprecated.

    Shape:
        any -> the same.

    Example:
        >>> nn.Hardtanh(-1.0, 1.0)(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = min_val if min_value is None else _renamed("min_value", "min_val", min_value)
        self.max_val = max_val if max_value is None else _renamed("max_value", "max_val", max_value)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + _in_place(self)


class ReLU6(Hardtanh):
    """Limit elements to [0, 6].

    Shape:
        any -> the same.

    Example:
        >>> nn.ReLU6()(torch.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


def _renamed(old: str, new: str, value: float) -> float:
    import warnings

    warnings.warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=3)
    return value


def _in_place(module: Any) -> str:
    return ", inplace=True" if module.inplace else ""


class Threshold(_InPlace):
    """Keep elements above a threshold and put a value in place of the others.

    Args:
        threshold: elements above it stay as they are.
        value: what the others become.

    Shape:
        any -> the same.

    Example:
        >>> nn.Threshold(0.5, 20.0)(torch.tensor([0.2, 0.7]))
        tensor([20.0000,  0.7000])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + _in_place(self)


class RReLU(_InPlace):
    """Leaky ReLU whose slope is drawn for every element in training.

    In evaluation the slope is the mean of `lower` and `upper`.

    Args:
        lower: the smallest slope.
        upper: the largest slope.

    Shape:
        any -> the same.

    Example:
        >>> nn.RReLU(0.1, 0.3).eval()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.4000,  0.0000,  2.0000])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + _in_place(self)


class ELU(_InPlace):
    """Keep positive x; alpha (exp(x) - 1) for negative x.

    Args:
        alpha: minus the limit for large negative x.

    Shape:
        any -> the same.

    Example:
        >>> nn.ELU()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.8647,  0.0000,  2.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + _in_place(self)


class CELU(ELU):
    """As `ELU`: alpha (exp(x / alpha) - 1) for negative x, which has no kink at 0."""

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(_InPlace):
    """Keep positive x; negative_slope x for negative x.

    Args:
        negative_slope: the slope for negative x.

    Shape:
        any -> the same.

    Example:
        >>> nn.LeakyReLU(0.1)(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.2000,  0.0000,  2.0000])
    """

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + _in_place(self)


class PReLU(Module):
    """Keep positive x; a learnt slope times x for negative x.

    Args:
        num_parameters: 1 for one slope, or the number of channels for one slope each.
        init: the slopes to begin with.

    Shape:
        (N, C, *) -> the same; with `num_parameters=1` any shape.

    Attributes:
        weight: (num_parameters,), the slopes.

    Example:
        >>> nn.PReLU()(torch.tensor([-2.0, 0.0, 2.0])).detach()
        tensor([-0.5000,  0.0000,  2.0000])
    """

    __constants__ = ["num_parameters"]

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set every slope to `init` again."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class GELU(Module):
    """Multiply by the normal distribution function: x P(Z <= x) for a standard normal Z.

    Args:
        approximate: "none" for the exact function, "tanh" for the quicker approximation.

    Shape:
        any -> the same.

    Example:
        >>> nn.GELU()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.0455,  0.0000,  1.9545])
        >>> nn.GELU(approximate='tanh')(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.0454,  0.0000,  1.9546])
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Sigmoid(Module):
    """Map every element to (0, 1): 1 / (1 + exp(-x)).

    Shape:
        any -> the same.

    Example:
        >>> nn.Sigmoid()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([0.1192, 0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(Module):
    """Map every element to (-1, 1): the hyperbolic tangent.

    Shape:
        any -> the same.

    Example:
        >>> nn.Tanh()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.9640,  0.0000,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class LogSigmoid(Module):
    """Compute log(sigmoid(x)) without overflow.

    Shape:
        any -> the same.

    Example:
        >>> nn.LogSigmoid()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-2.1269, -0.6931, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """Compute x / (1 + |x|).

    Shape:
        any -> the same.

    Example:
        >>> nn.Softsign()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.6667,  0.0000,  0.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """Compute x - tanh(x).

    Shape:
        any -> the same.

    Example:
        >>> nn.Tanhshrink()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-1.0360,  0.0000,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softplus(Module):
    """A smooth ReLU: log(1 + exp(beta x)) / beta.

    Args:
        beta: larger is closer to ReLU.
        threshold: the result is x itself where beta x is larger than this.

    Shape:
        any -> the same.

    Example:
        >>> nn.Softplus()(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([0.1269, 0.6931, 2.1269])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class _Shrink(Module):
    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """Set elements in [-lambd, lambd] to zero.

    Args:
        lambd: the half width of the interval.

    Shape:
        any -> the same.

    Example:
        >>> nn.Hardshrink(0.5)(torch.tensor([-1.0, 0.3, 2.0]))
        tensor([-1.,  0.,  2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """Move every element towards zero by lambd, and not past it.

    Args:
        lambd: how far; not negative.

    Shape:
        any -> the same.

    Example:
        >>> nn.Softshrink(0.5)(torch.tensor([-1.0, 0.3, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class GLU(Module):
    """Split in two halves and multiply the first by the sigmoid of the second.

    Args:
        dim: the dimension that is split; its size must be even.

    Shape:
        (*, 2 n, *) -> (*, n, *).

    Example:
        >>> nn.GLU()(torch.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _OverDim(Module):
    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_OverDim):
    """As `Softmax`, of -x: small elements get large shares."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_OverDim):
    """Turn scores into shares that sum to 1: exp(x), divided by its sum along `dim`.

    Args:
        dim: the dimension along which results sum to 1.

    Shape:
        any -> the same.

    Example:
        >>> nn.Softmax(dim=1)(torch.tensor([[0.0, 0.0], [1.0, 3.0]]))
        tensor([[0.5000, 0.5000],
                [0.1192, 0.8808]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_OverDim):
    """The logarithm of softmax, computed so that nothing overflows.

    Args:
        dim: the dimension along which the exponentials of the results sum to 1.

    Shape:
        any -> the same.

    Example:
        >>> nn.LogSoftmax(dim=1)(torch.tensor([[0.0, 0.0], [1.0, 3.0]]))
        tensor([[-0.6931, -0.6931],
                [-2.1269, -0.1269]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of every pixel.

    Shape:
        (N, C, H, W) or (C, H, W) -> the same.

    Example:
        >>> nn.Softmax2d()(torch.zeros(1, 4, 1, 2))[0, :, 0]
        tensor([[0.2500, 0.2500],
                [0.2500, 0.2500],
                [0.2500, 0.2500],
                [0.2500, 0.2500]])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
