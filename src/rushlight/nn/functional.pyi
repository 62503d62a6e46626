"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.device import device as _device
from ..base.dtypes import dtype as _dtype
from ..base.formats import layout as _layout
from ..base.formats import memory_format as _memory_format
from ..base.shapes import Size as _Size
from ..core.tensor import Tensor as _Tensor
from ..operators.random.generator import Generator as _Generator

def adaptive_avg_pool1d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None) -> _Tensor:
    """The mean over 1-d windows chosen so that the result has `output_size`."""
def adaptive_avg_pool2d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None) -> _Tensor:
    """The mean over 2-d windows chosen so that the result has `output_size`."""
def adaptive_avg_pool3d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None) -> _Tensor:
    """The mean over 3-d windows chosen so that the result has `output_size`."""
def adaptive_max_pool1d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> Any:
    """The maximum over 1-d windows chosen so that the result has `output_size`."""
def adaptive_max_pool1d_with_indices(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]: ...
def adaptive_max_pool2d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> Any:
    """The maximum over 2-d windows chosen so that the result has `output_size`."""
def adaptive_max_pool2d_with_indices(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]: ...
def adaptive_max_pool3d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> Any:
    """The maximum over 3-d windows chosen so that the result has `output_size`."""
def adaptive_max_pool3d_with_indices(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]: ...
def affine_grid(theta: _Tensor, size: _b.int | Sequence[_b.int], align_corners: _b.bool | None = None) -> _Tensor:
    """The positions `grid_sample` needs to apply the affine maps `theta` (N, 2, 3) or (N, 3, 4)."""
def alpha_dropout(input: _Tensor, p: _b.float = 0.5, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """Dropout that keeps the mean and the variance of SELU networks."""
def avg_pool1d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, ceil_mode: _b.bool = False, count_include_pad: _b.bool = True, divisor_override: _b.int | None = None) -> _Tensor:
    """The mean of every 1-d window."""
def avg_pool2d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, ceil_mode: _b.bool = False, count_include_pad: _b.bool = True, divisor_override: _b.int | None = None) -> _Tensor:
    """The mean of every 2-d window."""
def avg_pool3d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, ceil_mode: _b.bool = False, count_include_pad: _b.bool = True, divisor_override: _b.int | None = None) -> _Tensor:
    """The mean of every 3-d window."""
def batch_norm(input: _Tensor, running_mean: _Tensor | None, running_var: _Tensor | None, weight: _Tensor | None = None, bias: _Tensor | None = None, training: _b.bool = False, momentum: _b.float = 0.1, eps: _b.float = 1e-05) -> _Tensor:
    """Each channel (dim 1) normalised over all other dims, by batch or by running statistics."""
def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """`input1 @ weight[o] @ input2 + bias[o]` for every output `o`."""
def binary_cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """The cross entropy of probabilities with targets in [0, 1]."""
def binary_cross_entropy_with_logits(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean', pos_weight: _Tensor | None = None) -> _Tensor:
    """The cross entropy of sigmoid(input) with targets in [0, 1], without overflow."""
def celu(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """x, or `alpha * (exp(x / alpha) - 1)` where x is negative."""
def celu_(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `celu`."""
def channel_shuffle(input: _Tensor, groups: _b.int) -> _Tensor:
    """Deal the channels of (N, C, *) out to `groups` in turn."""
def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """1-d cross-correlation of (N, C, ...) with a weight (O, C / groups, ...)."""
def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """2-d cross-correlation of (N, C, ...) with a weight (O, C / groups, ...)."""
def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """3-d cross-correlation of (N, C, ...) with a weight (O, C / groups, ...)."""
def conv_tbc(input: _Tensor, weight: _Tensor, bias: _Tensor, pad: _b.int = 0) -> _Tensor:
    """1-d convolution of (time, batch, channels) with a weight (width, in, out)."""
def conv_transpose1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """1-d transposed convolution with a weight (C, O / groups, ...)."""
def conv_transpose2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """2-d transposed convolution with a weight (C, O / groups, ...)."""
def conv_transpose3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """3-d transposed convolution with a weight (C, O / groups, ...)."""
def cosine_embedding_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _b.float = 0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: _b.int = 1, eps: _b.float = 1e-08) -> _Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; norms count as at least `eps`."""
def cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _b.bool | None = None, ignore_index: _b.int = -100, reduce: _b.bool | None = None, reduction: _b.str = 'mean', label_smoothing: _b.float = 0.0) -> _Tensor:
    """The cross entropy of logits with class indices or class probabilities."""
def ctc_loss(log_probs: _Tensor, targets: _Tensor, input_lengths: Any, target_lengths: Any, blank: _b.int = 0, reduction: _b.str = 'mean', zero_infinity: _b.bool = False) -> _Tensor:
    """The negative log-likelihood of `targets` over all alignments to `log_probs` [T, N, C]."""
def dropout(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Zero elements with probability `p` and scale the others by 1 / (1 - p)."""
def dropout1d(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Zero whole channels of (N, C, L) or (C, L) with probability `p`."""
def dropout2d(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Zero whole channels of (N, C, H, W) with probability `p`."""
def dropout3d(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Zero whole channels of (N, C, D, H, W) or (C, D, H, W) with probability `p`."""
def elu(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """x, or `alpha * (exp(x) - 1)` where x is negative."""
def elu_(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `elu`."""
def embedding(input: _Tensor, weight: _Tensor, padding_idx: _b.int | None = None, max_norm: _b.float | None = None, norm_type: _b.float = 2.0, scale_grad_by_freq: _b.bool = False, sparse: _b.bool = False) -> _Tensor:
    """The rows of `weight` that the indices in `input` name."""
def embedding_bag(input: _Tensor, weight: _Tensor, offsets: _Tensor | None = None, max_norm: _b.float | None = None, norm_type: _b.float = 2, scale_grad_by_freq: _b.bool = False, mode: _b.str = 'mean', sparse: _b.bool = False, per_sample_weights: _Tensor | None = None, include_last_offset: _b.bool = False, padding_idx: _b.int | None = None) -> _Tensor:
    """One row per bag of indices: the sum, mean or maximum of their embeddings."""
def feature_alpha_dropout(input: _Tensor, p: _b.float = 0.5, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """`alpha_dropout` of whole channels."""
def fold(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, kernel_size: _b.int | Sequence[_b.int], dilation: _b.int | Sequence[_b.int] = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, stride: _b.int | Sequence[_b.int] | None = 1) -> _Tensor:
    """Columns of windows added up into images (N, C, *output_size): the adjoint of `unfold`."""
def fractional_max_pool2d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], output_size: _b.int | Sequence[_b.int | None] | None = None, output_ratio: Any = None, return_indices: _b.bool = False, _random_samples: _Tensor | None = None) -> Any:
    """The maxima of 2-d windows at random places (Graham, 2014)."""
def fractional_max_pool2d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], output_size: _b.int | Sequence[_b.int | None] | None = None, output_ratio: Any = None, return_indices: _b.bool = False, _random_samples: _Tensor | None = None) -> _b.tuple[_Tensor, _Tensor]: ...
def fractional_max_pool3d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], output_size: _b.int | Sequence[_b.int | None] | None = None, output_ratio: Any = None, return_indices: _b.bool = False, _random_samples: _Tensor | None = None) -> Any:
    """The maxima of 3-d windows at random places (Graham, 2014)."""
def fractional_max_pool3d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], output_size: _b.int | Sequence[_b.int | None] | None = None, output_ratio: Any = None, return_indices: _b.bool = False, _random_samples: _Tensor | None = None) -> _b.tuple[_Tensor, _Tensor]: ...
def gaussian_nll_loss(input: _Tensor, target: _Tensor, var: Any, full: _b.bool = False, eps: _b.float = 1e-06, reduction: _b.str = 'mean') -> _Tensor:
    """The negative log-likelihood of `target` under normal distributions of mean `input`."""
def gelu(input: _Tensor, *, approximate: _b.str = 'none') -> _Tensor:
    """x times the normal distribution function of x, or its tanh approximation."""
def glu(input: _Tensor, dim: _b.int = -1) -> _Tensor:
    """The first half along `dim` times the sigmoid of the second."""
def grid_sample(input: _Tensor, grid: _Tensor, mode: _b.str = 'bilinear', padding_mode: _b.str = 'zeros', align_corners: _b.bool | None = None) -> _Tensor:
    """`input` (N, C, H, W) read at the positions `grid` (N, h, w, 2) of (x, y) in [-1, 1]."""
def group_norm(input: _Tensor, num_groups: _b.int, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _b.float = 1e-05) -> _Tensor:
    """Groups of channels of each sample normalised together."""
def gumbel_softmax(logits: _Tensor, tau: _b.float = 1, hard: _b.bool = False, eps: _b.float = 1e-10, dim: _b.int = -1) -> _Tensor:
    """A sample of the Gumbel-softmax distribution; `hard` makes it one-hot, with soft gradients."""
def hardshrink(input: _Tensor, lambd: _b.float = 0.5, *, out: Any = None) -> _Tensor:
    """x outside [-lambd, lambd], 0 inside."""
def hardsigmoid(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """clip(x + 3, 0, 6) / 6."""
def hardswish(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """x * hardsigmoid(x)."""
def hardtanh(input: _Tensor, min_val: _b.float = -1.0, max_val: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """x clipped to [min_val, max_val]."""
def hardtanh_(input: _Tensor, min_val: _b.float = -1.0, max_val: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `hardtanh`."""
def hinge_embedding_loss(input: _Tensor, target: _Tensor, margin: _b.float = 1.0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1."""
def huber_loss(input: _Tensor, target: _Tensor, reduction: _b.str = 'mean', delta: _b.float = 1.0, weight: _Tensor | None = None) -> _Tensor:
    """Half the square below `delta`, `delta` times the distance above."""
def instance_norm(input: _Tensor, running_mean: _Tensor | None = None, running_var: _Tensor | None = None, weight: _Tensor | None = None, bias: _Tensor | None = None, use_input_stats: _b.bool = True, momentum: _b.float = 0.1, eps: _b.float = 1e-05) -> _Tensor:
    """Each channel of each sample normalised over its spatial dims."""
def interpolate(input: _Tensor, size: _b.int | Sequence[_b.int] | None = None, scale_factor: Any = None, mode: _b.str = 'nearest', align_corners: _b.bool | None = None, recompute_scale_factor: _b.bool | None = None, antialias: _b.bool = False) -> _Tensor:
    """`input` (N, C, *) resized to `size` or by `scale_factor`."""
def kl_div(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean', log_target: _b.bool = False) -> _Tensor:
    """The divergence of `target` from the log-probabilities `input`."""
def l1_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """The mean absolute error."""
def layer_norm(input: _Tensor, normalized_shape: _b.int | Sequence[_b.int], weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _b.float = 1e-05) -> _Tensor:
    """The last dims, as many as `normalized_shape` has, brought to mean 0 and variance 1."""
def leaky_relu(input: _Tensor, negative_slope: _b.float = 0.01, inplace: _b.bool = False) -> _Tensor:
    """x, or `negative_slope * x` where x is negative."""
def leaky_relu_(input: _Tensor, negative_slope: _b.float = 0.01, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `leaky_relu`."""
def linear(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """`input @ weight.T + bias`."""
def local_response_norm(input: _Tensor, size: _b.int, alpha: _b.float = 0.0001, beta: _b.float = 0.75, k: _b.float = 1.0) -> _Tensor:
    """Each channel divided by a power of the mean square of its `size` neighbouring channels."""
def log_softmax(input: _Tensor, dim: _b.int | None = None, _stacklevel: _b.int = 3, dtype: _dtype | None = None) -> _Tensor:
    """The logarithm of `softmax`, computed without leaving the representable range."""
def logsigmoid(input: _Tensor) -> _Tensor:
    """log(sigmoid(x)), without overflow."""
def lp_pool1d(input: _Tensor, norm_type: Any, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, ceil_mode: _b.bool = False) -> _Tensor:
    """The `norm_type`-norm of every 1-d window."""
def lp_pool2d(input: _Tensor, norm_type: Any, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, ceil_mode: _b.bool = False) -> _Tensor:
    """The `norm_type`-norm of every 2-d window."""
def lp_pool3d(input: _Tensor, norm_type: Any, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, ceil_mode: _b.bool = False) -> _Tensor:
    """The `norm_type`-norm of every 3-d window."""
def margin_ranking_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _b.float = 0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
def max_pool1d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """The maximum of every 1-d window; `return_indices` adds where it lies."""
def max_pool1d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]: ...
def max_pool2d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """The maximum of every 2-d window; `return_indices` adds where it lies."""
def max_pool2d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]: ...
def max_pool3d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """The maximum of every 3-d window; `return_indices` adds where it lies."""
def max_pool3d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]: ...
def max_unpool1d(input: _Tensor, indices: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_size: _b.int | Sequence[_b.int | None] | None = None) -> _Tensor:
    """Put 1-d maxima back where `indices` says they came from; zeros elsewhere."""
def max_unpool2d(input: _Tensor, indices: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_size: _b.int | Sequence[_b.int | None] | None = None) -> _Tensor:
    """Put 2-d maxima back where `indices` says they came from; zeros elsewhere."""
def max_unpool3d(input: _Tensor, indices: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_size: _b.int | Sequence[_b.int | None] | None = None) -> _Tensor:
    """Put 3-d maxima back where `indices` says they came from; zeros elsewhere."""
def mish(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """x * tanh(softplus(x))."""
def mse_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """The mean squared error."""
def multi_head_attention_forward(query: _Tensor, key: _Tensor, value: _Tensor, embed_dim_to_check: _b.int, num_heads: _b.int, in_proj_weight: _Tensor | None, in_proj_bias: _Tensor | None, bias_k: _Tensor | None, bias_v: _Tensor | None, add_zero_attn: _b.bool, dropout_p: _b.float, out_proj_weight: _Tensor, out_proj_bias: _Tensor | None, training: _b.bool = True, key_padding_mask: _Tensor | None = None, need_weights: _b.bool = True, attn_mask: _Tensor | None = None, use_separate_proj_weight: _b.bool = False, q_proj_weight: _Tensor | None = None, k_proj_weight: _Tensor | None = None, v_proj_weight: _Tensor | None = None, static_k: _Tensor | None = None, static_v: _Tensor | None = None, average_attn_weights: _b.bool = True, is_causal: _b.bool = False) -> _b.tuple[_Tensor, _Tensor | None]:
    """Attention of `query` [L, N, E] over `key` and `value` [S, N, E] in `num_heads` heads."""
def multi_margin_loss(input: _Tensor, target: _Tensor, p: _b.int = 1, margin: _b.float = 1.0, weight: _Tensor | None = None, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """max(0, margin - x[target] + x[i])^p over the wrong classes i, divided by their number + 1."""
def multilabel_margin_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """max(0, 1 - x[target] + x[i]) over all pairs of a target class and another class i."""
def multilabel_soft_margin_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """The mean over classes of the binary cross entropy of each."""
def native_channel_shuffle(input: _Tensor, groups: _b.int) -> _Tensor:
    """Deal the channels of (N, C, *) out to `groups` in turn."""
def nll_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _b.bool | None = None, ignore_index: _b.int = -100, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """The negative of the log-probability at each target class."""
def normalize(input: _Tensor, p: _b.float = 2.0, dim: _b.int | Sequence[_b.int] | None = 1, eps: _b.float = 1e-12, out: Any = None) -> _Tensor:
    """`input` divided by its p-norm along `dim`, or by `eps` where that is larger."""
def one_hot(tensor: _Tensor, num_classes: _b.int = -1) -> _Tensor:
    """A last dim that is one at each class and zero elsewhere."""
def pad(input: _Tensor, pad: Any, mode: _b.str = 'constant', value: _Tensor | _b.complex | None = None) -> _Tensor:
    """Pad (or with negative numbers cut) dims from the last one backwards: (left, right, top, ...)."""
def pairwise_distance(x1: _Tensor, x2: _Tensor, p: _b.float = 2.0, eps: _b.float = 1e-06, keepdim: _b.bool = False) -> _Tensor:
    """The p-norm of `x1 - x2 + eps` along the last dim."""
def pdist(input: _Tensor, p: _b.float = 2) -> _Tensor:
    """The p-norm distances of all pairs of rows: the upper triangle of `cdist`, row by row."""
def pixel_shuffle(input: _Tensor, upscale_factor: _b.int) -> _Tensor:
    """(*, C r^2, H, W) to (*, C, H r, W r): channels become r x r blocks of pixels."""
def pixel_unshuffle(input: _Tensor, downscale_factor: _b.int) -> _Tensor:
    """(*, C, H r, W r) to (*, C r^2, H, W): the inverse of `pixel_shuffle`."""
def poisson_nll_loss(input: _Tensor, target: _Tensor, log_input: _b.bool = True, full: _b.bool = False, size_average: _b.bool | None = None, eps: _b.float = 1e-08, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """The negative log-likelihood of counts under Poisson rates, or their logarithms."""
def prelu(input: _Tensor, weight: _Tensor) -> _Tensor:
    """x, or a learnt multiple of x where x is negative: one for all or one per channel."""
def relu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """max(0, x)."""
def relu6(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """x clipped to [0, 6]."""
def relu_(input: _Tensor) -> _Tensor:
    """In-place `relu`."""
def rms_norm(input: _Tensor, normalized_shape: _b.int | Sequence[_b.int], weight: _Tensor | None = None, eps: _b.float | None = None) -> _Tensor:
    """The last dims divided by their root mean square."""
def rrelu(input: _Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """leaky_relu with slopes drawn from [lower, upper] while training, their mean otherwise."""
def rrelu_(input: _Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `rrelu`."""
def scaled_dot_product_attention(query: _Tensor, key: _Tensor, value: _Tensor, attn_mask: _Tensor | None = None, dropout_p: _b.float = 0.0, is_causal: _b.bool = False, scale: _b.float | None = None, enable_gqa: _b.bool = False) -> _Tensor:
    """softmax(query @ key^T * scale + mask) @ value; a bool mask is True where attention is allowed."""
def selu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """elu with the constants of self-normalizing networks."""
def selu_(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `selu`."""
def sigmoid(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`1 / (1 + exp(-input))`, without overflow."""
def silu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """x * sigmoid(x)."""
def smooth_l1_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean', beta: _b.float = 1.0) -> _Tensor:
    """Squared below `beta`, absolute above."""
def soft_margin_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """log(1 + exp(-target * input))."""
def softmax(input: _Tensor, dim: _b.int | None = None, _stacklevel: _b.int = 3, dtype: _dtype | None = None) -> _Tensor:
    """exp of every element over the sum of exp along `dim`."""
def softmin(input: _Tensor, dim: _b.int | None = None, _stacklevel: _b.int = 3, dtype: _dtype | None = None) -> _Tensor:
    """softmax of `-input`."""
def softplus(input: _Tensor, beta: _b.float = 1.0, threshold: _b.float = 20.0) -> _Tensor:
    """log(1 + exp(beta * x)) / beta, and x itself where `beta * x` exceeds `threshold`."""
def softshrink(input: _Tensor, lambd: _b.float = 0.5) -> _Tensor:
    """x moved towards 0 by `lambd`, and no further."""
def softsign(input: _Tensor) -> _Tensor:
    """x / (1 + |x|)."""
def tanh(input: _Tensor) -> _Tensor:
    """The hyperbolic tangent."""
def tanhshrink(input: _Tensor) -> _Tensor:
    """x - tanh(x)."""
def threshold(input: _Tensor, threshold: _b.float, value: _b.float, inplace: _b.bool = False) -> _Tensor:
    """The elements above the threshold; `value` in place of the others."""
def threshold_(input: _Tensor, threshold: _b.float, value: _b.float) -> _Tensor:
    """In-place version of `threshold`."""
def triplet_margin_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, margin: _b.float = 1.0, p: _b.float = 2, eps: _b.float = 1e-06, swap: _b.bool = False, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative))."""
def triplet_margin_with_distance_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, *, distance_function: Callable[[_Tensor, _Tensor], _Tensor] | None = None, margin: _b.float = 1.0, swap: _b.bool = False, reduction: _b.str = 'mean') -> _Tensor:
    """`triplet_margin_loss` with a distance of the caller's own."""
def unfold(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], dilation: _b.int | Sequence[_b.int] = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, stride: _b.int | Sequence[_b.int] | None = 1) -> _Tensor:
    """The sliding windows of (N, C, H, W) as columns (N, C * kernel, windows)."""
def upsample(input: _Tensor, size: _b.int | Sequence[_b.int] | None = None, scale_factor: Any = None, mode: _b.str = 'nearest', align_corners: _b.bool | None = None) -> _Tensor:
    """The old name of `interpolate`."""
def upsample_bilinear(input: _Tensor, size: _b.int | Sequence[_b.int] | None = None, scale_factor: Any = None) -> _Tensor:
    """The old name of `interpolate(mode='bilinear', align_corners=True)`."""
def upsample_nearest(input: _Tensor, size: _b.int | Sequence[_b.int] | None = None, scale_factor: Any = None) -> _Tensor:
    """The old name of `interpolate(mode='nearest')`."""
