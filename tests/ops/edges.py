"""Inputs at the edges of floating point for every row of the op table, and how results are compared."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

from optable import Row, call, flat

nan, inf = math.nan, math.inf


def edge_values(dtype: str) -> dict[str, float]:
    """The values at the edges: what is no number, what is barely one, what is barely finite."""
    info = np.finfo(dtype)
    return {
        "nan": nan,
        "inf": inf,
        "-inf": -inf,
        "-0": -0.0,
        "0": 0.0,
        "tiny": float(info.tiny) / 8,  # denormal
        "-least": -float(info.smallest_subnormal),
        "max": float(info.max),
        "-max": -float(info.max),
    }


def mixed(row: Row, dtype: str, value: float, times: int = 1) -> list[np.ndarray]:
    """The row's sample inputs with `value` in some places of every float input (at least one).

    A lone input may grow to several `times` its length: PyTorch's loops over vectors and over what is
    left of them differ at NaN in places, and what users have is long.
    """
    rng = np.random.RandomState(zlib.crc32(f"{row!r} {value}".encode()))
    made = []
    arrays = [np.array(a) for a in row.arrays(dtype)]
    if times > 1 and len(arrays) == 1 and arrays[0].ndim and not row.kwargs:
        arrays = [np.concatenate(arrays * times)]
    for spec, a in zip(row.specs(), arrays):
        if spec.dtype == "float" and a.size:
            places = rng.rand(a.size) < 0.2
            places[rng.randint(a.size)] = True
            a.reshape(-1)[places] = value
        made.append(a)
    return made


def results(
    lib: Any, row: Row, arrays: list[np.ndarray], coming: float = 1.0, device: str = "cpu"
) -> tuple[list[Any], list[Any]]:
    """Values, and gradients for an incoming gradient of `coming`; the error as a value if it raises."""
    ins = [lib.from_numpy(np.array(a)).to(device) for a in arrays]
    if row.grad:
        for spec, t in zip(row.specs(), ins):
            if spec.grad:
                t.requires_grad_()
    try:
        outs = flat(call(lib, row, ins))
        live = [o for o in outs if getattr(o, "requires_grad", False)]
        wanted = [t for s, t in zip(row.specs(), ins) if t.requires_grad]
        grads: list[Any] = []
        if live and wanted:
            gs = [lib.full_like(o, coming) for o in live]
            grads = list(lib.autograd.grad(live, wanted, gs, allow_unused=True))
    except Exception as error:
        return [error], []
    return [host(o) for o in outs], [host(g) for g in grads]


def host(t: Any) -> Any:
    if not hasattr(t, "detach"):
        return t
    t = t.detach().cpu()
    if t.is_conj():
        t = t.resolve_conj()
    return t.numpy()


def difference(got: list[Any], want: list[Any], tol: float) -> str | None:
    """What differs first: kinds, shapes, NaNs, infinities or, beyond `tol`, numbers."""
    for part in (got, want):
        if part and isinstance(part[0], Exception):
            if got and want and isinstance(got[0], type(want[0])):
                return None
            return f"{got[:1]!r} for {want[:1]!r}"
    if len(got) != len(want):
        return f"{len(got)} results for {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        said = _unlike(g, w, tol)
        if said:
            return f"result {i}: {said}"
    return None


def _unlike(g: Any, w: Any, tol: float) -> str | None:
    if g is None or w is None:
        other = w if g is None else g
        return None if other is None or not np.any(other) else f"{g} for {w}"
    g, w = np.asarray(g), np.asarray(w)
    if g.shape != w.shape:
        return f"shape {g.shape} for {w.shape}"
    if g.dtype.kind == "c" or w.dtype.kind == "c":
        return _unlike(g.real, w.real, tol) or _unlike(g.imag, w.imag, tol)
    if g.dtype.kind != "f" or w.dtype.kind != "f":
        same = g == w
    else:
        plain = np.isfinite(g) & np.isfinite(w)
        with np.errstate(all="ignore"):
            # A small sum of large terms is rounded as those.
            largest = float(np.abs(w).max(initial=1.0, where=plain & (np.abs(w) < 1000)))
            near = np.abs(g - w) <= tol * np.abs(w) + 64 * float(np.finfo(w.dtype).eps) * largest
        same = np.where(plain, near, (g == w) | (np.isnan(g) & np.isnan(w)))
    if same.all():
        return None
    at = np.unravel_index(int(np.argmin(same)), same.shape)
    return f"at {tuple(map(int, at))} {g[at]} for {w[at]}"
