"""The commands and options that the command line knows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from . import config
from .arguments import DEVICE, Parser, command, number, one_of
from .data import cache
from .options_train import add_train
from .training import zoo

if TYPE_CHECKING:
    from argparse import Namespace, _SubParsersAction

MODEL = "the folder of a run, or a best.pth that `rushlight train` wrote"


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    from ..version import __version__

    top = Parser(
        prog="rushlight",
        description="A small, quick deep-learning framework shaped like PyTorch.",
        epilog="`rushlight COMMAND --help` tells more of each. Start with `rushlight train`.",
    )
    top.add_argument("--version", action="version", version=f"rushlight {__version__}")
    top.set_defaults(call=lambda chosen: _help(top))
    commands = top.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    add_train(commands)
    for add in (
        _eval,
        _predict,
        _export,
        _serve,
        _view,
        _runs,
        _models,
        _bench,
        _devices,
        _doctor,
        _warm,
        _run,
        _explain,
        _stubs,
        _launch,
    ):
        add(commands)
    return top


def _help(top: argparse.ArgumentParser) -> int:
    top.print_help()
    return 2


def _eval(commands: _SubParsersAction) -> None:
    p = command(commands, "eval", "repeat the test of a saved network", "evaluate.evaluate_file")
    p.add_argument("model", metavar="MODEL", help=MODEL)
    p.add_argument("--data", help="another data set than the one it was trained on")
    p.add_argument("--data-dir", help="where data sets lie")
    p.add_argument("--by-class", action="store_true", help="recall, precision and F1 of every class")
    p.add_argument("--json", action="store_true", help="print the numbers as JSON")
    p.add_argument("--cache", type=one_of(cache.KINDS), default="auto", metavar="WHERE",
                   help="where decoded pictures are kept: memory, disk, none (default: auto)")  # fmt: skip
    p.add_argument("--device", default="auto", help=DEVICE)
    p.add_argument("--batch-size", type=number(int, 1, 2**20), default=256, metavar="N")


def _predict(commands: _SubParsersAction) -> None:
    p = command(commands, "predict", "what a saved network answers to pictures, rows or texts", "predict.predict")  # fmt: skip
    p.add_argument("model", metavar="MODEL", help=MODEL)
    p.add_argument("images", metavar="PICTURE|FOLDER|-", nargs="+", help="pictures of any format and size, folders "
                   "of them, or - for a list of paths, one a line; a .csv file of rows, a=1,b=two, or texts, where the network is of those")  # fmt: skip
    p.add_argument("--top", type=number(int, 1), default=3, metavar="N", help="classes to show")
    kind = p.add_mutually_exclusive_group()
    kind.add_argument("--csv", action="store_true", help="path,class,probability,... as CSV")
    kind.add_argument("--json", action="store_true", help="one JSON object a line")
    p.add_argument("--out", metavar="FOLDER", help="of a network for masks or boxes: write NAME.png there, the number of each pixel's class, or the picture with its boxes")  # fmt: skip
    p.add_argument("--invert", action="store_true", help="turn dark on light into light on dark")
    p.add_argument("--batch-size", type=number(int, 1, 2**20), default=64, metavar="N")
    p.add_argument("--device", default="auto", help=DEVICE)


def _export(commands: _SubParsersAction) -> None:
    p = command(commands, "export", "write a network for other programs: ONNX, safetensors, plain .pth", "export.export")  # fmt: skip
    p.add_argument("model", metavar="MODEL", help=MODEL)
    p.add_argument("--to", type=one_of(("onnx", "safetensors", "pth")), default="onnx", metavar="KIND",
                   help="onnx, safetensors or pth (default: %(default)s)")  # fmt: skip
    p.add_argument("--out", metavar="FILE", help="(default: model.KIND beside the network)")
    p.add_argument("--opset", type=number(int, 13, 25), metavar="N", help="of ONNX (default: 18)")
    p.add_argument("--batch", type=number(int, 1, 2**20), metavar="N", help="a fixed batch size for ONNX (default: any)")  # fmt: skip
    p.add_argument("--bytes", action="store_true", help="ONNX that takes pictures of any size as bytes, rows of R, G, B, and makes the squares itself")  # fmt: skip


def _serve(commands: _SubParsersAction) -> None:
    p = command(commands, "serve", "answer pictures, rows or texts over HTTP, with a page to try it", "serve.serve")
    p.add_argument("model", metavar="MODEL", help=MODEL)
    p.add_argument("--host", default="127.0.0.1", help="(default: %(default)s, this machine only)")
    p.add_argument("--port", type=number(int, 0, 65535), default=8000, metavar="N", help="(default: %(default)s; 0 for a free one)")  # fmt: skip
    p.add_argument("--batch-size", type=number(int, 1, 4096), default=32, metavar="N", help="pictures answered at once (default: %(default)s)")  # fmt: skip
    p.add_argument("--wait-ms", type=number(float, 0, 10000), default=5.0, metavar="MS", help="how long a picture waits for others (default: %(default)s)")  # fmt: skip
    p.add_argument("--max-mb", type=number(float, 0, 1024, above=True), default=16.0, metavar="MB", help="largest picture (default: %(default)s)")  # fmt: skip
    p.add_argument("--rate", type=number(float, 0, 1e6), default=20.0, metavar="N", help="pictures a second from one address (default: %(default)s; 0 for any number)")  # fmt: skip
    p.add_argument("--device", default="auto", help=DEVICE)


def _view(commands: _SubParsersAction) -> None:
    p = command(commands, "view", "one page that compares all runs of a folder, while they train", "view.view")
    p.add_argument("folder", metavar="FOLDER", nargs="?", default="runs", help="(default: %(default)s)")
    p.add_argument("--host", default="127.0.0.1", help="(default: %(default)s, this machine only)")
    p.add_argument("--port", type=number(int, 0, 65535), default=8080, metavar="N", help="(default: %(default)s; 0 for a free one)")  # fmt: skip


def _runs(commands: _SubParsersAction) -> None:
    p = command(commands, "runs", "list the runs of a folder with their results", "runs.list_runs")
    p.add_argument("folder", metavar="FOLDER", nargs="?", default="runs", help="(default: %(default)s)")
    p.add_argument("--json", action="store_true", help="print them as JSON")


def _models(commands: _SubParsersAction) -> None:
    command(commands, "models", "list the networks that --model takes", lambda args: zoo.show())


def _bench(commands: _SubParsersAction) -> None:
    text = "images per second over width and batch size, on every device"
    p = command(commands, "bench", text, "bench.bench")
    p.add_argument("--model", type=zoo.model_name, default="lenet", metavar="NAME",
                   help=f"{', '.join(config.WIDE)}, or one of `rushlight models` (default: %(default)s, the lab's network)")  # fmt: skip
    p.add_argument("--widths", default="1,2,4,8", help="times the channels (default: %(default)s)")
    p.add_argument("--batches", default="4,32,256,2048", help="batch sizes (default: %(default)s)")
    p.add_argument("--seconds", type=number(float, 1, 86400), default=60.0, metavar="S",
                   help="about how long it may take (default: %(default)s)")  # fmt: skip
    p.add_argument("--out", default="runs/bench", metavar="FOLDER",
                   help="for bench.json and bench.svg (default: %(default)s)")  # fmt: skip


def _devices(commands: _SubParsersAction) -> None:
    def call(args: Namespace) -> int:
        from .doctor import devices

        return devices()

    command(commands, "devices", "show the devices of this machine and what is missing", call)


def _doctor(commands: _SubParsersAction) -> None:
    def call(args: Namespace) -> int:
        from .doctor import doctor

        return doctor(args.json, args.speed)

    text = "say what works on this machine, how quick it is, and what to do about the rest"
    p = command(commands, "doctor", text, call)
    p.add_argument("--json", action="store_true", help="print it as JSON")
    p.add_argument("--no-speed", dest="speed", action="store_false", help="measure nothing")


def _warm(commands: _SubParsersAction) -> None:
    def call(args: Namespace) -> int:
        from .warm import warm

        return warm(args.arch)

    text = "compile the usual GPU kernels now, so that no first step waits for them"
    p = command(commands, "warm", text, call)
    p.add_argument("--arch", help="for GPUs of another machine, such as sm_90; needs no GPU here")


def _run(commands: _SubParsersAction) -> None:
    text = "run an unmodified PyTorch, torchvision or DeZero script"

    def call(args: Namespace) -> int:
        return _help(p)

    p: argparse.ArgumentParser = command(commands, "run", text, call)
    p.formatter_class = argparse.RawDescriptionHelpFormatter
    p.epilog = (
        "`import torch`, `torchvision` and `dezero` find rushlight in that process and\n"
        "in those that it starts, and only there:\n"
        "  rushlight run script.py --epochs 2\n"
        "  rushlight run -m pytest tests\n"
        "  rushlight run -c 'import torch; print(torch.__version__)'\n"
        "In a notebook: %load_ext rushlight. In a program: rushlight.as_torch()."
    )
    p.add_argument(
        "--trace",
        action="store_true",
        help="run loops that repeat as recorded programs at once, on a GPU, too (by itself: on the CPU, after a second)",
    )
    p.add_argument("--no-trace", action="store_true", help="never do so, whatever the script asks for")
    p.add_argument("--explain", action="store_true", help="trace, and tell at the end what became of it")
    p.add_argument("--profile", action="store_true", help="tell at the end which lines took most of the time")
    p.add_argument("script", nargs="?", help="the script, or -m MODULE, or -c CODE, or - for standard input")
    p.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")


def _explain(commands: _SubParsersAction) -> None:
    def call(args: Namespace) -> int:
        from .explain import explain

        return explain(args.error)

    p = command(commands, "explain", "say in plain words what a common error means", call)
    p.add_argument("error", metavar="ERROR", nargs="*", help="its message, or - for a traceback on standard input; without, all that are known")  # fmt: skip


def _stubs(commands: _SubParsersAction) -> None:
    text = "let editors and type checkers know `import torch` as rushlight"
    p = command(commands, "stubs", text, "stubs.stubs")
    p.add_argument("folder", metavar="FOLDER", nargs="?", help="of a project, `typings` for example (default: this environment)")  # fmt: skip
    p.add_argument("--remove", action="store_true", help="take them away again")


def _launch(commands: _SubParsersAction) -> None:
    """Only for the list of commands: `main` hands `launch` over, since its options are torchrun's."""
    command(commands, "launch", "run a script as several ranks, with torchrun's options", _help)
