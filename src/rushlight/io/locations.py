"""Where loaded storages go: the device they were saved from, or what `map_location` says."""

from __future__ import annotations

from typing import Any

from ..base.device import device
from ..core.tensor import Tensor


class Placer:
    """Puts a storage (a flat CPU tensor) where it belongs."""

    def __init__(self, map_location: Any) -> None:
        if isinstance(map_location, (str, device)):
            map_location = device(map_location)
        elif map_location is not None and not isinstance(map_location, dict) and not callable(map_location):
            raise TypeError(f"map_location must be a device, a dict or a function, not {type(map_location).__name__}")
        self.rule = map_location

    def __call__(self, storage: Tensor, location: str) -> Tensor:
        rule = self.rule
        if isinstance(rule, device):
            return storage.to(rule)
        if isinstance(rule, dict):
            return storage.to(rule.get(location, location))
        if rule is not None:
            placed = rule(storage, location)
            if placed is not None:
                return placed if isinstance(placed, Tensor) else storage
        return storage.to(_available(location))


def _available(location: str) -> device:
    d = device(location)
    if d.type == "cuda":
        from ..runtime.cuda import why_not

        reason = why_not()
        if reason is not None:
            raise RuntimeError(
                "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
                "False. If you are running on a CPU-only machine, please use torch.load with "
                f"map_location=torch.device('cpu') to map your storages to the CPU. ({reason})"
            )
    return d
