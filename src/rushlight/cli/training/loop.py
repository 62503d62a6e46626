"""A training run: its loop, and everything that must be kept to go on as if nothing had happened."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from .. import config
from ..data.images import Images
from ..errors import UsageError
from ..signals import catching_signals
from ..tasks.task import measure
from ..words import counted
from . import checkpoint
from .loggers import Loggers
from .networks import build, head_of
from .progress import Progress
from .recipe import epochs_in
from .recipes import factor, make_optimizer, make_schedule
from .weights import start_from

if TYPE_CHECKING:
    from argparse import Namespace

    from ...core.tensor import Tensor
    from ...nn.modules.module import Module
    from ...optim.optimizer import Optimizer


class Stepper:
    """A network, its loss and its optimiser, as a function of a batch."""

    def __init__(self, args: Namespace, net: Module, optimizer: Optimizer, images: Images, device: str) -> None:
        import rushlight as rl

        self.args, self.net, self.optimizer, self.device = args, net, optimizer, device
        self.task = images.task
        self.criterion = self.task.criterion(args, images.counts, len(images.train), device)
        self.dtype = {"bf16": rl.bfloat16, "fp16": rl.float16}.get(args.amp or "")
        self.weight = 1.0  # of this batch's gradient: ranks with more images than others count more
        self.parts = 0  # of this batch, where ranks agreed on a number: each part ends with an exchange
        self.scaler = None
        if args.amp == "fp16":
            if device == "cpu":
                raise UsageError("--amp fp16 is for GPUs: on the CPU use --amp bf16, or leave it out")
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

    def __call__(self, x: Tensor, y: Tensor, share: Any = None, box: Any = None) -> tuple[Any, Any]:
        """One step: the loss and the sum of the task's score, both still on the device.

        `share` is mixup's: every picture is mixed with so much of itself and the rest of another; where there is
        a `box` (top, left, bottom, right, as parts of the sides), that part is the other picture's instead.
        """
        self.optimizer.zero_grad()
        total: Any = None
        good: Any = None
        for begin, end in cuts(len(y), self.args.batch_size, self.parts):
            some, labels = self.prepare(x[begin:end]), y[begin:end]
            loss, out = self._loss(some, labels, share, box)
            loss = loss * (len(labels) / len(y)) if len(labels) < len(y) else loss
            counted = loss if self.weight == 1.0 else loss * self.weight
            (counted if self.scaler is None else self.scaler.scale(counted)).backward()
            some_good = self.task.good(out.detach(), labels)
            total = loss.detach() if total is None else total + loss.detach()
            good = some_good if good is None else good + some_good
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return total, good

    def _loss(self, x: Tensor, y: Tensor, share: Any, box: Any) -> tuple[Any, Any]:
        import rushlight as rl

        if box is not None:
            inside = _inside(x, box)
            x, share = rl.where(inside, x.flip(0), x), 1 - inside.to(x.dtype).mean()
        elif share is not None:
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


def mixup_share(strength: float) -> Any:
    """A draw of mixup's share (Zhang et al. 2017), of at least one half: a 0-d tensor."""
    import rushlight as rl

    drawn = rl.distributions.Beta(rl.tensor(strength), rl.tensor(strength)).sample()
    return rl.maximum(drawn, 1 - drawn)


def cutmix_box(strength: float) -> Any:
    """A draw of cutmix's box (Yun et al. 2019) of the area that mixup would mix in, cut at the edges: four numbers."""
    import rushlight as rl

    side = (1 - rl.distributions.Beta(rl.tensor(strength), rl.tensor(strength)).sample()).sqrt()
    middle = rl.rand(2)
    return rl.cat([middle - side / 2, middle + side / 2]).clamp(0, 1)


def _inside(x: Tensor, box: Tensor) -> Tensor:
    """Which pixels of pictures are inside a box."""
    import rushlight as rl

    high, wide = x.shape[-2:]
    row = (rl.arange(high, device=x.device) + 0.5)[:, None] / high
    column = (rl.arange(wide, device=x.device) + 0.5)[None] / wide
    return (row >= box[0]) & (row < box[2]) & (column >= box[1]) & (column < box[3])


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


LAST, BEST = "last.pth", "best.pth"
# Steps between which the pace is measured: the first ones are recorded and compiled.
PACED = (3, 8)
# A picture that is only tested takes so much of the time of one that is trained on.
TESTED = 0.4
# It overfits where the pictures it learns from go so much better than others, and so well.
OVERFIT_GAP, OVERFIT_FROM = 0.08, 0.95


class Run:
    """Network, optimiser, schedule, and where they are."""

    def __init__(self, args: Namespace, images: Images, device: str, fresh: bool = True) -> None:
        import rushlight as rl

        self.args, self.images, self.device = args, images, device
        self.task = images.task
        self.path = os.path.join(args.out, LAST)
        self.net = build(args.model, channels=images.channels, size=images.size,
                         classes=len(images.classes), width=args.width, over=self.task.over, inputs=images.inputs)  # fmt: skip
        self.task.check_head(args.model, self.net.get_submodule(head_of(self.net)))
        self.start_note = (
            start_from(self.net, args.weights, args.model) if fresh and args.weights != config.NONE else ""
        )
        if args.freeze:
            freeze_body(self.net, head_of(self.net))
        self.net.to(device)
        if args.channels_last:
            self.net.to(memory_format=rl.channels_last)
        self.steps = self._steps(len(images.train), args.batch_size * args.accumulate)
        self.optimizer = make_optimizer(args, self.net)
        self.schedule = make_schedule(args, self.optimizer, self.steps)
        self.stepper = Stepper(args, self._for_steps(), self.optimizer, images, device)
        self.one_step, self.compile_note = compiled(self.stepper.__call__, args.compile)
        self.shown = copy.deepcopy(self.net) if args.ema else self.net  # what is tested and kept
        self.timed = args.timed and fresh
        self.told_epochs: Callable[[], None] = lambda: None  # called when the time has decided
        self.hook: Callable[..., None] = lambda name, net, *more: None  # see cli/fit.py
        self.stops: Callable[[], bool] = lambda: False  # whether a callback asked to end
        self.epoch = self.step = 0
        self.sums = [0.0, 0.0, 0]  # loss times images, sum of the scores, images of this epoch
        self.history: list[dict[str, Any]] = []
        self.best: dict[str, Any] = {"epoch": 0, "score": -math.inf, "loss": math.inf}
        self.loggers = Loggers(args)

    def _for_steps(self) -> Any:
        """The network that steps call; several ranks wrap it (`ranks.py`)."""
        return self.net

    def _steps(self, images: int, batch: int) -> int:
        return steps_of(images, batch)

    def _mine(self, indices: list[int], size: int) -> list[int]:
        """The images of an epoch that this process sees."""
        return indices[: self.steps * size]

    def where(self) -> str:
        """How far the run has come."""
        if self.epoch == self.args.epochs:
            return "after the last epoch"
        return f"in epoch {self.epoch + 1} after {self.step} of {counted(self.steps, 'step')}"

    # -- the loop --------------------------------------------------------------------------------

    def fit(self) -> int:
        """Train to the end, or until a signal; the answer is the signal's number or 0."""
        with self.loggers, catching_signals() as caught, self._same_bits():
            self.begun = time.perf_counter()
            silent = self.args.quiet or not getattr(self.args, "lines", True)
            progress = Progress(self.args.epochs, silent, self._numbers, self.images.unit)
            try:
                self.hook("on_fit_start", self.net)
                while self.epoch < self.args.epochs and not caught and not self._is_enough():
                    with _batches_of_one_told():
                        self._epoch(progress, caught)
                    if self.step == self.steps:
                        self._close_epoch(progress)
                    self.save()
                self.hook("on_fit_end", self.net)
            finally:
                progress.close()
        return caught[0] if caught else 0

    def _is_enough(self) -> bool:
        """Whether `--patience` epochs in a row were no better than the best one, or a callback asked to end."""
        patience = self.args.patience
        worse = self.epoch - self.best["epoch"]
        return not self.step and (self.stops() or (bool(patience) and worse >= patience))

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
        self.hook("on_train_epoch_start", self.net)
        self.stepper.train_mode()
        if self.images.stronger is not None and overfits(self.history, self.task.score):
            self.images.train.transform = self.images.stronger
        begin = shown = time.perf_counter()
        first = self.sums[2]
        waiting: list[tuple[Any, Any, int]] = []
        for x, y in self._batches():
            self.hook("on_train_batch_start", self.net, (x, y), self.step)
            loss, good = self._one(x.to(self.device), y.to(self.device))
            waiting.append((loss, good, len(y)))
            if self.args.ema:
                self._average()
            self.schedule.step()
            self.hook("on_train_batch_end", self.net, {"loss": loss}, (x, y), self.step)
            self.step += 1
            if self.timed:
                self._pace(loss, progress)
            now = time.perf_counter()
            if caught or now - shown > 0.2 or self.step == self.steps:
                self._collect(waiting)  # reading a value waits for the device: only now and then
                shown = time.perf_counter()
                self.seconds = shown - begin
                self.speed = (self.sums[2] - first) / max(self.seconds, 1e-9)
                total, good, seen = self.sums
                progress.update(self.step, total / seen, good / seen, self.speed)
            if caught:
                break

    def _numbers(self, loss: float, score: float) -> str:
        told = f"  {self.task.score_name} {self.task.shown(score)}" if self.task.in_steps else ""
        return f"loss {loss:.3f}{told}"

    def _one(self, x: Tensor, y: Tensor) -> tuple[Any, Any]:
        import rushlight as rl

        mixup, cutmix = self.args.mixup, self.args.cutmix
        if cutmix and (not mixup or float(rl.rand(1)) < 0.5):
            return self.one_step(x, y, None, cutmix_box(cutmix).to(self.device))
        if mixup:
            return self.one_step(x, y, mixup_share(mixup).to(self.device))
        return self.one_step(x, y)

    def _average(self) -> None:
        """Move the tested weights towards the trained ones; the first steps count more."""
        import rushlight as rl

        done = self.epoch * self.steps + self.step
        share = 1 - min(self.args.ema, (1 + done) / (10 + done))
        with rl.no_grad():
            trained = self.net.state_dict()
            for name, value in self.shown.state_dict().items():
                if value.is_floating_point():
                    value.lerp_(trained[name], share)
                else:
                    value.copy_(trained[name])

    def _pace(self, loss: Any, progress: Progress) -> None:
        """Measure the first steps; then the number of epochs is what fits into `--minutes`."""
        done = self.epoch * self.steps + self.step
        if done == PACED[0]:
            loss.item()  # waits for the device
            self.paced = time.perf_counter()
        elif done == PACED[1]:
            loss.item()
            now = time.perf_counter()
            of_step = (now - self.paced) / (PACED[1] - PACED[0])
            self._settle_epochs(of_step, self.args.minutes * 60 - (now - self.begun), progress)

    def _epochs_that_fit(self, of_step: float, seconds: float) -> int:
        """By the seconds of a step and those that are left; what was trained until now counts."""
        tested = len(self.images.val or ()) + self.args.views * len(self.images.test) / 10
        of_epoch = self.steps * of_step * (1 + TESTED * tested / len(self.images.train))
        done = self.epoch + self.step / self.steps
        return epochs_in(seconds + done * of_epoch, of_epoch, self.args.weights == config.NONE)

    def _settle_epochs(self, of_step: float, seconds: float, progress: Progress) -> None:
        self.timed = False
        epochs = max(self._epochs_that_fit(of_step, seconds), self.epoch + 1)
        self.args.epochs = progress.epochs = epochs
        share = factor(self.args.schedule, epochs * self.steps, self.args.warmup)
        self.schedule.lr_lambdas = [share] * len(self.optimizer.param_groups)
        self._follow_schedule()
        self.told_epochs()
        if not self.args.quiet:
            progress.say(f"A step takes {of_step:.2g} s: {counted(self.args.minutes, 'minute')} for {counted(epochs, 'epoch')}.")  # fmt: skip

    def _collect(self, waiting: list) -> None:
        for loss, good, n in waiting:
            self.sums[0] += loss.item() * n
            self.sums[1] += good.item()
            self.sums[2] += n
        waiting.clear()

    def _batches(self) -> Iterator[Any]:
        """This epoch's batches from the current step on, in an order that the seed and epoch give."""
        import rushlight as rl
        from rushlight.utils.data import DataLoader, Subset

        args = self.args
        size = args.batch_size * args.accumulate
        order = rl.Generator().manual_seed(args.seed * 100003 + self.epoch)
        indices = self._mine(self._order(order), size)
        # Workers draw their own random numbers from the epoch's start on: then the done batches
        # are loaded again and dropped. Otherwise the checkpoint knows the stream.
        again = self.step if args.workers and (args.augment != "none" or args.erase) else 0
        rest: Subset[Any] = Subset(self.images.train, indices[(self.step - again) * size :])
        loader = DataLoader(rest, size, num_workers=args.workers, generator=order)
        return islice(iter(loader), again, None)

    def _order(self, generator: Any) -> list[int]:
        """The pictures of an epoch: each once, or so that all classes come as often."""
        import rushlight as rl

        images = self.images
        if not self.args.balanced:
            return rl.randperm(len(images.train), generator=generator).tolist()
        rarest = [
            min((images.counts[i] for i in self.task.members(t)), default=max(images.counts)) for t in images.targets
        ]
        weights = 1 / rl.tensor(rarest, dtype=rl.float64)
        return rl.multinomial(weights, len(rarest), replacement=True, generator=generator).tolist()

    def _check_finite(self, part: str, epoch: int, loss: float) -> None:
        if not math.isfinite(loss):
            raise UsageError(f"the {part}loss of epoch {epoch} is {loss}: the steps are too long, try a smaller --lr than {self.args.lr:g}")  # fmt: skip

    def _close_epoch(self, progress: Progress) -> None:
        total, good, seen = self.sums
        self._check_finite("", self.epoch + 1, total / seen)
        self.epoch, self.step, self.sums = self.epoch + 1, 0, [0.0, 0.0, 0]
        key = self.task.score
        line = {"epoch": self.epoch, "train_loss": total / seen, **({f"train_{key}": good / seen} if self.task.in_steps else {}),
                "lr": self.optimizer.param_groups[0]["lr"], "images_per_second": round(self.speed, 1),
                "seconds": round(self.seconds, 3)}  # fmt: skip
        said = f"epoch {self.epoch}/{self.args.epochs}  {self._numbers(total / seen, good / seen)}"
        self.history.append(line)
        if self.images.val is not None:
            self.hook("on_validation_start", self.shown)
            found = self._measure(self.images.val)
            self._check_finite("validation ", self.epoch, found.loss)
            line.update({"val_loss": found.loss, f"val_{key}": found.score})
            said += (
                f"  validation {'' if self.task.in_steps else self.task.score_name + ' '}{self.task.shown(found.score)}"
            )
            self.hook("on_validation_end", self.shown)
        if self._is_best(line):
            self.best = {"epoch": self.epoch, "score": line.get(f"val_{key}", -math.inf),
                         "loss": line.get("val_loss", math.inf)}  # fmt: skip
            self.save(BEST)
            said += " *" if self.images.val is not None else ""
        self._write_metrics()
        self.loggers.write(line)
        self.hook("on_train_epoch_end", self.net)
        progress.finish(f"{said}  {self.speed:,.0f} {self.images.unit}/s  {self.seconds:.1f} s")

    def _measure(self, data: Any) -> Any:
        from rushlight.utils.data import DataLoader

        return measure(self.task, self.shown, DataLoader(data, 256), self.device, self.stepper.prepare)

    def _is_best(self, line: dict[str, Any]) -> bool:
        """Better than the best so far; without a validation part the last is."""
        found = line.get(f"val_{self.task.score}")
        return found is None or (found, -line["val_loss"]) > (self.best["score"], -self.best["loss"])

    # -- files -----------------------------------------------------------------------------------

    def _write_metrics(self) -> None:
        from rushlight.io import atomic_write

        path = os.path.join(self.args.out, "metrics.jsonl")
        try:
            with atomic_write(path, "w") as f:
                f.writelines(json.dumps(h) + "\n" for h in self.history)
        except (OSError, RuntimeError) as error:
            raise UsageError(f"{path} cannot be written: {error}") from None

    def save(self, name: str = LAST) -> None:
        """Everything, so that going on is as if nothing had happened; the best is only to be used."""
        import rushlight as rl

        images = self.images
        on_gpu = self.device != "cpu"
        to_use, averaged = name == BEST, self.shown is not self.net
        checkpoint.write(os.path.join(self.args.out, name), {
            "config": {name: getattr(self.args, name) for name in config.DEFAULTS},
            "data_dir": os.path.abspath(self.args.data_dir), "classes": images.classes, "scale": self.task.scale,
            "count": len(images.train), "channels": images.channels, "size": images.size, "mean": images.mean,
            "std": images.std, "data": images.name, "inputs": images.inputs and images.inputs.as_dict(),
            "model": (self.shown if to_use else self.net).state_dict(),
            "average": self.shown.state_dict() if averaged and not to_use else None,
            "optimizer": {} if to_use else self.optimizer.state_dict(),
            "schedule": {} if to_use else self.schedule.state_dict(),
            "epoch": self.epoch, "step": self.step, "sums": self.sums, "history": self.history,
            "best": self.best, "rng": rl.get_rng_state(),
            "scaler": self.stepper.scaler.state_dict() if self.stepper.scaler else None,
            "cuda_rng": rl.cuda.get_rng_state(self.device) if on_gpu else None,
        })  # fmt: skip

    def restore(self, saved: dict[str, Any]) -> None:
        """Be where `saved` was."""
        import rushlight as rl

        now, then = len(self.images.train), saved["count"]
        if (self.images.classes, now) != (saved["classes"], then):
            raise UsageError(
                f"{self.path} was trained on {counted(then, self.images.noun if self.images.inputs else 'image')} of {counted(len(saved['classes']), self.task.one, self.task.many)}, and "
                f"{self.images.name} now has {now:,} of {len(self.images.classes)}: it cannot be resumed, "
                f"train anew with another --out"
            )
        self.epoch, self.step, self.sums = saved["epoch"], saved["step"], list(saved["sums"])
        self.history, self.best = list(saved["history"]), dict(saved["best"])
        if self.epoch > self.args.epochs or self.step > self.steps:
            raise UsageError(f"{self.path} is damaged: it claims to be {self.where()}")
        try:
            self.net.load_state_dict(saved["model"])
            if self.shown is not self.net:
                self.shown.load_state_dict(saved["average"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.schedule.load_state_dict(saved["schedule"])
            rl.set_rng_state(saved["rng"])
            if saved["cuda_rng"] is not None and self.device != "cpu":
                rl.cuda.set_rng_state(saved["cuda_rng"], self.device)
            if self.stepper.scaler and saved["scaler"]:
                self.stepper.scaler.load_state_dict(saved["scaler"])
            if self.args.epochs != saved["config"]["epochs"]:
                self._follow_schedule()
        except (RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise UsageError(f"{self.path} cannot be resumed: {error}") from None

    def _follow_schedule(self) -> None:
        """With another number of epochs than before, the rate is that of the new schedule at this step."""
        for group, share in zip(self.optimizer.param_groups, self.schedule.lr_lambdas):
            group["lr"] = group["initial_lr"] * share(self.schedule.last_epoch)


@contextlib.contextmanager
def _batches_of_one_told() -> Iterator[None]:
    """Batch norm over one image whose maps are one pixel has no variance: that can be mended."""
    try:
        yield
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        raise UsageError(
            "batch normalisation cannot work on one image of so few pixels: give a larger --batch-size or --size"
        ) from None


def overfits(history: list[dict[str, Any]], score: str) -> bool:
    """Whether some epoch knew its own pictures well, and others clearly less well."""
    return any(
        line.get(f"train_{score}", 0.0) >= OVERFIT_FROM
        and line[f"train_{score}"] - line.get(f"val_{score}", 1.0) > OVERFIT_GAP
        for line in history
    )


def steps_of(images: int, batch: int) -> int:
    """Steps of an epoch: a last batch of one image is left out, for batch norm cannot work on it."""
    whole, rest = divmod(images, batch)
    return max(1, whole + (rest > 1))
