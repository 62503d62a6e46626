"""What the CPU says about kernels that passes make: chains of pointwise steps, and what its engine joins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import devices
from ..joins import declare
from .engine import active
from .fused import fuses, pack
from .rows import MOST_ROW_INPUTS as MOST_ROW_INPUTS
from .rows import MOST_ROW_STEPS as MOST_ROW_STEPS
from .rows import packed_rows as packed_rows
from .rows import row_columns as row_columns
from .rows import row_reduction as row_reduction
from .rows import row_step as known_row_step

MOST_INPUTS, MOST_STEPS = 8, 24  # as native/bind_fused.c has room for
ROUNDS_ONCE = False  # each step of a chain is rounded as its own kernel rounds it


def laid_out(inputs: list[Any], out: Any) -> list[Any] | None:
    """The inputs of a chain as they are: its result is written where the last step's would lie."""
    return inputs


def keeps_bits(ins: Any) -> bool:
    """Whether a step of a chain computes what the kernel of its own computes: all do."""
    return True


def is_native(name: str) -> bool:
    """Whether the engine has a kernel of this name, or the CPU a body of its own."""
    if name in devices.overrides("cpu"):
        return True
    engine = active()
    return engine is not None and engine.kernel(name, _no_body) is not None


def _no_body(*arrays: Any, **attrs: Any) -> Any:
    raise NotImplementedError


def _is_plain(made: Any) -> bool:
    """What the engine's kernels take: float32 without gaps."""
    arrays = [i for i in (*made.inputs, *made.outputs) if hasattr(i, "strides")]
    return all(a.dtype.char == "f" and a.dense for a in arrays) and is_native(made.name)


# The sum is normalised while it is in the cache, the gradient added to.
declare("cpu", "add_layer_norm", "layer_norm_grad_add", fits=_is_plain)
declare("cpu", "cross_entropy_fused", "cross_entropy_grad")  # of logits as they are, without a cast

# Bytes from which arrays that need not be written are worth more than the engine's own kernels for the parts, as NumPy
# computes these. Measured on two cores: a rotary embedding of 512 KB takes 1.3 times as long as its parts, one of 1 MB
# 0.4 times; an embedding with positions of 1 MB 0.8 times.
_FROM = 1 << 20


def _is_large(made: Any, parts: Any) -> bool:
    return made.outputs[0].nbytes >= _FROM


declare("cpu", "embedding_add", "rotary", pays=_is_large, fits=lambda made: made.outputs[0].dtype.char in "fd")


def is_pointwise(ins: Any) -> bool:
    """Whether the engine's interpreter knows an instruction."""
    return fuses(ins)


def fusion() -> Callable[[Any], bool] | None:
    """What tells whether an instruction can be a step of a chain; None where nothing runs chains."""
    return fuses if is_native("fused") else None


def row_step(ins: Any) -> bool:
    """Whether the engine's interpreter of row groups knows a pointwise instruction."""
    return known_row_step(ins) and is_native("row_group")


def width(s: Any) -> str:
    """The numbers that a chain computes with: float32 alone."""
    return "f" if s.dtype.char == "f" else "?"


def packed(steps: tuple) -> bytes:
    """The steps as the engine's interpreter reads them."""
    return pack(steps)


def channels_last_pays(x: Any, w_shape: tuple[int, ...], y_shape: tuple[int, ...]) -> bool:
    """The engine's convolutions take either order as it comes."""
    return False
