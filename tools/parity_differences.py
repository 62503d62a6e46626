"""In what rushlight may differ from PyTorch in the databases of PyTorch's own tests, and why.

A difference is known by the entry and its kind: of a plain call `value`, `dtype` (or shape), `strides`, `alias`, `graph` (requires_grad),
`raises`, `missing`, `silent`; of the other ways to call the name of the way (`grad`, `second`, `jvp`, `vmap`, `vmapgrad`, `inplace`, `out`,
`outgaps`, `outdtype`, `method`, `operator`, `name`, `reference`, `error`), with `:` and a kind where only that may differ.

    python tools/parity.py --whole --stale     # lines that excuse nothing any more
"""

from __future__ import annotations

from functools import cache

# (reason, {kinds of difference: the entries})
KNOWN: list[tuple[str, dict[str, str]]] = [
    ("memory that nobody has written to: what it holds is luck", {
        "value vmap reference out outgaps outdtype method": "empty, empty_like, empty_permuted, empty_strided, new_empty, new_empty_strided",
    }),
    ("gauges: signs and phases of vectors, the order of equal values, which of several factorisations", {
        "value vmap out outgaps grad second jvp vmapgrad method": "linalg.eig, linalg.eigh, linalg.svd, svd, pca_lowrank, svd_lowrank, geqrf, linalg.pinv/hermitian",
    }),
    ("ties: which of several equal elements is named", {
        "value vmap out outgaps method grad second jvp":
            "topk, kthvalue, mode, argsort, sort, msort, unique, unique_consecutive, foreach "
            "_foreach_maximum, foreach _foreach_minimum, foreach _foreach_clamp_max, foreach "
            "_foreach_clamp_min",
    }),
    ("PyTorch's own fault", {
        # the maps of these give floats beside whole numbers
        "vmap":
            "addbmm, addmv, baddbmm, "
            # rows of a map differ though their arguments do not
            "linspace/tensor_overload, logspace/tensor_overload",
        # a tangent or a second derivative ends in an inner error (ZeroTensor), here it has a value
        "second:silent jvp:silent grad:silent":
            "linalg.norm, masked.norm, norm, linalg.matrix_norm, linalg.vector_norm, "
            "linalg.norm/subgradients_at_zero, abs, foreach _foreach_abs, foreach _foreach_norm",
        # nothing is written into out=
        "out outgaps": "fft.ihfft2, fft.ihfftn",
        # the gradient of what is not written over is lost
        "grad second": "as_strided_scatter",
        # what is written into a tensor with gaps is wrong there
        "outgaps:value": "nn.functional.avg_pool3d, nn.functional.gelu, narrow_copy",
        # not a number by zero or infinity over itself, here the limit
        "reference:value": "signal.windows.kaiser",
        "grad:value second:value vmapgrad:value": "renorm",
        # the first element of an empty tensor is asked for
        "grad:silent second:silent": "foreach _foreach_addcdiv",
        # scores are cut into pieces, of which there are no second derivatives: zeros or an error
        "second:value second:silent":
            "nn.functional.linear_cross_entropy/chunked, nn.functional.linear_cross_entropy/chunked_none, "
            "linalg.norm/subgradients_at_zero",
        # a tangent is that of the last of several elements at a place, not their sum
        "jvp:value": "nn.functional.max_unpool1d, nn.functional.max_unpool2d, nn.functional.max_unpool3d",
        # a gradient that is zero is said to be none
        "grad:none": "linalg.householder_product",
    }),
    ("kernels for GPUs and their types alone: PyTorch refuses them on the CPU, here they are not there", {
        "error missing out:missing outgaps:missing outdtype":
            "torch._scaled_mm, torch._scaled_mm_v2, torch.ops.aten._efficient_attention_forward, torch.ops.aten._flash_attention_forward",
    }),
    ("complex32 is a name without numbers here", {
        "raises missing grad:raises second:raises vmap:raises method:missing reference:raises vmapgrad:raises": "chalf",
    }),
    ("conjugates are copies here, in PyTorch views that say so", {
        "alias method:alias reference:alias reference:strides": "H, mH, conj",
    }),
    ("how the samples of a map lie in memory: each of PyTorch's batching rules has its own way", {
        "vmap:strides":
            "nn.functional.max_pool2d, nn.functional.max_unpool2d, nn.functional.batch_norm, nn.functional.batch_norm/without_cudnn, "
            "native_batch_norm, _native_batch_norm_legit, nn.functional.embedding_bag, new_full, index_fill, quantile, rot90, stft, "
            "unravel_index, lu_solve, _segment_reduce/lengths, _segment_reduce/offsets, fft.ihfftn, fft.ihfft2, ormqr",
    }),
    ("as_strided reads the memory of a tangent, and tangents of views lie alone in theirs here", {
        "jvp": "as_strided/partial_views",
    }),
    ("rounding", {
        # what is zero in one order of sums is an error in another
        "jvp:none": "corrcoef, masked.normalize, nn.functional.cosine_similarity, nn.functional.normalize",
        "grad:value vmapgrad:value": "native_layer_norm, nn.functional.layer_norm, _native_batch_norm_legit, nn.functional.normalize",
        # PyTorch adds to 10,000 the logarithm of a gradient, and its digits are gone
        "grad:value second:value jvp:value vmapgrad:value": "logcumsumexp",
        # numbers of a million, whose float32 ends at an eighth, and matrices far from regular
        "jvp:value": "logsumexp, linalg.cond",
        # differences of numbers that are nearly equal: of erfcx at -8 in float32 (PyTorch's is 2e-6 off), of trigammas
        "second:value": "linalg.householder_product, special.log_ndtr, foreach _foreach_lgamma, foreach _foreach_norm",
        # products of complex numbers that overflow: infinity less infinity, where a fused multiply keeps one of them
        "reference": "__rmul__, square",
        # PyTorch's rounds to bfloat16 after every step, here once at the end
        "value grad:value": "nn.functional.grid_sample, grid_sampler_2d, grid_sampler_3d",
        "value grad:value method:value": "matrix_exp",
        "value outgaps:value method:value": "histc",
    }),
    ("to be mended", {
        "error":
            "nn.functional.max_pool1d, gather, nn.functional.conv1d, nn.functional.conv2d, nn.functional.conv3d, nn.functional.max_pool3d, "
            "narrow_copy, module nn.LinearCrossEntropyLoss, foreach _foreach_max",
        "error:silent": "cat",
        "graph grad:value strides vmap:strides": "max_pool2d_with_indices_backward",
        "grad:value": "index_reduce/amin, scatter_reduce/amax, scatter_reduce/amin",
        "grad:value reference:value vmapgrad:value": "sgn",
        "inplace operator value": "remainder",
        "inplace value": "normal/in_place, uniform",
        "jvp": "cholesky_inverse, foreach _foreach_add, foreach _foreach_zero",
        "missing grad:missing second:missing jvp:missing vmap:missing vmapgrad:missing": "_upsample_bilinear2d_aa",
        "missing out outdtype outgaps vmap": "linalg.ldl_factor, linalg.ldl_factor_ex, linalg.ldl_solve",
        "none value": "optim LBFGS",
        "out outdtype outgaps": "_batch_norm_with_update",
        "out:strides": "linalg.lstsq, linalg.lstsq/grad_oriented",
        "out outgaps reference value": "special.bessel_j0, special.bessel_y1",
        "outgaps:strides": "nn.functional.linear",
        "outgaps:value value": "randn",
        "outdtype": "nn.functional.gelu, nn.functional.logsigmoid, nn.functional.softplus, nn.functional.softshrink, slice_scatter",
        "reference":
            "add, nn.functional.interpolate/bicubic, nn.functional.interpolate/bilinear, nn.functional.rrelu, "
            "nn.functional.upsample_bilinear, rsub, special.airy_ai, "
            "special.bessel_j1, special.bessel_y0, special.chebyshev_polynomial_t, "
            "special.chebyshev_polynomial_w, special.hermite_polynomial_he, special.laguerre_polynomial_l, "
            "special.legendre_polynomial_p, special.shifted_chebyshev_polynomial_t, "
            "special.shifted_chebyshev_polynomial_w, sub",
        "strides method:strides":
            "nn.functional.max_pool2d, nn.functional.max_unpool2d, nn.functional.max_unpool2d/grad, "
            "nn.functional.multi_head_attention_forward, unique, unique_consecutive, unravel_index",
        "value": "rand_like, randn_like",
        "vmap:missing": "geqrf",
        "vmapgrad:raises": "function NumpyExpMarkDirtyAutogradFunction",
    }),
]  # fmt: skip

# The same, of rushlight on a GPU beside PyTorch on the CPU: random numbers are of another generator, other libraries factor
# and convolve; what is neither is to be mended.
ON_A_GPU: list[tuple[str, dict[str, str]]] = [
    (
        "another generator, other libraries, or to be mended",
        {
            "error": "scatter_add",
            "grad": "fmod",
            "grad inplace jvp second value": "nn.functional.rrelu",
            "grad inplace jvp second value vmap": "function NumpyExpMarkDirtyAutogradFunction",
            "grad jvp method missing reference second vmap vmapgrad": "__rdiv__",
            "grad jvp second value": "nn.functional.multi_head_attention_forward",
            "grad missing vmap vmapgrad": "grid_sampler_2d, grid_sampler_3d",
            "grad value": "nn.functional.feature_alpha_dropout/with_train",
            "inplace value": "cauchy, exponential, geometric, log_normal",
            "jvp value": "nn.functional.dropout",
            "method out outgaps value": "bernoulli, multinomial",
            "method value": "div/trunc_rounding",
            "missing": "geqrf",
            "out outgaps": "linalg.lstsq, narrow_copy, nn.functional.avg_pool2d, nn.functional.avg_pool3d, "
            "nn.functional.gelu, nn.functional.softplus, nn.functional.softshrink, slice_scatter",
            "out outgaps reference": "nn.functional.logsigmoid",
            "outgaps value": "normal/number_mean",
            "raises": "linalg.lu_solve",
            "reference": "acosh, atanh, byte, cdouble, char, clamp_max, digamma, div/no_rounding_mode, erf, erfc, exp, "
            "expm1, int, isposinf, log1p, logit, lt, max/binary, maximum, mul, ne, nn.functional.celu, "
            "nn.functional.relu, nn.functional.relu6, nn.functional.softsign, polygamma/polygamma_n_0, "
            "rad2deg, short, sign, signbit, sinc, special.i0e, special.i1e, "
            "special.polygamma/special_polygamma_n_0, special.shifted_chebyshev_polynomial_u, "
            "special.spherical_bessel_j0, sqrt, tanh",
            "second": "nn.functional.scaled_dot_product_attention",
            "strides": "argwhere, linalg.inv, linalg.inv_ex, linalg.lu_factor_ex, linalg.matrix_power, linalg.qr, "
            "linalg.solve_triangular, linalg.svd, pca_lowrank, svd, svd_lowrank",
            "strides vmap": "linalg.lu_factor, linalg.tensorinv, lu",
            "value": "module nn.GRU, module nn.LSTM, module nn.LazyConv1d, module nn.LazyConv2d, module nn.LazyConv3d, "
            "module nn.LazyConvTranspose1d, module nn.LazyConvTranspose2d, module nn.LazyConvTranspose3d, "
            "module nn.RNN, nn.functional.alpha_dropout, nn.functional.dropout2d, nn.functional.dropout3d, "
            "optim Muon, randint, randint_like",
            "vmap": "fft.ihfft2, fft.ihfftn, qr",
        },
    )
]


@cache
def table(device: str) -> frozenset[tuple[str, str]]:
    """Every (entry, kind) that is excused."""
    return frozenset(
        (name, kind)
        for _, rows in (KNOWN if device == "cpu" else KNOWN + ON_A_GPU)
        for kinds, names in rows.items()
        for kind in kinds.split()
        for name in names.split(", ")
    )


def excused(name: str, kind: str, device: str) -> bool:
    known = table(device)
    return (name, kind) in known or (name, kind.partition(":")[0]) in known
