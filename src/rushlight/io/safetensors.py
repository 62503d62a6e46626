"""safetensors files through the safetensors library, written atomically."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.device import device
from ..core.tensor import Tensor, wrap
from .atomic import atomic_write
from .errors import CorruptFileError, check_claim


def _library() -> Any:
    try:
        import safetensors
    except ImportError:
        raise ImportError("safetensors is not installed: pip install 'rushlight[files]'") from None
    return safetensors


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """As `save_file`, but the file's bytes are returned."""
    _library()
    from safetensors.numpy import save as serialize

    arrays = {name: np.ascontiguousarray(t.detach().cpu()._host()) for name, t in tensors.items()}
    return serialize(arrays, metadata=metadata)


def save_file(tensors: dict[str, Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Write named tensors to `filename`.

    Args:
        tensors: by name.
        filename: the file; it is whole or not there.
        metadata: text by name, for the file's header.

    Example:
        >>> import tempfile
        >>> from rushlight.io import safetensors
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     safetensors.save_file({"w": torch.ones(2)}, folder + "/w.safetensors", {"from": "me"})
        ...     print(safetensors.load_file(folder + "/w.safetensors"))
        ...     safetensors.metadata(folder + "/w.safetensors")
        {'w': tensor([1., 1.])}
        {'from': 'me'}
    """
    data = save(tensors, metadata)
    with atomic_write(filename) as f:
        f.write(data)


_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "I64": "int64", "I32": "int32", "I16": "int16",
    "I8": "int8", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64", "BOOL": "bool",
    "C64": "complex64", "BF16": "bfloat16",
}  # fmt: skip


def dtype_of(name: str, told: str) -> str:
    """Our name of a dtype that a header tells."""
    if told not in _DTYPES:
        raise CorruptFileError(f"tensor {name} has dtype {told}, which rushlight does not have")
    return _DTYPES[told]


def load(data: bytes) -> dict[str, Tensor]:
    """Named tensors from the bytes of a safetensors file.

    Raises:
        CorruptFileError: if the bytes are damaged.

    Example:
        >>> from rushlight.io import safetensors
        >>> safetensors.load(safetensors.save({"w": torch.tensor([1, 2])}))
        {'w': tensor([1, 2])}
    """
    library = _library()
    try:
        flat = library.deserialize(bytes(data))
    except Exception as error:  # the library raises its own type, whatever is wrong with the bytes
        raise CorruptFileError(f"the safetensors file is damaged ({error})") from None
    tensors = {}
    for name, entry in flat:
        np_dtype = dtypes.by_name(dtype_of(name, entry["dtype"])).np
        check_claim(entry["shape"], np.dtype(np_dtype).itemsize, f"tensor {name}")
        a = np.frombuffer(bytearray(entry["data"]), np_dtype).reshape(entry["shape"])
        tensors[name] = wrap(a)
    return tensors


def load_file(filename: Any, device: device | str | int = "cpu") -> dict[str, Tensor]:
    """Named tensors of a safetensors file, on `device`.

    Raises:
        CorruptFileError: if the file is damaged.

    Example:
        >>> import tempfile
        >>> from rushlight.io import safetensors
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     safetensors.save_file({"w": torch.ones(2)}, folder + "/w.safetensors")
        ...     safetensors.load_file(folder + "/w.safetensors")
        {'w': tensor([1., 1.])}
    """
    with open(filename, "rb") as f:
        size = os.fstat(f.fileno()).st_size
        head = f.read(8)
        length = int.from_bytes(head, "little")
        if len(head) < 8 or length > size - 8:
            raise CorruptFileError("the safetensors file is damaged (its header does not fit)")
        f.seek(0)
        tensors = load(f.read())
    return {name: t.to(device) for name, t in tensors.items()}


def metadata(filename: Any) -> dict[str, str]:
    """The free text stored in the header.

    Raises:
        CorruptFileError: if the header is damaged.

    Example:
        >>> import tempfile
        >>> from rushlight.io import safetensors
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     safetensors.save_file({}, folder + "/w.safetensors", {"from": "me"})
        ...     safetensors.metadata(folder + "/w.safetensors")
        {'from': 'me'}
    """
    return header(filename)[0].get("__metadata__", {})


def header(filename: Any) -> tuple[dict[str, Any], int]:
    """What a file's header says, and where the numbers begin."""
    with open(filename, "rb") as f:
        length = int.from_bytes(f.read(8), "little")
        if length > os.fstat(f.fileno()).st_size:
            raise CorruptFileError("the safetensors file is damaged (its header does not fit)")
        try:
            return dict(json.loads(f.read(length)).items()), 8 + length
        except (ValueError, AttributeError) as error:
            raise CorruptFileError(f"the safetensors header is damaged ({error})") from None
