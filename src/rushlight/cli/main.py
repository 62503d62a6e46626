"""Reading the command line and calling the command it names."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] == ["run"]:
        from . import run

        rest = args[1:]
        if rest[:1] == ["-m"] and len(rest) > 1:
            return run.run_module(rest[1], rest[2:])
        if rest[:1] == ["-c"] and len(rest) > 1:
            return run.run_code(rest[1], rest[2:])
        if rest:
            return run.run_script(rest[0], rest[1:])
    print("usage: rushlight run script.py [args]", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
