"""Options that no optimiser accepts, in PyTorch's words."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor


def check(name: str, value: Any, ok: Any) -> None:
    """PyTorch's words for an option out of range."""
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")


def check_lr(lr: Any, words: str = "Invalid learning rate: {}") -> None:
    """A learning rate is a number, or a tensor of one, and not negative."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(words.format(lr))


def check_betas(betas: tuple[Any, Any]) -> None:
    for i in (0, 1):
        check(f"beta parameter at index {i}", betas[i], 0.0 <= betas[i] < 1.0)


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Ways of stepping that exclude each other in PyTorch; here every way is one kernel."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_differentiable(differentiable: Any) -> None:
    """PyTorch hands it on to `set_grad_enabled`, which takes nothing else."""
    if not isinstance(differentiable, bool):
        raise TypeError(
            f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(differentiable).__name__}"
        )


def check_tensor_betas(values: Any, foreach: bool | None, capturable: bool) -> Any:
    """Adam's betas as tensors: of one element each, and not with `foreach` alone."""
    if not isinstance(values, tuple):
        return values
    kinds = {float if isinstance(b, float) else Tensor if isinstance(b, Tensor) else None for b in values}
    if len(kinds) != 1 or None in kinds:
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(values):
        check_tensor(f"betas[{i}]", beta, foreach, capturable)
    return tuple([b.squeeze() if isinstance(b, Tensor) and b.dim() else b for b in values])


def check_tensor(name: str, value: Any, foreach: bool | None, capturable: bool) -> None:
    """An option of Adam's as a tensor: of one element, and not with `foreach` alone."""
    if not isinstance(value, Tensor):
        return
    if foreach and not capturable:
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
    if value.numel() != 1:
        raise ValueError(f"Tensor {name} must be 1-element")
