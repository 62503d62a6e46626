"""Creation functions against PyTorch: values, dtypes, errors, defaults, memory order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight as rl
from same import agree, outcome

TENSOR = """
torch.tensor(3) | torch.tensor(2.5) | torch.tensor(True) | torch.tensor(1+2j) | torch.tensor([])
torch.tensor([[], []]) | torch.tensor([1, 2]) | torch.tensor([True, 2]) | torch.tensor([True, 2.5])
torch.tensor([1, 2.5, 1j]) | torch.tensor((1, 2)) | torch.tensor(range(3)) | torch.tensor([[1, 2], [3, 4]])
torch.tensor([[1, 2], [3]]) | torch.tensor([[1, 2], 3]) | torch.tensor([1, [2]]) | torch.tensor([[False, []], []]) | torch.tensor([[1, 2], [3], 4]) | torch.tensor([[[1], [2]], [[3], [4, 5]]])
torch.tensor([torch.tensor(1.), torch.tensor(2)]) | torch.tensor([torch.ones(2), torch.ones(2)])
torch.tensor([torch.tensor([1.])]) | torch.tensor([[torch.tensor(1)], [2.]]) | torch.tensor([torch.tensor(1.5, dtype=torch.float64), 2])
torch.tensor([np.float64(1)]) | torch.tensor([np.float32(1)]) | torch.tensor(np.float64(1)) | torch.tensor(np.float32(1))
torch.tensor([np.array([1., 2.]), np.array([3., 4.])]) | torch.tensor([np.int32(3)]) | torch.tensor([np.int32(3), 1])
torch.tensor([np.array([1, 2]), [3., 4.]]) | torch.tensor(np.arange(3)) | torch.tensor(np.zeros((2, 0)))
torch.tensor('a') | torch.tensor(['a']) | torch.tensor(None) | torch.tensor([None]) | torch.tensor({}) | torch.tensor(object())
torch.tensor(2**70) | torch.tensor([2**63]) | torch.tensor(300, dtype=torch.uint8) | torch.tensor([300], dtype=torch.uint8)
torch.tensor(-1, dtype=torch.uint8) | torch.tensor(2.7, dtype=torch.int32) | torch.tensor([2.7, -2.7], dtype=torch.int64)
torch.tensor(1j, dtype=torch.float32) | torch.tensor(float('nan'), dtype=torch.int64) | torch.tensor([1e40])
torch.tensor([0, 2, 0.], dtype=torch.bool) | torch.tensor([1.5], dtype=torch.bfloat16) | torch.tensor([1.5], dtype=torch.complex128)
torch.tensor([1], requires_grad=True) | torch.tensor([1.], requires_grad=True) | torch.tensor(np.array(['a']))
torch.tensor(1, 2) | torch.tensor([1], foo=2) | torch.tensor() | torch.tensor([1.], dtype=float) | torch.tensor([1.], dtype=int)
torch.tensor([1.], device='meta') | torch.tensor(torch.arange(3)) | torch.tensor(np.arange(3)[::-1])
torch.as_tensor([1, 2]) | torch.as_tensor(np.ones(2), dtype=torch.float32) | torch.as_tensor(torch.ones(2), dtype=torch.int8)
torch.asarray([1, 2]) | torch.asarray(np.ones(2), copy=True) | torch.asarray([1], copy=False) | torch.asarray(2.5)
torch.asarray(torch.ones(2), dtype=torch.float64, copy=False) | torch.asarray(torch.ones(2), requires_grad=True)
torch.from_numpy(np.arange(3)) | torch.from_numpy([1]) | torch.from_numpy(np.arange(3)[::-1]) | torch.from_numpy(np.array(['a']))
torch.from_numpy(np.arange(3).astype('>i4')) | torch.frombuffer(bytearray(8), dtype=torch.int32) | torch.frombuffer(bytearray(0), dtype=torch.int8)
torch.frombuffer(bytearray(range(8)), dtype=torch.uint8, count=2, offset=3) | torch.scalar_tensor(3, dtype=torch.int8)
torch.ones(2).new_tensor([1, 2]) | torch.ones(2, dtype=torch.int8).new_tensor(3.7)
"""

SIZED = """
torch.zeros(2) | torch.zeros(2, 3) | torch.zeros((2, 3)) | torch.zeros([2, 3]) | torch.zeros(size=(2,)) | torch.zeros(()) | torch.zeros()
torch.zeros(2.) | torch.zeros('a') | torch.zeros(-1) | torch.zeros(True) | torch.zeros(2, True) | torch.full((2, False), 1) | torch.rand((True, 2)) | torch.zeros(torch.tensor(2)) | torch.zeros(np.int64(2))
torch.zeros(2, dtype=int) | torch.zeros(2, dtype=float) | torch.zeros(2, dtype=bool) | torch.zeros(2, foo=1) | torch.zeros(2, dtype='float32')
torch.zeros(torch.Size([2, 1])) | torch.zeros(2, requires_grad=True) | torch.zeros(2, dtype=torch.int64, requires_grad=True)
torch.ones(2, dtype=torch.complex64) | torch.ones(2, layout=torch.strided) | torch.ones(2, device='meta') | torch.ones(2, device='cpu')
torch.zeros(2, 3, out=torch.ones(1)) | torch.ones(2, out=torch.zeros(2, dtype=torch.int64)) | torch.zeros(2, pin_memory=True)
torch.full((2,), 1) | torch.full((2,), True) | torch.full((2,), 1.5) | torch.full((2,), 1j) | torch.full(2, 1) | torch.full((), 4)
torch.full((2,), torch.tensor(3.)) | torch.full((2,), 1.5, dtype=torch.int32) | torch.full((2,), 300, dtype=torch.uint8)
torch.full([2, 1], -1, dtype=torch.uint8) | torch.full((2,), fill_value=2) | torch.full(size=(2,), fill_value=2)
torch.full_like(torch.ones(2, dtype=torch.int8), 3.9) | torch.full_like([1], 2) | torch.zeros_like(3) | torch.zeros_like(torch.ones(2), dtype=torch.int16)
torch.ones_like(torch.ones(2), requires_grad=True) | torch.ones_like(torch.ones(2, requires_grad=True)) | torch.ones_like(torch.ones(2), device='meta')
torch.arange(5) | torch.arange(5.) | torch.arange(0, 1, 0.3) | torch.arange(1, 5, 2) | torch.arange(5, 0) | torch.arange(0, 5, 0) | torch.arange(0, 5, -1)
torch.arange(torch.tensor(3)) | torch.arange(start=1, end=3) | torch.arange(end=3) | torch.arange(3, dtype=torch.float16) | torch.arange(1, end=4)
torch.arange(0, 2.5, dtype=torch.int64) | torch.arange(True) | torch.arange(float('nan')) | torch.arange(float('inf'))
torch.arange(0, 10, 3, dtype=torch.float64) | torch.arange(5, 0, -1) | torch.arange(0) | torch.arange(-3, 3) | torch.arange(1, 2, 0.1) | torch.arange()
torch.arange(3, out=torch.zeros(3)) | torch.arange(2, requires_grad=True) | torch.arange(2., requires_grad=True) | torch.arange(4, device='meta')
torch.linspace(0, 1, 5) | torch.linspace(0, 10, 5, dtype=torch.int32) | torch.linspace(0, 1, 1) | torch.linspace(0, 1, -1) | torch.linspace(0, 1, 0)
torch.linspace(0, 1) | torch.linspace(start=-1, end=1, steps=7) | torch.linspace(torch.tensor(0.), 1, 3) | torch.linspace(1, -5, 4, dtype=torch.int64)
torch.linspace(0, 1j, 3) | torch.logspace(0, 2, 3) | torch.logspace(0, 1, 3, base=2) | torch.logspace(0, 1, 3, 2.0, dtype=torch.float64)
torch.eye(3) | torch.eye(2, 3) | torch.eye(-1) | torch.eye(0) | torch.eye(2, dtype=torch.int64) | torch.eye(2, requires_grad=True)
torch.empty(2, 3).shape | torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride() | torch.empty(2, memory_format=torch.channels_last)
torch.empty_strided((2, 3), (1, 2)).stride() | torch.empty_strided((2,), (1, 2)) | torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
torch.empty_permuted((2, 3), (0, 0)) | torch.ones(2).new_zeros(3) | torch.ones(2).new_zeros((3, 1)) | torch.ones(2).new_full((2,), 3) | torch.ones(2).new_empty(3).shape
torch.ones(2, dtype=torch.int8).new_ones(2) | torch.ones(2, dtype=torch.int8).new_ones(2, dtype=torch.float64) | torch.ones(2, device='meta').new_zeros(3)
torch.vander(torch.arange(3.)) | torch.vander(torch.arange(3), 2, True) | torch.vander(torch.ones(2, 2))
torch.hann_window(5) | torch.hann_window(5, False) | torch.hann_window(1) | torch.hann_window(0) | torch.hann_window(-1) | torch.hann_window(4, dtype=torch.int64)
torch.hamming_window(5) | torch.hamming_window(5, True, 0.5, 0.4) | torch.blackman_window(6) | torch.bartlett_window(5) | torch.bartlett_window(4, False) | torch.kaiser_window(6)
torch.complex(torch.ones(2), torch.zeros(2)).dtype | torch.range(1, 4) | torch.range(0, 1, 0.5)
"""

LEGACY = """
torch.Tensor() | torch.Tensor(2, 3).shape | torch.Tensor([1, 2]) | torch.Tensor((1, 2)) | torch.Tensor(np.ones(2)) | torch.Tensor(torch.ones(2))
torch.Tensor(torch.Size([2, 3])).shape | torch.Tensor([[1, 2], [3, 4]]) | torch.Tensor(5).shape | torch.Tensor('a') | torch.Tensor(torch.ones(2, dtype=torch.int64))
torch.LongTensor([1, 2]) | torch.LongTensor(2).shape | torch.FloatTensor([1, 2]) | torch.FloatTensor(2, 3).shape | torch.DoubleTensor([1]) | torch.ByteTensor([1, 255])
torch.BoolTensor([True, False]) | torch.IntTensor([1]) | torch.HalfTensor([1.5]) | torch.ShortTensor([1]) | torch.CharTensor([-1]) | torch.BFloat16Tensor([1.5])
isinstance(torch.ones(2), torch.FloatTensor) | isinstance(torch.ones(2).long(), torch.FloatTensor) | isinstance(torch.ones(2).long(), torch.LongTensor) | isinstance(3, torch.FloatTensor)
torch.ones(2).type() | torch.ones(2).type(torch.LongTensor) | torch.ones(2).type('torch.DoubleTensor') | torch.ones(2).type(torch.int8) | torch.ones(2).type('foo') | torch.ones(2).type(torch.float64).type()
torch.LongTensor([1.5]) | torch.FloatTensor(torch.ones(2)) | torch.is_tensor(torch.ones(1)) | torch.is_tensor(1) | torch.is_storage(1) | torch.numel(torch.ones(2, 3)) | torch.numel(3)
torch.is_floating_point(torch.ones(1)) | torch.is_complex(torch.ones(1)) | torch.is_nonzero(torch.tensor([0.])) | torch.is_nonzero(torch.ones(2)) | torch.is_signed(torch.ones(1).byte())
torch.result_type(torch.ones(2, dtype=torch.int8), 1.5) | torch.result_type(1, 2.5) | torch.result_type(torch.ones(2), torch.ones((), dtype=torch.float64)) | torch.can_cast(torch.float32, torch.int32)
torch.can_cast(torch.int32, torch.float16) | torch.can_cast(torch.float64, torch.float16) | torch.can_cast(torch.bool, torch.int8) | torch.can_cast(torch.int8, torch.bool) | torch.can_cast(torch.int64, torch.uint8)
torch.promote_types(torch.int8, torch.uint8) | torch.get_default_dtype() | torch.set_default_dtype(torch.int64) | torch.set_default_dtype('a') | torch.typename(torch.ones(2)) | torch.typename(3)
torch.ones(2).new(3).shape | torch.ones(2).new([1, 2]) | torch.finfo(torch.float32).eps | torch.iinfo(torch.int8).max | torch.pi | torch.inf | torch.newaxis | torch.e
"""


def cases(text: str) -> list[str]:
    return [c.strip() for line in text.strip().splitlines() for c in line.split(" | ")]


@pytest.mark.parametrize("source", cases(TENSOR))
def test_tensor(source: str) -> None:
    agree(source)


@pytest.mark.parametrize("source", cases(SIZED))
def test_sized(source: str) -> None:
    agree(source)


@pytest.mark.parametrize("source", cases(LEGACY))
def test_legacy(source: str) -> None:
    agree(source)


NUMBERS = st.one_of(st.booleans(), st.integers(-100, 100), st.floats(-100, 100, width=32))


@settings(max_examples=300, deadline=None)
@given(st.recursive(NUMBERS, lambda inner: st.lists(inner, max_size=3), max_leaves=8))
def test_tensor_of_any_nested_list(data: object) -> None:
    agree(f"torch.tensor({data!r})")


@settings(max_examples=60, deadline=None)
@given(start=st.integers(-20, 20), count=st.integers(0, 15), step=st.sampled_from([1, 2, -3, 0.5, 0.1]))
def test_arange(start: int, count: int, step: float) -> None:
    agree(f"torch.arange({start}, {start + count * step}, {step})", tol=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(-30, 30), st.integers(-30, 30), st.integers(1, 12), st.sampled_from(["float32", "float64", "float16"])
)
def test_linspace(start: int, end: int, steps: int, dtype: str) -> None:
    # Not integers: where a point is whole, PyTorch's truncation depends on its vector width.
    tol = 1e-2 if dtype == "float16" else 1e-5
    agree(f"torch.linspace({start}, {end}, {steps}, dtype=torch.{dtype})", tol=tol)


ORDERS = ["ones(2, 3, 4)", "ones(2, 3, 4).permute(2, 0, 1)", "ones(4, 3).t()", "ones(2, 3, 4)[:, ::2]",
          "ones(1, 3).expand(2, 3)", "ones(2, 1, 3).permute(2, 1, 0)", "ones(())"]  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("fn", ["zeros_like", "empty_like", "rand_like", "randn_like"])
def test_like_keeps_the_order_of_dims(order: str, fn: str) -> None:
    agree(f"torch.{fn}(torch.{order}).stride()")
    agree(f"torch.{fn}(torch.{order}, memory_format=torch.contiguous_format).stride()")


def test_from_numpy_shares_memory() -> None:
    a = np.zeros(3)
    t = rl.from_numpy(a)
    a[0] = 5
    t[1] = 7
    assert t.tolist() == [5, 7, 0] == a.tolist()


def test_tensor_copies_and_as_tensor_does_not() -> None:
    a = np.zeros(3)
    copied, shared = rl.tensor(a), rl.as_tensor(a)
    a[0] = 1
    assert copied[0] == 0
    assert shared[0] == 1
    x = rl.ones(2, requires_grad=True)
    assert rl.as_tensor(x) is x


def test_tensor_of_a_tensor_warns() -> None:
    with pytest.warns(UserWarning, match="recommended to use sourceTensor"):
        rl.tensor(rl.ones(2))


def test_default_dtype_decides() -> None:
    rl.set_default_dtype(rl.float64)
    assert rl.tensor(1.5).dtype is rl.float64
    assert rl.zeros(2).dtype is rl.float64
    assert rl.arange(2.0).dtype is rl.float64
    assert rl.rand(2).dtype is rl.float64
    assert rl.tensor(1j).dtype is rl.complex128


def test_set_default_tensor_type() -> None:
    rl.set_default_tensor_type(rl.DoubleTensor)
    assert rl.zeros(1).dtype is rl.float64
    rl.set_default_tensor_type("torch.FloatTensor")
    assert rl.zeros(1).dtype is rl.float32


def test_missing_names_say_so() -> None:
    with pytest.raises(AttributeError, match="Did you mean: 'zeros'"):
        rl.zeroes  # noqa: B018
    with pytest.raises(AttributeError, match="PyTorch has it; rushlight does not implement it yet"):
        rl.sparse_bsr_tensor  # noqa: B018
    assert not hasattr(rl, "no_such_thing")
    assert isinstance(outcome(rl, "torch._private"), AttributeError)


def test_a_subclass_can_be_made_like_tensor() -> None:
    class Mine(rl.Tensor):
        pass

    t = Mine([1.0, 2.0])
    assert type(t) is Mine
    assert t.tolist() == [1, 2]
    assert repr(t) == "Mine([1., 2.])"
    assert type(rl.ones(2).as_subclass(Mine)) is Mine
