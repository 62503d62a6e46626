"""`torch.backends.quantized`: which library computes with quantised tensors: there are none."""

from __future__ import annotations

from typing import Any

from ._switch import install


def _set_engine(module: Any, name: str) -> None:
    if name != "none":
        raise RuntimeError(f"quantized engine {name.upper()} is not supported")


install(
    __name__, engine=property(lambda module: "none", _set_engine), supported_engines=property(lambda module: ["none"])
)
