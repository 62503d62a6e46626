"""argparse as we want it: one sentence for a mistake, with what may have been meant."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from argparse import Namespace
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NoReturn

from .errors import UsageError
from .suggest import did_you_mean

DEVICE = "auto, cpu, cuda or cuda:N (default: auto, a GPU where there is one)"


class Parser(argparse.ArgumentParser):
    """argparse whose mistakes are ours: one sentence."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}{self._hint(message)}; see `{self.prog} --help`")

    def _hint(self, message: str) -> str:
        """What was meant by a command or an option that is not known."""
        found = re.search(r"COMMAND: invalid choice: '([^']*)'", message)
        if found:
            return did_you_mean(found[1], self._commands())
        found = re.match(r"unrecognized arguments: [^-]\S*\.(csv|json)$", message)
        if found:
            return f" (--{found[1]} writes to the screen: put > in front of the file)"
        found = re.match(r"unrecognized arguments: ([^-].*)", message)
        if found and "--data" in self._option_string_actions and os.path.exists(found[1]):
            return f" - did you mean --data {shlex.quote(found[1])}?"
        found = re.match(r"unrecognized arguments: (-\S*)", message)
        return did_you_mean(found[1].partition("=")[0], self._option_string_actions) if found else ""

    def _commands(self) -> dict[str, Parser]:
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return action.choices  # type: ignore[return-value]
        return {}

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """A command names what it does not know itself, with options of its own that may be meant."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest


def command(commands: Any, name: str, text: str, call: Any) -> Any:
    """A command with its help; `call`, a function or MODULE.NAME in this package, is given the parsed arguments."""
    made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    made.set_defaults(call=_lazy(call) if isinstance(call, str) else call)
    return made


def _lazy(where: str) -> Callable[[Namespace], int]:
    """A function whose module is not loaded before it is called: `--help` and mistakes are answered at once."""
    module, _, name = where.partition(".")
    return lambda args: getattr(import_module("." + module, __package__), name)(args)


def number(kind: type, low: float, high: float = float("inf"), above: bool = False) -> Callable[[str], Any]:
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


def one_of(choices: Iterable[str]) -> Callable[[str], str]:
    """A converter for argparse that knows a list of names, and which of them may be meant."""
    names = tuple(choices)

    def convert(text: str) -> str:
        if text in names:
            return text
        hint = did_you_mean(text, names)
        raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose from {', '.join(names)}){hint}")

    return convert


def fold(text: str) -> str:
    """Which of how many parts: 2/5."""
    found = re.fullmatch(r"(\d{1,3})/(\d{1,3})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]) or not 2 <= int(found[2]) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no part of some parts, as 2/5 is")
    return text


def width(text: str) -> float:
    """A whole number of times, or a quarter, a half, three quarters."""
    value = number(float, 0.25, 64)(text)
    if value * 4 != int(value * 4):
        raise argparse.ArgumentTypeError(f"{text}: quarters are the smallest steps, as in 0.5 or 2")
    return int(value) if value == int(value) else value
