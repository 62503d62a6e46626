"""DeZero as it is after step 22 of the book: gradients are plain arrays, and once is all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.hot import bar
from . import core
from ._graph import Traced, constant, operands, record, walk_back

# Gradients are bare arrays, which must be computed at once.
bar("DeZero's simple core computes with bare arrays")


class Config:
    """The switch: whether calls are recorded."""

    enable_backprop = True


@contextlib.contextmanager
def using_config(name: str, value: Any) -> Iterator[None]:
    """Set a switch of `Config` for a block."""
    before = getattr(Config, name)
    setattr(Config, name, value)
    try:
        yield
    finally:
        setattr(Config, name, before)


def no_grad() -> Any:
    """Inside the block nothing is recorded for backward."""
    return using_config("enable_backprop", False)


class Variable(Traced):
    """An array that remembers how it was computed; its gradient is an array."""

    def backward(self, retain_grad: bool = False) -> None:
        """Compute the gradients of this with respect to what it was computed from."""
        seed = self.grad
        if seed is None:
            seed = np.ones_like(self._data)
        if self.creator is None:
            self.grad = seed
            return
        self.grad = None
        walk_back(self._edge, seed, retain_grad, create_graph=False)


def as_variable(obj: Variable | np.ndarray) -> Variable:
    """`obj` as a Variable; arrays are wrapped."""
    return obj if isinstance(obj, Variable) else Variable(obj)


def as_array(x: np.ndarray | float) -> Any:
    """`x` as an array; numbers become 0-d ones."""
    return np.array(x) if np.isscalar(x) else x


class Function(core.Function):
    """Derive, write `forward` and `backward` on arrays, and call an instance."""

    def __call__(self, *inputs: Any) -> Any:
        variables = [x if isinstance(x, Variable) else constant(Variable, as_array(x)) for x in inputs]
        arrays = self.forward(*[x._data for x in variables])
        if not isinstance(arrays, tuple):
            arrays = (arrays,)
        outputs = [Variable(as_array(y)) for y in arrays]
        if Config.enable_backprop:
            record(self, variables, outputs)
        return outputs if len(outputs) > 1 else outputs[0]

    def _gradients(self, gys: list[Any]) -> Any:
        gxs = self.backward(*gys)
        return gxs if isinstance(gxs, tuple) else (gxs,)


# -- arithmetic: the kernels are those of the other core, gradients are arrays here ----------------


class Add(Function):
    _forward = core.Add._forward

    def backward(self, gy: np.ndarray) -> Any:
        return gy, gy


class Mul(Function):
    _forward = core.Mul._forward

    def backward(self, gy: np.ndarray) -> Any:
        x0, x1 = self.inputs
        return gy * x1.data, gy * x0.data


class Neg(Function):
    _forward = core.Neg._forward

    def backward(self, gy: np.ndarray) -> Any:
        return -gy


class Sub(Function):
    _forward = core.Sub._forward

    def backward(self, gy: np.ndarray) -> Any:
        return gy, -gy


class Div(Function):
    _forward = core.Div._forward

    def backward(self, gy: np.ndarray) -> Any:
        x0, x1 = self.inputs
        return gy / x1.data, gy * (-x0.data / x1.data**2)


class Pow(Function):
    c: float
    __init__, _forward = core.Pow.__init__, core.Pow._forward

    def backward(self, gy: np.ndarray) -> Any:
        (x,) = self.inputs
        return self.c * x.data ** (self.c - 1) * gy


def add(x0: Variable | np.ndarray | float, x1: Variable | np.ndarray | float) -> Variable:
    """x0 + x1."""
    return Add()(*operands(x0, x1))


def mul(x0: Variable | np.ndarray | float, x1: Variable | np.ndarray | float) -> Variable:
    """x0 * x1."""
    return Mul()(*operands(x0, x1))


def neg(x: Variable | np.ndarray | float) -> Variable:
    """-x."""
    return Neg()(x)


def sub(x0: Variable | np.ndarray | float, x1: Variable | np.ndarray | float) -> Variable:
    """x0 - x1."""
    return Sub()(*operands(x0, x1))


def rsub(x0: Variable | np.ndarray | float, x1: Variable | np.ndarray | float) -> Variable:
    """x1 - x0."""
    return Sub()(*operands(x1, x0))


def div(x0: Variable | np.ndarray | float, x1: Variable | np.ndarray | float) -> Variable:
    """x0 / x1."""
    return Div()(*operands(x0, x1))


def rdiv(x0: Variable | np.ndarray | float, x1: Variable | np.ndarray | float) -> Variable:
    """x1 / x0."""
    return Div()(*operands(x1, x0))


def pow(x: Variable | np.ndarray | float, c: float) -> Variable:
    """x ** c, where c is a number."""
    return Pow(c)(x)


def setup_variable() -> None:
    """Give Variable its operators."""
    cls: Any = Variable
    cls.__add__ = cls.__radd__ = add
    cls.__mul__ = cls.__rmul__ = mul
    cls.__neg__ = neg
    cls.__sub__, cls.__rsub__ = sub, rsub
    cls.__truediv__, cls.__rtruediv__ = div, rdiv
    cls.__pow__ = pow
