"""`library.opcheck`: whether a custom operator keeps what it promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._library_ops import CustomOpDef
from .base.trees import tree_flatten, tree_map
from .capture import compile as compiled
from .core.tensor import Tensor
from .testing import assert_close

__all__ = ["OpCheckError", "opcheck"]

_Call = tuple[tuple, dict[str, Any]]


class OpCheckError(Exception):
    """What `opcheck` raises for a promise that is not kept."""


def _tensors(tree: Any) -> list[Tensor]:
    return [t for t in tree_flatten(tree)[0] if isinstance(t, Tensor)]


def _copied(call: _Call) -> _Call:
    def copy(t: Any) -> Any:
        return t.detach().clone().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t

    return tree_map(copy, call)


def _schema(op: CustomOpDef, call: _Call, close: dict) -> None:
    """Only arguments named in `mutates_args` are written, and results have memory of their own."""
    args, kwargs = call
    before = op._bound(*_copied(call)[0], **_copied(call)[1]).arguments
    after = op._bound(*args, **kwargs).arguments
    results = _tensors(op(*args, **kwargs))
    for name, value in after.items():
        for old, new in zip(_tensors(before[name]), _tensors(value), strict=True):
            if name not in op._mutates and not _same(old, new):
                raise OpCheckError(
                    f"Argument {name} is not defined to alias output but was aliasing: {op._qualname} writes into it"
                )
            if any(r is new or (r.numel() and r.data_ptr() == new.data_ptr()) for r in results):
                raise OpCheckError(
                    f"Argument {name} is not defined to alias output but was aliasing: {op._qualname} returns its memory"
                )


def _same(a: Tensor, b: Tensor) -> bool:
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _autograd(op: CustomOpDef, call: _Call, close: dict) -> None:
    """Results are on the tape when an argument is."""
    args, kwargs = call
    wanted = any(t.requires_grad for t in _tensors(call))
    results = [t for t in _tensors(op(*args, **kwargs)) if t.is_floating_point() or t.is_complex()]
    if wanted and results and not any(t.requires_grad for t in results):
        raise OpCheckError(f"{op._qualname}: no result requires grad, though an argument does")


def _fake(op: CustomOpDef, call: _Call, close: dict) -> None:
    """What is said of results without values is so."""
    if op._fake is None and _tensors(call):
        raise OpCheckError(f"{op._qualname} has no function for meta tensors: register_fake")
    args, kwargs = call
    bare = tree_map(lambda t: t.detach().to("meta") if isinstance(t, Tensor) else t, call)
    told, real = _tensors(op(*bare[0], **bare[1])), _tensors(op(*args, **kwargs))
    if len(told) != len(real):
        raise OpCheckError(f"{op._qualname}: {len(told)} results without values, {len(real)} with")
    for a, b in zip(told, real, strict=True):
        for what in ("shape", "dtype"):
            if getattr(a, what) != getattr(b, what):
                raise OpCheckError(f"{op._qualname}: the {what} is {getattr(b, what)}, said to be {getattr(a, what)}")


def _compiled(op: CustomOpDef, call: _Call, close: dict) -> None:
    """Compiled, it computes the same, and the same derivatives."""
    found = []
    for fn in (lambda *a, **k: op(*a, **k), compiled(lambda *a, **k: op(*a, **k))):
        args, kwargs = _copied(call)
        results = _tensors(fn(*args, **kwargs))
        leaves = [t for t in _tensors((args, kwargs)) if t.requires_grad]
        for r in results:
            if leaves and r.requires_grad:
                r.sum().backward(retain_graph=True)
        found.append(([r.detach() for r in results], [t.grad for t in leaves]))
    assert_close(found[1], found[0], **close)


_CHECKS: dict[str, Callable[[CustomOpDef, _Call, dict], None]] = {
    "test_schema": _schema, "test_autograd_registration": _autograd, "test_faketensor": _fake,
    "test_aot_dispatch_static": _compiled, "test_aot_dispatch_dynamic": _compiled,
}  # fmt: skip
_DEFAULT = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def opcheck(
    op: Any,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _DEFAULT,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Try a custom operator on these arguments: does it write only what it says, know its shapes, compile?

    Args:
        op: what `custom_op` made.
        args, kwargs: what it is called with.
        test_utils: the names of the checks, or one of them.
        raise_exception: whether the first failure is raised; else it stands in the result.
        atol, rtol: how close compiled results must be.

    Raises:
        OpCheckError: for the first check that fails.

    Example:
        >>> @torch.library.custom_op("docs_f::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> torch.library.opcheck(double, (torch.ones(2),), test_utils="test_schema")
        {'test_schema': 'SUCCESS'}
    """
    if not isinstance(op, CustomOpDef):
        raise ValueError(
            f"opcheck(op, ...): op must be instance of torch._ops.OpOverload e.g. torch.ops.aten.sin.default, got {type(op)}"
        )
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    if not set(names) <= set(_CHECKS):
        raise ValueError(f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {tuple(_CHECKS)}")
    close = {} if atol is None and rtol is None else {"atol": atol, "rtol": rtol}
    found: dict[str, Any] = {}
    for name in names:
        try:
            _CHECKS[name](op, _copied((args, kwargs or {})), close)
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            found[name] = error
    return found
