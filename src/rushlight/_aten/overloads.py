"""Inner operators as objects: `aten.add`, and its overloads such as `aten.add.Tensor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import NotYet
from ..runtime.thread import here
from .bodies import find

PACKETS: dict[tuple[str, str], OpOverloadPacket] = {}  # the same objects each time: they are keys


def kept(op: str, space: str = "aten") -> OpOverloadPacket:
    """An operator by its name, made once."""
    found = PACKETS.get((space, op))
    if found is None:
        body = find(op) if space == "aten" else None
        found = PACKETS[(space, op)] = OpOverloadPacket(op, body, space)
    return found


def _overload(space: str, op: str, name: str) -> OpOverload:
    return getattr(kept(op, space), name)


class OpOverloadPacket:
    """An operator by its inner name, `torch.ops.aten.add`: called, or asked for one of its overloads.

    All overloads compute the same here; each is an object of its own, since libraries keep them as keys.
    """

    def __init__(self, name: str, body: Callable[..., Any] | None, space: str = "aten") -> None:
        self.__name__, self._body, self._space = name, body, space
        self._qualified_op_name = f"{space}::{name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _computed(self, self._body, args, kwargs)

    def __getattr__(self, overload: str) -> Any:
        if overload.startswith("_"):
            said = "{_space}.{__name__}".format_map({"_space": "", "__name__": "", **self.__dict__})
            raise AttributeError(
                f"The underlying op of '{said}' has no overload name '{overload}'", name=overload, obj=self
            )
        found = OpOverload(self, overload)
        setattr(self, overload, found)
        return found

    def __reduce__(self) -> Any:
        return kept, (self.__name__, self._space)  # copies are the same object

    def overloads(self) -> list[str]:
        """The names of the overloads that somebody has asked for."""
        return [n for n, v in vars(self).items() if isinstance(v, OpOverload)]

    def __str__(self) -> str:
        return f"{self._space}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class Schema:
    """What an overload says of itself: its name; its arguments are not written down."""

    def __init__(self, name: str, overload_name: str) -> None:
        self.name, self.overload_name = name, overload_name

    def __str__(self) -> str:
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name


class OpOverload:
    """One overload of an operator, `torch.ops.aten.add.Tensor`."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self._overloadpacket, self._overloadname = packet, overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.namespace = packet._space
        said = "" if overload == "default" else overload
        self._schema = Schema(packet._qualified_op_name, said)

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The operator that this is an overload of."""
        return self._overloadpacket

    @property
    def op(self) -> Any:
        """What computes it."""
        return self._overloadpacket._body

    def name(self) -> str:
        """The name with its namespace, "aten::add.Tensor"."""
        return str(self._schema)

    def __reduce__(self) -> Any:
        packet = self._overloadpacket
        return _overload, (packet._space, packet.__name__, self._overloadname)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        pending = here.dispatching
        if pending is not None and pending.is_call(self, args, kwargs):
            return pending.compute()
        return _computed(self, self._overloadpacket._body, args, kwargs)

    def __str__(self) -> str:
        return f"{self._overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._overloadpacket}', overload='{self._overloadname}')>"


def _computed(op: Any, body: Any, args: tuple, kwargs: dict) -> Any:
    if body is None:
        raise NotYet(
            f"{op}: this operator is seen by a TorchDispatchMode, which may call it with the arguments it was "
            "given; rushlight has no function for other ones."
        )
    return body(*args, **kwargs)
