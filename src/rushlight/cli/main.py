"""The entry of the command line: calls the command it names and turns mistakes into one sentence."""

from __future__ import annotations

import os
import sys

from .errors import UsageError, printable


def main(argv: list[str] | None = None) -> int:
    """Run one command; the answer is the exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] == ["run"] and args[1:2] not in (["-h"], ["--help"], []):
        from .run import run

        return run(args[1:])  # what follows belongs to the script, not to argparse
    from .options import parser

    try:
        chosen = parser().parse_args(args)
        return chosen.call(chosen)
    except UsageError as error:
        print(f"rushlight: {error.sentence()}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        print("rushlight: there is not enough memory", file=sys.stderr)
        return 1
    except (
        OSError
    ) as error:  # a full disk, a device that went away: not the user's to mend, but clear
        if isinstance(error, BrokenPipeError):  # `rushlight ... | head`: nobody reads any more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        print(f"rushlight: {printable(str(error))}", file=sys.stderr)
        return 1
