"""Operations on the bits of integers, which are logic on booleans: & | ^ ~ << >>."""

from __future__ import annotations

from typing import Any

from ...core.public import publish
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.point import Point
from ..made_of.guards import INTEGERS, only
from ..made_of.pointwise import binary, dunder, ufunc1, ufunc2, unary
from ..made_of.promotion import promote


def _bitwise(
    name: str, ufunc: str, symbol: str, label: str, kinds: str, doc: str, **options: Any
) -> Any:
    call = binary(name, ufunc2(ufunc), rule=only(kinds, label, promote), doc=doc, **options)
    dunder(symbol, call.op, floats=False)  # which it refuses
    return call


bitwise_and = _bitwise(
    "bitwise_and",
    "bitwise_and",
    "and",
    "bitwise_and_cpu",
    "biu",
    "`input & other`: the bits that both have.",
    point=Point("x y", iu="x & y", b="x and y"),
    example=("torch.tensor([6, 3]).bitwise_and(2)", "tensor([2, 2])"),
    facts=Facts(onnx="bits And"),
)
bitwise_or = _bitwise(
    "bitwise_or",
    "bitwise_or",
    "or",
    "bitwise_or_cpu",
    "biu",
    "`input | other`: the bits that either has.",
    point=Point("x y", iu="x | y", b="x or y"),
    example=("torch.tensor([4, 1]).bitwise_or(2)", "tensor([6, 3])"),
    facts=Facts(onnx="bits Or"),
)
bitwise_xor = _bitwise(
    "bitwise_xor",
    "bitwise_xor",
    "xor",
    "bitwise_xor_cpu",
    "biu",
    "`input ^ other`: the bits that exactly one has.",
    point=Point("x y", iu="x ^ y", b="x != y"),
    example=("torch.tensor([6, 3]).bitwise_xor(2)", "tensor([4, 1])"),
    facts=Facts(onnx="bits Xor"),
)
bitwise_left_shift = _bitwise(
    "bitwise_left_shift",
    "left_shift",
    "lshift",
    "lshift_cpu",
    INTEGERS,
    "`input << other`: bits moved to higher places.",
    point=Point("x y", iu="shiftl(x, y)"),
    example=("torch.tensor([1, 3]).bitwise_left_shift(2)", "tensor([ 4, 12])"),
)
bitwise_right_shift = _bitwise(
    "bitwise_right_shift",
    "right_shift",
    "rshift",
    "rshift_cpu",
    INTEGERS,
    "`input >> other`: bits moved to lower places.",
    point=Point("x y", iu="shiftr(x, y)"),
    example=("torch.tensor([8, 5]).bitwise_right_shift(1)", "tensor([4, 2])"),
)
bitwise_not = unary(
    "bitwise_not",
    ufunc1("invert"),
    point=Point("x", iu="~x", b="not x"),
    rule=only("biu", "bitwise_not_cpu"),
    same_out=True,
    doc="`~input`: every bit turned over; for truth values the opposite.",
    example=("torch.tensor([True, False]).bitwise_not()", "tensor([False,  True])"),
    facts=Facts(onnx="bitwise_not"),
)


def _invert(self: Tensor) -> Tensor:
    if self._a.dtype.kind not in "biu":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return bitwise_not.op(self)


publish("Tensor", "__invert__", _invert)
