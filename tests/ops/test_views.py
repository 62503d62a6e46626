"""Views share memory: which results are views, their strides, storages, formats and splits."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

VIEWS = [
    "x.view(4, 3)", "x.view(-1)", "x.reshape(2, 6)", "x.t()", "x.T", "x.mT", "x.transpose(0, 1)",
    "x.permute(1, 0)", "x.movedim(0, 1)", "x.unsqueeze(0)", "x.unsqueeze(-1)", "x[None].squeeze()",
    "x.expand(2, 3, 4)", "x.narrow(1, 1, 2)", "x.select(0, 1)", "x[0]", "x[1:]", "x[:, ::2]",
    "x[0, 1]", "x[...]", "x.diagonal()", "x.diagonal(1)", "x.unfold(1, 2, 1)", "x.unbind()[1]",
    "x.split(2)[0]", "x.split([1, 2], 0)[1]", "x.chunk(2, 1)[1]", "x.tensor_split(2)[1]",
    "x.as_strided((2, 2), (4, 1), 1)", "x.flatten()", "x.unflatten(1, (2, 2))", "x.swapaxes(0, 1)",
    "x.hsplit(2)[1]", "x.ravel()", "x.t()[1:]", "x[1:].t().select(0, 1)", "x.view(3, 2, 2)[:, 1]",
    "x.view_as(x)", "x.detach()", "x.view(lib.int32)", "x.view(lib.int16)",
    "x[1:].view(lib.int64)", "x.view(lib.int32).as_strided((2,), (1,), 3)",
    "x[1:].view(lib.int64).as_strided((2,), (1,))", "x.view(lib.complex64).real.as_strided((2,), (2,))",
]  # fmt: skip


@pytest.mark.parametrize("code", VIEWS)
def test_a_view_shares_memory_and_looks_like_pytorchs(code: str) -> None:
    found = []
    for lib in (rl, torch):
        x = lib.arange(12, dtype=lib.float32).reshape(3, 4).clone()
        v = eval(code, {"x": x, "lib": lib})
        assert v.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        look = (tuple(v.shape), v.stride(), v.storage_offset(), v.is_contiguous())
        found.append((look, v.tolist(), str(v.dtype).split(".")[1]))
        if v.is_floating_point() and "expand" not in code:
            v.fill_(7)
            assert 7 in x.flatten().tolist()
            assert x._version == v._version == 1
    assert found[0] == found[1]


COPIES = [
    "x.clone()", "x.t().contiguous()", "x.t().reshape(12)", "x[[0, 1]]", "x[x > 3]", "x.repeat(1, 2)",
    "x.flip(0)", "x.roll(1)", "lib.cat([x])", "lib.stack([x])", "x.gather(0, x.long() * 0)",
    "x.index_select(0, lib.tensor([0]))", "x.take(lib.tensor([0]))", "x.tril()", "x.diag()",
    "x.expand(2, 3, 4).contiguous()", "x.repeat_interleave(2, 0)", "x.narrow(0, 0, 2).clone()",
    "x.tile(2)", "x.masked_select(x > 2)",
]  # fmt: skip


@pytest.mark.parametrize("code", COPIES)
def test_a_copy_has_memory_and_strides_of_its_own(code: str) -> None:
    strides = []
    for lib in (rl, torch):
        x = lib.arange(12, dtype=lib.float32).reshape(3, 4)
        c = eval(code, {"x": x, "lib": lib})
        assert c.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
        before = x.tolist()
        c.fill_(-1)
        assert x.tolist() == before
        strides.append(c.stride())
    assert strides[0] == strides[1]


CLONES = [
    "x.permute(2, 0, 1)", "x.transpose(0, 1)", "x[:, ::2]", "x.expand(5, 2, 3, 4)",
    "x[..., ::2].permute(1, 2, 0)", "x[0].t()", "x[:1]", "x.permute(0, 2, 1)[:, 1:]",
]  # fmt: skip


@pytest.mark.parametrize("code", CLONES)
def test_clone_keeps_the_order_of_dims(code: str) -> None:
    strides = []
    for lib in (rl, torch):
        x = eval(code, {"x": lib.zeros(2, 3, 4)})
        cloned = x.clone()
        copied = x.clone(memory_format=lib.contiguous_format)
        strides.append((cloned.stride(), copied.stride(), x.contiguous().stride()))
    assert strides[0] == strides[1]


def test_channels_last() -> None:
    found = []
    for lib in (rl, torch):
        x = lib.arange(48.0).reshape(2, 2, 3, 4)
        y = x.to(memory_format=lib.channels_last)
        z = x.contiguous(memory_format=lib.channels_last)
        w = x[:, :, None].contiguous(memory_format=lib.channels_last_3d)
        looks = [
            (t.stride(), t.is_contiguous(), t.is_contiguous(memory_format=lib.channels_last))
            for t in (x, y, z, w, y.clone(), y.contiguous(), y[:1], x[:, :1])
        ]
        looks.append(w.is_contiguous(memory_format=lib.channels_last_3d))
        looks.append(y.contiguous(memory_format=lib.channels_last) is y)
        looks.append((y == x).all().item())
        with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
            x[0].contiguous(memory_format=lib.channels_last)
        found.append(looks)
    assert found[0] == found[1]


def test_memory_formats_print_and_pickle() -> None:
    assert repr(rl.channels_last) == "rushlight.channels_last"
    assert pickle.loads(pickle.dumps(rl.channels_last)) is rl.channels_last


def test_channels_last_gradient() -> None:
    x = rl.ones(1, 2, 2, 2).requires_grad_()
    (x.contiguous(memory_format=rl.channels_last) * 3).sum().backward()
    assert x.grad.tolist() == (np.ones((1, 2, 2, 2)) * 3).tolist()


def test_storages() -> None:
    found = []
    for lib in (rl, torch):
        x = lib.arange(6.0)
        v = x[2:]
        u, s = v.untyped_storage(), lib.Tensor.untyped_storage(x)
        found.append(
            (u.nbytes(), len(u), u.size(), u.data_ptr() == s.data_ptr(), str(u.device), [u[i] for i in range(4, 8)])
        )
        assert x.is_set_to(x[:]) and not x.is_set_to(v) and not x.is_set_to(x.clone())
        assert v.storage_offset() == 2 and v.data_ptr() == x.data_ptr() + 8
        assert x.element_size() == 4 and x.is_same_size(lib.zeros(6))
    assert found[0] == found[1]
    assert rl.arange(3.0).storage().tolist() == [0, 1, 2]
    assert len(rl.arange(3.0).storage()) == 3


def test_resize() -> None:
    for lib in (rl, torch):
        x = lib.arange(6.0)
        v = x[1:]
        assert v.resize_(2, 2).tolist() == [[1, 2], [3, 4]]
        v[0, 0] = 9
        assert x[1].item() == 9  # small enough: the same memory
        del v  # a view that stays is told of
        x.resize_(10)
        assert x.shape == (10,) and x[:6].tolist() == [0, 9, 2, 3, 4, 5]
        assert x.resize_as_(lib.zeros(2, 3)).shape == (2, 3)


def test_set() -> None:
    for lib in (rl, torch):
        x, y = lib.zeros(3), lib.arange(4.0)
        x.set_(y)
        assert x.is_set_to(y)
        x.set_(y.untyped_storage(), 1, (2,), (2,))
        assert x.tolist() == [1, 3]
        assert x.set_().shape == (0,)


def test_shared_memory_reaches_a_forked_process() -> None:
    import os

    x = rl.zeros(3)
    assert not x.is_shared()
    x.share_memory_()
    assert x.is_shared() and x[1:].is_shared()
    child = os.fork()
    if not child:
        x._a[1] = 5
        os._exit(0)
    os.waitpid(child, 0)
    assert x.tolist() == [0, 5, 0]


def test_view_errors() -> None:
    for lib in (rl, torch):
        x = lib.zeros(3, 4)
        with pytest.raises(RuntimeError, match="view size is not compatible with input tensor"):
            x.t().view(12)
        with pytest.raises(RuntimeError, match=r"shape '\[5, -1\]' is invalid for input of size 12"):
            x.view(5, -1)
        with pytest.raises(RuntimeError, match="only one dimension can be inferred"):
            x.view(-1, -1)
        with pytest.raises(RuntimeError, match=r"self.size\(-1\) must be divisible by 2 to view"):
            x[:, :3].contiguous().view(lib.float64)
        with pytest.raises(RuntimeError, match="tensor.mT is only supported on matrices"):
            x[0].mT  # noqa: B018
        with pytest.raises(RuntimeError, match="must match the existing size"):
            x.expand(2, 3, 5)


def test_split_views_know_their_base() -> None:
    for lib in (rl, torch):
        x = lib.zeros(4, 2)
        for part in (*x.unbind(), *x.split(2), *x.chunk(2), *x.tensor_split(3)):
            assert part._is_view() and part._base is x


def test_a_split_is_one_node() -> None:
    x = rl.ones(4).requires_grad_()
    a, b = (x * 2).split(2)
    assert a.grad_fn is b.grad_fn and (a.output_nr, b.output_nr) == (0, 1)
    b.sum().backward()
    assert x.grad.tolist() == [0, 0, 2, 2]


NAMES = [
    "y[0]", "y[0:1]", "y[None]", "y[...]", "y[:]", "y[0, :1]", "y[[0]]", "y[y > 0]", "y.clone()",
    "y.unbind()[0]", "y.split(1)[0]", "y.narrow(0, 0, 1)", "y.select(0, 0)", "y.t()",
    "y.expand(2, 2, 3)", "y.diagonal()", "y.unfold(0, 1, 1)", "y.as_strided((1,), (1,))",
    "y.repeat(2, 1)", "y.flip(0)", "lib.stack([y, y])", "lib.cat([y, y])", "y.roll(1)", "y.rot90()",
    "y.squeeze()", "y.unsqueeze(0)", "y.reshape(-1)", "y.view(-1)", "y.T", "y.permute(1, 0)",
    "y.gather(0, (y * 0).long())", "y.index_select(0, lib.tensor([0]))", "y.masked_select(y > 0)",
    "y.tril()", "lib.diag_embed(y)", "lib.block_diag(y, y)", "y.clone().zero_()", "y.split([1, 1])[0]",
]  # fmt: skip


@pytest.mark.parametrize("code", NAMES)
def test_nodes_have_pytorchs_names(code: str) -> None:
    names = []
    for lib in (rl, torch):
        y = lib.ones(2, 3).requires_grad_() * 1
        names.append(eval(code, {"y": y, "lib": lib}).grad_fn.name().replace("Backward0", ""))
    assert names[0] == names[1]


def test_iterating_gives_views() -> None:
    x: Any = rl.zeros(3, 2)
    for i, row in enumerate(x):
        row.fill_(i)
    assert x.tolist() == [[0, 0], [1, 1], [2, 2]]
    a, b, c = x
    assert c.tolist() == [2, 2] and len(x) == 3 and a._base is x


def test_as_strided_scatter_has_a_gradient() -> None:
    """Checked by numbers: PyTorch 2.13 gives `input` the gradient that belongs to `src`."""
    x, s = rl.ones(3, 4, dtype=rl.float64), rl.ones(2, 2, dtype=rl.float64)
    inputs = (x.requires_grad_(), s.requires_grad_())
    assert rl.autograd.gradcheck(lambda a, b: a.as_strided_scatter(b, (2, 2), (4, 1), 1), inputs)


def test_python_functions_element_by_element() -> None:
    for lib in (rl, torch):
        x = lib.arange(4.0).reshape(2, 2)
        assert x.apply_(lambda v: v + 1).tolist() == [[1, 2], [3, 4]]
        assert x.map_(lib.ones(2), lambda a, b: a * 2 + b).tolist() == [[3, 5], [7, 9]]
