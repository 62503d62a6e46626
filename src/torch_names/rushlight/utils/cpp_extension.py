"""`torch.utils.cpp_extension`: building C++ for PyTorch, which rushlight cannot load."""

from __future__ import annotations

from ..base.refusal import refuser

__all__ = ["CUDA_HOME", "BuildExtension", "CUDAExtension", "CppExtension", "include_paths", "load", "load_inline"]

CUDA_HOME: str | None = None  # where PyTorch would look for nvcc; nothing is built here

_refuse = refuser(
    "utils.cpp_extension",
    "cannot load extensions that are written against PyTorch's C++ interface",
    "Write the operator in Python with rushlight.library.custom_op.",
)
load, load_inline = _refuse("load"), _refuse("load_inline")
include_paths, BuildExtension = _refuse("include_paths"), _refuse("BuildExtension")
CppExtension, CUDAExtension = _refuse("CppExtension"), _refuse("CUDAExtension")
