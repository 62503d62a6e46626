"""`rushlight train`: settles what to train, trains, reloads the file just written, tests that, writes the report."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import config
from .data.images import Images, Source
from .data.sources import find_source, load_images
from .evaluate import check_weights, network_of
from .pick_device import pick_device
from .tasks.task import measure, write_json
from .training import checkpoint, folder_of_run, ranks, recipe
from .training.baseline import beside
from .training.energy import Meter
from .training.loop import BEST, LAST, Run
from .training.networks import check_model, parameters_of
from .words import counted

if TYPE_CHECKING:
    from argparse import Namespace


@dataclass
class Outcome:
    """What became of a training: the exit code, and where there was a test, its folder, numbers and network."""

    code: int
    path: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    net: Any = None


def train(args: Namespace, begin: Callable[[Run], None]) -> Outcome:
    """Train, save, reload, test, report; `begin` is told of the run before it starts."""
    if args.nproc > 1 and not ranks.several():
        return Outcome(ranks.start(args))
    if ranks.several():
        ranks.join(args)
    wanted, args.held = args.out, None
    args.out = chosen = ranks.folder(args, folder_of_run.choose)
    try:
        return _in_folder(args, wanted, begin)
    finally:
        folder_of_run.release(args.held)
        if wanted is None and not ranks.several():
            folder_of_run.drop_if_empty(chosen)


def _in_folder(args: Namespace, wanted: str | None, begin: Callable[[Run], None]) -> Outcome:
    import rushlight as rl

    path = os.path.join(args.out, LAST)
    saved = checkpoint.read(path) if args.resume else None
    if saved is not None:
        check_weights(saved)
        folder_of_run.find_data(args, saved)
    config.settle(args, saved and saved["config"], path)
    device, why = pick_device(args.device)
    source = find_source(args.data, args.task, args.target, args.input)
    given = args.batch_size
    reason = recipe.settle(args, source, device != "cpu")
    ranks.split_chosen(args, given)
    rl.manual_seed(args.seed)
    if source.listing is not None and source.listing.inputs is None:
        check_model(args.model, 3, args.size)  # before thousands of pictures are decoded
    images = load_images(source, args)
    args.fit = images.fit
    ranks.agreed(lambda: _hold(args))
    run = ranks.run_of(args, images, device, fresh=saved is None)
    if saved is not None:
        run.restore(saved)
    begin(run)
    if ranks.follows():
        return Outcome(128 + stopped if (stopped := run.fit()) else 0)
    if args.lr_find or args.profile:
        return Outcome(_look_only(args, run))
    if not args.quiet:
        same = wanted is None or os.path.normpath(wanted) == os.path.normpath(args.out)
        _introduce(args, images, run, (why, reason), "" if same else wanted or "")
        _engine_note(device)
    return _whole(args, source, images, run, device, why)


def _hold(args: Namespace) -> None:
    """The folder of the run, for this process alone."""
    args.held = folder_of_run.make(args.out, args.resume)


def _whole(args: Namespace, source: Source, images: Images, run: Run, device: str, why: str) -> Outcome:
    if args.resume:
        record = folder_of_run.update_args(args, why, resumed=True)
    else:
        record = folder_of_run.write_args(args, why, args.argv)
    run.told_epochs = lambda: record.update(folder_of_run.update_args(args, why))
    if source.listing is not None:
        from .data.folders import write_scan

        write_scan(args.out, images)
    before = sum(line["seconds"] for line in run.history)  # of what --resume goes on with
    begin = time.perf_counter()
    with Meter(device) as meter:
        stopped = run.fit()
    seconds = before + time.perf_counter() - begin
    if stopped:
        again = shlex.join(["rushlight", "train", *config.arguments(args), "--resume"])
        print(f"Stopped {run.where()}; saved {run.path}.\nGo on with: {again}")
        return Outcome(128 + stopped, args.out)
    if not args.quiet:
        why_early = "a callback asked for it" if run.stops() else f"no better for {counted(args.patience, 'epoch')}"
        early = f" Stopped early: {why_early}." if run.epoch < args.epochs else ""
        best = f" Best was epoch {run.best['epoch']}." if images.val is not None else ""
        print(f"Trained in {counted(round(seconds), 'second')}{'' if before else meter.told()}.{early}{best}\n")
    return finish(args, images, device, run, {**record, "seconds": seconds, "joules": None if before else meter.joules})


def _look_only(args: Namespace, run: Run) -> int:
    """`--lr-find` and `--profile` train a few steps to report something; they save no network."""
    if args.lr_find:
        from .training.lr_find import find_rate

        return find_rate(args, run)
    from .training.profile_steps import profile_steps

    return profile_steps(args, run)


def _engine_note(device: str) -> None:
    """A note where the native engine is missing: training works without it, about eight times slower."""
    from rushlight.runtime.cpu.engine import engine_info

    if device == "cpu" and engine_info().name == "numpy":
        print("The native engine is missing, so this is about 8 times slower: install a C compiler (gcc or clang) "
              "and `pip install --force-reinstall --no-deps rushlight`; unset RUSHLIGHT_CPU_ENGINE if it is set.")  # fmt: skip


def _introduce(args: Namespace, images: Images, run: Run, why: tuple[str, str], wanted: str) -> None:
    print(f"Training on {why[0]}.")
    if wanted:
        print(f"{wanted} holds a run already: this one goes to {args.out}.")
    for line in images.notes:
        print(line)
    print(f"Chosen for {why[1]}.")
    print("\n".join(recipe.in_words(args)))
    if run.start_note:
        print(run.start_note)
    print(f"Network: {args.model} with {counted(parameters_of(run.net), 'parameter')}; {run.compile_note}.")
    val = f", {len(images.val):,} to choose the best epoch" if images.val is not None else ""
    what = f"{images.channels}x{images.size}x{images.size}" if images.inputs is None else images.inputs.told()
    print(f"{images.unit.capitalize()}: {len(images.train):,} to train{val} and "
          f"{len(images.test):,} to test of {images.name}, {what}, {images.task.counted()}.")  # fmt: skip
    if run.epoch or run.step:
        print(f"Going on {run.where()}.")


def finish(args: Namespace, images: Images, device: str, run: Run, record: dict[str, Any]) -> Outcome:
    """Reload the best file and test that network, once, not the one in memory; then tell."""
    from rushlight.utils.data import DataLoader

    from .report.page import write_report

    saved = checkpoint.read(os.path.join(args.out, BEST))
    net = network_of(saved).to(device)
    run.hook("on_test_start", net)
    result = measure(images.task, net, DataLoader(images.test, 256), device, views=args.views)
    run.hook("on_test_end", net)
    found = {**result.as_dict(), "best_epoch": saved["epoch"], "seconds": round(record["seconds"], 2),
             "joules": record["joules"]}  # fmt: skip
    more: dict[str, Any] = {}
    said = ""
    if images.inputs is not None and not getattr(args, "trial", False):
        more, said = beside(images)
        more.update(images.inputs.extra(images, net.cpu()))
        found.update(more)
    write_json(args.out, found)
    if not getattr(args, "trial", False):  # of a search only the best one's test is told
        print(result.table())
        if said and (more or not args.quiet):
            print(said)
        if warning := result.warning():
            print(warning, file=sys.stderr)
    drawn = write_report(args, images, net.cpu(), result, run.history, saved["epoch"], record, (more, said))
    if not args.quiet:
        at = shlex.quote(args.out)
        print(f"\nWrote to {args.out}: best.pth, last.pth, args.json, metrics.jsonl, test.json, "
              f"{', '.join(drawn)}, {run.loggers.board_note}.\n"
              f"Next: rushlight eval {at}  or  rushlight predict {at} {'IMAGE...' if images.inputs is None else images.inputs.asked}  or  rushlight export {at}\n"
              f"Look at it: open {os.path.join(args.out, drawn[0])} in a browser, or rushlight view {shlex.quote(os.path.dirname(args.out) or '.')}")  # fmt: skip
    return Outcome(0, args.out, found, run.history, net)
