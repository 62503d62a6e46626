"""The one place where environment variables are read and process-wide settings live."""

from __future__ import annotations

import os
from dataclasses import dataclass, field


def _env(name: str, default: str) -> str:
    return os.environ.get(name, default)


@dataclass
class Settings:
    """Process-wide settings; everything here can be set before or after import."""

    # The module name that dtypes, sizes and errors print: `rushlight run` sets it to "torch".
    module: str = "rushlight"
    # Which CPU engine to use: "auto" picks the best that loads, "numpy" forces the fallback.
    cpu_engine: str = field(default_factory=lambda: _env("RUSHLIGHT_CPU_ENGINE", "auto"))
    # Where compiled kernels, plans and downloads are cached.
    cache_dir: str = field(
        default_factory=lambda: _env(
            "RUSHLIGHT_CACHE", os.path.join(os.path.expanduser("~"), ".cache", "rushlight")
        )
    )
    # Number of CPU threads asked for by the environment; 0 means "decide from the machine".
    num_threads: int = field(
        default_factory=lambda: int(_env("RUSHLIGHT_NUM_THREADS", _env("OMP_NUM_THREADS", "0")))
    )
    # "1" hides the GPUs, which is how the CPU half of a GPU machine is tested.
    no_cuda: bool = field(default_factory=lambda: _env("RUSHLIGHT_NO_CUDA", "0") == "1")
    # The last `manual_seed`: the random streams of devices opened later start from it.
    seed: int | None = None
    # "high" and "medium" allow TF32 in float32 matrix products on the GPU.
    float32_matmul_precision: str = "highest"
    # What `backends.cudnn` holds; the CUDA convolutions read them.
    cudnn_enabled: bool = True
    cudnn_benchmark: bool = False
    cudnn_deterministic: bool = False
    cudnn_allow_tf32: bool = True
    deterministic: bool = False
    deterministic_warn_only: bool = False


settings = Settings()
