"""`torch.distributed.launch`: torchrun's older name, whose scripts are given `--local-rank` unless `--use-env` is."""

from __future__ import annotations

import sys

from . import run

__all__ = ["main"]


def main(args: list[str] | None = None) -> None:
    """Launch, and end with the job's exit code."""
    run.main(["--tell-local-rank", *(sys.argv[1:] if args is None else args)])


if __name__ == "__main__":
    main()
