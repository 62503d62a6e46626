"""`torch.return_types`: the named tuples of ops with several results, collected from the ops."""

from __future__ import annotations

from typing import Any

from .core.public import NAMESPACES as _NAMESPACES
from .operators.made_of.return_types import named as _named

# Made by their functions at the first call; asked for before, they are made here. `qr_out` is what `qr(out=)` returns.
_LATE = {
    "geqrf": "a tau",
    "histogramdd": "hist bin_edges",
    "linalg_cholesky_ex": "L info",
    "linalg_eig": "eigenvalues eigenvectors",
    "linalg_eigh": "eigenvalues eigenvectors",
    "linalg_inv_ex": "inverse info",
    "linalg_lstsq": "solution residuals rank singular_values",
    "linalg_lu": "P L U",
    "linalg_lu_factor": "LU pivots",
    "linalg_lu_factor_ex": "LU pivots info",
    "linalg_qr": "Q R",
    "linalg_slogdet": "sign logabsdet",
    "linalg_solve_ex": "result info",
    "linalg_svd": "U S Vh",
    "lu_unpack": "P L U",
    "qr": "Q R",
    "slogdet": "sign logabsdet",
    "svd": "U S V",
    "triangular_solve": "solution cloned_coefficient",
}

globals().update(_NAMESPACES["return_types"].whole())
__all__ = sorted(_NAMESPACES["return_types"])


def __getattr__(name: str) -> Any:
    plain = name.removesuffix("_out")
    if plain in _LATE:
        return _named(plain, *_LATE[plain].split())
    if plain != name and plain in _NAMESPACES["return_types"]:
        return _NAMESPACES["return_types"][plain]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
