"""Functions that are one rushlight expression: forward and every derivative are the core's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rushlight as rl

from ..base.arrays import Array
from ..core.gradients.differentiate import one_beside
from ..core.gradients.node import OpNode
from ..core.gradients.tape import AccumulateGrad
from ..core.memory import root_array
from ..core.tensor import Tensor
from ..runtime.thread import here
from ._arrays import floating, tensor
from ._bare import is_shared, outside, own
from .core import Function, Variable, over


class Derived(Function):
    """Write `compute` on tensors; `backward` asks rushlight's autograd what the gradients are."""

    _leaves: list[Any]
    _results: tuple
    _copies: tuple = ()  # (copy, array): inputs that a user may change, see `own`

    def compute(self, *tensors: Any) -> Any:
        """The result, written with rushlight's public functions."""
        raise NotImplementedError

    _waits = True  # whether everything that `compute` touches passes the door

    def forward(self, *xs: Any) -> Any:
        return outside(self._forward, *xs)

    def _forward(self, *xs: Any) -> Any:
        with rl.no_grad():
            return _arrays(self.compute(*[x if x is None else tensor(x) for x in xs]))

    def _is_ours(self) -> bool:
        return type(self).forward is Derived.forward and "forward" not in self.__dict__

    def _run(self, variables: list[Variable]) -> Any:
        if not self._waits:
            return outside(self._run_now, variables)
        return self._run_now(variables) if self._is_ours() else super()._run(variables)

    def _run_now(self, variables: list[Variable]) -> Any:
        self._leaves = [_leaf(v) for v in variables]
        results = self.compute(*self._leaves)
        self._results = results if isinstance(results, tuple) else (results,)
        self._copies = tuple([
            (t._a, v._data)
            for t, v in zip(self._leaves, variables)
            if t is not None and t._a is not v._data and t._a.dtype == v._data.dtype
        ])  # fmt: skip
        if self._copies and not self._can_renew():
            here.tracer.interrupt("a function keeps a part of what the user has")
            return self._run_now(variables)
        return _arrays(results)

    def _saved(self) -> Iterator[tuple[Any, int, Any]]:
        """What the small graph keeps of its inputs: a node, a place, and the array there."""
        nodes = [t._edge[0] for t in self._results if t._edge is not None]
        seen = set()
        while nodes:
            node = nodes.pop()
            if id(node) in seen or not isinstance(node, OpNode):
                continue
            seen.add(id(node))
            nodes += [e[0] for e in node.edges if e is not None]
            if node.saved.__class__ is dict:
                for i, kept in list(node.saved.items()):
                    if kept.__class__ is tuple:
                        yield node, i, kept[0]

    def _can_renew(self) -> bool:
        """Whether no view of a copy is kept: then `_renew` can bring the copies up to date."""
        copies = {id(copy) for copy, _ in self._copies}
        return all(id(a) in copies or id(root_array(a)) not in copies for _, _, a in self._saved())

    def _renew(self) -> None:
        """Let the small graph see its inputs as they are now: eager would have kept the arrays themselves."""
        fresh = {id(copy): (own(array), array) for copy, array in self._copies}
        for node, i, a in self._saved():
            if id(a) in fresh:
                node.saved[i] = (fresh[id(a)][0], *node.saved[i][1:])
        self._copies = tuple([pair for pair in fresh.values() if pair[0] is not pair[1]])

    def _seed(self, output: Variable) -> Variable:
        if "_results" not in self.__dict__:
            return super()._seed(output)
        result = self._results[output._edge[1]]
        if result._edge is None or not self._only_reads():
            return super()._seed(output)
        return over(one_beside(result, True)._a)  # one for all passes, for ops that only read it

    def backward(self, *gys: Any) -> Any:
        if self._copies:
            self._renew()
        elif "_results" not in self.__dict__:  # somebody else's `forward` has computed
            with rl.enable_grad():
                self._run_now(self.inputs)
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

    _written = backward

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
        if any(is_shared(v._data) for v in variables):
            here.tracer.interrupt("a derivative of what the user has")
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
        found = rl.autograd.grad(ys, leaves, gs, retain_graph=True, create_graph=here.grad, allow_unused=True)
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
