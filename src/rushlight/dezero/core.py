"""The heart of DeZero: Variable, Parameter, Function, Config and arithmetic."""

from __future__ import annotations

import contextlib
import copy
import operator
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import rushlight as rl

from ..base.arrays import Array
from ..base.dtypes import from_np
from ..core.exposed import exposed
from ..runtime.thread import GRAD, TAPE, here
from . import cuda
from ._arrays import floating, gpu_types, is_array, later
from ._bare import outside
from ._graph import CallNode, Traced, record, walk_back
from ._graph import operands as in_arrays
from ._usual import described

if TYPE_CHECKING:
    from typing import TypeAlias

    Operand: TypeAlias = "Variable | Array"  # what functions take


class _GradModeSwitches(type):
    """`Config.enable_backprop` is rushlight's own grad mode, so the two can never disagree."""

    @property
    def enable_backprop(cls) -> bool:
        return rl.is_grad_enabled()

    @enable_backprop.setter
    def enable_backprop(cls, value: bool) -> None:
        rl.set_grad_enabled(bool(value))


class Config(metaclass=_GradModeSwitches):
    """The switches: whether calls are recorded, and whether layers train.

    Example:
        >>> dezero.Config.enable_backprop, dezero.Config.train
        (True, True)
    """

    train = True


@contextlib.contextmanager
def using_config(name: str, value: Any) -> Iterator[None]:
    """Set one switch of `Config` for a block.

    Args:
        name: "enable_backprop" or "train".
        value: what it is inside.

    Example:
        >>> with dezero.using_config("train", False):
        ...     dezero.Config.train
        False
    """
    before = getattr(Config, name)
    setattr(Config, name, value)
    try:
        yield
    finally:
        setattr(Config, name, before)


def no_grad() -> Any:
    """Inside the block nothing is recorded for backward.

    Example:
        >>> with dezero.no_grad():
        ...     dezero.Config.enable_backprop
        False
    """
    return using_config("enable_backprop", False)


def test_mode() -> Any:
    """Inside the block dropout and batch normalisation behave as in use.

    Example:
        >>> with dezero.test_mode():
        ...     dezero.Config.train
        False
    """
    return using_config("train", False)


test_mode.__test__ = False  # type: ignore[attr-defined]  # not a test, whatever pytest thinks


class Variable(Traced):
    """An array that remembers how it was computed; its gradient is a Variable too.

    Args:
        data: an array, or None.
        name: for drawings.

    Raises:
        TypeError: if `data` is not an array.

    Example:
        >>> x = dezero.Variable(np.array(3.0))
        >>> y = x**2 + x
        >>> y.backward()
        >>> x.grad
        variable(7.0)
    """

    if TYPE_CHECKING:  # `setup_variable` and `functions` attach them
        __add__: Any
        __radd__: Any
        __mul__: Any
        __rmul__: Any
        __neg__: Any
        __sub__: Any
        __rsub__: Any
        __truediv__: Any
        __rtruediv__: Any
        __pow__: Any
        __getitem__: Any
        matmul: Any
        dot: Any
        max: Any
        min: Any
        reshape: Any
        transpose: Any
        T: Any
        sum: Any
        _sum_to: Any

    def backward(self, retain_grad: bool = False, create_graph: bool = False) -> None:
        """Compute the gradients of this with respect to what it was computed from.

        `retain_grad` leaves them on intermediate results, `create_graph` makes them differentiable.
        """
        edge = self._edge
        creator = edge[0].function if edge is not None and edge[0].__class__ is CallNode else None
        if self.grad is not None:
            seed = as_variable(self.grad)
        elif creator is None or retain_grad or create_graph:  # somebody will see it
            seed = over(cuda.get_array_module(self._data).ones_like(self._data))
        else:
            seed = creator._seed(self)
        if creator is None:
            self.grad = seed
            return
        self.grad = None
        tracer = here.tracer
        if tracer is None or not tracer.awake or retain_grad or create_graph:
            walk_back(edge, seed, retain_grad, create_graph)
        else:
            go = partial(walk_back, edge, seed, False, False)
            tracer.described(partial(described, edge, seed), go)

    def _accumulate(self, g: Variable) -> None:
        dtype = self._data.dtype
        if g._data.dtype != dtype and dtype.kind == "f":
            g = _Cast(dtype)(g)  # a float32 weight among float64 data stays float32
        if 0 in g._data.strides:  # a broadcast view: the user could not change it in place
            g._data = later(_copied, g._data)
        self.grad = g if self.grad is None else self.grad + g

    def to_cpu(self) -> None:
        """Move the data to the CPU, as a NumPy array."""
        if self._data is not None:
            self._data = outside(cuda.as_numpy, self._data)

    def to_gpu(self) -> None:
        """Move the data to the GPU, as a CuPy array."""
        if self._data is not None:
            self._data = outside(cuda.as_cupy, self._data)


class Parameter(Variable):
    """A Variable that layers count among their weights.

    Args:
        data: an array, or None.
        name: for files and drawings.

    Example:
        >>> dezero.Parameter(np.array([1.0]), name="W").name
        'W'
    """


def as_variable(obj: Any) -> Variable:
    """`obj` as a Variable; arrays are wrapped.

    Example:
        >>> dezero.as_variable(np.array([1.0, 2.0]))
        variable([1. 2.])
    """
    return obj if isinstance(obj, Variable) else Variable(obj)


def as_array(x: Array | float, array_module: Any = np) -> Any:
    """`x` as an array; numbers become 0-d ones.

    Args:
        x: a number or an array.
        array_module: NumPy or CuPy.

    Example:
        >>> dezero.as_array(3.0)
        array(3.)
    """
    if x.__class__ is np.ndarray or x.__class__ in gpu_types:
        return x
    return array_module.array(x) if np.isscalar(x) else x


def over(a: Any) -> Variable:
    """A Variable over what a `forward` returned, in most cases an array that needs no questions."""
    if a.__class__ is not np.ndarray and a.__class__ not in gpu_types:
        return Variable(as_array(a))
    made = Variable.__new__(Variable)
    made._data = a
    return made


class Function:
    """Derive, write `forward` on arrays and `backward` on Variables, and call an instance.

    Example:
        >>> class Square(dezero.Function):
        ...     def forward(self, x):
        ...         return x**2
        ...     def backward(self, gy):
        ...         return 2 * self.inputs[0] * gy
        >>> x = dezero.Variable(np.array(3.0))
        >>> y = Square()(x)
        >>> y.backward()
        >>> x.grad
        variable(6.0)
    """

    generation = 0
    inputs: Any = ()
    outputs: Any = ()

    def __call__(self, *inputs: Any) -> Any:
        if self.inputs:  # it remembers a call already; another one needs an object of its own
            return _forgetful(self)(*inputs)
        variables = [x if isinstance(x, Variable) else _constant(x) for x in inputs]
        arrays = self._run(variables)
        outputs = [over(y) for y in arrays] if arrays.__class__ is tuple else [over(arrays)]
        if here.state & TAPE == GRAD:  # Config.enable_backprop, without a call
            record(self, variables, outputs)
        return outputs if len(outputs) > 1 else outputs[0]

    def _run(self, variables: list[Variable]) -> Any:
        if self._is_ours():
            return self._forward(*[x._data for x in variables])
        arrays = [x._data for x in variables]
        _show_all(arrays)  # whoever wrote `forward` may keep them
        found = outside(self.forward, *arrays)
        _show_all(found if isinstance(found, tuple) else (found,))
        return found

    def _is_ours(self) -> bool:
        """Whether `_forward` computes, by kernels that may wait, and not what somebody wrote in its place."""
        return type(self).forward is Function.forward and "forward" not in self.__dict__

    def _gradients(self, gys: list[Any]) -> Any:
        """What `backward` returns; arrays, which it should not, become Variables."""
        gxs = self.backward(*gys)
        if not isinstance(gxs, (tuple, list)):
            gxs = (gxs,)
        return [g if g is None or isinstance(g, Variable) else _theirs(g) for g in gxs]

    def _seed(self, output: Variable) -> Variable:
        """Ones, where `backward` begins."""
        return over(cuda.get_array_module(output._data).ones_like(output._data))

    def _wants(self, i: int) -> bool:
        """Whether anybody can see the gradient of an input: bare arrays need none."""
        return not self.inputs[i]._constant

    def forward(self, *xs: Any) -> Any:
        """The outputs, from arrays to arrays."""
        return outside(self._forward, *xs)

    def _forward(self, *xs: Any) -> Any:
        """What `forward` is in functions of ours, for arrays that may have no values yet."""
        raise NotImplementedError

    def backward(self, *gys: Any) -> Any:
        """The gradients of the inputs from those of the outputs, all Variables."""
        raise NotImplementedError

    _written: Any = None  # `backward` of a class of ours that only reads what it is given

    def _only_reads(self) -> bool:
        """Whether nobody but ourselves gets the gradients that `backward` is given."""
        return getattr(self.backward, "__func__", None) is type(self)._written


def _forgetful(function: Function) -> Function:
    """A copy of a Function that remembers no call."""
    other = copy.copy(function)
    other.inputs = other.outputs = ()
    return other


def _show_all(arrays: Any) -> None:
    for a in arrays:
        if is_array(a):
            exposed.add(a)


def _theirs(a: Any) -> Variable:
    """A Variable over an array that somebody else may have, too."""
    made = over(a)
    if made._data is a and a is not None:
        exposed.add(a)
    return made


def _constant(x: Any) -> Variable:
    made = _theirs(x)
    made._constant = True
    return made


def own_constant(a: Any) -> Variable:
    """A Variable that needs no gradient, over an array that nobody else has."""
    made = over(a)
    made._constant = True
    return made


def _copied(t: rl.Tensor) -> rl.Tensor:
    return t.clone(memory_format=rl.contiguous_format)


def operands(x0: Any, x1: Any) -> tuple[Any, Any]:
    """Two operands; a number becomes a constant of the other one's dtype."""
    found = in_arrays(x0, x1)
    return (own_constant(found[0]) if found[0] is not x0 else x0, own_constant(found[1]) if found[1] is not x1 else x1)


class _Cast(Function):
    """The same values in another dtype."""

    def __init__(self, dtype: np.typing.DTypeLike) -> None:
        self.dtype = dtype

    def _forward(self, x: Array) -> Any:
        return later(rl.Tensor.to, x, from_np(self.dtype))

    def backward(self, gy: Variable) -> Any:
        return _Cast(self.inputs[0].dtype)(gy)


# -- arithmetic -----------------------------------------------------------------------------------


class _Binary(Function):
    """Two operands that broadcast; their gradients are summed back to their shapes."""

    def backward(self, gy: Variable) -> Any:
        return self._summed(gy, 0), self._summed(gy, 1)

    def _summed(self, gy: Variable, i: int) -> Any:
        if not self._wants(i):
            return None
        g, shape = self.gradient(gy, i), self.inputs[i].shape
        return g if g.shape == shape else g._sum_to(shape)

    def gradient(self, gy: Variable, i: int) -> Any:
        """The gradient of input `i` before it is summed."""
        raise NotImplementedError


class Add(_Binary):
    """See `add`: the Function that it calls."""

    def _forward(self, x0: Array, x1: Array) -> Any:
        return later(operator.add, x0, x1)

    def gradient(self, gy: Variable, i: int) -> Any:
        return gy


class Mul(_Binary):
    """See `mul`: the Function that it calls."""

    def _forward(self, x0: Array, x1: Array) -> Any:
        return later(operator.mul, x0, x1)

    def gradient(self, gy: Variable, i: int) -> Any:
        return gy * self.inputs[1 - i]


class Neg(Function):
    """See `neg`: the Function that it calls."""

    def _forward(self, x: Array) -> Any:
        return later(operator.neg, x)

    def backward(self, gy: Variable) -> Any:
        return -gy


class Sub(_Binary):
    """See `sub`: the Function that it calls."""

    def _forward(self, x0: Array, x1: Array) -> Any:
        return later(operator.sub, _no_bool(x0), _no_bool(x1))

    def gradient(self, gy: Variable, i: int) -> Any:
        return -gy if i else gy


class Div(_Binary):
    """See `div`: the Function that it calls."""

    def _forward(self, x0: Array, x1: Array) -> Any:
        if x0.dtype.kind not in "fc" and x1.dtype.kind not in "fc":
            x0, x1 = floating(x0), floating(x1)
        return later(operator.truediv, x0, x1)

    def gradient(self, gy: Variable, i: int) -> Any:
        x0, x1 = self.inputs
        return gy * (-x0 / x1**2) if i else gy / x1


class Pow(Function):
    """See `pow`: the Function that it calls."""

    def __init__(self, c: float) -> None:
        self.c = c

    def _forward(self, x: Array) -> Any:
        return later(operator.pow, x if isinstance(self.c, int) else floating(x), self.c)

    def backward(self, gy: Variable) -> Any:
        (x,) = self.inputs
        return self.c * x ** (self.c - 1) * gy


def _no_bool(x: Any) -> Any:
    """PyTorch's rules refuse to subtract masks; NumPy takes them as 0 and 1."""
    return later(rl.Tensor.to, x, rl.int64) if x.dtype.kind == "b" else x


def add(x0: Operand | float, x1: Operand | float) -> Variable:
    """x0 + x1.

    Example:
        >>> F.add(np.array(1), np.array(2))
        variable(3)
    """
    return Add()(*operands(x0, x1))


def mul(x0: Operand | float, x1: Operand | float) -> Variable:
    """x0 * x1.

    Example:
        >>> F.mul(np.array(2), np.array(3))
        variable(6)
    """
    return Mul()(*operands(x0, x1))


def neg(x: Operand | float) -> Variable:
    """-x.

    Example:
        >>> F.neg(np.array(2))
        variable(-2)
    """
    return Neg()(x)


def sub(x0: Operand | float, x1: Operand | float) -> Variable:
    """x0 - x1.

    Example:
        >>> F.sub(np.array(2), np.array(3))
        variable(-1)
    """
    return Sub()(*operands(x0, x1))


def rsub(x0: Operand | float, x1: Operand | float) -> Variable:
    """x1 - x0.

    Example:
        >>> F.rsub(np.array(2), np.array(3))
        variable(1)
    """
    return Sub()(*operands(x1, x0))


def div(x0: Operand | float, x1: Operand | float) -> Variable:
    """x0 / x1.

    Example:
        >>> F.div(np.array(1.0), np.array(4.0))
        variable(0.25)
    """
    return Div()(*operands(x0, x1))


def rdiv(x0: Operand | float, x1: Operand | float) -> Variable:
    """x1 / x0."""
    return Div()(*operands(x1, x0))


def pow(x: Operand | float, c: float) -> Variable:
    """x ** c, where c is a number.

    Example:
        >>> F.pow(np.array(3.0), 2)
        variable(9.0)
    """
    return Pow(c)(x)


def setup_variable() -> None:
    """Give Variable its operators; the methods that are Functions come with `functions`.

    Example:
        >>> dezero.setup_variable()
        >>> dezero.Variable(np.array(2.0)) * 3
        variable(6.0)
    """
    cls: Any = Variable
    cls.__add__ = cls.__radd__ = add
    cls.__mul__ = cls.__rmul__ = mul
    cls.__neg__ = neg
    cls.__sub__, cls.__rsub__ = sub, rsub
    cls.__truediv__, cls.__rtruediv__ = div, rdiv
    cls.__pow__ = pow
