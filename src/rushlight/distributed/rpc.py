"""`torch.distributed.rpc`: calls of functions in other processes, which rushlight does not have."""

from __future__ import annotations

from ..base.refusal import refuser

__all__ = ["TensorPipeRpcBackendOptions", "init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]

_refuse = refuser(
    "distributed.rpc", "calls no functions in other processes", "Send tensors with rushlight.distributed.send and recv."
)
TensorPipeRpcBackendOptions = _refuse("TensorPipeRpcBackendOptions")
init_rpc = _refuse("init_rpc")
remote = _refuse("remote")
rpc_async = _refuse("rpc_async")
rpc_sync = _refuse("rpc_sync")
shutdown = _refuse("shutdown")


def is_available() -> bool:
    """Whether there are remote calls: no."""
    return False
