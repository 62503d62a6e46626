"""Names of PyTorch's that rushlight keeps only to say what to do instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from .errors import NotYet

_TEXT = """Refused: rushlight {lacks}. {instead}

Example:
    >>> torch.{module}.{name}()
    Traceback (most recent call last):
        ...
    rushlight.base.errors.NotYet: {module}.{name}: rushlight {lacks}. {instead}
"""


def refuser(module: str, lacks: str, instead: str) -> Callable[[str], Callable[..., NoReturn]]:
    """Makes functions of `module` that raise: `refuser("fx", "has no tracer", "Use ...")("Graph")`."""

    def named(name: str) -> Callable[..., NoReturn]:
        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise NotYet(f"{module}.{name}: rushlight {lacks}. {instead}")

        refuse.__name__ = refuse.__qualname__ = name
        refuse.__doc__ = _TEXT.format(module=module, name=name, lacks=lacks, instead=instead)
        setattr(refuse, "not_yet", True)  # tools/library_names.py counts it as missing
        return refuse

    return named


def absent_classes(module: str, lacks: str, instead: str, names: Iterable[str]) -> dict[str, type]:
    """Classes of `module` that nothing is an instance of: programs ask `isinstance`, few make one."""
    refuse = refuser(module, lacks, instead)

    def made(name: str) -> type:
        made_not = refuse(name)
        said = f"{made_not.__doc__}\nNothing is an instance of it."
        return type(name, (), {"__new__": made_not, "__doc__": said, "not_yet": True})

    return {name: made(name) for name in names}
