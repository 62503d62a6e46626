"""`torch.utils.data._utils.worker`: who a worker process is."""

from ....data.worker import get_worker_info

__all__ = ["get_worker_info"]
