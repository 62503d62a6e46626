"""Sparse gradients beside PyTorch's: who makes them, how they add up, who steps with them and who refuses."""

from __future__ import annotations

import copy
import io
import math
import pickle
import warnings
from typing import Any

import pytest

import rushlight as rl
from rushlight.core.hot import tracing
from traced import both

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
CASES: dict[str, Any] = {}


class Side:
    """One of both libraries, on a device, and how its results are written down."""

    def __init__(self, lib: Any, device: str, exact: bool) -> None:
        self.lib, self.nn, self.F, self.optim = lib, lib.nn, lib.nn.functional, lib.optim
        self.device = device
        self.exact = exact  # the places of uncoalesced tensors count, too: only the CPU adds as PyTorch's does

    def tensor(self, values: Any, **options: Any) -> Any:
        return self.lib.tensor(values, device=self.device, **options)

    def weight(self, rows: int = 5, width: int = 3) -> Any:
        numbers = self.lib.arange(float(rows * width), device=self.device) / 4
        return numbers.view(rows, width).clone().requires_grad_()

    def looked_up(self, weight: Any, places: Any = (1, 2, 2, 0), **options: Any) -> Any:
        """A loss whose gradient differs from place to place."""
        out = self.F.embedding(self.tensor(list(places)), weight, sparse=True, **options)
        return self.weighted(out)

    def weighted(self, out: Any) -> Any:
        factors = self.lib.arange(1.0, 1.0 + out.numel(), device=self.device)
        return (out * factors.view(out.shape)).sum()

    def told(self, value: Any) -> Any:
        """A tensor as plain Python, to be compared."""
        if not isinstance(value, self.lib.Tensor):
            if isinstance(value, (tuple, list)):
                return [self.told(v) for v in value]
            return {k: self.told(v) for k, v in value.items()} if isinstance(value, dict) else value
        head = [tuple(value.shape), str(value.dtype).split(".")[-1], value.requires_grad]
        if not value.is_sparse:
            return ["dense", *head, value.detach().cpu().tolist()]
        value = value.detach()
        if self.exact:
            head.append(value.is_coalesced())
        else:
            value = value.coalesce()
        head += [value.sparse_dim(), value.dense_dim(), value._nnz()]
        return ["sparse", *head, value._indices().cpu().tolist(), value._values().cpu().tolist()]


def case(fn: Any) -> Any:
    CASES[fn.__name__] = fn
    return fn


def outcome(fn: Any, side: Side) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return side.told(fn(side))
        except (RuntimeError, ValueError, TypeError) as error:
            kinds = (NotImplementedError, RuntimeError, ValueError, TypeError)
            kind = next(k for k in kinds if isinstance(error, k))
            text = str(error).split(". ")[0].rstrip(".").replace("rushlight.", "torch.")
            return ["error", kind.__name__, text.replace("SparseCUDA", "SparseCPU")]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=2e-4, abs_tol=2e-5) or a != a and b != b
    return a == b


def compare(fn: Any, device: str) -> None:
    ours = outcome(fn, Side(rl, device, device == "cpu"))
    if device != "cpu":
        if isinstance(ours, str):  # the case itself says why it is none here
            pytest.skip(ours)
        if isinstance(ours, list) and ours[:1] == ["error"]:
            ours = [str(part).replace("torch.cuda.", "torch.") for part in ours]
    theirs = outcome(fn, Side(torch, "cpu", device == "cpu"))
    assert same(ours, theirs), f"{ours}\n{theirs}"


# -- who makes them ---------------------------------------------------------------------------------


@case
def embedding(s: Side) -> Any:
    w = s.weight()
    s.looked_up(w).backward()
    return (w.grad, w.grad.is_sparse, isinstance(w.grad, s.lib.Tensor), w.grad.layout is s.lib.sparse_coo)


@case
def embedding_layer(s: Side) -> Any:
    layer = s.nn.Embedding(5, 3, padding_idx=2, sparse=True).to(s.device)
    s.weighted(layer(s.tensor([[1, 2], [0, 4]]))).backward()
    return layer.weight.grad, layer.extra_repr()


@case
def from_pretrained(s: Side) -> Any:
    layer = s.nn.Embedding.from_pretrained(s.weight().detach(), freeze=False, sparse=True)
    s.weighted(layer(s.tensor([4, 4]))).backward()
    return layer.weight.grad


@case
def embedding_padding(s: Side) -> Any:
    found = []
    for padding in (2, -3, 4):
        w = s.weight()
        s.looked_up(w, padding_idx=padding).backward()
        found.append(w.grad)
    return found


@case
def embedding_all_padding(s: Side) -> Any:
    w = s.weight()
    s.looked_up(w, [2, 2], padding_idx=2).backward()
    return w.grad


@case
def embedding_of_nothing(s: Side) -> Any:
    w = s.weight()
    s.F.embedding(s.tensor([], dtype=s.lib.int64), w, sparse=True).sum().backward()
    return w.grad


@case
def embedding_max_norm(s: Side) -> Any:
    w = s.weight()
    s.looked_up(w, max_norm=1.0).backward()
    return w.grad, w


@case
def embedding_scaled_by_frequency(s: Side) -> Any:
    s.looked_up(s.weight(), scale_grad_by_freq=True).backward()


@case
def embedding_int32(s: Side) -> Any:
    w = s.weight()
    s.weighted(s.F.embedding(s.tensor([3, 1], dtype=s.lib.int32), w, sparse=True)).backward()
    return w.grad


@case
def embedding_dtypes(s: Side) -> Any:
    found = []
    for name in ("float64", "float16", "bfloat16"):
        w = s.weight().detach().to(getattr(s.lib, name)).requires_grad_()
        s.F.embedding(s.tensor([3, 1, 3]), w, sparse=True).sum().backward()
        found.append(w.grad)
    return found


@case
def name_of_the_node(s: Side) -> Any:
    return type(s.F.embedding(s.tensor([1]), s.weight(), sparse=True).grad_fn).__name__


def _bag(mode: str, **options: Any) -> Any:
    def run(s: Side) -> Any:
        w = s.weight()
        given = dict(options)
        places = s.tensor(given.pop("places", [1, 2, 2, 0, 4]))
        offsets = given.pop("offsets", [0, 2])
        offsets = None if offsets is None else s.tensor(offsets)
        samples = given.pop("samples", None)
        if samples is not None:
            given["per_sample_weights"] = samples = s.tensor(samples, requires_grad=True)
        s.weighted(s.F.embedding_bag(places, w, offsets, mode=mode, sparse=True, **given)).backward()
        return w.grad, w, None if samples is None else samples.grad

    return run


for _mode in ("sum", "mean", "max"):
    for _name, _options in {
        "plain": {}, "2d": {"places": [[1, 2], [2, 0]], "offsets": None}, "padding": {"padding_idx": 2},
        "frequency": {"scale_grad_by_freq": True}, "last": {"offsets": [0, 2, 5], "include_last_offset": True},
        "max_norm": {"max_norm": 1.0}, "empty": {"offsets": [0, 0, 3]}, "samples": {"samples": [0.5, 1.0, 2.0, 3.0, -1.0]},
        "all_padding": {"places": [2, 2], "offsets": [0], "padding_idx": 2},
    }.items():  # fmt: skip
        CASES[f"bag_{_mode}_{_name}"] = _bag(_mode, **_options)


@case
def bag_layer(s: Side) -> Any:
    layer = s.nn.EmbeddingBag(5, 3, mode="sum", sparse=True, include_last_offset=True).to(s.device)
    s.weighted(layer(s.tensor([1, 2, 4]), s.tensor([0, 1, 3]))).backward()
    return layer.weight.grad


def _gather(dim: int, index: Any) -> Any:
    def run(s: Side) -> Any:
        x = s.weight(3, 4)
        out = s.lib.gather(x, dim, s.tensor(index, dtype=s.lib.int64), sparse_grad=True)
        s.weighted(out).backward()
        return x.grad, type(out.grad_fn).__name__

    return run


for _name, _dim, _index in (
    ("rows", 0, [[0, 1], [2, 2]]), ("columns", 1, [[0, 3], [2, 2], [1, 0]]), ("last", -1, [[3]]), ("none", 1, [[], [], []]),
):  # fmt: skip
    CASES[f"gather_{_name}"] = _gather(_dim, _index)


# -- how they add up --------------------------------------------------------------------------------


@case
def tied_to_a_product(s: Side) -> Any:
    w = s.weight()
    s.weighted(s.F.embedding(s.tensor([1, 2]), w, sparse=True) @ w.t()).backward()
    return w.grad


@case
def several_passes(s: Side) -> Any:
    w = s.weight()
    s.looked_up(w).backward()
    first = w.grad
    s.looked_up(w, [4, 0, 2, 2]).backward()
    return w.grad, first is w.grad


@case
def dense_then_sparse(s: Side) -> Any:
    w = s.weight()
    s.weighted(w).backward()
    s.looked_up(w).backward()
    return w.grad


@case
def sparse_then_dense(s: Side) -> Any:
    w = s.weight()
    s.looked_up(w).backward()
    s.weighted(w).backward()
    return w.grad


@case
def onto_what_was_set(s: Side) -> Any:
    found = []
    for dims in (0, 1):
        w = s.weight()
        w.grad = s.lib.ones(5, 3, device=s.device).to_sparse(dims) if dims else s.lib.ones(5, 3, device=s.device)
        s.looked_up(w).backward()
        found.append(w.grad)
    return found


@case
def of_another_density(s: Side) -> Any:
    w = s.weight()
    w.grad = s.lib.ones(5, 3, device=s.device).to_sparse()
    s.looked_up(w).backward()


@case
def of_another_size(s: Side) -> Any:
    s.weight().grad = s.lib.ones(4, 3, device=s.device).to_sparse()


# -- through other operations -----------------------------------------------------------------------

for _name, _through in {
    "neg": lambda w: -w, "div": lambda w: w / 2, "number": lambda w: w * 3, "scalar": lambda w: w * w.new_tensor(3.0),
    "dense": lambda w: w * (w.detach() + 1), "shift": lambda w: w + 1, "double": lambda w: w + w, "clone": lambda w: w.clone(),
    "tanh": lambda w: w.tanh(), "exp": lambda w: w.exp(), "row": lambda w: w[0] + w.new_zeros(5, 1),
}.items():  # fmt: skip

    def _run(s: Side, through: Any = _through) -> Any:
        w = s.weight()
        v = through(w)
        v.retain_grad()
        s.looked_up(v).backward()
        return v.grad, w.grad

    CASES[f"through_{_name}"] = _run


# -- autograd ---------------------------------------------------------------------------------------


@case
def autograd_grad(s: Side) -> Any:
    w = s.weight()
    return s.lib.autograd.grad(s.looked_up(w), w), w.grad


@case
def only_inputs(s: Side) -> Any:
    w, v = s.weight(), s.weight()
    (s.looked_up(w) + s.looked_up(v)).backward(inputs=[v])
    return w.grad, v.grad


@case
def second_derivatives(s: Side) -> Any:
    w = s.weight()
    loss = (s.F.embedding(s.tensor([1, 2, 2]), w, sparse=True) ** 3).sum()
    (g,) = s.lib.autograd.grad(loss, w, create_graph=True)
    known = g.is_sparse, g.requires_grad, g.is_leaf
    g.to_dense().pow(2).sum().backward()
    return known, w.grad


@case
def recorded_gradients(s: Side) -> Any:
    w = s.weight()
    for _ in range(2):
        (s.F.embedding(s.tensor([1, 2]), w, sparse=True) ** 2).sum().backward(create_graph=True)
    return w.grad


@case
def hooks(s: Side) -> Any:
    found = []
    for change in (lambda g: None, lambda g: g * 2, lambda g: g.coalesce()):
        w, seen = s.weight(), []
        w.register_hook(lambda g, seen=seen, change=change: (seen.append(s.told(g)), change(g))[1])
        s.looked_up(w).backward()
        found.append((seen, w.grad))
    return found


@case
def hook_that_makes_it_dense(s: Side) -> Any:
    w = s.weight()
    w.register_hook(lambda g: g.to_dense())
    s.looked_up(w).backward()


@case
def hook_after_it(s: Side) -> Any:
    w, seen = s.weight(), []
    w.register_post_accumulate_grad_hook(lambda p: seen.append(s.told(p.grad)))
    (s.looked_up(w) + s.looked_up(w)).backward()
    return seen


@case
def hook_of_the_node(s: Side) -> Any:
    w, seen = s.weight(), []
    out = s.F.embedding(s.tensor([1, 2]), w, sparse=True)
    out.grad_fn.register_hook(lambda ins, outs: seen.append(s.told(ins[0])))
    s.weighted(out).backward()
    return seen


@case
def anomaly_mode(s: Side) -> Any:
    w = s.weight()
    with s.lib.autograd.set_detect_anomaly(True):
        s.looked_up(w).backward()
    return w.grad


@case
def frozen_meanwhile(s: Side) -> Any:
    w = s.weight()
    loss = s.looked_up(w)
    w.requires_grad_(False)
    loss.backward()
    return w.grad


# -- what is done with them -------------------------------------------------------------------------


def _with_gradient(s: Side, **options: Any) -> Any:
    w = s.weight(**options)
    s.looked_up(w).backward()
    return w


@case
def forms_of_it(s: Side) -> Any:
    g = _with_gradient(s).grad
    one = g.coalesce()
    return (one, one.indices(), one.values(), g.to_dense(), g.clone(), g.detach(), g._indices(), g._values())


@case
def of_uncoalesced(s: Side) -> Any:
    return _with_gradient(s).grad.indices()


@case
def printed(s: Side) -> Any:
    g = _with_gradient(s).grad
    if s.device != "cpu":
        return "what is printed names the device"
    return (repr(g).replace("rushlight.", "torch."), repr(g.coalesce()).replace("rushlight.", "torch."), tuple(g.shape))


@case
def arithmetic(s: Side) -> Any:
    g = _with_gradient(s).grad
    ones = s.lib.ones(5, 3, device=s.device)
    return (
        g * 2,
        g / 4,
        -g,
        g + g,
        g - g.coalesce(),
        ones + g,
        ones - g,
        g * ones,
        g.abs(),
        g.sqrt(),
        g**2,
        g.norm(),
        g.sum(),
    )


@case
def norms(s: Side) -> Any:
    g = _with_gradient(s).grad
    return g.norm(), g.norm(1), s.lib.norm(g), g.norm(math.inf)


@case
def in_place(s: Side) -> Any:
    w = _with_gradient(s)
    w.grad.mul_(2).div_(4).neg_()
    w.grad += w.grad
    w.grad.data.mul_(3)
    w.grad.detach_()
    return w.grad


@case
def zeroed(s: Side) -> Any:
    w = _with_gradient(s)
    return w.grad.zero_(), s.lib.zeros_like(w.grad)


@case
def sparse_plus_dense(s: Side) -> Any:
    return _with_gradient(s).grad + s.lib.ones(5, 3, device=s.device)


@case
def written_over_a_dense_one(s: Side) -> Any:
    return s.lib.ones(5, 3, device=s.device).copy_(_with_gradient(s).grad)


@case
def not_for_sparse(s: Side) -> Any:
    return _with_gradient(s).grad.exp()


@case
def by_hand(s: Side) -> Any:
    w = _with_gradient(s)
    with s.lib.no_grad():
        w.add_(w.grad, alpha=-0.1)
        w -= 0.1 * w.grad
        w.sub_(w.grad, alpha=0.5)
    w.data.add_(w.grad)
    return w


@case
def zero_grad(s: Side) -> Any:
    found = []
    for to_none in (True, False):
        w = _with_gradient(s)
        s.optim.SGD([w], lr=0.1).zero_grad(set_to_none=to_none)
        found.append(w.grad)
        s.looked_up(w).backward()
        found.append(w.grad)
    return found


@case
def module_zero_grad(s: Side) -> Any:
    net = s.nn.Embedding(5, 3, sparse=True).to(s.device)
    s.weighted(net(s.tensor([1, 2]))).backward()
    net.zero_grad(set_to_none=False)
    return net.weight.grad


for _name, _clip in {
    "norm": lambda s, w: s.nn.utils.clip_grad_norm_([w], 1.0), "inf": lambda s, w: s.nn.utils.clip_grad_norm_([w], 1.0, math.inf),
    "value": lambda s, w: s.nn.utils.clip_grad_value_([w], 1.0),
    "value_apart": lambda s, w: s.nn.utils.clip_grad_value_([w], 1.0, foreach=False),
    "total": lambda s, w: s.nn.utils.get_total_norm([w.grad]),
}.items():  # fmt: skip
    CASES[f"clip_{_name}"] = lambda s, clip=_clip: clip(s, _with_gradient(s))


@case
def copies_and_pickles(s: Side) -> Any:
    w = s.nn.Parameter(s.weight().detach())
    s.looked_up(w).backward()
    g = w.grad
    again = pickle.loads(pickle.dumps(g))
    file = io.BytesIO()
    s.lib.save(g, file)
    file.seek(0)
    return copy.deepcopy(w).grad, copy.deepcopy(g), copy.copy(g), again, s.lib.load(file)


@case
def grad_scaler(s: Side) -> Any:
    w = s.weight()
    optimizer = s.optim.SGD([w], lr=0.1)
    scaler = s.lib.amp.GradScaler(s.device, init_scale=4.0)
    scaler.scale(s.looked_up(w)).backward()
    before = s.told(w.grad)
    scaler.unscale_(optimizer)
    after = s.told(w.grad)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    scaler.scale(s.looked_up(w) * math.inf).backward()
    scaler.step(optimizer)
    scaler.update()
    return before, after, w, scaler.get_scale()


# -- optimisers -------------------------------------------------------------------------------------

_ALL = "SGD Adagrad SparseAdam Adam AdamW Adamax NAdam RAdam RMSprop Rprop ASGD Adadelta Adafactor Muon".split()
_OPTIONS: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in _ALL]
_OPTIONS += [
    ("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "nesterov": True}), ("SGD", {"momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"maximize": True}), ("SGD", {"maximize": True, "momentum": 0.5}), ("SGD", {"weight_decay": 0.1}),
    ("SGD", {"foreach": True}), ("SGD", {"fused": True}), ("SGD", {"differentiable": True}),
    ("Adagrad", {"lr_decay": 0.1}), ("Adagrad", {"initial_accumulator_value": 0.5}), ("Adagrad", {"weight_decay": 0.1}),
    ("Adagrad", {"maximize": True}), ("Adagrad", {"foreach": True}), ("Adagrad", {"fused": True}), ("Adagrad", {"eps": 0.1}),
    ("SparseAdam", {"betas": (0.5, 0.9)}), ("SparseAdam", {"maximize": True}), ("Adam", {"foreach": True}),
    ("Adam", {"fused": True}), ("AdamW", {"amsgrad": True}),
]  # fmt: skip


def _stepped(name: str, options: dict[str, Any]) -> Any:
    def run(s: Side) -> Any:
        if s.device == "cuda" and options.get("fused"):
            return "PyTorch's message is that of the CPU"
        w = s.weight()
        optimizer = getattr(s.optim, name)([w], lr=0.1, **options)
        for places in ([1, 2, 2, 0], [4, 2], [1, 1, 0]):
            optimizer.zero_grad()
            s.looked_up(w, places).backward()
            optimizer.step()
        return w, [(k, s.told(v)) for k, v in optimizer.state[w].items()]

    return run


for _name, _options in _OPTIONS:
    CASES["_".join(["step", _name, *_options])] = _stepped(_name, _options)


@case
def sgd_with_a_tensor_as_rate(s: Side) -> Any:
    w = _with_gradient(s)
    s.optim.SGD([w], lr=s.lib.tensor(0.1)).step()
    return w


@case
def lbfgs(s: Side) -> Any:
    w = s.weight()
    optimizer = s.optim.LBFGS([w], lr=0.1, max_iter=3)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (s.F.embedding(s.tensor([1, 2]), w, sparse=True) ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return w


@case
def dense_and_sparse_together(s: Side) -> Any:
    w, v = s.weight(), s.weight(2, 2)
    optimizer = s.optim.SGD([{"params": [w, v]}, {"params": [s.weight()], "lr": 0.5}], lr=0.1, momentum=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        (s.looked_up(w) + s.weighted(v)).backward()
        optimizer.step()
    return w, v


for _first, _second in ((True, False), (False, True)):
    for _name in ("SGD", "Adagrad", "SparseAdam"):

        def _run(s: Side, first: bool = _first, second: bool = _second, name: str = _name) -> Any:
            w = s.weight()
            options = {"momentum": 0.5} if name == "SGD" else {}
            optimizer = getattr(s.optim, name)([w], lr=0.1, **options)
            for sparse in (first, second):
                optimizer.zero_grad()
                (s.looked_up(w) if sparse else s.weighted(w)).backward()
                optimizer.step()
            return w, [(k, s.told(v)) for k, v in optimizer.state[w].items()]

        CASES[f"switch_{_name}_{'sparse' if _first else 'dense'}_first"] = _run


@case
def state_of_an_optimiser(s: Side) -> Any:
    w = _with_gradient(s)
    optimizer = s.optim.SGD([w], lr=0.1, momentum=0.9)
    optimizer.step()
    file = io.BytesIO()
    s.lib.save(optimizer.state_dict(), file)
    file.seek(0)
    v = _with_gradient(s)
    other = s.optim.SGD([v], lr=0.1, momentum=0.9)
    other.load_state_dict(s.lib.load(file))
    other.step()
    return v, other.state[v]["momentum_buffer"], copy.deepcopy(optimizer).state_dict()["state"]


@case
def refusal_changes_nothing(s: Side) -> Any:
    w = _with_gradient(s)
    optimizer = s.optim.Adam([w], lr=0.1)
    with pytest.raises(RuntimeError):
        optimizer.step()
    return w


# -- sparse tensors that want gradients -------------------------------------------------------------


def _leaf(s: Side, coalesced: bool) -> Any:
    places = [[0, 1, 1], [1, 0, 2]] if coalesced else [[1, 0, 1], [2, 1, 2]]
    made = s.lib.sparse_coo_tensor(s.tensor(places), s.tensor([2.0, 3.0, 4.0]), (2, 3))
    return (made.coalesce() if coalesced else made).requires_grad_()


for _name, _through in {
    "mm": lambda s, x, d: s.lib.sparse.mm(x, d), "addmm": lambda s, x, d: s.lib.sparse.addmm(d.new_ones(2, 2), x, d),
    "dense": lambda s, x, d: x.to_dense(), "twice": lambda s, x, d: (x * 2).to_dense(), "neg": lambda s, x, d: (-x).to_dense(),
    "sum1": lambda s, x, d: s.lib.sparse.sum(x, 1).to_dense(), "sum0": lambda s, x, d: s.lib.sparse.sum(x, 0).to_dense(),
    "times": lambda s, x, d: (x * d.detach().t()).to_dense(), "square": lambda s, x, d: x.pow(2).to_dense(),
    "abs": lambda s, x, d: x.abs().to_dense(), "half": lambda s, x, d: (x / 2).to_dense(),
    "softmax": lambda s, x, d: s.lib.sparse.softmax(x, 1).to_dense(),
}.items():  # fmt: skip
    for _coalesced in (True, False):

        def _run(s: Side, through: Any = _through, coalesced: bool = _coalesced) -> Any:
            x, d = _leaf(s, coalesced), s.weight(3, 2)
            s.weighted(through(s, x, d)).backward()
            return x.grad, d.grad, x.is_leaf

        CASES[f"leaf_{_name}_{_coalesced}"] = _run


@case
def leaf_by_autograd_grad(s: Side) -> Any:
    x, d = _leaf(s, True), s.weight(3, 2)
    return s.lib.autograd.grad(s.weighted(s.lib.sparse.mm(x, d)), [x, d]), x.grad


@case
def leaf_hook(s: Side) -> Any:
    x, seen = _leaf(s, False), []
    x.register_hook(lambda g: seen.append(s.told(g)))
    s.weighted(x.to_dense()).backward()
    return seen


@case
def values_as_leaf(s: Side) -> Any:
    v = s.tensor([2.0, 3.0, 4.0], requires_grad=True)
    x = s.lib.sparse_coo_tensor(s.tensor([[0, 1, 1], [1, 0, 2]]), v, (2, 3))
    known = x.requires_grad, x.is_leaf, x.grad_fn is None
    s.weighted(s.lib.sparse.mm(x, s.weight(3, 2))).backward()
    return known, v.grad


@case
def values_stay_as_they_were(s: Side) -> Any:
    v = s.tensor([2.0, 3.0])
    x = s.lib.sparse_coo_tensor(s.tensor([[0, 1]]), v, (2,), requires_grad=True)
    return x.requires_grad, x.is_leaf, v.requires_grad, x._values().requires_grad


@case
def from_dense_and_back(s: Side) -> Any:
    x = s.weight(3, 2)
    s.weighted((x * 2).to_sparse().to_dense()).backward()
    mask = s.lib.eye(3, device=s.device)[:, :2].to_sparse()
    y = s.weight(3, 2)
    s.weighted(y.sparse_mask(mask).to_dense()).backward()
    return x.grad, y.grad, x.detach().to_sparse(1), x.detach().sparse_mask(mask)


@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name: str, device: str) -> None:
    compare(CASES[name], device)


# -- what PyTorch has no answer for -----------------------------------------------------------------


def test_the_batch_may_be_overwritten_before_the_step(device: str) -> None:
    places = rl.tensor([1, 2], device=device)
    w = rl.zeros(4, 2, device=device).requires_grad_()
    rl.nn.functional.embedding(places, w, sparse=True).sum().backward()
    places.fill_(3)
    assert w.grad._indices().tolist() == [[1, 2]]


def test_the_gradient_shares_no_memory_with_another(device: str) -> None:
    w = rl.zeros(4, 2, device=device).requires_grad_()
    rows = rl.nn.functional.embedding(rl.tensor([1, 2], device=device), w, sparse=True)
    rows.retain_grad()
    (rows * 2).sum().backward()
    w.grad.div_(2)
    assert rows.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def _losses(device: str, name: str, steps: int, compiled: bool = False) -> list[float]:
    rl.manual_seed(0)
    net = rl.nn.Sequential(rl.nn.Embedding(20, 4, sparse=True), rl.nn.Flatten(), rl.nn.Linear(12, 2)).to(device)
    optimizers = [getattr(rl.optim, name)([net[0].weight], lr=0.1), rl.optim.Adam(net[2].parameters(), lr=0.01)]
    batches = [(rl.randint(0, 20, (5, 3)).to(device), rl.randint(0, 2, (5,)).to(device)) for _ in range(steps)]

    def step(x: Any, y: Any) -> Any:
        for o in optimizers:
            o.zero_grad()
        loss = rl.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        for o in optimizers:
            o.step()
        return loss

    run = rl.compile(step) if compiled else step
    found = [float(run(x, y)) for x, y in batches]
    assert net[0].weight.grad.is_sparse
    return found


@pytest.mark.parametrize("name", ["SGD", "SparseAdam", "Adagrad"])
def test_a_compiled_step_says_why_it_runs_eagerly(name: str, device: str) -> None:
    with pytest.warns(UserWarning, match="(runs eagerly|is traced), because it makes or uses a sparse tensor"):
        compiled = _losses(device, name, 4, compiled=True)
    assert compiled == _losses(device, name, 4)


@pytest.mark.parametrize("name", ["SGD", "SparseAdam"])
def test_a_traced_loop_is_the_loop(name: str, device: str) -> None:
    plain = _losses(device, name, 25)
    before = tracing(True)
    try:
        assert _losses(device, name, 25) == plain
    finally:
        tracing(before)


@pytest.mark.parametrize("name", ["SGD", "SparseAdam", "Adagrad"])
@pytest.mark.parametrize("way", ["read", "added up", "kept", "gathered"])
def test_sparse_gradients_in_a_traced_loop(name: str, way: str, device: str) -> None:
    """What is read between `backward()` and `step()`, and what `backward()` finds, is a sparse gradient."""

    def program() -> Any:
        table = rl.randn(20, 4).to(device).requires_grad_()
        head = rl.nn.Linear(4, 2).to(device)
        rules = [getattr(rl.optim, name)([table], lr=0.1), rl.optim.SGD(head.parameters(), lr=0.1)]
        seen = []
        for i in range(24):
            ids = rl.randint(0, 20, (5,)).to(device)
            if way != "added up" or i % 2 == 0:
                for rule in rules:
                    rule.zero_grad(set_to_none=way != "kept")
            if way == "gathered":
                rows = rl.gather(table, 0, ids[:, None].expand(5, 4), sparse_grad=True)
            else:
                rows = rl.nn.functional.embedding(ids, table, sparse=True)
            loss = head(rows).pow(2).mean()
            loss.backward()
            if way == "read":
                seen.append(loss.item())
            if way != "added up" or i % 2:
                for rule in rules:
                    rule.step()
            seen.append(table.detach().sum().item())
        return seen, table.detach()

    both(program, replays=0)


@pytest.mark.parametrize("kind", ["masked", "nested", "sparse", "meta"])
def test_arguments_that_no_program_can_hold(kind: str) -> None:
    """A compiled function runs as it is where an argument has no memory of its own, whatever came before."""

    def made(value: float) -> Any:
        x = rl.full((3, 4), value)
        if kind == "masked":
            return rl.masked.masked_tensor(x, x > 0)
        if kind == "nested":
            return rl.nested.nested_tensor([x, x[:2]])
        return x.to_sparse() if kind == "sparse" else x.to("meta")

    step = rl.compile(lambda x: x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in (1.0, 1.0, 1.0, 2.0, 3.0):
            found = step(made(value))
            assert found.__class__ is (made(value) * 2).__class__ and found.dtype is rl.float32
            if kind == "sparse":
                assert found.to_dense().tolist() == [[2 * value] * 4] * 3
    assert not step.replays and "without memory of its own" in str(step.why())


def test_sparse_adam_refuses_dense_gradients_before_it_changes_anything() -> None:
    table, dense = rl.nn.Embedding(4, 2, sparse=True), rl.nn.Linear(2, 1)
    opt = rl.optim.SparseAdam([*table.parameters(), *dense.parameters()], lr=0.1)
    before = table.weight.detach().clone()
    dense(table(rl.tensor([1, 2]))).sum().backward()
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        opt.step()
    assert rl.equal(table.weight, before) and not opt.state
