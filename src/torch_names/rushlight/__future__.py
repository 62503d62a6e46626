"""`torch.__future__`: what becomes of a module's parameters when it is converted or loads."""

from __future__ import annotations

from .base.config import settings

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether `module.to()` and its kind give the module new parameters instead of changing those it has."""
    settings.overwrite_module_params = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether they do."""
    return settings.overwrite_module_params


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether `module.to()`, its kind and `load_state_dict` swap parameters with new ones, by `utils.swap_tensors`."""
    settings.swap_module_params = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether they do."""
    return settings.swap_module_params
