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


def _bitwise(name: str, ufunc: str, symbol: str, label: str, kinds: str, **options: Any) -> Any:
    call = binary(name, ufunc2(ufunc), rule=only(kinds, f"{label}_cpu", promote), **options)
    dunder(symbol, call.op, commutes=kinds == "biu")  # shifts do not
    return call


def _logic(symbol: str, sign: str, of_truths: str, which: str, example: tuple[str, str]) -> Any:
    name = f"bitwise_{symbol}"
    return _bitwise(
        name, name, symbol, name, "biu", doc=f"`input {sign} other`: the bits that {which}.",
        point=Point("x y", iu=f"x {sign} y", b=of_truths), facts=Facts(onnx=f"bits {symbol.capitalize()}", aten=f"{name} compared"),
        example=(f"torch.tensor({example[0]}).{name}(2)", f"tensor({example[1]})"),
    )  # fmt: skip


def _shift(way: str, sign: str, text: str, example: tuple[str, str]) -> Any:
    short, where = f"{way[0]}shift", "higher" if way == "left" else "lower"
    return _bitwise(
        f"bitwise_{way}_shift", f"{way}_shift", short, short, INTEGERS, example=example,
        doc=f"`input {sign} other`: bits moved to {where} places.", point=Point("x y", iu=text),
    )  # fmt: skip


bitwise_and = _logic("and", "&", "x and y", "both have", ("[6, 3]", "[2, 2]"))
bitwise_or = _logic("or", "|", "x or y", "either has", ("[4, 1]", "[6, 3]"))
bitwise_xor = _logic("xor", "^", "x != y", "exactly one has", ("[6, 3]", "[4, 1]"))
bitwise_left_shift = _shift(
    "left", "<<", "shiftl(x, y)", ("torch.tensor([1, 3]).bitwise_left_shift(2)", "tensor([ 4, 12])")
)
bitwise_right_shift = _shift(
    "right", ">>", "shiftr(x, y)", ("torch.tensor([8, 5]).bitwise_right_shift(1)", "tensor([4, 2])")
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
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not.op(self)


publish("Tensor", "__invert__", _invert)
