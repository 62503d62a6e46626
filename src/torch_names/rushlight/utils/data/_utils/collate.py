"""`torch.utils.data._utils.collate`: batches of samples."""

import re

from ....data.collate import (
    _NOT_COLLATABLE,
    collate,
    collate_float_fn,
    collate_int_fn,
    collate_numpy_array_fn,
    collate_numpy_scalar_fn,
    collate_str_fn,
    collate_tensor_fn,
    default_collate,
    default_collate_fn_map,
    default_convert,
)

__all__ = [
    "collate", "collate_float_fn", "collate_int_fn", "collate_numpy_array_fn", "collate_numpy_scalar_fn", "collate_str_fn",
    "collate_tensor_fn", "default_collate", "default_collate_err_msg_format", "default_collate_fn_map", "default_convert",
    "np_str_obj_array_pattern",
]  # fmt: skip

default_collate_err_msg_format = _NOT_COLLATABLE
# The kinds of NumPy arrays that are no numbers: strings and objects.
np_str_obj_array_pattern = re.compile("[SaUO]")
