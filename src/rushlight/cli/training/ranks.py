"""`rushlight train` by several ranks: one batch split over them, one progress bar, one set of files."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.config import launcher
from ..errors import UsageError
from ..words import counted
from .loop import Run
from .progress import Progress

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["RankedRun", "agreed", "folder", "join", "run_of", "several", "start"]


def several() -> bool:
    """Whether this process is one of several ranks that a launcher started."""
    return int(launcher("WORLD_SIZE") or 1) > 1


def start(args: Namespace) -> int:
    """`--nproc N`: the same command line in N ranks."""
    from ...distributed import mpiexec
    from ...distributed.launcher import launch

    reason = mpiexec.why_not()
    if reason is not None:
        raise UsageError(f"--nproc {args.nproc} needs MPI, and {reason}")
    words, rest = [], iter(args.argv)
    for word in rest:
        if word in ("--nproc", "--max-restarts"):
            next(rest)
        elif not word.startswith(("--nproc=", "--max-restarts=")):
            words.append(word)
    options = ["--nproc-per-node", str(args.nproc), "--plain", "--max-restarts", str(args.max_restarts), "--no-python"]
    return launch([*options, sys.executable, "-m", "rushlight", *words], program="rushlight train")


def join(args: Namespace) -> None:
    """Connect to the other ranks; all but the first print nothing and write no files."""
    from ... import distributed as dist

    if not dist.is_initialized():
        dist.init_process_group()
    if args.lr_find or args.profile:
        raise UsageError("--lr-find and --profile look at one process: leave --nproc out")
    ranks = dist.get_world_size()
    if args.global_batch is not None:
        if args.global_batch % ranks:
            raise UsageError(f"--global-batch {args.global_batch} cannot be split over {ranks} ranks")
        args.batch_size = args.global_batch // ranks
    if dist.get_rank() != 0:
        args.quiet = True


def folder(args: Namespace, choose: Callable[[str | None, bool, str | None], str]) -> str:
    """The folder of the run, which the first rank chooses; a job that was started again goes on in its own."""
    if not several():
        return choose(args.out, args.resume, args.data)
    note = os.path.join(tempfile.gettempdir(), f"rushlight-job-{launcher('RUSHLIGHT_JOB') or 'none'}")
    again = int(launcher("TORCHELASTIC_RESTART_COUNT") or 0) > 0

    def first() -> tuple[str, bool]:
        if again and os.path.exists(note):
            with open(note) as f:
                before = f.read()
            if os.path.exists(os.path.join(before, "last.pth")):
                return before, True
            return before, False
        found = choose(args.out, args.resume, args.data)
        if int(launcher("TORCHELASTIC_MAX_RESTARTS") or 0) > 0:
            with open(note, "w") as f:
                f.write(found)
        return found, args.resume

    found, args.resume = agreed(first)
    return found


def split_chosen(args: Namespace, given: int | None) -> None:
    """A batch size that was chosen for the data is that of all ranks together; a given one is each rank's."""
    from ... import distributed as dist

    if given is None and several():
        args.batch_size = max(1, args.batch_size // dist.get_world_size())


def agreed(choose: Callable[[], Any]) -> Any:
    """What the first rank chooses; with one process just that."""
    if not several():
        return choose()
    from ... import distributed as dist

    told: list[Any] = [None]
    if dist.get_rank() == 0:
        try:
            told = [choose()]
        except UsageError as error:
            told = [error]
    dist.broadcast_object_list(told, 0)
    if isinstance(told[0], UsageError):
        raise told[0]
    return told[0]


def follows() -> bool:
    """Whether another rank writes the files and prints the messages."""
    if not several():
        return False
    from ... import distributed as dist

    return dist.get_rank() != 0


def run_of(args: Namespace, images: Any, device: str, fresh: bool) -> Run:
    """The run of one process, or of one rank of several."""
    if not several():
        return Run(args, images, device, fresh)
    if follows():  # only the first rank's files are kept
        args.scratch = tempfile.TemporaryDirectory()
        args.out = args.scratch.name
    return RankedRun(args, images, device, fresh)


class RankedRun(Run):
    """One rank's part of a run."""

    def __init__(self, args: Namespace, images: Any, device: str, fresh: bool = True) -> None:
        from ... import distributed as dist

        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        if len(images.train) < self.ranks:
            raise UsageError(f"{counted(len(images.train), images.noun)} cannot be split over {self.ranks} ranks")
        super().__init__(args, images, device, fresh)
        self._draw_apart()

    def _draw_apart(self) -> None:
        """Every rank draws its own random numbers, also after a resume."""
        import rushlight as rl

        if self.rank:
            rl.manual_seed(self.args.seed + 7919 * self.rank + 104729 * self.epoch + self.step)

    def _for_steps(self) -> Any:
        from ...nn import SyncBatchNorm
        from ...nn.parallel import DistributedDataParallel

        self.net = SyncBatchNorm.convert_sync_batchnorm(self.net)
        return DistributedDataParallel(self.net)

    def _steps(self, images: int, batch: int) -> int:
        """Steps of an epoch: a last batch needs an image for every rank, and two for batch norm."""
        whole, rest = divmod(images, batch * self.ranks)
        return max(1, whole + (rest >= max(2, self.ranks)))

    def _mine(self, indices: list[int], size: int) -> list[int]:
        """Every rank's part of each batch; of the last one, some may get an image more than others."""
        whole = size * self.ranks
        steps = [indices[at : at + whole] for at in range(0, self.steps * whole, whole)]
        last = steps[-1]
        # DDP averages over ranks; what counts is the average over images, as in one process.
        self._last_weight = len(last[self.rank :: self.ranks]) * self.ranks / len(last)
        self._last_parts = _parts_of_all(len(last), self.ranks, self.args.batch_size)
        return [i for step in steps for i in step[self.rank :: self.ranks]]

    def _epoch(self, progress: Progress, caught: list[int]) -> None:
        self._caught = caught
        super()._epoch(progress, caught)

    def _one(self, x: Any, y: Any) -> tuple[Any, Any]:
        from ... import distributed as dist

        last = self.step == self.steps - 1
        self.stepper.weight = self._last_weight if last else 1.0
        self.stepper.parts = self._last_parts if last and self.args.accumulate > 1 else 0
        found = super()._one(x, y)
        flag = y.new_tensor([max(self._caught, default=0)], device="cpu")
        dist.all_reduce(flag, dist.ReduceOp.MAX)
        if not self._caught and int(flag):  # a signal that another rank got stops all after this step
            self._caught.append(int(flag))
        return found

    def _close_epoch(self, progress: Progress) -> None:
        """The first rank measures and writes; the others take over what it found."""
        import rushlight as rl

        from ... import distributed as dist

        sums = rl.tensor([float(v) for v in self.sums], dtype=rl.float64)
        dist.all_reduce(sums)
        self.sums = [float(sums[0]), float(sums[1]), int(sums[2])]
        self.speed *= self.ranks

        def close() -> tuple:
            super(RankedRun, self)._close_epoch(progress)
            return self.epoch, self.step, self.sums, self.history, self.best

        self.epoch, self.step, self.sums, self.history, self.best = agreed(close)

    def _epochs_that_fit(self, of_step: float, seconds: float) -> int:
        return agreed(lambda: super(RankedRun, self)._epochs_that_fit(of_step, seconds))

    def save(self, name: str = "last.pth") -> None:
        if self.rank == 0:
            super().save(name)

    def restore(self, saved: dict[str, Any]) -> None:
        super().restore(saved)
        self._draw_apart()


def _parts_of_all(images: int, ranks: int, size: int) -> int:
    """In how many parts every rank takes its images of a batch: the same number, none of them empty."""
    most, least = -(-images // ranks), images // ranks
    return max(1, min(-(-most // size), least))
