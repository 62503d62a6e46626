"""cuBLASLt through ctypes: its library, its numbers, and plans made once per kind of product."""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import cupy
from cupy.cuda import runtime

from ....base.bounded import Bounded
from ..code.launch import Result, address_of, forget_workspaces, in_place_of_a_kernel, of_words
from ..memory.streams import current
from .measuring import stopwatch

WORKSPACE = 32 << 20  # the most that an algorithm may ask for
_CANDIDATES = 8
# sizeof(cublasLtMatmulHeuristicResult_t); the algo is its first 64 bytes, what it works in comes next
_RESULT, _ROOM = 96, 64

# Numbers of cublasLt.h and library_types.h.
_TRANS_A, _TRANS_B, _EPILOGUE, _BIAS_POINTER = 3, 4, 7, 8
_BATCH_COUNT, _BATCH_OFFSET = 5, 6
_PREF_WORKSPACE, _PREF_ALIGN = 1, 5
EPILOGUES = {"": 1, "relu": 2, "bias": 4, "bias_relu": 6, "gelu": 32, "bias_gelu": 36, "bgrad": 512}

# dtype.char -> (data type, compute type, scale type); "E" is ml_dtypes' bfloat16.
_F32, _F64, _F16, _C64, _C128, _BF16 = 0, 1, 2, 4, 5, 14
TYPES = {
    "f": (_F32, 68, _F32),
    "d": (_F64, 70, _F64),
    "e": (_F16, 68, _F32),
    "E": (_BF16, 68, _F32),
    "F": (_C64, 68, _C64),
    "D": (_C128, 70, _C128),
}
REALS = frozenset("fdeE")
TF32 = 77


class Matrix(NamedTuple):
    """One operand as cuBLASLt, which counts columns first, sees it."""

    rows: int
    columns: int
    ld: int
    turned: int  # 1 transposed, 2 conjugated, too: cublasOperation_t
    batch_step: int


class Product(NamedTuple):
    """Everything a plan depends on."""

    a: Matrix
    b: Matrix
    m: int
    n: int
    batch: int
    char: str
    compute: int
    epilogue: str
    alignment: int
    wide: bool = False  # halves whose product is float32


class ProductPlan:
    """Descriptors and the chosen algorithm of one product; the addresses are kept as numbers."""

    __slots__ = ("desc", "a", "b", "c", "algo", "keep", "alpha", "beta", "bias", "alignment", "room")

    desc: int
    a: int
    b: int
    c: int
    algo: int
    alpha: int
    beta: int
    keep: list[Any]  # the objects whose addresses are kept, so that they live as long

    def __init__(self) -> None:
        self.bias = 0
        self.alignment = 0  # of the operands' addresses
        self.room = 0  # bytes that the algorithm works in

    def choose(self, candidate: int) -> None:
        """Take one of the candidates."""
        self.algo = candidate
        self.room = c_size_t.from_address(candidate + _ROOM).value


def _folders() -> list[Path]:
    """The folders in which the wheels of CUDA put their libraries."""
    found = []
    for name in ("nvidia.cu13", "nvidia.cublas"):
        try:
            found += [Path(p) / "lib" for p in import_module(name).__path__]
        except ImportError:
            continue
    return found


def _open() -> Any:
    """The library; PyDLL keeps the interpreter lock, which saves a microsecond a call."""
    for version in ("13", "12"):
        name = f"libcublasLt.so.{version}"
        for place in [*[str(folder / name) for folder in _folders()], name]:
            try:
                return ctypes.PyDLL(place)
            except OSError:
                continue
    raise OSError("libcublasLt.so was not found; `pip install 'rushlight[cuda]'` brings it")


class CublasLt:
    """One handle on one GPU, its plans, and a workspace per stream, as large as a product ever needed there."""

    def __init__(self) -> None:
        self.lib = _open()
        self.handle = c_void_p()
        self.check(self.lib.cublasLtCreate(ctypes.byref(self.handle)), "cublasLtCreate")
        self.address = self.handle.value
        self.matmul = self.lib.cublasLtMatmul
        self.matmul.argtypes = [c_void_p] * 14 + [c_size_t, c_void_p]
        self.matmul_at = address_of(self.matmul)
        self.matmul = of_words(self.matmul)
        self.set = self.lib.cublasLtMatmulDescSetAttribute
        self.set.argtypes = [c_void_p, c_int, c_void_p, c_size_t]
        self.set_at = address_of(self.set)
        self.plans: dict[Any, Any] = Bounded(4096)
        self.workspaces: dict[int, Any] = {}
        self.preferences: dict[int, Any] = {}  # by alignment
        self._bias = c_uint64()
        self._bias_at = ctypes.addressof(self._bias)

    @staticmethod
    def check(status: int, call: str) -> None:
        if status:
            raise RuntimeError(f"{call} failed with cuBLAS status {status}")

    def workspace(self, stream: int, room: int) -> Any:
        """Memory for one product: a stream's own, since its products follow each other; a graph's own in a capture.

        A graph keeps addresses, and shares what a product works in with what is alive before and after it.
        """
        if stream and is_capturing():
            return cupy.cuda.alloc(room)
        found = self.workspaces.get(stream)
        if found is None or found.mem.size < room:
            forget_workspaces()
            self.workspaces.pop(stream, None)
            found = self.workspaces[stream] = cupy.cuda.alloc(_rounded(room))
        return found

    def lasting(self, stream: int, room: int) -> Any:
        """For C: an address that holds until `forget_workspaces` is called, or memory for this once."""
        found = self.workspace(stream, room)
        known: Any = self.workspaces.get(stream)
        return found.ptr if found is known else found

    def launch(self, plan: ProductPlan, a: int, b: int, out: int, bias: int = 0, memory: Any = None) -> None:
        """Run a plan, in its stream's workspace or another memory."""
        if bias != plan.bias:
            self._bias.value = bias
            self.set(plan.desc, _BIAS_POINTER, self._bias_at, 8)
            plan.bias = bias
        stream, room, at = current.ptr, plan.room, 0
        if room:
            held = self.workspace(stream, room) if memory is None else memory
            at = held.ptr
        status = self.matmul(
            self.address, plan.desc, plan.alpha, a, plan.a, b, plan.b, plan.beta, out, plan.c, out,
            plan.c, plan.algo, at, room, stream,
        )  # fmt: skip
        if status:
            self.check(status, "cublasLtMatmul")

    def prepared(self, plan: ProductPlan, alignment: int, results: tuple[Result, ...]) -> Any:
        """A call of (x, y, bias) that makes its results, in C: the product, and sums in the bias's place.

        None where that cannot be. The plan must belong to nobody else: a bias's address is written into it.
        """
        described = (
            self.matmul_at, self.set_at, self.address, plan.desc, plan.alpha, plan.beta, plan.a, plan.b, plan.c,
            plan.algo, plan.room, alignment, plan.bias, self.lasting, plan,
        )  # fmt: skip
        return in_place_of_a_kernel(described, results)

    # -- making plans -------------------------------------------------------------------------

    def make(self, what: Product, bias: int, accumulate: bool = False) -> ProductPlan | None:
        """A plan with the first heuristic; None when cuBLASLt has nothing for this product."""
        data, _, scale = TYPES[what.char]
        plan = ProductPlan()
        keep: list[Any] = []
        desc = c_void_p()
        self.check(
            self.lib.cublasLtMatmulDescCreate(ctypes.byref(desc), what.compute, scale), "cublasLtMatmulDescCreate"
        )
        plan.desc = desc.value or 0
        self._attribute(plan, _TRANS_A, c_int32(what.a.turned))
        self._attribute(plan, _TRANS_B, c_int32(what.b.turned))
        self._attribute(plan, _EPILOGUE, c_uint32(EPILOGUES[what.epilogue]))
        if bias:
            self._attribute(plan, _BIAS_POINTER, c_uint64(bias))
            plan.bias = bias
        out = Matrix(what.m, what.n, what.m, 0, what.m * what.n)
        plan.a, plan.b = [self._layout(data, m, what.batch) for m in (what.a, what.b)]
        plan.c = self._layout(_F32 if what.wide else data, out, what.batch)
        number = (ctypes.c_double if scale in (_F64, _C128) else ctypes.c_float) * 2
        for name, value in (("alpha", 1.0), ("beta", 1.0 if accumulate else 0.0)):
            box = number(value, 0.0)  # of which real ones are the first half
            keep.append(box)
            setattr(plan, name, ctypes.addressof(box))
        plan.keep, plan.alignment = keep, what.alignment
        found = self._heuristics(plan, 1)
        if not found:
            return None
        plan.choose(found[0])
        return plan

    def _attribute(self, plan: ProductPlan, which: int, value: Any) -> None:
        size = ctypes.sizeof(value)
        self.check(self.set(plan.desc, which, ctypes.addressof(value), size), "DescSetAttribute")

    def _layout(self, data: int, m: Matrix, batch: int) -> int:
        made = c_void_p()
        self.check(
            self.lib.cublasLtMatrixLayoutCreate(
                ctypes.byref(made), data, c_uint64(m.rows), c_uint64(m.columns), c_int64(m.ld)
            ),
            "cublasLtMatrixLayoutCreate",
        )
        if batch > 1:
            for which, value in ((_BATCH_COUNT, c_int32(batch)), (_BATCH_OFFSET, c_int64(m.batch_step))):
                size = c_size_t(ctypes.sizeof(value))
                self.lib.cublasLtMatrixLayoutSetAttribute(made, which, ctypes.byref(value), size)
        return made.value or 0

    def _heuristics(self, plan: ProductPlan, most: int) -> list[int]:
        """Addresses of what cuBLASLt takes for the quickest, the best first; none where it has nothing."""
        results, count = (ctypes.c_byte * (_RESULT * most))(), c_int()
        layouts = [c_void_p(x) for x in (plan.desc, plan.a, plan.b, plan.c, plan.c)]
        status = self.lib.cublasLtMatmulAlgoGetHeuristic(
            self.handle, *layouts, self._preference(plan.alignment), most, results, ctypes.byref(count)
        )
        plan.keep.append(results)
        start = ctypes.addressof(results)
        return [] if status else [start + _RESULT * i for i in range(count.value)]

    def _preference(self, alignment: int) -> Any:
        """What is asked of a kernel: at most so much memory, for operands at multiples of so many bytes."""
        found = self.preferences.get(alignment)
        if found is None:
            found = self.preferences[alignment] = c_void_p()
            self.lib.cublasLtMatmulPreferenceCreate(ctypes.byref(found))
            settings: list[tuple[int, Any]] = [(_PREF_WORKSPACE, c_size_t(WORKSPACE))]
            settings += [(_PREF_ALIGN + i, c_uint32(alignment)) for i in range(4)]
            for which, value in settings:
                size = c_size_t(ctypes.sizeof(value))
                self.lib.cublasLtMatmulPreferenceSetAttribute(found, which, ctypes.byref(value), size)
        return found

    def tune(self, plan: ProductPlan, a: int, b: int, out: int, bias: int) -> None:
        """Keep the quickest of the candidates, measured on the operands at hand."""
        milliseconds = stopwatch()
        times = []
        memory = cupy.cuda.alloc(WORKSPACE)  # for this once: the quickest may need less
        first = plan.algo
        for algo in self._heuristics(plan, _CANDIDATES):
            plan.choose(algo)
            try:
                times.append((milliseconds(lambda: self.launch(plan, a, b, out, bias, memory)), algo))
            except RuntimeError:
                continue
        plan.choose(min(times)[1] if times else first)


def _rounded(room: int) -> int:
    """A little more than is asked for, so that a stream's workspace grows a few times at most."""
    return min(WORKSPACE, max(1 << 20, 1 << (room - 1).bit_length())) if room < WORKSPACE else room


_libraries: dict[int, CublasLt] = {}
_single = runtime.getDeviceCount() == 1


def library() -> CublasLt:
    """The library on the current GPU."""
    index = 0 if _single else runtime.getDevice()
    found = _libraries.get(index)
    if found is None:
        found = _libraries[index] = CublasLt()
    return found


def is_capturing() -> bool:
    """Whether the current stream records a graph: then the host must not wait for it, and nothing can be measured."""
    return bool(cupy.cuda.get_current_stream().is_capturing())
