"""`torch.nested`: rushlight has no nested tensors; the names say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .base.errors import NotYet


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotYet(
            f"nested.{name}: rushlight has no nested tensors. Pad the sequences with "
            "nn.utils.rnn.pad_sequence and mask the padding, or use nn.utils.rnn.pack_sequence."
        )

    refuse.__name__ = name
    refuse.__doc__ = "Refused: rushlight has no nested tensors."
    setattr(refuse, "not_yet", True)  # tools/coverage_api.py counts it as missing
    return refuse


nested_tensor = _refuse("nested_tensor")
as_nested_tensor = _refuse("as_nested_tensor")
nested_tensor_from_jagged = _refuse("nested_tensor_from_jagged")
to_padded_tensor = _refuse("to_padded_tensor")
