"""`torch.utils.data._utils.worker`: who a worker process is, and its seeds."""

from ....data.seeding import numpy_seed as _generate_state  # noqa: F401 - asked for here
from ....data.worker import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
