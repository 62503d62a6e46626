"""The command line: train, eval, predict, export, serve, view, runs, bench, devices, warm, run."""

from __future__ import annotations


def main(argv: list[str] | None = None) -> int:
    """The entry of the `rushlight` command."""
    from .commands import main as run

    return run(argv)
