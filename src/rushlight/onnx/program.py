"""The result of an export: the protobuf, saving it, running it."""

from __future__ import annotations

import os
from typing import Any

from .errors import OnnxExporterError

# Protobuf's limit is 2 GiB; larger weights go into a file beside.
_LARGEST = 1 << 30


class ONNXProgram:
    """An exported model."""

    def __init__(self, model_proto: Any) -> None:
        self.model_proto = model_proto

    @property
    def model(self) -> Any:
        return self.model_proto

    def save(self, destination: Any, *, external_data: bool | None = None, **ignored: Any) -> None:
        """Write the file, whole or not at all; weights of more than 1 GiB lie in FILE.data."""
        import onnx

        from ..io import atomic_write

        size = self.model_proto.ByteSize() if external_data is None else 0
        if hasattr(destination, "write"):
            destination.write(self.model_proto.SerializeToString())
            return
        path = os.fspath(destination)
        if external_data or size > _LARGEST:
            beside = os.path.basename(path) + ".data"
            onnx.save_model(self.model_proto, path, save_as_external_data=True, location=beside)
            return
        with atomic_write(path, "wb") as f:
            f.write(self.model_proto.SerializeToString())

    def optimize(self) -> None:
        """What computes nothing was left out already."""

    def session(self) -> Any:
        """An onnxruntime session of the model, on the CPU."""
        try:
            import onnxruntime
        except ImportError:
            raise OnnxExporterError("running an ONNX model needs onnxruntime: pip install onnxruntime") from None  # fmt: skip
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            self.model_proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        """Run the model by onnxruntime on tensors, in the order of its inputs."""
        from ..operators.create.from_data import tensor

        names = [i.name for i in self.model_proto.graph.input]
        found = self.session().run(None, {n: a.detach().cpu().numpy() for n, a in zip(names, args)})
        return tuple(tensor(a) for a in found)

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        return f"ONNXProgram({len(graph.node)} nodes, {len(graph.initializer)} initializers)"
