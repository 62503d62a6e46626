"""What strangers tried and found, each beside PyTorch: edges of graphs, options at their ends, refused calls."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])


@BOTH
def test_batch_norm_wants_an_eps_above_zero_in_training(lib: Any) -> None:
    x, F = lib.ones(4, 3), lib.nn.functional
    for net in (lib.nn.BatchNorm1d(3, eps=0), lib.nn.BatchNorm1d(3, eps=0, momentum=None)):
        with pytest.raises(ValueError, match="eps must be positive during training, but got 0"):
            net(x)
        assert net.eval()(x).tolist() == [[1.0] * 3] * 4
    with pytest.raises(ValueError, match="eps must be non-negative, but got -1"):
        F.batch_norm(x, lib.zeros(3), lib.ones(3), eps=-1)
    with pytest.raises(ValueError, match="eps must be positive"):
        F.batch_norm(x, None, None, training=True, eps=0.0)
    lib.batch_norm(x + lib.eye(4, 3), None, None, None, None, True, 0.1, 0.0, False)  # takes it


@BOTH
def test_edges_of_a_graph_stand_for_their_tensors(lib: Any) -> None:
    grad, edge_of = lib.autograd.grad, lib.autograd.graph.get_gradient_edge
    x = lib.ones(3, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    edge = edge_of(y)
    assert edge._fields == ("node", "output_nr", "ownership_token")
    assert edge.node is y.grad_fn and edge.output_nr == 0
    assert grad(z, edge_of(x), retain_graph=True)[0].tolist() == [8.0] * 3
    got = grad(z, [edge, x], retain_graph=True)
    assert [g.tolist() for g in got] == [[4.0] * 3, [8.0] * 3]
    assert grad(edge_of(z), x, lib.tensor(1.0), retain_graph=True)[0].tolist() == [8.0] * 3
    lib.autograd.backward(z, inputs=[edge_of(x)], retain_graph=True)
    lib.autograd.backward(edge_of(z), lib.tensor(1.0), retain_graph=True)
    assert x.grad.tolist() == [16.0] * 3
    unused = edge_of(lib.ones(2, requires_grad=True))
    assert grad(z, unused, allow_unused=True, retain_graph=True) == (None,)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used"):
        grad(z, unused, materialize_grads=True, retain_graph=True)
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges"):
        grad(z, (y.grad_fn, 0))
    with pytest.raises(AssertionError, match=r"Expected output to be a torch\.Tensor"):
        grad((z.grad_fn, 0), x)


HALVES = ("bfloat16", "float16")


@BOTH
def test_ldexp_keeps_the_dtype_and_does_not_overflow_on_the_way(lib: Any) -> None:
    y = lib.ldexp(lib.tensor([1e-38, 1.0]), lib.tensor([130, -160]))
    assert y[0].item() == pytest.approx(13.6113, rel=1e-4) and y[1] == 0
    for name in HALVES:
        x = lib.ones(2, dtype=getattr(lib, name), requires_grad=True)
        y = lib.ldexp(x, lib.tensor([3, 4], dtype=lib.uint8))
        assert y.dtype == x.dtype and y.tolist() == [8.0, 16.0]
        y.sum().backward()
        assert x.grad.tolist() == [8.0, 16.0]
        assert lib.frexp(x)[0].dtype == x.dtype
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        lib.ldexp(lib.ones(2), lib.ones(2) > 0)


@BOTH
def test_matrices_of_other_dtypes(lib: Any) -> None:
    for name in (*HALVES, "int64", "uint8"):
        A = (lib.eye(2) * 2).to(getattr(lib, name))
        for n in (0, 1, 3):
            assert lib.linalg.matrix_power(A, n).tolist() == [[2.0**n, 0], [0, 2.0**n]]
        with pytest.raises(RuntimeError, match=r"linalg\.inv"):
            lib.linalg.matrix_power(A, -1)
    half = lib.eye(2, dtype=lib.bfloat16)
    assert lib.linalg.matrix_exp(half * 0).dtype == lib.bfloat16
    assert lib.linalg.det(lib.ones(0, 0, dtype=lib.bfloat16)).item() == 1
    with pytest.raises(NotImplementedError, match="lu_cpu"):
        lib.linalg.det(half)
    with pytest.raises(NotImplementedError, match="triangular_solve_cpu"):
        lib.linalg.solve_triangular(half, half, upper=True)
    solved = lib.linalg.solve_triangular(lib.eye(2), half, upper=True)
    assert solved.dtype == lib.float32
    assert lib.addr(half, lib.ones(2), lib.ones(2, dtype=lib.float64)).dtype == lib.float64
    for fn in (lib.inner, lambda a, b: lib.tensordot(a, b, 1)):
        with pytest.raises(RuntimeError, match="both inputs should have same dtype"):
            fn(half, lib.eye(2))


@BOTH
def test_recurrent_layers_of_two_dtypes_promote_or_refuse(lib: Any) -> None:
    x, h = lib.ones(3, 1, 2, dtype=lib.bfloat16), lib.zeros(1, 1, 2)
    w = [lib.ones(6, 2, dtype=lib.bfloat16), lib.ones(6, 2)]
    out, last = lib.gru(x, h, w, False, 1, 0.0, False, False, False)
    assert out.dtype == last.dtype == lib.float32
    with pytest.raises(RuntimeError, match="have the same dtype"):
        lib.gru(x.float(), h.bfloat16(), w[::-1], False, 1, 0.0, False, False, False)


def test_autocast_on_a_gpu_gives_recurrent_layers_float16() -> None:
    """cuDNN's layers are float16 in PyTorch under autocast, whichever low precision was asked for."""
    from rushlight.amp.functions import POLICIES
    from rushlight.amp.lists import HALF, LOW_RESULT, PLAIN

    assert {POLICIES[n]["cuda"] for n in ("lstm", "gru", "rnn_tanh", "rnn_relu")} == {HALF}
    assert POLICIES["linalg.pinv"] == {"cpu": LOW_RESULT, "cuda": LOW_RESULT}
    assert POLICIES["linalg.lstsq"]["cuda"] == PLAIN


# What PyTorch refuses, since its layers are made for floating point: whole numbers were cut off silently here.
REFUSED = [
    "F.layer_norm(I(2, 4), (4,))", "F.group_norm(I(2, 4), 2)", "F.rms_norm(I(2, 4), (4,))", "F.batch_norm(I(4, 3), None, None, training=True)",
    "F.batch_norm(I(4, 3), lib.zeros(3), lib.ones(3))", "F.instance_norm(C(1, 2, 4))", "F.adaptive_avg_pool2d(I(1, 2, 4, 4), 3)",
    "F.adaptive_max_pool2d(I(1, 2, 4, 4), 3)", "F.max_unpool2d(I(1, 1, 2, 2), lib.zeros(1, 1, 2, 2, dtype=lib.int64), 2)",
    "F.max_unpool2d(lib.ones(1, 1, 2, 2), I(1, 1, 2, 2), 2)", "F.nll_loss(I(2, 3), lib.zeros(2, dtype=lib.int64))",
    "F.glu(I(2, 4))", "F.fold(I(1, 8, 9), 4, 2)", "F.unfold(I(1, 2, 4, 4), 2)", "F.kl_div(I(3), I(3))", "lib.cdist(I(3, 2), I(4, 2))",
    "F.prelu(C(2, 3), C(1))", "F.threshold(C(3), 0.1, 0.0)", "lib.linalg.vecdot(I(3), I(3))", "lib.topk(C(3), 1)", "lib.cummax(C(3), 0)",
    "F.dropout(I(3), 0.5)", "lib.addr(I(2, 2), I(2), I(2), beta=0.5)", "lib.sum(lib.tensor(1.0), dim=(-1, 0))",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", REFUSED)
def test_whole_and_complex_numbers_are_refused_where_pytorch_refuses_them(text: str) -> None:
    said = []
    for lib in (torch, rl):
        names = {
            "lib": lib, "F": lib.nn.functional, "I": lambda *s, lib=lib: lib.ones(*s, dtype=lib.uint8),
            "C": lambda *s, lib=lib: lib.ones(*s, dtype=lib.complex64),
        }  # fmt: skip
        with pytest.raises(RuntimeError) as error:
            eval(text, names)
        said.append(str(error.value).split("\n")[0].strip())
    same = said[0] if '"' not in said[0] else "not implemented for"  # the name of a kernel of theirs
    assert said[1].startswith(same[:30]) or same in said[1], said


@BOTH
def test_odd_inputs_have_pytorchs_answers(lib: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert lib.tensor(1 + 2j).H.item() == lib.tensor(1 + 2j).mH.item() == 1 - 2j
        assert lib.tensor(1 + 2j).adjoint().item() == 1 - 2j
    few = lib.tensor([1, 200, 3], dtype=lib.uint8)
    assert lib.trapezoid(few, lib.tensor([5, 2, 4], dtype=lib.uint8)).item() == 157.5  # bytes wrap
    assert lib.trapezoid(few, lib.tensor([1.0, 2, 4]).half()).dtype == lib.float16
    assert lib.trapezoid(lib.tensor([200, 100, 90], dtype=lib.uint8)).item() == 373.0
    with pytest.raises(RuntimeError, match="bool"):
        lib.trapezoid(few > 0)
    ones = lib.ones(2, 2, dtype=lib.int64)
    assert lib.addmm(ones, ones, ones, beta=1.7, alpha=2.5).tolist() == [[5, 5], [5, 5]]
    assert lib.nn.functional.dropout(few, 1.0).tolist() == [0, 0, 0]
    assert lib.linalg.vander(few.to(lib.int8)).dtype == lib.int64
    assert lib.nn.functional.tanhshrink(few).dtype == lib.float32
    with pytest.raises(IndexError, match="Dimension out of range"):
        lib.flatten(lib.tensor(1.0), 1)
    x, none = lib.ones(2, 3, requires_grad=True), lib.ones(0, requires_grad=True)
    lib.cat([x, none]).sum().backward()
    assert none.grad.shape == (0,) and x.grad.tolist() == [[1.0] * 3] * 2
    lib.gather(x, 0, lib.zeros(0, 3, dtype=lib.int64)).sum().backward()
    bias = lib.full((2, 2), float("nan"), requires_grad=True)
    y = lib.addmm(bias, lib.ones(2, 2), lib.ones(2, 2), beta=0)
    y.sum().backward()
    assert y.tolist() == [[2.0, 2.0]] * 2 and bias.grad.tolist() == [[0.0, 0.0]] * 2
    assert not lib.special.bessel_j0(x).requires_grad


@BOTH
def test_arguments_that_pytorch_does_not_take(lib: Any) -> None:
    x = lib.ones(1, 2, 1)
    for call in (
        lambda: x.squeeze(None), lambda: x.squeeze(dim=None), lambda: lib.squeeze(x, True), lambda: x.sum(True), lambda: x.mean((True,)),
        lambda: x.amax(True), lambda: x.float(3), lambda: x.cpu(None), lambda: x.long("a"),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times"):
        x.squeeze((0, -3))
    assert x.squeeze(()).shape == (1, 2, 1) and x.squeeze([0, 2]).shape == (2,)


@BOTH
def test_a_leaf_that_is_frozen_before_backward_gets_no_gradient(lib: Any) -> None:
    for freeze in (lambda x: x.requires_grad_(False), lambda x: x.detach_()):
        x, w = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        y = (x * w * 2).sum()
        freeze(x)
        y.backward()
        assert x.grad is None and w.grad.tolist() == [2.0, 2.0]
    x = lib.ones(2, requires_grad=True)
    seen: list[Any] = []
    x.register_hook(seen.append)
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None and len(seen) == 1  # hooks of the tensor are called all the same
    y = (x.requires_grad_() * 3).sum()
    x.requires_grad_(False).requires_grad_()
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]


@BOTH
def test_a_parameter_whose_view_is_changed_without_recording_stays_one(lib: Any) -> None:
    for change in ("t_", "squeeze_", "transpose_", "unsqueeze_"):
        p = lib.nn.Parameter(lib.ones(2, 3))
        with lib.no_grad():
            getattr(p, change)(*{"transpose_": (0, 1), "unsqueeze_": (0,)}.get(change, ()))
        assert p.requires_grad and p.is_leaf
        (p * 2).sum().backward()
        assert p.grad.shape == p.shape


@BOTH
@pytest.mark.parametrize("how", ["v.mul_(2)", "b.mul_(2)", "v.squeeze_(0)", "v.data.mul_(2)"])
def test_a_view_written_before_its_base_wants_gradients_finds_its_history(lib: Any, how: str) -> None:
    b = lib.ones(3)
    v = b[None]
    exec(how.replace("v.data", "v.detach()"), {"v": v, "b": b})
    assert not v.requires_grad
    b.requires_grad_()
    assert v.requires_grad and not v.is_leaf
    (v * 3).sum().backward()
    assert b.grad.tolist() == [3.0] * 3 and v.shape[-1] == 3


@BOTH
def test_detach_in_place_does_nothing_in_inference_mode(lib: Any) -> None:
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    v = y[0]
    with lib.inference_mode():
        assert x.detach_() is x and y.detach_() is y and v.detach_() is v
    assert x.requires_grad and not y.is_leaf and v.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@BOTH
def test_the_data_of_an_inference_tensor_may_be_written(lib: Any) -> None:
    with lib.inference_mode():
        x = lib.ones(2, 2)
        inside = x.detach()
    x.data.mul_(2)
    x.detach().fill_(3)
    assert x.tolist() == [[3.0] * 2] * 2 and x.data.is_inference()
    for refused in (x, x[0], inside, x.data[0]):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            refused.mul_(2)
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        x.data.requires_grad_()


@BOTH
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("written", [True, False])
def test_views_of_a_base_that_gets_another_shape_keep_their_places(lib: Any, recorded: bool, written: bool) -> None:
    x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    v = y[0]
    with lib.set_grad_enabled(recorded):
        y.t_()
    if written:
        v.mul_(lib.tensor([5.0, 6.0]))
    assert v.requires_grad and v.tolist() == ([5.0, 12.0] if written else [1.0, 2.0])
    if not recorded:
        return  # x's gradient would go through a node that knows nothing of the change
    (v * lib.tensor([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [[5.0, 60.0] if written else [1.0, 10.0], [0.0, 0.0]]


@BOTH
def test_the_imaginary_part_of_logsumexp_stays_between_minus_and_plus_pi(lib: Any) -> None:
    x = lib.tensor([-3.0, 1 + 4j, 2j])
    got = x.logsumexp(0)
    assert got.real.item() == pytest.approx(0.8883878) and got.imag.item() == pytest.approx(-2.6498594)


@BOTH
def test_the_gradient_of_a_complex_logsumexp(lib: Any) -> None:
    x = lib.tensor([-3.0, 1 + 4j, 2j], requires_grad=True)
    x.logsumexp(0).backward(lib.tensor(1 + 2j))
    want = [0.0012859 - 0.0458112j, 1.8454466 + 1.6867265j, -0.8467324 + 0.3590848j]
    assert x.grad.tolist() == pytest.approx(want, abs=2e-4)


@BOTH
@pytest.mark.parametrize(
    "data",
    [None, {}, set(), object(), [None], [1.0, None], [{}]],
    ids=lambda v: "object" if type(v) is object else str(v),
)
def test_what_is_no_number_is_named_as_the_dtype_wants_it(lib: Any, data: Any) -> None:
    with pytest.raises(RuntimeError, match="Could not infer dtype of"):
        lib.tensor(data)
    for kind in (lib.float64, lib.complex64):
        with pytest.raises(TypeError, match="must be real number, not"):
            lib.tensor(data, dtype=kind)
    for kind in (lib.int64, lib.bool):
        with pytest.raises(TypeError, match="object cannot be interpreted as an integer"):
            lib.tensor(data, dtype=kind)


@BOTH
@pytest.mark.parametrize("dtype", [None, "int64", "float32"])
def test_rows_that_are_tensors_are_no_numbers(lib: Any, dtype: str | None) -> None:
    kind = dtype and getattr(lib, dtype)
    for rows in ([0, 1], [0.5, 1.0], [True, False]):
        row = lib.tensor(rows)
        whole = kind is lib.int64 or (kind is None and row.dtype is not lib.float32)
        told = "converted to an index" if whole else "converted to Python scalars"
        with pytest.raises(TypeError if whole else ValueError, match=told):
            lib.tensor([row, row], dtype=kind)
    assert lib.tensor([lib.tensor([0]), 1.5]).tolist() == [0.0, 1.5]


@BOTH
def test_several_elements_are_no_python_number(lib: Any) -> None:
    for number in (float, int, complex):
        for many in (lib.ones(2), lib.ones(0)):
            with pytest.raises(ValueError, match="only one element tensors can be converted"):
                number(many)


@BOTH
def test_sizes_that_no_machine_has_are_refused_in_pytorchs_kinds_of_errors(lib: Any) -> None:
    for make in (lib.zeros, lib.ones, lib.empty, lib.rand, lib.randn):
        with pytest.raises(TypeError, match="Overflow when unpacking long long"):
            make(2, 10**20)
        with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
            make(2**40, 2**40)
        with pytest.raises(RuntimeError, match="(can't allocate|not enough) memory: you tried to allocate"):
            make(2**58)


@BOTH
def test_weights_of_a_sampler_are_doubles_from_the_start(lib: Any) -> None:
    assert lib.utils.data.WeightedRandomSampler([0.1, 0.9], 1).weights.tolist() == [0.1, 0.9]


@BOTH
def test_rprop_without_one_of_its_limits(lib: Any) -> None:
    for sizes, want in (((None, 0.015), 0.9636), ((0.02, None), 0.9272), ((None, None), None)):
        w = lib.nn.Parameter(lib.ones(1))
        chosen = lib.optim.Rprop([w], lr=0.01, step_sizes=sizes)
        w.grad = lib.ones(1)
        if want is None:
            with pytest.raises(RuntimeError, match="At least one of 'min' or 'max' must not be"):
                chosen.step()
            continue
        for _ in range(3):
            chosen.step()
        assert w.item() == pytest.approx(want, abs=1e-5)


@BOTH
def test_cyclic_lr_of_sizes_that_are_no_plain_numbers(lib: Any) -> None:
    for size in (lib.tensor(2), "2", lib.tensor([2.0])):
        sgd = lib.optim.SGD([lib.nn.Parameter(lib.ones(1))], lr=0.1)
        schedule = lib.optim.lr_scheduler.CyclicLR(sgd, 0.1, 0.5, size, cycle_momentum=False)
        rates = []
        for _ in range(4):
            sgd.step()
            schedule.step()
            rates.append(round(float(schedule.get_last_lr()[0]), 4))
        assert rates == [0.3, 0.5, 0.3, 0.1]


NUMBERS = ["1e30", "-1e9", "65519.0", "65520.0", "1e39", "-1e40", "3.4e38", "2**31", "2**63", "300", "-129", "1e308", "math.inf", "math.nan"]  # fmt: skip
# `x` is a tensor of a dtype, `v` a number that it may not be able to hold.
TAKERS = [
    "lib.full((2,), v, dtype=x.dtype)", "x.clone().fill_(v)", "x.masked_fill(x != 5, v)", "x.clamp(max=v)", "x.clamp(v)",
    "lib.add(x, x, alpha=v)", "lib.sub(x, x, alpha=v)", "x.index_fill(0, lib.tensor([0]), v)", "lib.nn.functional.pad(x, (1, 1), value=v)",
    "lib.constant_pad_nd(x, (1, 1), v)", "x.scatter(0, lib.zeros_like(x, dtype=lib.int64), v)", "lib.addcmul(x, x, x, value=v)", "lib.lerp(x, x, v)",
    "lib.nn.functional.threshold(x, 2.0, v)", "lib.nn.functional.hardtanh(x, 0, v)", "x.pow(v)", "lib.nn.functional.leaky_relu(x, v)", "lib.nn.functional.elu(x, v)",
    "lib.nn.functional.softplus(x, v)", "lib.addmm(x, x[:, :1], x[:1], alpha=v)", "lib.where(x != 5, x, v)", "lib.scalar_tensor(v, dtype=x.dtype)",
    "lib.linspace(0, v, 3, dtype=x.dtype)", "lib.histc(x, 3, -1, v)", "x.clone().__setitem__(0, v)", "x.renorm(2, 0, v)", "lib.nn.functional.huber_loss(x, x, delta=v)",
]  # fmt: skip


@pytest.mark.parametrize("taker", TAKERS)
def test_a_number_that_a_dtype_cannot_hold_is_refused(taker: str) -> None:
    for kind in ("float16", "bfloat16", "float32", "float64", "int8", "int32"):
        for number in NUMBERS:
            found = []
            for lib in (rl, torch):
                x = lib.ones(2, 3, dtype=getattr(lib, kind))
                try:
                    out = eval(taker, {"lib": lib, "x": x, "v": eval(number, {"math": math})})
                    found.append("value" if out is None else str(out.double()).partition("dtype")[0])
                except (RuntimeError, NotImplementedError, ValueError):
                    found.append("refused")
            if "value" in found[1] or "refused" in found or "int" not in kind:
                assert found[0] == found[1], (kind, number, found)


@BOTH
def test_hooks_outlive_a_freeze(lib: Any) -> None:
    w, seen = lib.nn.Parameter(lib.ones(2)), []
    handle = w.register_hook(lambda g: g * 3)
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    for _ in range(2):
        w.requires_grad_(False)
        w.requires_grad = True
        (w * 2).sum().backward()
    assert w.grad.tolist() == [12.0] * 2 and seen == [[6.0] * 2, [12.0] * 2]
    assert w[0].detach().requires_grad_().is_leaf  # a view, whose extras C makes
    w.requires_grad_(False)
    handle.remove()
    w.requires_grad_(True).sum().backward()
    assert w.grad.tolist() == [13.0] * 2


@BOTH
def test_copies_share_memory_as_their_tensors_do(lib: Any) -> None:
    from copy import deepcopy

    base = lib.zeros(2, 3, requires_grad=True)
    plain = lib.arange(6.0)
    made: Any = (plain[1:], plain, plain.view(2, 3).t(), base, base.detach())
    view, whole, turned, leaf, values = deepcopy(made)
    view[0] = 7
    values[0, 0] = 3
    assert plain.tolist() == [0, 1, 2, 3, 4, 5] and whole.tolist() == [0, 7, 2, 3, 4, 5]
    assert turned.tolist() == [[0, 3], [7, 4], [2, 5]] and turned.stride() == (1, 3)
    assert view.storage_offset() == 1
    assert leaf.tolist() == [[3, 0, 0], [0, 0, 0]] and base.sum() == 0 and leaf.requires_grad
    wide = deepcopy(lib.ones(1).expand(3))
    assert wide.stride() == (0,) and wide.tolist() == [1, 1, 1]


SET = {
    "leaf": lambda x, new: (x * x, setattr(x, "data", new))[0],
    "twice": lambda x, new: (x * x, setattr(x, "data", new * 9), setattr(x, "data", new))[0],
    "not a leaf": lambda x, new: (lambda y: (y * y, setattr(y, "data", new))[0])(x + 0),
    "no gradient": lambda x, new: (lambda y: (x * y, setattr(y, "data", new))[0])(new * 7),
    "result": lambda x, new: (lambda y: (y, setattr(y, "data", new))[0])(x.exp()),
    "layer": lambda x, new: (x @ x.t(), setattr(x, "data", new))[0],
    "written then": lambda x, new: (x * x, setattr(x, "data", new), x.data.mul_(2))[0],
    "saved before": lambda x, new: (x.sin(), setattr(x, "data", new), x.cos())[0],
}


for name, call in {
    "linear": lambda of, x, w: of.nn.functional.linear(x, w),
    "convolution": lambda of, x, w: of.nn.functional.conv1d(x[None], w[..., None]),
    "layer norm": lambda of, x, w: of.nn.functional.layer_norm(x, (2,), w[0]),
    "cross entropy": lambda of, x, w: of.nn.functional.cross_entropy(w * x, of.tensor([1, 0])),
    "cell": lambda of, x, w: of.rnn_tanh_cell(x, x, w, w),
    "distance": lambda of, x, w: of.nn.functional.l1_loss(x, w + 3),
    "determinant": lambda of, x, w: of.linalg.det(x) + of.linalg.slogdet(x)[1],
    "equations": lambda of, x, w: of.linalg.solve(x, w * 1),
}.items():

    def given(x: Any, new: Any, call: Any = call) -> Any:
        of = rl if isinstance(x, rl.Tensor) else torch
        w = of.nn.Parameter(new * 0.5)
        y = call(of, x, w)
        w.data, x.data = new * 0.1, new * 0.2
        return y

    SET[name] = given


@pytest.mark.parametrize("how", SET)
def test_backward_reads_the_data_that_a_tensor_was_given_since(how: str) -> None:
    expected = {}
    for of in (rl, torch):
        x = of.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
        y = SET[how](x, of.tensor([[7.0, 11.0], [13.0, 17.0]]))
        assert x._version == 0
        y.sum().backward()
        expected[of] = x.grad.tolist()
    np.testing.assert_allclose(expected[rl], expected[torch], rtol=1e-5)


@BOTH
def test_a_function_of_the_user_reads_the_data_that_a_tensor_was_given_since(lib: Any) -> None:
    class Product(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            return g * b, g * a

    x, w = lib.ones(2, requires_grad=True), lib.full((2,), 3.0)
    y = Product.apply(x, w)
    w.data = lib.full((2,), 8.0)
    y.sum().backward()
    assert x.grad.tolist() == [8.0, 8.0]
    x = lib.ones(2, requires_grad=True)
    y = (x * 2).exp() * x
    x.data = lib.ones(2) * 4
    with lib.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.sum().backward()


@BOTH
def test_poisson_refuses_complex_means(lib: Any) -> None:
    with pytest.raises(NotImplementedError, match='"poisson_cpu" not implemented'):
        lib.poisson(lib.ones(2, dtype=lib.complex64))


@BOTH
def test_memory_that_nobody_wrote_is_filled_in_deterministic_mode(lib: Any) -> None:
    old, switch = lib.ones(2), lib.utils.deterministic
    makers = [
        lambda d: lib.empty(2, dtype=d), lambda d: lib.empty_like(old, dtype=d), lambda d: old.new_empty(2, dtype=d),
        lambda d: lib.empty_strided((2,), (2,), dtype=d), lambda d: lib.empty_permuted((2,), (0,), dtype=d),
    ]  # fmt: skip
    lib.use_deterministic_algorithms(True)
    try:
        for make in makers:
            assert make(lib.float32).isnan().all() and make(lib.complex64).isnan().all()
            assert make(lib.bfloat16).isnan().all() and make(lib.bool).all()
            assert make(lib.int64).tolist() == [2**63 - 1] * 2 and make(lib.uint8)[0] == 255
        switch.fill_uninitialized_memory = False
        assert switch.fill_uninitialized_memory is False
    finally:
        switch.fill_uninitialized_memory = True
        lib.use_deterministic_algorithms(False)


@BOTH
def test_an_expanded_tensor_takes_no_assigned_number(lib: Any) -> None:
    for index in (0, ..., slice(None), None, (0, slice(None))):
        x = lib.zeros(3, 1).expand(3, 4)
        with pytest.raises(RuntimeError, match="refers to a single memory location"):
            x[index] = 3.0
    x = lib.zeros(3, 1).expand(3, 4)
    x[:, 1], x[0, 0] = 3.0, 4.0
    assert x.fill_(2).tolist() == [[2.0] * 4] * 3


@BOTH
def test_a_place_of_a_vector_that_is_not_there(lib: Any) -> None:
    for n, kind in (((3,), IndexError), ((3, 2), RuntimeError)):
        with pytest.raises(kind):
            lib.zeros(n).index_add(0, lib.tensor([5]), lib.ones(1, *n[1:]))


@BOTH
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_sums_of_sparse_tensors_are_coalesced(lib: Any) -> None:
    x = lib.sparse_coo_tensor([[0, 1, 0], [1, 0, 2]], [1.0, 2.0, 3.0], (2, 3))
    assert x.sum(1).is_coalesced() and x.sum(1).values().tolist() == [4.0, 2.0]
    assert lib.sparse.sum(x, 0).indices().tolist() == [[0, 1, 2]]


@BOTH
def test_the_input_of_attention_by_batch_may_be_written_before_backward(lib: Any) -> None:
    found = []
    for writes in (False, True):
        lib.manual_seed(0)
        net = lib.nn.MultiheadAttention(4, 2, batch_first=True)
        more = lib.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, dropout=0.0)
        x = lib.arange(24.0).reshape(2, 3, 4).sin()
        y = net(x, x, x)[0].pow(2).sum() + more(x)[..., 0].pow(2).sum()
        y = y + lib.nn.functional.linear(x.transpose(0, 1), net.out_proj.weight).pow(2).sum()
        if writes:
            x.zero_()
        y.backward()
        found.append([p.grad.tolist() for p in (*net.parameters(), *more.parameters())])
    assert found[0] == found[1]
    x = lib.ones(2, 3, 4)
    y = lib.nn.functional.linear(x, net.out_proj.weight)
    x.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_resolution_of_a_dtype_is_a_power_of_ten(name: str) -> None:
    assert str(rl.finfo(getattr(rl, name))) == str(torch.finfo(getattr(torch, name)))


@BOTH
@pytest.mark.parametrize("create_graph", [False, True])
def test_each_dim_that_is_farthest_has_the_whole_gradient_of_a_distance(lib: Any, create_graph: bool) -> None:
    x = lib.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 3.0]], requires_grad=True)
    for found, want in (
        (lib.cdist(x, lib.zeros(1, 2), math.inf), [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]),
        (lib.pdist(x, math.inf), [[-1.0, -2.0], [1.0, 0.0], [0.0, 2.0]]),
        (lib.cdist(x, lib.zeros(1, 2), 0.0), [[0.0, 0.0]] * 3),
        (lib.pdist(x, 0.0), [[0.0, 0.0]] * 3),
    ):
        assert lib.autograd.grad(found.sum(), x, create_graph=create_graph)[0].tolist() == want


@BOTH
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_a_distance_that_is_no_number_is_none(lib: Any, dtype: str) -> None:
    x = lib.tensor([[math.nan, 2.0]], dtype=getattr(lib, dtype), requires_grad=True)
    lib.cdist(x, lib.ones(3, 2, dtype=x.dtype), 1.0).sum().backward()
    assert math.isnan(x.grad[0, 0]) and x.grad[0, 1] == 3


@BOTH
def test_leaves_have_their_gradients_and_hooks_as_soon_as_nothing_more_can_arrive(lib: Any) -> None:
    net = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.ReLU(), lib.nn.Linear(3, 1, bias=False))
    shared, log = lib.ones(2, requires_grad=True), []
    ps = {**dict(net.named_parameters()), "shared": shared}
    for name, p in ps.items():
        p.register_hook(lambda g, name=name: log.append((name, [n for n, q in ps.items() if q.grad is not None])))
    net[0].register_full_backward_hook(lambda *args: log.append("layer"))
    (net(lib.ones(4, 2) * shared) * shared.sum()).sum().backward()
    late = ["2.weight", "0.bias", "0.weight"]
    assert log == [(late[0], []), (late[1], late[:1]), (late[2], ["0.bias", "2.weight"]), "layer", ("shared", ["0.weight", "0.bias", "2.weight"])]  # fmt: skip
    log.clear()
    lib.autograd.grad((shared * ps["2.weight"].sum()).sum(), [ps["2.weight"], shared])
    assert [name for name, _ in log] == ["shared", "2.weight"]


class _Refuses:
    """A hook, or a Function's derivative, that raises."""

    def __init__(self, lib: Any) -> None:
        class Refused(lib.autograd.Function):  # type: ignore[name-defined]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 1

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                raise KeyError("refused")

        self.function = Refused.apply

    def __call__(self, *args: Any) -> Any:
        raise KeyError("refused")


@pytest.mark.parametrize("where", ["function", "tensor", "node", "leaf", "after"])
@pytest.mark.parametrize("hooked", [False, True])
@BOTH
def test_behind_an_error_in_backward_ready_leaves_have_their_gradients(lib: Any, hooked: bool, where: str) -> None:
    a, b, c = (lib.ones(2, requires_grad=True) for _ in range(3))
    refuses = _Refuses(lib)
    if hooked:
        c.register_hook(lambda g: None)
    x = a * b
    y = refuses.function(x) if where == "function" else x * 1
    z = y * c
    {"tensor": y.register_hook, "node": y.grad_fn.register_hook, "leaf": b.register_hook, "after": a.register_post_accumulate_grad_hook}.get(where, id)(refuses)  # fmt: skip
    with pytest.raises(KeyError, match="refused"):
        (z * b).sum().backward()
    assert c.grad.tolist() == [1.0, 1.0]
    assert b.grad is None and (a.grad is not None) == (where in ("leaf", "after"))


# Writes into memory that is read at other places (x and i are 0 to 8): refused, or computed where PyTorch cannot see it or copies first.
OVERLAPS = """x[1:].add_(x[:-1])/x[1:] = x[:-1]/x.add_(x[0])/x.view(1, 9).sub_(x)/x.view(3, 3).add_(x.view(3, 3).t())/x.view(3, 3).copy_(x.view(3, 3).t())
x[1:].addcdiv_(tensor1=x[:-1], tensor2=x[1:])/x[1:].lerp_(x[:-1], 0.5)/x[1:].clamp_(max=x[:-1])/x.view(3, 3).addr_(x[:3], x[3:6])
torch.exp(x[1:], out=x[:-1])/torch.mul(x[1:], 2, out=x[:-1])/torch.where(x[1:] > 2, x[1:], x[1:], out=x[:-1])/torch.lerp(x[1:], x[1:], 0.5, out=x[:-1])
torch.cumsum(x[1:], 0, out=x[:-1])/torch.clamp(x[1:], 0, 1, out=x[:-1])/torch.cat((x[:4], x[4:8]), out=x[1:])/torch.cat((x,), out=x)/torch.max(x[1:], x[1:], out=x[:-1])
x.index_add_(0, i, x)/x.index_copy_(0, i, x)/x.scatter_(0, i, x)/x.scatter_add_(0, i, x)/x.index_reduce_(0, i, x, "mean")/x.put_(i, x)/x.index_put_((i,), x)/x[i] = x/i.index_fill_(0, i, 1)
torch.add(x, 1, out=x[:1].expand(9))/x.unfold(0, 3, 3).add_(x[:3])/x[:8:2].add_(x[1::2])/x.add_(x.as_strided((9,), (0,)))/x.view(3, 3).T.add_(x.view(3, 3).T)/x.addcmul_(x, x.view(9))
x.view(3, 3)[0].add_(x.view(3, 3)[:, 0])/x[1:].fill_(x[1])/torch.softmax(x, 0, out=x)/torch.cumsum(x, 0, out=x)/x.masked_fill_(x.view(torch.int32) > 2, 1)
torch.addmm(x.view(3, 3), x.view(3, 3), x.view(3, 3), out=x.view(3, 3))/x[x > 2] = x[x > 2]/x.ldexp_(x[:1])/x.view(3, 3).addmm_(x.view(3, 3), x.view(3, 3))""".replace("\n", "/").split("/")  # fmt: skip


@pytest.mark.parametrize("text", OVERLAPS)
def test_writes_that_overlap_what_they_read_are_refused_where_pytorch_refuses_them(text: str) -> None:
    said = []
    for lib in (torch, rl):
        names = {"torch": lib, "x": lib.arange(9.0), "i": lib.arange(9)}
        try:
            exec(text, names)
            said.append(names["x"].tolist())
        except RuntimeError as error:
            said.append(str(error))
    assert said[0] == said[1]


def test_an_error_of_the_closure_leaves_lbfgs_as_pytorch_leaves_it() -> None:
    ended = []
    for lib in (torch, rl):
        p, calls, log = lib.tensor([1.0, 2.0, -1.0], requires_grad=True), [0], []
        opt = lib.optim.LBFGS([p], 0.1, max_iter=3)

        def closure() -> Any:
            calls[0] += 1
            if calls[0] % 7 == 6:
                raise ArithmeticError
            opt.zero_grad()
            loss = ((p * lib.arange(1.0, 4.0)) ** 2).sum() + p.prod()
            loss.backward()
            return loss

        for _ in range(8):
            try:
                log.append(opt.step(closure).item())
            except ArithmeticError:
                log.append(0.0)
        ended.append([*log, *p.tolist(), *map(float, opt.state_dict()["state"][0]["H_diag"].reshape(1))])
        ended.append([*opt.state[p]])
    assert ended[0] == pytest.approx(ended[2], rel=1e-4) and ended[1] == ended[3]


@BOTH
def test_a_view_wants_gradients_as_soon_as_its_base_does(lib: Any) -> None:
    x = lib.ones(4)
    early, inner, apart = x[:2], x.view(2, 2)[0], x.detach()
    x.requires_grad_()
    with lib.no_grad():
        late, many = x[1:], x.chunk(2)
    assert not apart.requires_grad
    for v in (early, inner, late, many[0]):
        assert v.requires_grad and v.is_leaf and v.grad_fn is None
        y = v * 2
        assert y.requires_grad and y.grad_fn is not None
        y.sum().backward()  # and no gradient arrives
        assert v.grad is None and x.grad is None
        with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
            lib.autograd.grad((v * 2).sum(), v)
        with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
            v.backward(lib.ones_like(v))
        with pytest.raises(RuntimeError, match="view of a leaf Variable|view was created in no_grad mode"):
            v.mul_(2)
    (early.sum() + x[:2].sum() * 3).backward()
    assert x.grad.tolist() == [3.0, 3.0, 0.0, 0.0]
    x.requires_grad_(False)
    assert not early.requires_grad and not (early * 2).requires_grad
