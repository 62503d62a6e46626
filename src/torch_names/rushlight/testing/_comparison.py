"""assert_close, and the pairs it is made of: are two results the same to the tolerance of their dtypes?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ..base.dtypes import complex128, float64, int64, promote_types
from ..base.formats import sparse_coo, strided
from ..core.tensor import Tensor
from ..operators.create.from_data import as_tensor

# dtype name -> (rtol, atol); what is not listed has to be equal
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


class ErrorMeta(Exception):
    """A difference that was found: what to raise, what it says, and the place in the containers."""

    def __init__(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> None:  # noqa: A002
        super().__init__("this is told by `to_error`")
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        """The error to raise; `msg` stands for its text, or is a function that changes it."""
        if msg is None or callable(msg):
            place = "".join(str([part]) for part in self.id)
            said = self.msg + (f"\n\nThe failure occurred for item {place}" if place else "")
            msg = said if msg is None else msg(said)
        return self.type(msg)


class UnsupportedInputs(Exception):
    """A pair says that it is not for these two."""


def default_tolerances(*inputs: Any, dtype_precisions: Any = None) -> tuple[float, float]:
    """(rtol, atol) that suit tensors or dtypes: the widest."""
    kinds = [x.dtype if isinstance(x, Tensor) else x for x in inputs]
    if dtype_precisions is None:
        found = [_TOLERANCES.get(kind.name, (0.0, 0.0)) for kind in kinds]
    else:
        found = [dtype_precisions.get(kind, (0.0, 0.0)) for kind in kinds]
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def get_tolerances(
    *inputs: Any,
    rtol: float | None,
    atol: float | None,
    id: tuple[Any, ...] = (),  # noqa: A002
) -> tuple[float, float]:
    """Those that were given, both, or the default ones."""
    if rtol is not None and atol is not None:
        return rtol, atol
    if rtol is None and atol is None:
        return default_tolerances(*inputs)
    lacking = "rtol" if rtol is None else "atol"
    raise ErrorMeta(
        ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {lacking}.", id=id
    )


# -- pairs --------------------------------------------------------------------------------------


class Pair:
    """Two values that are compared; a class of its own for each kind of value. Libraries write their own.

    Args:
        actual, expected: the values.
        id: the place in the containers.
    """

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **_other: Any) -> None:  # noqa: A002
        self.actual, self.expected, self.id = actual, expected, id

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: Any) -> None:
        if not all(isinstance(x, cls) for x in inputs):
            Pair._inputs_not_supported()

    def _fail(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> NoReturn:  # noqa: A002
        raise ErrorMeta(type, msg, id=id or getattr(self, "id", ()))

    def compare(self) -> None:
        """Raise `ErrorMeta` if the two differ."""
        raise NotImplementedError(f"{type(self).__name__} has no compare")

    def extra_repr(self) -> Sequence[Any]:
        """Names of what the representation shows besides the values, or (name, value)."""
        return []

    def __repr__(self) -> str:
        parts = [("id", self.id), ("actual", self.actual), ("expected", self.expected)]
        parts += [p if isinstance(p, tuple) else (p, getattr(self, p)) for p in self.extra_repr()]
        inner = "".join(f"    {name}={value!r},\n" for name, value in parts)
        return f"{type(self).__name__}(\n{inner})"


class ObjectPair(Pair):
    """Anything, compared by `==`."""

    def compare(self) -> None:
        try:
            equal = bool(self.actual == self.expected)
        except Exception as error:
            raise ErrorMeta(
                ValueError, f"{self.actual} == {self.expected} failed with:\n{error}.", id=self.id
            ) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """Two values of which one is None at least."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Two booleans, Python's or NumPy's."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        self._check_inputs_isinstance(actual, expected, cls=(bool, np.bool_))
        super().__init__(bool(actual), bool(expected), **other_parameters)

    def compare(self) -> None:
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


_DTYPES = {int: int64, float: float64, complex: complex128}


class NumberPair(Pair):
    """Two numbers, Python's or NumPy's; arguments as those of `assert_close`."""

    def __init__(
        self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), rtol: float | None = None,  # noqa: A002
        atol: float | None = None, equal_nan: bool = False, check_dtype: bool = False, **other_parameters: Any,
    ) -> None:  # fmt: skip
        self._check_inputs_isinstance(actual, expected, cls=(int, float, complex, np.number))
        actual, expected = (x.item() if isinstance(x, np.number) else x for x in (actual, expected))
        super().__init__(actual, expected, id=id, **other_parameters)
        kinds = [_DTYPES.get(type(x), int64) for x in (actual, expected)]
        self.rtol, self.atol = get_tolerances(*kinds, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_dtype = equal_nan, check_dtype

    def compare(self) -> None:
        a, b, rtol, atol = self.actual, self.expected, self.rtol, self.atol
        if self.check_dtype and type(a) is not type(b):
            self._fail(AssertionError, f"The (d)types do not match: {type(a)} != {type(b)}.")
        if a == b or (self.equal_nan and a != a and b != b):
            return
        apart = abs(a - b)
        if not (apart <= atol + rtol * abs(b) and np.isfinite(apart)):
            relative = np.inf if b == 0 else apart / abs(b)
            self._fail(AssertionError, _scalars(a, b, apart, relative, rtol, atol))

    def extra_repr(self) -> Sequence[Any]:
        return "rtol", "atol", "equal_nan", "check_dtype"


class TensorLikePair(Pair):
    """Two tensors, or what `as_tensor` takes, of one type; arguments as those of `assert_close`."""

    def __init__(
        self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), allow_subclasses: bool = True,  # noqa: A002
        rtol: float | None = None, atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
        check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False, **other_parameters: Any,
    ) -> None:  # fmt: skip
        actual, expected = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(actual, expected, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_device, self.check_dtype = equal_nan, check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def _process_inputs(
        self,
        actual: Any,
        expected: Any,
        *,
        id: tuple[Any, ...],
        allow_subclasses: bool,  # noqa: A002
    ) -> tuple[Tensor, Tensor]:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or not (allow_subclasses or type(actual) is type(expected)):
            self._inputs_not_supported()
        return self._to_tensor(actual), self._to_tensor(expected)

    def _to_tensor(self, tensor_like: Any) -> Tensor:
        if isinstance(tensor_like, Tensor):
            return tensor_like.detach()
        try:
            return as_tensor(tensor_like)
        except Exception:
            self._inputs_not_supported()

    def compare(self) -> None:
        self._compare_attributes(self.actual, self.expected)
        self._compare_values(*self._equalize_attributes(self.actual, self.expected))

    def _compare_attributes(self, actual: Tensor, expected: Tensor) -> None:
        def differ(name: str, a: Any, b: Any) -> None:
            said = f"The values for attribute '{name}' do not match: {a} != {b}."
            self._fail(AssertionError, said)

        if actual.shape != expected.shape:
            differ("shape", actual.shape, expected.shape)
        for name in ("layout", "device", "dtype"):
            a, b = getattr(actual, name), getattr(expected, name)
            if getattr(self, f"check_{name}") and a != b:
                differ(name, a, b)
        if self.check_stride and actual.layout is strided is expected.layout:
            if actual.stride() != expected.stride():
                differ("stride()", actual.stride(), expected.stride())

    def _equalize_attributes(self, actual: Any, expected: Any) -> tuple[Tensor, Tensor]:
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype != expected.dtype:
            wide = promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(wide), expected.to(wide)
        if actual.layout is not expected.layout:
            actual, expected = (t if t.layout is strided else t.to_dense() for t in (actual, expected))
        elif actual.layout is sparse_coo and actual.is_coalesced() != expected.is_coalesced():
            actual, expected = actual.coalesce(), expected.coalesce()
        return actual, expected

    def _compare_values(self, actual: Any, expected: Any) -> None:
        close: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol, "equal_nan": self.equal_nan}
        if actual.is_meta or expected.is_meta:  # there are no values
            return
        if actual.layout is strided:
            return self._compare_regular_values_close(actual, expected, **close)
        kind = str(actual.layout).rsplit("_", 1)[-1].upper()
        if actual._nnz() != expected._nnz():
            self._fail(
                AssertionError,
                f"The number of specified values in sparse {kind} tensors does not match: "
                f"{actual._nnz()} != {expected._nnz()}",
            )
        for name in _POSITIONS[kind]:
            mine, theirs = getattr(actual, name)(), getattr(expected, name)()
            self._compare_regular_values_equal(mine, theirs, identifier=f"Sparse {kind} {name.lstrip('_')}")
        name = "_values" if kind == "COO" else "values"
        mine, theirs = getattr(actual, name)(), getattr(expected, name)()
        self._compare_regular_values_close(mine, theirs, **close, identifier=f"Sparse {kind} values")

    def _compare_regular_values_equal(
        self, actual: Tensor, expected: Tensor, *, equal_nan: bool = False, identifier: str | None = None
    ) -> None:
        self._compare_regular_values_close(actual, expected, rtol=0, atol=0, equal_nan=equal_nan, identifier=identifier)

    def _compare_regular_values_close(
        self, actual: Tensor, expected: Tensor, *, rtol: float, atol: float, equal_nan: bool,
        identifier: str | None = None,
    ) -> None:  # fmt: skip
        x, y = _host(actual, expected), _host(expected, actual)
        with np.errstate(all="ignore"):
            close = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)
            if not close.all():
                self._fail(AssertionError, _tell(x, y, close, rtol, atol, identifier))

    def extra_repr(self) -> Sequence[Any]:
        return "rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride"


# layout -> the methods that tell where its values are
_POSITIONS = {"COO": ("_indices",)} | {
    kind: names
    for kinds, names in (
        (("CSR", "BSR"), ("crow_indices", "col_indices")),
        (("CSC", "BSC"), ("ccol_indices", "row_indices")),
    )
    for kind in kinds
}


# -- containers ---------------------------------------------------------------------------------


def originate_pairs(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]], sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,), id: tuple[Any, ...] = (), **options: Any,  # noqa: A002
) -> list[Pair]:  # fmt: skip
    """The pairs of everything in two values that is not a container, each of the first type that takes it."""
    both = (actual, expected)
    inner = {"pair_types": pair_types, "sequence_types": sequence_types, "mapping_types": mapping_types, **options}
    if all(isinstance(x, sequence_types) and not isinstance(x, (str, bytes)) for x in both):
        if len(actual) != len(expected):
            said = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise ErrorMeta(AssertionError, said, id=id)
        places: Any = range(len(actual))
    elif all(isinstance(x, mapping_types) for x in both):
        missing, extra = set(expected) - set(actual), set(actual) - set(expected)
        if missing or extra:
            raise ErrorMeta(
                AssertionError,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing, key=str)}\n"
                f"Additional keys in the actual mapping: {sorted(extra, key=str)}",
                id=id,
            )
        places = list(actual)
    else:
        for kind in pair_types:
            try:
                return [kind(actual, expected, id=id, **options)]
            except UnsupportedInputs:
                continue
        raise ErrorMeta(
            TypeError,
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
            id=id,
        )
    return [pair for at in places for pair in originate_pairs(actual[at], expected[at], id=(*id, at), **inner)]


def not_close_error_metas(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]] = (ObjectPair,),
    sequence_types: tuple[type, ...] = (Sequence,), mapping_types: tuple[type, ...] = (Mapping,), **options: Any,
) -> list[ErrorMeta]:  # fmt: skip
    """Every difference of two values, compared as pairs of these types; `options` go to the pairs."""
    __tracebackhide__ = True
    found = []
    try:
        pairs = originate_pairs(
            actual, expected, pair_types=pair_types, sequence_types=sequence_types,
            mapping_types=mapping_types, **options,
        )  # fmt: skip
    except ErrorMeta as error:
        raise error.to_error() from None
    for pair in pairs:
        try:
            pair.compare()
        except ErrorMeta as error:
            found.append(error)
    return found


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Args:
        actual, expected: tensors, arrays, numbers, or lists and dicts of them.
        rtol, atol: both or neither; they depend on the dtype if not given.
        equal_nan: nan equals nan.
        allow_subclasses: False asks for the same type.
        check_device, check_dtype, check_layout, check_stride: these have to be equal, too.
        msg: what the error says, or a function that changes it.

    Raises:
        AssertionError: if they differ; it says where and by how much.

    Example:
        >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
        >>> torch.testing.assert_close(1.0, 1.5)
        Traceback (most recent call last):
            ...
        AssertionError: Scalars are not close!
        <BLANKLINE>
        Expected 1.5 but got 1.0.
        Absolute difference: 0.5 (up to 1e-07 allowed)
        Relative difference: 0.3333333333333333 (up to 1e-07 allowed)
    """
    __tracebackhide__ = True
    wrong = not_close_error_metas(
        actual, expected, pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair),
        allow_subclasses=allow_subclasses, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device,
        check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride,
    )  # fmt: skip
    if wrong:
        raise wrong[0].to_error(msg)


# -- what an error says -------------------------------------------------------------------------


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return f" (up to {tolerance} allowed)" if rtol or atol else ""


def _scalars(a: Any, b: Any, apart: Any, relative: Any, rtol: float, atol: float, name: str | None = None) -> str:
    kind = "close" if rtol or atol else "equal"
    return (
        f"{name or 'Scalars'} are not {kind}!\n\nExpected {b} but got {a}.\n"
        f"Absolute difference: {apart}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
    )


def _host(t: Tensor, other: Tensor) -> np.ndarray:
    """Values in the common dtype; integers and booleans as integers, so that they can be taken apart."""
    a = t.to("cpu", promote_types(t.dtype, other.dtype)).numpy()
    if a.dtype.kind == "V":
        return a.astype(np.float32)
    return a.astype(np.int64) if a.dtype.kind in "ub" else a


def _tell(x: np.ndarray, y: np.ndarray, close: np.ndarray, rtol: float, atol: float, name: str | None) -> str:
    apart = np.abs(x - y)
    if x.dtype.kind == "i":
        relative = np.where(y == 0, np.inf, apart / np.abs(y)).astype(np.float32)
        relative[close] = 0
    else:
        relative = apart / np.abs(y)
    apart, relative = (np.where(close, 0, v).astype(v.dtype) for v in (apart, relative))
    if x.ndim == 0:
        return _scalars(x.item(), y.item(), apart.item(), relative.item(), rtol, atol, name)
    n = int((~close).sum())
    lines = [f"Mismatched elements: {n} / {close.size} ({n / close.size:.1%})"]
    for word, values, limit in (("absolute", apart, atol), ("relative", relative, rtol)):
        at = np.unravel_index(int(np.argmax(values)), values.shape)
        index = tuple(int(i) for i in at)
        lines.append(f"Greatest {word} difference: {values[at].item()} at index {index}" + _allowed(limit, rtol, atol))
    kind = "close" if rtol or atol else "equal"
    return f"{name or 'Tensor-likes'} are not {kind}!\n\n" + "\n".join(lines)
