"""Small names of libraries that do something: grouped products, folders of models, switches, inner helpers."""

from __future__ import annotations

import importlib
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])

SHAPES = {
    "rows": ((6, 4), (3, 4, 5)), "columns": ((3, 5, 4), (4, 6)), "sums": ((4, 6), (6, 5)), "batch": ((3, 2, 4), (3, 4, 5)),
}  # fmt: skip


@pytest.mark.parametrize("kind", SHAPES)
def test_grouped_products(kind: str) -> None:
    """PyTorch's kernel wants rows of 16 bytes, so the groups are multiplied one by one in NumPy."""
    random, ends = np.random.RandomState(0), [1, 1, 6]
    a, b = (random.randn(*shape).astype(np.float32) for shape in SHAPES[kind])
    parts = [slice(start, end) for start, end in zip([0, *ends], ends)]
    expected = {
        "rows": lambda: np.concatenate([a[p] @ m for p, m in zip(parts, b)]),
        "columns": lambda: np.concatenate([m @ b[:, p] for p, m in zip(parts, a)], 1),
        "sums": lambda: np.stack([a[:, p] @ b[p] for p in parts]),
        "batch": lambda: a @ b,
    }[kind]()
    offs = None if kind == "batch" else rl.tensor(ends, dtype=rl.int32)
    x = rl.tensor(a, requires_grad=True)
    out = rl.nn.functional.grouped_mm(x, rl.tensor(b), offs=offs, out_dtype=rl.float64)
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-4, atol=1e-5)
    out.sum().backward()
    assert x.grad.shape == x.shape and out.dtype is rl.float64
    np.testing.assert_allclose((x.grad * x).sum().item(), expected.sum(), rtol=1e-3)


def test_grouped_products_beside_pytorch() -> None:
    random, results = np.random.RandomState(0), []
    a, b = random.randn(6, 8).astype(np.float32), random.randn(2, 8, 8).astype(np.float32)
    for lib in (rl, torch):
        x, y = (lib.tensor(v).bfloat16() for v in (a, b))
        offs = lib.tensor([2, 6], dtype=lib.int32)
        results.append(lib.nn.functional.grouped_mm(x, y, offs=offs).float().numpy())
    np.testing.assert_allclose(*results, rtol=2e-2, atol=2e-2)


def test_grouped_products_misused() -> None:
    with pytest.raises(RuntimeError, match="Have to provide offsets"):
        rl.nn.functional.grouped_mm(rl.ones(2, 3), rl.ones(2, 3, 4))
    with pytest.raises(RuntimeError, match="Bias not supported"):
        rl.nn.functional.grouped_mm(rl.ones(1, 2, 3), rl.ones(1, 3, 4), bias=rl.ones(4))


@BOTH
def test_models_of_a_folder(lib: Any, tmp_path: Path) -> None:
    hub = importlib.import_module(f"{lib.__name__}.hub")
    (tmp_path / "hubconf.py").write_text(
        'dependencies = [\'json\']\ndef scaled(k, by=2):\n    """A number."""\n    return k * by\n'
    )
    assert hub.load(tmp_path, "scaled", 3, source="local", by=5) == 15
    with pytest.raises(RuntimeError, match="Cannot find callable nothing in hubconf"):
        hub.load(tmp_path, "nothing", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        hub.load(tmp_path, "scaled", source="somewhere")


def test_models_of_a_folder_are_listed(tmp_path: Path) -> None:
    (tmp_path / "hubconf.py").write_text('def small():\n    """A small net."""\n')
    assert rl.hub.list(tmp_path) == ["small"] and rl.hub.help(tmp_path, "small") == "A small net."
    with pytest.raises(NotImplementedError, match="fetches no code"):
        rl.hub.load("somebody/nets", "small")
    with pytest.raises(FileNotFoundError):
        rl.hub.load(tmp_path / "none", "small", source="local")
    with rl.hub.tqdm(range(2), total=2, disable=True) as bar:
        assert list(bar) == [0, 1]


@BOTH
def test_switches(lib: Any) -> None:
    before = lib.get_deterministic_debug_mode()
    try:
        for mode, number in (("warn", 1), ("error", 2), (0, 0)):
            lib.set_deterministic_debug_mode(mode)
            assert lib.get_deterministic_debug_mode() == number
            assert lib.are_deterministic_algorithms_enabled() == (number > 0)
        with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
            lib.set_deterministic_debug_mode("never")
    finally:
        lib.set_deterministic_debug_mode(before)


@BOTH
def test_optimisers_of_others(lib: Any) -> None:
    """The helpers that `torch.optim.optimizer` offers to those who write rules of their own."""
    inner = importlib.import_module(f"{lib.__name__}.optim.optimizer")
    foreach = importlib.import_module(f"{lib.__name__}.utils._foreach_utils")
    tensors = [lib.ones(1), lib.ones(1).double(), lib.ones(2)]
    groups = inner.Optimizer._group_tensors_by_device_and_dtype([tensors, [1, 2, 3]][:1], with_indices=True)
    (lists, places) = groups[(lib.device("cpu"), lib.float32)]
    assert [t.shape for t in lists[0]] == [(1,), (2,)] and list(places) == [0, 2] and len(groups) == 2
    assert foreach._has_foreach_support(tensors, lib.device("cpu"))
    assert inner._default_to_fused_or_foreach(tensors, False, use_fused=True) == (True, False)
    assert inner._default_to_fused_or_foreach(tensors, False) == (False, False)
    assert inner._get_value(lib.tensor(3.0)) == 3.0 and inner._to_scalar(lib.ones(1)).dim() == 0
    assert inner._get_scalar_dtype() is lib.float32
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params"):
        inner._device_dtype_check_for_fused(lib.ones(1).long())

    class Rule(inner.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"differentiable": False})

        @inner._use_grad_for_differentiable
        def step(self):
            return lib.is_grad_enabled()

    assert Rule([lib.ones(1, requires_grad=True)]).step() is False and lib.is_grad_enabled()


@BOTH
def test_small_names(lib: Any) -> None:
    init, transformer, pytree = (
        importlib.import_module(f"{lib.__name__}.{n}") for n in ("nn.init", "nn.modules.transformer", "utils._pytree")
    )
    assert init._no_grad_fill_(lib.ones(2, requires_grad=True), 3.0).tolist() == [3.0, 3.0]
    assert transformer._get_activation_fn("relu")(lib.tensor(-1.0)).item() == 0.0
    pair = namedtuple("Pair", "values indices")(lib.ones(()), 0)
    parts, kind = pytree._namedtuple_flatten(pair)
    assert pytree._namedtuple_unflatten(parts, kind).values.item() == 1.0
    assert not isinstance(lib.ones(1), lib.TensorType)
    with pytest.raises(RuntimeError, match="Tried to instantiate class 'mine.Thing'"):
        lib.classes.mine.Thing  # noqa: B018


@BOTH
def test_names_in_a_file_that_are_not_safe(lib: Any, tmp_path: Path) -> None:
    import fractions

    path = tmp_path / "file.pt"
    lib.save({"half": fractions.Fraction(1, 2), "net": lib.nn.Linear(1, 1), "x": {1, 2}}, path)
    found = lib.serialization.get_unsafe_globals_in_checkpoint(path)
    assert {*found} == {"fractions.Fraction", "torch.nn.modules.linear.Linear"}
    with lib.serialization.safe_globals([fractions.Fraction, lib.nn.Linear]):
        assert lib.serialization.get_unsafe_globals_in_checkpoint(path) == []
    lib.save({"w": lib.ones(2)}, path)
    assert lib.serialization.get_unsafe_globals_in_checkpoint(path) == []
    path.write_bytes(b"nothing")
    with pytest.raises((ValueError, RuntimeError)):
        lib.serialization.get_unsafe_globals_in_checkpoint(path)


def test_explain_tells_what_stands_in_the_way() -> None:
    net = rl.nn.Sequential(rl.nn.Linear(2, 2), rl.nn.ReLU())
    whole = rl._dynamo.explain(net)(rl.ones(1, 2))
    assert (whole.graph_count, whole.graph_break_count, whole.break_reasons) == (1, 0, [])
    assert len(whole.graphs) == 1 and whole.op_count == len(whole.ops_per_graph[0]) >= 2

    def reads(x: rl.Tensor) -> rl.Tensor:
        return x * 2 if x.sum().item() > 0 else x

    told = rl._dynamo.explain(reads, rl.ones(2))
    assert told.graph_break_count == 1 and "reads" in told.break_reasons[0].reason


def test_marks_of_methods_for_scripts_change_nothing() -> None:
    def method() -> int:
        return 1

    assert rl._jit_internal._copy_to_script_wrapper(method) is method
    assert not rl._jit_internal.is_tracing()
