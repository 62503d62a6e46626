"""The same source text run with PyTorch and with rushlight, and what both must agree on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rushlight


def outcome(lib: Any, source: str) -> Any:
    """What an expression gives, or the exception it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(source, {"torch": lib, "np": np})
    except Exception as error:
        return error


def agree(source: str, tol: float = 1e-6, strides: bool = False) -> None:
    """Values, dtype, shape and requires_grad, or the type of the exception."""
    torch = pytest.importorskip("torch")
    want, got = outcome(torch, source), outcome(rushlight, source)
    compare(got, want, source, tol, strides)


def compare(got: Any, want: Any, source: str, tol: float, strides: bool) -> None:
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"{source}: expected {want!r}, got {got!r}"
        kinds = (type(want), *type(want).__bases__) if type(want).__module__ != "builtins" else ()
        assert isinstance(got, kinds or type(want)), f"{source}: {want!r} but {got!r}"
        return
    if isinstance(got, Exception):
        raise AssertionError(f"{source}: expected {want!r}") from got
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), source
        for g, w in zip(got, want):
            compare(g, w, source, tol, strides)
    elif hasattr(want, "detach"):
        same_tensor(got, want, source, tol, strides)
    else:
        assert name_of(got) == name_of(want), source


def name_of(value: Any) -> str:
    return str(value).replace("rushlight.", "torch.")


def same_tensor(got: Any, want: Any, source: str, tol: float, strides: bool) -> None:
    assert tuple(got.shape) == tuple(want.shape), source
    assert name_of(got.dtype) == name_of(want.dtype), source
    assert got.requires_grad == want.requires_grad, source
    assert str(got.device) == str(want.device), source
    if strides:
        assert got.stride() == want.stride(), source
    if str(want.device) == "meta":
        return
    a, b = got.detach(), want.detach()
    if "bfloat16" in str(b.dtype):
        a, b = a.float(), b.float()
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tol, atol=tol, err_msg=source)
