"""The printed form of arrays, held against recorded text and against PyTorch itself."""

import itertools

import numpy as np
import pytest

from rushlight.core.shown import printing

NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def default_options():
    """Give every test the default options, whatever another one left behind."""
    with printing.printoptions(profile="default"):
        yield


def show(a, dtype=None, *, default="float32", device=None, suffixes=(), **kwargs):
    a = np.asarray(a, dtype=dtype)
    return printing.format_tensor(
        a, dtype_name=a.dtype.name, default_dtype_name=default, device=device, suffixes=list(suffixes), **kwargs
    )


GOLDEN = [
    ([1, 4, 9], "int64", {}, "tensor([1, 4, 9])"),
    ([1, -128], "int8", {}, "tensor([   1, -128], dtype=rushlight.int8)"),
    ([True, False], "bool", {}, "tensor([ True, False])"),
    ([True, True], "bool", {}, "tensor([True, True])"),
    ([1.0, 2.0, -3.0], "float32", {}, "tensor([ 1.,  2., -3.])"),
    ([0.5, 2.0, -3.0], "float32", {}, "tensor([ 0.5000,  2.0000, -3.0000])"),
    ([0.5, 5e4], "float32", {}, "tensor([5.0000e-01, 5.0000e+04])"),
    ([-0.0, 1.0], "float32", {}, "tensor([-0., 1.])"),
    ([0.0, NAN], "float32", {}, "tensor([0., nan])"),
    ([INF, 1e9, -1], "float32", {}, "tensor([        inf,  1.0000e+09, -1.0000e+00])"),
    ([1e8, 1e8], "float32", {}, "tensor([100000000., 100000000.])"),
    (3.5, "float16", {}, "tensor(3.5000, dtype=rushlight.float16)"),
    (1e-4, "float64", {"default": "float64"}, "tensor(0.0001)"),
    (1e-4, "float32", {}, "tensor(1.0000e-04)"),
    ([1e-310, 3], "float64", {"default": "float64"}, "tensor([1.0000e-310,  3.0000e+00])"),
    ([1 + 2j, 0 - 1j], "complex64", {}, "tensor([1.+2.j, 0.-1.j])"),
    (complex(1.5, NAN), "complex64", {}, "tensor(1.5000+nanj)"),
    ([1j], "complex128", {}, "tensor([0.+1.j], dtype=rushlight.complex128)"),
    ([1j], "complex128", {"default": "float64"}, "tensor([0.+1.j])"),
    ([], "float32", {}, "tensor([])"),
    ([], "int64", {}, "tensor([], dtype=rushlight.int64)"),
    (np.ones((0, 3)), "bool", {}, "tensor([], size=(0, 3), dtype=rushlight.bool)"),
    ([[1, 2]], "int64", {}, "tensor([[1, 2]])"),
    ([1.0], "float32", {"suffixes": ["requires_grad=True"]}, "tensor([1.], requires_grad=True)"),
    (
        [1.0],
        "float64",
        {"device": "cuda:0", "suffixes": ["grad_fn=<AddBackward0>"], "module": "torch"},
        "tensor([1.], device='cuda:0', dtype=torch.float64, grad_fn=<AddBackward0>)",
    ),
]


@pytest.mark.parametrize(("value", "dtype", "kwargs", "text"), GOLDEN, ids=[g[3] for g in GOLDEN])
def test_golden(value, dtype, kwargs, text):
    assert show(value, dtype, **kwargs) == text


def test_rows_wrap_and_blank_lines_part_the_blocks():
    assert show(np.arange(8).reshape(2, 2, 2)) == (
        "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])"
    )
    printing.set_printoptions(linewidth=20)
    assert show([1.0, 2.0, 3.0, 4.0], "float32", suffixes=["requires_grad=True"]) == (
        "tensor([1., 2., 3.,\n        4.],\n       requires_grad=True)"
    )


def test_summary():
    assert show(np.arange(2000)) == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"
    printing.set_printoptions(threshold=3, edgeitems=1)
    assert show(np.arange(9).reshape(3, 3)) == ("tensor([[0,  ..., 2],\n        ...,\n        [6,  ..., 8]])")
    printing.set_printoptions(edgeitems=0)
    assert show(np.arange(9, dtype="int32")) == "tensor([...], size=(9,), dtype=rushlight.int32)"


def test_summary_does_not_visit_the_whole_array():
    lazy = np.broadcast_to(np.float32(1.5), (2_000_000_000, 5_000))  # 40 terabytes
    text = show(lazy)
    assert text.splitlines()[0] == "tensor([[1.5000, 1.5000, 1.5000,  ..., 1.5000, 1.5000, 1.5000],"


def test_prefix_and_indent_move_the_lines():
    assert show(np.eye(2, dtype="int64"), prefix="T(") == "T([[1, 0],\n   [0, 1]])"
    assert show(np.eye(2, dtype="int64"), indent=4) == "tensor([[1, 0],\n            [0, 1]])"


def test_bfloat16():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    assert show([0.1, -3], bfloat16) == "tensor([ 0.1001, -3.0000], dtype=rushlight.bfloat16)"


def test_signalling_nan_prints_without_a_warning():
    for bits in (np.uint16(0x7C01), np.uint32(0x7F800001), np.uint64(0x7FF0000000000001)):
        a = np.array([bits]).view(f"f{bits.nbytes}")
        assert show(a, default=a.dtype.name) == "tensor([nan])"


def test_meta_and_parameter():
    names = {"default_dtype_name": "float32", "suffixes": []}
    meta = printing.format_meta((2, 3), dtype_name="float32", **names)
    assert meta == "tensor(..., device='meta', size=(2, 3))"
    meta = printing.format_meta((), dtype_name="int64", **names)
    assert meta == "tensor(..., device='meta', size=(), dtype=rushlight.int64)"
    assert printing.format_parameter("tensor([1.])") == "Parameter containing:\ntensor([1.])"


def test_options_are_set_read_and_put_back():
    before = printing.get_printoptions()
    with printing.printoptions(profile="short", precision=7, sci_mode=True):
        assert printing.get_printoptions() == {
            "precision": 7,
            "threshold": 1000,
            "edgeitems": 2,
            "linewidth": 80,
            "sci_mode": True,
        }
        printing.set_printoptions(linewidth=60)
        assert printing.get_printoptions()["sci_mode"] is None
    assert printing.get_printoptions() == before
    for bad in ({"profile": "shrt"}, {"edgeitems": -1}):
        with pytest.raises(ValueError, match="must"):
            printing.set_printoptions(**bad)


# From here on, PyTorch is the judge.

INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = (*INTEGERS, *FLOATS, "bool", "complex64", "complex128")
SHAPES = [(), (1,), (4,), (17,), (60,), (1100,), (3, 5), (1, 1), (2, 40), (40, 30), (7, 8)]
SHAPES += [(2, 3, 4), (1, 3, 1, 2), (9, 8, 20), (2, 2, 2, 2, 2), (0,), (0, 3), (2, 0, 4)]
LIMITS = [1, 1.5, 1e-4, 1e-3, 1e3, 1e8, 1e-5, 9.99995, 99999.5, 1e100, 9.99999e99, 1e-100, 0.99995]


def random_values(rng, n):
    """Draw n float64 values of one of the characters that sway the choice of notation."""
    kind = rng.integers(9)
    x = rng.standard_normal(n)
    if kind == 1:
        x = rng.integers(-9, 10, n).astype(float)
    elif kind == 2:
        x = np.round(x * 10.0 ** rng.uniform(0, 12))
    elif kind == 3:
        x = x * 10.0 ** rng.uniform(-12, 12)
    elif kind == 4:
        x = np.sign(x) * 10.0 ** rng.uniform(-330, 308, n)
    elif kind == 5:
        x = rng.choice([*LIMITS, *(-v for v in LIMITS)], n) * rng.choice([1, 1, 1 + 1e-7], n)
    elif kind == 6:
        x = rng.choice([0.0, -0.0], n)
    elif kind == 7:
        x = rng.uniform(1, 10.0 ** rng.uniform(2.9, 3.1), n)
    elif kind == 8:
        x = 10.0 ** rng.uniform(-4.1, -3.9) * (1 + rng.random(n))
    x = np.abs(x) if rng.random() < 0.3 else x
    if rng.random() < 0.3:
        x = np.where(rng.random(n) < 0.3, rng.choice([NAN, INF, -INF, 0.0, -0.0], n), x)
    return x


def random_options(rng):
    if rng.random() < 0.4:
        return {"profile": str(rng.choice(["default", "short"]))}
    return {
        "precision": int(rng.integers(0, 9)),
        "threshold": int(rng.choice([0, 1, 5, 20, 100, 1000])),
        "edgeitems": int(rng.integers(0, 5)),
        "linewidth": int(rng.choice([1, 10, 30, 60, 80, 120, 200])),
        "sci_mode": [None, None, True, False][rng.integers(4)],
    }


def random_tensor(torch, rng, dtype):
    """Draw a tensor: often transposed, strided, or taped so that suffixes follow."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    n = int(np.prod(shape))
    if dtype in INTEGERS:
        info = torch.iinfo(getattr(torch, dtype))
        lo, hi = [(0, 10), (info.min, info.max), (max(info.min, -120), 100)][rng.integers(3)]
        values = rng.integers(lo, hi, n, endpoint=True)
    elif dtype == "bool":
        values = rng.random(n) < rng.choice([0.5, 1.0])
    else:
        values = random_values(rng, n)
        if dtype.startswith("complex"):
            # Built part by part: inf * 1j would put a NaN into the real part.
            values = np.stack([values, random_values(rng, n)], axis=-1).view(complex)[..., 0]
    t = torch.from_numpy(np.asarray(values)).reshape(shape).to(getattr(torch, dtype))
    if t.ndim > 1 and rng.random() < 0.3:
        t = t.transpose(0, -1)
    if t.ndim > 0 and rng.random() < 0.2:
        t = t[::2]
    if dtype not in INTEGERS and dtype != "bool" and rng.random() < 0.4:
        t.requires_grad_()
        if rng.random() < 0.5:
            t = t.unsqueeze(0)
    return t


def our_text(torch, t):
    """Print the same memory, with the same strides, through our formatter."""
    name = str(t.dtype).removeprefix("torch.")
    suffixes = []
    if t.grad_fn is not None:
        suffixes = [f"grad_fn=<{t.grad_fn.name()}>"]
    elif t.requires_grad:
        suffixes = ["requires_grad=True"]
    t = t.detach()
    if name == "bfloat16":
        bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
        a = t.view(torch.int16).numpy().view(bfloat16)
    else:
        a = t.numpy()
    return printing.format_tensor(
        a,
        dtype_name=name,
        default_dtype_name=str(torch.get_default_dtype()).removeprefix("torch."),
        device=None,
        suffixes=suffixes,
        module="torch",
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(2))
def test_same_text_as_torch(dtype, seed):
    torch = pytest.importorskip("torch")
    torch_printoptions = torch._tensor_str.printoptions
    rng = np.random.default_rng([seed, DTYPES.index(dtype)])
    for _ in range(100):
        options = random_options(rng)
        t = random_tensor(torch, rng, dtype)
        with printing.printoptions(**options), torch_printoptions(**options):
            assert our_text(torch, t) == repr(t), options


@pytest.mark.parametrize("default", FLOATS)
def test_same_dtype_marks_as_torch(default):
    torch = pytest.importorskip("torch")
    saved = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    try:
        for dtype, shape in itertools.product(DTYPES, [(2,), (0,), (0, 2), ()]):
            t = torch.ones(shape, dtype=getattr(torch, dtype))
            assert our_text(torch, t) == repr(t)
            meta = printing.format_meta(
                shape, dtype_name=dtype, default_dtype_name=default, suffixes=[], module="torch"
            )
            assert meta == repr(t.to("meta"))
    finally:
        torch.set_default_dtype(saved)
