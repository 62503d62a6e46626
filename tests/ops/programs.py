"""Programs as texts, run step by step in PyTorch and in rushlight; after each step every tensor must be the same."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import rushlight

TOLERANCE = {
    "float32": 2e-5, "float64": 1e-10, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 2e-5, "complex128": 1e-10,
}  # fmt: skip
FACTS = (
    "requires_grad", "is_leaf", "grad_fn", "stride", "storage_offset", "is_inference", "_is_view", "output_nr",
    "retains_grad", "is_contiguous", "is_conj", "is_neg",
)  # fmt: skip


class Quirk(Exception):
    """What PyTorch does and we do not, see docs/trust.md: a view that says `requires_grad` for its base's sake, though no
    gradient reaches either; a write into an inference tensor that is refused after it was done."""


def _numbers(t: Any) -> Any:
    t = t.detach().resolve_conj().resolve_neg()
    kind = str(t.dtype).split(".")[-1]
    return (t.float() if kind in ("bfloat16", "float16") else t.clone()).numpy()


def _close(a: Any, b: Any, tol: float) -> bool:
    """The same numbers, nan and infinities at the same places; the sign of a zero is the matter of test_edges.py."""
    if a.dtype.kind == "c":
        return _close(a.real, b.real, tol * 4) and _close(a.imag, b.imag, tol * 4)
    if a.dtype.kind in "biu":
        return bool((a == b).all())
    finite = np.abs(b[np.isfinite(b)])
    scale = max(1e-3, finite.max() if finite.size else 1.0)
    return np.allclose(a, b, rtol=tol, atol=tol * scale, equal_nan=True)


def _fact(t: Any, name: str) -> Any:
    try:
        value = getattr(t, name)
        value = value() if callable(value) and name != "grad_fn" else value
    except Exception as e:
        return type(e).__name__
    return type(value).__name__ if name == "grad_fn" else value


def _lost(t: Any) -> bool:
    return (
        t._is_view() and not t.is_inference() and t._base is not None and t._base.requires_grad
        and _fact(t, "grad_fn") in ("NoneType", "RuntimeError")
    )  # fmt: skip


def difference(got: Any, want: Any, skip: tuple[str, ...] = ()) -> str | None:
    """How a value of ours differs from PyTorch's, in words."""
    if isinstance(want, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(want):
            return f"{got} is not {want}"
        found = [difference(g, w, skip) for g, w in zip(got, want)]
        return next((f for f in found if f), None)
    if not hasattr(want, "detach"):
        same = type(got).__name__ == type(want).__name__ and (
            str(got).replace("rushlight.", "torch.") == str(want)
            if not isinstance(want, float)
            else math.isclose(got, want, rel_tol=1e-5) or (got != got and want != want)
        )
        return None if same else f"{got!r} is not {want!r}"
    if not isinstance(got, rushlight.Tensor):
        return f"{got!r} is no tensor"
    kinds = [str(x.dtype).split(".")[-1] for x in (got, want)]
    if kinds[0] != kinds[1] or tuple(got.shape) != tuple(want.shape):
        return f"{kinds[0]} {tuple(got.shape)} is not {kinds[1]} {tuple(want.shape)}"
    if not _close(_numbers(got), _numbers(want), TOLERANCE.get(kinds[1], 0)):
        return f"values {_numbers(got).tolist()} are not {_numbers(want).tolist()}"
    if _lost(want):
        raise Quirk
    for name in FACTS:
        ours, theirs = _fact(got, name), _fact(want, name)
        if name not in skip and ours != theirs:
            return f"{name} {ours} is not {theirs}"
    if want.is_leaf or want.retains_grad:
        return difference(got.grad, want.grad, skip)
    return None


class Pair:
    """The same names in both libraries; `run` adds a line to both programs."""

    def __init__(self, torch: Any) -> None:
        self.spaces = [
            {"torch": lib, "F": lib.nn.functional, "nn": lib.nn, "math": math, "log": []} for lib in (rushlight, torch)
        ]
        self.lines: list[str] = []
        self.versions: dict[str, tuple] = {}

    def run(self, line: str, skip: tuple[str, ...] = ()) -> str | None:
        """What differs after this line, if anything does."""
        self.lines.append(line)
        errors = []
        for space in self.spaces:
            space["torch"].manual_seed(0)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exec(line, space)
                errors.append(None)
            except Exception as e:
                errors.append(e)
        kinds = [type(e).__name__ for e in errors]
        if kinds[0] != kinds[1]:
            return f"{errors[0]!r} is not {errors[1]!r}"
        if str(errors[1]).startswith("Inplace update to inference tensor"):
            raise Quirk
        return self._compare(skip)

    def _compare(self, skip: tuple[str, ...]) -> str | None:
        ours, theirs = self.spaces
        for name in [n for n in theirs if n[:1] in "tz" and n != "torch"] + ["log"]:
            if name not in ours:
                return f"{name} is missing"
            found = difference(ours[name], theirs[name], skip) or self._counted(name)
            if found:
                return f"{name}: {found}"
        return None

    def _counted(self, name: str) -> str | None:
        """Both count a change of memory, or neither does."""
        pair = [space[name] for space in self.spaces]
        if not all(hasattr(t, "_version") and not t.is_inference() for t in pair):
            return None
        now = (id(pair[1]), *[t._version for t in pair])
        old = self.versions.get(name)
        self.versions[name] = now
        if old is None or old[0] != now[0] or (old[1] == now[1]) == (old[2] == now[2]):
            return None
        return f"version {old[1]} -> {now[1]}, PyTorch's {old[2]} -> {now[2]}"
