"""What belongs to one thread: its modes, who listens to it, the recording it is inside of.

A call of an op looks at one number, `here.state`. Most often that is GRAD or 0, and there is nothing more to
ask; whatever is unusual is another bit of it. The C twin of the call looks at the same number.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

GRAD = 1  # operations are put on the tape
INFERENCE = 2  # nothing is put on the tape, even with GRAD; results can never be in a graph
CASTING = 4  # `casts` gives every op its inputs in other dtypes
WATCHED = 8  # `listeners` see every computation
PARTS = 16  # one of them wants to see the parts of what could be computed in one kernel
TRACED = 32  # kernels are given to `tracer`, which may let them wait
PACKING = 128  # `packing` holds hooks for what ops save, see core/gradients/packing.py
FOREIGN = 64  # kernels of another thread may wait whose results this one will read
WHOLE = 256  # beside PARTS: whoever looks wants every view, but the kernels that a call runs when nobody looks

TAPE = GRAD | INFERENCE  # `here.state & TAPE == GRAD` is `here.grad` without a call, where that counts


class _Here(threading.local):
    """The state of the thread that looks at it; a new thread begins with these values."""

    state = GRAD
    casts: Any = None  # autocast's own state, called as casts(op, inputs); at work while CASTING
    listeners: tuple[Any, ...] = ()  # set by `door.listening`, with the bits
    in_place: Any = None  # the array that an in-place operation reads and is about to write
    offers: list[Any] = []  # noqa: RUF012 - as long as in_place is set in some thread: of all of them, so that C need not ask each
    written: Any = None  # what the class of a wrapper has changed in place just now
    changing: Any = None  # the same while somebody is shown parts: the value and then the copy
    replay_hooks: Any = None  # what the recording at work collects, see `door.each_replay`
    recorder: Any = None  # the innermost recording this thread is inside of
    notice: Callable[[str], None] | None = None  # called for prints, files and logs while recording
    packing: tuple[Any, ...] = ()  # pairs of hooks, the innermost last, see core/gradients/packing.py
    packing_refused: str | None = None  # why no hooks may be set in this block
    pack: Any = None  # what packs a node, while PACKING
    function_modes: tuple[Any, ...] = ()  # the innermost last, see core/overriding.py
    dispatching: Any = None  # the operator that a TorchDispatchMode is asked about, see _aten/seen.py
    replicating = False  # plain tensors count as replicated beside a DTensor
    losses_cut = False  # cross entropy of DTensors wants their classes cut, see `loss_parallel`
    kept_copies: Any = None  # of the block in which saved tensors may be changed
    hop = False  # whether the next question of that kind has the answer no
    unasked = 0  # whether classes of arguments, or nobody at all, answer for public functions
    graphs_kept = False  # a backward pass frees nothing: a map goes through the same graph again
    walk: Any = None  # the backward pass under way, the outermost one, see `tape.at_end`
    uses: Any = None  # recorded calls whose results a backward pass may come to, see capture/record/backward.py
    stance = "default"  # what compiled functions do, see `compiler.set_stance`
    attention_by_products = False  # `nn.attention.sdpa_kernel` allows no other way
    vmaps: tuple[Any, ...] = ()  # mapped functions at work, the innermost last, see runtime/batch
    tracer: Any = None  # who looks for loops in this thread, see core/hot.py

    @property
    def grad(self) -> bool:
        """Whether operations are put on the tape."""
        return self.state & TAPE == GRAD

    @property
    def inference(self) -> bool:
        """Whether results may never enter a graph."""
        return bool(self.state & INFERENCE)

    @property
    def casting(self) -> bool:
        """Whether autocast is at work."""
        return bool(self.state & CASTING)


here = _Here()


def settle() -> None:
    """Compute everything that is waiting, before memory is read without passing the door."""
    if here.tracer is not None:
        here.tracer.settle()
    if here.state & FOREIGN:
        settle_others()


def settle_others() -> None:
    """The same for kernels that wait in another thread; from then on that thread lets nothing wait."""
    here.state &= ~FOREIGN
    own = getattr(here.tracer, "tracer", here.tracer)
    for tracer in list(tracers):
        if tracer is not own:
            tracer.settle_from_outside()


tracers: list[Any] = []  # tracers that may have kernels waiting


def swap(bits: int, to: int) -> int:
    """Set the given bits of this thread's state to those of `to`; the state before."""
    before = here.state
    here.state = before & ~bits | to & bits
    return before
