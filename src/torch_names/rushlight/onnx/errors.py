"""What can go wrong when a model is exported."""


class OnnxExporterError(RuntimeError):
    """The model cannot be written as ONNX."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation has no counterpart in ONNX, or none that was written down here."""
