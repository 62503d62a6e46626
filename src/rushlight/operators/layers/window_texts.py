"""Docstrings of the functions that exist for one, two and three dimensions: one text, an example for each."""

from __future__ import annotations

_WHAT = {1: "signals", 2: "images", 3: "volumes"}
_SHAPE = {1: "(N, C, L)", 2: "(N, C, H, W)", 3: "(N, C, D, H, W)"}
_OUT = {1: "L'", 2: "H', W'", 3: "D', H', W'"}
_ONE = {1: "a number", 2: "one number or two", 3: "one number or three"}

_CONV = """Convolve {what}: every output is a weighted sum of a window of the input.

Args:
    input: {shape}, or without N.
    weight: (O, C / groups, *kernel).
    bias: (O,), added to every channel of the output.
    stride: steps between windows, {one}.
    padding: zeros added on every side, {one}; or "same" (keep the size; stride 1) or "valid".
    dilation: distance between the elements of a window, {one}.
    groups: groups of channels that do not see each other.

Returns:
    (N, O, {out}), each size `floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1`.

Raises:
    RuntimeError: if the channels of input and weight do not fit, or the window is larger than
        the padded input.

Example:
"""

_TRANSPOSED = """Transposed convolution of {what}: what a convolution sends back to its input.

Args:
    input: {shape}, or without N.
    weight: (C, O / groups, *kernel).
    bias: (O,), added to every channel of the output.
    stride: steps between windows in the output, {one}.
    padding: how much is cut from every side of the output, {one}.
    output_padding: how much is added on one side of the output, {one}; less than stride or
        dilation.
    groups: groups of channels that do not see each other.
    dilation: distance between the elements of a window, {one}.

Returns:
    (N, O, {out}), each size
    `(size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1`.

Example:
"""

_MAX_POOL = """Take the maximum of every window of {what}.

Args:
    input: {shape}, or without N.
    kernel_size: size of the window, {one}.
    stride: steps between windows, {one}; `kernel_size` if None.
    padding: how much of -inf is added on every side, at most half of the window.
    dilation: distance between the elements of a window.
    ceil_mode: round the output's size up instead of down.
    return_indices: also return where each maximum was found: positions in the flattened channel.

Returns:
    (N, C, {out}); a pair with the indices if `return_indices`.

Example:
"""

_UNPOOL = """Put maxima of {what} back where `max_pool{n}d` found them, with zeros elsewhere.

Args:
    input: the maxima, {shape}, or without N.
    indices: where they were found, as `max_pool{n}d(..., return_indices=True)` gives them.
    kernel_size, stride, padding: those of the pooling.
    output_size: the size before pooling, where several have the same size after it.

Raises:
    ValueError: if `output_size` is not possible.

Example:
"""

_AVG_POOL = """Take the mean of every window of {what}.

Args:
    input: {shape}, or without N.
    kernel_size: size of the window, {one}.
    stride: steps between windows, {one}; `kernel_size` if None.
    padding: how many zeros are added on every side, at most half of the window.
    ceil_mode: round the output's size up instead of down.
    count_include_pad: count the added zeros in the mean.
    divisor_override: divide by this number instead of the window's size.

Returns:
    (N, C, {out}), each size `floor((size + 2 padding - kernel_size) / stride) + 1`.

Example:
"""

_LP_POOL = """Take the p-norm of every window of {what}.

Args:
    input: {shape}, or without N.
    norm_type: p.
    kernel_size: size of the window, {one}.
    stride: steps between windows, {one}; `kernel_size` if None.
    ceil_mode: round the output's size up instead of down.

Example:
"""

_ADAPTIVE_AVG = """Take means of {what} over windows chosen so that the output has a given size.

Args:
    input: {shape}, or without N.
    output_size: size of the output, {one}; None keeps the input's.

Returns:
    (N, C, *output_size).

Example:
"""

_ADAPTIVE_MAX = """Take maxima of {what} over windows chosen so that the output has a given size.

Args:
    input: {shape}, or without N.
    output_size: size of the output, {one}; None keeps the input's.
    return_indices: also return where each maximum was found: positions in the flattened channel.

Returns:
    (N, C, *output_size); a pair with the indices if `return_indices`.

Example:
"""

_FRACTIONAL = """Take maxima of {what} over windows at random places (Graham, 2014).

Args:
    input: {shape}, or without N.
    kernel_size: size of the window, {one}.
    output_size: size of the output, {one}.
    output_ratio: size of the output as part of the input's; give this or `output_size`.
    return_indices: also return where each maximum was found.

Returns:
    (N, C, *output_size); a pair with the indices if `return_indices`.

Example:
"""

_CONV_EXAMPLES = {
    1: """    >>> F.conv1d(torch.tensor([[[1.0, 2.0, 4.0, 8.0]]]), torch.tensor([[[-1.0, 1.0]]]))
    tensor([[[1., 2., 4.]]])
""",
    2: """    >>> image, weight = torch.ones(1, 3, 32, 32), torch.ones(8, 3, 3, 3)
    >>> F.conv2d(image, weight, padding=1).shape
    torch.Size([1, 8, 32, 32])
    >>> F.conv2d(image, weight, stride=2)[0, 0, 0, 0]
    tensor(27.)
""",
    3: """    >>> F.conv3d(torch.ones(1, 2, 5, 6, 7), torch.ones(4, 2, 3, 3, 3)).shape
    torch.Size([1, 4, 3, 4, 5])
""",
}

_TRANSPOSED_EXAMPLES = {
    1: """    >>> F.conv_transpose1d(torch.tensor([[[1.0, 2.0]]]), torch.ones(1, 1, 2), stride=2)
    tensor([[[1., 1., 2., 2.]]])
""",
    2: """    >>> F.conv_transpose2d(torch.ones(1, 4, 8, 8), torch.ones(4, 2, 2, 2), stride=2).shape
    torch.Size([1, 2, 16, 16])
""",
    3: """    >>> F.conv_transpose3d(torch.ones(1, 4, 3, 3, 3), torch.ones(4, 2, 2, 2, 2)).shape
    torch.Size([1, 2, 4, 4, 4])
""",
}

_MAX_POOL_EXAMPLES = {
    1: """    >>> F.max_pool1d(torch.tensor([[[1.0, 5.0, 2.0, 3.0]]]), 2)
    tensor([[[5., 3.]]])
""",
    2: """    >>> F.max_pool2d(torch.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    >>> F.max_pool2d(torch.zeros(1, 64, 112, 112), 3, stride=2, padding=1).shape
    torch.Size([1, 64, 56, 56])
""",
    3: """    >>> F.max_pool3d(torch.zeros(1, 4, 8, 8, 8), 2).shape
    torch.Size([1, 4, 4, 4, 4])
""",
}

_UNPOOL_EXAMPLES = {
    1: """    >>> y, where = F.max_pool1d(torch.tensor([[[1.0, 5.0, 2.0, 3.0]]]), 2, return_indices=True)
    >>> F.max_unpool1d(y, where, 2)
    tensor([[[0., 5., 0., 3.]]])
""",
    2: """    >>> y, where = F.max_pool2d(torch.rand(1, 3, 5, 5), 2, return_indices=True)
    >>> F.max_unpool2d(y, where, 2, output_size=(5, 5)).shape
    torch.Size([1, 3, 5, 5])
""",
    3: """    >>> y, where = F.max_pool3d(torch.rand(1, 3, 4, 4, 4), 2, return_indices=True)
    >>> F.max_unpool3d(y, where, 2).shape
    torch.Size([1, 3, 4, 4, 4])
""",
}

_AVG_POOL_EXAMPLES = {
    1: """    >>> F.avg_pool1d(torch.tensor([[[1.0, 5.0, 2.0, 4.0]]]), 2)
    tensor([[[3., 3.]]])
""",
    2: """    >>> F.avg_pool2d(torch.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
""",
    3: """    >>> F.avg_pool3d(torch.zeros(1, 4, 8, 8, 8), 2).shape
    torch.Size([1, 4, 4, 4, 4])
""",
}

_LP_POOL_EXAMPLES = {
    1: """    >>> F.lp_pool1d(torch.tensor([[[3.0, 4.0, 6.0, 8.0]]]), 2, 2)
    tensor([[[ 5., 10.]]])
""",
    2: """    >>> F.lp_pool2d(torch.ones(1, 1, 2, 2), 2, 2)
    tensor([[[[2.]]]])
""",
    3: """    >>> F.lp_pool3d(torch.ones(1, 4, 8, 8, 8), 2, 2).shape
    torch.Size([1, 4, 4, 4, 4])
""",
}

_ADAPTIVE_AVG_EXAMPLES = {
    1: """    >>> F.adaptive_avg_pool1d(torch.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)
    tensor([[[2., 6.]]])
""",
    2: """    >>> F.adaptive_avg_pool2d(torch.ones(8, 512, 7, 7), 1).shape
    torch.Size([8, 512, 1, 1])
""",
    3: """    >>> F.adaptive_avg_pool3d(torch.ones(1, 4, 5, 6, 7), (2, 3, None)).shape
    torch.Size([1, 4, 2, 3, 7])
""",
}

_ADAPTIVE_MAX_EXAMPLES = {
    1: """    >>> F.adaptive_max_pool1d(torch.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)
    tensor([[[3., 7.]]])
""",
    2: """    >>> F.adaptive_max_pool2d(torch.ones(8, 16, 7, 7), (2, 3)).shape
    torch.Size([8, 16, 2, 3])
""",
    3: """    >>> F.adaptive_max_pool3d(torch.ones(1, 4, 5, 6, 7), 2).shape
    torch.Size([1, 4, 2, 2, 2])
""",
}

_FRACTIONAL_EXAMPLES = {
    2: """    >>> F.fractional_max_pool2d(torch.rand(1, 4, 9, 9), 2, output_size=5).shape
    torch.Size([1, 4, 5, 5])
""",
    3: """    >>> F.fractional_max_pool3d(torch.rand(1, 4, 9, 9, 9), 2, output_ratio=0.5).shape
    torch.Size([1, 4, 4, 4, 4])
""",
}

_TEXTS = {
    "conv": (_CONV, _CONV_EXAMPLES),
    "conv_transpose": (_TRANSPOSED, _TRANSPOSED_EXAMPLES),
    "max_pool": (_MAX_POOL, _MAX_POOL_EXAMPLES),
    "max_unpool": (_UNPOOL, _UNPOOL_EXAMPLES),
    "avg_pool": (_AVG_POOL, _AVG_POOL_EXAMPLES),
    "lp_pool": (_LP_POOL, _LP_POOL_EXAMPLES),
    "adaptive_avg_pool": (_ADAPTIVE_AVG, _ADAPTIVE_AVG_EXAMPLES),
    "adaptive_max_pool": (_ADAPTIVE_MAX, _ADAPTIVE_MAX_EXAMPLES),
    "fractional_max_pool": (_FRACTIONAL, _FRACTIONAL_EXAMPLES),
}


def window_text(name: str, n: int) -> str:
    """The docstring of `name` for `n` spatial dimensions."""
    text, examples = _TEXTS[name]
    said = text.format(n=n, what=_WHAT[n], shape=_SHAPE[n], out=_OUT[n], one=_ONE[n])
    return said + examples[n]


def indices_text(name: str, n: int) -> str:
    """The docstring of the form that always returns the indices as well."""
    full = f"nn.functional.{name}{n}d"
    return f"As `{full}` with `return_indices=True`: the maxima, and where they were found."
