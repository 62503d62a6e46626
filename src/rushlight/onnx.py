"""`torch.onnx`: rushlight does not write ONNX files; the names say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .base.errors import NotYet


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotYet(
            f"onnx.{name}: rushlight does not export to ONNX. Save the parameters with "
            "rushlight.save(model.state_dict(), path), which PyTorch reads, and export from there."
        )

    refuse.__name__ = name
    refuse.__doc__ = "Refused: rushlight does not export to ONNX."
    setattr(refuse, "not_yet", True)  # tools/coverage_api.py counts it as missing
    return refuse


export = _refuse("export")
_export = _refuse("_export")
dynamo_export = _refuse("dynamo_export")


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never here."""
    return False
