"""`torch.utils.flop_counter`: counts the multiplications and additions of products and convolutions."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from ..core.tensor import Tensor
from ..overrides import TorchFunctionMode

__all__ = ["FlopCounterMode"]


def _mm(out: Any, a: Any, b: Any, *args: Any, **kwargs: Any) -> int:
    return 2 * out.numel() * a.shape[-1] if isinstance(a, Tensor) else 0


def _linear(out: Any, x: Any, weight: Any, *args: Any, **kwargs: Any) -> int:
    return 2 * out.numel() * weight.shape[-1]


def _addmm(out: Any, bias: Any, a: Any, b: Any, **kwargs: Any) -> int:
    return 2 * out.numel() * a.shape[-1]


def _conv(out: Any, x: Any, weight: Any, *args: Any, **kwargs: Any) -> int:
    return 2 * out.numel() * math.prod(weight.shape[1:])


def _conv_transpose(out: Any, x: Any, weight: Any, *args: Any, **kwargs: Any) -> int:
    return 2 * x.numel() * math.prod(weight.shape[1:])


def _attention(out: Any, q: Any, k: Any, v: Any, *args: Any, **kwargs: Any) -> int:
    pairs = math.prod(q.shape[:-1]) * k.shape[-2]
    return 2 * pairs * (q.shape[-1] + v.shape[-1])


_COUNTS = {
    "mm": _mm, "matmul": _mm, "bmm": _mm, "mv": _mm, "addmm": _addmm, "baddbmm": _addmm, "linear": _linear,
    "conv1d": _conv, "conv2d": _conv, "conv3d": _conv, "conv_transpose1d": _conv_transpose,
    "conv_transpose2d": _conv_transpose, "conv_transpose3d": _conv_transpose,
    "scaled_dot_product_attention": _attention,
}  # fmt: skip


class FlopCounterMode(TorchFunctionMode):
    """A block in which the multiplications and additions of products and convolutions are counted.

    Public functions are counted as they are called; what a backward pass computes is not.

    Args:
        mods: accepted and not needed.
        depth: accepted and not needed.
        display: print a table when the block ends.
        custom_mapping: functions of your own, each with a function that counts: `count(out, *args, **kwargs)`.

    Example:
        >>> from rushlight.utils.flop_counter import FlopCounterMode
        >>> with FlopCounterMode(display=False) as counter:
        ...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
        >>> counter.get_total_flops()
        48
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict | None = None,
    ) -> None:
        self.display, self.depth = display, depth
        self.flop_counts: dict[str, dict[Any, int]] = {}
        self.counts: dict[Any, int] = defaultdict(int)
        self.custom = custom_mapping or {}

    def __enter__(self) -> FlopCounterMode:
        self.counts.clear()
        super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        if self.display:
            print(self.get_table())

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        count: Any = self.custom.get(func) or _COUNTS.get(getattr(func, "__name__", ""))
        if count is not None and isinstance(out, Tensor):
            self.counts[func] += int(count(out, *args, **kwargs))
        return out

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.counts.values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By function, under the one name "Global"."""
        return {"Global": dict(self.counts)}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table."""
        rows = [("Global", self.get_total_flops())]
        rows += [(f" - {fn.__name__}", count) for fn, count in self.counts.items()]
        width = max(len(name) for name, _ in rows)
        return "\n".join([f"{name.ljust(width)}  {count:,} FLOP" for name, count in rows])
