"""Settings of PyTorch's compiler that programs set before they compile: kept, and without effect here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

max_autotune = False
max_autotune_gemm = False
coordinate_descent_tuning = False
coordinate_descent_check_all_directions = False
epilogue_fusion = True
conv_1x1_as_mm = False
fx_graph_cache = False
force_fuse_int_mm_with_mul = False
use_mixed_mm = False
freezing = False
compile_threads = 1
triton: Any = SimpleNamespace(cudagraphs=False, unique_kernel_names=False)
cpp: Any = SimpleNamespace(threads=-1)
