"""Devices of PyTorch's that rushlight does not have: they answer that there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

# Asked of a device that is there; the others below are answered for none.
_NEED_ONE = (
    "Event", "Stream", "current_device", "current_stream", "device", "get_device_capability",
    "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "max_memory_allocated",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats",
    "reset_max_memory_allocated", "reset_peak_memory_stats", "set_device", "set_rng_state",
    "set_rng_state_all", "stream", "synchronize",
)  # fmt: skip
_MORE = (
    "StreamContext", "XPUGraph", "can_device_access_peer", "device_of", "get_per_process_memory_fraction",
    "get_stream_from_external", "graph", "graph_pool_handle", "init", "initial_seed", "make_graphed_callables",
    "reset_accumulated_memory_stats", "set_per_process_memory_fraction", "set_stream",
)  # fmt: skip
_APPLE = (
    "Event", "current_allocated_memory", "driver_allocated_memory", "get_rng_state",
    "recommended_max_memory", "set_per_process_memory_fraction", "set_rng_state", "synchronize",
)  # fmt: skip


def absent(name: str) -> dict[str, Any]:
    """The functions of the module of a device type nobody has here: `absent("xpu")`."""

    def refuser(function: str) -> Callable[..., NoReturn]:
        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise RuntimeError(f"{name}.{function}: rushlight runs on cpu and cuda, not on {name}")

        refuse.__name__ = refuse.__qualname__ = function
        return refuse

    def nothing(*args: Any, **kwargs: Any) -> None:
        """Nothing to do, because there is no such device."""

    def no(*args: Any, **kwargs: Any) -> bool:
        """No: there is no such device."""
        return False

    def none_of_them() -> int:
        """How many there are: none."""
        return 0

    def no_text() -> str:
        """Flags of a compiler for none."""
        return ""

    needs = _APPLE if name == "mps" else (*_NEED_ONE, *_MORE)
    none: dict[str, Any] = {
        "default_generators": (),
        "get_arch_list": list,
        "get_gencode_flags": no_text,
        "is_tf32_supported": no,
        "memory_snapshot": list,
        "memory_stats_as_nested_dict": dict,
        "seed_all": nothing,
    }
    return {
        **({} if name == "mps" else none),
        **{function: refuser(function) for function in needs},
        **dict.fromkeys(("is_available", "is_initialized", "is_bf16_supported"), no),
        # PyTorch accepts these without a device, too: programs seed and clean up everything they know.
        **dict.fromkeys(("manual_seed", "manual_seed_all", "seed", "empty_cache"), nothing),
        "device_count": none_of_them,
    }
