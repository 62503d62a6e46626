"""`torch.utils.data._utils`: the parts of the data loader that libraries reach into."""

import sys

from . import collate, pin_memory, worker  # type: ignore[attr-defined]

__all__ = ["collate", "pin_memory", "worker"]

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds between two looks at the workers
python_exit_status = False
HAS_NUMPY = True
IS_WINDOWS = sys.platform == "win32"
