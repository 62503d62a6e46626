"""Where results at the edges of floating point differ from PyTorch's, and why each may.

A difference is known by the op's name and what the run is about: `nan`, `inf`, `zero`, `tiny`, `max` for
values among the inputs, `g` for an incoming gradient that is NaN or infinite. Everything else must agree.
"""

from __future__ import annotations

# (reason, what the runs are about, the ops)
KNOWN: list[tuple[str, str, str]] = [
    ("sums of products: the order of the terms decides which partial sum leaves the range", "max",
     "matmul mm mv bmm dot vdot inner addmm addmv addbmm baddbmm linalg.multi_dot linalg.cross "
     "F.linear F.bilinear einsum tensordot F.scaled_dot_product_attention F.multi_head_attention_forward "
     "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell F.conv1d F.conv2d F.conv3d "
     "conv2d F.conv_transpose1d F.conv_transpose2d F.conv_transpose3d convolution conv_tbc fft.fft fft.ifft "
     "fft.rfft fft.ihfft fft.rfft2 fft.rfftn fft.ihfftn cdist cov corrcoef var std var_mean std_mean "
     "F.adaptive_avg_pool1d F.adaptive_avg_pool2d F.adaptive_avg_pool3d trapezoid cumulative_trapezoid "
     "gradient cumprod prod scatter_reduce F.interpolate"),
    ("squares of what a norm divides by: PyTorch scales at another place", "max",
     "F.batch_norm F.layer_norm layer_norm F.group_norm group_norm F.instance_norm F.rms_norm rms_norm "
     "F.lp_pool1d F.lp_pool3d norm linalg.vector_norm"),
    ("scaled before or after a product: the other order leaves the range first", "max",
     "sub rsub lerp addcmul addcdiv F.mse_loss F.cross_entropy F.hinge_embedding_loss F.soft_margin_loss "
     "F.gaussian_nll_loss F.binary_cross_entropy_with_logits F.multi_margin_loss F.multilabel_margin_loss"),
    ("asymptotic series: the limit here, NaN or infinity there", "max inf tiny nan zero g",
     "special.erfcx special.log_ndtr special.zeta special.gammainc special.gammaincc igamma igammac "
     "special.airy_ai digamma special.digamma special.psi polygamma Tensor.polygamma special.polygamma "
     "special.i1 special.i1e lgamma special.gammaln mvlgamma special.multigammaln special.bessel_y0 "
     "special.bessel_y1 special.modified_bessel_k0 special.modified_bessel_k1 "
     "special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 logcumsumexp"),
    ("recurrences of polynomials: PyTorch leaves them early for a NaN, or not at all", "max nan",
     "special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v "
     "special.chebyshev_polynomial_w special.shifted_chebyshev_polynomial_t "
     "special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v "
     "special.shifted_chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he "
     "special.laguerre_polynomial_l special.legendre_polynomial_p"),
    ("PyTorch's vectors overflow in x * 0.5 * (1 + erf(x)) before they halve", "inf max", "F.gelu"),
    ("composed of several ops in PyTorch, whose parts are infinite where the whole is not", "inf g max",
     "F.softsign F.tanhshrink F.soft_margin_loss F.gaussian_nll_loss F.binary_cross_entropy_with_logits"),
    ("PyTorch multiplies by a reciprocal, which overflows", "tiny max",
     "Tensor.__rtruediv__ Tensor.__rmod__ addcdiv"),
    ("complex division and products: other signs of infinity where both parts are", "g nan inf zero tiny max",
     "div polar"),
    ("the gradient divides by the input in PyTorch; here it is the product of the others", "inf nan tiny g",
     "prod cumprod scatter_reduce"),
    ("a gradient of 0 here, none (or NaN) there, where the exponent or factor is 0", "g inf nan tiny",
     "addmm norm linalg.vector_norm dist F.pdist cdist"),
    ("LogSumExp of equal infinities: PyTorch's vectors subtract them", "g inf nan", "logcumsumexp"),
    ("rows of the gradient are filled up with zeros to whole vectors: 0 * inf in the weight's gradient",
     "inf nan", "F.conv1d F.conv2d F.conv3d conv2d convolution conv_tbc F.conv_transpose1d"),
    ("fully masked or infinite scores: PyTorch's blocks rescale, ours subtract the maximum of the row",
     "inf nan", "F.scaled_dot_product_attention"),
    ("PyTorch's FFT leaves lanes that hold a NaN; NumPy's spreads it over the row, as the sum says", "inf nan",
     "fft.ifft fft.rfft fft.ihfft fft.rfft2 fft.rfftn fft.ihfftn"),
    ("Welford's mean of an infinity is NaN in PyTorch; here it is the infinity", "inf",
     "var_mean std_mean F.batch_norm F.layer_norm group_norm F.group_norm F.instance_norm"),
    ("weights of exactly 0 are left out here, multiplied there", "inf g", "F.interpolate"),
    ("halves, differences and cumulated areas in another order", "inf nan g zero tiny",
     "trapezoid gradient quantile nanquantile cov"),
    ("equal elements: any of their places is an answer, and PyTorch's sorts differ by length",
     "inf nan tiny zero g max", "topk kthvalue mode nanmedian sort"),
    ("among several NaNs of a window PyTorch takes the last, here the first", "nan",
     "F.adaptive_max_pool1d F.adaptive_max_pool2d F.adaptive_max_pool3d F.fractional_max_pool2d "
     "F.fractional_max_pool3d"),
    ("PyTorch compares a NaN as if it were small, or drops it: x > 0 and !(x <= 0) in one kernel", "nan inf g",
     "F.multi_margin_loss F.multilabel_margin_loss"),
    ("the row of padding_idx is multiplied by 0, not left out", "inf nan", "F.embedding_bag"),
    ("bins without an order: NaN as a border, or a range from -inf to inf", "inf nan zero max",
     "histc histogram searchsorted bucketize"),
    ("PyTorch's scalar loop and its vectors differ at NaN (eps) and at the sign of 1 / -0", "nan zero",
     "logit special.logit"),
    ("the sum of a whole row through infinity: tanh and sigmoid of NaN in another order", "g", "gru_cell"),
]  # fmt: skip

ALLOWED = {(op, kind) for _, kinds, ops in KNOWN for op in ops.split() for kind in kinds.split()}

# The oracle itself ends the process: an index made of NaN, a batch of nothing.
CRASHES = {
    "F.grid_sample",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "F.ctc_loss",
    "ctc_loss",
}
