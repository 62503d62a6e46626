"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from ..base.device import device as _device
from ..base.dtypes import dtype as _dtype
from ..base.formats import layout as _layout
from ..base.formats import qscheme as _qscheme
from ..base.formats import memory_format as _memory_format
from ..base.shapes import Size as _Size
from ..core.tensor import Tensor as _Tensor
from .. import return_types as _results
from ..operators.random.generator import Generator as _Generator

def adaptive_avg_pool1d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None) -> _Tensor:
    """Take means of signals over windows chosen so that the output has a given size."""
def adaptive_avg_pool2d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None) -> _Tensor:
    """Take means of images over windows chosen so that the output has a given size."""
def adaptive_avg_pool3d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None) -> _Tensor:
    """Take means of volumes over windows chosen so that the output has a given size."""
def adaptive_max_pool1d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> Any:
    """Take maxima of signals over windows chosen so that the output has a given size."""
def adaptive_max_pool1d_with_indices(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]:
    """As `nn.functional.adaptive_max_pool1d` with `return_indices=True`: the maxima, and where they were found."""
def adaptive_max_pool2d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> Any:
    """Take maxima of images over windows chosen so that the output has a given size."""
def adaptive_max_pool2d_with_indices(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]:
    """As `nn.functional.adaptive_max_pool2d` with `return_indices=True`: the maxima, and where they were found."""
def adaptive_max_pool3d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> Any:
    """Take maxima of volumes over windows chosen so that the output has a given size."""
def adaptive_max_pool3d_with_indices(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]:
    """As `nn.functional.adaptive_max_pool3d` with `return_indices=True`: the maxima, and where they were found."""
def affine_grid(theta: _Tensor, size: _b.int | Sequence[_b.int], align_corners: _b.bool | None = None) -> _Tensor:
    """Make the grid with which `grid_sample` applies affine maps."""
def alpha_dropout(input: _Tensor, p: _b.float = 0.5, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """Dropout for networks of SELU, which keeps mean and variance."""
def avg_pool1d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, ceil_mode: _b.bool = False, count_include_pad: _b.bool = True, divisor_override: _b.int | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Take the mean of every window of signals."""
def avg_pool2d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, ceil_mode: _b.bool = False, count_include_pad: _b.bool = True, divisor_override: _b.int | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Take the mean of every window of images."""
def avg_pool3d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, ceil_mode: _b.bool = False, count_include_pad: _b.bool = True, divisor_override: _b.int | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Take the mean of every window of volumes."""
def batch_norm(input: _Tensor, running_mean: _Tensor | None, running_var: _Tensor | None, weight: _Tensor | None = None, bias: _Tensor | None = None, training: _b.bool = False, momentum: _b.float = 0.1, eps: _b.float = 1e-05) -> _Tensor:
    """Normalise every channel (dimension 1) to mean 0 and variance 1 over all other dimensions."""
def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """`input1 @ weight[o] @ input2 + bias[o]` for every output `o`."""
def binary_cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Binary cross entropy of probabilities."""
def binary_cross_entropy_with_logits(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean', pos_weight: _Tensor | None = None) -> _Tensor:
    """Binary cross entropy of sigmoid(input), computed so that nothing overflows."""
def celu(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """Keep positive x; alpha (exp(x / alpha) - 1) for negative x, which has no kink at 0."""
def celu_(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `celu`."""
def channel_shuffle(input: _Tensor, groups: _b.int) -> _Tensor:
    """Mix channels: take one from each group in turn."""
def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """Convolve signals: every output is a weighted sum of a window of the input."""
def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """Convolve images: every output is a weighted sum of a window of the input."""
def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """Convolve volumes: every output is a weighted sum of a window of the input."""
def conv_tbc(input: _Tensor, weight: _Tensor, bias: _Tensor, pad: _b.int = 0) -> _Tensor:
    """Convolve signals whose dimensions are time, batch and channels."""
def conv_transpose1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """Transposed convolution of signals: what a convolution sends back to its input."""
def conv_transpose2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """Transposed convolution of images: what a convolution sends back to its input."""
def conv_transpose3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """Transposed convolution of volumes: what a convolution sends back to its input."""
def cosine_embedding_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _b.float = 0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Loss of angles: 1 - cos of similar pairs, max(0, cos - margin) of others."""
def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: _b.int = 1, eps: _b.float = 1e-08) -> _Tensor:
    """Cosine of the angle between two vectors."""
def cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _b.bool | None = None, ignore_index: _b.int = -100, reduce: _b.bool | None = None, reduction: _b.str = 'mean', label_smoothing: _b.float = 0.0) -> _Tensor:
    """Cross entropy of scores (logits) with the right classes: log_softmax and nll_loss in one."""
def ctc_loss(log_probs: _Tensor, targets: _Tensor, input_lengths: Any, target_lengths: Any, blank: _b.int = 0, reduction: _b.str = 'mean', zero_infinity: _b.bool = False) -> _Tensor:
    """Connectionist temporal classification: minus the log likelihood over all alignments."""
def dropout(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Set elements to zero at random, and scale the others by 1 / (1 - p)."""
def dropout1d(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Set whole channels to zero at random, and scale the others by 1 / (1 - p)."""
def dropout2d(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Set whole channels to zero at random, and scale the others by 1 / (1 - p)."""
def dropout3d(input: _Tensor, p: _b.float = 0.5, training: _b.bool = True, inplace: _b.bool = False) -> _Tensor:
    """Set whole channels to zero at random, and scale the others by 1 / (1 - p)."""
def elu(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """Keep positive x; alpha (exp(x) - 1) for negative x."""
def elu_(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `elu`."""
def embedding(input: _Tensor, weight: _Tensor, padding_idx: _b.int | None = None, max_norm: _b.float | None = None, norm_type: _b.float = 2.0, scale_grad_by_freq: _b.bool = False, sparse: _b.bool = False) -> _Tensor:
    """Look rows of a table up by index."""
def embedding_bag(input: _Tensor, weight: _Tensor, offsets: _Tensor | None = None, max_norm: _b.float | None = None, norm_type: _b.float = 2, scale_grad_by_freq: _b.bool = False, mode: _b.str = 'mean', sparse: _b.bool = False, per_sample_weights: _Tensor | None = None, include_last_offset: _b.bool = False, padding_idx: _b.int | None = None) -> _Tensor:
    """Look rows of a table up and reduce each bag of them to one row."""
def feature_alpha_dropout(input: _Tensor, p: _b.float = 0.5, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """`alpha_dropout` of whole channels."""
def fold(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, kernel_size: _b.int | Sequence[_b.int], dilation: _b.int | Sequence[_b.int] = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, stride: _b.int | Sequence[_b.int] | None = 1) -> _Tensor:
    """Add columns of windows up into images: the transpose of `unfold`."""
def fractional_max_pool2d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], output_size: _b.int | Sequence[_b.int | None] | None = None, output_ratio: Any = None, return_indices: _b.bool = False, _random_samples: _Tensor | None = None) -> Any:
    """Take maxima of images over windows at random places (Graham, 2014)."""
def fractional_max_pool2d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], output_size: _b.int | Sequence[_b.int | None] | None = None, output_ratio: Any = None, return_indices: _b.bool = False, _random_samples: _Tensor | None = None) -> _b.tuple[_Tensor, _Tensor]:
    """As `nn.functional.fractional_max_pool2d` with `return_indices=True`: the maxima, and where they were found."""
def fractional_max_pool3d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], output_size: _b.int | Sequence[_b.int | None] | None = None, output_ratio: Any = None, return_indices: _b.bool = False, _random_samples: _Tensor | None = None) -> Any:
    """Take maxima of volumes over windows at random places (Graham, 2014)."""
def fractional_max_pool3d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], output_size: _b.int | Sequence[_b.int | None] | None = None, output_ratio: Any = None, return_indices: _b.bool = False, _random_samples: _Tensor | None = None) -> _b.tuple[_Tensor, _Tensor]:
    """As `nn.functional.fractional_max_pool3d` with `return_indices=True`: the maxima, and where they were found."""
def gaussian_nll_loss(input: _Tensor, target: _Tensor, var: Any, full: _b.bool = False, eps: _b.float = 1e-06, reduction: _b.str = 'mean') -> _Tensor:
    """Minus the log likelihood of targets under normal distributions of given mean and variance."""
def gelu(input: _Tensor, *, approximate: _b.str = 'none', out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Multiply by the normal distribution function: x P(Z <= x) for a standard normal Z."""
def glu(input: _Tensor, dim: _b.int = -1) -> _Tensor:
    """Split in two halves and multiply the first by the sigmoid of the second."""
def grid_sample(input: _Tensor, grid: _Tensor, mode: _b.str = 'bilinear', padding_mode: _b.str = 'zeros', align_corners: _b.bool | None = None) -> _Tensor:
    """Read images at given places."""
def group_norm(input: _Tensor, num_groups: _b.int, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _b.float = 1e-05) -> _Tensor:
    """Normalise groups of channels of every sample to mean 0 and variance 1."""
def grouped_mm(mat_a: _Tensor, mat_b: _Tensor, *, offs: _Tensor | None = None, bias: _Tensor | None = None, out_dtype: Any = None) -> _Tensor:
    """Products of several pairs of matrices; a side of two dimensions holds its matrices one after the other."""
def gumbel_softmax(logits: _Tensor, tau: _b.float = 1, hard: _b.bool = False, eps: _b.float = 1e-10, dim: _b.int = -1) -> _Tensor:
    """Draw random shares that sum to 1 and can be differentiated (Gumbel-softmax)."""
def hardshrink(input: _Tensor, lambd: _b.float = 0.5, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Set elements in [-lambd, lambd] to zero."""
def hardsigmoid(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Sigmoid made of straight lines: relu6(x + 3) / 6."""
def hardswish(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """SiLU made of straight lines: x relu6(x + 3) / 6."""
def hardtanh(input: _Tensor, min_val: _b.float = -1.0, max_val: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """Limit elements to [min_val, max_val]."""
def hardtanh_(input: _Tensor, min_val: _b.float = -1.0, max_val: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `hardtanh`."""
def hinge_embedding_loss(input: _Tensor, target: _Tensor, margin: _b.float = 1.0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Loss of distances: the distance of similar pairs, max(0, margin - distance) of others."""
def huber_loss(input: _Tensor, target: _Tensor, reduction: _b.str = 'mean', delta: _b.float = 1.0, weight: _Tensor | None = None) -> _Tensor:
    """Squared difference where it is small, a line where it is large; outliers weigh less."""
def instance_norm(input: _Tensor, running_mean: _Tensor | None = None, running_var: _Tensor | None = None, weight: _Tensor | None = None, bias: _Tensor | None = None, use_input_stats: _b.bool = True, momentum: _b.float = 0.1, eps: _b.float = 1e-05) -> _Tensor:
    """Normalise every channel of every sample by itself to mean 0 and variance 1."""
def interpolate(input: _Tensor, size: _b.int | Sequence[_b.int] | None = None, scale_factor: _b.float | Sequence[_b.float] | None = None, mode: _b.str = 'nearest', align_corners: _b.bool | None = None, recompute_scale_factor: _b.bool | None = None, antialias: _b.bool = False) -> _Tensor:
    """Resize signals, images or volumes."""
def kl_div(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean', log_target: _b.bool = False) -> _Tensor:
    """Kullback-Leibler divergence of a target distribution from log probabilities."""
def l1_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """Mean absolute difference of input and target."""
def layer_norm(input: _Tensor, normalized_shape: _b.int | Sequence[_b.int], weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _b.float = 1e-05) -> _Tensor:
    """Normalise over the last dimensions to mean 0 and variance 1."""
def leaky_relu(input: _Tensor, negative_slope: _b.float = 0.01, inplace: _b.bool = False) -> _Tensor:
    """Keep positive x; negative_slope x for negative x."""
def leaky_relu_(input: _Tensor, negative_slope: _b.float = 0.01, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `leaky_relu`."""
def linear(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Apply an affine map to the last dimension: `input @ weight.T + bias`."""
def linear_cross_entropy(input: _Tensor, linear_weight: _Tensor, target: _Tensor, *, linear_bias: _Tensor | None = None, weight: _Tensor | None = None, reduction: _b.str = 'mean', ignore_index: _b.int | None = None, label_smoothing: _b.float = 0.0, options: Any = None) -> _Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`."""
def local_response_norm(input: _Tensor, size: _b.int, alpha: _b.float = 0.0001, beta: _b.float = 0.75, k: _b.float = 1.0) -> _Tensor:
    """Divide every element by a power of the mean square of neighbouring channels."""
def log_softmax(input: _Tensor, dim: _b.int | None = None, _stacklevel: _b.int = 3, dtype: _dtype | None = None) -> _Tensor:
    """As `torch.log_softmax`; without `dim` it guesses one and warns."""
def logsigmoid(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Compute log(sigmoid(x)) without overflow."""
def lp_pool1d(input: _Tensor, norm_type: Any, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, ceil_mode: _b.bool = False) -> _Tensor:
    """Take the p-norm of every window of signals."""
def lp_pool2d(input: _Tensor, norm_type: Any, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, ceil_mode: _b.bool = False) -> _Tensor:
    """Take the p-norm of every window of images."""
def lp_pool3d(input: _Tensor, norm_type: Any, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, ceil_mode: _b.bool = False) -> _Tensor:
    """Take the p-norm of every window of volumes."""
def margin_ranking_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _b.float = 0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Loss of an order: max(0, -target (input1 - input2) + margin)."""
def max_pool1d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """Take the maximum of every window of signals."""
def max_pool1d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]:
    """As `nn.functional.max_pool1d` with `return_indices=True`: the maxima, and where they were found."""
def max_pool2d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """Take the maximum of every window of images."""
def max_pool2d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]:
    """As `nn.functional.max_pool2d` with `return_indices=True`: the maxima, and where they were found."""
def max_pool3d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """Take the maximum of every window of volumes."""
def max_pool3d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]:
    """As `nn.functional.max_pool3d` with `return_indices=True`: the maxima, and where they were found."""
def max_unpool1d(input: _Tensor, indices: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_size: _b.int | Sequence[_b.int | None] | None = None) -> _Tensor:
    """Put maxima of signals back where `max_pool1d` found them, with zeros elsewhere."""
def max_unpool2d(input: _Tensor, indices: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_size: _b.int | Sequence[_b.int | None] | None = None) -> _Tensor:
    """Put maxima of images back where `max_pool2d` found them, with zeros elsewhere."""
def max_unpool3d(input: _Tensor, indices: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_size: _b.int | Sequence[_b.int | None] | None = None) -> _Tensor:
    """Put maxima of volumes back where `max_pool3d` found them, with zeros elsewhere."""
def mish(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Compute x tanh(softplus(x)), a smooth relative of ReLU."""
def mse_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """Mean squared difference of input and target."""
def multi_head_attention_forward(query: _Tensor, key: _Tensor, value: _Tensor, embed_dim_to_check: _b.int, num_heads: _b.int, in_proj_weight: _Tensor | None, in_proj_bias: _Tensor | None, bias_k: _Tensor | None, bias_v: _Tensor | None, add_zero_attn: _b.bool, dropout_p: _b.float, out_proj_weight: _Tensor, out_proj_bias: _Tensor | None, training: _b.bool = True, key_padding_mask: _Tensor | None = None, need_weights: _b.bool = True, attn_mask: _Tensor | None = None, use_separate_proj_weight: _b.bool = False, q_proj_weight: _Tensor | None = None, k_proj_weight: _Tensor | None = None, v_proj_weight: _Tensor | None = None, static_k: _Tensor | None = None, static_v: _Tensor | None = None, average_attn_weights: _b.bool = True, is_causal: _b.bool = False) -> _b.tuple[_Tensor, _Tensor | None]:
    """Attention in several heads, as a function of all its weights; `nn.MultiheadAttention` calls it."""
def multi_margin_loss(input: _Tensor, target: _Tensor, p: _b.int = 1, margin: _b.float = 1.0, weight: _Tensor | None = None, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Hinge loss of one right class: its score should beat every other by a margin."""
def multilabel_margin_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Hinge loss of several right classes per sample: each should beat every wrong one by 1."""
def multilabel_soft_margin_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Mean over classes of the binary cross entropy of each."""
def native_channel_shuffle(input: _Tensor, groups: _b.int) -> _Tensor:
    """Mix channels: take one from each group in turn."""
def nll_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _b.bool | None = None, ignore_index: _b.int = -100, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Minus the log probability of the target classes."""
def normalize(input: _Tensor, p: _b.float = 2.0, dim: _b.int | Sequence[_b.int] | None = 1, eps: _b.float = 1e-12, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Divide by the p-norm along a dimension, so that vectors have length 1."""
def one_hot(tensor: _Tensor, num_classes: _b.int = -1) -> _Tensor:
    """Turn class numbers into vectors that are 1 at the class and 0 elsewhere."""
def pad(input: _Tensor, pad: Sequence[_b.int], mode: _b.str = 'constant', value: _Tensor | _b.complex | None = None) -> _Tensor:
    """Add values around the last dimensions, or cut them."""
def pairwise_distance(x1: _Tensor, x2: _Tensor, p: _b.float = 2.0, eps: _b.float = 1e-06, keepdim: _b.bool = False) -> _Tensor:
    """The p-norm of the difference of two vectors."""
def pdist(input: _Tensor, p: _b.float = 2) -> _Tensor:
    """The p-norm distances of all pairs of rows."""
def pixel_shuffle(input: _Tensor, upscale_factor: _b.int) -> _Tensor:
    """Turn channels into pixels: blocks of r x r pixels come from r * r channels."""
def pixel_unshuffle(input: _Tensor, downscale_factor: _b.int) -> _Tensor:
    """Turn pixels into channels: the inverse of `pixel_shuffle`."""
def poisson_nll_loss(input: _Tensor, target: _Tensor, log_input: _b.bool = True, full: _b.bool = False, size_average: _b.bool | None = None, eps: _b.float = 1e-08, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Minus the log likelihood of counts under Poisson distributions."""
def prelu(input: _Tensor, weight: _Tensor) -> _Tensor:
    """Keep positive x; a learnt slope times x for negative x."""
def relu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Replace negative elements by zero: max(0, x)."""
def relu6(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Limit elements to [0, 6]."""
def relu_(input: _Tensor) -> _Tensor:
    """In-place version of `relu`."""
def rms_norm(input: _Tensor, normalized_shape: _b.int | Sequence[_b.int], weight: _Tensor | None = None, eps: _b.float | None = None) -> _Tensor:
    """Divide by the root mean square over the last dimensions."""
def rrelu(input: _Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """Leaky ReLU whose slope is drawn for every element in training."""
def rrelu_(input: _Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `rrelu`."""
def scaled_dot_product_attention(query: _Tensor, key: _Tensor, value: _Tensor, attn_mask: _Tensor | None = None, dropout_p: _b.float = 0.0, is_causal: _b.bool = False, scale: _b.float | None = None, enable_gqa: _b.bool = False) -> _Tensor:
    """Attention: `softmax(query @ key^T * scale + mask) @ value`."""
def selu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """ELU with fixed constants that keep activations near mean 0 and variance 1."""
def selu_(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `selu`."""
def sigmoid(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`1 / (1 + exp(-input))`: every number moved into (0, 1)."""
def silu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """Multiply by the sigmoid: x sigmoid(x), also called swish."""
def smooth_l1_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean', beta: _b.float = 1.0) -> _Tensor:
    """Squared difference where it is small, absolute difference where it is large."""
def soft_margin_loss(input: _Tensor, target: _Tensor, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Logistic loss: log(1 + exp(-target input))."""
def softmax(input: _Tensor, dim: _b.int | None = None, _stacklevel: _b.int = 3, dtype: _dtype | None = None) -> _Tensor:
    """As `torch.softmax`; without `dim` it guesses one and warns."""
def softmin(input: _Tensor, dim: _b.int | None = None, _stacklevel: _b.int = 3, dtype: _dtype | None = None) -> _Tensor:
    """Softmax of `-input`: small elements get large shares."""
def softplus(input: _Tensor, beta: _b.float = 1.0, threshold: _b.float = 20.0, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A smooth ReLU: log(1 + exp(beta x)) / beta."""
def softshrink(input: _Tensor, lambd: _b.float = 0.5, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Move every element towards zero by lambd, and not past it."""
def softsign(input: _Tensor) -> _Tensor:
    """Compute x / (1 + |x|)."""
def tanh(input: _Tensor) -> _Tensor:
    """The hyperbolic tangent: every number moved into (-1, 1)."""
def tanhshrink(input: _Tensor) -> _Tensor:
    """Compute x - tanh(x)."""
def threshold(input: _Tensor, threshold: _b.float, value: _b.float, inplace: _b.bool = False) -> _Tensor:
    """Keep elements above a threshold and put a value in place of the others."""
def threshold_(input: _Tensor, threshold: _b.float, value: _b.float) -> _Tensor:
    """In-place version of `threshold`."""
def triplet_margin_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, margin: _b.float = 1.0, p: _b.float = 2, eps: _b.float = 1e-06, swap: _b.bool = False, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """The anchor should be nearer to the positive than to the negative, by a margin."""
def triplet_margin_with_distance_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, *, distance_function: Callable[[_Tensor, _Tensor], _Tensor] | None = None, margin: _b.float = 1.0, swap: _b.bool = False, reduction: _b.str = 'mean') -> _Tensor:
    """`triplet_margin_loss` with a distance function of your own."""
def unfold(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], dilation: _b.int | Sequence[_b.int] = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, stride: _b.int | Sequence[_b.int] | None = 1) -> _Tensor:
    """Cut images into windows: every window becomes a column."""
def upsample(input: _Tensor, size: _b.int | Sequence[_b.int] | None = None, scale_factor: _b.float | Sequence[_b.float] | None = None, mode: _b.str = 'nearest', align_corners: _b.bool | None = None) -> _Tensor:
    """As `nn.functional.interpolate`, under its old name; deprecated."""
def upsample_bilinear(input: _Tensor, size: _b.int | Sequence[_b.int] | None = None, scale_factor: _b.float | Sequence[_b.float] | None = None) -> _Tensor:
    """As `nn.functional.interpolate` with `mode='bilinear', align_corners=True`; deprecated."""
def upsample_nearest(input: _Tensor, size: _b.int | Sequence[_b.int] | None = None, scale_factor: _b.float | Sequence[_b.float] | None = None) -> _Tensor:
    """As `nn.functional.interpolate` with `mode='nearest'`; deprecated."""
