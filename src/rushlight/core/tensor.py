"""Tensor: an array, the edge to how it was made, and its gradient."""

from __future__ import annotations

from operator import attrgetter
from sys import getrefcount
from typing import TYPE_CHECKING, Any

from ..base import dtypes
from ..runtime import devices
from ..runtime.batch.arrays import BatchedArray, samples
from ..runtime.sparse_array import sparse
from ..runtime.thread import GRAD, TAPE, here
from ..runtime.wrapped import WrappedArray, answer
from .gradients.gradient import Retainer, check_grad, in_order_of
from .gradients.tape import ALONE, AccumulateGrad, RemovableHandle
from .memory import Replaced, owns_plainly
from .values import TensorValues
from .views import current_edge, extra, mark_detached

_new = object.__new__

if TYPE_CHECKING:  # ops attach their methods when they are defined; tools/stubs.py writes them down
    from ..base.protocols import Array
    from .methods import Methods

    class _Base(TensorValues, Methods): ...
else:
    _Base = TensorValues


class Tensor(_Base):
    """A multi-dimensional array that remembers how it was made, so that gradients can be computed.

    Made by `torch.tensor`, `torch.zeros` and the other creation functions; called itself, it
    makes float32 tensors from sizes or from data, as an old constructor.

    Args:
        args: sizes, or one list with the values.
        kwargs: `device=`.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """

    __slots__ = ("_a", "_edge", "_grad", "_ver", "_ext", "__weakref__", "__dict__")
    __array_priority__ = 1000  # so that `ndarray + tensor` calls our method and not NumPy's

    _a: Any
    _edge: Any
    _grad: Any
    _ver: Any
    _ext: Any

    if TYPE_CHECKING:

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...  # __new__: create/legacy.py
        def backward(
            self,
            gradient: Tensor | None = None,
            retain_graph: bool | None = None,
            create_graph: bool = False,
            inputs: Any = None,
        ) -> None: ...  # differentiate.py

    # -- autograd -------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded, so that `backward` can compute gradients.

        Raises:
            RuntimeError: on setting, if the dtype is neither floating point nor complex.

        Example:
            >>> x = torch.ones(2, requires_grad=True)
            >>> x.requires_grad, (x * 2).requires_grad, x.detach().requires_grad
            (True, True, False)
        """
        base = None if self._ext is None else self._ext.base
        return self._edge is not None or (base is not None and base._edge is not None)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and self.dtype.category < dtypes.FLOATING:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        self.requires_grad_(value)

    def _set_grad(self, value: Any) -> None:
        if value is not None:
            check_grad(self, value)
        self._grad = value

    def _del_grad(self) -> None:
        self._grad = None

    # Read by the C function attrgetter makes: a Python getter would cost three times a slot.
    grad: Tensor | None = property(  # type: ignore[assignment]
        attrgetter("_grad"),
        _set_grad,
        _del_grad,
        """The gradient that `backward` added up here; None before the first one.

        Raises:
            RuntimeError: on setting, if shape, dtype or device are not those of the tensor.

        Example:
            >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
            >>> (w * w).sum().backward()
            >>> w.grad
            tensor([2., 4.])
        """,
    )

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Let operations on this tensor be recorded, or not any more; returns the tensor itself.

        Raises:
            RuntimeError: for integers, and for switching it off on a result of recorded operations
                (use `detach()` for those).

        Example:
            >>> w = torch.zeros(2).requires_grad_()
            >>> w.sum().backward()
            >>> w.grad
            tensor([1., 1.])
        """
        edge = self._edge
        if not requires_grad:
            if edge is not None and not self.is_leaf:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use "
                    "a computed variable in a subgraph that doesn't require differentiation use "
                    "var_no_grad = var.detach()."
                )
            if edge is not None and isinstance(edge[0], AccumulateGrad) and edge[0].has_hooks():
                extra(self).frozen = edge
            self._edge = None
        elif edge is None:
            if self.dtype.category < dtypes.FLOATING:
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
            if self._ext is not None and self._ext.inference and not here.inference:
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
                )
            frozen = getattr(self._ext, "frozen", None)  # C makes extras that lack it
            self._edge = frozen or (AccumulateGrad(self), 0)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor: `backward` leaves gradients in leaves.

        Example:
            >>> w = torch.ones(2, requires_grad=True)
            >>> w.is_leaf, (w * 2).is_leaf
            (True, False)
        """
        edge = current_edge(self)
        return edge is None or isinstance(edge[0], AccumulateGrad)

    @property
    def grad_fn(self) -> Any:
        """The recorded operation that made this tensor; None for leaves.

        Example:
            >>> w = torch.ones(2, requires_grad=True)
            >>> (w * 2).grad_fn.name()
            'MulBackward0'
        """
        edge = current_edge(self)
        return None if edge is None or isinstance(edge[0], AccumulateGrad) else edge[0].shown()

    @property
    def output_nr(self) -> int:
        """Which of the results of its operation this tensor is, counted from 0.

        Example:
            >>> a, b = torch.ones(2, requires_grad=True).unbind()
            >>> b.output_nr
            1
        """
        edge = current_edge(self)
        return 0 if edge is None else edge[1]

    @property
    def _version(self) -> int:
        return 0 if self._ver is None else self._ver[0]

    @property
    def _base(self) -> Any:
        return None if self._ext is None or self._ext.inference else self._ext.base

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def _cdata(self) -> int:
        return id(self)

    def is_inference(self) -> bool:
        """Whether the tensor was made in `inference_mode`.

        Example:
            >>> with torch.inference_mode():
            ...     x = torch.zeros(2)
            >>> x.is_inference()
            True
        """
        return self._ext is not None and self._ext.inference

    def _accumulate(self, g: Tensor) -> None:
        """Add an arriving gradient to `.grad`."""
        if g._a.__class__ is BatchedArray:
            g = samples.summed(g, self)
        held = self._grad
        if sparse.active and sparse.among(held, g):
            self._grad = sparse.gradient(self, held, g)
        elif held is None:
            # A gradient nobody else holds is taken as it is (the pass has let go of it); otherwise
            # it is copied, because users change .grad in place.
            if here.state & TAPE == GRAD:
                self._grad = g
            elif g._a.__class__ is WrappedArray:
                self._grad = answer.of_tensor("detach.default", g)
            elif getrefcount(g) <= ALONE and owns_plainly(g._a, self._a):
                g._edge = None
                self._grad = g
            else:
                self._grad = tensor_over(in_order_of(g._a, self._a), g._a.__class__)
        elif here.state & TAPE == GRAD:
            self._grad = held + g
        else:
            held.add_(g)

    @property
    def data(self) -> Tensor:
        """The same memory without history: changes made through it are not recorded.

        `with torch.no_grad():` is the safer way to change a parameter, because changes through
        `.data` are not noticed when `backward` needs the old values.

        Example:
            >>> w = torch.ones(2, requires_grad=True)
            >>> w.data.mul_(3)
            tensor([3., 3.])
            >>> w
            tensor([3., 3.], requires_grad=True)
        """
        if self._a.__class__ is WrappedArray:
            return answer.of_tensor("detach.default", self)
        t = tensor_over(self._a, self._a.__class__)
        if self.is_inference():
            mark_detached(t)
        return t

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and value.dtype.category < dtypes.FLOATING:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if self._ver is not None and value._a is not self._a:
            self._ver.insert(1, Replaced(self._a, self))
            self._ver = self._ver[:1]
        self._a = value._a

    def retain_grad(self) -> None:
        """Keep the gradient of this result in `.grad`, which otherwise only leaves do.

        Raises:
            RuntimeError: if nothing is recorded for this tensor.

        Example:
            >>> w = torch.ones(2, requires_grad=True)
            >>> y = w * 3
            >>> y.retain_grad()
            >>> y.sum().backward()
            >>> y.grad
            tensor([1., 1.])
        """
        edge = current_edge(self)
        if edge is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.is_leaf or extra(self).retains:
            return
        node, index = edge
        extra(self).retains = node.add_pre_hook(index, Retainer(self))

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this result.

        Example:
            >>> y = torch.ones(2, requires_grad=True) * 3
            >>> y.retain_grad()
            >>> y.retains_grad
            True
        """
        return self._ext is not None and bool(self._ext.retains) and not self.is_leaf

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call a function when the gradient of this tensor is known, before it is passed on.

        Args:
            hook: called with the gradient; what it returns, unless None, takes the gradient's
                place.

        Raises:
            RuntimeError: if no gradient is wanted for this tensor.

        Example:
            >>> w = torch.ones(2, requires_grad=True)
            >>> handle = w.register_hook(lambda grad: grad * 10)
            >>> (w * 3).sum().backward()
            >>> w.grad
            tensor([30., 30.])
            >>> handle.remove()
        """
        edge = current_edge(self)
        if edge is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return edge[0].add_pre_hook(edge[1], hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> RemovableHandle:
        """Call a function after a gradient was added to this leaf's `.grad`.

        An optimiser step in such a hook can free each gradient before the next one is computed.

        Args:
            hook: called with this tensor; returns None.

        Raises:
            RuntimeError: if this is not a leaf that wants a gradient.

        Example:
            >>> w = torch.ones(2, requires_grad=True)
            >>> handle = w.register_post_accumulate_grad_hook(lambda t: print("arrived:", t.grad))
            >>> (w * 3).sum().backward()
            arrived: tensor([3., 3.])
        """
        edge = current_edge(self)
        if edge is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not isinstance(edge[0], AccumulateGrad):
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if edge[0].post_hooks is None:
            edge[0].post_hooks = {}
        return RemovableHandle(edge[0].post_hooks, hook)

    # -- as an object ---------------------------------------------------------------------------

    def __hash__(self) -> int:  # in C, too (core/op.py): an optimiser asks for the state of each parameter
        return id(self)

    def __format__(self, spec: str) -> str:
        # The number of a plain tensor; a Parameter and other classes print what they are.
        if self._a.ndim == 0 and type(self) is Tensor and not self.is_meta:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        cls = type(self)
        if self._a.__class__ is WrappedArray and tensor_contents is None:  # it has no values of its own
            return f"{cls.__name__}(..., size={tuple(self._a.shape)}, dtype={self.dtype})"
        if self._a.__class__ is BatchedArray:
            inner = repr(tensor_over(self._a.held, self._a.held.__class__)).replace("\n", "\n    ")
            return f"BatchedTensor(lvl={self._a.level.number}, bdim=0, value=\n    {inner}\n)"
        from .shown.describe import describe

        # a subclass prints its own name unless it writes the line around this one itself
        own = cls.__repr__  # core/arming.py puts a function of the same name around ours
        plain = cls is Tensor or (own.__qualname__ != Tensor.__repr__.__qualname__ and tensor_contents is None)
        return describe(self, "tensor(" if plain else f"{cls.__name__}(", tensor_contents)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from .shown.html import tensor_html

        return tensor_html(self)

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)))


def tensor_over(a: Any, cls: type) -> Tensor:
    """A tensor without history over a raw array (or a NumPy scalar) of a device's type `cls`.

    An array of another device, which is what a move answers, stays what it is.
    """
    if a.__class__ is not cls and (isinstance(a, cls) or not devices.is_array(a)):
        a = devices.backend_of_type(cls).asarray(a)
    if a.__class__ is WrappedArray:
        return _wrapper_over(a)
    t = _new(Tensor)
    t._a = a
    t._edge = t._grad = t._ver = t._ext = None
    return t


def _wrapper_over(a: WrappedArray) -> Any:
    """The tensor of a user's class that has just made it, or another one with the same attributes."""
    if a.fresh is not None:
        fresh, a.fresh = a.fresh, None
        return fresh
    t: Any = _new(a.kind)
    t.__dict__.update(a.parts)
    t._a = a.for_another(t.__dict__)
    t._edge = t._grad = t._ver = t._ext = None
    return t


def wrap(a: Array) -> Tensor:
    """A tensor over a raw array of any device."""
    return tensor_over(a, a.__class__)


def properties() -> dict[str, property]:
    """Tensor's properties by name, those of its bases too."""
    members = {n: v for c in reversed(Tensor.__mro__) for n, v in vars(c).items()}
    return {n: v for n, v in members.items() if isinstance(v, property)}
