"""`rushlight run`: an unmodified PyTorch, torchvision or DeZero script, as plain python would run it."""

from __future__ import annotations

import os
import sys
import traceback
from types import CodeType
from typing import Any

from . import alias


def run_script(path: str, args: list[str]) -> int:
    """Run the file `path` as __main__; the answer is the exit code python would give."""
    if not os.path.isfile(path):
        print(f"rushlight run: can't open file {path!r}: no such file", file=sys.stderr)
        return 2
    sys.argv = [path, *args]
    sys.path[0:0] = [os.path.dirname(os.path.abspath(path))]
    with open(path, "rb") as f:
        source = f.read()
    return _run(source, path, {"__file__": path})


def run_code(source: str, args: list[str]) -> int:
    """`rushlight run -c CODE`."""
    sys.argv = ["-c", *args]
    sys.path[0:0] = [""]
    return _run(source.encode(), "<string>", {})


def run_module(name: str, args: list[str]) -> int:
    """`rushlight run -m MODULE`."""
    import runpy

    sys.argv = [name, *args]
    sys.path[0:0] = [os.getcwd()]
    alias.install()
    return _guard(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True), name)


def _run(source: bytes, filename: str, names: dict[str, Any]) -> int:
    alias.install()
    main = sys.modules["__main__"]
    fresh = type(main)("__main__")
    fresh.__dict__.update(names)
    fresh.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = fresh  # pickles, dataclasses and worker processes look here

    def work() -> None:
        code: CodeType = compile(source, filename, "exec")
        exec(code, fresh.__dict__)

    return _guard(work, filename)


def _guard(work: Any, filename: str) -> int:
    try:
        work()
    except SystemExit as stop:
        return _exit_code(stop)
    except KeyboardInterrupt:
        _show(filename)
        return 130
    except BaseException:
        _show(filename)
        return 1
    return 0


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 0xFF
    print(stop.code, file=sys.stderr)
    return 1


def _show(filename: str) -> None:
    """The traceback without our own frames on top, and where the script asked for what we lack."""
    kind, error, trace = sys.exc_info()
    while trace is not None and not _is_users(trace, filename):
        trace = trace.tb_next
    assert error is not None
    line = trace.tb_lineno if trace is not None else None
    sys.stdout.flush()
    traceback.print_exception(kind, error.with_traceback(trace), trace)
    if isinstance(error, (AttributeError, ModuleNotFoundError, NotImplementedError)) and line:
        if "rushlight" in str(error) or "torch" in str(error):
            print(f"rushlight run: {filename}, line {line} asks for something rushlight does not have.",
                  file=sys.stderr)  # fmt: skip


def _is_users(trace: Any, filename: str) -> bool:
    here = os.path.dirname(os.path.abspath(__file__))
    return (
        not trace.tb_frame.f_code.co_filename.startswith(here)
        and "runpy" not in trace.tb_frame.f_code.co_filename
    )
