"""Where results at the edges of floating point differ from PyTorch's, and why each may.

A difference is known by the op's name and what the run is about: `nan`, `inf`, `zero`, `tiny`, `max` for
values among the inputs, `g` for an incoming gradient that is NaN or infinite. With `d:` before it only the
gradients may differ, and the values must agree. Everything else must agree.

    PYTHONPATH=tests python tests/ops/edge_differences.py     # entries that excuse nothing on this machine
"""

from __future__ import annotations

# (reason, {what the runs are about: the ops})
KNOWN: list[tuple[str, dict[str, str]]] = [
    ("sums of products: the order of the terms decides which partial sum leaves the range", {
        "d:max": "linalg.multi_dot cumprod prod",
        "d:max max": "F.bilinear einsum cdist",
        "max": "matmul dot vdot inner baddbmm linalg.cross F.linear F.scaled_dot_product_attention lstm gru "
            "rnn_tanh lstm_cell rnn_tanh_cell rnn_relu_cell F.conv1d F.conv2d F.conv3d F.conv_transpose1d "
            "F.conv_transpose2d F.conv_transpose3d convolution conv_tbc fft.ifft fft.fft2 fft.rfft fft.ihfft "
            "fft.rfftn fft.ihfftn cov var std var_mean std_mean F.adaptive_avg_pool1d F.adaptive_avg_pool2d "
            "F.adaptive_avg_pool3d F.interpolate",
    }),
    ("squares of what a norm divides by: PyTorch scales at another place", {
        "d:max": "F.rms_norm rms_norm F.lp_pool1d F.lp_pool3d",
        "d:max max": "F.batch_norm F.layer_norm norm",
        "max": "layer_norm F.group_norm group_norm F.instance_norm",
    }),
    ("scaled before or after a product: the other order leaves the range first", {
        "d:max": "lerp F.mse_loss F.cross_entropy F.gaussian_nll_loss F.binary_cross_entropy_with_logits",
        "d:max max": "F.soft_margin_loss",
        "max": "sub addcmul addcdiv F.hinge_embedding_loss",
    }),
    ("asymptotic series: the limit here, NaN or infinity there", {
        "d:g d:inf d:max d:nan": "logcumsumexp",
        "d:g d:zero max tiny": "special.multigammaln",
        "d:g max": "mvlgamma",
        "d:inf d:max": "special.log_ndtr digamma special.digamma special.psi",
        "d:inf d:max inf max": "polygamma",
        "d:inf inf max": "Tensor.polygamma special.polygamma",
        "d:max": "special.erfcx",
        "d:max max": "special.gammaincc igammac",
        "d:max max tiny": "special.gammainc igamma",
        "inf": "special.airy_ai",
        "inf max": "special.zeta",
        "max tiny": "lgamma special.gammaln",
    }),
    ("recurrences of polynomials: PyTorch leaves them early for a NaN, or not at all", {
        "max": "special.chebyshev_polynomial_t special.chebyshev_polynomial_v "
            "special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_v "
            "special.hermite_polynomial_h special.hermite_polynomial_he",
        "max nan": "special.chebyshev_polynomial_u special.chebyshev_polynomial_w "
            "special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_w "
            "special.laguerre_polynomial_l special.legendre_polynomial_p",
    }),
    ("PyTorch's vectors overflow in x * 0.5 * (1 + erf(x)) before they halve", {
        "inf max": "F.gelu",
    }),
    ("composed of several ops in PyTorch, whose parts are infinite where the whole is not", {
        "d:g": "F.tanhshrink",
        "d:g d:inf": "F.softsign",
        "d:g d:inf inf": "F.binary_cross_entropy_with_logits",
        "d:inf": "F.soft_margin_loss",
        "d:inf inf": "F.gaussian_nll_loss",
    }),
    ("PyTorch multiplies by a reciprocal, which overflows", {
        "tiny": "Tensor.__rtruediv__ addcdiv",
    }),
    ("complex division and products: other signs of infinity where both parts are", {
        "d:g": "div",
        "d:g d:inf d:max d:nan d:tiny d:zero": "polar",
    }),
    ("the gradient divides by the input in PyTorch; here it is the product of the others", {
        "d:g d:inf d:nan d:tiny": "prod cumprod scatter_reduce",
    }),
    ("a gradient of 0 here, none (or NaN) there, where the exponent or factor is 0", {
        "d:g": "addmm linalg.vector_norm",
        "d:g d:tiny inf nan": "norm",
        "d:inf d:nan": "F.pdist",
        "d:inf d:nan d:tiny inf nan": "cdist",
    }),
    ("zeros of a padding meet an infinite weight: here they are multiplied, there left out, or the reverse", {
        "inf": "conv_tbc",
        "inf nan": "F.conv2d F.conv_transpose1d",
    }),
    ("fully masked or infinite scores: PyTorch's blocks rescale, ours subtract the maximum of the row", {
        "inf nan": "F.scaled_dot_product_attention",
    }),
    ("PyTorch's FFT leaves lanes that hold a NaN; ours spreads it over the row, as the sum says", {
        "inf nan": "fft.ifft fft.rfft fft.ihfft fft.ihfftn",
    }),
    ("an even number of reals is transformed as half as many complex numbers, told apart by differences: of infinities they are NaN", {
        "inf max": "fft.rfft2 fft.rfftn fft.ihfft2 stft",
    }),
    ("Welford's mean of an infinity is NaN in PyTorch; here it is the infinity", {
        "d:inf": "F.layer_norm",
        "inf": "var_mean std_mean F.batch_norm group_norm",
    }),
    ("weights of exactly 0 are left out here, multiplied there", {
        "d:g inf": "F.interpolate",
    }),
    ("halves, differences and cumulated areas in another order", {
        "d:g inf": "quantile",
    }),
    ("equal elements: any of their places is an answer, and PyTorch's sorts differ by length", {
        "g inf max nan tiny zero": "topk",
        "inf max nan tiny zero": "kthvalue",
        "nan": "mode",
    }),
    ("PyTorch multiplies the gradient that comes in by 0 where a class does not count; here it is left out", {
        "d:g": "F.multi_margin_loss F.multilabel_margin_loss",
    }),
    ("the largest of a bag skips a NaN in PyTorch and is NaN in `max` everywhere else; here it is NaN", {
        "nan": "F.embedding_bag",
    }),
    ("PyTorch on aarch64: its own loops divide denormals to NaN, and gates of an LSTM at infinity are 0", {
        "tiny": "fmod remainder",
        "inf nan": "lstm",
    }),
    ("bins whose width leaves the range, or whose borders are in no order", {
        "max": "histc",
        "max zero": "histogram",
    }),
    ("PyTorch's scalar loop and its vectors differ at NaN (eps) and at the sign of 1 / -0", {
        "d:nan": "special.logit",
        "d:zero": "logit",
    }),
    ("the sum of a whole row through infinity: tanh and sigmoid of NaN in another order", {
        "d:g": "gru_cell",
    }),
]  # fmt: skip

ALLOWED = {
    (op, kind) for _, groups in KNOWN for kinds, ops in groups.items() for op in ops.split() for kind in kinds.split()
}

# The oracle itself ends the process: an index made of NaN, a batch of nothing.
CRASHES = {"F.grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "F.ctc_loss", "ctc_loss"}


def unused() -> list[tuple[str, str]]:
    """Entries that nothing on this machine needs."""
    import test_edges

    met = {(n, kind) for n in {op for op, _ in ALLOWED} for row in test_edges.edge_rows()[n] for kind, _ in test_edges.differences(row)}  # fmt: skip
    return sorted(ALLOWED - met)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    print("\n".join(" ".join(one) for one in unused()) or "every entry is needed")
