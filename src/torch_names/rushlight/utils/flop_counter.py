"""`torch.utils.flop_counter`: counts the multiplications and additions of products and convolutions."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from .._aten.names import operator
from ..core.tensor import Tensor
from ..nn.modules._global_hooks import register_module_forward_hook, register_module_forward_pre_hook
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

Shape = Sequence[int]
flop_registry: dict[Any, Callable[..., int]] = {}  # by operator: what counts it


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable], Callable]:
    """Decorator: the function counts an operator, or several.

    Args:
        targets: an operator such as `torch.ops.aten.mm`, or a list of them.
        get_raw: the function takes the arguments and `out_val=`; else shapes in place of tensors, and `out_shape=`.

    Example:
        >>> from rushlight.utils.flop_counter import FlopCounterMode, register_flop_formula
        >>> @register_flop_formula(torch.ops.aten.erfinv)
        ... def many(x_shape, *args, out_shape=None, **kwargs):
        ...     return 100 * x_shape.numel()
        >>> with FlopCounterMode(display=False) as counter:
        ...     _ = torch.erfinv(torch.zeros(3))
        >>> counter.get_total_flops()
        300
    """

    def register(fn: Callable) -> Callable:
        for target in targets if isinstance(targets, list | tuple) else [targets]:
            flop_registry[target] = fn if get_raw else _of_shapes(fn)
        return fn

    return register


def _of_shapes(fn: Callable) -> Callable[..., int]:
    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out = tree_map(_shape, (args, kwargs, out_val))
        return fn(*args, out_shape=out, **kwargs)

    return count


def _shape(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


def _aten(*names: str) -> list[Any]:
    return [operator(name)._overloadpacket for name in names]


@register_flop_formula(_aten("mm", "bmm"))
def _product(a: Shape, b: Shape, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return 2 * math.prod(a) * b[-1]


@register_flop_formula(_aten("addmm", "baddbmm"))
def _added_product(bias: Shape, a: Shape, b: Shape, *args: Any, **kwargs: Any) -> int:
    return _product(a, b)


def _conv_count(x: Shape, w: Shape, out: Shape, transposed: bool = False) -> int:
    """Each element of a result (of an input, transposed) meets each element of a filter, for each pair of channels."""
    return 2 * x[0] * math.prod((x if transposed else out)[2:]) * math.prod(w)


@register_flop_formula(_aten("convolution"))
def _conv(
    x: Shape, w: Shape, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, *args: Any,
    out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    return _conv_count(x, w, out_shape, transposed)


def _turned(shape: Shape) -> Shape:
    return [shape[1], shape[0], *shape[2:]]


@register_flop_formula(_aten("convolution_backward"))
def _conv_backward(
    g: Shape, x: Shape, w: Shape, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int, output_mask: Sequence[bool], out_shape: Any = None,
) -> int:  # fmt: skip
    total = 0
    if output_mask[0]:
        total += _conv_count(g, w, out_shape[0], not transposed)
    if output_mask[1]:
        data, filters = (g, x) if transposed else (x, g)
        total += _conv_count(_turned(data), _turned(filters), _turned(out_shape[1]))
    return total


_ATTENTION = "_scaled_dot_product_flash_attention"  # PyTorch counts those of GPUs


@register_flop_formula(_aten(_ATTENTION))
def _attention(q: Shape, k: Shape, v: Shape, *args: Any, **kwargs: Any) -> int:
    pairs = math.prod(q[:-1]) * k[-2]
    return 2 * pairs * (q[-1] + v[-1])


@register_flop_formula(_aten(f"{_ATTENTION}_backward"))
def _attention_backward(g: Shape, q: Shape, k: Shape, v: Shape, *args: Any, **kwargs: Any) -> int:
    """Five products: the weights again, and the gradients of the weights, of v, of q and of k."""
    pairs = math.prod(q[:-1]) * k[-2]
    return 2 * pairs * (3 * q[-1] + 2 * v[-1])


class FlopCounterMode(TorchDispatchMode):
    """A block in which the multiplications and additions of products and convolutions are counted.

    Those of a backward pass are counted, too, under "Global"; those of forward passes also by module.

    Args:
        mods: accepted and not needed.
        depth: how deep modules are shown in the table.
        display: print a table when the block ends.
        custom_mapping: operators, each with a function that counts, as of `register_flop_formula`.

    Example:
        >>> from rushlight.utils.flop_counter import FlopCounterMode
        >>> with FlopCounterMode(display=False) as counter:
        ...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
        >>> counter.get_total_flops()
        48
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict | None = None
    ) -> None:
        super().__init__()
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.display, self.depth = display, depth
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        own = (custom_mapping or {}).items()
        self.flop_registry = {
            **flop_registry,
            **{op: fn if getattr(fn, "_get_raw", False) else _of_shapes(fn) for op, fn in own},
        }
        self._names: dict[Any, str] = {}
        self._parents: list[str] = []
        self._handles: list[Any] = []

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._names.clear()
        self._handles = [
            register_module_forward_pre_hook(self._into),
            register_module_forward_hook(self._out_of, always_call=True),
        ]
        super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        for handle in self._handles:
            handle.remove()
        if self.display:
            print(self.get_table(self.depth))

    def _into(self, module: Any, args: Any) -> None:
        name = self._names.setdefault(module, type(module).__name__)
        for child, inner in module.named_children():
            self._names[inner] = f"{name}.{child}"
        self._parents.append(name)

    def _out_of(self, module: Any, args: Any, output: Any) -> None:
        self._parents.pop()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        count = self.flop_registry.get(func._overloadpacket)
        if count is not None:
            found = count(*args, **kwargs, out_val=out)
            for name in {"Global", *self._parents}:
                self.flop_counts[name][func._overloadpacket] += found
        return out

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By module, and by operator; "Global" holds everything."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table: modules, their operators, and the share of the whole."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops() or 1
        rows = []
        for name in sorted(self.flop_counts, key=lambda n: (n != "Global", n)):
            level = 0 if name == "Global" else name.count(".") + 1
            if level > depth:
                continue
            counts = self.flop_counts[name]
            rows.append((" " * level + name, sum(counts.values())))
            rows += [(" " * level + f" - {op}", count) for op, count in counts.items()]
        width = max([len(name) for name, _ in rows] + [6])
        lines = [f"{'Module':<{width}}  {'FLOP':>15}  {'% Total':>8}"]
        lines.append(f"{'-' * width}  {'-' * 15}  {'-' * 8}")
        lines += [f"{name:<{width}}  {n:>15,}  {n / total:>8.2%}" for name, n in rows]
        return "\n".join(lines)
