"""Kernels of the functionals for PIL images, by torchvision's names of them and of the module."""

from ._registry import pil_kernel as __getattr__  # noqa: F401
