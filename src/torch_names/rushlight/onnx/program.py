"""The result of an export: the protobuf, saving it, running it."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from ..base.errors import only
from .errors import OnnxExporterError

# Protobuf's limit is 2 GiB; larger weights go into a file beside.
_LARGEST, _MOST = 1 << 30, (1 << 31) - (1 << 20)
# Smaller tensors stay in the model: shapes and the like, which checkers want to see.
_APART = 1024
# Where a tensor begins in the file beside, so that runtimes can map it.
_PAGE = 4096


class ONNXProgram:
    """An exported model: its protobuf, and how to save and run it.

    Args:
        model_proto: ONNX's `ModelProto`.

    Example:
        >>> import importlib.util
        >>> if importlib.util.find_spec("onnx"):
        ...     program = torch.onnx.export(nn.Linear(2, 1), (torch.ones(1, 2),))
        ...     assert program.model_proto.graph.node[0].op_type == "Gemm"
    """

    def __init__(self, model_proto: Any) -> None:
        self.model_proto = model_proto

    @property
    def model(self) -> Any:
        """ONNX's `ModelProto`."""
        return self.model_proto

    def save(self, destination: Any, *, external_data: bool | None = None, **ignored: Any) -> None:
        """Write the file, whole or not at all; weights of more than 1 GiB lie in FILE.data."""
        from ..io import atomic_write

        only("save", ignored, "include_initializers keep_initializers_as_inputs")
        if not ignored.get("include_initializers", True):
            raise OnnxExporterError("include_initializers=False: a file without weights is not written; leave it out")
        if hasattr(destination, "write"):
            self._refuse_large("an open file")
            destination.write(self.model_proto.SerializeToString())
            return
        path = os.fspath(destination)
        if external_data or (external_data is None and self._weights() > _LARGEST):
            with atomic_write(path + ".data", "wb") as beside:
                content = self._written_apart(beside, os.path.basename(path) + ".data")
        else:
            self._refuse_large("external_data=False")
            content = self.model_proto
        with atomic_write(path, "wb") as f:
            f.write(content.SerializeToString())

    def _weights(self) -> int:
        """Bytes of the constants; `ByteSize()` refuses what is larger than protobuf's limit."""
        return sum(len(t.raw_data) for t in self.model_proto.graph.initializer)

    def _refuse_large(self, asked: str) -> None:
        if self._weights() > _MOST:
            raise OnnxExporterError(
                f"the weights have {self._weights() / 2**30:.1f} GiB, and one ONNX file holds at most 2: {asked} cannot be "
                "used, save to a path and leave external_data out"
            )

    def _written_apart(self, beside: Any, location: str) -> Any:
        """Write the constants to `beside`; the answer is a copy of the model that names the place of each."""
        import onnx

        light = onnx.ModelProto()
        _copy_fields(self.model_proto, light, "graph")
        _copy_fields(self.model_proto.graph, light.graph, "initializer")
        end = 0
        for t in self.model_proto.graph.initializer:
            if len(t.raw_data) < _APART:
                light.graph.initializer.append(t)
                continue
            entry = light.graph.initializer.add(name=t.name, data_type=t.data_type, dims=t.dims)
            entry.data_location = onnx.TensorProto.EXTERNAL
            beside.write(b"\0" * (-end % _PAGE))
            end += -end % _PAGE
            for key, value in (("location", location), ("offset", end), ("length", len(t.raw_data))):
                entry.external_data.add(key=key, value=str(value))
            beside.write(t.raw_data)
            end += len(t.raw_data)
        return light

    def optimize(self) -> None:
        """What computes nothing was left out already."""

    def session(self) -> Any:
        """An onnxruntime session of the model, on the CPU."""
        try:
            import onnxruntime
        except ImportError:
            raise OnnxExporterError("running an ONNX model needs onnxruntime: pip install onnxruntime") from None
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3

        def opened(model: Any) -> Any:
            return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

        if self._weights() <= _LARGEST:
            return opened(self.model_proto.SerializeToString())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            self.save(path)
            return opened(path)

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        """Run the model by onnxruntime on tensors, in the order of its inputs."""
        from ..operators.create.from_data import tensor

        names = [i.name for i in self.model_proto.graph.input]
        found = self.session().run(None, {n: a.detach().cpu().numpy() for n, a in zip(names, args)})
        return tuple(tensor(a) for a in found)

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        return f"ONNXProgram({len(graph.node)} nodes, {len(graph.initializer)} initializers)"


def _copy_fields(source: Any, target: Any, left_out: str) -> None:
    """Copy a protobuf message but for one field: constants of gigabytes are not copied twice."""
    for field, value in source.ListFields():
        if field.name == left_out:
            continue
        if isinstance(value, (int, float, str, bytes)):
            setattr(target, field.name, value)
        elif hasattr(value, "append"):
            getattr(target, field.name).extend(value)
        else:
            getattr(target, field.name).CopyFrom(value)
