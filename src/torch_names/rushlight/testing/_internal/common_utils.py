"""`torch.testing._internal.common_utils`: a test case that compares tensors, and who runs it."""

from __future__ import annotations

import random
import unittest
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...operators.create.from_data import from_numpy
from ...operators.random.generator import manual_seed
from .._comparison import assert_close
from ..creation import make_tensor as make_tensor

__all__ = ["TestCase", "make_tensor", "run_tests", "set_rng_seed"]

SEED = 1234
_ARRAYS = (Tensor, np.ndarray, np.generic)


def set_rng_seed(seed: int = SEED) -> None:
    """Seed Python's, NumPy's and rushlight's generators."""
    manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


class TestCase(unittest.TestCase):
    """A test whose `assertEqual` compares tensors, numbers, and containers of them, to the tolerance of their dtype."""

    __test__ = False  # the class itself is no test
    precision: float = 0
    rel_tol: float = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__test__ = True

    def setUp(self) -> None:  # noqa: N802 - unittest's name
        """Every test begins with the same seeds."""
        set_rng_seed()

    def assertEqual(self, x: Any, y: Any, msg: Any = None, *, atol: float | None = None, rtol: float | None = None,  # type: ignore[override]  # noqa: N802
                    equal_nan: bool = True, exact_dtype: bool = True, exact_device: bool = False, exact_layout: bool = False,
                    exact_stride: bool = False, exact_is_coalesced: bool = False) -> None:  # fmt: skip
        """Fail unless both are equal, tensors to their tolerance."""
        if isinstance(x, Tensor) and isinstance(y, np.ndarray):
            y = from_numpy(y)
        elif isinstance(x, np.ndarray) and isinstance(y, Tensor):
            self.fail(msg or "an array is no tensor")
        if isinstance(x, _ARRAYS) != isinstance(y, _ARRAYS):  # numbers beside a tensor
            x, y = (v.tolist() if isinstance(v, _ARRAYS) else v for v in (x, y))
        exact_dtype = exact_dtype and isinstance(x, (*_ARRAYS, dict, list, tuple))
        if not _compared(x) or not _compared(y):
            return super().assertEqual(x, y, msg)
        if atol is not None and rtol is None:
            rtol = 0.0
        assert_close(
            x, y, atol=atol, rtol=rtol, equal_nan=equal_nan, check_dtype=exact_dtype, check_device=exact_device,
            check_layout=exact_layout, check_stride=exact_stride, msg=msg,
        )  # fmt: skip

    def assertNotEqual(self, x: Any, y: Any, msg: Any = None, **options: Any) -> None:  # type: ignore[override]  # noqa: N802
        """Fail if `assertEqual` of the same would not."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, **options)


def _compared(a: Any) -> bool:
    """Whether there are numbers or tensors alone in it, which are compared to a tolerance."""
    if isinstance(a, dict):
        return all(map(_compared, a.values()))
    if isinstance(a, (list, tuple)):
        return all(map(_compared, a))
    return isinstance(a, (*_ARRAYS, int, float, complex))


def run_tests(argv: Any = None) -> None:
    """Run the tests of the file that calls."""
    unittest.main(argv=argv)
