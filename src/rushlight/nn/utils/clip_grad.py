"""Limiting gradients."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from ...core.explain import not_a_tensor
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...operators.create.from_data import tensor
from ...operators.foreach import clip, limit, one_kind, total_norm
from ...operators.shape.join import stack
from ...runtime.sparse_array import refused

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _gradients(parameters: Any) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    return [g for g in [p.grad for p in parameters] if g is not None]


def _is_spread(t: Tensor) -> bool:
    """Whether a tensor lies on several ranks. The class is compared first: an attribute that is absent is slow to ask for."""
    return t.__class__ is not Tensor and hasattr(t, "full_shape")


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors together, as if they were one vector.

    Args:
        tensors: a tensor, or several.
        norm_type: which norm; infinity is the largest absolute value.
        error_if_nonfinite: raise an error if the norm is infinite or nan.
        foreach: accepted, and not used.

    Raises:
        RuntimeError: if the norm is not finite and `error_if_nonfinite` is True.

    Example:
        >>> nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
        tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tensor(0.0)
    strange = [t for t in tensors if not isinstance(t, Tensor)]
    if strange:
        raise not_a_tensor("get_total_norm", "tensors", 1, strange[0])
    if any(_is_spread(t) for t in tensors):
        from ...distributed.tensor.norms import norm_over_ranks

        total = norm_over_ranks(tensors, norm_type, get_total_norm)
    elif one_kind(tensors):
        total = total_norm(tensors, norm_type)
    else:
        device = tensors[0].device
        total = _norm(stack([_norm(t, norm_type).to(device) for t in tensors]), norm_type)
    _check_finite(total, norm_type, error_if_nonfinite)
    return total


def _check_finite(total: Tensor, norm_type: float, wanted: bool) -> None:
    if wanted and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )


def _norm(t: Tensor, norm_type: float) -> Tensor:
    from ...operators.reduce.vector_norm import vector_norm

    return vector_norm(t, norm_type)


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients by `max_norm / total_norm`, in place, if that is less than 1.

    Args:
        parameters: a tensor, or several; those without a gradient do not count.
        max_norm: the largest norm.
        total_norm: the norm that the gradients have, from `get_total_norm`.
        foreach: accepted, and not used.

    Example:
        >>> w = torch.zeros(2, requires_grad=True)
        >>> w.grad = torch.tensor([3.0, 4.0])
        >>> nn.utils.clip_grads_with_norm_(w, 1.0, nn.utils.get_total_norm([w.grad]))
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    found: list[Any] = _gradients(parameters)
    grads = [g.to_local() if _is_spread(g) else g for g in found]
    if _is_spread(total_norm):
        total_norm = total_norm.full_tensor()  # type: ignore[attr-defined]
    with no_grad():
        if grads and not total_norm.dim() and one_kind([*grads, total_norm]):
            clip(grads, total_norm, max_norm)
            return
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for g in grads:
            g.mul_(factor.to(g.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients, in place, so that their norm together is at most `max_norm`.

    Call it between `backward()` and `optimizer.step()`.

    Args:
        parameters: a tensor, or several; those without a gradient do not count.
        max_norm: the largest norm.
        norm_type: which norm; infinity is the largest absolute value.
        error_if_nonfinite: raise an error if the norm is infinite or nan.
        foreach: accepted, and not used.

    Returns:
        the norm before scaling.

    Raises:
        RuntimeError: if the norm is not finite and `error_if_nonfinite` is True.

    Example:
        >>> w = torch.zeros(2, requires_grad=True)
        >>> w.grad = torch.tensor([3.0, 4.0])
        >>> nn.utils.clip_grad_norm_([w], max_norm=1.0)
        tensor(5.)
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    if not isinstance(parameters, Tensor):
        is_generator = not isinstance(parameters, (list, tuple))
        parameters = list(parameters)
        if is_generator and not parameters:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    grads = _gradients(parameters)
    with no_grad():
        plain = bool(grads) and all(g.__class__ is Tensor for g in grads) and one_kind(grads)
        if plain:  # as below, without looking at every gradient again
            total = total_norm(grads, float(norm_type))
            _check_finite(total, norm_type, error_if_nonfinite)
            clip(grads, total, max_norm)
        else:
            total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
            clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """As `clip_grad_norm_`, under its old name; deprecated."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Limit every element of gradients to [-clip_value, clip_value], in place.

    Args:
        parameters: a tensor, or several; those without a gradient do not count.
        clip_value: the limit.
        foreach: accepted, and not used.

    Example:
        >>> w = torch.zeros(2, requires_grad=True)
        >>> w.grad = torch.tensor([-3.0, 0.5])
        >>> nn.utils.clip_grad_value_([w], 1.0)
        >>> w.grad
        tensor([-1.0000,  0.5000])
    """
    clip_value = float(clip_value)
    with no_grad():
        gradients = _gradients(parameters)
        plain = all(g.__class__ is Tensor and not g.is_sparse for g in gradients)
        if plain and gradients and one_kind(gradients) and limit(gradients, clip_value):
            return
        for g in gradients:  # those of spread parameters share memory with their parts
            if g.is_sparse:
                raise refused("clamp_" if foreach is False else "clamp_min_", g.device)
            g.clamp_(-clip_value, clip_value)
