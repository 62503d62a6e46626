"""The reducer: averages gradients over the ranks while the backward pass goes on.

Gradients are copied into flat buckets as they become ready. A full bucket is all-reduced at once, but never
before the ones in front of it: all ranks do the same collectives in the same order, whatever their own order was.
The first pass shows in which order gradients become ready; then the buckets are made anew in rank 0's order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.gradients.tape import AccumulateGrad, at_end
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...core.views import current_edge
from ...distributed.algorithms.ddp_comm_hooks.bucket import GradBucket
from ...distributed.calls import CollectiveCall, begin, end
from ...distributed.groups import ProcessGroup
from ...distributed.reduce_op import ReduceOp
from ...operators.create.filled import zeros

__all__ = ["Reducer"]


FIRST_MB = 1.0  # small, so that the first exchange starts early
_tokens = itertools.count(1 << 32)  # numbers that `calls.begin` does not use


def divide(params: list[Any], limit_mb: float, first_mb: float = FIRST_MB) -> list[list[int]]:
    """Divide parameters, by number, into buckets: neighbours of one dtype and device, up to a size."""
    found: list[list[int]] = []
    open_: dict[Any, tuple[list[int], int]] = {}
    limits: dict[Any, float] = {}
    for i, p in enumerate(params):
        kind = (str(p.dtype), str(p.device))
        group, size = open_.get(kind, ([], 0))
        group.append(i)
        size += p.numel() * p.element_size()
        if size >= limits.get(kind, min(first_mb, limit_mb)) * 2**20:
            found.append(group)
            limits[kind] = limit_mb
            group, size = [], 0
        open_[kind] = (group, size)
    found.extend(group for group, _ in open_.values() if group)
    return sorted(found, key=lambda group: group[0])


class Bucket:
    """The gradients of some parameters in one flat tensor, and which of them arrived in this pass."""

    def __init__(self, index: int, numbers: list[int], params: list[Any]) -> None:
        self.index = index
        self.numbers = numbers
        self.params = params
        first = params[0]
        self.flat: Tensor = zeros(sum(p.numel() for p in params), dtype=first.dtype, device=first.device)
        self.views: list[Tensor] = []
        at = 0
        with no_grad():
            for p in params:
                self.views.append(self.flat[at : at + p.numel()].view(p.shape))
                at += p.numel()
        self.token = next(_tokens)
        self.call: CollectiveCall | None = None  # the exchange, once it has started
        self.future: Any = None  # the result of a communication hook
        self.missing = len(params)
        self.filled: set[int] = set()

    def reset(self) -> None:
        """Begin a new pass: no gradient has arrived."""
        self.call = self.future = None
        self.missing = len(self.params)
        self.filled.clear()

    def nbytes(self) -> int:
        return self.flat.numel() * self.flat.element_size()


class Reducer:
    """Exchanges the gradients of one model."""

    def __init__(
        self,
        params: list[Any],
        names: list[str],
        group: ProcessGroup,
        limit_mb: float,
        find_unused: bool,
        as_view: bool,
        static_graph: bool,
    ) -> None:
        self.params, self.names, self.group = params, names, group
        self.limit_mb = limit_mb
        self.find_unused, self.as_view, self.static_graph = find_unused, as_view, static_graph
        self.hook: Callable[[Any, GradBucket], Any] | None = None
        self.hook_state: Any = None
        # Under `join`: what to divide by instead of the number of ranks.
        self.factor: float | None = None
        self.order: list[int] = []  # the order in which gradients became ready
        self.rebuilt = False
        self.passes = 0
        self.expects = False  # a backward pass with an exchange runs or will come
        self.open = False  # that pass has begun, and the tape will call `_finish` at its end
        self.next = 0  # the next bucket to be sent
        self.used: set[int] = set()
        # With static_graph: the parameters that the first pass used.
        self.static_used: set[int] | None = None
        # gradients most likely arrive in the reverse order of the parameters
        last_first = list(range(len(params)))[::-1]
        self._make([[last_first[i] for i in part] for part in divide(params[::-1], limit_mb)])
        self._handles = [p.register_post_accumulate_grad_hook(self._hook_for(i)) for i, p in enumerate(params)]

    def _hook_for(self, number: int) -> Callable[[Any], None]:
        return lambda param: self._ready(number)

    def _make(self, parts: list[list[int]]) -> None:
        self.buckets = [Bucket(k, part, [self.params[i] for i in part]) for k, part in enumerate(parts)]
        self.place = {i: (b, k) for b in self.buckets for k, i in enumerate(b.numbers)}

    # -- one pass ---------------------------------------------------------------------------------

    def prepare_for_backward(self, outputs: list[Tensor]) -> None:
        """Get ready for a backward pass with an exchange; called at the end of forward."""
        if self.open:
            raise RuntimeError(self._unfinished())
        self._rebuild()
        for b in self.buckets:
            b.reset()
        self.next = 0
        self.used.clear()
        self.expects = True
        if self.static_graph and self.static_used is not None:
            absent = set(range(len(self.params))) - self.static_used
        elif self.find_unused:
            absent = self._not_reached(outputs)
        else:
            return
        for i in sorted(absent):
            self._arrived(i)

    def _not_reached(self, outputs: list[Tensor]) -> set[int]:
        """Parameters that no output depends on."""
        leaves: set[int] = set()
        stack = [e[0] for t in outputs if (e := current_edge(t)) is not None]
        seen = {n.seq for n in stack}
        while stack:
            node = stack.pop()
            if isinstance(node, AccumulateGrad):
                leaves.add(id(node))
            for edge in node.edges:
                if edge is not None and edge[0].seq not in seen:
                    seen.add(edge[0].seq)
                    stack.append(edge[0])
        ends = [current_edge(p) for p in self.params]
        return {i for i, e in enumerate(ends) if e is None or id(e[0]) not in leaves}

    def _ready(self, number: int) -> None:
        """A gradient has been added to `.grad` for the last time in this pass."""
        if not self.expects:
            return
        if not self.open:
            self.open = True
            at_end(self._finish)
        if number in self.used:
            raise RuntimeError(
                "Expected to mark a variable ready only once. This error is caused by one of the "
                "following reasons: 1) Use of a module parameter outside the `forward` function. 2) "
                "Reused parameters in multiple reentrant backward passes. Parameter: "
                f"{self.names[number]}"
            )
        self.used.add(number)
        if not self.rebuilt:
            self.order.append(number)
        bucket, k = self.place[number]
        self._fill(bucket, k, self.params[number])
        self._arrived(number)

    def _fill(self, bucket: Bucket, k: int, param: Any) -> None:
        """Copy a gradient into its bucket; with `gradient_as_bucket_view` it stays there."""
        view, grad = bucket.views[k], param.grad
        with no_grad():
            if grad.is_sparse:  # exchanged with its zeros, and sparse again in `_give_back`
                view.copy_(grad.to_dense())
            elif not _same_memory(grad, view):
                view.copy_(grad)
                if self.as_view:
                    param._grad = view
        bucket.filled.add(k)

    def _arrived(self, number: int) -> None:
        bucket, _ = self.place[number]
        bucket.missing -= 1
        while self.next < len(self.buckets) and self.buckets[self.next].missing == 0:
            self._launch(self.buckets[self.next])
            self.next += 1

    def _launch(self, bucket: Bucket) -> None:
        """Start the exchange of a full bucket."""
        if len(bucket.filled) < len(bucket.params):
            with no_grad():
                for k, view in enumerate(bucket.views):
                    if k not in bucket.filled:
                        view.zero_()
        if self.hook is not None:
            last = bucket.index == len(self.buckets) - 1
            given = GradBucket(bucket.index, bucket.flat, bucket.views, bucket.params, last)
            with no_grad():
                bucket.future = self.hook(self.hook_state, given)
            return
        op = ReduceOp.AVG if self.factor is None else ReduceOp(ReduceOp.SUM)
        if self.factor is not None:
            with no_grad():
                bucket.flat.div_(self.factor)
        call = CollectiveCall(self.group.group_name, "all_reduce", op, token=bucket.token)
        bucket.call = begin(self.group, call, bucket.flat)

    # -- its end ----------------------------------------------------------------------------------

    def _finish(self) -> None:
        """End of backward: wait for all buckets and write the averages to the gradients."""
        if self.next < len(self.buckets) and self.static_graph and self.static_used is None:
            for i in sorted(set(range(len(self.params))) - self.used):
                self._arrived(i)
        if self.next < len(self.buckets):
            return  # not all parameters took part: the next forward raises the error, as PyTorch does
        self.open = self.expects = False
        if self.static_graph and self.static_used is None:
            self.static_used = set(self.used)
        anywhere = self._used_anywhere()
        with no_grad():
            for bucket in self.buckets:
                self._wait(bucket)
                self._give_back(bucket, anywhere)

    def _used_anywhere(self) -> set[int] | None:
        """The parameters that at least one rank used; None if all were used."""
        if not self.find_unused:
            return None
        flags = np.zeros(len(self.params), np.int32)
        flags[list(self.used)] = 1
        self.group.begin("all_reduce")
        worker, engine = self.group.worker, self.group.engine("cpu")
        worker.submit(lambda: engine.all_reduce(flags, ReduceOp.MAX), "all_reduce").wait()
        return {int(i) for i in np.flatnonzero(flags)}

    def _wait(self, bucket: Bucket) -> None:
        if bucket.call is not None:
            end(bucket.call, bucket.flat)
        elif bucket.future is not None:
            result = bucket.future.wait()
            result = result[0] if isinstance(result, (list, tuple)) else result
            if not _same_memory(result, bucket.flat):
                bucket.flat.copy_(result)
        bucket.call = bucket.future = None

    def _give_back(self, bucket: Bucket, anywhere: set[int] | None) -> None:
        for i, param, view in zip(bucket.numbers, bucket.params, bucket.views):
            if i not in self.used:
                if anywhere is None or i not in anywhere:
                    continue  # no rank used it: its gradient stays as it was
                if _is_sparse(param._grad):
                    param._grad = view.to_sparse(param._grad.sparse_dim())
                elif self.as_view:
                    param._grad = view
                elif param._grad is None:
                    param._grad = view.clone()
                else:
                    param._grad.copy_(view)
            elif _is_sparse(param._grad):
                param._grad = view.to_sparse(param._grad.sparse_dim())
            elif self.as_view:
                param._grad = view
            elif not _same_memory(param._grad, view):
                param._grad.copy_(view)

    def _rebuild(self) -> None:
        """Before the second pass, make buckets in the order in which gradients arrived on rank 0."""
        self.passes += 1
        if self.rebuilt or self.find_unused or self.passes != 2:
            return
        self.rebuilt = True
        known = len(self.order) == len(self.params)
        mine = self.order if known else [i for b in self.buckets for i in b.numbers]
        order = np.array(mine, np.int64)
        self.group.begin("broadcast")
        self.group.engine("cpu").broadcast(order, 0)
        first = [int(i) for i in order]
        parts = divide([self.params[i] for i in first], self.limit_mb)
        made = [[first[i] for i in part] for part in parts]
        if made != [b.numbers for b in self.buckets]:
            self._make(made)

    def _unfinished(self) -> str:
        absent = sorted(set(range(len(self.params))) - self.used)
        return (
            "Expected to have finished reduction in the prior iteration before starting a new one. "
            "This error indicates that your module has parameters that were not used in producing "
            "loss. You can enable unused parameter detection by passing the keyword argument "
            "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by "
            "making sure all `forward` function outputs participate in calculating loss. Parameters "
            f"that did not receive grad on rank {self.group.world.rank}: "
            f"{', '.join(self.names[i] for i in absent)} (indices {' '.join(map(str, absent))})"
        )

    def shadow(self) -> None:
        """Take part in the exchange of the others with zeros, on a rank that has no more batches."""
        self._rebuild()
        with no_grad():
            for bucket in self.buckets:
                bucket.reset()
                self._launch(bucket)
            self.used.clear()
            self._used_anywhere()
            for bucket in self.buckets:
                self._wait(bucket)

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()


def _is_sparse(grad: Any) -> bool:
    return grad is not None and grad.is_sparse


def _same_memory(a: Any, b: Any) -> bool:
    """Whether two tensors have the same memory."""
    x, y = a._a, b._a
    if x is y:
        return True
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return x.shape == y.shape and x.__array_interface__["data"] == y.__array_interface__["data"]
    return hasattr(x, "data") and hasattr(x.data, "ptr") and x.data.ptr == y.data.ptr
