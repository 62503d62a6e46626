"""`torch._dynamo.config`: the settings that libraries write; rushlight's compiler has none of them."""

from __future__ import annotations

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = 256
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
suppress_errors = False
verbose = False
optimize_ddp = True
inline_inbuilt_nn_modules = True
