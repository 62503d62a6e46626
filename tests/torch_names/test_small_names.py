"""Small public names of PyTorch's that scripts take: they answer as PyTorch's do."""

from __future__ import annotations

import importlib
import io
import pickle
import warnings
from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBS = (torch, rushlight)


def outcome(call: Any, lib: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(lib)
        except Exception as e:
            return type(e).__name__


@pytest.mark.parametrize(("a", "b", "options"), [
    ([1.0], [1.00001], {}), ([1.0], [1.001], {}), ([1.0], [1.1], {"rtol": 0.2, "atol": 0.0}), ([1.0], [1], {}),
    ([float("nan")], [float("nan")], {}), ([1.0, 2.0], [1.0], {}), ([3], [3], {}), ([3], [4], {}),
])  # fmt: skip
def test_assert_allclose(a: list, b: list, options: dict) -> None:
    theirs, ours = (outcome(lambda m: m.testing.assert_allclose(m.tensor(a), m.tensor(b), **options), lib) for lib in LIBS)  # fmt: skip
    assert theirs == ours
    with pytest.warns(FutureWarning, match="deprecated since 1.12"):
        rushlight.testing.assert_allclose(1.0, 1.0)


def test_multithreading_of_backward() -> None:
    for lib in LIBS:
        x = lib.ones(2, requires_grad=True)
        with lib.autograd.set_multithreading_enabled(False):
            x.sum().backward()
        assert x.grad.tolist() == [1.0, 1.0]

        @lib.autograd.grad_mode.set_multithreading_enabled(True)
        def two() -> int:
            return 2

        assert two() == 2


def test_return_types() -> None:
    """The classes are those of the results, also before a function was called."""
    calls = {
        "linalg_qr": lambda m, x: m.linalg.qr(x),
        "linalg_svd": lambda m, x: m.linalg.svd(x),
        "linalg_eigh": lambda m, x: m.linalg.eigh(x),
        "linalg_lu": lambda m, x: m.linalg.lu(x),
        "linalg_lu_factor_ex": lambda m, x: m.linalg.lu_factor_ex(x),
        "linalg_inv_ex": lambda m, x: m.linalg.inv_ex(x),
        "linalg_slogdet": lambda m, x: m.linalg.slogdet(x),
        "linalg_lstsq": lambda m, x: m.linalg.lstsq(x, x),
        "slogdet": lambda m, x: m.slogdet(x),
        "svd": lambda m, x: m.svd(x),
        "lu_unpack": lambda m, x: m.lu_unpack(*m.linalg.lu_factor(x)),
        "max": lambda m, x: m.max(x, 0),
    }
    for name, call in calls.items():
        kind = getattr(rushlight.return_types, name)
        assert type(call(rushlight, rushlight.eye(2))) is kind
        theirs = call(torch, torch.eye(2))
        assert all(hasattr(theirs, field) for field in kind._fields)
        assert len(theirs) == len(kind._fields)
    assert issubclass(rushlight.return_types.sort_out, tuple)
    with pytest.raises(AttributeError):
        _ = rushlight.return_types.nothing_of_that_name


def test_the_profiler_knows_the_cpu() -> None:
    for lib in LIBS:
        assert lib.profiler.ProfilerActivity.CPU in lib.profiler.supported_activities()


def test_functional_has_what_layers_ask() -> None:
    for lib in LIBS:
        assert not lib.nn.functional.has_torch_function((lib.ones(1),))
        assert not lib.nn.functional.has_torch_function_unary(lib.ones(1))
        assert not lib.nn.functional.has_torch_function_variadic(lib.ones(1), lib.ones(1))
        assert callable(lib.nn.functional.handle_torch_function)


def test_the_cpu_as_a_device() -> None:
    for lib in LIBS:
        event = lib.cpu.Event()
        event.record()
        event.wait()
        event.synchronize()
        assert event.query()
        with lib.cpu.StreamContext(lib.cpu.Stream()), lib.cpu.stream(lib.cpu.current_stream()):
            pass


def test_devices_that_are_not_there() -> None:
    """Questions are answered for none, and what needs a device raises."""
    for lib in LIBS:
        assert lib.xpu.default_generators == () and lib.xpu.get_arch_list() == []
        assert lib.xpu.get_gencode_flags() == "" and lib.xpu.memory_snapshot() == []
        assert lib.xpu.memory_stats_as_nested_dict() == {} and not lib.xpu.is_tf32_supported()
        assert lib.xpu.seed_all() is None
        with pytest.raises((RuntimeError, AssertionError)):
            lib.xpu.init()


def test_small_names_of_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    for lib in LIBS:
        assert issubclass(lib.cuda.CudaError, RuntimeError)
        assert lib.cuda.has_half and callable(lib.cuda.random.manual_seed_all)
        if not lib.cuda.is_available():
            assert lib.cuda.memory_stats_as_nested_dict() == {}
            with_cuda = lib is not rushlight and lib.version.cuda  # PyTorch's wheel of CUDA has flags
            assert with_cuda or lib.cuda.get_gencode_flags() == ""
    from rushlight.cuda import rarely_used

    counters = {"a.all.current": 3, "a.all.peak": 4, "num": 1}
    monkeypatch.setattr(rarely_used, "memory_stats", lambda device: counters)
    assert rarely_used.memory_stats_as_nested_dict() == {"a": {"all": {"current": 3, "peak": 4}}, "num": 1}


@pytest.mark.parametrize("shapes", [
    ((2,), (3,)), ((2, 1), (3,)), ((1, 2), (1, 3)), ((2, -1),), ((-2,), (1,)), ((0,), (2,)), ((0,), (1,)), (2, 3), ((2, 3), 4),
    ((4,), (2, 3), (5,)), ((), (2,)),
])  # fmt: skip
def test_broadcast_shapes(shapes: tuple) -> None:
    told = []
    for lib in LIBS:
        try:
            told.append(tuple(lib.broadcast_shapes(*shapes)))
        except (RuntimeError, ValueError) as e:
            told.append((type(e), str(e)))
    assert told[0] == told[1]


REFUSED = {
    "save": lambda lib: lib.save(lib.ones(2), io.BytesIO(), protocol=2),
    "load": lambda lib: lib.load(io.BytesIO(), pickle_module=pickle, weights_only=True),
    "jvp": lambda lib: lib.func.jvp(lambda x: lib.ones(2), (lib.ones(2),), (lib.ones(2),), strict=True),
    "stance": lambda lib: lib.compiler.set_stance("force_eager", force_backend="eager"),
    "flags": lambda lib: lib.backends.cudnn.flags(unknown=True).__enter__(),
    "from_file": lambda lib: lib.from_file("none", pin_memory=True, size=1),
    "timer": lambda lib: importlib.import_module(f"{lib.__name__}.utils.benchmark").Timer(global_setup="x"),
    "region": lambda lib: lib.compiler.nested_compile_region(None, unknown=1),
    "script": lambda lib: lib.jit.script(lib.nn.LazyLinear(2)),
    "share": lambda lib: lib.nn.LazyLinear(2).share_memory(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_are_refused(name: str) -> None:
    theirs, ours = (outcome(REFUSED[name], lib) for lib in LIBS)
    assert theirs == ours and isinstance(ours, str)


@pytest.mark.parametrize("only", [False, True])
def test_arguments_of_a_call_by_its_signature(only: bool) -> None:
    def f(a: int, b: int = 2, *, c: int = 3) -> None: ...

    said = []
    for lib in ("torch", "rushlight"):
        schemas = importlib.import_module(f"{lib}.fx.operator_schemas")
        said.append(tuple(schemas.normalize_function(f, (1,), {"c": 5}, normalize_to_only_use_kwargs=only)))
    assert said[0] == said[1]


def test_a_node_that_draws_stays_in_its_graph() -> None:
    counts = []
    for lib in LIBS:

        class Net(lib.nn.Module):  # type: ignore[name-defined]
            def forward(self, x: Any) -> Any:
                lib.rand_like(x)  # noqa: B023
                return x + 1

        traced = importlib.import_module(f"{lib.__name__}.fx").symbolic_trace(Net())
        traced.graph.eliminate_dead_code()
        counts.append(len(traced.graph.nodes))
    assert counts[0] == counts[1] == 4
