"""Every row of the op table, checked in every way the row allows."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from optable import Row, T, all_rows, call, flat, resolve, seeded, substitute
from rushlight.core.op import OPS
from rushlight.core.tensor import wrap
from rushlight.operators import load_all
from rushlight.runtime import door

load_all()

ROWS = all_rows()
GRAD_ROWS = [r for r in ROWS if r.grad and any(s.grad for s in r.specs())]
TOLERANCE = {"float64": 1e-9, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


@pytest.fixture(autouse=True, scope="module")
def _in_float32():
    """The oracle computes on the CPU, without TF32, which cuDNN uses by default."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rl.backends.cudnn, "allow_tf32", False)
        yield


def rows(which: list[Row]) -> Any:
    return pytest.mark.parametrize("row", which, ids=[repr(r) for r in which])


@functools.cache
def oracle() -> Any:
    return pytest.importorskip("torch")


def oracle_of(row: Row, gradients: bool = False) -> Any:
    """PyTorch, where it is new enough for the row."""
    torch = oracle()
    reason = row.too_old(torch.__version__, gradients)
    if reason is not None:
        pytest.skip(reason)
    return torch


def tensors(row: Row, dtype: str = "float64", device: str = "cpu", grad: bool = False) -> list:
    made = []
    for spec, a in zip(row.specs(), row.arrays("float32" if dtype == "bfloat16" else dtype)):
        t = wrap(np.array(a)).to(device)
        if dtype == "bfloat16" and spec.dtype == "float":
            t = t.to(rl.bfloat16)
        made.append(t.requires_grad_() if grad and spec.grad else t)
    return made


def torch_tensors(row: Row, dtype: str = "float64", grad: bool = False) -> list:
    torch = oracle()
    made = []
    for spec, a in zip(row.specs(), row.arrays("float32" if dtype == "bfloat16" else dtype)):
        t = torch.from_numpy(np.array(a))
        if dtype == "bfloat16" and spec.dtype == "float":
            t = t.to(torch.bfloat16)
        made.append(t.requires_grad_() if grad and spec.grad else t)
    return made


def host(t: Any) -> np.ndarray:
    t = t.detach().cpu()
    if "bfloat16" in str(t.dtype):
        t = t.float()
    if getattr(t, "is_conj", None) is not None and t.is_conj():
        t = t.resolve_conj()
    return t.numpy()


def assert_same(row: Row, ours: Any, theirs: Any, dtype: str) -> None:
    got, want = flat(ours), flat(theirs)
    assert len(got) == len(want)
    tol = row.tol or TOLERANCE[dtype]
    if dtype in ("float16", "bfloat16"):
        tol = max(tol, TOLERANCE[dtype])
    for g, w in zip(got, want):
        if not hasattr(w, "detach"):
            assert g == w or np.allclose(g, w), (g, w)
            continue
        assert tuple(g.shape) == tuple(w.shape)
        assert str(g.dtype).split(".")[1] == str(w.dtype).split(".")[1]
        if row.compare is not None:
            row.compare(host(g), host(w))
        elif not row.nondet:
            near = max(tol, TOLERANCE.get(str(w.dtype).split(".")[1], 0))  # a row may ask for a dtype
            np.testing.assert_allclose(host(g), host(w), rtol=near, atol=near, equal_nan=True)


CASES = [(r, d) for r in ROWS for d in r.dtypes]


@pytest.mark.parametrize("row,dtype", CASES, ids=[f"{r}-{d}" for r, d in CASES])
def test_forward_agrees_with_torch(row: Row, dtype: str, device: str) -> None:
    torch = oracle_of(row)
    if len(row.specs()) == 0 and device != "cpu":
        pytest.skip("no tensor argument")
    if device != "cpu" and (row.id or "").startswith("bytes"):
        pytest.skip("PyTorch resizes bytes in whole numbers on the CPU alone")
    theirs = call(torch, row, torch_tensors(row, dtype))
    assert_same(row, call(rl, row, tensors(row, dtype, device)), theirs, dtype)


def gradients(lib: Any, row: Row, ins: list) -> list:
    outs = [o for o in flat(call(lib, row, ins)) if hasattr(o, "requires_grad") and o.requires_grad]
    rng = seeded(7)
    loss = None
    for o in outs:
        w = rng.uniform(0.5, 1.5, tuple(o.shape))
        weight = (wrap(w).to(o.device) if lib is rl else lib.from_numpy(w)).to(
            o.dtype if not o.is_complex() else (lib.float64)
        )
        term = ((o.abs() if o.is_complex() else o) * weight).sum()
        loss = term if loss is None else loss + term
    wanted = [t for s, t in zip(row.specs(), ins) if s.grad]
    if loss is None:
        return [None for _ in wanted]
    return list(lib.autograd.grad(loss, wanted, allow_unused=True))


@rows(GRAD_ROWS)
def test_backward_agrees_with_torch(row: Row, device: str) -> None:
    if row.nondet:
        pytest.skip("random result")
    torch = oracle_of(row, gradients=True)
    want = gradients(torch, row, torch_tensors(row, grad=True))
    got = gradients(rl, row, tensors(row, device=device, grad=True))
    for g, w in zip(got, want):
        if w is None or g is None:
            for other in (g, w):
                assert other is None or not np.any(host(other))
            continue
        assert tuple(g.shape) == tuple(w.shape)
        np.testing.assert_allclose(host(g), host(w), rtol=row.tol or 1e-7, atol=row.tol or 1e-8)


def _function_of_inputs(row: Row, ins: list) -> tuple[Any, list]:
    """The row as a function of its differentiable inputs alone."""
    free = [i for i, s in enumerate(row.specs()) if s.grad]

    def fn(*xs: Any) -> Any:
        full = list(ins)
        for i, x in zip(free, xs):
            full[i] = x
        return call(rl, row, full)

    return fn, [ins[i] for i in free]


SMALL = [
    r
    for r in GRAD_ROWS
    if not r.nondet
    and all(s.dtype != "complex" for s in r.specs())
    and sum(int(np.prod(s.shape)) for s in r.specs() if s.grad) <= 60
]


@rows(SMALL)
def test_first_derivative_is_numeric(row: Row) -> None:
    fn, ins = _function_of_inputs(row, tensors(row, grad=True))
    rl.autograd.gradcheck(fn, ins, atol=1e-4)


@rows([r for r in SMALL if r.second])
def test_second_derivative_is_numeric(row: Row) -> None:
    fn, ins = _function_of_inputs(row, tensors(row, grad=True))
    rl.autograd.gradgradcheck(fn, ins, atol=1e-4)


def strided(a: np.ndarray) -> np.ndarray:
    """The same values in memory that is neither contiguous nor in order."""
    wide = np.zeros((*a.shape[::-1], 2), a.dtype)
    wide[..., 0] = a.transpose()
    return wide[..., 0].transpose()


LAYOUT = (
    "Tensor.view", "Tensor.view_as", "view_copy", "view_as_real", "view_as_complex", "as_strided",
    "as_strided_scatter",
)  # fmt: skip


@rows([r for r in ROWS if any(len(s.shape) for s in r.specs())])
def test_strided_inputs_give_the_same(row: Row, device: str) -> None:
    if row.nondet or row.name in LAYOUT:
        pytest.skip("random, or needs a layout")
    plain = call(rl, row, tensors(row, "float64", device))
    odd = [wrap(strided(a)) for a in row.arrays("float64")]
    if device == "cpu":
        ins = odd
    else:
        ins = [t.to(device) for t in odd]
    for g, w in zip(flat(call(rl, row, ins)), flat(plain)):
        if hasattr(w, "detach"):
            np.testing.assert_allclose(host(g), host(w), rtol=1e-9, atol=1e-11)


@rows([r for r in ROWS if r.inplace])
def test_inplace_form(row: Row, device: str) -> None:
    want = call(rl, row, tensors(row, "float64", device))
    ins = tensors(row, "float64", device)
    first = ins[0]
    version = first._version
    rest = list(ins)
    args = substitute(row.args, rest)
    kwargs = substitute(row.kwargs, rest)
    name = row.name.rsplit(".", 1)[-1] + "_"
    got = getattr(args[0], name)(*args[1:], **kwargs)
    assert got is first and first._version > version
    np.testing.assert_allclose(host(got), host(want), rtol=1e-12)


@rows([r for r in ROWS if r.out])
def test_out_form(row: Row, device: str) -> None:
    want = flat(call(rl, row, tensors(row, "float64", device)))
    room = [rl.empty(0, dtype=w.dtype, device=device) for w in want]
    rest = tensors(row, "float64", device)
    args = substitute(row.args, rest)
    kwargs = substitute(row.kwargs, rest)
    fn = resolve(rl, row.name)
    out = fn(*args, **kwargs, out=room[0] if len(room) == 1 else tuple(room))
    for g, w, r in zip(flat(out), want, room):
        assert g is r
        np.testing.assert_allclose(host(g), host(w), rtol=1e-12)


@rows([r for r in ROWS if r.meta and r.specs()])
def test_meta_rule_equals_result(row: Row) -> None:
    want = flat(call(rl, row, tensors(row)))
    got = flat(call(rl, row, [t.to("meta") for t in tensors(row)]))
    for g, w in zip(got, want):
        if hasattr(w, "detach"):
            assert (g.shape, g.dtype, g.device.type) == (w.shape, w.dtype, "meta")


def test_rows_say_which_pytorch_they_need() -> None:
    older = {repr(r) for r in ROWS if r.too_old("2.11.0+cu130") or r.too_old("2.11.0+cu130", True)}
    assert {name.split("(")[0].split("-")[0] for name in older} == {
        "F.interpolate", "Tensor.narrow_copy", "aminmax", "narrow_copy",
    }  # fmt: skip
    assert not any(r.too_old("2.13.0") or r.too_old("2.13.0", True) for r in ROWS)
    row = Row("narrow_copy", T(3, 4), 0, 1, 2, _grad_since="2.13")
    assert row.too_old("2.11.0") is None
    assert row.too_old("2.9.1", gradients=True) == ("PyTorch differentiates this from 2.13 on; here is 2.9.1")


def test_every_op_has_a_row() -> None:
    """Run the table until every op was called: its rows and their derivatives first, then second derivatives."""
    seen: set[str] = set()

    def listen(kernel: Any, arrays: Any, attrs: Any, run: Any) -> Any:
        seen.add(kernel.name)
        return run()

    tape_only = {"copy_slices", "copied", "drawn", "filled", "zeroed", "lay_out"}
    tested_elsewhere = {"attention", "attention_grad", "cast", "move"}  # test_attention_fused.py
    tested_elsewhere |= {"masked_attention", "masked_attention_grad"}  # test_attention_fused.py
    tested_elsewhere |= {"seen_attention", "seen_attention_grad"}  # test_attention_fused.py, engine_cases.py
    tested_elsewhere |= {"linear_grads", "linear_two_grads", "linear_all_grads", "conv_grads"}  # test_joined_grads.py
    tested_elsewhere |= {"embedding_sparse", "gather_sparse"}  # test_sparse_gradients.py
    tested_elsewhere |= {"add_scaled", "baddbmm"}  # of half precision: test_half_numbers.py
    tested_elsewhere |= {"batch_norm_learn"}  # test_batch_norm_learn.py
    tested_elsewhere |= {"dropout", "dropout_grad"}  # of the GPU: emulated_joins.py, test_layers.py
    # What the GPU's library computes: test_recurrent_stack.py, test_recurrent_cuda.py
    tested_elsewhere |= {"rnn_stack", "rnn_stack_grad", "rnn_weights", "rnn_weights_grad"}
    tested_elsewhere |= {"geqrf"}  # of the CPU only: test_strangers_finds.py
    tested_elsewhere |= {"resample_plane"}  # of the GPU: test_resize_on_devices.py
    # Of vision, present once it is imported: test_vision_regions.py
    tested_elsewhere |= {"region_sums", "region_sums_grad", "roi_largest"}
    wanted = {name: OPS[name].kernel.name for name in set(OPS) - tape_only - tested_elsewhere}
    with door.listening(listen):
        for row in ROWS:
            if row.grad and any(s.grad for s in row.specs()):
                gradients(rl, row, tensors(row, grad=True))
            else:
                call(rl, row, tensors(row))
        for row in SMALL:
            if seen.issuperset(wanted.values()):
                break
            if row.second:
                fn, ins = _function_of_inputs(row, tensors(row, grad=True))
                _second_order(fn, ins)
    missing = [name for name, kernel in wanted.items() if kernel not in seen]
    assert not missing, f"ops without a row: {sorted(missing)}"


def _second_order(fn: Any, ins: list) -> None:
    outs = [o for o in flat(fn(*ins)) if hasattr(o, "requires_grad") and o.requires_grad]
    if not outs:
        return
    loss = sum(((o * o.conj()).real if o.is_complex() else o * o).sum() for o in outs)
    grads = rl.autograd.grad(loss, ins, create_graph=True, allow_unused=True)
    live = [g for g in grads if g is not None and g.requires_grad]
    if live:
        squares = [((g * g.conj()).real if g.is_complex() else g * g).sum() for g in live]
        rl.autograd.grad(sum(squares), ins, allow_unused=True)
