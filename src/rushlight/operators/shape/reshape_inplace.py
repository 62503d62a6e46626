"""Views written back into the tensor itself: squeeze_, unsqueeze_, transpose_ and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.inplace import bump, check_writable
from ...core.public import public
from ...core.tensor import Tensor
from ...core.views import RESHAPED, extra
from ...runtime.thread import here
from .dim_order import swapaxes, t, transpose
from .expand import squeeze, unsqueeze
from .strided import as_strided


def _show_as(x: Tensor, v: Tensor) -> Tensor:
    """Let `x` show its memory as the view `v` of it does, with v's history."""
    if v is x:
        return x
    x._a = v._a
    if v._edge is not None or x._edge is None or here.grad:
        x._edge = v._edge  # without recording, a parameter stays one
    bump(x)
    if x._ext is not None and x._ext.base is not None:
        x._ext.spec = v._ext.spec
        if v._edge is not None:
            x._ext.edge_version = x._ver[0]
    elif not x.is_inference():
        extra(x).spec = RESHAPED  # its views lead here by steps that start from the old shape
    return x


def _inplace(name: str, fn: Callable[..., Tensor]) -> None:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_writable(self, repeats=True)
        return _show_as(self, fn(self, *args, **kwargs))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of `{name[:-1]}`: this tensor itself gets the new shape."
    public("Tensor")(method)


for _name, _fn in (
    ("squeeze_", squeeze),
    ("unsqueeze_", unsqueeze),
    ("t_", t),
    ("transpose_", transpose),
    ("swapaxes_", swapaxes),
    ("swapdims_", transpose),
    ("as_strided_", as_strided),
):
    _inplace(_name, _fn)
