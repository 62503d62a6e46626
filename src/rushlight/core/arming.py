"""Making every public function ask its arguments' classes first, once a program has such a class.

A function keeps its identity: users hold it, and tables of theirs are keyed by it. Its code is exchanged for
one that looks at the classes of the arguments and calls a copy of the function as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from inspect import Signature, signature
from types import FunctionType
from typing import Any

from ..runtime.thread import here
from .overriding import ALL_OFF, MODES, NESTED, SPECIAL, ask, asked_among, dispatch, no_implementation, notice
from .public import NAMESPACES, when_published
from .redirecting import copy_of, exchange_code
from .tensor import Tensor

# These never ask: they make tensors from numbers, are about classes, or describe the process.
UNASKED = frozenset("""
    _make_subclass as_subclass as_tensor asarray can_cast from_dlpack from_numpy frombuffer get_rng_state
    initial_seed is_storage is_tensor manual_seed promote_types seed set_rng_state tensor typename __new__
    __hash__ __dir__ __getattr__ __iter__ broadcast_shapes
""".split())  # fmt: skip
# The function that PyTorch names for an operator, where it is not the operator's own method.
OPERATORS = {
    "add": "add", "radd": "add", "iadd": "add_", "sub": "sub", "isub": "sub_", "mul": "mul", "rmul": "mul",
    "imul": "mul_", "truediv": "div", "itruediv": "div_", "ifloordiv": "floor_divide_", "mod": "remainder",
    "imod": "remainder_", "pow": "pow", "ipow": "pow_", "matmul": "matmul", "ne": "ne", "lt": "lt", "le": "le",
    "gt": "gt", "ge": "ge", "ror": "bitwise_or", "rand": "bitwise_and", "rxor": "bitwise_xor", "neg": "neg",
    "abs": "abs", "pos": "positive",
}  # fmt: skip
# Their arguments may be lists, or tuples, of tensors.
_LISTS = frozenset(("tensors", "tensor", "operands", "indices", "index", "matrices", "inputs", "outputs"))

# PyTorch tells a call of a function that it has written in C as it was made. Of one that it has written in Python it says
# by name what may be left out, and the defaults, too. In nn.functional these are all but the first ones here.
_IN_C = frozenset("""
    adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink hardtanh_ leaky_relu_
    linear logsigmoid native_channel_shuffle one_hot pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_
    rrelu_ scaled_dot_product_attention selu_ sigmoid softplus softshrink tanh threshold_
""".split())  # fmt: skip
_IN_PYTHON = {
    "torch": frozenset(
        """
        cdist lu norm split stft tensordot unique unique_consecutive
        celu cosine_embedding_loss hinge_embedding_loss margin_ranking_loss max_pool1d max_pool1d_with_indices
        max_pool2d max_pool3d rms_norm rrelu selu triplet_margin_loss
    """.split()
    ),  # the second and third line: here nn.functional has the same function
    "Tensor": frozenset("istft lu norm split stft unflatten unique unique_consecutive".split()),
}

_TENSORS = ("T", "mT", "H", "mH", "real", "imag", "data")

_originals: dict[FunctionType, FunctionType] = {}  # by the function that asks: what it was before


def arm(cls: type | None) -> None:
    """Let every public function, those of now and those of later, look at its arguments."""
    if cls is not None:
        overlay(cls)
    if _arm_one in when_published:
        return
    when_published.append(_arm_one)
    for place, names in NAMESPACES.items():
        for name, fn in list(names.items()):
            _arm_one(place, name, fn)
    for name in _TENSORS:  # attributes that are tensors: modes see them, too
        attribute: Any = getattr(Tensor, name)
        if attribute.fget not in _originals:
            exchange(attribute.fget, _Plainly(attribute.__get__))


def _arm_one(place: str, name: str, fn: Callable[..., Any]) -> None:
    if not isinstance(fn, FunctionType) or name in UNASKED or place == "return_types":
        return
    if fn not in _originals:
        exchange(fn, _stands_for(place, name) or _Plainly(fn, _telling(place, name, fn)))
        fn.__name__ = name  # tables of users are keyed by it, too


def _stands_for(place: str, name: str) -> Any:
    if place == "Tensor" and name.startswith("__"):
        other = OPERATORS.get(name.strip("_"))
        return None if other is None else _Late(other)
    return _Late(name) if place == "functional" and name in ("sigmoid", "tanh") else None


def _telling(place: str, name: str, fn: Callable[..., Any]) -> Any:
    """How a call is told to those who answer for it, where that is not as it was made."""
    if name == "einsum":
        return _with_operands
    in_python = name not in _IN_C if place == "functional" else name in _IN_PYTHON.get(place, ())
    return partial(_by_name, signature(fn)) if in_python else None


def _with_operands(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Operands one by one for classes, which are asked about each; modes are told the list that came."""
    listed = len(args) == 2 and isinstance(args[1], (list, tuple)) and not here.function_modes
    return (args[0], *args[1]) if listed else args, kwargs


def _by_name(form: Signature, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """What has a default by name, whether or not it was given; the rest in its order."""
    try:
        given = form.bind(*args, **kwargs)
    except TypeError:  # the function itself says what is wrong
        return args, kwargs
    given.apply_defaults()
    named = {n: given.arguments.pop(n) for n, p in form.parameters.items() if p.default is not p.empty}
    return given.args, named


def as_it_was(fn: FunctionType) -> FunctionType:
    """A public function without the question, whether or not it asks by now."""
    return _originals.get(fn, fn)


class _Late:
    """A method of Tensor by its name: it may be published after the operator that stands for it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, original: Any, args: tuple, kwargs: dict) -> Any:
        return dispatch(getattr(Tensor, self.name), original, args, kwargs)


def exchange(fn: FunctionType, said: Any) -> None:
    """Make `fn` ask the arguments' classes first; `said` is called with the function as it was, and the arguments."""
    original = _originals[fn] = copy_of(fn)
    code = original.__code__
    first = code.co_varnames[: min(2, code.co_argcount)]
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount :][: code.co_flags >> 2 & 1]
    lists = not _LISTS.isdisjoint(first + rest)
    values = {
        "?modes": MODES.__len__,
        "?none": (NESTED if lists else SPECIAL).isdisjoint,
        "?some": SPECIAL.isdisjoint,
        "?map": map,
        "?type": type,
        "?ask": said,
        "?original": original,
    }
    exchange_code(fn, original, _TEXT, values)


class _Plainly:
    """Asks the arguments' classes on behalf of one public function."""

    def __init__(self, public: Any, telling: Any = None) -> None:
        self.public, self.telling = public, telling

    def __call__(self, original: Any, args: tuple, kwargs: dict) -> Any:
        return dispatch(self.public, original, args, kwargs, self.telling)


_TEXT = """
def outer({free}):
    def call(*args, **kwargs):
        if (
            '?modes'()
            or not '?none'('?map'('?type', args))
            or kwargs and not '?some'('?map'('?type', kwargs.values()))
        ):
            return '?ask'('?original', args, kwargs)
        return '?original'(*args, **kwargs)
        {free}
"""


# -- what only objects of a special class are asked for --------------------------------------------

_METHODS = frozenset("""
    size dim ndimension numel nelement element_size stride storage_offset data_ptr get_device is_floating_point
    is_complex is_signed requires_grad_ is_inference retain_grad register_hook item tolist numpy __array__ __bool__
    __float__ __int__ __complex__ __index__ __len__ __contains__ __format__ __repr__ backward
    register_post_accumulate_grad_hook
""".split())  # fmt: skip


def overlay(cls: type) -> None:
    """Let the properties and plain methods of a subclass of Tensor ask it, unless it has its own."""
    for name in dir(Tensor):
        mine = _in_class(Tensor, name)
        if _in_class(cls, name) is not mine:
            continue
        if isinstance(mine, property) or (name in _METHODS and isinstance(mine, FunctionType)):
            shown = _PropertyOfTensor if isinstance(mine, property) else _OfTensor
            setattr(cls, name, shown(mine, asking(mine)))


class _OfTensor:
    """Asked of a class it is Tensor's own, asked of an object what asks the class."""

    def __init__(self, mine: Any, asks: Any) -> None:
        self.mine, self.asks = mine, asks

    def __get__(self, tensor: Any, cls: Any = None) -> Any:
        return self.mine if tensor is None else self.asks.__get__(tensor, cls)


class _PropertyOfTensor(_OfTensor):
    def __set__(self, tensor: Any, value: Any) -> None:
        self.asks.__set__(tensor, value)

    def __delete__(self, tensor: Any) -> None:
        self.asks.__delete__(tensor)


def asking(mine: Any) -> Any:
    """A property or method that asks its tensor's class, and modes, first."""
    return _property(mine) if isinstance(mine, property) else _method(mine)


def _in_class(cls: type, name: str) -> Any:
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


def _property(mine: property) -> property:
    def get(self: Any) -> Any:
        return dispatch(mine.__get__, mine.__get__, (self,), {})

    def put(self: Any, value: Any) -> None:
        dispatch(mine.__set__, mine.__set__, (self, value), {})

    return property(get, mine.fset and put, mine.fdel, mine.__doc__)


def _method(mine: FunctionType) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return dispatch(mine, mine, (self, *args), kwargs)

    call.__name__, call.__qualname__, call.__doc__ = mine.__name__, mine.__qualname__, mine.__doc__
    return call


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments has a `__torch_function__` of its own, or a mode is at work.

    Args:
        relevant_args: the arguments to look at.

    Example:
        >>> torch.overrides.has_torch_function((torch.ones(2), 3))
        False
    """
    if here.unasked == ALL_OFF:
        return False
    if here.hop:  # this one call is made past the question: `overrides.redispatch_function`
        here.hop = False
        return False
    if here.function_modes:
        return True
    return not here.unasked and any(notice(type(a)) for a in relevant_args)


def has_torch_function_unary(value: Any) -> bool:
    """`has_torch_function` of one argument.

    Args:
        value: the argument.

    Example:
        >>> torch.overrides.has_torch_function_unary(torch.ones(2))
        False
    """
    return has_torch_function((value,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of several arguments.

    Example:
        >>> torch.overrides.has_torch_function_variadic(torch.ones(2), 3)
        False
    """
    return has_torch_function(args)


def handle_torch_function(public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Ask the modes and the arguments' classes; the first that does not answer NotImplemented decides.

    Args:
        public_api: the function that was called.
        relevant_args: the arguments whose classes may answer.
        args, kwargs: what it was called with.

    Raises:
        TypeError: if none of them answers.

    Example:
        >>> class Loud:
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return f"{func.__name__} of {cls.__name__}"
        >>> def area(shape):
        ...     return torch.overrides.handle_torch_function(area, (shape,), shape)
        >>> area(Loud())
        'area of Loud'
    """
    asked = asked_among(relevant_args, 0)
    answer = ask(public_api, asked, args, kwargs)
    if answer is NotImplemented:
        raise no_implementation(public_api, asked)
    return answer
