"""Functions that are one rushlight expression: forward and every derivative are the core's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rushlight as rl

from ..core.gradients.differentiate import one_beside
from ..core.gradients.node import OpNode
from ..core.gradients.tape import AccumulateGrad
from ..core.tensor import Tensor
from ..runtime.thread import here
from ._arrays import floating, tensor
from .core import Function, Variable, over

if TYPE_CHECKING:
    from ..base.protocols import Array


class Derived(Function):
    """Write `compute` on tensors; `backward` asks rushlight's autograd what the gradients are."""

    _leaves: list[Any]
    _results: tuple

    def compute(self, *tensors: Any) -> Any:
        """The result, written with rushlight's public functions."""
        raise NotImplementedError

    def forward(self, *xs: Any) -> Any:
        with rl.no_grad():
            return _arrays(self.compute(*[x if x is None else tensor(x) for x in xs]))

    def _run(self, variables: list[Variable]) -> Any:
        self._leaves = [_leaf(v) for v in variables]
        results = self.compute(*self._leaves)
        self._results = results if isinstance(results, tuple) else (results,)
        return _arrays(results)

    def _seed(self, output: Variable) -> Variable:
        result = self._results[output._edge[1]]
        if result._edge is None:
            return super()._seed(output)
        return over(one_beside(result, True)._a)  # one for all passes, for ops that only read it

    def backward(self, *gys: Any) -> Any:
        if not here.grad and len(gys) == 1 and gys[0] is not None:
            gxs = self._of_one_op(gys[0]._data)
            if gxs is not None:
                return gxs
        gradient = Gradient(self)
        if here.grad:
            found = gradient(*self.inputs, *gys)
            found = found if isinstance(found, list) else [found]
        else:
            found = [over(g._a) for g in gradient.differentiate([_leaf(g) for g in gys])]
        gxs = [None] * len(self.inputs)
        for i, g in zip(gradient.places, found):
            gxs[i] = g
        return tuple(gxs)

    def _of_one_op(self, gy: Array) -> Any:
        """The gradients, asked of the one op that made the result of the leaves; None if several did.

        Mostly it was one, and this saves the walk.
        """
        y = self._results[0]
        if y._edge is None or not isinstance(y._edge[0], OpNode) or y._a.dtype != gy.dtype:
            return None
        node, index = y._edge
        leaves = self._leaves
        places = {id(t._edge): i for i, t in enumerate(leaves) if t is not None}
        ends = [None if e is None else places.pop(id(e), -1) for e in node.edges]
        if -1 in ends:  # another op lies between, or a leaf went in twice
            return None
        gs: list[Any] = [None] * node.n_outputs
        gs[index] = tensor(gy)
        gxs: list[Any] = [None] * len(leaves)
        for i, g in zip(ends, node.apply(gs)):
            if i is not None and g is not None:
                gxs[i] = over(g._a)
        return gxs


class Gradient(Derived):
    """The derivative of a Derived as a Function of the same inputs and the outputs' gradients."""

    def __init__(self, of: Derived) -> None:
        self.of = of
        self.places: list[int] = []  # which inputs have a gradient

    @property
    def label(self) -> str:
        """What graphs call it: SigmoidGrad."""
        return getattr(self.of, "label", type(self.of).__name__) + "Grad"

    def _run(self, variables: list[Variable]) -> Any:
        gys = [_leaf(v) for v in variables[len(self.of.inputs) :]]
        self._results = tuple(self.differentiate(gys))
        self._leaves = [*self.of._leaves, *gys]
        return _arrays(self._results)

    def differentiate(self, gys: list[Any]) -> list[Any]:
        """The gradients there are, by rushlight; their inputs' numbers go to `places`."""
        of = self.of
        wanted = [i for i, t in enumerate(of._leaves) if t is not None and t._edge is not None]
        pairs = [(y, g) for y, g in zip(of._results, gys) if g is not None and y._edge is not None]
        if not wanted or not pairs:
            return []
        ys = [y for y, _ in pairs]
        gs = [g if g._a.dtype == y._a.dtype else g.to(y.dtype) for y, g in pairs]
        leaves = [of._leaves[i] for i in wanted]
        found = rl.autograd.grad(
            ys, leaves, gs, retain_graph=True, create_graph=here.grad, allow_unused=True
        )
        self.places = [i for i, g in zip(wanted, found) if g is not None]
        return [g for g in found if g is not None]


def _leaf(v: Variable | None) -> Any:
    """A Variable as the beginning of a small graph of rushlight's own."""
    if v is None or v._data is None:
        return None
    if v._constant or not here.grad:
        return tensor(v._data)
    t = tensor(floating(v._data))
    t._edge = (AccumulateGrad(t), 0)
    return t


def _arrays(results: Any) -> Any:
    return tuple([t._a for t in results]) if isinstance(results, tuple) else results._a


def match(*tensors: Any) -> list[Any]:
    """Tensors in one floating dtype: the widest there is among them."""
    dtypes = {t.dtype for t in tensors if t is not None}
    floats = [d for d in dtypes if d.is_floating_point] or [rl.float64]
    target = floats[0]
    for d in floats[1:]:
        target = rl.promote_types(target, d)
    return [t if t is None else t.to(target) for t in tensors]


def real(t: Tensor) -> Tensor:
    """A tensor of integers as float64, as NumPy's functions take it."""
    return t if t._a.dtype.kind in "fV" else t.to(rl.float64)
