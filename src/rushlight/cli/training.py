"""A training run: its loop, and everything that must be kept to go on as if nothing had happened."""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from . import checkpoint, config
from .errors import UsageError
from .images import Images
from .networks import build
from .progress import Progress
from .recipes import make_optimizer, make_schedule
from .report import measure
from .signals import catching_signals


class Run:
    """Network, optimiser, schedule, and where they are."""

    def __init__(self, args: Any, images: Images, device: str, path: str) -> None:
        import rushlight as rl

        self.args, self.images, self.device, self.path = args, images, device, path
        self.net = build(args.model, channels=images.channels, size=images.size,
                         classes=len(images.classes), width=args.width).to(device)  # fmt: skip
        self.steps = math.ceil(len(images.train) / args.batch_size)
        self.optimizer = make_optimizer(args, self.net)
        self.schedule = make_schedule(args, self.optimizer, self.steps)
        self.criterion = rl.nn.CrossEntropyLoss()
        self.epoch = self.step = 0
        self.sums = [0.0, 0, 0]  # loss times images, right answers, images of this epoch
        self.history: list[dict[str, Any]] = []
        self.board_note = "TensorBoard events"
        self.one_step, self.compile_note = self._compiled()

    def _compiled(self) -> tuple[Any, str]:
        import rushlight as rl

        if not self.args.compile:
            return self.train_step, "steps run through Python (--no-compile)"
        note = "steps are recorded once and replayed (--no-compile switches that off)"
        return rl.compile(self.train_step), note

    def where(self) -> str:
        """How far the run has come."""
        if self.epoch == self.args.epochs:
            return "after the last epoch"
        return f"in epoch {self.epoch + 1} after {self.step} of {self.steps} steps"

    def train_step(self, x: Any, y: Any) -> tuple[Any, Any]:
        """One step: the loss and the number of right answers, both still on the device."""
        self.optimizer.zero_grad()
        out = self.net(x)
        loss = self.criterion(out, y)
        loss.backward()
        self.optimizer.step()
        return loss.detach(), (out.detach().argmax(1) == y).sum()

    # -- the loop --------------------------------------------------------------------------------

    def fit(self) -> int:
        """Train to the end, or until a signal; the answer is the signal's number or 0."""
        with self._board() as board, catching_signals() as caught, self._same_bits():
            progress = Progress(self.args.epochs, self.args.quiet)
            try:
                while self.epoch < self.args.epochs and not caught:
                    self._epoch(progress, caught)
                    if self.step == self.steps:
                        self._close_epoch(progress, board)
                    self.save()
            finally:
                progress.close()
        return caught[0] if caught else 0

    @contextlib.contextmanager
    def _same_bits(self) -> Iterator[None]:
        """On the CPU compiled steps equal those before compiling to the last bit.

        A resumed run begins with such steps where the uninterrupted one replays.
        """
        import rushlight as rl

        before = rl.are_deterministic_algorithms_enabled()
        rl.use_deterministic_algorithms(before or self.device == "cpu")
        try:
            yield
        finally:
            rl.use_deterministic_algorithms(before)

    def _epoch(self, progress: Progress, caught: list[int]) -> None:
        progress.start(self.epoch, self.steps, self.step)
        self.net.train()
        begin = shown = time.perf_counter()
        first = self.sums[2]
        waiting: list[tuple[Any, Any, int]] = []
        for x, y in self._batches():
            loss, right = self.one_step(x.to(self.device), y.to(self.device))
            waiting.append((loss, right, len(y)))
            self.schedule.step()
            self.step += 1
            now = time.perf_counter()
            if caught or now - shown > 0.2 or self.step == self.steps:
                self._collect(waiting)  # reading a value waits for the device: only now and then
                shown = time.perf_counter()
                self.seconds = shown - begin
                self.speed = (self.sums[2] - first) / max(self.seconds, 1e-9)
                total, right_answers, seen = self.sums
                progress.update(self.step, total / seen, right_answers / seen, self.speed)
            if caught:
                break

    def _collect(self, waiting: list) -> None:
        for loss, right, n in waiting:
            self.sums[0] += loss.item() * n
            self.sums[1] += int(right)
            self.sums[2] += n
        waiting.clear()

    def _batches(self) -> Iterator[Any]:
        """This epoch's batches from the current step on, in an order that the seed and epoch give."""
        import rushlight as rl
        from rushlight.utils.data import DataLoader, Subset

        args = self.args
        order = rl.Generator().manual_seed(args.seed * 100003 + self.epoch)
        indices = rl.randperm(len(self.images.train), generator=order).numpy()
        # Workers draw their own random numbers from the epoch's start on: then the done batches
        # are loaded again and dropped. Otherwise the checkpoint knows the stream.
        again = self.step if args.workers and args.augment else 0
        rest = Subset(self.images.train, indices[(self.step - again) * args.batch_size :])
        loader = DataLoader(rest, args.batch_size, num_workers=args.workers, generator=order)
        return islice(iter(loader), again, None)

    def _close_epoch(self, progress: Progress, board: Any) -> None:
        from .evaluate import test_loader

        total, right, seen = self.sums
        if not math.isfinite(total):
            raise UsageError(
                f"the loss of epoch {self.epoch + 1} is {total / seen}: the steps are too long, try a "
                f"smaller --lr than {self.args.lr}"
            )
        result = measure(self.net, test_loader(self.images, 256), self.device, self.images.classes)
        self.epoch, self.step, self.sums = self.epoch + 1, 0, [0.0, 0, 0]
        line = {
            "epoch": self.epoch, "train_loss": total / seen, "train_accuracy": right / seen,
            "test_loss": result.loss, "test_accuracy": result.accuracy,
            "lr": self.optimizer.param_groups[0]["lr"], "images_per_second": round(self.speed, 1),
            "seconds": round(self.seconds, 3),
        }  # fmt: skip
        self.history.append(line)
        self._write_metrics()
        if board is not None:
            for name in ("train_loss", "train_accuracy", "test_loss", "test_accuracy", "lr"):
                board.add_scalar(name, line[name], self.epoch)
            board.flush()
        progress.finish(
            f"epoch {self.epoch}/{self.args.epochs}  loss {total / seen:.3f}  "
            f"accuracy {right / seen:.1%}  test accuracy {result.accuracy:.1%}  "
            f"{self.speed:,.0f} images/s  {self.seconds:.1f} s"
        )

    # -- files -----------------------------------------------------------------------------------

    def _board(self) -> Any:
        """The TensorBoard writer, or none where that part of rushlight is missing."""
        try:
            from rushlight.utils.tensorboard import SummaryWriter
        except ImportError:
            self.board_note = "no TensorBoard events (rushlight.utils.tensorboard is missing)"
            return contextlib.nullcontext()
        return SummaryWriter(self.args.out)

    def _write_metrics(self) -> None:
        from rushlight.io import atomic_write

        path = os.path.join(self.args.out, "metrics.jsonl")
        try:
            with atomic_write(path, "w") as f:
                f.writelines(json.dumps(h) + "\n" for h in self.history)
        except (OSError, RuntimeError) as error:
            raise UsageError(f"{path} cannot be written: {error}") from None

    def save(self) -> None:
        """Everything, so that going on is as if nothing had happened."""
        import rushlight as rl

        images = self.images
        on_gpu = self.device != "cpu"
        checkpoint.write(self.path, {
            "config": {name: getattr(self.args, name) for name in config.DEFAULTS},
            "data_dir": os.path.abspath(self.args.data_dir), "classes": images.classes,
            "count": len(images.train), "channels": images.channels, "size": images.size, "mean": images.mean,
            "std": images.std, "data": images.name, "model": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(), "schedule": self.schedule.state_dict(),
            "epoch": self.epoch, "step": self.step, "sums": self.sums, "history": self.history,
            "rng": rl.get_rng_state(),
            "cuda_rng": rl.cuda.get_rng_state(self.device) if on_gpu else None,
        })  # fmt: skip

    def restore(self, saved: dict[str, Any]) -> None:
        """Be where `saved` was."""
        import rushlight as rl

        now, then = len(self.images.train), saved["count"]
        if (self.images.classes, now) != (saved["classes"], then):
            raise UsageError(
                f"{self.path} was trained on {then:,} images of {len(saved['classes'])} classes, and "
                f"{self.images.name} now has {now:,} of {len(self.images.classes)}: it cannot be resumed"
            )

        self.epoch, self.step, self.sums = saved["epoch"], saved["step"], list(saved["sums"])
        self.history = list(saved["history"])
        if self.epoch > self.args.epochs or self.step > self.steps:
            raise UsageError(f"{self.path} is damaged: it claims to be {self.where()}")
        try:
            self.net.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.schedule.load_state_dict(saved["schedule"])
            rl.set_rng_state(saved["rng"])
            if saved["cuda_rng"] is not None and self.device != "cpu":
                rl.cuda.set_rng_state(saved["cuda_rng"], self.device)
        except (RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise UsageError(f"{self.path} cannot be resumed: {error}") from None
