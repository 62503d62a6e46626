"""`torch._tensor_str`: the printed form of tensors without what stands around the numbers."""

from __future__ import annotations

from typing import Any

from .core.shown import printing
from .core.tensor import Tensor

__all__ = ["PRINT_OPTS", "printoptions", "set_printoptions"]

printoptions = printing.printoptions
set_printoptions = printing.set_printoptions


class _PrintOptions:
    """The options in force at the time one asks."""

    def __getattr__(self, name: str) -> Any:
        options = printing.get_printoptions()
        if name not in options:
            raise AttributeError(f"print options have no {name!r}", name=name, obj=self)
        return options[name]


PRINT_OPTS = _PrintOptions()


def _tensor_str(self: Any, indent: int) -> str:
    """The numbers in their brackets; `indent` is the column they start at."""
    a = self.detach().cpu().numpy()
    if a.size == 0:
        return "[]"
    return (
        printing.format_tensor(
            a, dtype_name="", default_dtype_name="", device=None, suffixes=(), prefix="", indent=indent
        )
        .removesuffix(", dtype=rushlight.)")
        .removesuffix(")")
    )


def _str_intern(inp: Any, *, tensor_contents: str | None = None) -> str:
    """The printed form of a tensor, with other contents if they are given."""
    return Tensor.__repr__(inp, tensor_contents=tensor_contents)  # type: ignore[call-arg]


def _str(self: Any, *, tensor_contents: str | None = None) -> str:
    """As `_str_intern`."""
    return _str_intern(self, tensor_contents=tensor_contents)


def _add_suffixes(tensor_str: str, suffixes: Any, indent: int, force_newline: bool) -> str:
    """What stands behind the numbers, in lines of its own where it would be too long."""
    options = printing.PrintOptions(**printing.get_printoptions())
    return printing.append_notes(tensor_str, suffixes, 0, indent, options, force_newline)
