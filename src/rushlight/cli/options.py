"""The commands and options that the command line knows."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from . import config
from .errors import UsageError


class Parser(argparse.ArgumentParser):
    """argparse whose mistakes are ours: one sentence."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


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
    _add_train(commands)
    _add_eval(commands)
    _add_predict(commands)
    _add_bench(commands)
    _command(commands, "devices", "show the devices of this machine and what is missing", _devices)
    _add_run(commands)
    return top


def _help(top: argparse.ArgumentParser) -> int:
    top.print_help()
    return 2


def _command(commands: Any, name: str, text: str, call: Any) -> argparse.ArgumentParser:
    made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    made.set_defaults(call=call)
    return made


def number(
    kind: type, low: float, high: float = float("inf"), above: bool = False
) -> Callable[[str], Any]:
    """A converter for argparse that says the range."""
    what = "a whole number" if kind is int else "a number"
    limits = f"greater than {low}" if above else f"at least {low}"
    limits += "" if high == float("inf") else f" and at most {high}"

    def convert(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None
        if not low <= value <= high or (above and value == low) or value == float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is out of range: it must be {limits}")
        return value

    return convert


DEVICE = "auto, cpu, cuda or cuda:N (default: auto, a GPU where there is one)"


def _add_train(commands: Any) -> None:
    p = _command(commands, "train", "train a network, save it, reload it, test it", _train)
    add = p.add_argument
    # The options that a checkpoint remembers have no default here: see config.settle.
    d = config.DEFAULTS
    data, net, how, files = (
        p.add_argument_group(t) for t in ("data", "network", "training", "files and machine")
    )
    add = data.add_argument
    add("--data", metavar="NAME|FOLDER", help=f"{', '.join(config.DATA)}, or a folder with train/ and "
        f"test/ or just one sub-folder of images per class (default: {d['data']}, which is in the package)")  # fmt: skip
    add("--data-dir", default="data", help="where data sets lie or are downloaded to (default: %(default)s)")  # fmt: skip
    add("--size", type=number(int, 8, 1024), help=f"pixels of a folder's images (default: {config.FOLDER_SIZE})")  # fmt: skip
    add("--augment", action="store_true", default=None, help="random crops and flips")
    add("--workers", type=number(int, 0, 64), default=0, help="processes that load data (default: %(default)s)")  # fmt: skip
    add = net.add_argument
    add("--model", choices=config.MODELS, metavar="NAME", help=f"{', '.join(config.MODELS)} (default: {d['model']})")  # fmt: skip
    add("--width", type=number(int, 1, 64), metavar="N", help=f"times the channels (default: {config.WIDTHS['lenet']} for lenet, 1 for others)")  # fmt: skip
    add = how.add_argument
    add("--epochs", type=number(int, 1, 100000), metavar="N", help=f"times through the data (default: {d['epochs']})")  # fmt: skip
    add("--batch-size", type=number(int, 1, 2**20), metavar="N", help=f"images a step (default: {d['batch_size']})")  # fmt: skip
    add("--optimizer", choices=config.OPTIMIZERS, metavar="NAME", help=f"{', '.join(config.OPTIMIZERS)} (default: {d['optimizer']})")  # fmt: skip
    add("--lr", type=number(float, 0, above=True), help="learning rate, the highest of the schedule (default: by optimizer)")  # fmt: skip
    add("--momentum", type=number(float, 0, 1), help=f"of sgd and rmsprop (default: {d['momentum']})")  # fmt: skip
    add("--weight-decay", type=number(float, 0), help=f"(default: {d['weight_decay']})")
    add("--schedule", choices=config.SCHEDULES, help=f"of the learning rate (default: {d['schedule']})")  # fmt: skip
    add("--seed", type=number(int, 0, 2**63 - 1), help=f"same seed, same numbers (default: {d['seed']})")  # fmt: skip
    add = files.add_argument
    add("--device", default="auto", help=DEVICE)
    add("--out", default="runs/train", metavar="FOLDER", help="for the results (default: %(default)s)")  # fmt: skip
    add("--resume", action="store_true", help="go on where the run in --out was interrupted")
    add("--no-compile", dest="compile", action="store_false", help="run every step through Python")
    add("--quiet", action="store_true", help="only the final result")


def _add_eval(commands: Any) -> None:
    p = _command(commands, "eval", "repeat the test of a saved network", _eval)
    p.add_argument("model", metavar="MODEL", help="a model.pth that `rushlight train` wrote")
    p.add_argument("--data", help="another data set than the one it was trained on")
    p.add_argument("--data-dir", help="where data sets lie")
    p.add_argument("--device", default="auto", help=DEVICE)
    p.add_argument("--batch-size", type=number(int, 1, 2**20), default=256, metavar="N")


def _add_predict(commands: Any) -> None:
    p = _command(commands, "predict", "classify image files", _predict)
    p.add_argument("model", metavar="MODEL", help="a model.pth that `rushlight train` wrote")
    p.add_argument("images", metavar="IMAGE", nargs="+", help="image files of any format and size")
    p.add_argument("--top", type=number(int, 1), default=3, metavar="N", help="classes to show")
    p.add_argument("--invert", action="store_true", help="turn dark on light into light on dark")
    p.add_argument("--device", default="auto", help=DEVICE)


def _add_bench(commands: Any) -> None:
    text = "images per second over width and batch size, on every device"
    p = _command(commands, "bench", text, _bench)
    p.add_argument("--model", choices=config.MODELS, default="lenet", metavar="NAME",
                   help=f"{', '.join(config.MODELS)} (default: %(default)s, the lab's network)")  # fmt: skip
    p.add_argument("--widths", default="1,2,4,8", help="times the channels (default: %(default)s)")
    p.add_argument("--batches", default="4,32,256,2048", help="batch sizes (default: %(default)s)")
    p.add_argument("--seconds", type=number(float, 1, 86400), default=60.0, metavar="S",
                   help="about how long it may take (default: %(default)s)")  # fmt: skip
    p.add_argument("--out", default="runs/bench", metavar="FOLDER",
                   help="for bench.json and bench.png (default: %(default)s)")  # fmt: skip


def _add_run(commands: Any) -> None:
    text = "run an unmodified PyTorch, torchvision or DeZero script"
    p = _command(commands, "run", text, None)
    p.add_argument("script", help="the script, or -m MODULE, or -c CODE, or - for standard input")
    p.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")


def _train(args: Any) -> int:
    from .train import train

    return train(args)


def _eval(args: Any) -> int:
    from .evaluate import evaluate_file

    return evaluate_file(args)


def _predict(args: Any) -> int:
    from .predict import predict

    return predict(args)


def _bench(args: Any) -> int:
    from .bench import bench

    return bench(args)


def _devices(args: Any) -> int:
    from .devices import show

    return show()
