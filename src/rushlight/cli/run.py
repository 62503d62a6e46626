"""`rushlight run`: an unmodified PyTorch, torchvision or DeZero script, as plain python would run it."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable
from importlib.machinery import BuiltinImporter, SourceFileLoader
from types import ModuleType, TracebackType
from typing import Any

from .scripts import alias, tracing
from .scripts.missing import explain

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def run(rest: list[str]) -> int:
    """`rushlight run` with what follows it: options, SCRIPT, -m MODULE or -c CODE, then the arguments."""
    rest = tracing.take_options(rest)
    if not rest:
        print("rushlight run: a script is expected behind the options", file=sys.stderr)
        return 2
    first, args = rest[0], rest[1:]
    if first in ("-m", "-c"):
        if not args:
            print(f"rushlight run: argument expected for the {first} option", file=sys.stderr)
            return 2
        return (run_module if first == "-m" else run_code)(args[0], args[1:])
    if first == "-":
        return run_stdin(args)
    if os.path.basename(first) == first and not os.path.exists(first):
        if first == "torchrun":
            return run_module("torch.distributed.run", args)
        first = _program(first) or first
    return run_script(first, args)


def _program(name: str) -> str | None:
    """The program `name` of this Python's environment (accelerate, lightning, pytest), if it is one in Python."""
    path = os.path.join(os.path.dirname(sys.executable), name)
    try:
        with open(path, "rb") as f:
            return path if b"python" in f.readline() else None
    except OSError:
        return None


def run_script(path: str, args: list[str]) -> int:
    """Run the file `path` as __main__; the answer is the exit code python would give."""
    sys.argv = [path, *args]
    whole = os.path.abspath(path)
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        return _run_main_of(whole)
    try:
        with open(path, "rb") as f:
            source = f.read()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        print(f"rushlight run: can't open file {whole!r}: {reason}", file=sys.stderr)
        return 2
    _search_first(os.path.dirname(os.path.realpath(path)))
    main = _fresh_main(SourceFileLoader("__main__", whole), __file__=whole, __cached__=None)
    return _execute(source, whole, main)


def run_code(source: str, args: list[str]) -> int:
    """`rushlight run -c CODE`."""
    sys.argv = ["-c", *args]
    _search_first("")
    return _execute(source, "<string>", _fresh_main(BuiltinImporter))


def run_stdin(args: list[str]) -> int:
    """`rushlight run -`: the program comes from the standard input."""
    sys.argv = ["-", *args]
    _search_first("")
    main = _fresh_main(BuiltinImporter, __file__="<stdin>", __cached__=None)
    return _execute(sys.stdin.read(), "<stdin>", main)


def run_module(name: str, args: list[str]) -> int:
    """`rushlight run -m MODULE`."""
    sys.argv = ["-m", *args]
    _search_first(os.getcwd())
    return _as_module(alias.target_of(name) or name, alter_argv=True)


def _run_main_of(container: str) -> int:
    """The __main__ of a folder or zip file."""
    _search_first(container)
    return _as_module("__main__", alter_argv=False)


def _as_module(name: str, alter_argv: bool) -> int:
    import runpy

    _fresh_main(None)
    # What python itself calls for -m; the public run_module() would put the old __main__ back.
    return _guarded(lambda: runpy._run_module_as_main(name, alter_argv))  # type: ignore[attr-defined]


def _search_first(folder: str) -> None:
    """Modules beside the script come first, in the place of those beside `rushlight` itself."""
    if not sys.flags.safe_path:
        sys.path[:1] = [folder]


def _fresh_main(loader: Any, **names: Any) -> ModuleType:
    """A new __main__, where pickles, dataclasses and worker processes look."""
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __loader__=loader, **names)
    if sys.version_info < (3, 14):  # from there on annotations are made when somebody asks
        main.__dict__["__annotations__"] = {}
    sys.modules["__main__"] = main
    return main


def _execute(source: bytes | str, filename: str, main: ModuleType) -> int:
    def work() -> None:
        exec(compile(source, filename, "exec", dont_inherit=True), main.__dict__)

    return _guarded(work)


def _guarded(work: Callable[[], object]) -> int:
    """The exit code of a program; SystemExit passes, for python knows what to do with it."""
    alias.install()
    try:
        with tracing.explained():
            work()
    except SystemExit as ended:
        if ended.code not in (None, 0):
            _tell_ranks()
        raise
    except BaseException as error:
        trace = _without_ours(error.__traceback__)
        note = explain(error, trace)  # before the hook, which may be the script's own
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        if note:
            print(f"rushlight run: {note}", file=sys.stderr)
        if isinstance(error, KeyboardInterrupt):
            sys.excepthook = lambda *shown: None
            raise  # Python cleans up, and then ends itself by the same signal
        return 1
    return 0


def _tell_ranks() -> None:
    """A rank that ends badly must not wait for the others at its end."""
    leaving = sys.modules.get("rushlight.distributed.meeting")
    if leaving is not None:
        leaving.mark_failed()


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this folder."""
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(HERE):
            kept.append(trace)
        trace = trace.tb_next
    for frame, after in zip(kept, [*kept[1:], None]):
        frame.tb_next = after
    return kept[0] if kept else None
