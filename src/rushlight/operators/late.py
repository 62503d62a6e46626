"""Families few programs use, imported when one of their names is first asked for.

They cost a tenth of the whole import. Names outside a namespace of their own (`linalg.*`, `fft.*`) have
to be listed here; tests/ops/test_late_ops.py keeps the list true.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..core.tensor import Tensor

# family -> the names it publishes in the top module and on Tensor
LATE: dict[str, str] = {
    "matrix.linalg": "cholesky cholesky_inverse cholesky_solve det geqrf inverse logdet lu lu_solve "
    "lu_unpack matrix_exp matrix_power orgqr ormqr pinverse qr slogdet svd triangular_solve",
    "signal.fft": "",
    "signal.stft": "istft renorm renorm_ stft",
    "pointwise.bessel": "",
    "loss.ctc": "ctc_loss",
    "signal.windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "random.gamma_draws": "_sample_dirichlet _standard_gamma binomial",
    "matrix.sparse": "dsmm sparse_coo_tensor sparse_mask spmm to_dense to_sparse",
    "matrix.compressed": "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo "
    "sparse_compressed_tensor sparse_csc_tensor sparse_csr_tensor to_sparse_csc to_sparse_csr",
    "reduce.histogramdd": "histogramdd",
    "matrix.grouped": "_grouped_mm",
    "layers.recurrent": "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell",
}

# Those of them that are methods of Tensor.
METHODS = (
    "cholesky cholesky_inverse cholesky_solve det geqrf inverse istft logdet lu lu_solve matrix_exp matrix_power "
    "orgqr ormqr pinverse qr renorm renorm_ slogdet sparse_mask stft svd to_dense to_sparse to_sparse_csc to_sparse_csr "
    "triangular_solve"
)

_family_of = {name: family for family, names in LATE.items() for name in names.split()}


def load_late(name: str) -> bool:
    """Import the family that publishes `name`; whether there is one."""
    family = _family_of.get(name)
    if family is None:
        return False
    import_module(f"{__package__}.{family}")
    return True


def load_all() -> None:
    """Import every late family, for namespaces and tests that want all ops."""
    for family in LATE:
        import_module(f"{__package__}.{family}")


class _LateMethod:
    """Stands on Tensor for a method whose family was not imported yet, which takes its place.

    Not `Tensor.__getattr__`: a class that has one reads every attribute, `t._a` too, the long way.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        load_late(self.name)
        return getattr(owner if instance is None else instance, self.name)


for _name in METHODS.split():
    setattr(Tensor, _name, _LateMethod(_name))
