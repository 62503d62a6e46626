"""Linear algebra: importing this file defines the whole family, one file per kind of question."""

from . import (  # noqa: F401
    linalg_determinant,
    linalg_factor,
    linalg_functions,
    linalg_norms,
    linalg_older,
    linalg_solve,
    linalg_spectrum,
)
