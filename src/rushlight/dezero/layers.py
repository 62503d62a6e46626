"""Layers: Parameters and the function they are used in; weights are made when the first input is seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..base.arrays import ArrayModule
from ..io.npz import read_npz, write_npz
from . import cuda
from . import functions as F
from ._bare import outside
from ._usual import usual
from .core import Parameter, Variable
from .utils import pair

if TYPE_CHECKING:
    from .core import Operand


class Layer:
    """A part of a network. Parameters and Layers set as attributes belong to it.

    Example:
        >>> class Twice(L.Layer):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.inner = L.Linear(2, in_size=3)
        ...     def forward(self, x):
        ...         return 2 * self.inner(x)
        >>> layer = Twice()
        >>> layer(np.ones((4, 3), np.float32)).shape, len(list(layer.params()))
        ((4, 2), 2)
    """

    def __init__(self) -> None:
        self._params: dict[str, None] = {}  # names, in the order they came

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Parameter, Layer)):
            self._params[name] = None
        elif name in self.__dict__.get("_params", ()):
            del self._params[name]
        super().__setattr__(name, value)

    def __call__(self, *inputs: Any) -> Any:
        results = self.forward(*inputs)
        own = self.__dict__  # past __setattr__, which looks for Parameters
        several = results.__class__ is tuple
        if not several and len(inputs) == 1:
            try:
                own["inputs"], own["outputs"] = [ref(inputs[0])], [ref(results)]
            except TypeError:  # a number
                pass
            else:
                return results
        own["inputs"] = [_reference(x) for x in inputs]
        own["outputs"] = [_reference(y) for y in (results if several else (results,))]
        return results[0] if several and len(results) == 1 else results

    def forward(self, inputs: Any) -> Any:
        """What the layer computes."""
        raise NotImplementedError

    def params(self) -> Iterator[Any]:
        """Every Parameter, those of inner layers too."""
        own = self.__dict__
        for name in self._params:
            value = own[name]
            if isinstance(value, Layer):
                yield from value.params()
            else:
                yield value

    def cleargrads(self) -> None:
        """Forget the gradients of all Parameters."""
        if not usual.cleargrads(self):
            for param in self.params():
                param.cleargrad()

    def to_cpu(self) -> None:
        """Move all Parameters to the CPU."""
        for param in self.params():
            param.to_cpu()

    def to_gpu(self) -> None:
        """Move all Parameters to the GPU."""
        for param in self.params():
            param.to_gpu()

    def _flatten_params(self, params_dict: dict[str, Any], parent_key: str = "") -> None:
        """Parameters by the path of names that leads to them: `l0/W`."""
        for name in self._params:
            value = self.__dict__[name]
            key = f"{parent_key}/{name}" if parent_key else name
            if isinstance(value, Layer):
                value._flatten_params(params_dict, key)
            else:
                params_dict[key] = value

    def save_weights(self, path: str) -> None:
        """Write all Parameters to a .npz file; afterwards they are on the CPU."""
        self.to_cpu()
        found: dict[str, Any] = {}
        self._flatten_params(found)
        arrays = {key: p._data for key, p in found.items() if p._data is not None}
        target = path if path.endswith(".npz") else path + ".npz"
        outside(write_npz, target, arrays)

    def load_weights(self, path: str) -> None:
        """Take over the Parameters of a .npz file, ours or the original DeZero's."""
        found: dict[str, Any] = {}
        self._flatten_params(found)
        for param, array in zip(found.values(), read_npz(path, list(found))):
            param._data = array


def _reference(value: object) -> Any:
    """A weak reference, so that a layer keeps no graph alive; numbers have none."""
    try:
        return ref(value)
    except TypeError:
        return lambda: value


def _random(shape: tuple[int, ...], fan_in: int, dtype: np.typing.DTypeLike, xp: ArrayModule) -> Any:
    """Normal numbers of variance 1 / fan_in, drawn by np.random."""
    return xp.random.randn(*shape).astype(dtype) * xp.asarray(np.sqrt(1 / fan_in), dtype)


def _made(a: np.ndarray, name: str) -> Parameter:
    """A Parameter over an array that nobody else has."""
    made = Parameter(None, name=name)
    made._data = a
    return made


class Weight(Parameter):
    """W of a linear layer, (in, out); on a GPU the numbers of one output lie together.

    So W.T is a weight as rushlight's kernels take it, which find all gradients of a layer at once.

    Args:
        data: an array, or None.
        name: for files and drawings.

    Example:
        >>> L.Weight(np.ones((2, 3)), name="W").shape
        (2, 3)
    """

    def to_gpu(self) -> None:
        if isinstance(self._data, np.ndarray):
            self._data = outside(np.asfortranarray, self._data)
        super().to_gpu()


class Linear(Layer):
    """A linear layer: `x W + b`, with W drawn by np.random.

    Args:
        out_size: of the results.
        nobias: leave the bias out.
        dtype: of the weights.
        in_size: of the inputs; taken from the first one if not given.

    Example:
        >>> L.Linear(2)(np.ones((4, 3), np.float32)).shape
        (4, 2)
    """

    def __init__(
        self, out_size: int, nobias: bool = False, dtype: np.typing.DTypeLike = np.float32, in_size: Any = None
    ) -> None:
        super().__init__()
        self.in_size = in_size
        self.out_size = out_size
        self.dtype = dtype
        self.W: Parameter = Weight(None, name="W")
        if in_size is not None:
            self._init_W()
        self.b = None if nobias else _made(np.zeros(out_size, dtype=dtype), "b")

    def _init_W(self, xp: ArrayModule = np) -> None:  # type: ignore[assignment]
        shape = (self.in_size, self.out_size)
        drawn = _random(shape, self.in_size, self.dtype, xp)
        self.W._data = drawn if xp is np else xp.ascontiguousarray(drawn.T).T  # see Weight

    def forward(self, x: Operand) -> Any:
        if self.W._data is None:
            self.in_size = x.shape[1]
            self._init_W(cuda.get_array_module(x))
        return F.linear(x, self.W, self.b)


class Conv2d(Layer):
    """A convolution, with W drawn by np.random.

    Args:
        out_channels: of the results.
        kernel_size, stride, pad: numbers, or pairs (height, width).
        nobias: leave the bias out.
        dtype: of the weights.
        in_channels: of the inputs; taken from the first one if not given.

    Example:
        >>> L.Conv2d(2, kernel_size=3)(np.ones((1, 3, 8, 8), np.float32)).shape
        (1, 2, 6, 6)
    """

    def __init__(
        self,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        pad: int | tuple[int, int] = 0,
        nobias: bool = False,
        dtype: np.typing.DTypeLike = np.float32,
        in_channels: Any = None,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.pad = pad
        self.dtype = dtype
        self.W = Parameter(None, name="W")
        if in_channels is not None:
            self._init_W()
        self.b = None if nobias else _made(np.zeros(out_channels, dtype=dtype), "b")

    def _init_W(self, xp: ArrayModule = np) -> None:  # type: ignore[assignment]
        kh, kw = pair(self.kernel_size)
        shape = self._shape() + (kh, kw)
        self.W._data = _random(shape, self.in_channels * kh * kw, self.dtype, xp)

    def _shape(self) -> tuple[int, ...]:
        return self.out_channels, self.in_channels

    def forward(self, x: Operand) -> Any:
        if self.W._data is None:
            self.in_channels = x.shape[1]
            self._init_W(cuda.get_array_module(x))
        return self._apply(x)

    def _apply(self, x: Operand) -> Any:
        return F.conv2d(x, self.W, self.b, self.stride, self.pad)


class Deconv2d(Conv2d):
    """A transposed convolution, with W drawn by np.random.

    Args:
        out_channels, kernel_size, stride, pad, nobias, dtype, in_channels: as in `Conv2d`.

    Example:
        >>> L.Deconv2d(2, kernel_size=3)(np.ones((1, 3, 8, 8), np.float32)).shape
        (1, 2, 10, 10)
    """

    def _shape(self) -> tuple[int, ...]:
        return self.in_channels, self.out_channels

    def _apply(self, x: Operand) -> Any:
        return F.deconv2d(x, self.W, self.b, self.stride, self.pad)


class RNN(Layer):
    """Remembers its last output; `reset_state` before a new sequence.

    Args:
        hidden_size: of the output.
        in_size: of the inputs; taken from the first one if not given.

    Example:
        >>> rnn = L.RNN(4)
        >>> [rnn(np.ones((1, 3), np.float32)).shape for _ in range(2)]
        [(1, 4), (1, 4)]
        >>> rnn.reset_state()
    """

    def __init__(self, hidden_size: int, in_size: Any = None) -> None:
        super().__init__()
        hidden = None if in_size is None else hidden_size
        self.x2h = Linear(hidden_size, in_size=in_size)
        self.h2h = Linear(hidden_size, in_size=hidden, nobias=True)
        self.h: Variable | None = None

    def reset_state(self) -> None:
        """Forget the sequence so far."""
        self.h = None

    def forward(self, x: Operand) -> Any:
        total = self.x2h(x)
        self.h = F.tanh(total if self.h is None else total + self.h2h(self.h))
        return self.h


class LSTM(Layer):
    """Remembers its last output and its cell; `reset_state` before a new sequence.

    Args:
        hidden_size: of the output.
        in_size: of the inputs; taken from the first one if not given.

    Example:
        >>> lstm = L.LSTM(4)
        >>> [lstm(np.ones((1, 3), np.float32)).shape for _ in range(2)]
        [(1, 4), (1, 4)]
        >>> lstm.reset_state()
    """

    def __init__(self, hidden_size: int, in_size: Any = None) -> None:
        super().__init__()
        for gate in "fiou":
            setattr(self, "x2" + gate, Linear(hidden_size, in_size=in_size))
        for gate in "fiou":
            setattr(self, "h2" + gate, Linear(hidden_size, in_size=hidden_size, nobias=True))
        self.reset_state()

    def reset_state(self) -> None:
        """Forget the sequence so far."""
        self.h: Variable | None = None
        self.c: Variable | None = None

    def _gate(self, gate: str, x: Operand) -> Any:
        total = getattr(self, "x2" + gate)(x)
        return total if self.h is None else total + getattr(self, "h2" + gate)(self.h)

    def forward(self, x: Operand) -> Any:
        forget, enter, leave = [F.sigmoid(self._gate(gate, x)) for gate in "fio"]
        cell = enter * F.tanh(self._gate("u", x))
        self.c = cell if self.c is None else forget * self.c + cell
        self.h = leave * F.tanh(self.c)
        return self.h


class EmbedID(Layer):
    """A vector for each of `in_size` numbers.

    Args:
        in_size: how many numbers there are.
        out_size: of each vector.

    Example:
        >>> L.EmbedID(10, 4)(np.array([1, 2, 1])).shape
        (3, 4)
    """

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.W = _made(np.random.randn(in_size, out_size).astype(np.float32), "W")

    def __call__(self, x: Operand) -> Any:
        return F.embed_id(x, self.W)


class BatchNorm(Layer):
    """Batch normalisation of axis 1; the running statistics are saved with the weights.

    Example:
        >>> L.BatchNorm()(np.array([[0.0], [2.0]])).data.round(3)
        array([[-1.],
               [ 1.]])
    """

    def __init__(self) -> None:
        super().__init__()
        self.avg_mean = Parameter(None, name="avg_mean")
        self.avg_var = Parameter(None, name="avg_var")
        self.gamma = Parameter(None, name="gamma")
        self.beta = Parameter(None, name="beta")

    def _init_params(self, x: Operand) -> None:
        xp = cuda.get_array_module(x)
        for param, make in (
            (self.avg_mean, xp.zeros), (self.avg_var, xp.ones),
            (self.gamma, xp.ones), (self.beta, xp.zeros),
        ):  # fmt: skip
            if param._data is None:
                param._data = make(x.shape[1], dtype=x.dtype)

    def __call__(self, x: Operand) -> Any:
        if self.avg_mean._data is None:
            self._init_params(x)
        return F.batch_nrom(x, self.gamma, self.beta, self.avg_mean._data, self.avg_var._data)
