"""`torch.onnx`: models as ONNX files, written from what their call computes; needs the `onnx` package."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ..base.refusal import refuser
from .errors import OnnxExporterError, UnsupportedOperatorError

__all__ = [
    "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TrainingMode", "UnsupportedOperatorError",
    "export", "is_in_onnx_export",
]  # fmt: skip


class TrainingMode(Enum):
    """How an older exporter treated dropout and batch norm; accepted by `export` as `training`.

    Example:
        >>> torch.onnx.TrainingMode.EVAL.name
        'EVAL'
    """

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(Enum):
    """What an older exporter could write; accepted and not needed.

    Example:
        >>> torch.onnx.OperatorExportTypes.ONNX.name
        'ONNX'
    """

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


_refuse = refuser(
    "onnx",
    "has one exporter",
    "Use rushlight.onnx.export(model, args, path), which writes what a call of the model computes.",
)

_export = _refuse("_export")
dynamo_export = _refuse("dynamo_export")

_running = [0]  # exports that are under way


def is_in_onnx_export() -> bool:
    """Whether a model is being exported.

    Example:
        >>> torch.onnx.is_in_onnx_export()
        False
    """
    return _running[0] > 0


def export(model: Any, args: Any = (), f: Any = None, **options: Any) -> Any:
    """Write `model`, called with `args`, as an ONNX file `f`.

    Sizes that shall be free are found by calling the model again with other sizes.

    Args:
        model: a module or a function.
        args: a tuple of example inputs, or one of them.
        f: a path or an open file; nothing is written without it.
        options: PyTorch's `input_names`, `output_names`, `opset_version`, `dynamic_axes` or `dynamic_shapes`, `kwargs`,
            `training`, `verify` and `external_data`; and `metadata`, a dict of texts to keep in the file.

    Returns:
        An `ONNXProgram`, which holds the model's protobuf.

    Raises:
        ImportError: if the `onnx` package is not installed.
        UnsupportedOperatorError: if the model computes something that ONNX has no operator for.

    Example:
        >>> import importlib.util, os, tempfile
        >>> if importlib.util.find_spec("onnx"):
        ...     with tempfile.TemporaryDirectory() as folder:
        ...         program = torch.onnx.export(nn.Linear(2, 1), (torch.ones(1, 2),), folder + "/net.onnx")
        ...         assert os.listdir(folder) == ["net.onnx"]
    """
    from .exporting import export as write

    _running[0] += 1
    try:
        return write(model, args, f, **options)
    finally:
        _running[0] -= 1


def __getattr__(name: str) -> Any:
    if name == "ONNXProgram":  # its module is only needed by those who export
        from .program import ONNXProgram

        return ONNXProgram
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
