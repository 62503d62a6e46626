"""`torch.backends.cpu`: what the processor can do."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The widest vector instructions that NumPy found, in PyTorch's words."""
    from numpy._core._multiarray_umath import __cpu_features__ as found

    for feature, name in (("AVX512_SKX", "AVX512"), ("AVX2", "AVX2"), ("SVE", "SVE")):
        if found.get(feature):
            return name
    return "DEFAULT"
