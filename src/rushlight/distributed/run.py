"""`torch.distributed.run`: torchrun, which starts ranks as `rushlight launch` does."""

from __future__ import annotations

import sys

from .launcher import launch

__all__ = ["main"]


def main(args: list[str] | None = None) -> None:
    """Launch, and end with the job's exit code."""
    code = launch(list(sys.argv[1:] if args is None else args), program="torchrun")
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
