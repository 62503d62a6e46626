"""One training step: mixed precision, gradients gathered over parts of a batch, mixup, class weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from ...core.tensor import Tensor
    from ...nn.modules.module import Module
    from ...optim.optimizer import Optimizer


class Stepper:
    """A network, its loss and its optimiser, as a function of a batch."""

    def __init__(
        self, args: Namespace, net: Module, optimizer: Optimizer, counts: list[int], device: str
    ) -> None:
        import rushlight as rl

        self.args, self.net, self.optimizer, self.device = args, net, optimizer, device
        weight = class_weights(counts, device) if args.class_weights else None
        self.criterion = rl.nn.CrossEntropyLoss(weight=weight, label_smoothing=args.label_smoothing)
        self.dtype = {"bf16": rl.bfloat16, "fp16": rl.float16}.get(args.amp or "")
        self.weight = 1.0  # of this batch's gradient: ranks with more images than others count more
        self.parts = (
            0  # of this batch, where ranks agreed on a number: each part ends with an exchange
        )
        self.scaler = None
        if args.amp == "fp16":
            if device == "cpu":
                raise UsageError(
                    "--amp fp16 is for GPUs: on the CPU use --amp bf16, or leave it out"
                )
            self.scaler = rl.amp.GradScaler(device.partition(":")[0])
        self.frozen = _frozen_norms(net) if args.freeze else []

    def train_mode(self) -> None:
        """`net.train()`, but what is frozen keeps its running averages."""
        self.net.train()
        for layer in self.frozen:
            layer.eval()

    def prepare(self, x: Tensor) -> Any:
        """A batch in the layout that the network was brought to."""
        import rushlight as rl

        if self.args.channels_last:
            return x.to(memory_format=rl.channels_last)
        return x

    def __call__(self, x: Tensor, y: Tensor, share: Any = None) -> tuple[Any, Any]:
        """One step: the loss and the number of right answers, both still on the device.

        `share` is mixup's: every picture is mixed with so much of itself and the rest of another.
        """
        self.optimizer.zero_grad()
        total: Any = None
        right: Any = None
        for begin, end in cuts(len(y), self.args.batch_size, self.parts):
            some, labels = self.prepare(x[begin:end]), y[begin:end]
            loss, out = self._loss(some, labels, share)
            loss = loss * (len(labels) / len(y)) if len(labels) < len(y) else loss
            counted = loss if self.weight == 1.0 else loss * self.weight
            (counted if self.scaler is None else self.scaler.scale(counted)).backward()
            good = (out.detach().argmax(1) == labels).sum()
            total = loss.detach() if total is None else total + loss.detach()
            right = good if right is None else right + good
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return total, right

    def _loss(self, x: Tensor, y: Tensor, share: Any) -> tuple[Any, Any]:
        import rushlight as rl

        if share is not None:
            x = x * share + x.flip(0) * (1 - share)
        if self.dtype is None:
            out = self.net(x)
        else:
            with rl.autocast(self.device.partition(":")[0], dtype=self.dtype):
                out = self.net(x)
            out = out.float()
        if share is None:
            return self.criterion(out, y), out
        mixed = self.criterion(out, y) * share + self.criterion(out, y.flip(0)) * (1 - share)
        return mixed, out


def cuts(count: int, size: int, parts: int = 0) -> list[tuple[int, int]]:
    """Where the parts of a batch begin and end: `size` images each, or `parts` of equal size."""
    if not parts:
        return [(at, min(at + size, count)) for at in range(0, count, size)]
    return [(count * i // parts, count * (i + 1) // parts) for i in range(parts)]


def class_weights(counts: list[int], device: str) -> Any:
    """Weights with which every class counts the same, 1 on average over the pictures."""
    import rushlight as rl

    total, classes = sum(counts), len(counts)
    return rl.tensor([total / (classes * max(n, 1)) for n in counts]).to(device)


def mixup_share(strength: float) -> Any:
    """A draw of mixup's share (Zhang et al. 2017), of at least one half: a 0-d tensor."""
    import rushlight as rl

    drawn = rl.distributions.Beta(rl.tensor(strength), rl.tensor(strength)).sample()
    return rl.maximum(drawn, 1 - drawn)


def freeze_body(net: Module, head: str) -> None:
    """Let only the head be trained."""
    for name, p in net.named_parameters():
        p.requires_grad_(name.startswith(head + "."))


def _frozen_norms(net: Module) -> list[Any]:
    return [m for m in net.modules() if hasattr(m, "running_mean")]


def compiled(step: Callable, wanted: bool) -> tuple[Callable, str]:
    """The step as `rushlight.compile` makes it, and the words for that."""
    import rushlight as rl

    if not wanted:
        return step, "steps run through Python (--no-compile)"
    return rl.compile(step), "steps are recorded once and replayed (--no-compile switches that off)"
