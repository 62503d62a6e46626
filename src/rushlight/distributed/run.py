"""`torch.distributed.run`: torchrun, which starts ranks as `rushlight launch` does."""

from __future__ import annotations

import argparse
import sys

from .elastic.multiprocessing.errors import ChildFailedError
from .launcher import checked, launch, parser, run_job

__all__ = ["get_args_parser", "main", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of torchrun's options, for launchers that build on it.

    Example:
        >>> from rushlight.distributed import run
        >>> run.get_args_parser().parse_args(["--nproc-per-node", "2", "train.py"]).training_script
        'train.py'
    """
    return parser("torchrun")


def run(args: argparse.Namespace) -> None:
    """Launch with options that were parsed before.

    Args:
        args: what `get_args_parser` gave.

    Raises:
        ChildFailedError: if the job failed.
    """
    code = run_job(checked(args, get_args_parser()), "torchrun")
    if code:
        raise ChildFailedError(args.training_script, {0: f"the job ended with exit code {code}"})


def main(args: list[str] | None = None) -> None:
    """Launch, and end with the job's exit code."""
    code = launch(list(sys.argv[1:] if args is None else args), program="torchrun")
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
