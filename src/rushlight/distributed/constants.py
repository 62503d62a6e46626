"""`torch.distributed.constants`: how long processes wait for each other when nobody says."""

from datetime import timedelta

from .lifecycle import DEFAULT_TIMEOUT

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_timeout: timedelta = DEFAULT_TIMEOUT
default_pg_nccl_timeout: timedelta = DEFAULT_TIMEOUT  # one limit for every engine
