"""`torch.utils.data._utils.collate`: batches of samples."""

import re

from ....data.collate import _NOT_COLLATABLE, default_collate, default_convert

__all__ = [
    "default_collate",
    "default_collate_err_msg_format",
    "default_convert",
    "np_str_obj_array_pattern",
]

default_collate_err_msg_format = _NOT_COLLATABLE
# The kinds of NumPy arrays that are no numbers: strings and objects.
np_str_obj_array_pattern = re.compile("[SaUO]")
