"""Small names that libraries reach for: what they do, beside PyTorch where that has them."""

from __future__ import annotations

import importlib
import sys

import pytest

import rushlight
import rushlight.utils.data.dataloader

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])


@BOTH
def test_swap_tensors(lib):
    a = lib.nn.Parameter(lib.ones(2))
    b = lib.zeros(3)
    b.label = "b"
    holder = [a]
    lib.utils.swap_tensors(a, b)
    assert holder[0].tolist() == [0.0, 0.0, 0.0] and a.label == "b" and type(a) is lib.Tensor
    assert isinstance(b, lib.nn.Parameter) and b.requires_grad and not a.requires_grad
    (b * 2).sum().backward()
    assert b.grad.tolist() == [2.0, 2.0] and a.grad is None


@BOTH
@pytest.mark.parametrize("way", ["keep", "overwrite", "swap"])
def test_what_a_conversion_does_with_parameters(lib, way):
    """`torch.__future__`: parameters are changed, replaced, or swapped, and so are those that are loaded."""
    net = lib.nn.Linear(2, 1)
    (net.weight.sum() * 2).backward()
    weight, grad, values = net.weight, net.weight.grad, net.weight.detach().numpy().copy()
    future = lib.__future__
    names = {"overwrite": "overwrite_module_params", "swap": "swap_module_params"}
    turn = getattr(future, f"set_{names[way]}_on_conversion", None) if way in names else lambda on: None
    turn(True)
    try:
        net.double()
        assert (net.weight is weight) == (way != "overwrite")
        assert net.weight.dtype == lib.float64 and net.weight.requires_grad
        assert net.weight.detach().numpy().tolist() == values.tolist()
        assert net.weight.grad.dtype == lib.float64 and net.weight.grad.tolist() == [[2.0, 2.0]]
        assert (net.weight.grad is grad) == (way != "overwrite")
        held = net.weight
        net.load_state_dict({"weight": lib.ones(1, 2), "bias": lib.zeros(1)}, assign=True)
        assert (net.weight is held) == (way == "swap") and net.weight.tolist() == [[1.0, 1.0]]
        assert net.weight.dtype == lib.float32 and isinstance(net.weight, lib.nn.Parameter)
    finally:
        turn(False)
    assert not future.get_swap_module_params_on_conversion()
    assert not future.get_overwrite_module_params_on_conversion()


@BOTH
def test_frozen_switches_and_checks(lib, monkeypatch):
    monkeypatch.setattr(torch.backends, "__allow_nonbracketed_mutation_flag", True)
    monkeypatch.setattr(rushlight.base.config.settings, "flags_frozen", False)
    check = lib.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check(), check(False):
        assert not check.is_enabled()
    assert check(True)(lambda: check.is_enabled())() and not check.is_enabled()
    lib.backends.disable_global_flags()
    with pytest.raises(RuntimeError, match="not allowed to set .*cudnn flags"):
        lib.backends.cudnn.benchmark = True
    with lib.backends.cudnn.flags(benchmark=True):
        assert lib.backends.cudnn.benchmark
    with lib.backends.__allow_nonbracketed_mutation():
        lib.backends.cudnn.benchmark = False


@BOTH
def test_loops_as_functions(lib):
    out = lib.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (lib.tensor(0), lib.ones(2)))
    assert [o.tolist() for o in out] == [3, [8.0, 8.0]]
    assert lib.cond(lib.tensor(True), lambda x: x + 1, lambda x: x - 1, (lib.ones(1),)).tolist() == [2.0]


def test_iterators_of_loaders():
    names = rushlight.utils.data.dataloader
    loader = rushlight.utils.data.DataLoader(list(range(4)), batch_size=2)
    assert isinstance(iter(loader), names._BaseDataLoaderIter)
    assert isinstance(iter(loader), names._SingleProcessDataLoaderIter)
    assert not isinstance(iter(loader), names._MultiProcessingDataLoaderIter)
    assert names._DatasetKind.Iterable == 1


def test_pipes_are_chained():
    data = rushlight.utils.data

    class Numbers(data.IterDataPipe):
        def __iter__(self):
            return iter(range(4))

    @data.functional_datapipe("test_scale")
    class Scale(data.IterDataPipe):
        def __init__(self, source, by):
            self.source, self.by = source, by

        def __iter__(self):
            return (x * self.by for x in self.source)

    pipe = Numbers().test_scale(by=3)
    assert [b.tolist() for b in data.DataLoader(pipe, batch_size=2)] == [[0, 3], [6, 9]]
    with pytest.raises(AttributeError, match="no attribute 'never'"):
        pipe.never()
    with pytest.raises(Exception, match="already taken"):
        data.functional_datapipe("test_scale")(Scale)

    from rushlight.utils.data.datapipes.iter import IterableWrapper
    from rushlight.utils.data.datapipes.iter.combinatorics import ShufflerIterDataPipe

    with pytest.raises(NotImplementedError, match="shuffle"):  # accelerate asks for its type
        ShufflerIterDataPipe([1])
    source = IterableWrapper([1, 2, 3, 4, 5])
    assert list(source.map(float).filter(lambda x: x != 2)) == [1.0, 3.0, 4.0, 5.0]
    assert (list(source.batch(2)), len(source.batch(2, drop_last=True))) == ([[1, 2], [3, 4], [5]], 2)
    assert [b.tolist() for b in source.batch(2, True).collate()] == [[1, 2], [3, 4]]
    assert (list(source.zip("abc")), len(source.concat(source))) == ([(1, "a"), (2, "b"), (3, "c")], 10)


def test_names_that_are_there():
    for name in (
        "_inductor.config", "_jit_internal", "_subclasses", "_tensor", "backends.opt_einsum", "fx.experimental.symbolic_shapes",
        "jit._recursive", "storage", "utils._triton", "utils.cpp_extension", "utils.deterministic",
    ):  # fmt: skip
        importlib.import_module(f"rushlight.{name}")
    assert rushlight.jit.annotations.List[int] and rushlight.legacy_contiguous_format is rushlight.contiguous_format
    assert rushlight.get_autocast_gpu_dtype() is rushlight.float16 and not rushlight.is_autocast_cpu_enabled()
    with pytest.raises(NotImplementedError, match="custom_op"):
        rushlight.utils.cpp_extension.load("x", ["x.cpp"])


def test_the_list_of_libraries_resolves_further():
    """tools/library_names.py counts them; a name that resolved stays."""
    sys.path.insert(0, "tools")
    try:
        tool = importlib.import_module("library_names")
    finally:
        sys.path.pop(0)
    assert tool.LIST.is_file() and not tool.refuses(rushlight.fx.Node)


@BOTH
def test_helpers_of_distributions(lib):
    helpers = lib.distributions.utils
    x = lib.arange(24.0).reshape(2, 3, 4)
    assert helpers._sum_rightmost(x, 2).tolist() == x.sum((1, 2)).tolist()
    assert helpers._sum_rightmost(x, 0) is x
    lib.manual_seed(1)
    drawn = helpers._standard_normal((3,), dtype=lib.float64, device="cpu")
    lib.manual_seed(1)
    assert drawn.tolist() == lib.normal(lib.zeros(3, dtype=lib.float64), lib.ones(3, dtype=lib.float64)).tolist()
    assert lib.serialization.DEFAULT_PROTOCOL == 2


@pytest.mark.parametrize("length", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("reverse", [False, True])
def test_prefixes_of_an_associative_function(length, reverse):
    from rushlight._higher_order_ops.associative_scan import associative_scan

    def combine(left, right):
        return {"a": left["a"] * right["a"], "b": right["a"] * left["b"] + right["b"]}

    rushlight.manual_seed(0)
    xs = {k: rushlight.rand(2, length, dtype=rushlight.float64) for k in "ab"}
    xs["a"].requires_grad_()
    out = associative_scan(combine, xs, 1, reverse=reverse, combine_mode="generic")
    held, slow = None, []  # step by step
    for i in reversed(range(length)) if reverse else range(length):
        x = {k: v[:, i] for k, v in xs.items()}
        held = x if held is None else combine(held, x)
        slow.append(held["b"])
    expected = rushlight.stack(slow[::-1] if reverse else slow, 1)
    assert rushlight.allclose(out["b"], expected)
    if length > 1:
        grads = [rushlight.autograd.grad(y.sum(), xs["a"])[0] for y in (out["b"], expected)]
        assert rushlight.allclose(*grads)


def test_scans_refuse_what_pytorch_does():
    from rushlight._higher_order_ops import associative_scan, map, scan

    with pytest.raises(ValueError, match="on CUDA or XPU"):
        associative_scan(rushlight.add, rushlight.arange(3), 0)
    with pytest.raises(ValueError, match="'pointwise' or 'generic'"):
        associative_scan(rushlight.add, rushlight.arange(3), 0, combine_mode="x")
    with pytest.raises(ValueError, match="scan dimension > 0"):
        associative_scan(rushlight.add, rushlight.zeros(0), 0, combine_mode="generic")
    xs = rushlight.arange(6.0).reshape(3, 2)
    last, ys = scan(lambda c, x: (c + x, c * x), rushlight.zeros(3), xs, dim=1, reverse=True)
    assert last.tolist() == [1.0, 5.0, 9.0]
    assert ys.tolist() == [[0.0, 0.0], [6.0, 0.0], [20.0, 0.0]]
    assert map(lambda x: {"s": x.sum()}, xs)["s"].tolist() == [1.0, 5.0, 9.0]
