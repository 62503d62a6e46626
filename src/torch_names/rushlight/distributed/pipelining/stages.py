"""One stage of a pipeline: a module, and the messages to the stages before and behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd import backward
from ...base.errors import NotYet
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...nn.parallel import DistributedDataParallel
from ...nn.parallel.fully_shard import FSDPModule
from ...operators.create.filled import empty
from ...operators.create.like import zeros_like
from ..collectives import all_reduce
from ..groups import group_of
from ..objects import recv_object_list, send_object_list
from ..point_to_point import irecv, isend
from .halves import in_halves

__all__ = ["PipelineStage"]


def _many(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else () if value is None else (value,)


class PipelineStage:
    """A part of a network that runs on this rank, between the ranks of the stages before and behind it.

    Activations and their gradients are sent through the host's memory. What they look like is told with the first
    microbatch; `input_args` and `output_args` are compared with it.

    Args:
        submodule: the part.
        stage_index: its place among `num_stages` stages.
        device: where it computes.
        input_args, output_args: examples of what goes in and out.
        group: the ranks of the pipeline; stage i is on rank i modulo their number.

    Raises:
        ValueError: if there is no such stage.

    Example:
        >>> from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
        >>> stage = PipelineStage(torch.nn.Linear(4, 2), 0, 1, torch.device("cpu"))
        >>> schedule = ScheduleGPipe(stage, 2, loss_fn=torch.nn.functional.mse_loss)
        >>> losses = []
        >>> schedule.step(torch.ones(6, 4), target=torch.zeros(6, 2), losses=losses).shape
        torch.Size([6, 2])
        >>> len(losses)
        2
    """

    def __init__(
        self,
        submodule: Any,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Any = None,
        get_mesh: Any = None,
    ) -> None:
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        absent = {"output_grads": output_grads, "input_grads": input_grads, "dw_builder": dw_builder, "get_mesh": get_mesh}  # fmt: skip
        for name, given in absent.items():
            if given is not None:
                raise NotYet(f"PipelineStage({name}=): for DTensors between stages, and backward in two parts")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group = device, group_of(group)
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        if self.group_size > num_stages:
            raise RuntimeError(f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}")  # fmt: skip
        self.rank_of: Callable[[int], int] = lambda stage: stage % self.group_size  # a schedule may know better
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self.has_backward = False
        self._example = {"in": input_args, "out": output_args}
        self._forms: dict[int, Any] = {}  # by stage: shapes, dtypes, whether they want gradients
        self._sent: list[Any] = []
        self._kept: dict[int, tuple[tuple, tuple]] = {}  # inputs and outputs of a microbatch
        self._weights: dict[int, Callable[[], None]] = {}  # the rest of a microbatch's backward
        self._handed: dict[tuple[str, int], Any] = {}  # from another stage of this rank

    # -- messages -------------------------------------------------------------------------------------

    def _send(self, tensors: tuple, to: int, microbatch: int, stages: dict[int, PipelineStage], form: bool) -> None:
        if to in stages:
            stages[to]._handed[f"from {self.stage_index}", microbatch] = tensors
            return
        rank = self.rank_of(to)
        if form and to not in self._forms:
            told = [(tuple(t.shape), t.dtype, t.requires_grad) for t in tensors]
            self._forms[to] = told
            send_object_list([told], group=self.group, group_dst=rank)
        for i, tensor in enumerate(tensors):
            tag = (self.stage_index * 2 + (to > self.stage_index)) * 64 + i
            if form and tuple(tensor.shape) != self._forms[to][i][0]:
                raise RuntimeError(f"stage {self.stage_index}: microbatch {microbatch} has an output of {tuple(tensor.shape)}, the first one had {self._forms[to][i][0]}")  # fmt: skip
            message = tensor.detach().cpu().contiguous()
            self._sent.append((isend(message, group=self.group, group_dst=rank, tag=tag), message))

    def _receive(self, forms: Any, of: int, microbatch: int) -> tuple:
        """What stage `of` has sent for a microbatch; `forms` is None where it has to say what that looks like."""
        key = (f"from {of}", microbatch)
        if key in self._handed:
            return self._handed.pop(key)
        rank = self.rank_of(of)
        if forms is None:
            if of not in self._forms:
                told: list[Any] = [None]
                recv_object_list(told, group=self.group, group_src=rank)
                self._forms[of] = told[0]
            forms = self._forms[of]
        got = []
        for i, (shape, dtype, _) in enumerate(forms):
            tag = (of * 2 + (self.stage_index > of)) * 64 + i
            got.append(empty(shape, dtype=dtype))
            work = irecv(got[-1], group=self.group, group_src=rank, tag=tag)
            assert work is not None
            work.wait()
        return tuple(tensor.to(self.device) for tensor in got)

    def finish(self) -> None:
        """Wait until all that this stage has sent has arrived."""
        for work, _ in self._sent:
            work.wait()
        self._sent.clear()

    # -- one microbatch -------------------------------------------------------------------------------

    def forward_one(self, microbatch: int, args: tuple, kwargs: dict, stages: dict[int, PipelineStage]) -> Any:
        """Run the module for a microbatch and send its output on; the output."""
        if self.is_first:
            inputs = args
        else:
            before = self.stage_index - 1
            came = self._receive(None, before, microbatch)
            wanted = [x.requires_grad for x in came] if before in stages else [f[2] for f in self._forms[before]]
            inputs = tuple(x.detach().requires_grad_(w and self.has_backward) for x, w in zip(came, wanted))
        self._agrees("in", inputs)
        module = self.submod
        if isinstance(module, DistributedDataParallel):
            with module.no_sync():  # its gradients are averaged once, in `ended`
                output = module(*inputs, **kwargs)
        else:
            output = module(*inputs, **kwargs)
        outputs = _many(output)
        if not all(isinstance(x, Tensor) for x in outputs):
            raise NotYet(f"pipelining: stage {self.stage_index} gives {[type(x).__name__ for x in outputs]}; between stages only tensors are sent")  # fmt: skip
        self._agrees("out", outputs)
        if self.has_backward:
            self._kept[microbatch] = inputs, outputs
        if not self.is_last:
            self._send(outputs, self.stage_index + 1, microbatch, stages, True)
        return output

    def _agrees(self, way: str, tensors: tuple) -> None:
        examples = _many(self._example[way])
        told = [(tuple(x.shape), x.dtype) for x in examples if isinstance(x, Tensor)]
        found = [(tuple(x.shape), x.dtype) for x in tensors if isinstance(x, Tensor)]
        if examples and told != found:
            raise RuntimeError(f"stage {self.stage_index}: {way}put_args say {told}, and these are {found}")

    def backward_one(
        self, microbatch: int, loss: Any, last: bool, stages: dict[int, PipelineStage], apart: bool
    ) -> None:
        """Backward for a microbatch: from the loss, or from the gradients that the next stage sends.

        With `apart` those of the inputs alone, where that can be; `weights_one` computes the others.
        """
        inputs, outputs = self._kept.pop(microbatch)
        if isinstance(self.submod, FSDPModule):
            for act in (self.submod.set_is_last_backward, self.submod.set_requires_gradient_sync):
                act(last)
        ends, grads_of = [loss], [None]
        if not self.is_last:
            ends = [x for x in outputs if x.requires_grad]
            forms = [(tuple(x.shape), x.dtype, False) for x in ends]
            grads_of = list(self._receive(forms, self.stage_index + 1, microbatch))
        if apart and not isinstance(self.submod, FSDPModule):
            self._weights[microbatch] = in_halves(ends, grads_of, [x for x in inputs if x.requires_grad])
        else:
            backward(ends, grads_of)
        if not self.is_first:
            grads = tuple(zeros_like(x) if x.grad is None else x.grad for x in inputs if x.requires_grad)
            self._send(grads, self.stage_index - 1, microbatch, stages, False)

    def weights_one(self, microbatch: int) -> None:
        """What `backward_one` has left of a microbatch."""
        self._weights.pop(microbatch, lambda: None)()

    def ended(self, divisor: int) -> None:
        """After the last backward of a step: gradients as those of the whole batch."""
        with no_grad():
            for parameter in self.submod.parameters():
                if parameter.grad is not None and divisor != 1:
                    parameter.grad.div_(divisor)
            if isinstance(self.submod, DistributedDataParallel):
                of = self.submod.process_group
                for parameter in self.submod.parameters():
                    if parameter.grad is not None:
                        all_reduce(parameter.grad, group=of)
                        parameter.grad.div_(of.size())
