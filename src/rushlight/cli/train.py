"""`rushlight train`: the loop, its files, and how it stops and goes on."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shlex
import signal
import time
from collections.abc import Iterator
from typing import Any

from . import checkpoint
from .errors import UsageError
from .images import Images, load_images
from .networks import build, parameters_of
from .pick_device import pick_device
from .progress import Progress
from .report import draw, measure, table, write_json

# What must be the same for a run to be gone on with.
SAME = ("data", "model", "width", "batch_size", "lr", "optimizer", "momentum", "weight_decay",
        "schedule", "augment", "seed", "epochs")  # fmt: skip
RATES = {"sgd": 0.05, "adam": 1e-3, "adamw": 1e-3, "rmsprop": 1e-3}


def train(args: Any) -> int:
    """Train, save, reload, test."""
    import rushlight as rl

    if args.lr is None:
        args.lr = RATES.get(args.optimizer, 0.01)
    device, why = pick_device(args.device)
    path = os.path.join(args.out, "model.pth")
    before = _resumed(args, path)
    rl.manual_seed(args.seed)
    images = load_images(args.data, args.data_dir, args.augment)
    run = Run(args, images, device, path)
    if before is not None:
        run.restore(before)
    say = (lambda *a: None) if args.quiet else print
    say(f"Training on {why}.")
    say(f"{args.model} with {parameters_of(run.net):,} parameters; {len(images.train):,} training and "
        f"{len(images.test):,} test images of {images.name}; {run.how()}.")  # fmt: skip
    os.makedirs(args.out, exist_ok=True)
    stopped = run.fit()
    if stopped:
        again = " ".join(shlex.quote(a) for a in _arguments(args))
        print(f"Stopped at epoch {run.epoch + 1}, step {run.step}; saved to {path}.\n"
              f"Go on with: rushlight train {again} --resume")  # fmt: skip
        return 128 + stopped
    return finish(args, images, device, path, run.history)


def finish(args: Any, images: Images, device: str, path: str, history: list) -> int:
    """Reload the file just written and test that network, not the one in memory."""
    from .evaluate import network_of, test_loader

    saved = checkpoint.read(path)
    net = network_of(saved).to(device)
    result = measure(net, test_loader(images, 256), device, images.classes)
    write_json(args.out, result)
    pictures = draw(args.out, history, result)
    print()
    print(table(result))
    print()
    print(f"Wrote {args.out}: model.pth, metrics.jsonl, test.json, TensorBoard events, {pictures}.")
    print(
        f"Try: rushlight eval {shlex.quote(path)}   |   rushlight predict {shlex.quote(path)} IMAGE..."
    )
    return 0


def _resumed(args: Any, path: str) -> dict[str, Any] | None:
    """The checkpoint to go on from; its settings must be those of the command line."""
    if not args.resume:
        return None
    saved = checkpoint.read(path)
    for name in SAME:
        mine, theirs = getattr(args, name), saved["config"][name]
        if mine != theirs:
            option = "--" + name.replace("_", "-")
            raise UsageError(
                f"{path} was trained with {option} {theirs}, not {mine}: give the same options to resume"
            )
    return saved


def _arguments(args: Any) -> list[str]:
    """The command line that makes these settings."""
    parts = []
    for name in (*SAME, "out", "data_dir", "device"):
        value = getattr(args, name)
        option = "--" + name.replace("_", "-")
        parts += ([option] if value else []) if isinstance(value, bool) else [option, str(value)]
    return parts


class Run:
    """A training run: network, optimiser, schedule, and where it is."""

    def __init__(self, args: Any, images: Images, device: str, path: str) -> None:
        import rushlight as rl

        self.args, self.images, self.device, self.path = args, images, device, path
        self.net = build(args.model, channels=images.channels, size=images.size,
                         classes=len(images.classes), width=args.width).to(device)  # fmt: skip
        self.steps = math.ceil(len(images.train) / args.batch_size)
        self.optimizer = _optimizer(rl, args, self.net)
        self.schedule = _schedule(rl, args, self.optimizer, self.steps)
        self.criterion = rl.nn.CrossEntropyLoss()
        self.epoch = self.step = 0
        self.sums = [0.0, 0, 0]  # loss times images, right answers, images of this epoch
        self.history: list[dict[str, Any]] = []
        self.compiled, self.compile_note = self._compile()

    def _compile(self) -> tuple[Any, str]:
        if not self.args.compile:
            return self.train_step, "steps run through Python (--no-compile)"
        import rushlight as rl

        if not hasattr(rl, "compile"):
            return self.train_step, "steps run through Python"
        return rl.compile(
            self.train_step
        ), "steps are recorded once and replayed (--no-compile to switch off)"

    def how(self) -> str:
        return self.compile_note

    def train_step(self, x: Any, y: Any) -> tuple[Any, Any]:
        """One step: the loss and the number of right answers, both still on the device."""
        self.optimizer.zero_grad()
        out = self.net(x)
        loss = self.criterion(out, y)
        loss.backward()
        self.optimizer.step()
        return loss.detach(), (out.detach().argmax(1) == y).sum()

    # -- the loop -------------------------------------------------------------------------------

    def fit(self) -> int:
        """Train to the end, or until a signal; the answer is the signal's number or 0."""
        from rushlight.utils.tensorboard import SummaryWriter

        progress = Progress(self.args.epochs, self.args.quiet)
        with SummaryWriter(self.args.out) as board, catching_signals() as caught:
            try:
                while self.epoch < self.args.epochs:
                    self._epoch(progress, caught)
                    if caught:
                        self.save()
                        return caught[0]
                    self._close_epoch(progress, board)
                    self.save()
            finally:
                progress.close()
        return 0

    def _epoch(self, progress: Progress, caught: list[int]) -> None:
        progress.start(self.epoch, self.steps, self.step)
        self.net.train()
        begin, first = time.perf_counter(), self.sums[2]
        shown = begin
        waiting: list[tuple[Any, Any, int]] = []
        for x, y in self._batches():
            loss, right = self.compiled(x.to(self.device), y.to(self.device))
            waiting.append((loss, right, len(y)))
            self.schedule.step()
            self.step += 1
            now = time.perf_counter()
            if caught or now - shown > 0.2 or self.step == self.steps:
                self._collect(waiting)  # reading a value waits for the device: only now and then
                shown = now
                total, right_answers, seen = self.sums
                speed = (seen - first) / max(now - begin, 1e-9)
                progress.update(self.step, total / seen, right_answers / seen, speed)
                if caught:
                    break
        self.seconds = time.perf_counter() - begin
        self.speed = (self.sums[2] - first) / max(self.seconds, 1e-9)

    def _collect(self, waiting: list) -> None:
        for loss, right, n in waiting:
            self.sums[0] += loss.item() * n
            self.sums[1] += int(right)
            self.sums[2] += n
        waiting.clear()

    def _batches(self) -> Any:
        """This epoch's batches from the current step on, in an order that the seed and epoch give."""
        import rushlight as rl
        from rushlight.utils.data import DataLoader, Subset

        order = rl.Generator().manual_seed(self.args.seed * 100003 + self.epoch)
        indices = rl.randperm(len(self.images.train), generator=order).numpy()
        rest = Subset(self.images.train, indices[self.step * self.args.batch_size :])
        return DataLoader(
            rest, self.args.batch_size, num_workers=self.args.workers, generator=order
        )

    def _close_epoch(self, progress: Progress, board: Any) -> None:
        from .evaluate import test_loader

        result = measure(self.net, test_loader(self.images, 256), self.device, self.images.classes)
        total, right, seen = self.sums
        line = {
            "epoch": self.epoch + 1, "train_loss": total / seen, "train_accuracy": right / seen,
            "test_loss": result.loss, "test_accuracy": result.accuracy,
            "lr": self.optimizer.param_groups[0]["lr"], "images_per_second": round(self.speed, 1),
            "seconds": round(self.seconds, 3),
        }  # fmt: skip
        self.history.append(line)
        with open(os.path.join(self.args.out, "metrics.jsonl"), "w") as f:
            f.writelines(json.dumps(h) + "\n" for h in self.history)
        for name in ("train_loss", "train_accuracy", "test_loss", "test_accuracy", "lr"):
            board.add_scalar(name, line[name], self.epoch + 1)
        board.flush()
        progress.finish(
            f"epoch {self.epoch + 1}/{self.args.epochs}  loss {total / seen:.3f}  acc {right / seen:.1%}  "
            f"test {result.accuracy:.1%}  {self.speed:,.0f} img/s  {self.seconds:.1f} s"
        )
        self.epoch, self.step, self.sums = self.epoch + 1, 0, [0.0, 0, 0]

    # -- files ----------------------------------------------------------------------------------

    def save(self) -> None:
        """Everything, so that going on is as if nothing had happened."""
        import rushlight as rl

        images = self.images
        checkpoint.write(self.path, {
            "config": {name: getattr(self.args, name) for name in SAME},
            "data_dir": self.args.data_dir, "classes": images.classes, "channels": images.channels,
            "size": images.size, "mean": images.mean, "std": images.std, "data": images.name,
            "model": self.net.state_dict(), "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(), "epoch": self.epoch, "step": self.step,
            "sums": self.sums, "history": self.history, "rng": rl.get_rng_state(),
        })  # fmt: skip

    def restore(self, saved: dict[str, Any]) -> None:
        import rushlight as rl

        self.net.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.schedule.load_state_dict(saved["schedule"])
        self.epoch, self.step, self.sums = saved["epoch"], saved["step"], list(saved["sums"])
        self.history = list(saved["history"])
        rl.set_rng_state(saved["rng"])


def _optimizer(rl: Any, args: Any, net: Any) -> Any:
    kinds = {
        n.lower(): getattr(rl.optim, n)
        for n in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam")
    }
    if args.optimizer not in kinds:
        raise UsageError(f"--optimizer {args.optimizer}: unknown; one of {', '.join(kinds)}")
    options = {"lr": args.lr, "weight_decay": args.weight_decay}
    if args.optimizer in ("sgd", "rmsprop"):
        options["momentum"] = args.momentum
    return kinds[args.optimizer](net.parameters(), **options)


def _schedule(rl: Any, args: Any, optimizer: Any, steps: int) -> Any:
    kinds = rl.optim.lr_scheduler
    total = max(args.epochs * steps, 1)
    if args.schedule == "cosine":
        return kinds.OneCycleLR(
            optimizer, args.lr, total_steps=total + 1, pct_start=0.15, cycle_momentum=False
        )
    if args.schedule == "step":
        return kinds.MultiStepLR(optimizer, [total // 2, total * 3 // 4], gamma=0.1)
    return kinds.LambdaLR(optimizer, lambda step: 1.0)


@contextlib.contextmanager
def catching_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in a list; a second Ctrl-C is not caught any more."""
    caught: list[int] = []
    before = {}

    def note(number: int, frame: Any) -> None:
        caught.append(number)
        signal.signal(number, before[number])

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, note)
    except ValueError:  # not in the main thread: signals stay as they are
        before.clear()
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
