"""The printed form of tensors: NumPy arrays turned into the text PyTorch would show.

The text is made in three steps: keep only the corners that will be seen, render every kept element
to a cell of one width, lay the cells out in brackets and lines. Only the first step sees the whole
array, and it copies nothing but the corners, so a summarised print costs the same at any size.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np


@dataclasses.dataclass(frozen=True, slots=True)
class PrintOptions:
    """What `set_printoptions` governs; `sci_mode=None` lets the values decide."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=float("inf")),
}
_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed.

    Args:
        precision: digits after the point; 4 by default.
        threshold: tensors with more elements are shortened; 1000 by default.
        edgeitems: how many rows and columns remain at each end of a shortened one; 3 by
            default.
        linewidth: characters in a line; 80 by default.
        profile: "default", "short" or "full" set all of them; the other arguments come after
            it.
        sci_mode: always or never 1e-3 notation; None lets the values decide.

    Raises:
        ValueError: for a profile that does not exist, or negative `edgeitems`.

    Example:
        >>> torch.set_printoptions(precision=2)
        >>> torch.tensor([3.14159])
        tensor([3.14])
        >>> torch.set_printoptions(profile="default")
        >>> torch.tensor([3.14159])
        tensor([3.1416])
    """
    global _options
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"profile must be one of {sorted(_PROFILES)}, got {profile!r}")
    if edgeitems is not None and edgeitems < 0:
        raise ValueError(f"edgeitems must not be negative, got {edgeitems}")
    base = _options if profile is None else _PROFILES[profile]
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    # As in PyTorch, every call sets sci_mode: leaving it out makes it automatic again.
    _options = dataclasses.replace(base, sci_mode=sci_mode, **changes)


def get_printoptions() -> dict[str, Any]:
    """Return the options in force, as keywords for `set_printoptions`."""
    return dataclasses.asdict(_options)


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Apply `set_printoptions(**kwargs)` inside a `with` block, then put the old options back."""
    global _options
    saved = _options
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        _options = saved


def format_tensor(
    a: np.ndarray,
    *,
    dtype_name: str,
    default_dtype_name: str,
    device: str | None,
    suffixes: Sequence[str],
    prefix: str = "tensor(",
    indent: int = 0,
    module: str = "rushlight",
    contents: str | None = None,
) -> str:
    """Return `tensor([...], device=..., dtype=..., <suffixes>)` for an array.

    `device` is printed when it is not None, `suffixes` (such as `requires_grad=True`) as given, `contents` in place of
    the elements.
    `indent` is the column the text starts at: it counts towards the wrapping and moves the
    lines after the first.
    """
    options = _options
    empty = a.size == 0
    notes = [] if device is None else [f"device='{device}'"]
    # The brackets show every shape but these: nothing inside them, or nothing left of it.
    if (empty and a.ndim != 1) or (not empty and options.edgeitems == 0):
        notes.append(f"size={a.shape}")
    # Elements reveal int64, bool and the default complex; without any, only the default is plain.
    plain = (default_dtype_name,) if empty else _unmarked_dtypes(default_dtype_name)
    if dtype_name not in plain:
        notes.append(f"dtype={module}.{dtype_name}")
    column = indent + len(prefix)
    body = contents or ("[]" if empty else _render(a, column, options))
    return append_notes(prefix + body, [*notes, *suffixes], indent, column, options)


def format_meta(
    shape: Sequence[int],
    *,
    dtype_name: str,
    default_dtype_name: str,
    suffixes: Sequence[str],
    device: str = "meta",
    prefix: str = "tensor(",
    indent: int = 0,
    module: str = "rushlight",
) -> str:
    """Return `tensor(..., device='meta', size=(2, 3))`, the form of a tensor without data."""
    notes = [f"device='{device}'", f"size={tuple(shape)}"]
    if dtype_name != default_dtype_name:
        notes.append(f"dtype={module}.{dtype_name}")
    column = indent + len(prefix)
    return append_notes(prefix + "...", [*notes, *suffixes], indent, column, _options)


def format_parts(
    parts: Sequence[tuple[str, np.ndarray]],
    *,
    dtype_name: str,
    default_dtype_name: str,
    device: str | None,
    facts: Sequence[str],
    suffixes: Sequence[str],
    apart: bool,
    module: str = "rushlight",
) -> str:
    """Return `tensor(indices=tensor([...]), values=tensor([...]), size=..., ...)` of a sparse tensor.

    Every part has lines of its own, and its numbers start right of its name. `facts` (size and
    count) come before the dtype, `suffixes` (layout and history) after it, on a new line if `apart`.
    """
    options, prefix = _options, "tensor("
    texts = []
    for name, a in parts:
        head = f"{name}=tensor("
        body = _render(a, len(prefix) + len(head), options) if a.size else f"[], size={a.shape}"
        texts.append(f"{head}{body})")
    notes = [] if device is None else [f"device='{device}'"]
    notes += facts
    if dtype_name not in _unmarked_dtypes(default_dtype_name):
        notes.append(f"dtype={module}.{dtype_name}")
    margin = " " * len(prefix)
    text = prefix + f",\n{margin}".join(texts)
    return append_notes(text, [*notes, *suffixes], 0, len(prefix), options, apart)


def format_parameter(tensor_text: str) -> str:
    """Return the form of an `nn.Parameter`, given the text of the tensor it is."""
    return "Parameter containing:\n" + tensor_text


def _unmarked_dtypes(default_dtype_name: str) -> tuple[str, ...]:
    default_complex = "complex128" if default_dtype_name == "float64" else "complex64"
    return (default_dtype_name, default_complex, "int64", "bool")


def append_notes(
    text: str, notes: Sequence[str], indent: int, column: int, options: PrintOptions, apart: bool = False
) -> str:
    """Add the keyword-like notes and the closing bracket, breaking lines that would be too long.

    The first note begins a line in any case if `apart`.
    """
    *earlier, last_line = text.split("\n")
    # The last line counts with the ", " after it; only a first line starts right of the margin.
    used = len(last_line) + 2 + (0 if earlier else indent)
    parts = [text]
    for note in notes:
        if apart or used + len(note) + 2 > options.linewidth:
            apart = False
            parts.append(",\n" + " " * column + note)
            used = column + len(note)
        else:
            parts.append(", " + note)
            used += len(note) + 2
    return "".join(parts) + ")"


# Step one: what is seen.


def _render(a: np.ndarray, column: int, options: PrintOptions) -> str:
    """Return the bracketed elements of a non-empty array whose text starts at `column`."""
    edge = options.edgeitems
    summarise = a.size > options.threshold
    if summarise and edge == 0 and a.ndim > 0:
        return "[...]"
    elided = tuple(summarise and n > 2 * edge for n in a.shape)
    shown = _corners(a, edge, elided) if any(elided) else a
    cells = _cells(shown, options)
    if a.ndim == 0:
        return cells.texts[0]
    grid = np.empty(len(cells.texts), dtype=object)
    grid[:] = cells.texts
    per_line = max(1, int((options.linewidth - column - a.ndim + 1) // (cells.width + 2)))
    return _brackets(grid.reshape(shown.shape), elided, edge, column, per_line)


def _corners(a: np.ndarray, edge: int, elided: Sequence[bool]) -> np.ndarray:
    """Return the first and last `edge` indices of every elided axis, the others whole."""
    kept = [np.r_[:edge, n - edge : n] if cut else np.arange(n) for n, cut in zip(a.shape, elided, strict=True)]
    return a[np.ix_(*kept)]


# Step two: cells.


class _Cells(NamedTuple):
    """Rendered elements in row-major order; `width` is what the line breaks count for each."""

    texts: list[str]
    width: int


def _cells(shown: np.ndarray, options: PrintOptions) -> _Cells:
    kind = shown.dtype.kind
    if kind == "c":
        return _complex_cells(shown, options)
    if kind in "iu":
        # The widest integer is the least or the greatest, so two of them settle the width.
        width = max(len(str(shown.min())), len(str(shown.max())))
        return _Cells([str(v).rjust(width) for v in shown.ravel().tolist()], width)
    if kind == "b":
        width = 4 if shown.all() else 5
        return _Cells([str(v).rjust(width) for v in shown.ravel().tolist()], width)
    return _float_cells(shown, options)  # bfloat16 too, whose NumPy kind is "V"


def _complex_cells(shown: np.ndarray, options: PrintOptions) -> _Cells:
    """Render real and imaginary parts in a style of their own; only the real part is padded."""
    real = _float_cells(shown.real, options)
    imag = _float_cells(shown.imag, options)
    texts = []
    for re, im in zip(real.texts, imag.texts, strict=True):
        im = im.lstrip()
        texts.append(f"{re}{im}j" if im[0] == "-" else f"{re}+{im}j")
    return _Cells(texts, real.width + imag.width + 1)


def _float_cells(shown: np.ndarray, options: PrintOptions) -> _Cells:
    # float64 holds every narrower float exactly, and is where PyTorch takes its statistics too.
    with np.errstate(invalid="ignore"):  # a signalling NaN must print, not warn
        values = shown.astype(np.float64).ravel()
        style = _float_style(values, options)
    width = style.width
    texts = [format(v, style.spec) for v in values.tolist()]
    if style.dotted:  # "3." tells a whole float from an integer; "inf" and "nan" need no telling
        texts = [t + "." if t[-1].isdigit() else t for t in texts]
    return _Cells([t.rjust(width) for t in texts], width)


class _FloatStyle(NamedTuple):
    spec: str
    dotted: bool
    width: int


def _float_style(values: np.ndarray, options: PrintOptions) -> _FloatStyle:
    """Choose whole, fixed or scientific notation; zeros and non-finite values have no say."""
    seen = values[np.isfinite(values) & (values != 0)]
    if seen.size == 0:
        return _FloatStyle(".0f", True, 1)
    magnitude = np.abs(seen)
    small, large = float(magnitude.min()), float(magnitude.max())
    whole = bool((seen == np.ceil(seen)).all())
    scientific = options.sci_mode
    if scientific is None:
        # A ratio of Python floats: a subnormal `small` makes it inf, without NumPy's warning.
        scientific = large / small > 1000.0 or large > 1e8 or (not whole and small < 1e-4)
    dotted = whole and not scientific
    if dotted:
        spec = ".0f"
    else:
        spec = f".{options.precision}{'e' if scientific else 'f'}"
    width = max(len(format(v, spec)) for v in _width_witnesses(seen)) + dotted
    return _FloatStyle(spec, dotted, width)


def _width_witnesses(seen: np.ndarray) -> Iterator[float]:
    """Yield the extremes of each sign: between them no number prints wider, in any notation."""
    for signed in (seen[seen > 0], seen[seen < 0]):
        if signed.size:
            yield float(signed.min())
            yield float(signed.max())


# Step three: brackets and lines.


def _brackets(grid: np.ndarray, elided: Sequence[bool], edge: int, column: int, per_line: int) -> str:
    """Nest the cells of `grid` in brackets, `...` standing in for what each elided axis dropped."""
    if grid.ndim == 1:
        items = grid.tolist()
        if elided[0]:
            items.insert(edge, " ...")
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    else:
        lines = [_brackets(row, elided[1:], edge, column + 1, per_line) for row in grid]
        if elided[0]:
            lines.insert(edge, "...")
    breaks = "\n" * max(1, grid.ndim - 1)
    return "[" + f",{breaks}{' ' * (column + 1)}".join(lines) + "]"
