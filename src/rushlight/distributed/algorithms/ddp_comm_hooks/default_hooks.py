"""DDP's usual communication hooks: plain, and with gradients of 16 bits on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....base import dtypes
from ....core.tensor import Tensor
from ....futures import Future
from ... import collectives
from ...groups import group_of
from .bucket import GradBucket

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
    "fp16_compress_wrapper",
]  # fmt: skip


def _averaged(group: Any, tensor: Tensor) -> Future:
    """The average of all ranks' tensors, in place."""
    of = group_of(group)
    tensor.div_(of.size())
    work = collectives.all_reduce(tensor, group=of, async_op=True)
    assert work is not None
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The average, as without a hook."""
    return _averaged(process_group, bucket.buffer())


def _compressed(process_group: Any, bucket: GradBucket, dtype: Any) -> Future:
    buffer = bucket.buffer()
    sent = buffer.to(dtype)

    def back(done: Future) -> Tensor:
        return buffer.copy_(done.value())

    return _averaged(process_group, sent).then(back)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The average of gradients rounded to float16: half the bytes on the way."""
    return _compressed(process_group, bucket, dtypes.float16)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The average of gradients rounded to bfloat16: half the bytes on the way."""
    return _compressed(process_group, bucket, dtypes.bfloat16)


def _wrapped(hook: Callable[[Any, GradBucket], Future], dtype: Any) -> Callable:
    def with_fewer_bits(state: Any, bucket: GradBucket) -> Future:
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(dtype))

        def back(done: Future) -> Tensor:
            return whole.copy_(done.value())

        return hook(state, bucket).then(back)

    return with_fewer_bits


def fp16_compress_wrapper(hook: Callable[[Any, GradBucket], Future]) -> Callable:
    """A hook that is given, and gives back, float16."""
    return _wrapped(hook, dtypes.float16)


def bf16_compress_wrapper(hook: Callable[[Any, GradBucket], Future]) -> Callable:
    """A hook that is given, and gives back, bfloat16."""
    return _wrapped(hook, dtypes.bfloat16)
