"""DistributedDataParallel: one model in every process, whose gradients are averaged during backward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...base.errors import only
from ...base.trees import tree_leaves
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ...distributed.collectives import all_reduce, broadcast
from ...distributed.groups import group_of
from ...distributed.objects import all_gather_object
from ...distributed.reduce_op import ReduceOp
from ...operators.create.filled import zeros
from ...operators.shape.join import cat
from ...runtime.thread import here
from ..modules.module import Module
from .reducer import Reducer

__all__ = ["DistributedDataParallel"]

_SYNC_BYTES = 250 << 20  # parameters are sent in pieces of this size when the model is made


class DistributedDataParallel(Module, Joinable):
    """Train one model in several processes: gradients are averaged over all of them in backward.

    Every process has the model and its own part of the data. Gradients are exchanged in buckets as
    soon as they are known, while backward goes on.

    Args:
        module: the model; all processes make the same one, and begin with the values of rank 0.
        device_ids, output_device: the one device of this process, or nothing.
        dim: the dimension of the batch; not used.
        broadcast_buffers: take the buffers of rank 0 before every forward; yes if None.
        init_sync: check that all models are alike and take the values of rank 0.
        process_group: the processes; all if None.
        bucket_cap_mb: size of a bucket; 25 if None.
        find_unused_parameters: parameters may get no gradient in a pass.
        check_reduction, delay_all_reduce_named_params, param_to_hook_all_reduce: accepted, and not
            used.
        gradient_as_bucket_view: gradients live in the buckets, which saves memory.
        static_graph: every pass uses the same parameters.
        mixed_precision: not supported; use autocast.
        device_mesh: in place of `process_group`.
        options: settings of newer versions about speed.

    Attributes:
        module: the model.

    Raises:
        RuntimeError: if the models of two processes differ, or no parameter needs a gradient.

    Example:
        >>> net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
        >>> net(torch.ones(3, 2)).sum().backward()
        >>> net.module.weight.grad
        tensor([[3., 3.]])
    """

    # True makes a group of one exchange, too, so that benchmarks can measure its cost.
    reduces_alone = False

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: Any = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        only(
            "DistributedDataParallel",
            options,
            "skip_all_reduce_unused_params bucket_cap_mb_list batched_grad_copy forward_sync_buffers",
        )
        Joinable.__init__(self)
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        group = group_of(process_group if device_mesh is None else device_mesh)
        _check(module, device_ids, mixed_precision)
        self.module = module
        self.device_ids = None if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim
        self.process_group = group
        self.broadcast_buffers = broadcast_buffers is None or broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * 2**20)
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore = ignored
        named = [(n, p) for n, p in module.named_parameters() if n not in ignored]
        self._shared = [(n, p) for n, p in named if p.requires_grad]
        self.reducer: Reducer | None = None
        self._exchange: Any = None  # the communication hook; a compiled step checks whether it has changed
        if group.size() > 1:
            self._check_same([(n, tuple(p.shape), str(p.dtype)) for n, p in named])
            if init_sync:
                self._send_state()
        if group.size() > 1 or self.reduces_alone:
            self._start()

    def _start(self) -> None:
        if self.reducer is None:
            self.reducer = Reducer(
                [p for _, p in self._shared], [n for n, _ in self._shared], self.process_group,
                self.bucket_bytes_cap / 2**20, self.find_unused_parameters,
                self.gradient_as_bucket_view, self.static_graph,
            )  # fmt: skip

    def _check_same(self, mine: list[Any]) -> None:
        """Raise an error that names the first difference if two ranks have different parameters."""
        found: list[Any] = [None] * self.process_group.size()
        all_gather_object(found, mine, self.process_group)
        for rank, theirs in enumerate(found):
            if len(theirs) != len(mine):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank {self.process_group.rank()} has "
                    f"{len(mine)} params, while rank {rank} has inconsistent {len(theirs)} params."
                )
            for a, b in zip(mine, theirs):
                if a != b:
                    raise RuntimeError(
                        f"DDP verifies params across ranks: rank {self.process_group.rank()} has {a[0]} of "
                        f"shape {list(a[1])} and dtype {a[2]}, rank {rank} has {b[0]} of shape "
                        f"{list(b[1])} and dtype {b[2]}."
                    )

    def _buffers_to_send(self) -> list[Tensor]:
        return [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]

    def _send_state(self) -> None:
        """Send rank 0's parameters and buffers to all ranks."""
        params = [p for n, p in self.module.named_parameters() if n not in self.parameters_to_ignore]
        self._send([*params, *self._buffers_to_send()], 0)

    def _send(self, tensors: list[Tensor], source: int) -> None:
        """Broadcast tensors in flat pieces, one dtype and device at a time."""
        kinds: dict[Any, list[Tensor]] = {}
        for t in tensors:
            kinds.setdefault((str(t.dtype), str(t.device)), []).append(t)
        with no_grad():
            for alike in kinds.values():
                for piece in _pieces(alike):
                    flat = cat([t.detach().reshape(-1) for t in piece])
                    broadcast(flat, group=self.process_group, group_src=source)
                    for t, part in zip(piece, flat.split([t.numel() for t in piece])):
                        t.copy_(part.view(t.shape))

    # -- forward ----------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        reducer = self.reducer
        if reducer is None:
            return self.module(*inputs, **kwargs)
        sync = here.grad and self.require_backward_grad_sync
        if self._exchange is not reducer.hook:
            reducer.hook = self._exchange
        work = Join.notify_join_context(self) if self._join_config.enable else None
        if work is not None:
            self._tell_sync(sync, reducer)
        self._take_buffers(True)
        self.require_forward_param_sync = sync
        out = self.module(*inputs, **kwargs)
        if sync:
            reducer.prepare_for_backward([t for t in tree_leaves(out) if isinstance(t, Tensor)])
        else:
            reducer.expects = False
        return out

    def _take_buffers(self, has_a_batch: bool) -> None:
        """Take the buffers of rank 0, or under `join` those of the last rank that has a batch.

        As in PyTorch all passes do so, but for those after one that exchanged no gradients.
        """
        if self.broadcast_buffers and self.require_forward_param_sync and (buffers := self._buffers_to_send()):
            joins = self._join_config.enable or not has_a_batch
            self._send(buffers, self._last_with_a_batch(has_a_batch) if joins else 0)

    def _last_with_a_batch(self, here_: bool) -> int:
        number = zeros(1, device=self.join_device) + (self.process_group.rank() if here_ else -1)
        all_reduce(number, ReduceOp.MAX, self.process_group)
        return int(number.item())

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Add gradients up on each process inside the block, without an exchange.

        The first backward after the block exchanges what was added up.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Let a function exchange the buckets.

        Args:
            state: handed to the hook.
            hook: `hook(state, bucket)` returns a Future of the averaged tensor.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        self._start()
        assert self.reducer is not None
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook, self.reducer.hook_state = hook, state
        self._exchange = hook

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """What libraries look at when a training ends; nothing is measured."""
        return {}

    def _set_static_graph(self) -> None:
        self.static_graph = True
        if self.reducer is not None:
            self.reducer.static_graph = True

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Any, names: Any) -> None:
        module._ddp_params_and_buffers_to_ignore = list(names)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("process_group", "reducer"):
            state[name] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.process_group = group_of()
        if self.process_group.size() > 1:
            self._start()

    # -- uneven inputs ----------------------------------------------------------------------------

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """Allow processes to have different numbers of batches inside the block.

        Args:
            divide_by_initial_world_size: average over all processes; False averages over those that
                still have batches.
            enable: False does nothing.
            throw_on_early_termination: raise an error in all processes when one has no more batches.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what a process without batches does for this model; `Join` calls it."""
        return _DdpJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device of the model's parameters."""
        return self._shared[0][1].device

    @property
    def join_process_group(self) -> Any:
        """The processes that train together."""
        return self.process_group

    def _tell_sync(self, sync: bool, reducer: Reducer) -> None:
        """Under `join`: tell all ranks whether this batch exchanges gradients; count who has a batch."""
        flags = zeros(2, device=self.join_device)
        flags[0] = 1.0
        flags[1] = float(sync)
        all_reduce(flags, group=self.process_group)
        active = flags[0].item()
        reducer.factor = None if self._divide_by_initial else float(active)

    _divide_by_initial = True


class _DdpJoinHook(JoinHook):
    """What a rank that has no more batches does for the model."""

    def __init__(self, ddp: DistributedDataParallel, divide_by_initial: bool) -> None:
        self.ddp = ddp
        ddp._divide_by_initial = divide_by_initial

    def main_hook(self) -> None:
        ddp = self.ddp
        reducer = ddp.reducer
        if reducer is None:
            return
        flags = zeros(2, device=ddp.join_device)
        all_reduce(flags, group=ddp.process_group)
        active, sync = (float(v) for v in flags.tolist())
        reducer.factor = None if ddp._divide_by_initial else active
        ddp._take_buffers(False)
        ddp.require_forward_param_sync = bool(sync)
        if sync:
            reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Send the model of a rank that had the most batches to all ranks."""
        ddp = self.ddp
        if ddp.reducer is not None:
            source = ddp._last_with_a_batch(is_last_joiner)
            ddp._send([*ddp.module.parameters(), *ddp._buffers_to_send()], source)
            ddp.reducer.factor = None


def _pieces(tensors: list[Tensor]) -> Iterator[list[Tensor]]:
    piece: list[Tensor] = []
    size = 0
    for t in tensors:
        piece.append(t)
        size += t.numel() * t.element_size()
        if size >= _SYNC_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _check(module: Module, device_ids: Any, mixed_precision: Any) -> None:
    if not any(p.requires_grad for p in module.parameters()):
        raise RuntimeError(
            "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
        )
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    if mixed_precision is not None:
        raise NotImplementedError(
            "DistributedDataParallel(mixed_precision=...): use autocast, and "
            "register_comm_hook(None, bf16_compress_hook) for gradients of 16 bits on the way"
        )
