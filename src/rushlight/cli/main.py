"""Reading the command line and calling the command it names."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .errors import UsageError


def main(argv: list[str] | None = None) -> int:
    """Run one command; the answer is the exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] == ["run"] and args[1:2] not in (["-h"], ["--help"], []):
        from .run import run

        return run(args[1:])  # what follows belongs to the script, not to argparse
    try:
        chosen = _parser().parse_args(args)
        return chosen.call(chosen)
    except UsageError as error:
        print(f"rushlight: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 141


class _Parser(argparse.ArgumentParser):
    """argparse whose mistakes are ours: one sentence."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. See `{self.prog} --help`.")


def _parser() -> argparse.ArgumentParser:
    from ..version import __version__

    parser = _Parser(
        prog="rushlight",
        description="A small, quick deep-learning framework shaped like PyTorch.",
    )
    parser.add_argument("--version", action="version", version=f"rushlight {__version__}")
    parser.set_defaults(call=lambda a: (parser.print_help(), 2)[1])
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add_train(commands)
    _add_eval(commands)
    _add_predict(commands)
    _add_bench(commands)
    _command(commands, "devices", "show the devices of this machine and what is missing", _devices)
    run = _command(commands, "run", "run an unmodified PyTorch, torchvision or DeZero script", None)
    run.add_argument("script", help="the script (or -m MODULE, -c CODE)")
    run.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")
    return parser


def _command(commands: Any, name: str, text: str, call: Callable | None) -> argparse.ArgumentParser:
    made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    if call is not None:
        made.set_defaults(call=call)
    return made


def number(
    kind: type, low: float, high: float = float("inf"), above: bool = False
) -> Callable[[str], Any]:
    """A converter for argparse that says the range."""

    def convert(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not low <= value <= high or (above and value == low):
            limits = f"greater than {low}" if above else f"at least {low}"
            limits += "" if high == float("inf") else f" and at most {high}"
            raise argparse.ArgumentTypeError(f"{text} is out of range: it must be {limits}")
        return value

    return convert


def _add_train(commands: Any) -> None:
    p = _command(commands, "train", "train a network, save it, reload it, test it", _train)
    p.add_argument("--data", default="fashion-mini", metavar="NAME|FOLDER",
                   help="fashion-mini (in the package), fashion-mnist, mnist, cifar10, cifar100, or a "
                        "folder of images with one sub-folder per class (default: %(default)s)")  # fmt: skip
    p.add_argument("--data-dir", default="data", help="where data sets lie or are downloaded to")
    p.add_argument(
        "--model", default="lenet", help="lenet, mlp, resnet18, vgg11, ... (default: %(default)s)"
    )
    p.add_argument(
        "--width",
        type=number(float, 0, 64, above=True),
        default=2.0,
        help="times the channels (default: %(default)s)",
    )
    p.add_argument("--epochs", type=number(int, 1, 100000), default=6)
    p.add_argument("--batch-size", type=number(int, 1), default=64)
    p.add_argument(
        "--lr",
        type=number(float, 0, above=True),
        default=None,
        help="learning rate (default: by optimizer)",
    )
    p.add_argument(
        "--optimizer", default="sgd", help="sgd, adam, adamw, rmsprop, ... (default: %(default)s)"
    )
    p.add_argument("--momentum", type=number(float, 0, 1), default=0.9)
    p.add_argument("--weight-decay", type=number(float, 0), default=5e-4)
    p.add_argument("--schedule", choices=["cosine", "step", "none"], default="cosine")
    p.add_argument("--augment", action="store_true", help="random crops and flips")
    p.add_argument(
        "--device", default="auto", help="auto, cpu, cuda or cuda:N (default: %(default)s)"
    )
    p.add_argument("--seed", type=number(int, 0), default=0)
    p.add_argument("--workers", type=number(int, 0, 64), default=0, help="processes that load data")
    p.add_argument(
        "--out", default="runs/train", help="folder of the results (default: %(default)s)"
    )
    p.add_argument("--resume", action="store_true", help="go on where --out was interrupted")
    p.add_argument(
        "--no-compile", dest="compile", action="store_false", help="run every step through Python"
    )
    p.add_argument("--quiet", action="store_true", help="only the final result")


def _add_eval(commands: Any) -> None:
    p = _command(commands, "eval", "repeat the test of a saved network", _eval)
    p.add_argument("model", metavar="MODEL", help="a model.pth that `rushlight train` wrote")
    p.add_argument("--data", default=None, help="another data set than the one it was trained on")
    p.add_argument("--data-dir", default=None)
    p.add_argument("--device", default="auto")
    p.add_argument("--batch-size", type=number(int, 1), default=256)


def _add_predict(commands: Any) -> None:
    p = _command(commands, "predict", "classify image files", _predict)
    p.add_argument("model", metavar="MODEL", help="a model.pth that `rushlight train` wrote")
    p.add_argument("images", metavar="IMAGE", nargs="+", help="image files of any format and size")
    p.add_argument("--top", type=number(int, 1), default=3, help="how many classes to show")
    p.add_argument(
        "--invert", action="store_true", help="dark on light pictures for a light on dark model"
    )
    p.add_argument("--device", default="auto")


def _add_bench(commands: Any) -> None:
    p = _command(
        commands, "bench", "images per second over width and batch size, on every device", _bench
    )
    p.add_argument("--model", default="lenet")
    p.add_argument("--widths", default="1,4,16", help="comma-separated multiples of the channels")
    p.add_argument("--batches", default="4,32,256,2048", help="comma-separated batch sizes")
    p.add_argument(
        "--seconds", type=number(float, 1), default=60.0, help="about how long it may take"
    )
    p.add_argument("--out", default="runs/bench", help="folder for bench.json and bench.png")


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
