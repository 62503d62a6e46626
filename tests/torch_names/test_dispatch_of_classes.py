"""`__torch_dispatch__` of tensor classes: tensors that are made of others, as in PyTorch."""

from __future__ import annotations

import copy
import importlib
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.utils._pytree import tree_map

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])


def wrapper_of(lib: Any) -> Any:
    """A class of tensors that hold one other tensor, and the names of the operators it was asked for."""
    names: list[str] = []

    class Holder(lib.Tensor):
        __slots__ = ["held"]
        __torch_function__ = lib._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls: Any, held: Any, requires_grad: bool = False) -> Any:
            return lib.Tensor._make_wrapper_subclass(
                cls, held.shape, strides=held.stride(), dtype=held.dtype, device=held.device, requires_grad=requires_grad
            )  # fmt: skip

        def __init__(self, held: Any, requires_grad: bool = False) -> None:
            self.held = held

        def __repr__(self, *, tensor_contents: Any = None) -> str:
            return "Holder"

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(str(func))
            plain = tree_map(lambda t: t.held if isinstance(t, Holder) else t, (args, kwargs or {}))
            out = func(*plain[0], **plain[1])
            return tree_map(lambda t: Holder(t) if isinstance(t, lib.Tensor) else t, out)

    Holder.names = names
    return Holder


def plain(t: Any) -> np.ndarray:
    return getattr(t, "held", t).detach().numpy()


@contextmanager
def asked_for(kind: Any, *names: str) -> Iterator[None]:
    kind.names.clear()
    yield
    found = [n for n in kind.names if n.split(".")[1] not in ("detach", "t", "view")]
    assert found == [f"aten.{n}" for n in names]


@BOTH
def test_what_it_says_of_itself(lib: Any) -> None:
    x = wrapper_of(lib)(lib.arange(6.0).reshape(2, 3), True)
    assert isinstance(x, lib.Tensor) and x.shape == (2, 3) and x.stride() == (3, 1)
    assert x.dtype is lib.float32 and x.device.type == "cpu" and x.is_leaf and x.requires_grad
    assert x.data_ptr() == 0 and x.is_contiguous() and len(x) == 2


@BOTH
def test_operators_are_asked_for_by_their_inner_names(lib: Any) -> None:
    kind = wrapper_of(lib)
    x = kind(lib.arange(6.0).reshape(2, 3))
    with asked_for(kind, "add.Tensor", "relu.default", "mul.Tensor"):
        y = lib.relu(x + 1) * lib.ones(3)
    assert type(y) is kind
    with asked_for(kind, "sum.default", "_local_scalar_dense.default"):
        assert x.sum().item() == 15.0
    with asked_for(kind, "select.int", "slice.Tensor", "cat.default"):
        assert x[0].shape == (3,) and x[:, 1:].shape == (2, 2) and lib.cat([x, x]).shape == (4, 3)
    with asked_for(kind, "zeros_like.default", "clone.default", "_to_copy.default"):
        assert type(lib.zeros_like(x)) is type(x.clone()) is type(x.to(lib.float64)) is kind


def network(lib: Any, kind: Any) -> list[np.ndarray]:
    """The loss and gradients of a small network whose weights, or inputs, may be made of others."""
    lib.manual_seed(0)
    F = lib.nn.functional
    x, w, b = lib.randn(4, 5), lib.randn(3, 5), lib.randn(3)
    x, w, b = [kind(t, True) for t in (x, w)] + [b.requires_grad_()]
    y = F.layer_norm(F.gelu(F.linear(x, w, b)), (3,)).softmax(1)
    loss = (y * y).sum() + F.mse_loss(y, lib.ones(4, 3))
    loss.backward()
    return [plain(loss), plain(x.grad), plain(w.grad), plain(b.grad)]


def test_gradients_are_those_of_plain_tensors() -> None:
    def same(t: Any, _: bool = False) -> Any:
        return t.requires_grad_()

    found = [network(m, wrapper_of(m)) for m in (rl, torch)] + [network(rl, same)]
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@BOTH
def test_in_place(lib: Any) -> None:
    kind = wrapper_of(lib)
    x, y = kind(lib.ones(3)), lib.zeros(3)
    with lib.no_grad(), asked_for(kind, "add_.Tensor", "zero_.default", "add_.Tensor", "copy_.default"):
        x.add_(2)
        assert plain(x).tolist() == [3, 3, 3]
        x.zero_()
        x += 5
        y.copy_(x)
    assert plain(x).tolist() == [5, 5, 5] and y.tolist() == [5, 5, 5] and type(y) is lib.Tensor


@BOTH
def test_what_a_class_notes_in_place_stays(lib: Any) -> None:
    """The tensor that a class is given is the one that is written: attributes that it sets are that tensor's."""
    kind = wrapper_of(lib)
    ask = kind.__torch_dispatch__.__func__

    def counted(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is lib.ops.aten.add_.Tensor:
            args[0].held.add_(args[1])
            args[0].added = getattr(args[0], "added", 0) + args[1]
            return args[0]
        return ask(cls, func, types, args, kwargs)

    kind.__torch_dispatch__ = classmethod(counted)
    x = kind(lib.ones(3))
    x += 2
    x.add_(3)
    assert x.added == 5 and plain(x).tolist() == [6, 6, 6]


@BOTH
def test_in_place_with_a_wider_dtype(lib: Any) -> None:
    kind = wrapper_of(lib)
    x = kind(lib.ones(3, dtype=lib.int32))
    x -= lib.tensor([1, 2, 3])
    assert plain(x).tolist() == [0, -1, -2] and x.dtype is lib.int32


@BOTH
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_module_trains(lib: Any, name: str) -> None:
    kind = wrapper_of(lib)
    lib.manual_seed(0)
    net = lib.nn.Linear(3, 2)
    net.weight = lib.nn.Parameter(kind(net.weight.detach()))
    assert type(net.weight) is kind and isinstance(net.weight, lib.nn.Parameter)
    optimizer, losses = getattr(lib.optim, name)(net.parameters(), lr=0.1), []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (net(lib.ones(4, 3)) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0] and type(net.weight) is kind
    other = copy.deepcopy(net)
    other.load_state_dict(net.state_dict())
    assert type(other.weight) is kind and plain(other.weight).tolist() == plain(net.weight).tolist()
    assert type(net.double().weight) is kind and net.weight.dtype is lib.float64


@BOTH
def test_the_object_that_a_class_returns_is_the_result(lib: Any) -> None:
    kind = wrapper_of(lib)
    made: list[Any] = []

    class Kept(kind):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            assert types == (cls,)
            out = Kept(func(*[getattr(a, "held", a) for a in args]))
            out.note = func.__name__
            made.append(out)
            return out

    x = Kept(lib.ones(2), True)
    y = x * 3
    assert y is made[-1] and y.note == "mul.Tensor" and y.requires_grad
    y.held = lib.full((2,), 7.0)
    assert plain(y + 1).tolist() == [8, 8]


@BOTH
def test_a_result_may_be_plain_and_a_class_may_refuse(lib: Any) -> None:
    kind = wrapper_of(lib)

    class Opened(kind):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*[getattr(a, "held", a) for a in args], **(kwargs or {}))

    class Never(kind):
        @classmethod
        def __torch_dispatch__(cls, *args: Any, **kwargs: Any) -> Any:
            return NotImplemented

    assert type(lib.mm(Opened(lib.ones(2, 2)), lib.ones(2, 2))) is lib.Tensor
    with pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"):
        lib.relu(Never(lib.ones(2)))


@BOTH
def test_without_a_dispatch_function_there_is_no_wrapper(lib: Any) -> None:
    class Plain(lib.Tensor):
        pass

    with pytest.raises(TypeError, match="Plain must define __torch_dispatch__"):
        lib.Tensor._make_wrapper_subclass(Plain, (2,))


def test_a_loop_and_a_compiled_function_see_what_the_class_computes_with() -> None:
    kind = wrapper_of(rl)
    x, total = kind(rl.ones(3)), []
    for _ in range(8):  # long enough to be taken for a loop that is run ahead
        total.append(float((x * 2 + 1).sum()))
    assert total == [9.0] * 8


# -- what a class is told: PyTorch's operators with their arguments in PyTorch's places -----------------

CALLS = {
    "a range and a position": lambda lib, x: x[1, 1:2],
    "the last dim": lambda lib, x: x[..., 0],
    "a new dim": lambda lib, x: x[None],
    "a mask": lambda lib, x: x[lib.tensor([True, False])],
    "select": lambda lib, x: x.select(1, 0),
    "index_select": lambda lib, x: x.index_select(1, lib.tensor([0])),
    "gather": lambda lib, x: x.gather(0, lib.zeros(1, 3, dtype=lib.int64)),
    "scatter_add": lambda lib, x: x.scatter_add(0, lib.zeros(1, 3, dtype=lib.int64), lib.ones(1, 3)),
    "cumsum": lambda lib, x: x.cumsum(dim=0),
    "sort": lambda lib, x: x.sort(0, descending=True),
    "topk": lambda lib, x: x.topk(1, 0),
    "flip": lambda lib, x: x.flip(0),
    "roll": lambda lib, x: x.roll(1),
    "any": lambda lib, x: x.any(),
    "prod": lambda lib, x: x.prod(),
    "amax": lambda lib, x: x.amax(1),
    "max": lambda lib, x: x.max(dim=0),
    "tril": lambda lib, x: x.tril(),
    "addmm": lambda lib, x: lib.addmm(lib.ones(2), x, lib.ones(3, 2)),
    "masked_fill": lambda lib, x: x.masked_fill(lib.ones(2, 3, dtype=lib.bool), 0.0),
    "remainder": lambda lib, x: x % 2,
    "both": lambda lib, x: (x > 0) & (x > 1),
    "split": lambda lib, x: x.split([1, 2], 1),
    "clamp": lambda lib, x: x.clamp(0, 1),
    "in place": lambda lib, x: x.add_(1),
    "by another": lambda lib, x: x.mul_(x),
    "written at indices": lambda lib, x: x.index_put_((lib.tensor([0]),), lib.ones(1, 3)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("asks", [True, False], ids=["asked", "not asked"])
def test_calls_are_pytorchs(name: str, asks: bool) -> None:
    told = []
    for lib in (rl, torch):
        kind = wrapper_of(lib)
        if asks:  # results get the class by the function protocol as well
            del kind.__torch_function__
        calls: list[str] = []
        answer = kind.__torch_dispatch__

        def spy(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None, answer: Any = answer,
                calls: Any = calls) -> Any:  # fmt: skip
            calls.append(f"{func}{_shown(args)}{_shown(kwargs or {})}")
            return answer(func, types, args, kwargs)

        kind.__torch_dispatch__ = classmethod(spy)
        CALLS[name](lib, kind(lib.arange(6.0).reshape(2, 3)))
        told.append(calls)
    assert told[0] == told[1]


def _shown(value: Any) -> str:
    return str(tree_map(lambda v: "tensor" if hasattr(v, "stride") else v, value))


@BOTH
def test_new_tensors_beside_one(lib: Any) -> None:
    kind = wrapper_of(lib)
    x = kind(lib.ones(2))
    with asked_for(kind, "new_zeros.default", "new_ones.default"):
        assert type(x.new_zeros(3)) is kind and x.new_ones((2, 2)).held.shape == (2, 2)


class Kept(rl.Tensor):
    """A wrapper that files can name."""

    @staticmethod
    def __new__(cls: Any, held: Any) -> Any:
        return rl.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)

    def __init__(self, held: Any) -> None:
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = tree_map(lambda t: t.held if isinstance(t, Kept) else t, (args, kwargs or {}))
        return func(*plain[0], **plain[1])


@pytest.mark.filterwarnings("ignore:load")
def test_files_and_pickles_keep_what_it_is_made_of(tmp_path: Path) -> None:
    x = Kept(rl.arange(3.0))
    rl.save({"x": x}, tmp_path / "x.pt")
    read = rl.load(tmp_path / "x.pt", weights_only=False)["x"]
    for again in (read, pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert type(again) is Kept and again.shape == (3,) and rl.equal(again.held, x.held)
        assert again.held is not x.held


class Said(rl.Tensor):
    """A tensor that says itself how it is written."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _said, (self.tolist(),)


def _said(values: list) -> Said:
    return rl.tensor(values).as_subclass(Said)


@pytest.mark.filterwarnings("ignore:load")
def test_files_ask_a_class_how_it_is_written(tmp_path: Path) -> None:
    rl.save(rl.ones(2).as_subclass(Said), tmp_path / "x.pt")
    assert type(rl.load(tmp_path / "x.pt", weights_only=False)) is Said


@BOTH
def test_printed_around_contents_of_its_own(lib: Any) -> None:
    strings = importlib.import_module("rushlight._tensor_str" if lib is rl else "torch._tensor_str")
    x = wrapper_of(lib)(lib.ones(2, dtype=lib.float64))
    name = "rushlight" if lib is rl else "torch"
    assert strings._str_intern(x, tensor_contents="[a, b]") == f"Holder([a, b], dtype={name}.float64)"
    assert strings._add_suffixes("Own([1]", ["a=1"], 4, False) == "Own([1], a=1)"
    assert strings._add_suffixes("Own([1]", ["a=1"], 4, True) == "Own([1],\n    a=1)"


@BOTH
def test_positions_of_a_class(lib: Any) -> None:
    kind = wrapper_of(lib)
    picked = kind(lib.tensor([1, 0], dtype=lib.int64))
    with asked_for(kind, "index_select.default"):
        assert lib.index_select(lib.arange(3.0), 0, picked).held.tolist() == [1.0, 0.0]


def test_a_wrapper_says_what_positions_are() -> None:
    class Keyed(Kept):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return args[0].held[args[2].bool()]

    found = rl.index_select(Keyed(rl.arange(3.0)), 0, rl.tensor([1.0, 0.0, 1.0]))
    assert found.tolist() == [0.0, 2.0]
