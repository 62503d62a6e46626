"""Names that libraries of the package index take from PyTorch's inner modules, and what they do."""

from __future__ import annotations

import gc
import importlib
from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])


@pytest.mark.parametrize("name", ["qint8", "quint8", "qint32", "quint4x2", "int4", "chalf"])
def test_dtypes_that_are_only_compared(name: str) -> None:
    ours, theirs = getattr(rl, name), getattr(torch, name)
    assert (ours.itemsize, ours.is_floating_point) == (theirs.itemsize, theirs.is_floating_point)
    assert repr(ours).rpartition(".")[2] == repr(theirs).rpartition(".")[2]
    with pytest.raises(NotImplementedError, match="makes no tensors"):
        rl.zeros(2, dtype=ours)


def test_schemes_of_quantisation() -> None:
    import pickle

    assert isinstance(rl.per_tensor_affine, rl.qscheme)
    assert pickle.loads(pickle.dumps(rl.per_channel_symmetric)) is rl.per_channel_symmetric


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("flip", {"dims": (0, 1)}), ("permute", {"dims": (2, 0, 1)}), ("repeat", {"repeats": (1, 2, 3)}),
    ("expand", {"size": (5, 2, 3, 4)}), ("view", {"size": (6, -1)}), ("reshape", {"shape": (4, 6)}), ("tile", {"dims": (2,)}),
    ("swapaxes", {"axis0": 0, "axis1": 2}), ("swapdims", {"dim0": 0, "dim1": 1}), ("resize_", {"size": (2, 3)}),
    ("sum_to_size", {"size": (1, 3, 4)}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "named"), CALLS, ids=[c[0] for c in CALLS])
def test_several_numbers_by_name(name: str, named: dict[str, Any]) -> None:
    found = [getattr(m.arange(24).reshape(2, 3, 4), name)(**named).tolist() for m in (rl, torch)]
    assert found[0] == found[1]
    if len(named) == 1:
        with pytest.raises(TypeError):
            getattr(rl.arange(24).reshape(2, 3, 4), name)(1, **named)


@BOTH
def test_grad_of_an_iterator(lib: Any) -> None:
    net = lib.nn.Linear(2, 1)
    grads = lib.autograd.grad(net(lib.ones(1, 2)).sum(), iter(net.parameters()))
    assert [tuple(g.shape) for g in grads] == [(1, 2), (1,)]


@BOTH
def test_sparse_adam_refuses(lib: Any) -> None:
    with pytest.raises(ValueError, match="Invalid epsilon value: 0"):
        lib.optim.SparseAdam([lib.ones(2)], eps=0)
    with pytest.raises(ValueError, match=r"Complex params at indices \[\[0, 0\]\]"):
        lib.optim.SparseAdam([lib.ones(2, dtype=lib.complex64)])


@BOTH
def test_collating_by_functions_of_a_table(lib: Any) -> None:
    module = importlib.import_module(f"{lib.__name__}.utils.data._utils.collate")

    class Own:
        pass

    with pytest.raises(TypeError):
        lib.utils.data.default_collate([Own()])
    module.default_collate_fn_map[Own] = lambda batch, *, collate_fn_map: len(batch)
    try:
        batch = [{"a": Own(), "b": (1, 2.0)}, {"a": Own(), "b": (3, 4.0)}]
        found = lib.utils.data.default_collate(batch)
    finally:
        del module.default_collate_fn_map[Own]
    assert found["a"] == 2 and [t.tolist() for t in found["b"]] == [[1, 3], [2.0, 4.0]]
    arrays = [np.ones(2, np.float32), np.zeros(2, np.float32)]
    assert module.collate(arrays, collate_fn_map=module.default_collate_fn_map).shape == (2, 2)
    assert module.collate([np.int8(1), np.int8(2)], collate_fn_map=module.default_collate_fn_map).dtype == lib.int8


def test_seeds_of_workers() -> None:
    ours = importlib.import_module("rushlight.utils.data._utils.worker")._generate_state
    theirs = importlib.import_module("torch.utils.data._utils.worker")._generate_state
    for seed, worker in ((0, 0), (12345678901234, 3), (2**63 - 1, 7)):
        assert list(ours(seed, worker)) == list(theirs(seed, worker))


@pytest.mark.parametrize("same", ["all", "memory", "none"])
def test_parts_of_attention(same: str) -> None:
    found = []
    for m in (rl, torch):
        m.manual_seed(0)
        q, k, v, w, b = (m.randn(2, 3, 4), m.randn(2, 3, 4), m.randn(2, 3, 4), m.randn(12, 4), m.randn(12))
        given = {"all": (q, q, q), "memory": (q, k, k), "none": (q, k, v)}[same]
        F = m.nn.functional
        parts = [*F._in_projection_packed(*given, w, b), *F._in_projection(*given, *w.chunk(3))]
        parts.append(F._canonical_mask(m.tensor([True, False]), "mask", None, "", m.float32))
        found.append([p.tolist() for p in parts])
        assert F._none_or_dtype(None) is None and F._mha_shape_check(q, k, v, None, None, 2)
        with pytest.raises(AssertionError, match="expected `key` and `value` to be 3-D"):
            F._mha_shape_check(q, k[0], v, None, None, 2)
        with pytest.raises(AssertionError, match="to be `None`, 2-D or 3-D but found 1-D"):
            F._mha_shape_check(q, k, v, None, m.ones(2), 2)
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_tables_that_keep_no_tensor_alive() -> None:
    weak = importlib.import_module("rushlight.utils.weak")
    x, table = rl.ones(2), weak.WeakTensorKeyDictionary()
    table[x] = 1
    assert x in table and rl.ones(2) not in table and list(table) == [x]
    reference = weak.TensorWeakRef(x)
    del x
    gc.collect()
    assert len(table) == 0 and reference() is None


NAMES = [
    "cuda._initialized", "cuda.amp.common.amp_definitely_not_available", "cuda.amp.grad_scaler.GradScaler",
    "cuda.amp.autocast_mode.autocast", "_C._functorch.is_batchedtensor", "_C._are_functorch_transforms_active",
    "_functorch.apis.vmap", "_functorch.eager_transforms.jacrev", "_functorch.functional_call.functional_call",
    "_vmap_internals.vmap", "utils._device.set_device", "autograd.function.InplaceFunction",
    "distributions.transforms._clipped_sigmoid", "nn.modules.conv._ConvTransposeMixin", "nn.modules.conv._pair",
    "nn.modules.module._global_forward_hooks", "GradScaler", "vision.models.vision_transformer.ConvStemConfig",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_asked_for(name: str) -> None:
    module, _, last = name.rpartition(".")
    assert hasattr(importlib.import_module(f"rushlight.{module}".rstrip(".")), last)


def test_hooks_of_all_modules_are_seen() -> None:
    module = importlib.import_module("rushlight.nn.modules.module")
    handle = module.register_module_forward_hook(lambda *_: None)
    assert len(module._global_forward_hooks) == 1
    handle.remove()
    assert not module._global_forward_hooks


@BOTH
def test_blocks_that_are_decorators(lib: Any) -> None:
    module = importlib.import_module(f"{lib.__name__}.utils._contextlib")
    seen: list[str] = []

    class Noted(module._DecoratorContextManager):
        def __init__(self, name: str) -> None:
            self.name = name

        def __enter__(self) -> None:
            seen.append(f"in {self.name}")

        def __exit__(self, *exc: Any) -> None:
            seen.append("out")

        def clone(self) -> Any:
            return Noted(self.name)

    @Noted("a")
    def numbers() -> Any:
        yield 1

    assert list(numbers()) == [1] and seen[:2] == ["in a", "out"]
    double = module.context_decorator(lambda: lib.no_grad(), lambda x: x * 2)
    assert not double(lib.ones(1, requires_grad=True)).requires_grad


@BOTH
def test_older_spellings_of_reductions(lib: Any) -> None:
    module = importlib.import_module(f"{lib.__name__}.nn._reduction")
    assert [module.get_enum(n) for n in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.raises(ValueError, match="most is not a valid value for reduction"):
        module.get_enum("most")
    for average, single in ((None, None), (False, True), (True, False)):
        with pytest.warns(UserWarning, match="size_average and reduce args will be deprecated"):
            name = module.legacy_get_string(average, single)
        assert name == {None: "mean", False: "sum", True: "none"}[average]


@BOTH
def test_leaves_in_the_order_of_a_spec(lib: Any) -> None:
    importlib.import_module(f"{lib.__name__}.fx")
    spec = lib.utils._pytree.tree_flatten({"a": [0, 0], "b": 0})[1]
    assert lib.fx._pytree.tree_flatten_spec({"b": 1, "a": [2, 3]}, spec) == [2, 3, 1]


@BOTH
def test_a_function_without_a_rule_for_forward_mode(lib: Any) -> None:
    class Double(lib.autograd.Function):
        jvp = lib.autograd.Function.jvp

    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        Double.jvp(None, lib.ones(1))


@BOTH
def test_bytes_become_a_tensor_by_way_of_a_storage(lib: Any) -> None:
    packed = lib.ByteTensor(lib.ByteStorage._from_buffer(b"abc"))
    assert packed.tolist() == [97, 98, 99] and packed.dtype == lib.uint8
    assert packed.resize_(8)[:3].tolist() == [97, 98, 99]


@BOTH
def test_casts_of_autocast_as_a_function(lib: Any) -> None:
    given = (lib.ones(1), 3, "a", {"k": lib.ones(1).double()}, [lib.ones(1).int()])
    made = importlib.import_module(f"{lib.__name__}.amp.autocast_mode")._cast(given, "cpu", lib.bfloat16)
    assert made[0].dtype == lib.bfloat16 and made[1:3] == (3, "a")
    assert made[3]["k"].dtype == lib.float64 and made[4][0].dtype == lib.int32


def test_questions_about_modes_of_compile() -> None:
    inductor = importlib.import_module("rushlight._inductor")
    assert inductor.list_mode_options()["max-autotune"]["triton.cudagraphs"]
    assert inductor.list_mode_options("default") == {}
    with pytest.raises(RuntimeError, match="Unrecognized mode=none"):
        inductor.list_mode_options("none")
    inductor.cudagraph_mark_step_begin()


@BOTH
def test_questions_about_backends_and_overrides(lib: Any) -> None:
    assert not lib.distributed.distributed_c10d.is_xccl_available()
    unwrapped = lib.overrides.get_default_nowrap_functions()
    assert lib.Tensor.grad.__get__ in unwrapped and lib.Tensor._base.__get__ in unwrapped


@BOTH
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_a_loop_over_a_sparse_matrix_sees_its_rows(lib: Any) -> None:
    given = lib.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    sparse = given.to_sparse()
    rows = [*sparse]
    assert all(r.is_sparse for r in rows)
    assert [r.to_dense().tolist() for r in rows] == given.tolist()
    assert [c.to_dense().tolist() for c in sparse.unbind(1)] == given.t().tolist()
    assert lib.stack(rows).to_dense().tolist() == given.tolist()
    hybrid = lib.sparse_coo_tensor(lib.tensor([[0, 2]]), lib.ones(2, 3), (3, 3))
    assert [r.tolist() for r in hybrid] == [[1.0] * 3, [0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize("name", ["rushlight", "torch"])
def test_a_module_with_other_tensors_for_a_block(name: str) -> None:
    lib = pytest.importorskip(name)
    swap = importlib.import_module(f"{name}.nn.utils.stateless")._reparametrize_module
    net = lib.nn.Sequential(lib.nn.Linear(2, 1), lib.nn.BatchNorm1d(1))
    own = dict(net.named_parameters())
    given = {"0.weight": lib.ones(1, 2), "1.running_mean": lib.zeros(1)}
    changed = lib.full((1,), 7.0)
    with swap(net, given):
        assert net[0].weight is given["0.weight"]
        net[1].running_mean = changed
    assert dict(net.named_parameters()).keys() == own.keys() and net[0].weight is own["0.weight"]
    assert given["1.running_mean"] is changed and net[1].running_mean is not changed


@pytest.mark.parametrize("name", ["rushlight", "torch"])
def test_attributes_of_graph_modules(name: str) -> None:
    lib = pytest.importorskip(name)
    home = importlib.import_module(f"{name}.fx.graph_module")
    source, target = lib.nn.Sequential(lib.nn.BatchNorm1d(2)), lib.nn.Module()
    home._copy_attr(source, target, "0.running_mean")
    home._assign_attr(lib.ones(2), target, "deep.down.table")
    assert sorted(dict(target.named_buffers())) == ["0.running_mean", "deep.down.table"]
    twin = home._CodeOnlyModule(dict(source.__dict__))
    assert twin._modules["0"] is source[0]


@BOTH
def test_transforms_and_distributions_that_are_modules(lib: Any) -> None:
    """Their first base makes the parts of the module that stands behind it."""
    for base in (lib.distributions.Transform, lib.distributions.Distribution):
        made = type("Learnt", (base, lib.nn.Module), {"__hash__": lib.nn.Module.__hash__, "arg_constraints": {}})()
        made.weight = lib.nn.Parameter(lib.ones(2))
        assert [name for name, _ in made.named_parameters()] == ["weight"]


@BOTH
def test_flat_weights_are_written_as_they_are_by_name(lib: Any) -> None:
    """What `higher` does after it has put other weights in a recurrent layer's places."""
    layer = lib.nn.LSTM(2, 3)
    layer.weight_ih_l0 = lib.nn.Parameter(lib.zeros(12, 2))
    layer._flat_weights = [getattr(layer, name) for name in layer._flat_weights_names]
    assert layer._flat_weights[0] is layer.weight_ih_l0 and layer(lib.ones(1, 1, 2))[0].shape == (1, 1, 3)


@BOTH
def test_cdata_tells_tensors_and_storages_apart(lib: Any) -> None:
    x = lib.zeros(3)
    y = x[1:]
    assert x._cdata == x._cdata != y._cdata and x.data._cdata != x._cdata
    assert x.untyped_storage()._cdata == y.untyped_storage()._cdata != lib.zeros(3).untyped_storage()._cdata


@BOTH
def test_a_recorded_tensor_shows_other_memory_where_nothing_is_recorded(lib: Any) -> None:
    w = lib.ones(3, requires_grad=True)
    y = w * 2
    with lib.no_grad():
        y.set_(lib.zeros(3))
    y.sum().backward()
    assert y.tolist() == [0, 0, 0] and w.grad.tolist() == [2, 2, 2]
