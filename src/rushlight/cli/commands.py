"""The entry of the command line: calls the command it names and turns mistakes into one sentence."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Any

from .errors import UsageError, printable

if TYPE_CHECKING:
    from argparse import ArgumentParser


def main(argv: list[str] | None = None) -> int:
    """Run one command; the answer is the exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] == ["run"] and args[1:2] not in (["-h"], ["--help"], []):
        from .run import run

        return run(args[1:])  # what follows belongs to the script, not to argparse
    if args[:1] == ["launch"]:
        from ..distributed.launcher import launch

        return launch(args[1:])  # these options are torchrun's
    from ..base.config import settings
    from ..core.hot import tracing
    from .options import parser

    tracing(False)  # only `run` has loops of the user
    if argv is None:  # the whole process is the command's, which has no frames of the user
        settings.traceback = "full"
    _show_what_cannot_be_encoded()
    try:
        chosen = parser().parse_args(args)
        if getattr(chosen, "config", None):
            chosen = _with_file(parser(), args, chosen.config)
        chosen.argv = args
        return chosen.call(chosen)
    except UsageError as error:
        print(f"rushlight: {error.sentence()}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        print("rushlight: there is not enough memory", file=sys.stderr)
        return 1
    except OSError as error:  # a full disk, a device that went away: not the user's mistake, but a clear message
        if isinstance(error, BrokenPipeError):  # `rushlight ... | head`: nobody reads any more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        print(f"rushlight: {printable(str(error))}", file=sys.stderr)
        return 1


def _show_what_cannot_be_encoded() -> None:
    """Neither file names nor terminals need be UTF-8: a character that cannot be shown is printed as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _with_file(parser: ArgumentParser, args: list[str], path: str) -> Any:
    """The arguments with a file's settings before them, so that options of the command line win."""
    from .config import read_file
    from .options_train import arguments_of

    found, typed = read_file(path), " ".join(args)
    for one, other in (("epochs", "minutes"), ("minutes", "epochs")):
        if f"--{one}" in typed:
            found.pop(other, None)
    given = arguments_of(found)
    try:
        parser.parse_args(["train", *given])
    except UsageError as error:
        raise UsageError(f"--config {path}: {error}") from None
    return parser.parse_args(["train", *given, *args[1:]])
