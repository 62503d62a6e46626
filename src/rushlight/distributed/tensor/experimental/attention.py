"""Context parallelism: every rank has a part of the sequence, and attention looks at all of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ....base.errors import NotYet
from ....core.overriding import MODES, arming
from ....core.tensor import Tensor
from ....operators.create.from_data import tensor
from ....operators.layers.attention.attention import scaled_dot_product_attention
from ....operators.shape.join import cat
from ....runtime.thread import here
from ...groups import ProcessGroup
from ...nn.functional import all_gather

__all__ = ["context_parallel", "context_parallel_unshard", "set_rotate_method"]


def _places(length: int, ranks: int) -> list[list[int]]:
    """Which tokens each rank has: one piece of the front and one of the end, as a causal mask leaves both as much work."""
    if length % (2 * ranks):
        raise ValueError(f"context parallel: a sequence of {length} cannot be cut into {2 * ranks} equal pieces")
    each = length // (2 * ranks)
    cut = [list(range(i * each, (i + 1) * each)) for i in range(2 * ranks)]
    return [cut[r] + cut[2 * ranks - 1 - r] for r in range(ranks)]


class _Spread:
    """While it is at work, attention gathers the keys and values of all ranks."""

    def __init__(self, of: ProcessGroup) -> None:
        self.of = of

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name == "scaled_dot_product_attention":
            return self._attention(*args, **(kwargs or {}))
        if name in ("multi_head_attention_forward", "flex_attention"):
            raise NotYet(f"{name} inside of context_parallel: scaled_dot_product_attention is spread over ranks, and no other attention")  # fmt: skip
        return func(*args, **(kwargs or {}))

    def _attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **how: Any,
    ) -> Tensor:
        if attn_mask is not None or dropout_p:
            raise NotYet("scaled_dot_product_attention(attn_mask=, dropout_p=) inside of context_parallel")
        key, value = (cat(all_gather(x, self.of), -2) for x in (key, value))
        mask = None
        if is_causal:
            places = _places(key.shape[-2], self.of.size())
            order = tensor([i for part in places for i in part], device=query.device)
            own = tensor(places[self.of.rank()], device=query.device)
            mask = own[:, None] >= order
        return scaled_dot_product_attention(query, key, value, mask, **how)


@contextmanager
def context_parallel(
    mesh: Any, *, buffers: Any = None, buffer_seq_dims: Any = None, no_restore_buffers: Any = None
) -> Iterator[None]:
    """A block in which every rank has a part of each sequence and `scaled_dot_product_attention` sees the whole.

    A rank has one piece of the front and one of the end; keys and values of all ranks are gathered for each attention.

    Args:
        mesh: the ranks.
        buffers: tensors with the whole sequence, which have this rank's part of it inside of the block.
        buffer_seq_dims: along which dim each of them is cut.
        no_restore_buffers: those that keep their part afterwards.

    Raises:
        ValueError: if a sequence cannot be cut into twice as many equal pieces as there are ranks.

    Example:
        >>> from torch.distributed.tensor.experimental import context_parallel
        >>> context_parallel.__name__
        'context_parallel'
    """
    given, dims = list(buffers or ()), list(buffer_seq_dims or ())
    if len(given) != len(dims):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`.")
    keep = {id(b) for b in no_restore_buffers or ()}
    if not keep <= {id(b) for b in given}:
        raise ValueError("`no_restore_buffers` must be a subset of `buffers`.")
    of = mesh.get_group()
    whole = [b.data for b in given]
    mode = _Spread(of)
    arming.arm(None)
    for buffer, dim in zip(given, dims):
        own = tensor(_places(buffer.shape[dim], of.size())[of.rank()], device=buffer.device)
        buffer.data = buffer.data.index_select(dim, own)
    here.function_modes = (*here.function_modes, mode)
    MODES.append(mode)
    try:
        yield
    finally:
        MODES.remove(mode)
        here.function_modes = here.function_modes[:-1]
        for buffer, before in zip(given, whole):
            if id(buffer) not in keep:
                buffer.data = before


def context_parallel_unshard(mesh: Any, buffers: list[Tensor], seq_dims: list[int]) -> list[Tensor]:
    """What came out of a `context_parallel` block, whole and in the order of the sequence.

    Args:
        mesh: the ranks.
        buffers: every rank's parts.
        seq_dims: along which dim each of them is cut.

    Example:
        >>> from torch.distributed.tensor.experimental._attention import context_parallel_unshard
        >>> context_parallel_unshard.__name__
        'context_parallel_unshard'
    """
    of, whole = mesh.get_group(), []
    for buffer, dim in zip(buffers, seq_dims):
        places = _places(buffer.shape[dim] * of.size(), of.size())
        back = tensor([i for part in places for i in part], device=buffer.device).argsort()
        whole.append(cat(all_gather(buffer, of), dim).index_select(dim, back))
    return whole


def set_rotate_method(rotate_method: str) -> None:
    """How keys and values travel in PyTorch; here they are gathered, the numbers are the same.

    Args:
        rotate_method: "allgather" or "alltoall".

    Raises:
        NotImplementedError: for another one.

    Example:
        >>> from torch.distributed.tensor.experimental._attention import set_rotate_method
        >>> set_rotate_method("alltoall")
    """
    if rotate_method not in ("allgather", "alltoall"):
        raise NotImplementedError(f"Context Parallel does not support using {rotate_method} for kv shards rotation")
