"""`compile`: a function or module whose calls are recorded, then replayed as one program."""

from __future__ import annotations

import copy
import functools
import sys
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..base.config import settings
from ..base.errors import HostReadError
from ..core.compiling import again, meeting
from ..core.hot import uses_gpu
from ..core.modes import switches
from ..core.overriding import DisableTorchFunctionSubclass
from ..core.tensor import Tensor
from ..runtime.thread import PACKING, WATCHED, here
from .in_c import native
from .record.agreement import differs
from .record.effects import RANDOM_STATE
from .record.executed import Seen, can_watch
from .record.recorder import CannotCapture, host_read_error, takes_part
from .record.recording import Recording, check
from .replay.node import APART, TWICE
from .replay.replay import Replay, SharedArguments, Unfinished
from .state import tree
from .state.keys import arguments_overlap, like_these, mode, signature
from .state.tree import Same
from .state.watch import NotReady

if TYPE_CHECKING:
    from .loops.in_calls import TracedCalls
    from .loops.path import PathOfStretch

PROGRAMS = 16  # kept per function; the oldest goes
_TRIES = 5  # recordings in a row that may disagree before the function stays eager
_RECENT = 3  # recordings that wait for one that agrees
_STATES = 6  # programs for one kind of arguments, in different states of Python
_RARE = 256  # kinds of arguments that are counted, beside those that have programs
_WAITING = 3  # kinds of arguments that were recorded and have not come again
_FREE = 8  # kinds of arguments that are recorded before replays have to pay for more
_OFTEN = 16  # calls of a kind before it is recorded, where kinds are many or others wait
_PAID = (64, 4096)  # replays that pay for one kind more, and for one that another has to make room for
_OBJECTS = 8  # without a dict of their own, whose methods one function has programs for
_FAILED = 3  # kinds of arguments without a program before no other kind is tried, where none has one
_CHURN = 32  # programs thrown away by changed state before the function stays eager


class Compiled:
    """A callable that behaves as the function it was made of, and replays it when it can."""

    def __init__(self, fn: Callable, fullgraph: bool = False, dynamic: Any = None, disable: bool = False) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.fullgraph = fullgraph
        self.disabled = disable
        self.entries: OrderedDict[Any, Entry] = OrderedDict()
        self.told: set[str] = set()
        _everyone.add(self)
        # Methods of classes, and of objects without a dict.
        self.bound: OrderedDict[int, Bound] = OrderedDict()
        # Kinds of arguments without programs, and how often they came.
        self.rare: OrderedDict[int, int] = OrderedDict()
        self.made = 0  # entries, those included that had to go
        self.replayed = 0  # calls by entries that had to go
        self.gathered: list[Any] = []  # steps over loaders whose data lie on the device
        self.last: Entry | None = None
        self.quiet = 0  # calls to come whose arguments nobody looks at
        self.missed = 0  # calls in a row without a place for programs
        self.met: dict[type, Same] = {}  # the first argument of a class, where only identity tells one from another
        self.anew: set[type] = set()  # classes of which another object came since: those are compared by what they hold

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_plain():
            return self.fn(*args, **kwargs)
        last = self.last  # looked at once: another thread may call with other arguments
        if last is not None and last.like is not None and not kwargs and last.like(args):
            return last.call(args, kwargs, args)
        if self.quiet > 0:
            self.quiet -= 1
            return self.fn(*args, **kwargs)
        tensors: list[Tensor] = []
        try:
            found = tree.Records((args, kwargs), tensors, self.anew)
        except RecursionError:  # a list that holds itself
            return self.fn(*args, **kwargs)
        for t in tensors:
            if not takes_part(t._a):
                if here.vmaps:  # a sample of a function that is mapped
                    return self.fn(*args, **kwargs)
                return self._entry_of(type(t)).call(args, kwargs, tensors)
        key = (found.shape, signature(tensors), mode())
        entry = self.entries.get(key)
        if entry is None and self._comes_anew(args, kwargs):
            return self(*args, **kwargs)
        if entry is None:
            entry = self._new_entry(key)
            if entry is None:
                return self.fn(*args, **kwargs)
        self.missed = 0
        if entry.like is None and not kwargs and len(tensors) == len(args):
            entry.like = like_these(tensors)  # tensors and nothing else, the usual case
        self.last = entry
        return entry.call(args, kwargs, tensors, found.objects)

    def _comes_anew(self, args: tuple, kwargs: dict) -> bool:
        """Whether an argument is another object than the one of its class before, and could be compared by what it holds."""
        before = len(self.anew)
        for value in tree.leaves((args, kwargs)):
            cls = type(value)
            if (
                cls not in self.anew
                and tree.is_record(value)
                and self.met.setdefault(cls, Same(value)).value is not value
            ):
                if tree.holds_values(value):
                    self.anew.add(cls)
        return len(self.anew) > before

    def _entry_of(self, kind: type) -> Entry:
        """Where calls go that are given a tensor which no program can hold: they run as they are."""
        entry = self.entries.get(kind)
        if entry is None:
            what = f"it is given a {kind.__name__} without memory of its own at its call"
            if self.fullgraph:
                raise host_read_error(what)
            entry = self.entries[kind] = Entry(self)
            entry.eager = what
            self.tell(f"runs eagerly, because {what}")
        return entry

    def _new_entry(self, key: Any) -> Entry | None:
        """A place for the programs of one more kind of arguments, if calls of that kind repeat.

        Recording takes as long as many calls. So only the first kind is recorded before it has come again, kinds that never
        come again must not be recorded one after another, and kinds that come in turn must not drop each other's programs.
        Where kinds are many and none came again, calls run without a look at their arguments for a while, longer each time.
        """
        kind = hash(key)  # which may hold objects of the user's
        many = len(self.rare) > PROGRAMS and next(reversed(self.rare)) != kind
        seen = self.rare.pop(kind, 0) + 1
        waiting = [k for k, e in self.entries.items() if e.waits()]
        failed = [e for e in self.entries.values() if e.eager is not None]
        if len(failed) >= max(_FAILED, len(self.entries) - len(waiting)) and not self.fullgraph:
            return None
        often = _OFTEN if many or len(waiting) >= _WAITING else 2 if waiting else 1
        if seen < often or not self._is_paid():
            self.rare[kind] = seen
            if len(self.rare) > _RARE:
                self.rare.popitem(last=False)
            self.missed += 1
            if many:
                if self.missed >= _FREE:
                    self.quiet = _FREE << min(self.missed - _FREE, 4)
                self.tell(
                    "many kinds of arguments: those that come seldom run eagerly. A function whose arguments' shapes "
                    "differ from call to call is better left uncompiled, or given arguments of a few shapes."
                )
            return None
        if len(waiting) >= _WAITING:
            del self.entries[waiting[0]]
        elif len(self.entries) >= PROGRAMS:
            self.replayed += self.entries.popitem(last=False)[1].runs()
        self.made += 1
        entry = self.entries[key] = Entry(self)
        return entry

    def _is_paid(self) -> bool:
        """Whether the calls that were replayed are many enough to record one more kind of arguments."""
        if self.made < _FREE:
            return True
        replayed = self.replayed + sum([e.runs() for e in self.entries.values()])
        more, instead = min(self.made, PROGRAMS) - _FREE, max(self.made - PROGRAMS, 0)
        return replayed >= (more + 1) * _PAID[0] + instead * _PAID[1]

    def _is_plain(self) -> bool:
        """Whether this call is the function's own, in this thread and now."""
        return bool(
            self.disabled
            or here.recorder is not None
            or here.stance == "force_eager"
            or switches.anomaly
            or here.state & PACKING  # hooks for what graphs save, of whoever calls
            or here.function_modes
            or (here.state & WATCHED and any(getattr(s, "asks", False) for s in here.listeners))
        )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        # Its programs hold the object, so they must die with it: where it has a dict, they live there.
        own = getattr(instance, "__dict__", None)
        key = f"_compiled_{id(self):x}"
        held = own.get(key) if isinstance(own, dict) else self.bound.get(id(instance))
        # It may belong to the object that this one was copied from, or to a function that is no more.
        if held is None or held.instance is not instance or held.owner is not self:
            held = Bound(self, instance)
            if isinstance(own, dict):
                own[key] = held
            else:
                self.bound[id(instance)] = held
                if len(self.bound) > _OBJECTS:
                    self.bound.popitem(last=False)
        return held.compiled

    def tell(self, what: str) -> None:
        """Warn once of one thing."""
        if what not in self.told:
            self.told.add(what)
            name = getattr(self.fn, "__qualname__", type(self.fn).__name__)
            warnings.warn(f"compile({name}): {what}", stacklevel=_outside())

    def epoch(self, loader: Any) -> Iterator[Any]:
        """The results of this function for every batch of a loader, as `self(*batch)` would give.

        Where the loader's data lie on a device (or are a TensorDataset in memory), the program
        gathers its batches itself, and a step needs nothing from the host.
        """
        from .replay.epoch import epoch

        return epoch(self, loader)

    # -- looking at it --------------------------------------------------------------------------

    @property
    def replays(self) -> list[Replay]:
        """Every program there is, newest last."""
        return [r for e in self.entries.values() for r in reversed(e.programs)]

    @property
    def parts(self) -> list[PathOfStretch]:
        """The programs of a function that is traced, between the values that it reads."""
        return [p for e in self.entries.values() if e.traced for p in reversed(e.traced.paths)]

    def program(self) -> Any:
        """The newest program; print it for a table of its instructions."""
        found: list[Any] = self.replays or self.parts
        if not found:
            why = self.why()
            raise RuntimeError(
                "there is no program yet: a function is recorded by its first calls, until two of them agree."
                if why is None
                else f"there is no program: calls {self._how()}, because {why}"
            )
        return found[-1].program

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from .program.show import compiled_html

        found: list[Any] = self.replays or self.parts
        name = getattr(self.fn, "__qualname__", type(self.fn).__name__)
        return compiled_html(name, [f.program for f in found], self.why())

    def _how(self) -> str:
        """How calls run that are not replayed as a whole."""
        traced = any(e.traced is not None for e in self.entries.values())
        return "are traced, and nothing has repeated yet" if traced else "run eagerly"

    def why(self) -> str | None:
        """Why calls run eagerly or are traced, when they are."""
        for e in self.entries.values():
            if e.eager or e.traced is not None:
                return e.eager or (e.traced.reason if e.traced else None)
        return None

    def draw(self, path: str) -> None:
        """Write the newest program as an SVG picture."""
        from .program.show import draw

        draw(self.program(), path)

    def options(self) -> dict[str, Any]:
        """How it was asked for."""
        return {"fullgraph": self.fullgraph, "disable": self.disabled}

    def __deepcopy__(self, memo: dict) -> Compiled:
        return Compiled(copy.deepcopy(self.fn, memo), **self.options())

    def __reduce__(self) -> Any:
        return again, (self.fn, self.options())

    def reset(self) -> None:
        """Forget every program."""
        self.entries.clear()
        self.rare.clear()
        self.made = self.replayed = self.quiet = self.missed = 0
        self.gathered.clear()
        self.bound.clear()
        self.told.clear()
        self.met.clear()
        self.anew.clear()
        self.last = None


class Bound:
    """A compiled method of one object; copies and pickles of the object begin without programs."""

    def __init__(self, owner: Compiled | None = None, instance: Any = None) -> None:
        self.owner, self.instance = owner, instance
        if owner is not None:
            self.compiled = Compiled(owner.fn.__get__(instance), owner.fullgraph)

    def __reduce__(self) -> Any:
        return Bound, ()

    def __deepcopy__(self, memo: dict) -> Bound:
        return Bound()


class Entry:
    """Programs for one kind of arguments: they differ in the Python state they were recorded in."""

    def __init__(self, owner: Compiled) -> None:
        self.owner = owner
        self.programs: list[Replay] = []
        self.recent: list[Recording] = []
        self.tries = 0
        self.churn = 0
        self.eager: str | None = None
        self.traced: TracedCalls | None = None  # runs it when Python has to
        self.seen = Seen()  # what calls have run
        self.used: frozenset[int] | None = None  # results that callers differentiate, if not all
        self.adapted = False  # whether it was another one when there was a program already
        self.forgot = False  # whether what the first calls ran was forgotten
        self.careful = False  # whether calls whose arguments share memory run as they are
        # Whether arguments are of this kind, where they are tensors and nothing else.
        self.like: Callable[[tuple], bool] | None = None

    def call(self, args: tuple, kwargs: dict, tensors: Sequence[Tensor], objects: Sequence[Any] = ()) -> Any:
        if here.tracer is not None:
            if self.eager is not None and not self.programs:
                # Loops around it are traced as if nothing were compiled.
                return self.owner.fn(*args, **kwargs)
            here.tracer.interrupt("a compiled function is called")
        for program in self.programs:
            if program.obstacle(tensors, (args, kwargs), objects) is None:
                try:
                    return program(tensors, args, kwargs, objects)
                except Unfinished:
                    pass  # the function itself meets what the kernel refused, and may know what to do
                return self.owner.fn(*args, **kwargs)
        if self.programs:
            self._drop_unfit()
        if self.eager is not None:
            return self.owner.fn(*args, **kwargs)
        if self.careful and arguments_overlap(tensors):
            return self.owner.fn(*args, **kwargs)
        if here.vmaps:  # arrays of samples have no memory of their own that a program could take
            return self.owner.fn(*args, **kwargs)
        if self.traced is not None:
            return self._call_traced(args, kwargs)
        if here.stance != "default" and self.programs:
            if here.stance == "fail_on_recompile":
                why = self.programs[0].obstacle(tensors, (args, kwargs), objects)
                raise RuntimeError(f"a program would be recorded anew: {why}")
            return self.owner.fn(*args, **kwargs)
        return self._record(args, kwargs)

    def waits(self) -> bool:
        """Whether it was recorded, and calls that agree are still to come."""
        return not self.programs and self.eager is None and self.traced is None

    def runs(self) -> int:
        """How many calls its programs have replayed."""
        return sum([p.runs for p in self.programs])

    def _call_traced(self, args: tuple, kwargs: dict) -> Any:
        assert self.traced is not None
        result = self.traced(args, kwargs)
        if self.traced.failed is not None:
            self.eager, self.traced = f"{self.traced.reason}, and {self.traced.failed}", None
            self.owner.tell(f"runs eagerly, because {self.eager}")
        return result

    def _learn_uses(self) -> None:
        """See how the results of recorded calls were differentiated since."""
        for recording in self.recent:
            uses = recording.uses
            if uses is None or not uses.patterns:
                continue
            if uses.twice or len(uses.patterns) > 1:
                self._stay_eager(TWICE if uses.twice else APART)
                return
            self.used = next(iter(uses.patterns))

    def _drop_unfit(self) -> None:
        """Give up programs whose results callers differentiate in ways that they were not made for."""
        for program in [p for p in self.programs if p.unfit is not None]:
            self.programs.remove(program)
            self.recent.clear()
            if program.wanted is None or self.adapted:
                self._stay_eager(str(program.unfit))
                return
            self.used, self.adapted = program.wanted, True

    def _stay_eager(self, why: str) -> None:
        self._give_up(CannotCapture(why), "")

    def _record(self, args: tuple, kwargs: dict) -> Any:
        try:
            if not can_watch():  # a debugger is at work: let it see every line
                return self.owner.fn(*args, **kwargs)
            self._learn_uses()
            if self.eager is not None:
                return self.owner.fn(*args, **kwargs)
            with DisableTorchFunctionSubclass():  # looking at a tensor is no call of the user's
                recording = Recording(self.owner.fn, args, kwargs, self.seen, self.used, self.owner.anew)
        except NotReady:
            return self.owner.fn(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - a state we cannot read is run as it is
            self._give_up(error, _why_whole(uses_gpu()))
            return self.owner.fn(*args, **kwargs)
        recording.call(self.owner.fullgraph)
        try:
            with DisableTorchFunctionSubclass():
                self._consider(recording)
        except SharedArguments as error:
            if self.owner.fullgraph:
                raise
            self.careful = True
            self.owner.tell(f"calls like this one run eagerly, because {error}")
        except Exception as error:  # noqa: BLE001 - whatever fails here, the call itself is done
            seeds = bool(recording.watch.mentioned & RANDOM_STATE)
            on_gpu = any(s.device == "cuda" for s in recording.recorder.storages)
            self._give_up(error, "" if seeds else _why_whole(on_gpu))
        result = recording.plain_result()
        recording.forget()
        return result

    def _consider(self, recording: Recording) -> None:
        """Make a program of a recording that agrees with a recent one; otherwise keep it."""
        if recording.odd:
            return
        if recording.disturbed:
            self.tries += 1
            if self.tries <= _TRIES:
                return  # most likely it was another thread: the next call will tell
            recording.complain_of_draws()
        strange = recording.unknown()
        if strange is not None and (self.forgot or recording.strange is not None):
            raise CannotCapture(strange)
        if strange is not None:  # perhaps because of what the first calls alone have run: a warning once, a cache
            self.seen, self.tries, self.forgot = Seen(), 0, True
            self.recent.clear()
            return
        recording.analyse()
        check(recording)
        if recording.grown and not recording.guessed:
            why: str | None = "what it runs differs from call to call"
            self.recent = [*self.recent[1 - _RECENT :], recording]
        elif recording.impure is not None:
            why = f"the call itself changes Python state: {recording.impure}"
        else:
            why, twin = "recorded once", None
            for twin in reversed(self.recent):
                why = differs(recording, twin)
                if why is None:
                    break
            if why is None and twin is not None and not recording.guessed:
                recording.settle_constants(twin)
                self._adopt(Replay(recording))
                return
            self.recent = [*self.recent[1 - _RECENT :], recording]
        self.tries += 1
        if self.tries > _TRIES:
            raise CannotCapture(why)

    def _adopt(self, replay: Replay) -> None:
        if replay.complaint is not None:
            self.owner.tell(f"some passes were left out, because {replay.complaint}")
        self.programs = [replay, *self.programs[: _STATES - 1]]
        self.tries = 0
        self.churn += 1
        if self.churn > _CHURN:
            raise CannotCapture("the Python state it depends on changes all the time")

    def _give_up(self, error: Exception, whole: str | None = None) -> None:
        """Record no more; `whole`: why there is no use in programs for parts of the function either."""
        self.recent.clear()
        self.programs.clear()
        reason = str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"
        self.eager = reason
        if self.owner.fullgraph and isinstance(error, (CannotCapture, HostReadError)):
            raise error
        if isinstance(error, (CannotCapture, HostReadError)) and whole != "":
            what = reason.partition(". A replay")[0].rpartition("one program: ")[2]
            self.eager = what
            if whole is None:
                from .loops.in_calls import TracedCalls

                self.eager, self.traced = None, TracedCalls(self.owner.fn, what)
                whole = "Python runs every call, and its kernels run as programs between host reads"
            how = "runs eagerly" if self.eager else "is traced"
            self.owner.tell(f"{how}, because {what}. {whole}; fullgraph=True raises instead, and says what to do")
            return
        self.owner.tell(f"runs eagerly, because {reason}")


def _why_whole(on_gpu: bool) -> str | None:
    """Why a function is not traced as a loop is, or None where that pays: where launches cost."""
    if native is None:
        return "What compares its kernels is written in C, and was not built here"
    if settings.trace_on_cpu or on_gpu:
        return None
    return "On the CPU programs for its parts would save less than finding them takes"


def _outside() -> int:
    """The stack level of the first caller outside this package, for warnings."""
    package = __name__.split(".")[0]
    frame: Any = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == package:
        frame = frame.f_back
        level += 1
    return level


_everyone: weakref.WeakSet[Compiled] = weakref.WeakSet()


def reset_all() -> None:
    """Forget every program of every compiled function."""
    for compiled in list(_everyone):
        compiled.reset()


_F = TypeVar("_F", bound=Callable[..., Any])


@overload
def compile(
    model: _F,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: Any = ...,
    mode: str | None = ...,
    options: dict | None = ...,
    disable: bool = ...,
) -> _F: ...
@overload
def compile(
    model: None = ...,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: Any = ...,
    mode: str | None = ...,
    options: dict | None = ...,
    disable: bool = ...,
) -> Callable[[_F], _F]: ...
def compile(  # noqa: A001 - PyTorch's name
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "rushlight",
    mode: str | None = None,
    options: dict | None = None,
    disable: bool = False,
) -> Any:
    """Record a function or module by running it, then replay it without Python.

    The first calls run as they are; when two in a row computed the same, the program is optimised and
    later calls replay it. `fullgraph=True` raises where a call cannot become one program; otherwise it
    stays eager and one warning says why. `backend`, `mode`, `options` and `dynamic` are accepted as
    in PyTorch; there is one backend, and other shapes are recorded anew.

    Args:
        model: a function or a module; without it, the result is a decorator.
        fullgraph: raise where a call cannot become one program.
        disable: return something that runs `model` as it is.
        dynamic, backend, mode, options: accepted as in PyTorch.

    Raises:
        RuntimeError: if `model` cannot be called, or both `mode` and `options` are given.

    Example:
        >>> @torch.compile
        ... def step(x):
        ...     return (x * 2 + 1).relu()
        >>> for _ in range(4):
        ...     out = step(torch.tensor([-3.0, 1.0]))
        >>> out
        tensor([0., 3.])
    """
    if model is None:
        return lambda fn: compile(
            fn, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if not callable(model):
        raise RuntimeError(f"compile() needs a function or a module, not {type(model).__name__}")
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified.")
    if isinstance(model, Compiled):
        return model
    disable = disable or backend == "eager"
    if "_parameters" in getattr(model, "__dict__", ()):
        return meeting.around(model, Compiled(model, fullgraph, dynamic, disable))
    return Compiled(model, fullgraph, dynamic, disable)


meeting.compile = compile
