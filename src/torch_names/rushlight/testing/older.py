"""`assert_allclose`, the older spelling of `assert_close`."""

from __future__ import annotations

import warnings
from typing import Any

from ..base import dtypes
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from ._comparison import assert_close

_TOLERANCES = {dtypes.float16: (1e-3, 1e-3), dtypes.float32: (1e-4, 1e-5), dtypes.float64: (1e-5, 1e-8)}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """As `assert_close`, with wider tolerances and without looking at dtypes; PyTorch calls it deprecated.

    Args:
        actual, expected: tensors or numbers.
        rtol, atol: the relative and the absolute tolerance; by the dtype if not given.
        equal_nan: nan equals nan.
        msg: what the error says.

    Raises:
        AssertionError: if they differ.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> torch.testing.assert_allclose(torch.tensor([1.0]), torch.tensor([1.00001]))
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    make = NAMESPACES["torch"]["tensor"]
    actual = actual if isinstance(actual, Tensor) else make(actual)
    expected = expected if isinstance(expected, Tensor) else make(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        found = [_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(f[0] for f in found), max(f[1] for f in found)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
