"""CSR and CSC matrices beside PyTorch's: forms, products, gradients, printing and misuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])
pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
A = [[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]


@BOTH
def test_forms(lib: Any) -> None:
    csr = lib.tensor(A).to_sparse_csr()
    assert csr.layout is lib.sparse_csr and csr.is_sparse_csr and not csr.is_sparse
    assert csr.crow_indices().tolist() == [0, 1, 3] and csr.col_indices().tolist() == [1, 0, 2]
    assert csr.values().tolist() == [2.0, 3.0, 4.0] and csr._nnz() == 3 and csr.shape == (2, 3)
    csc = csr.to_sparse_csc()
    assert csc.ccol_indices().tolist() == [0, 1, 2, 3] and csc.row_indices().tolist() == [1, 0, 1]
    for other in (csr, csc, csr.to_sparse(), csc.to_sparse_csr(), csr.clone(), csc.to_sparse()):
        assert other.to_dense().tolist() == A
    assert csr.t().layout is lib.sparse_csc and csr.t().to_dense().tolist() == np.array(A).T.tolist()
    assert csr.to_sparse().to_sparse_csr().crow_indices().tolist() == [0, 1, 3]
    assert lib.tensor(A).to_sparse(layout=lib.sparse_csc).layout is lib.sparse_csc
    assert csr.double().dtype is lib.float64 and csr.double().layout is lib.sparse_csr
    assert csr[1].to_dense().tolist() == [3.0, 0.0, 4.0] and not lib.tensor(A).is_sparse_csr


@BOTH
def test_arithmetic(lib: Any) -> None:
    csr = lib.tensor(A).to_sparse_csr()
    dense = lib.arange(6.0).reshape(3, 2)
    assert (csr @ dense).tolist() == (lib.tensor(A) @ dense).tolist()
    assert csr.mv(lib.ones(3)).tolist() == [2.0, 7.0]
    assert lib.sparse.mm(csr, dense).tolist() == (lib.tensor(A) @ dense).tolist()
    assert lib.sparse.addmm(lib.ones(2, 2), csr, dense).tolist() == (1 + lib.tensor(A) @ dense).tolist()
    for result in (csr * 2, csr + csr, csr.mul(lib.full((2, 3), 2.0)), 2 * csr):
        assert result.layout is lib.sparse_csr and result.to_dense().tolist() == (2 * lib.tensor(A)).tolist()
    assert csr.sum().item() == 9.0 and (-csr).relu().to_dense().sum().item() == 0.0
    if lib.__name__ == "torch" and not lib.backends.mkl.is_available():
        return  # PyTorch multiplies two sparse matrices by MKL alone
    assert (csr @ csr.t().to_sparse_csr()).to_dense().tolist() == [[4.0, 0.0], [0.0, 25.0]]
    assert (csr.abs().values() == csr.values()).all()


@BOTH
def test_products_of_sparse_matrices_are_sparse(lib: Any) -> None:
    if lib.__name__ == "torch" and not lib.backends.mkl.is_available():
        return
    csr = lib.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]]).to_sparse_csr()
    expected = (csr.to_dense() @ csr.to_dense()).tolist()
    for product in (csr @ csr, lib.mm(csr, csr), lib.matmul(csr, csr), lib.sparse.mm(csr, csr)):
        assert product.layout is lib.sparse_csr and product.to_dense().tolist() == expected
    coo = csr.to_sparse_coo()
    assert coo.layout is lib.sparse_coo and coo.to_sparse_coo() is coo
    assert (coo @ coo).layout is lib.sparse_coo and (coo @ coo).to_dense().tolist() == expected
    assert lib.ones(2).to_sparse_coo().values().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin", "max", "min"])
def test_products_reduced_otherwise(reduce: str) -> None:
    found = []
    for lib in (rl, torch):
        v = lib.tensor([1.0, -2.0, 3.0], requires_grad=True)
        x = lib.arange(6.0).view(3, 2).requires_grad_()
        places = lib.tensor([0, 2, 2, 3]), lib.tensor([0, 2, 1])
        y = lib.sparse.mm(lib.sparse_csr_tensor(*places, v, (3, 3)), x, reduce)
        (y * lib.tensor([1.0, 2.0])).sum().backward()
        found.append([t.tolist() for t in (y, v.grad, x.grad)])
    assert found[0] == found[1]


@BOTH
def test_values_may_be_tensors(lib: Any) -> None:
    parts = lib.tensor([0, 1, 3]), lib.tensor([1, 0, 2]), lib.arange(6.0).reshape(3, 2)
    csr, csc = lib.sparse_csr_tensor(*parts, (2, 3, 2)), lib.sparse_csc_tensor(*parts)
    assert lib.sparse_csr_tensor(*parts).shape == (2, 3, 2) and csc.shape == (3, 2, 2)
    dense = [[[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [[2.0, 3.0], [0.0, 0.0], [4.0, 5.0]]]
    assert csr.to_dense().tolist() == dense and (csr.sparse_dim(), csr.dense_dim()) == (2, 1)
    assert csc.to_dense().tolist() == lib.tensor(dense).transpose(0, 1).tolist()
    assert csr.to_sparse_csc().values().tolist() == [[2.0, 3.0], [0.0, 1.0], [4.0, 5.0]]
    assert csr.to_sparse_csc().to_sparse_csr().to_dense().tolist() == dense
    coo = csr.to_sparse()
    assert coo.indices().tolist() == [[0, 1, 1], [1, 0, 2]] and coo.values().shape == (3, 2)
    assert lib.tensor(dense).to_sparse_csr(dense_dim=1).values().tolist() == parts[2].tolist()
    with pytest.raises(RuntimeError, match="hybrid sparse compressed tensors with dense"):
        csr.transpose(0, 1)


@BOTH
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_a_linear_layer_of_a_sparse_input(lib: Any, layout: str) -> None:
    x = lib.tensor(A).to_sparse(layout=getattr(lib, layout))
    w, b = lib.arange(6.0).reshape(2, 3).requires_grad_(), lib.ones(2, requires_grad=True)
    plain = lib.nn.functional.linear(lib.tensor(A), w, b)
    y = lib.nn.functional.linear(x, w, b)
    assert y.tolist() == plain.tolist()
    assert lib.nn.functional.linear(x, w).tolist() == (plain - 1).tolist()
    y.pow(2).sum().backward()
    found = w.grad.tolist(), b.grad.tolist()
    w.grad = b.grad = None
    plain.pow(2).sum().backward()
    assert found == (w.grad.tolist(), b.grad.tolist())
    with pytest.raises(RuntimeError, match="expected either 'mat1' to have sparse layout"):
        lib.nn.functional.linear(lib.ones(2, 3), lib.eye(3).to_sparse(), lib.ones(3))


@BOTH
def test_made_from_parts(lib: Any) -> None:
    made = lib.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0])
    assert made.shape == (2, 2) and made.to_dense().tolist() == [[1.0, 0.0], [0.0, 2.0]]
    csc = lib.sparse_csc_tensor([0, 1, 2], [1, 0], [5.0, 6.0], (2, 2), dtype=lib.float64)
    assert csc.to_dense().tolist() == [[0.0, 6.0], [5.0, 0.0]] and csc.dtype is lib.float64
    one = lib.sparse_compressed_tensor([0, 1, 2], [1, 0], [5.0, 6.0], (2, 2), layout=lib.sparse_csc)
    assert one.layout is lib.sparse_csc
    assert lib._convert_indices_from_coo_to_csr(lib.tensor([0, 0, 2]), 4).tolist() == [0, 2, 2, 3, 3]
    at = lib._convert_indices_from_csr_to_coo(lib.tensor([0, 2, 2, 3]), lib.tensor([0, 1, 1]))
    assert at.tolist() == [[0, 0, 2], [0, 1, 1]]
    offsets = lib.tensor([0, -1, 1])
    diagonals = lib.sparse.spdiags(lib.arange(9.0).reshape(3, 3), offsets, (3, 3))
    assert diagonals.to_dense().tolist() == [[0.0, 7.0, 0.0], [3.0, 1.0, 8.0], [0.0, 4.0, 2.0]]


def test_gradients_reach_the_values() -> None:
    results = []
    for lib in (rl, torch):
        dense = lib.arange(6.0).reshape(3, 2).requires_grad_()
        csr = lib.tensor(A).to_sparse_csr()
        (csr @ dense).pow(2).sum().backward()
        results.append(dense.grad.numpy())
    np.testing.assert_allclose(*results)
    values = rl.tensor([1.0, 2.0], requires_grad=True)
    made = rl.sparse_csr_tensor([0, 1, 2], [0, 1], values, (2, 2))
    (made @ rl.tensor([[3.0], [4.0]])).sum().backward()
    assert made.requires_grad and values.grad.tolist() == [3.0, 4.0]


def test_text() -> None:
    for make in ("to_sparse_csr", "to_sparse_csc"):
        ours, theirs = (str(getattr(lib.tensor(A), make)()) for lib in (rl, torch))
        assert "".join(ours.replace("rushlight", "torch").split()) == "".join(theirs.split())


def test_misuse() -> None:
    for lib in (rl, torch):
        csr, x = lib.eye(2).to_sparse_csr(), lib.ones(2, 2)
        with pytest.raises(RuntimeError, match="reduce type of prod has not been enabled"):
            lib.sparse.mm(csr, x, "prod")
        with pytest.raises(NotImplementedError, match="_sparse_mm_reduce_impl"):
            lib.sparse.mm(csr.to_sparse(), x, "sum")
        with pytest.raises(RuntimeError, match="Expected tensor to have Strided Layout"):
            lib.sparse.mm(csr, csr, "sum")
    csr = rl.tensor(A).to_sparse_csr()
    for call in (csr.indices, csr.is_coalesced, csr.coalesce):
        with pytest.raises(RuntimeError, match="expected sparse coordinate tensor layout but got SparseCsr"):
            call()
    with pytest.raises(RuntimeError, match="ccol_indices expected sparse column compressed"):
        csr.ccol_indices()
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        csr @ csr
    wrong = [([0, 1, 3], [0, 1]), ([0, 1, 2], [0, 5]), ([0, 2, 1], [0, 1]), ([1, 1, 2], [0, 1]), ([0, 1], [0, 1])]
    for pointers, columns in wrong:
        with pytest.raises(RuntimeError):
            rl.sparse_csr_tensor(pointers, columns, [1.0, 2.0], (2, 2))
    with pytest.raises(RuntimeError, match="duplicate"):
        rl.sparse.spdiags(rl.ones(2, 2), rl.tensor([0, 0]), (2, 2))
    with pytest.raises(NotImplementedError, match="sparse_bsr"):
        rl.tensor(A).to_sparse(layout=rl.sparse_bsr)


@BOTH
@pytest.mark.parametrize(
    "name", ["to_dense", "to_sparse", "sparse_dim", "dense_dim", "_nnz", "values", "transpose", "t"]
)
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_methods_of_the_class(lib: Any, name: str, layout: str) -> None:
    """`Tensor.to_dense(x)` is `x.to_dense()`."""
    x = lib.tensor(A).to_sparse() if layout == "coo" else lib.tensor(A).to_sparse_csr()
    args = (0, 1) if name == "transpose" else ()
    assert lib.ones(3).to_sparse().t().shape == (3,) and lib.tensor(2.0).to_sparse().t().shape == ()
    by_class, by_tensor = getattr(lib.Tensor, name)(x, *args), getattr(x, name)(*args)
    assert str(by_class) == str(by_tensor)
