"""kill -9 while training and inside each write, then resume: always loadable, losses bit-equal."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from trust_record import Record
from trust_train import SORTS, arguments, ended, fingerprint, loadable, start, write_pictures

POINTS = ("fsync", "chmod", "replace", "write")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def inside_a_write(rng: random.Random) -> Callable[[], None]:
    """Die before, in the middle of, or after the n-th call of one of the steps of a write."""
    point, nth, after = rng.choice(POINTS), rng.randint(1, 8), rng.random() < 0.5

    def install() -> None:
        count = 0

        def dying(plain: Callable) -> Callable:
            def call(*args, **kwargs):
                nonlocal count
                count += 1
                if count == nth and not after:
                    _die()
                found = plain(*args, **kwargs)
                if count == nth:
                    _die()
                return found

            return call

        if point == "write":
            import rushlight.io.pth as pth

            pth._record = dying(pth._record)  # one record of the zip file: half of it is written
        else:
            setattr(os, point, dying(getattr(os, point)))

    return install


def _one_run(root: Path, out: Path, sort: int, rng: random.Random, want: tuple, kills: int) -> tuple[int, str]:
    """Train with at most `kills` kills; how many there were, and what is wrong."""
    done = 0
    while True:
        args = arguments(root, out, sort)
        if (out / "last.pth").exists():
            args.append("--resume")
        else:  # killed in its first epoch: nothing to go on from, and another run would take the next folder
            shutil.rmtree(out, ignore_errors=True)
        at_a_time = rng.random() < 0.4
        if done >= kills:
            code = ended(start(args))
        elif at_a_time:
            pid = start(args)
            time.sleep(rng.uniform(0.0, 1.0))
            os.kill(pid, signal.SIGKILL)
            code = ended(pid)
        else:
            code = ended(start(args, inside_a_write(rng)))
        if not loadable(out):
            return done, "the checkpoint is damaged after a kill"
        if code == 0:
            found = fingerprint(out)
            left = [p.name for p in out.iterdir() if p.name.endswith(".part")]
            wrong = "" if found == want else "losses or weights differ from the uninterrupted run"
            # The last kill may leave one file that the next write of the same target collects.
            return done, wrong or (f"{left} were left" if len(left) > 2 else "")
        if code != -signal.SIGKILL:
            return done, f"the process ended with {code}"
        done += 1


def kill(count: int, seed: int, record: Record) -> tuple[str, bool]:
    """`count` kills over runs of three sorts."""
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_pictures(root / "pictures")
        wants = []
        for sort in range(len(SORTS)):
            assert ended(start(arguments(root, root / f"whole{sort}", sort))) == 0
            wants.append(fingerprint(root / f"whole{sort}"))
        while total < count:
            number = record.next
            sort, rng, out = number % len(SORTS), random.Random(f"{seed} {number}"), root / "run"
            done, why = _one_run(root, out, sort, rng, wants[sort], min(6, count - total))
            if why:
                print(f"training {number} of sort {sort}: {why}", file=sys.stderr, flush=True)
            shutil.rmtree(out, ignore_errors=True)
            total += done
            record.add("kills", kills=done, trainings=1, wrong=bool(why))
    found = record.counts
    said = (
        f"{found['kills']:,} kills in {found['trainings']:,} trainings, {found['wrong']} of them damaged or different"
    )
    return said, not found["wrong"]
