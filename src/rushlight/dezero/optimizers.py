"""Optimizers: each step is one call of the kernel that rushlight's own optimizer uses."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

import rushlight as rl

from ..base.arrays import ArrayModule
from ..base.dtypes import from_np
from ..operators import update
from ..runtime.door import Kernel, run
from ..runtime.thread import here
from . import cuda
from ._arrays import later
from ._bare import each, outside, own, to_be_changed
from ._usual import usual
from .core import Parameter, Variable, over

if TYPE_CHECKING:
    from .layers import Layer


class Optimizer:
    """Derive and write `update_one(param)`.

    Example:
        >>> class Plain(optimizers.Optimizer):
        ...     def update_one(self, param):
        ...         param.data -= 0.5 * param.grad.data
        >>> layer = L.Linear(1, in_size=2)
        >>> layer.W.data[...] = 1
        >>> optimizer = Plain().setup(layer)
        >>> F.sum(layer(np.ones((1, 2), np.float32))).backward()
        >>> optimizer.update()
        >>> layer.W.data
        array([[0.5],
               [0.5]], dtype=float32)
    """

    def __init__(self) -> None:
        self.target: Any = None
        self.hooks: list[Callable[[list[Any]], None]] = []

    def setup(self, target: Layer) -> Any:
        """Say whose Parameters to update: a Model or a Layer."""
        self.target = target
        return self

    def update(self) -> None:
        """Run the hooks, then change every Parameter that has a gradient."""
        tracer = here.tracer
        if tracer is None:
            self._update()
        else:
            tracer.step(_update, None, self, (), {})

    def _update(self) -> None:
        params = usual.params(self.target)
        if params is None:
            params = [p for p in self.target.params() if p.grad is not None]
        if self.hooks:
            for hook in self.hooks:
                hook(params)
            params = [p for p in params if p.grad is not None]  # a hook may freeze some
        self._update_all(params)

    def _update_all(self, params: list[Any]) -> None:
        for param in params:
            self.update_one(param)

    def update_one(self, param: Variable) -> None:
        """Change one Parameter by its gradient."""
        raise NotImplementedError

    def add_hook(self, f: Callable[[list[Any]], None]) -> None:
        """Have `f(params)` called before each update."""
        self.hooks.append(f)


def _update(step: None, optimizer: Optimizer, args: tuple, kwargs: dict[str, Any]) -> None:
    """One step, as the tracer of hot loops calls it: an iteration mostly ends with it."""
    optimizer._update()


class _Fused(Optimizer):
    """A rule that changes all Parameters by one kernel."""

    kernel: Kernel
    states = 0
    flags: dict[str, Any] = {"maximize": False}

    def __init__(self) -> None:
        super().__init__()
        self._state: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()

    def numbers(self) -> list[float]:
        """The kernel's numbers as they are today."""
        raise NotImplementedError

    def update_one(self, param: Variable) -> None:
        self._step([param])

    def _update_all(self, params: list[Any]) -> None:
        if type(self).update_one is not _Fused.update_one:  # a subclass has a rule of its own
            super()._update_all(params)
        elif params:
            self._step(params)

    def _step(self, params: list[Any]) -> None:
        states: list[Any] = []
        if self.states:
            held = self._held(params)
            states = [h[i] for i in range(self.states) for h in held]
        hyper, attrs = np.array(self.numbers()), {"n": len(params), **self.flags}
        if usual.update(self.kernel, params, hyper, states, attrs) is None:
            arrays, grads = _columns(params)
            run(self.kernel, arrays[0].__class__, (hyper, *arrays, *grads, *states), attrs)

    def _held(self, params: list[Any]) -> list[list[Any]]:
        """The states of all Parameters; those that are new, or have moved, get them at once."""
        known = self._state
        for p in params:
            held = known.get(p)
            if held is None or held[0].__class__ is not p._data.__class__:
                return outside(lambda: [self._states_of(p) for p in params])
        return [known[p] for p in params]

    def _states_of(self, param: Variable) -> list[Any]:
        held = self._state.get(param)
        if held is None:
            zeros = [later(rl.zeros_like, param._data) for _ in range(self.states)]
            held = self._state[param] = zeros
        elif held[0].__class__ is not param._data.__class__:  # the model has moved
            move = cuda.as_cupy if cuda.get_array_module(param) is not np else cuda.as_numpy
            held = self._state[param] = [move(h) for h in held]
        return held


def _columns(params: list[Any]) -> tuple[list[Any], list[Any]]:
    """The arrays of Parameters, which are about to be changed, and of their gradients."""
    to_be_changed(params)
    arrays = [p._data for p in params]
    grads = each(own, [p.grad._data for p in params])
    return arrays, [g if g.dtype == a.dtype else _as(g, a) for g, a in zip(grads, arrays)]


def _as(g: Any, a: Any) -> Any:
    """A gradient in the dtype of its Parameter."""
    return later(rl.Tensor.to, g, from_np(a.dtype))


class SGD(_Fused):
    """p -= lr * g.

    Example:
        >>> layer = L.Linear(1, in_size=2)
        >>> layer.W.data[...] = 1
        >>> optimizer = optimizers.SGD(lr=0.5).setup(layer)
        >>> F.sum(layer(np.ones((1, 2), np.float32))).backward()
        >>> optimizer.update()
        >>> layer.W.data.round(4)
        array([[0.5],
               [0.5]], dtype=float32)
    """

    kernel = update.SGD
    flags = {"maximize": False, "nesterov": False, "first": False}

    def __init__(self, lr: float = 0.01) -> None:
        super().__init__()
        self.lr = lr

    def numbers(self) -> list[float]:
        return [self.lr, 0.0, 0.0, 0.0]


@update.update("velocity_update")
def _VELOCITY(xp: ArrayModule, h: list, p: Any, g: Any, v: Any) -> None:
    """h: lr, momentum. The learning rate is inside the velocity, other than in PyTorch's momentum."""
    lr, momentum = h
    v *= momentum
    v -= lr * g
    p += v


class MomentumSGD(_Fused):
    """v = momentum * v - lr * g; p += v.

    Args:
        momentum: share of the last step that is kept.

    Example:
        >>> layer = L.Linear(1, in_size=2)
        >>> layer.W.data[...] = 1
        >>> optimizer = optimizers.MomentumSGD(lr=0.5).setup(layer)
        >>> F.sum(layer(np.ones((1, 2), np.float32))).backward()
        >>> optimizer.update()
        >>> layer.W.data.round(4)
        array([[0.5],
               [0.5]], dtype=float32)
    """

    kernel = _VELOCITY
    states = 1
    flags = {}

    def __init__(self, lr: float = 0.01, momentum: float = 0.9) -> None:
        super().__init__()
        self.lr = lr
        self.momentum = momentum

    def numbers(self) -> list[float]:
        return [self.lr, self.momentum]


class AdaGrad(_Fused):
    """Steps divided by the root of all squared gradients so far.

    Args:
        eps: added to the divisor.

    Example:
        >>> layer = L.Linear(1, in_size=2)
        >>> layer.W.data[...] = 1
        >>> optimizer = optimizers.AdaGrad(lr=0.5).setup(layer)
        >>> F.sum(layer(np.ones((1, 2), np.float32))).backward()
        >>> optimizer.update()
        >>> layer.W.data.round(4)
        array([[0.5],
               [0.5]], dtype=float32)
    """

    kernel = update.ADAGRAD
    states = 1

    def __init__(self, lr: float = 0.001, eps: float = 1e-8) -> None:
        super().__init__()
        self.lr = lr
        self.eps = eps

    def numbers(self) -> list[float]:
        return [self.lr, 0.0, self.eps]


class AdaDelta(_Fused):
    """AdaGrad that forgets, with steps in the units of the parameters.

    Args:
        rho: how slowly the means change.
        eps: added under both roots.

    Example:
        >>> layer = L.Linear(1, in_size=2)
        >>> layer.W.data[...] = 1
        >>> optimizer = optimizers.AdaDelta().setup(layer)
        >>> F.sum(layer(np.ones((1, 2), np.float32))).backward()
        >>> optimizer.update()
        >>> layer.W.data.round(4)
        array([[0.9955],
               [0.9955]], dtype=float32)
    """

    kernel = update.ADADELTA
    states = 2

    def __init__(self, rho: float = 0.95, eps: float = 1e-6) -> None:
        super().__init__()
        self.rho = rho
        self.eps = eps

    def numbers(self) -> list[float]:
        return [1.0, 0.0, self.rho, self.eps]


class Adam(_Fused):
    """Steps by running means of gradients and of their squares.

    Args:
        alpha: learning rate.
        beta1, beta2: how slowly the means change.
        eps: added to the divisor.

    Example:
        >>> layer = L.Linear(1, in_size=2)
        >>> layer.W.data[...] = 1
        >>> optimizer = optimizers.Adam(alpha=0.5).setup(layer)
        >>> F.sum(layer(np.ones((1, 2), np.float32))).backward()
        >>> optimizer.update()
        >>> layer.W.data.round(4)
        array([[0.5],
               [0.5]], dtype=float32)
    """

    kernel = update.ADAM
    states = 2
    flags = {"maximize": False, "decoupled": False}

    def __init__(self, alpha: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> None:
        super().__init__()
        self.t = 0
        self.alpha = alpha
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps

    def update(self, *args: Any, **kwargs: Any) -> None:
        self.t += 1
        super().update(*args, **kwargs)

    @property
    def lr(self) -> float:
        """The step size of today: alpha, with the running means' late start made up for."""
        first, second = 1.0 - self.beta1**self.t, 1.0 - self.beta2**self.t
        return self.alpha * math.sqrt(second) / first

    def numbers(self) -> list[float]:
        t = max(self.t, 1)  # update_one() without update()
        root = math.sqrt(1.0 - self.beta2**t)
        # DeZero adds eps before the correction by `root`, PyTorch's rule after it.
        return [self.alpha, 0.0, self.beta1, self.beta2, self.eps / root, 1.0 - self.beta1**t, root]


# -- hooks ----------------------------------------------------------------------------------------


class WeightDecay:
    """Adds `rate` times the Parameter to its gradient.

    Args:
        rate: how much.

    Example:
        >>> layer = L.Linear(1, in_size=2)
        >>> layer.W.data[...] = 1
        >>> optimizer = optimizers.SGD(lr=0.5).setup(layer)
        >>> optimizer.add_hook(optimizers.WeightDecay(0.5))
        >>> F.sum(layer(np.ones((1, 2), np.float32))).backward()
        >>> optimizer.update()
        >>> layer.W.data
        array([[0.25],
               [0.25]], dtype=float32)
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, params: list[Any]) -> None:
        for p in params:  # a new array: several Parameters may share one gradient
            p.grad = over(later(self._added, p.grad._data, p._data))

    def _added(self, g: rl.Tensor, p: rl.Tensor) -> rl.Tensor:
        return g + p * float(self.rate)


class ClipGrad:
    """Scales all gradients so that their common norm is at most `max_norm`.

    Args:
        max_norm: the largest norm.

    Example:
        >>> layer = L.Linear(1, in_size=2)
        >>> layer.W.data[...] = 1
        >>> optimizer = optimizers.SGD(lr=0.5).setup(layer)
        >>> optimizer.add_hook(optimizers.ClipGrad(0.1))
        >>> F.sum(layer(np.ones((1, 2), np.float32))).backward()
        >>> optimizer.update()
        >>> layer.W.data.round(3)
        array([[0.971],
               [0.971]], dtype=float32)
    """

    def __init__(self, max_norm: float) -> None:
        self.max_norm = max_norm

    def __call__(self, params: list[Any]) -> None:
        total = math.sqrt(sum(outside(_squares, [p.grad._data for p in params])))
        rate = float(self.max_norm / (total + 1e-6))
        if rate < 1:
            for p in params:
                p.grad = over(later(operator.mul, p.grad._data, rate))


def _squares(arrays: list[Any]) -> list[float]:
    """The sum of each array's squares."""
    return [float((a**2).sum()) for a in arrays]


class FreezeParam:
    """Takes the gradients of layers and Parameters away, so that they stay as they are.

    Args:
        layers: Layers or Parameters.

    Example:
        >>> layer = L.Linear(1, in_size=2)
        >>> layer.W.data[...] = 1
        >>> optimizer = optimizers.SGD(lr=0.5).setup(layer)
        >>> optimizer.add_hook(optimizers.FreezeParam(layer.W))
        >>> F.sum(layer(np.ones((1, 2), np.float32))).backward()
        >>> optimizer.update()
        >>> layer.W.data
        array([[1.],
               [1.]], dtype=float32)
    """

    def __init__(self, *layers: Layer) -> None:
        self.freeze_params: list[Any] = []
        for layer in layers:
            self.freeze_params += [layer] if isinstance(layer, Parameter) else list(layer.params())

    def __call__(self, params: list[Any]) -> None:
        for p in self.freeze_params:
            p.grad = None
