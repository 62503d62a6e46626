"""Tensors outside rushlight: copies, pickles, DLPack, NumPy's functions and operators."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import rushlight as rl
from same import agree

NUMPY = """
np.sin(torch.ones(2)) | np.add(torch.ones(2), 1) | torch.ones(2) * np.ones(2) | np.float32(2) * torch.ones(2) | torch.ones(2) * np.float32(2)
np.asarray(torch.arange(3)).dtype | np.array(torch.ones(2, 2)).shape | np.asarray(torch.ones(2), dtype=np.int8).dtype | np.mean(torch.arange(4.).numpy()) | list(np.asarray(torch.ones(2)))
torch.ones(2).numpy() | torch.ones(2, requires_grad=True).numpy() | torch.ones(2, requires_grad=True).numpy(force=True) | np.asarray(torch.ones(2, requires_grad=True)) | np.stack([torch.ones(2), torch.zeros(2)]).shape
torch.ones(2).__array__().dtype | np.isnan(torch.ones(2)) | np.equal(torch.ones(2), 1) | np.ones((2, 1)) @ np.ones((1, 2))
torch.from_dlpack(np.arange(3.)) | torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(3))) | np.from_dlpack(torch.arange(4)).sum() | torch.from_dlpack(torch.ones(2)) | torch.from_dlpack(3)
torch.ones(2, requires_grad=True).__dlpack__() | torch.ones(2).__dlpack_device__()[1] | hasattr(torch.ones(2), '__cuda_array_interface__') | torch.arange(3).tolist() | torch.tensor(3).__index__() | [10, 20, 30][torch.tensor(1)]
round(float(torch.tensor(2.7))) | int(torch.tensor(2.7)) | f'{torch.tensor(2.71828):.2f}' | torch.tensor([1., 2.]).__array__(np.float64).dtype | complex(torch.tensor(1j)) | len(torch.ones(3, 2))
"""


def cases() -> list[str]:
    return [c.strip() for line in NUMPY.strip().splitlines() for c in line.split(" | ")]


@pytest.mark.parametrize("source", cases())
def test_numpy_agrees(source: str) -> None:
    agree(source)


def test_an_array_on_the_left() -> None:
    """PyTorch refuses these; the tensor's answer is what everybody means."""
    x = rl.ones(2, requires_grad=True)
    for made in (np.full(2, 3.0) * x, np.full(2, 4.0) - x):
        assert isinstance(made, rl.Tensor)
        assert made.tolist() == [3, 3]
        assert made.requires_grad


DTYPES = ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"]
LAYOUTS = {
    "plain": lambda t: t,
    "transposed": lambda t: t.t(),
    "strided": lambda t: t[:, ::2],
    "expanded": lambda t: t[:1].expand(5, 4),
    "0-d": lambda t: t[0, 0],
    "empty": lambda t: t[:0],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("how", ["pickle", "deepcopy", "copy"])
def test_copies_hold_the_same(dtype: str, layout: str, how: str) -> None:
    t = LAYOUTS[layout](((rl.arange(12).reshape(3, 4) + 1) % 2).to(getattr(rl, dtype)))
    if how == "pickle":
        twin = pickle.loads(pickle.dumps(t))
    else:
        twin = copy.deepcopy(t) if how == "deepcopy" else copy.copy(t)
    assert twin.dtype is t.dtype
    assert twin.shape == t.shape
    assert twin.tolist() == t.tolist()
    if layout in ("plain", "transposed"):
        assert twin.stride() == t.stride()
    if t.numel() and how != "copy":
        twin.zero_()
        assert bool(t.any())  # memory of its own


def test_requires_grad_and_grad_survive() -> None:
    x = rl.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    twin = copy.deepcopy(x)
    assert twin.requires_grad
    assert twin.grad.tolist() == [3, 3]
    assert twin.grad is not x.grad
    assert pickle.loads(pickle.dumps(x)).requires_grad
    x.label = "kept"
    assert copy.deepcopy(x).label == "kept"
    assert pickle.loads(pickle.dumps(x)).label == "kept"


def test_deepcopy_keeps_sharing() -> None:
    x = rl.ones(2)
    first, second = copy.deepcopy([x, x])
    assert first is second


def test_only_leaves_copy() -> None:
    y = rl.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(y)
    loaded = pickle.loads(pickle.dumps(y))  # without its history, as in PyTorch
    assert loaded.is_leaf and loaded.requires_grad and loaded.tolist() == [2, 2]


def test_subclasses_survive() -> None:
    t = Named([1.0, 2.0])
    assert type(copy.deepcopy(t)) is Named
    assert type(pickle.loads(pickle.dumps(t))) is Named


class Named(rl.Tensor):
    """A subclass, at module level because pickle looks it up by name."""


def test_meta_pickles_without_data() -> None:
    t = pickle.loads(pickle.dumps(rl.ones(2, 3, device="meta", dtype=rl.int8)))
    assert t.is_meta
    assert t.shape == (2, 3)
    assert t.dtype is rl.int8
    assert copy.deepcopy(t).is_meta


def test_dlpack_shares_memory() -> None:
    a = np.zeros(3)
    t = rl.from_dlpack(a)
    a[1] = 4
    assert t.tolist() == [0, 4, 0]
    t[0] = 2
    assert a[0] == 2
    torch = pytest.importorskip("torch")
    theirs = torch.from_dlpack(t)
    theirs[2] = 9
    assert a.tolist() == [2, 4, 9]
    back = rl.from_dlpack(theirs)
    back[0] = -1
    assert a[0] == -1
    assert rl.from_dlpack(a, copy=True).data_ptr() != t.data_ptr()


def test_generators_of_dtypes_pickle() -> None:
    for value in (rl.float32, rl.Size([1, 2]), rl.channels_last, rl.strided):
        twin = pickle.loads(pickle.dumps(value))
        assert twin == value
    assert copy.deepcopy(rl.float32) is rl.float32


def test_repr_of_what_a_tensor_is() -> None:
    x = rl.ones(2, requires_grad=True)
    assert repr(x) == "tensor([1., 1.], requires_grad=True)"
    assert repr(x + 1) == "tensor([2., 2.], grad_fn=<AddBackward0>)"
    assert repr(rl.ones(2, dtype=rl.int32)) == "tensor([1, 1], dtype=rushlight.int32)"
    assert repr(rl.ones(2, device="meta")) == "tensor(..., device='meta', size=(2,))"
    rl.set_printoptions(precision=2)
    assert repr(rl.tensor([1.23456])) == "tensor([1.23])"
    rl.set_printoptions(profile="default")


def _given(lib, way):
    """A tensor over an array of the user's, which then takes another shape and dtype."""
    a = np.arange(6.0)
    x = {
        "from_numpy": lambda: lib.from_numpy(a),
        "as_tensor": lambda: lib.as_tensor(a),
        "asarray": lambda: lib.asarray(a),
        "from_dlpack": lambda: lib.from_dlpack(a),
        "frombuffer": lambda: lib.frombuffer(a, dtype=lib.float64),
    }[way]()
    a.shape = (2, 3)
    a[0, 1] = 7
    return x, a


@pytest.mark.parametrize("way", ["from_numpy", "as_tensor", "asarray", "from_dlpack", "frombuffer"])
def test_an_array_of_another_shape_later_is_no_business_of_its_tensor(way) -> None:
    def story(lib):
        x, a = _given(lib, way)
        seen = [tuple(x.shape), x.tolist(), x.sum().item(), (x * 2).tolist()]
        a.flags.writeable = False
        x[2] = -1.0
        x.add_(1.0)
        return [*seen, x.tolist(), a.tolist()]

    assert story(rl) == story(pytest.importorskip("torch"))


@pytest.mark.parametrize("way", ["numpy", "force", "asarray", "dlpack", "data"])
def test_what_numpy_shows_of_a_tensor_is_an_array_of_its_own(way) -> None:
    def story(lib):
        x = lib.arange(6.0)
        show = {
            "numpy": lambda: x.numpy(),
            "force": lambda: x.numpy(force=True),
            "asarray": lambda: np.asarray(x),
            "dlpack": lambda: np.from_dlpack(x),
            "data": lambda: x.data.numpy(),
        }[way]
        a = show()
        a.shape = (3, 2)
        if a.flags.writeable:
            a[0, 1] = 7
        a.flags.writeable = False
        x[2] = -1.0
        x.add_(1.0)
        return tuple(x.shape), x.tolist(), a.tolist(), show().flags.writeable, show() is show()

    assert story(rl) == story(pytest.importorskip("torch"))
