"""What exists twice does the same twice: the op table through C and through Python, codes of C and Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from optable import Row, all_rows, call, flat
from rushlight.core.op import IN_PYTHON, native
from rushlight.core.tensor import Tensor, wrap
from rushlight.operators import load_all
from rushlight.operators.index import brackets
from rushlight.runtime.cpu import engine, joins
from twins import in_python

load_all()
ROWS = all_rows()
NATIVE = Path(engine.__file__).parent / "native"
in_c = pytest.mark.skipif("rushlight.core._call" not in sys.modules, reason="the C extension is not built here")


def _inputs(row: Row, grad: bool) -> list[Any]:
    made = [wrap(np.array(a)) for a in row.arrays("float64")]
    wanted = [grad and spec.grad and row.grad for spec in row.specs()]
    return [t.requires_grad_() if want else t for t, want in zip(made, wanted)]


def _told(t: Any) -> Any:
    """Everything of a result that a user could see."""
    if not isinstance(t, Tensor):
        return t
    node = t.grad_fn
    edges = None if node is None else [n and n.name() for n, _ in node.next_functions]
    array = t.detach().resolve_conj().numpy()
    seen = (t.dtype, tuple(t.shape), t.stride(), t.requires_grad, t._version, t._is_view())
    return (*seen, t.is_inference(), node and node.name(), edges, array.tobytes())


def _gradients(outs: list[Any], ins: list[Any]) -> list[Any]:
    live = [o for o in outs if isinstance(o, Tensor) and o.requires_grad]
    wanted = [t for t in ins if t.requires_grad]
    if not live or not wanted:
        return []
    loss = sum((o.abs() if o.is_complex() else o * 1.5).sum() for o in live)
    return list(rl.autograd.grad(loss, wanted, allow_unused=True))


def _run(row: Row, mode: Callable[[], Any] | None) -> list[Any]:
    rl.manual_seed(7)
    ins = _inputs(row, grad=True)
    try:
        if mode is None:
            outs = flat(call(rl, row, ins))
        else:
            with mode():
                outs = flat(call(rl, row, ins))
    except RuntimeError as error:  # in place on a leaf, a view of one: refused by both alike
        return [type(error), str(error)]
    return [_told(t) for t in (*outs, *ins, *_gradients(outs, ins))]


def _same(row: Row, mode: Callable[[], Any] | None = None) -> None:
    _run(row, mode)  # kernels are bound, derivatives compiled
    ours = _run(row, mode)
    with in_python():
        theirs = _run(row, mode)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a == b or (a != a and b != b)


@in_c
@pytest.mark.parametrize("row", ROWS, ids=[repr(r) for r in ROWS])
def test_a_row_is_the_same_in_c_and_in_python(row: Row) -> None:
    """Values to the last bit, dtypes, strides, names of nodes and of those before them, gradients."""
    _same(row)


@in_c
@pytest.mark.parametrize("mode", [rl.no_grad, rl.inference_mode, lambda: rl.autocast("cpu")])
def test_rows_are_the_same_in_every_mode(mode: Callable[[], Any]) -> None:
    for row in ROWS[::7]:
        _same(row, mode)


@contextmanager
def _frames_of_python_calls() -> Iterator[list[str]]:
    """The ops whose call came to Python."""
    seen: list[str] = []
    code = IN_PYTHON[0].__code__

    def notice(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code is code:
            seen.append(frame.f_locals["self"].name)

    sys.setprofile(notice)
    try:
        yield seen
    finally:
        sys.setprofile(None)


@in_c
def test_usual_calls_stay_in_c() -> None:
    """A twin that gave every call back would be equal, too."""
    x, y = rl.randn(3, 4, requires_grad=True), rl.randn(3, 4, requires_grad=True)

    def work() -> None:
        z = (x + y) * x.relu() - y.sum(1, keepdim=True)
        z = z @ y.t() + rl.cat([x, y]).softmax(1).max(1)[0].view(2, 3).mean()
        rl.autograd.grad(z.sum(), (x, y))

    def modes() -> None:
        with rl.no_grad():
            _ = (x + y).exp().sum()
        with rl.inference_mode():
            _ = (x + y).exp().sum()
        with rl.autocast("cpu"):
            _ = (x @ y.t() + 1).exp().sum()

    work(), modes()
    with _frames_of_python_calls() as seen:
        work(), modes()
    assert seen == []
    with in_python(), _frames_of_python_calls() as seen:
        work()
    assert "add" in seen


def test_chains_have_room_for_as_many_steps_as_passes_join() -> None:
    text = (NATIVE / "bind_fused.c").read_text()
    for name in ("MOST_STEPS", "MOST_INPUTS"):
        assert f"#define {name} {getattr(joins, name)}\n" in text


@in_c
def test_brackets_are_read_in_c_as_in_python() -> None:
    """A thousand indices of all kinds, drawn; what C leaves to Python is answered by None."""
    r = np.random.RandomState(7)
    x = rl.arange(24.0).reshape(2, 3, 4)
    ends = [None, 0, 1, 2, -1, -3, 7]
    draws: list[Callable[[int], Any]] = [
        lambda dim: int(r.randint(-2, 2)),
        lambda dim: slice(*[ends[r.randint(len(ends))] for _ in range(2)], [None, 1, 2][r.randint(3)]),
        lambda dim: None,
        lambda dim: Ellipsis,
        lambda dim: rl.tensor([0, 1]),
        lambda dim: rl.tensor(int(r.randint(-2, 2))),
        lambda dim: rl.tensor(r.rand(x.shape[min(dim, 2)]) > 0.4),
        lambda dim: True,
        lambda dim: [0, 1],
        lambda dim: np.int64(1),
    ]
    left = 0
    for _ in range(1000):
        n = r.randint(1, 5)
        index: Any = tuple([draws[r.randint(len(draws))](dim) for dim in range(n)])
        index = index[0] if n == 1 and r.rand() < 0.5 else index
        found = native.split_brackets(x, index)
        left += found is None
        if found is not None:
            expected = brackets._read(x, index)
            assert tuple(found)[:4] == tuple(expected)[:4], index
            assert all(a is b for a, b in zip(found[4], expected.picks, strict=True)), index
    assert left < 800
    for wrong in ((0, 0, 0, 0), 2, slice(None, None, -1), slice(2**70, None, 0), rl.tensor([0.5])):
        assert native.split_brackets(x, wrong) is None
    with pytest.raises(TypeError):
        native.split_brackets(x)
    with pytest.raises(TypeError):
        native.bracketed([1])
