"""What libraries written for PyTorch ask of it: metadata, identity, small modules and their answers."""

from __future__ import annotations

import copy
import importlib
import operator
import os
import pickle
import subprocess
import sys
import threading
import typing
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]


def alias(code: str) -> str:
    """What a program prints under `rushlight run`."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    args = [sys.executable, "-m", "rushlight", "run", "-c", code]
    done = subprocess.run(args, env=env, text=True, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def plain(code: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    args = [sys.executable, "-c", code]
    done = subprocess.run(args, env=env, text=True, capture_output=True, timeout=600)
    return (done.stdout + done.stderr).strip()


# -- who we are ---------------------------------------------------------------------------------


def test_metadata_says_which_pytorch_we_stand_for() -> None:
    told = alias(
        "import importlib.metadata as m\n"
        "print(m.version('torch'), m.version('torchvision'), m.distribution('torch').name)\n"
        "print({*m.packages_distributions()['torch']}, len([d for d in m.distributions()]) > 2)\n"
        "import torchvision; print(torchvision.__version__.split('+')[0])"
    )
    assert told.splitlines() == ["2.13.0 0.28.0 torch", "{'torch'} True", "0.28.0"]


def test_identity_of_the_module_and_its_tensors() -> None:
    told = alias(
        "import torch, pickle\n"
        "print(torch.__name__, torch.torch is torch, type(torch.ones(1)), torch.Tensor.__module__)\n"
        "print(torch.__version__ >= '2.4', torch.__version__ > (2, 12), 'threads' in torch.__config__.show())\n"
        "y = torch.ones(2, requires_grad=True) + 1\n"
        "print(type(y.grad_fn).__name__, type(y.sum().grad_fn.next_functions[0][0]).__name__)"
    )
    assert told.splitlines() == [
        "torch True <class 'torch.Tensor'> torch",
        "True True True",
        "AddBackward0 AddBackward0",
    ]


def test_as_torch_aliases_a_running_interpreter() -> None:
    told = plain(
        "import rushlight, importlib.metadata as m\n"
        "rushlight.as_torch(); rushlight.as_torch()\n"
        "import torch.nn.functional as F\n"
        "print(F is rushlight.nn.functional, m.version('torch'))"
    )
    assert told == "True 2.13.0"


def test_as_torch_refuses_beside_the_real_one() -> None:
    told = plain("import sys, rushlight; sys.modules['torch'] = sys; rushlight.as_torch()")
    assert "RuntimeError: as_torch(): torch has been imported already" in told


def test_others_may_supply_what_we_lack() -> None:
    told = alias(
        "import sys, types\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        from importlib.machinery import ModuleSpec\n"
        "        if name.startswith('torch._foreign'): return ModuleSpec(name, self, is_package=True)\n"
        "    def create_module(self, spec): return types.ModuleType(spec.name)\n"
        "    def exec_module(self, module): module.here = True\n"
        "sys.meta_path.append(Finder())\n"
        "import torch._foreign.child as c; print(c.here)"
    )
    assert told == "True"


def test_packages_compiled_for_pytorch_count_as_missing(tmp_path: Path) -> None:
    (tmp_path / "torchaudio").mkdir()
    (tmp_path / "torchaudio" / "__init__.py").write_text("raise OSError('needs libtorch')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import importlib.util, rushlight; rushlight.as_torch()\n"
        "print(importlib.util.find_spec('torchaudio'), 'xformers' in sys.modules)\n"
        "try:\n    import torchaudio\nexcept ModuleNotFoundError as e:\n    print('missing', e.name)"
    )
    assert plain(code) == "None False\nmissing torchaudio"


@pytest.mark.parametrize("other", ["2.13.0", "2.4", (2, 4), "2.13.0+cpu", "2.14", "parrot"])
def test_versions_compare_as_numbers(other: typing.Any) -> None:
    theirs = torch.torch_version.TorchVersion("2.13.0+cpu")
    ours = rl.torch_version.TorchVersion("2.13.0+cpu")
    for sign in (operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt):
        assert sign(ours, other) == sign(theirs, other), sign


# -- what used to stop them ---------------------------------------------------------------------


def test_type_hints_of_modules() -> None:
    for name in ("Module", "Linear", "LSTM", "TransformerEncoderLayer"):
        typing.get_type_hints(getattr(rl.nn, name))
    typing.get_type_hints(rl.nn.Module.get_submodule)


def test_an_optimizer_that_leaves_init_out() -> None:
    class Wrapper(rl.optim.Optimizer):
        def __init__(self, base: rl.optim.Optimizer) -> None:
            self.base, self.param_groups, self.state = base, base.param_groups, base.state

        def step(self, closure: typing.Any = None) -> str:
            self.base.step()
            return "stepped"

    p = rl.nn.Parameter(rl.ones(2))
    wrapped = Wrapper(rl.optim.SGD([p], lr=0.5))
    p.grad = rl.ones(2)
    seen: list = []
    assert wrapped.step() == "stepped" and p.tolist() == [0.5, 0.5]
    wrapped.register_step_post_hook(lambda *a: seen.append(1))
    wrapped.step()
    assert seen == [1]
    with pytest.raises(AttributeError, match="nothing_like_it"):
        wrapped.nothing_like_it  # noqa: B018


def test_numpy_of_a_parameter_without_grad_mode() -> None:
    p = rl.nn.Parameter(rl.ones(2))
    with rl.no_grad():
        assert p.numpy().tolist() == [1, 1]
    with rl.inference_mode():
        assert p.numpy().tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="requires grad"):
        p.numpy()


def test_divergence_of_foreign_classes() -> None:
    class One:
        pass

    class Two(One):
        pass

    @rl.distributions.kl.register_kl(One, One)
    def _rule(p: typing.Any, q: typing.Any) -> int:
        return 7

    assert rl.distributions.kl_divergence(Two(), One()) == 7
    with pytest.raises(TypeError):
        rl.distributions.kl.register_kl(3, One)


@pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])
def test_copy_and_pickle_of_a_result(lib: typing.Any) -> None:
    y = lib.ones(2, requires_grad=True) * 2
    shared, loaded = copy.copy(y), pickle.loads(pickle.dumps(y))
    for t in (shared, loaded):
        assert t.requires_grad and t.is_leaf and t.tolist() == [2, 2]
    with lib.no_grad():
        shared[0] = 5
    assert y.tolist() == [5, 2] and loaded.tolist() == [2, 2]


# -- small modules ------------------------------------------------------------------------------


def test_hook_handles_made_by_others() -> None:
    hooks, more = {}, {}
    handle = rl.utils.hooks.RemovableHandle(hooks, extra_dict=more)
    hooks[handle.id], more[handle.id] = print, True
    handle.remove()
    assert not hooks and not more
    registered = rl.nn.Linear(1, 1).register_forward_hook(lambda *a: None)
    assert isinstance(registered, rl.utils.hooks.RemovableHandle)


class _Small(rl.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = rl.nn.Sequential(rl.nn.Conv1d(1, 2, 1), rl.nn.BatchNorm1d(2))

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        return rl.relu(self.layers(x))


def _added(x: rl.Tensor, y: int) -> rl.Tensor:
    return x + y


def _decided(x: rl.Tensor) -> rl.Tensor:
    return x if x.sum() > 0 else -x


def test_script_keeps_python_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rl.jit, "_told", set())
    layer, x = rl.nn.Linear(1, 1), rl.ones(2, 1)
    with pytest.warns(UserWarning, match="no TorchScript"):
        made = rl.jit.script(layer)
    assert rl.jit.script(made) is made  # a second warning would be an error
    assert rl.equal(made(x), layer(x)) and made.weight is layer.weight
    monkeypatch.setattr("rushlight.base.config.settings.jit", "refuse")
    with pytest.raises(NotImplementedError, match="no TorchScript"):
        rl.jit.script(layer)
    assert rl.jit.Final is typing.Final and rl.jit.annotate(int, 3) == 3


@pytest.mark.filterwarnings("ignore:jit.script")
def test_scripted_modules_are_known_as_such(tmp_path: Path) -> None:
    net, x = _Small().eval(), rl.randn(1, 1, 3)
    made = rl.jit.script(net)
    assert isinstance(made, rl.jit.RecursiveScriptModule) and made.original_name == "_Small"
    assert not isinstance(net, rl.jit.ScriptModule) and made.layers is not net.layers
    assert repr(made.layers[0]) == "RecursiveScriptModule(original_name=Conv1d)"
    made.train()
    assert not net.training and not net.layers.training
    made.eval()
    assert made.graph.find_nodes(op="call_function", target=rl.relu) and "relu" in made.code
    copied = copy.deepcopy(made)
    assert copied.layers[0].weight is not net.layers[0].weight and rl.equal(copied(x), net(x))
    with pytest.raises(pickle.PickleError, match="my_script_module.save"):
        pickle.dumps(made)
    made.save(tmp_path / "net.pt", _extra_files={"note": "five"})
    extra = {"note": ""}
    back = rl.jit.load(tmp_path / "net.pt", _extra_files=extra)
    assert extra == {"note": b"five"} and isinstance(back, rl.jit.RecursiveScriptModule)
    rl.testing.assert_close(back(x), net(x))
    assert back.original_name == "_Small"
    traced = rl.jit.trace(net, x)
    assert isinstance(traced, rl.jit.TopLevelTracedModule) and traced.original_name == "_Small"


@pytest.mark.filterwarnings("ignore:jit.script")
def test_scripted_functions_are_known_as_such(tmp_path: Path) -> None:
    made = rl.jit.script(_added)
    assert isinstance(made, rl.jit.ScriptFunction) and made.name == "_added"
    assert made.__name__ == "ScriptFunction"  # as in PyTorch: pytest names a test's cases by it
    assert made(rl.ones(1), 2) == 3 and "x + y" in made.code
    made.save(tmp_path / "added.pt")
    assert rl.jit.load(tmp_path / "added.pt")(rl.ones(1), 2) == 3
    other = rl.jit.script(_decided)
    assert other(-rl.ones(1)) == 1
    with pytest.raises(NotImplementedError, match="decides by values"):
        other.save(tmp_path / "decided.pt")


@pytest.mark.parametrize("value", [[1, 2], [1, "a"], {"a": 1}, (1, "a"), None, 3])
@pytest.mark.parametrize("kind", [list[int], dict[str, int], tuple[int, str], int | None], ids=str)
def test_jit_isinstance(value: typing.Any, kind: typing.Any) -> None:
    assert rl.jit.isinstance(value, kind) == torch.jit.isinstance(value, kind)


def test_futures() -> None:
    first, second = rl.futures.Future(), rl.futures.Future()
    doubled = first.then(lambda f: f.value() * 2)
    failed = first.then(lambda f: 1 / 0)
    threading.Timer(0.01, lambda: (second.set_result(2), first.set_result(1))).start()
    assert rl.futures.wait_all([first, second]) == [1, 2] and doubled.wait() == 2
    with pytest.raises(ZeroDivisionError):
        failed.wait()
    with pytest.raises(RuntimeError):
        first.set_result(3)


@pytest.mark.parametrize("name", ["xpu", "mps", "mtia"])
def test_absent_devices_say_so(name: str) -> None:
    module = getattr(rl, name)
    assert rl.get_device_module(name) is module
    assert not module.is_available() and module.device_count() == 0
    module.manual_seed(0)
    with pytest.raises(RuntimeError, match="rushlight runs on cpu and cuda"):
        module.synchronize()
    assert rl.cpu.is_available() and rl.get_device_module("cpu") is rl.cpu


def test_duck_types_answer_for_functions_of_libraries() -> None:
    class Duck:
        @classmethod
        def __torch_function__(cls, func: typing.Any, types: tuple, args: tuple = (), kwargs: typing.Any = None) -> str:
            return f"{func.__name__} of {len(types)}"

    class Later(Duck):
        @classmethod
        def __torch_function__(cls, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            return NotImplemented

    @rl.overrides.wrap_torch_function(lambda x, y: (x, y))
    def combine(x: typing.Any, y: typing.Any) -> str:
        return "plain"

    assert combine(rl.ones(1), 2) == "plain"
    assert combine(rl.ones(1), Duck()) == "combine of 1"
    assert combine(Duck(), Later()) == "combine of 2"
    with pytest.raises(TypeError, match="no implementation found"):
        combine(Later(), 1)
    with pytest.raises(NotImplementedError), rl.overrides.TorchFunctionMode():
        rl.ones(1)


FLOAT8 = ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"]


@pytest.mark.parametrize("kind", FLOAT8)
def test_float8_limits_and_casts(kind: str) -> None:
    ours, theirs = getattr(rl, f"float8_{kind}"), getattr(torch, f"float8_{kind}")
    for name in ("bits", "eps", "max", "min", "tiny", "resolution", "dtype"):
        assert getattr(rl.finfo(ours), name) == getattr(torch.finfo(theirs), name), name
    assert (ours.itemsize, ours.is_signed) == (theirs.itemsize, theirs.is_signed)
    values = [0.003, 0.3, 1.0, 3.3, 449.0, 1e3, 6e4, float("inf"), float("nan")]
    mine = rl.tensor(values).to(ours).float().numpy()
    np.testing.assert_array_equal(mine, torch.tensor(values).to(theirs).float().numpy())
    with pytest.raises(RuntimeError, match="Promotion for Float8"):
        rl.ones(1).to(ours) + rl.ones(1)


@pytest.mark.filterwarnings("ignore:flex_attention called")  # without its compiler
def test_flex_attention_against_pytorchs() -> None:
    rng = np.random.default_rng(0)
    q, k, v = [rng.standard_normal((2, h, 7, 8)).astype("f") for h in (4, 2, 2)]
    results = []
    for lib in (rl, torch):
        flex = importlib.import_module(f"{lib.__name__}.nn.attention.flex_attention")
        bias = lib.linspace(0, 1, 13)
        mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 7, 7, device="cpu")
        out, aux = flex.flex_attention(
            *map(lib.tensor, (q, k, v)),
            score_mod=lambda s, b, h, i, j, bias=bias: s + bias[i - j + 6] * (h + 1),
            block_mask=mask,
            enable_gqa=True,
            return_aux=flex.AuxRequest(lse=True),
        )
        results.append([out.numpy(), aux.lse.numpy()])
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (2, 8, 8)], ids=str)
def test_lowrank_from_the_same_stream(shape: tuple) -> None:
    a = np.random.default_rng(1).standard_normal(shape).astype("f")
    found = []
    for lib in (rl, torch):
        x = lib.tensor(a)
        lib.manual_seed(1)
        u, s, v = lib.svd_lowrank(x, q=3)
        found.append([s.numpy(), ((u * s.unsqueeze(-2)) @ v.mT).numpy()])
        lib.manual_seed(1)
        found[-1].append(lib.pca_lowrank(x, q=2)[1].numpy())
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_softmax_derivatives_by_their_inner_names() -> None:
    g, x = np.random.default_rng(2).standard_normal((2, 3, 4)).astype("f")
    for name, fn in (("_softmax_backward_data", "softmax"), ("_log_softmax_backward_data", "log_softmax")):
        ours, theirs = [
            getattr(m, name)(m.tensor(g), getattr(m, fn)(m.tensor(x), 1), 1, m.float32).numpy() for m in (rl, torch)
        ]
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_conditions_raise_their_own_errors() -> None:
    rl._check(True)
    for name, kind in (("", RuntimeError), ("_value", ValueError), ("_index", IndexError)):
        for lib in (rl, torch):
            with pytest.raises(kind, match="told"):
                getattr(lib, f"_check{name}")(False, lambda: "told")
    assert rl.sym_max(1, 2.0) == 2.0 and type(rl.sym_max(3, 2.0)) is float and rl.sym_int(2.7) == 2
    assert not isinstance(3, rl.SymInt)


# -- random numbers in the order of memory --------------------------------------------------------

LAYOUTS = {
    "transposed": lambda m: m.arange(20.0).reshape(4, 5).t(),
    "channels_last": lambda m: m.arange(48.0).reshape(2, 3, 2, 4).to(memory_format=m.channels_last),
    "permuted": lambda m: m.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
    "gaps": lambda m: m.arange(48.0).reshape(4, 12)[:, ::2].t(),
    "expanded": lambda m: m.ones(3, 1).expand(3, 7),
}
DRAWS = {
    "dropout": lambda m, x: m.nn.functional.dropout(x, 0.5, True),
    "alpha_dropout": lambda m, x: m.nn.functional.alpha_dropout(x, 0.5, True),
    "normal_": lambda m, x: x.clone().normal_(1.0, 2.0),
    "uniform_": lambda m, x: x.clone().uniform_(),
    "bernoulli_": lambda m, x: x.clone().bernoulli_(0.4),
    "randn_like": lambda m, x: m.randn_like(x),
    "rand_like": lambda m, x: m.rand_like(x),
    "rrelu": lambda m, x: m.nn.functional.rrelu(x - 7, training=True),
    "zeros_like": lambda m, x: m.zeros_like(x),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("order", LAYOUTS)
def test_draws_follow_the_order_of_memory(order: str, name: str) -> None:
    found = []
    for lib in (rl, torch):
        lib.manual_seed(3)
        found.append(DRAWS[name](lib, LAYOUTS[order](lib)))
    assert found[0].stride() == found[1].stride()
    np.testing.assert_allclose(found[0].numpy(), found[1].numpy(), rtol=2e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("dims", [None, 0, 1, (0, 1), 2, (1, 2)], ids=str)
def test_sparse_sums_along_dims(dims: typing.Any) -> None:
    found = []
    for lib in (rl, torch):
        at = lib.tensor([[0, 2, 2, 0], [1, 0, 0, 1]])
        values = lib.arange(12.0).reshape(4, 3)
        total = lib.sparse.sum(lib.sparse_coo_tensor(at, values, (3, 2, 3)), dims)
        found.append((total.is_sparse, (total.to_dense() if total.is_sparse else total).tolist()))
    assert found[0] == found[1]


def test_storage_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "numbers").write_bytes(np.arange(6, dtype=np.float32).tobytes())
    for lib in (rl, torch):
        storage = lib.UntypedStorage.from_file(str(tmp_path / "numbers"), False, 24)
        part = lib.asarray(storage[8:20], dtype=lib.uint8).view(lib.float32)
        assert part.tolist() == [2, 3, 4] and len(storage) == 24
        part[0] = 9.0  # in memory only: the file is not shared
    assert np.fromfile(tmp_path / "numbers", np.float32)[2] == 2


@pytest.mark.filterwarnings("ignore:Singular sample detected")  # as PyTorch says of every draw
@pytest.mark.parametrize("form", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_wishart_against_pytorchs(form: str) -> None:
    given = np.array([[2.0, 0.0, 0.0], [0.3, 1.0, 0.0], [0.1, 0.2, 1.5]], "f")
    given = given if form == "scale_tril" else given @ given.T
    value = np.array([[8.0, 1.0, 0.5], [1.0, 5.0, 0.3], [0.5, 0.3, 6.0]], "f")
    ours, theirs = [m.distributions.Wishart(m.tensor([5.0, 7.0]), **{form: m.tensor(given)}) for m in (rl, torch)]
    for name in ("mean", "mode", "variance", "covariance_matrix", "precision_matrix", "scale_tril"):
        want = getattr(theirs, name).numpy()
        np.testing.assert_allclose(getattr(ours, name).numpy(), want, rtol=1e-4, atol=1e-5)
    want = theirs.log_prob(torch.tensor(value)).numpy()
    np.testing.assert_allclose(ours.log_prob(rl.tensor(value)).numpy(), want, rtol=1e-5)
    rl.manual_seed(0)
    drawn = ours.sample((4000,)).mean(0) - ours.mean
    assert (drawn.abs() < 5 * (ours.variance / 4000).sqrt()).all()


@pytest.mark.parametrize("kind", ["dense", "sparse", "batch", "generalised"])
@pytest.mark.parametrize("largest", [True, False])
def test_a_few_eigenpairs(kind: str, largest: bool) -> None:
    rng = np.random.default_rng(3)
    a, b = (x @ np.swapaxes(x, -1, -2) / 12 + np.eye(12) for x in rng.normal(size=(2, 3, 12, 12)))
    if kind != "batch":
        a, b = a[0], b[0]
    found = []
    for lib in (torch, rl):
        A, seen = lib.tensor(a), []
        B = lib.tensor(b) if kind == "generalised" else None
        given = A.to_sparse() if kind == "sparse" else A
        values, vectors = lib.lobpcg(
            given, 2, B, n=3, largest=largest, tol=1e-10, tracker=lambda w: seen.append(w.ivars["istep"])
        )  # noqa: B023
        right = vectors if B is None else B @ vectors
        np.testing.assert_allclose(A @ vectors, right * values.unsqueeze(-2), atol=1e-7)
        assert seen[0] == 1 and values.shape == a.shape[:-2] + (2,)
        found.append(values)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


def test_gradients_of_a_few_eigenpairs() -> None:
    a, found = np.random.default_rng(4).normal(size=(9, 9)), []
    for lib in (torch, rl):
        A = lib.tensor(a @ a.T, requires_grad=True)
        values, vectors = lib.lobpcg(A, 2, tol=1e-13)
        ((vectors**4).sum() + values.square().sum()).backward()
        found.append(A.grad)
        with pytest.raises(ValueError, match="is smaller than 3 x"):
            lib.lobpcg(A, 4)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-6)
