"""Modules in notebooks: a table of the tree with the parameters of each, and their sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base import html

if TYPE_CHECKING:
    from .module import Module

_MOST = 400  # rows; the rest is counted


def module_html(root: Module) -> str:
    """What `_repr_html_` of a module answers."""
    rows: list[tuple[str, str, str, str]] = []
    left = 0
    for path, module in root.named_modules():
        if len(rows) == _MOST:
            left += 1
            continue
        depth = path.count(".") + 1 if path else 0
        name = "  " * depth + (path.rpartition(".")[2] or type(root).__name__)
        kind = type(module).__name__
        inner = module.extra_repr().replace("\n", " ")
        own = [p for p in module._parameters.values() if p is not None]
        rows.append((name, f"{kind}({inner})" if inner else kind, _shapes(module), _count(own)))
    if left:
        rows.append((f"… and {left:,} more modules", "", "", ""))
    every = list(root.parameters())
    total = f"parameters: {_count(every) or '0'}"
    still = [p for p in every if not p.requires_grad]
    total += f" ({_count(still)} of them not trained)" if still else ""
    mode = "training" if root.training else "evaluating"
    devices = ", ".join(sorted({str(p.device) for p in every}))
    about = f"{type(root).__name__}, {total}{' on ' if devices else ''}{devices}, {mode}"
    return html.heading(about) + html.table(("module", "kind", "tensors", "parameters"), rows, (3,))


def _shapes(module: Module) -> str:
    tensors = {**module._parameters, **module._buffers}
    known = {k: v for k, v in tensors.items() if v is not None}
    return ", ".join(f"{k} {_shape(v)}" for k, v in known.items())


def _shape(t: Any) -> str:
    try:
        return str(list(t.shape))
    except RuntimeError:  # of a lazy module, before its first call
        return "not known yet"


def _count(tensors: list[Any]) -> str:
    try:
        return f"{sum(t.numel() for t in tensors):,}" if tensors else ""
    except (RuntimeError, ValueError):
        return "not known yet"
