"""vmap over every row of the op table, beside a loop over samples: values, gradients inside of it and through it."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from optable import Row, all_rows, call, seeded
from rushlight.base.trees import tree_flatten
from rushlight.core.tensor import Tensor, wrap
from rushlight.functorch.experimental import chunk_vmap
from rushlight.operators import load_all
from rushlight.runtime.batch import arrays
from side_by_side import agree

load_all()
arrays.open_batched()

SAMPLES = 3
ROWS = [r for r in all_rows() if not r.nondet and r.specs()]
GROUPS: dict[str, list[Row]] = {}  # by the first letter of their names: one test for each row costs more than the row
for _row in ROWS:
    GROUPS.setdefault(_row.name.split(".")[-1][0].lower(), []).append(_row)
MOST = 2  # rows of one name, for the sake of time; all of them by hand


def made(row: Row, which: int) -> list[np.ndarray]:
    rng = seeded((zlib.crc32(repr(row).encode()) + 7919 * which) & 0x7FFFFFFF)
    return [spec.make(rng, "float64") for spec in row.specs()]


def masks(count: int) -> list[tuple[bool, ...]]:
    """Which arguments are mapped over: all, the first, the last."""
    found = [(True,) * count]
    if count > 1:
        found += [tuple(i == 0 for i in range(count)), tuple(i == count - 1 for i in range(count))]
    return found


def tensors(out: Any) -> list[Tensor]:
    return [x for x in tree_flatten(out)[0] if isinstance(x, Tensor)]


def total(outs: list[Tensor]) -> Any:
    return sum((o.abs() ** 2).sum() if o.is_complex() else (o * o).sum() for o in outs)


def function(row: Row, inside: bool) -> Any:
    """The row as a function of its tensors, or that of its gradients."""
    specs = row.specs()

    def value(*ts: Tensor) -> tuple:
        return tuple(tensors(call(rl, row, list(ts))))

    def gradients(*ts: Tensor) -> tuple:
        leaves = [t.detach().requires_grad_() if s.grad and t.is_floating_point() else t for s, t in zip(specs, ts)]
        outs = [o for o in value(*leaves) if o.requires_grad]
        wanted = [t for t in leaves if t.requires_grad]
        if not outs or not wanted:
            return (ts[0].sum(),)
        return tuple(rl.autograd.grad(total(outs), wanted, allow_unused=True, materialize_grads=True))

    return gradients if inside else value


def outcome(row: Row, mask: tuple[bool, ...], mode: str, together: bool) -> Any:
    numbers = [made(row, i) for i in range(SAMPLES)]
    given = [np.stack([n[k] for n in numbers]) if m else numbers[0][k] for k, m in enumerate(mask)]
    args = [wrap(np.array(a)) for a in given]
    if mode == "through":
        args = [a.requires_grad_() if s.grad and a.is_floating_point() else a for s, a in zip(row.specs(), args)]
    run = function(row, mode == "inside")
    if together:
        outs = rl.func.vmap(run, tuple(0 if m else None for m in mask))(*args)
    else:
        # Copies: what reads memory as it lies is to see that of one sample.
        each = [run(*[a[i].clone() if m else a for a, m in zip(args, mask)]) for i in range(SAMPLES)]
        outs = tuple(rl.stack(column) for column in zip(*each))
    if mode == "through":
        outs = [o for o in outs if o.requires_grad]
        leaves = [a for a in args if a.requires_grad]
        return rl.autograd.grad(total(outs), leaves, allow_unused=True, materialize_grads=True) if outs else ()
    return outs


def compare(row: Row, mask: tuple[bool, ...], mode: str) -> None:
    try:
        want = outcome(row, mask, mode, together=False)
    except Exception:
        return  # samples of other sizes, or no derivative
    got = outcome(row, mask, mode, together=True)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.dtype == b.dtype and a.shape == b.shape
        a, b = (t.detach().resolve_conj().numpy() for t in (a, b))
        np.testing.assert_allclose(a, b, 1e-9, 1e-9, err_msg=f"{row!r} {mask} {mode}")


@pytest.mark.parametrize("group", sorted(GROUPS))
@pytest.mark.filterwarnings("ignore")
def test_rows(group: str) -> None:
    seen: dict[str, int] = {}
    for row in GROUPS[group]:
        seen[row.name] = seen.get(row.name, 0) + 1
        if seen[row.name] > MOST:
            continue
        for mask in masks(len(row.specs())):
            compare(row, mask, "values")
            if row.grad and any(s.grad for s in row.specs()):
                compare(row, mask, "inside")
                compare(row, mask, "through")


# -- beside PyTorch -----------------------------------------------------------------------------

SETUP = """
func = torch.func
torch.manual_seed(0)
x = torch.randn(4, 3)
w = torch.randn(3, requires_grad=True)
"""

SAME = {
    "a shared result": "y = func.vmap(lambda a: ((e := w.exp()) * a, e))(x)\n"
    "r = torch.autograd.grad((y[0] ** 2).sum() + (y[1] ** 3).sum(), w)",
    "a gradient inside, one outside": "g = func.vmap(func.grad(lambda a: ((a * w) @ w).sin()))(x)\n"
    "r = torch.autograd.grad((g**2).sum(), w)",
    "steps inside": """
def task(p, a):
    step = func.grad(lambda q: ((a @ q) @ q.T).pow(2).sum())(p)
    return ((a @ (p - 0.1 * step)) ** 2).sum()
p = torch.randn(3, 2, requires_grad=True)
r = torch.autograd.grad(func.vmap(task, (None, 0))(p, x.unsqueeze(1)).sum(), p)
""",
    "maps in maps": "r = func.vmap(lambda a: func.vmap(lambda b: (a * b * w).sum())(x))(x)",
    "maps in maps, a gradient": "y = func.vmap(lambda a: func.vmap(lambda b: (a * b * w).sum().tanh())(x))(x)\n"
    "r = torch.autograd.grad(y.sum(), w)",
    "chunks": "r = func.vmap(lambda a: a * 2, chunk_size=3)(x), func.vmap(lambda a, b: (a.sum(), b), chunk_size=2)(x, x)",
    "a bad chunk": "r = func.vmap(torch.sin, chunk_size=0)(x)",
    "chunks draw the same": "r = func.vmap(lambda a: a + torch.rand_like(a), randomness='same', chunk_size=3)(x)",
    "an argument comes back": "r = [func.vmap(f, d, d)(x) is x for d in (0, 1) for f in (lambda a: a, torch.Tensor.sin_, torch.sin)]",
    "shared by keyword": "r = func.vmap(lambda a, b: a.sum() * b)(x, b=w), func.vmap(lambda a, b: a.sum() * b, chunk_size=2)(x, b=x)",
    "places": "r = func.vmap(lambda a, b: a @ b, (1, None), 1)(x, x).shape, func.vmap(lambda a: a.T, 2, 2)(torch.ones(2, 3, 4)).shape",
    "written into": "r = func.vmap(lambda a: a.clone().mul_(2).add_(w.detach()))(x)",
    "made beside it, and written into": "def f(a):\n    out = torch.zeros_like(a)\n    out[1] = a[0]\n    b = a.new_zeros(2)\n"
    "    b[0] = a.sum()\n    return out, b\nr = func.vmap(f)(x)",
    "the argument written into": "y = x.clone()\nfunc.vmap(lambda a: a.mul_(3))(y)\nr = y",
    "picked": "i = torch.tensor([2, 0, 1, 1])\nr = func.vmap(lambda a, j: a[j])(x, i), func.vmap(lambda a: a[i])(x), "
    "func.vmap(lambda j: x[0][j])(i.view(2, 2))",
    "labels": "t = torch.tensor([0, 2, 1, 1])\nr = func.vmap(func.grad(lambda a, k: F.cross_entropy(a.unsqueeze(0), "
    "k.unsqueeze(0))))(x, t)",
    "a Jacobian": "r = func.jacrev(lambda a: (a**2).sum(1))(x), func.jacrev(lambda a: a.sin(), chunk_size=5)(x)",
    "a Hessian": "r = func.hessian(lambda a: (a**3).sum() * a[0])(x[0])",
    "rows of a Jacobian by maps": "y = torch.stack([w.sin().sum(), (w**2).sum()])\n"
    "r = func.vmap(lambda v: torch.autograd.grad(y, w, v, retain_graph=True)[0])(torch.eye(2))",
    "batched gradients": "y = w.exp()\nr = torch.autograd.grad(y, w, torch.eye(3), is_grads_batched=True)",
    "batched gradients of what was written by strides": "y = w * 2\ny.as_strided((2,), (2,)).mul_(w[0])\n"
    "r = torch.autograd.grad(y, w, torch.eye(3), is_grads_batched=True)",
    "batched gradients of what was written through views": "y = (x.requires_grad_() * 2).reshape(2, 6)\ny[:, 0].mul_(x[1:3, 0])\n"
    "y.t().view(6, 2)[1].copy_(x[:2, 1])\nr = torch.autograd.grad(y, x, torch.eye(12).view(12, 2, 6), is_grads_batched=True)",
    "batched gradients by strides": "y = w.exp().as_strided((2, 2), (1, 1))\n"
    "r = torch.autograd.grad(y, w, torch.eye(4).view(4, 2, 2), is_grads_batched=True)",
    "parts written along another dim": "def h(y, w):\n    y.view(3, 1)[1].add_(w[0])\n    y[0:2].mul_(w[1])\n    return y * 1\n"
    "y = (x * 2).t().contiguous().requires_grad_()\nr = func.vmap(h, (1, None))(y * 1, w)\n"
    "r = r, torch.autograd.grad((r**2).sum(), (y, w))",
    "drawn": "def f(a):\n    return a + torch.randn(3)\nr = func.vmap(f, randomness='different')(x) - x, torch.rand(1)",
    "drawn once": "def f(a):\n    return a * 0 + torch.randn(3)\nr = func.vmap(f, randomness='same')(x)",
    "not drawn": "r = func.vmap(lambda a: a + torch.randn(3))(x)",
    "called once": "calls = []\nfunc.vmap(lambda a: calls.append(1) or a)(x)\nr = calls",
    "an ensemble": "nets = [nn.Sequential(nn.Conv1d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(4, 2)) for _ in range(3)]\n"
    "params, buffers = func.stack_module_state(nets)\n"
    "def f(p, b, a):\n    return func.functional_call(nets[0], (p, b), (a,))\n"
    "r = func.vmap(f, (0, 0, None))(params, buffers, x.unsqueeze(1))",
    "gradients of each row": "net = nn.Sequential(nn.Conv1d(1, 2, 2), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(2, 2))\n"
    "p = {k: v.detach() for k, v in net.named_parameters()}\n"
    "def f(p, a):\n    return func.functional_call(net, p, (a[None, None],)).pow(2).sum()\n"
    "r = func.vmap(func.grad(f), (None, 0))(p, x)",
}


@pytest.mark.parametrize("name", SAME)
def test_as_in_torch(name: str) -> None:
    agree(SETUP + SAME[name])


@pytest.mark.parametrize("chunks", [1, 2, 5])
def test_chunks_by_their_number(chunks: int) -> None:
    x = rl.arange(12.0).reshape(4, 3)
    assert chunk_vmap(rl.cumsum, (1, None), 1, chunks=chunks)(x, 0).tolist() == rl.cumsum(x, 0).tolist()


def test_values_are_asked_for() -> None:
    """PyTorch refuses this; here the function is called for each sample, unless all of them answer the same."""
    x = rl.tensor([[1.0, -2.0], [3.0, 4.0]])
    got = rl.func.vmap(lambda a: a if a.sum() > 0 else -a)(x)
    assert got.tolist() == [[-1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("how", ["whole", "part", "given"])
def test_what_all_samples_share_cannot_hold_the_values_of_each(how: str) -> None:
    """PyTorch's RuntimeError; a tensor that the function makes for itself is made for each sample."""
    shared, x = rl.ones(3), rl.arange(6.0).reshape(2, 3)

    def write(a: Any, w: Any) -> Any:
        if how == "part":
            shared[0] = a[0]
        else:
            (w if how == "given" else shared).add_(a)
        return a * 2

    with pytest.raises(RuntimeError, match="all samples share"):
        rl.func.vmap(write, (0, None))(x, shared)
    assert shared.tolist() == [1.0, 1.0, 1.0] and shared._version == 0

    def own(a: Any) -> Any:
        y = rl.zeros(3)
        y[0] = a[0]
        return y + a

    assert rl.func.vmap(own)(x).tolist() == [[0.0, 1.0, 2.0], [6.0, 4.0, 5.0]]


def test_a_hook_sees_the_whole_gradient() -> None:
    seen: list[Any] = []
    w = rl.ones(2, requires_grad=True)
    w.register_hook(lambda g: seen.append(g.tolist()))
    rl.func.vmap(lambda a: (a * w).sum())(rl.ones(3, 2)).sum().backward()
    assert seen == [[3.0, 3.0]] and w.grad is not None and w.grad.tolist() == [3.0, 3.0]


def test_a_function_of_ones_own() -> None:
    class Twice(rl.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            return g * w, g * x

    w = rl.tensor([2.0, 3.0], requires_grad=True)
    x = rl.arange(6.0).reshape(3, 2)
    out = rl.func.vmap(lambda a: (Twice.apply(a, w), w * 1))(x)
    (got,) = rl.autograd.grad(out[0].sum() + out[1].sum(), w)
    assert got.tolist() == [6.0 + 3, 9.0 + 3]


class Rows(rl.autograd.Function):
    """Its `vmap` shows by what it adds that it was called."""

    told: list[Any] = []

    @staticmethod
    def forward(scale: float, rows: Any, named: Any) -> Any:
        return {"first": rows[0] * scale, "rest": (named["x"] + rows[1], rows[1])}

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def vmap(info: Any, in_dims: Any, scale: float, rows: Any, named: Any) -> Any:
        Rows.told.append((in_dims, info.batch_size, tuple(rows[0].shape)))
        made = {"first": rows[0] * scale + 100, "rest": ((named["x"] + rows[1]).movedim(0, 1), rows[1])}
        return made, {"first": 0, "rest": (1, 0)}


def test_a_function_that_maps_itself_finds_its_samples_in_containers() -> None:
    Rows.told.clear()
    x, w = rl.arange(6.0).reshape(3, 2), rl.ones(2)
    got = rl.func.vmap(lambda a: Rows.apply(2.0, (a, w), {"x": a}))(x)
    assert Rows.told == [((None, (0, None), {"x": 0}), 3, (3, 2))]
    assert got["first"].tolist() == (x * 2 + 100).tolist() and got["rest"][0].tolist() == (x + 1).tolist()
    assert got["rest"][1].tolist() == [[1.0, 1.0]] * 3  # an input that is returned was never mapped


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (lambda x: x, "Got a <class .*> instead"),
        (lambda x: (x, 0, 0), "Got 3 returns instead"),
        (lambda x: ((x, x), (0, 0, 0)), "incompatible .output, out_dims. tuple"),
    ],
)
def test_what_a_functions_vmap_may_not_answer(told: Any, words: str) -> None:
    wrong = type(
        "Wrong", (Rows,), {"forward": staticmethod(lambda x: x), "vmap": staticmethod(lambda i, d, x: told(x))}
    )
    with pytest.raises(RuntimeError, match=words):
        rl.func.vmap(wrong.apply)(rl.ones(3))
