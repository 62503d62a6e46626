"""`torch._inductor`: PyTorch's compiler, which rushlight does not have; its settings can be set and change nothing."""

from __future__ import annotations

from typing import Any

from ..compiler import cudagraph_mark_step_begin
from . import config as config

__all__ = ["config", "cudagraph_mark_step_begin", "list_mode_options", "list_options"]

_MODES: dict[str, dict[str, bool]] = {
    "default": {},
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True},
}


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The settings that each `mode` of `torch.compile` stands for in PyTorch, or those of one.

    Args:
        mode: such as "reduce-overhead"; None for all of them.
        dynamic: accepted, and not used.

    Raises:
        RuntimeError: for a mode there is not.

    Example:
        >>> torch._inductor.list_mode_options("reduce-overhead")
        {'triton.cudagraphs': True}
    """
    if mode is None:
        return {name: dict(options) for name, options in _MODES.items()}
    if mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    return dict(_MODES[mode])


def list_options() -> list[str]:
    """The names of settings that `torch.compile(options=...)` may be given: none is looked at here.

    Example:
        >>> torch._inductor.list_options()
        []
    """
    return []
