"""`rushlight train`: settles what to train, trains, reloads the file just written, tests that."""

from __future__ import annotations

import glob
import os
import shlex
import tempfile
import time
from typing import Any

from . import checkpoint, config
from .drawing import draw_training
from .errors import UsageError
from .evaluate import check_weights
from .images import Images, load_images
from .networks import parameters_of
from .pick_device import pick_device
from .report import measure, table, write_json
from .training import Run


def train(args: Any) -> int:
    """Train, save, reload, test."""
    import rushlight as rl

    path = os.path.join(args.out, "model.pth")
    saved = checkpoint.read(path) if args.resume else None
    if saved is not None:
        check_weights(saved)
    config.settle(args, saved and saved["config"], path)
    device, why = pick_device(args.device)
    rl.manual_seed(args.seed)
    images = load_images(args.data, args.data_dir, args.augment, args.size)
    _make_folder(args.out, fresh=saved is None)
    run = Run(args, images, device, path)
    if saved is not None:
        run.restore(saved)
    if not args.quiet:
        _introduce(args, images, run, why)
    begin = time.perf_counter()
    stopped = run.fit()
    if stopped:
        again = shlex.join(["rushlight", "train", *config.arguments(args), "--resume"])
        print(f"Stopped {run.where()}; saved {path}.\nGo on with: {again}")
        return 128 + stopped
    if not args.quiet:
        print(f"Trained in {time.perf_counter() - begin:.0f} seconds.\n")
    return finish(args, images, device, path, run)


def _introduce(args: Any, images: Images, run: Run, why: str) -> None:
    print(f"Training on {why}.")
    print(f"Network: {args.model} with {parameters_of(run.net):,} parameters; {run.compile_note}.")
    print(f"Images: {len(images.train):,} to train and {len(images.test):,} to test of {images.name}, "
          f"{images.channels}x{images.size}x{images.size}, {len(images.classes)} classes.")  # fmt: skip
    if run.epoch or run.step:
        print(f"Going on {run.where()}.")


def _make_folder(folder: str, fresh: bool) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # before hours of training, not after
            pass
        if fresh:  # curves of another run in the same folder would be mixed with ours
            for old in glob.glob(os.path.join(glob.escape(folder), "events.out.tfevents.*")):
                os.unlink(old)
    except OSError as error:
        raise UsageError(
            f"--out {folder} cannot be written to: {error.strerror or error}"
        ) from None


def finish(args: Any, images: Images, device: str, path: str, run: Run) -> int:
    """Reload the file just written and test that network, not the one in memory."""
    from .evaluate import network_of, test_loader

    net = network_of(checkpoint.read(path)).to(device)
    result = measure(net, test_loader(images, 256), device, images.classes)
    write_json(args.out, result)
    print(table(result))
    pictures = draw_training(args.out, run.history, result)
    if not args.quiet:
        at = shlex.quote(path)
        print(f"\nWrote to {args.out}: model.pth, metrics.jsonl, test.json, {run.board_note}, {pictures}.\n"
              f"Next: rushlight eval {at}  or  rushlight predict {at} IMAGE...")  # fmt: skip
    return 0
