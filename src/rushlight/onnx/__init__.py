"""`torch.onnx`: rushlight does not write ONNX files; the names say so."""

from __future__ import annotations

from ._names.refusal import refuser

_refuse = refuser(
    "onnx",
    "does not export to ONNX",
    "Save the parameters with rushlight.save(model.state_dict(), path), which PyTorch reads, and export "
    "from there.",
)

export = _refuse("export")
_export = _refuse("_export")
dynamo_export = _refuse("dynamo_export")


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never here."""
    return False
