"""Inner names that tensordict, torchrl, torchopt, fairscale and quanto reach for: they do what PyTorch's do."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBS = (torch, rushlight)


def both(call: Any) -> Any:
    """What a call gives in PyTorch and here: values, or the kind of error; the same in both."""

    def outcome(lib: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lib.manual_seed(0)
            try:
                return call(lib)
            except Exception as e:
                return type(e).__name__

    theirs, ours = outcome(torch), outcome(rushlight)
    assert theirs == ours
    return ours


def members(lib: Any) -> Any:
    if lib is torch:
        import torch.nn.utils._named_member_accessor as found
    else:
        import rushlight.nn.utils._named_member_accessor as found
    return found


CALLS = {
    "swap": lambda m, net, t: m.swap_tensor(net[0], "weight", t).shape == net[0].weight.shape,
    "swap a missing one": lambda m, net, t: m.swap_tensor(net[0], "other", t),
    "add a missing one": lambda m, net, t: (
        m.swap_tensor(net[0], "other", t, allow_missing=True) and None,
        net[0].other.tolist(),
    ),
    "not a tensor": lambda m, net, t: m.swap_tensor(net[0], "weight", 3),
    "a dotted name": lambda m, net, t: m.swap_tensor(net, "0.weight", t),
    "set": lambda m, net, t: (m.NamedMemberAccessor(net).set_tensor("0.weight", t), net[0].weight.tolist()),
    "delete": lambda m, net, t: (
        m.NamedMemberAccessor(net).del_tensor("0.bias"),
        [n for n, _ in net.named_parameters()],
    ),
    "delete a missing one": lambda m, net, t: m.NamedMemberAccessor(net).del_tensor("0.other"),
    "swap by names": lambda m, net, t: (
        m.NamedMemberAccessor(net).swap_tensors_dict({"0.weight": t})[1],
        net[0].weight.tolist(),
    ),
    "swap missing names": lambda m, net, t: m.NamedMemberAccessor(net).swap_tensors_dict({"0.w": t}),
    "check": lambda m, net, t: m.NamedMemberAccessor(net).check_keys(["0.weight", "x"]),
    "names": lambda m, net, t: [n for n, _ in m.NamedMemberAccessor(net).named_tensors()],
    "a child": lambda m, net, t: type(m.NamedMemberAccessor(net).swap_submodule("0", net[1])).__name__,
    "get": lambda m, net, t: m.NamedMemberAccessor(net).get_tensor("1.running_mean").tolist(),
    "get a missing one": lambda m, net, t: m.NamedMemberAccessor(net).get_tensor("1.other"),
    "lengths": lambda m, net, t: m.NamedMemberAccessor(net).set_tensors(["0.weight"], []),
}


@pytest.mark.parametrize("name", CALLS)
def test_members_by_name(name: str) -> None:
    def call(lib: Any) -> Any:
        net = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
        return CALLS[name](members(lib), net, lib.ones(2, 2))

    both(call)


def functorch_of(lib: Any) -> Any:
    if lib is torch:
        import functorch as found
    else:
        import rushlight.functorch as found
    return found


def test_make_functional() -> None:
    def call(lib: Any) -> Any:
        function, params = functorch_of(lib).make_functional(lib.nn.Linear(3, 2))
        y = function(params, lib.ones(3))
        grads = lib.autograd.grad(y.sum(), params)
        return [round(v, 5) for v in y.tolist()], [g.tolist() for g in grads]

    both(call)
    both(lambda lib: functorch_of(lib).make_functional(lib.nn.BatchNorm1d(2)))


def test_ensembles() -> None:
    def call(lib: Any) -> Any:
        f = functorch_of(lib)
        nets = [lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.BatchNorm1d(2)).eval() for _ in range(3)]
        function, params, buffers = f.combine_state_for_ensemble(nets)
        one, p, b = f.make_functional_with_buffers(nets[0])
        x = lib.ones(4, 3)
        y = f.vmap(function, in_dims=(0, 0, None))(params, buffers, x)
        return (
            tuple(y.shape),
            [v.requires_grad for v in params],
            round(y.sum().item(), 4),
            round(one(p, b, x).sum().item(), 4),
        )

    both(call)


def test_functorch_is_found_under_the_alias() -> None:
    code = "import rushlight; rushlight.as_torch(); import functorch; import torch; print(functorch.vmap is torch.vmap)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("mode", ["all", "any", "some"])
def test_hooks_of_several_tensors(mode: str) -> None:
    def call(lib: Any) -> Any:
        seen: list[Any] = []
        x, y, z = (lib.ones(2, requires_grad=True) for _ in range(3))
        told = lambda g: seen.append(  # noqa: E731
            [None if v is None else v.tolist() for v in g] if mode == "all" else g.tolist()
        )
        handle = lib.autograd.graph.register_multi_grad_hook((x, y, z), told, mode=mode)
        (x * y * 3).sum().backward()
        (x * 2 + z).sum().backward()
        handle.remove()
        x.sum().backward()
        return seen

    both(call)


def test_versions_and_callbacks() -> None:
    def versions(lib: Any) -> Any:
        x, y = lib.ones(2), lib.ones(2)
        lib.autograd.graph.increment_version(x)
        lib.autograd.graph.increment_version([x, y])
        return x._version, y._version

    def callbacks(lib: Any) -> Any:
        seen: list[str] = []
        x = lib.ones(2, requires_grad=True)
        engine = lib.autograd.Variable._execution_engine
        x.register_hook(lambda g: engine.queue_callback(lambda: seen.append("end")))
        (x * 2).sum().backward()
        return seen

    both(versions)
    both(callbacks)


def test_names_of_checkpoints() -> None:
    def call(lib: Any) -> Any:
        import importlib

        c = importlib.import_module(f"{lib.__name__}.utils.checkpoint")
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        c.CheckpointFunction.apply(lambda t: (t**3).sum(), True, x).backward()
        cut = c.detach_variable((x * 2, 3, None))
        with c.set_checkpoint_early_stop(False), c.set_checkpoint_debug_enabled(True):
            pass
        return x.grad.tolist(), cut[0].is_leaf, cut[0].requires_grad, cut[1:]

    both(call)
    both(lambda lib: lib.utils.checkpoint.detach_variable([1]))


def test_products_of_bytes() -> None:
    def call(lib: Any) -> Any:
        a = lib.arange(-60, 60).reshape(3, 40).to(lib.int8)
        found = lib._int_mm(a, a.T.contiguous())
        return found.dtype == lib.int32, found.tolist()

    both(call)
    both(lambda lib: lib._int_mm(lib.ones(2, 2), lib.ones(2, 2)))
    both(lambda lib: lib._int_mm(lib.ones(2, dtype=lib.int8), lib.ones(2, 2, dtype=lib.int8)))


def test_an_operator_without_its_extension() -> None:
    """A function for the CPU that needs C++ gives way to the one for all devices."""
    from rushlight.utils import cpp_extension

    rushlight.library.define("reinforced::twice", "(Tensor x) -> Tensor")
    rushlight.library.impl("reinforced::twice", "default")(lambda x: x * 2)
    rushlight.library.impl("reinforced::twice", "CPU")(lambda x: cpp_extension.load("a", ["a.cpp"]))
    for _ in range(2):
        assert rushlight.ops.reinforced.twice(rushlight.ones(2)).tolist() == [2.0, 2.0]


class Pair:
    """A container that answers for a tensor, as tensordict's do."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def dim(self) -> int:
        return self.a.dim()

    @property
    def shape(self) -> Any:
        return self.a.shape

    def __getitem__(self, index: Any) -> Pair:
        return Pair(self.a[index], self.b[index])

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        items, dim = args[0], (args[1] if len(args) > 1 else (kwargs or {}).get("dim", 0))
        return Pair(*(func([getattr(i, n) for i in items], dim) for n in "ab"))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_maps_over_containers_that_answer_for_tensors(dim: int) -> None:
    x = Pair(rushlight.arange(6.0).reshape(2, 3), rushlight.ones(2, 3))
    y = rushlight.vmap(lambda p: Pair(p.a * 2, p.b + p.a), in_dims=dim, out_dims=dim)(x)
    assert y.a.tolist() == (x.a * 2).tolist()
    assert y.b.tolist() == (x.a + 1).tolist()


def test_scalers_and_casts_are_classes() -> None:
    for lib in LIBS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            amp = lib.cuda.amp

            class Mine(amp.GradScaler):
                pass

            assert isinstance(Mine(enabled=False), lib.amp.GradScaler)
            assert isinstance(amp.autocast(enabled=False), lib.amp.autocast)
            assert issubclass(amp.autocast, lib.autocast)


def test_kinds_of_containers() -> None:
    def call(lib: Any) -> Any:
        import importlib

        kinds = importlib.import_module(f"{lib.__name__}.utils._pytree").SUPPORTED_NODES
        parts, context = kinds[dict].flatten_fn({"a": 1, "b": 2})
        return list(parts), kinds[dict].unflatten_fn(parts, context), kinds[list].flatten_fn([1])

    both(call)


@pytest.mark.parametrize("name", ["Dataset", "Subset", "ConcatDataset", "StackDataset", "DataLoader"])
def test_generic_classes_of_data(name: str) -> None:
    import importlib
    from typing import TypeVar

    item = TypeVar("item")
    for lib in LIBS:
        data = importlib.import_module(f"{lib.__name__}.utils.data")
        base = getattr(data, name)[item]

        class Mine(base):  # type: ignore[misc, valid-type]
            pass

        assert Mine.__parameters__ == (item,)
    DistributedSampler = importlib.import_module("rushlight.utils.data").DistributedSampler  # noqa: N806
    assert len(DistributedSampler.__parameters__) == 1


def test_copies_between_devices() -> None:
    from rushlight.cuda import comm

    x = rushlight.arange(6.0).reshape(2, 3)
    assert [t.tolist() for t in comm.scatter(x, ["cpu"] * 2, [1, 2], 1)] == [[[0.0], [3.0]], [[1.0, 2.0], [4.0, 5.0]]]
    assert comm.gather(comm.scatter(x, ["cpu"] * 2), destination="cpu").tolist() == x.tolist()
    assert comm.reduce_add([x, x, x], "cpu").tolist() == (x * 3).tolist()
    assert len(comm.broadcast(x, ["cpu", "cpu"])) == 2
    with pytest.raises(RuntimeError, match="Exactly one"):
        comm.broadcast(x)


def test_words_of_files() -> None:
    both(lambda lib: lib.serialization.location_tag(lib.ones(2).untyped_storage()))
    both(lambda lib: lib.serialization.normalize_storage_type(lib.FloatStorage).__name__)
    both(lambda lib: isinstance(lib.ones(2).untyped_storage(), lib.StorageBase))
    both(lambda lib: lib.distributed.is_available() and None)
