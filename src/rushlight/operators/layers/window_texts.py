"""Docstrings of the functions that exist for one, two and three dimensions: their layers are described, these say what differs."""

from __future__ import annotations

_WEIGHT = "the weight (O, C / groups, *kernel) and the bias (O,), or None, are given."
_TURNED = "the weight (C, O / groups, *kernel) and the bias (O,), or None, are given."
_CALL = "as one call."
_TEXTS = {
    "conv": ("Conv", _WEIGHT),
    "conv_transpose": ("ConvTranspose", _TURNED),
    "max_pool": ("MaxPool", _CALL),
    "max_unpool": ("MaxUnpool", "as one call; ValueError if `output_size` is not possible."),
    "avg_pool": ("AvgPool", _CALL),
    "lp_pool": ("LPPool", _CALL),
    "adaptive_avg_pool": ("AdaptiveAvgPool", _CALL),
    "adaptive_max_pool": ("AdaptiveMaxPool", _CALL),
    "fractional_max_pool": ("FractionalMaxPool", _CALL),
}


def window_text(name: str, n: int) -> str:
    """The docstring of `name` for `n` spatial dimensions."""
    layer, differs = _TEXTS[name]
    return f"As `nn.{layer}{n}d`; {differs}"


def indices_text(name: str, n: int) -> str:
    """The docstring of the form that always returns the indices as well."""
    full = f"nn.functional.{name}{n}d"
    return f"As `{full}` with `return_indices=True`: the maxima, and where they were found."
