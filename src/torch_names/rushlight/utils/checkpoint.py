"""Checkpointing: a part of the forward pass keeps nothing, and is run again when backward comes.

The part runs once as usual; then what its nodes saved is thrown away. The first node that backward asks
for a saved tensor runs the part a second time and takes over the saved tensors of the second run's
nodes, which are the same nodes in the same order. The graph itself is the ordinary one, so `grad`,
higher derivatives, keyword arguments and parameters met on the way all work.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import cuda
from ..amp.autocast import as_now
from ..base.device import CPU
from ..base.trees import tree_leaves
from ..core.gradients.function import FunctionNode
from ..core.gradients.tape import Node, numbers
from ..core.modes import enable_grad, no_grad
from ..core.op import FREED, OpNode
from ..core.tensor import Tensor
from ..core.views import current_edge
from ..runtime import devices
from ..runtime.devices import open_streams
from ..runtime.door import KERNELS, Kernel, listening, run
from ..runtime.thread import here
from ._python_dispatch import TorchDispatchMode

__all__ = [
    "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType",
    "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "create_selective_checkpoint_contexts", "detach_variable", "get_device_states", "noop_context_fn",
    "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple cut from their graph, with the same wish for gradients; the rest as it is.

    Args:
        inputs: the tuple.

    Raises:
        RuntimeError: if it is none.

    Example:
        >>> from rushlight.utils.checkpoint import detach_variable
        >>> x = torch.ones(2, requires_grad=True) * 2
        >>> y, n = detach_variable((x, 3))
        >>> y.is_leaf, y.requires_grad, n
        (True, True, 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: ", type(inputs).__name__)
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no input of a checkpointed part wants a gradient, so that it will have none.

    Args:
        inputs: what the part is called with.

    Example:
        >>> from rushlight.utils.checkpoint import check_backward_validity
        >>> check_backward_validity([torch.ones(2, requires_grad=True)])
    """
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class DefaultDeviceType:
    """The kind of device whose random numbers a checkpoint keeps where its inputs do not say; here all are kept.

    Example:
        >>> from rushlight.utils.checkpoint import DefaultDeviceType
        >>> DefaultDeviceType.get_device_type()
        'cuda'
    """

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Let it be another kind."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The kind."""
        return DefaultDeviceType._default_device_type


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A block in which second runs end early, or do not; either gives the same gradients here.

    Args:
        enable: whether they may.

    Example:
        >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        ...     pass
    """
    yield


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A block in which PyTorch's checkpoints keep traces; an error here names the operator by itself.

    Args:
        enabled: accepted and not needed.

    Example:
        >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):
        ...     pass
    """
    yield


class CheckpointPolicy(enum.Enum):
    """What `create_selective_checkpoint_contexts` does with an operator's result.

    Example:
        >>> from rushlight.utils.checkpoint import CheckpointPolicy
        >>> CheckpointPolicy.MUST_SAVE.name
        'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """What a policy is told: whether this is the second run.

    Args:
        is_recompute: True in backward.

    Example:
        >>> from rushlight.utils.checkpoint import SelectiveCheckpointContext
        >>> SelectiveCheckpointContext(is_recompute=True).is_recompute
        True
    """

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


_KEPT = (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class _Keeping(TorchDispatchMode):
    """The first run: asks the policy about each operator; `kept` has an entry for each call of each operator."""

    def __init__(self, policy: Callable[..., Any], kept: dict[Any, list[Any]]) -> None:
        super().__init__()
        self.policy, self.kept = policy, kept

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        about = SelectiveCheckpointContext(is_recompute=False)
        keep = self.policy(about, func, *args, **kwargs) in _KEPT
        out = func(*args, **kwargs)
        outs = out if isinstance(out, (tuple, list)) else [out]
        versions = [(t, t._version) for t in outs if isinstance(t, Tensor)]
        self.kept[func].append((out, versions) if keep else None)
        return out


class _Giving(TorchDispatchMode):
    """The second run: what was kept is not computed again."""

    def __init__(self, kept: dict[Any, list[Any]], mutation: bool) -> None:
        super().__init__()
        self.kept, self.mutation = kept, mutation

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rows = self.kept.get(func)
        if not rows:
            raise RuntimeError(
                f"{func} encountered during backward, but not found in storage; the second run of a checkpoint has "
                "to call the same operators as the first"
            )
        row = rows.pop(0)
        if row is None:
            return func(*args, **(kwargs or {}))
        out, versions = row
        if not self.mutation and any(t._version != was for t, was in versions):
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated. "
                "allow_cache_entry_mutation=True uses it as it is."
            )
        return out


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Two contexts for `checkpoint(context_fn=...)`: results of chosen operators are kept instead of computed again.

    Args:
        policy_fn_or_list: a function of (context, operator, arguments) that returns a CheckpointPolicy, or a list
            of operators whose results are kept.
        allow_cache_entry_mutation: whether a kept result may be changed in place before backward.

    Example:
        >>> from functools import partial
        >>> from rushlight.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
        >>> keep_products = partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
        >>> w = torch.eye(2, requires_grad=True)
        >>> y = checkpoint(lambda x: (x @ w).sin(), torch.ones(1, 2), use_reentrant=False, context_fn=keep_products)
        >>> y.sum().backward()
        >>> w.grad.shape
        torch.Size([2, 2])
    """
    policy = policy_fn_or_list
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not hasattr(op, "_overloadpacket"):
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}.")
        chosen = set(policy_fn_or_list)

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE

    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Any, list[Any]] = defaultdict(list)
    return _Keeping(policy, kept), _Giving(kept, allow_cache_entry_mutation)


_rounds = itertools.count(1)
_NOT_SAID = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly: use_reentrant=False is "
    "recommended, use_reentrant=True is what happens without it."
)


class CheckpointError(RuntimeError):
    """The second run of a checkpointed part did not do what the first one did."""


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing: the default of `checkpoint`.

    Example:
        >>> from rushlight.utils.checkpoint import noop_context_fn
        >>> first, second = noop_context_fn()
        >>> with first:
        ...     pass
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The GPUs that some tensors lie on, and the states of their random numbers.

    Args:
        args: anything; tensors in it count.

    Example:
        >>> from rushlight.utils.checkpoint import get_device_states
        >>> get_device_states(torch.ones(2), 3)
        ([], [])
    """
    tensors = [t for t in tree_leaves(args) if isinstance(t, Tensor)]
    numbers = [t.get_device() for t in tensors if t.device.type not in ("cpu", "meta")]
    return numbers, [cuda.get_rng_state(number) for number in numbers]


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Put back what `get_device_states` gave.

    Args:
        devices: numbers of GPUs.
        states: the state of each.
        device_type: "cuda" if not given; nothing is done for "meta".

    Example:
        >>> from rushlight.utils.checkpoint import get_device_states, set_device_states
        >>> set_device_states(*get_device_states(torch.ones(2)))
    """
    if device_type == "meta":
        return
    for number, state in zip(devices, states):
        cuda.set_rng_state(state, number)


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)` that saves memory: backward computes the inside a second time.

    PyTorch's two ways are one here, but for a part none of whose inputs wants a gradient: `use_reentrant` gives its
    parameters none.

    Args:
        function: the part; it has to do the same when it is run again.
        args, kwargs: what it is called with.
        use_reentrant: which way; True, with a warning, if not given.
        context_fn: returns two contexts, one for each run.
        determinism_check: "default" compares shapes and dtypes of the two runs, "none" does not.
        debug: accepted and not needed.
        early_stop: end the second run when all that backward needs is there.
        preserve_rng_state: draw the same random numbers in the second run.

    Raises:
        CheckpointError: if the second run does something else.

    Example:
        >>> from rushlight.utils.checkpoint import checkpoint
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> checkpoint(lambda t: (t**3).sum(), x, use_reentrant=False).backward()
        >>> x.grad
        tensor([ 3., 12.])
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    if use_reentrant is None:
        warnings.warn(_NOT_SAID, stacklevel=2)
        use_reentrant = True
    if use_reentrant and debug:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    if use_reentrant and kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant and not any(isinstance(a, Tensor) and a.requires_grad for a in args):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        with no_grad():
            return function(*args)
    outer, inner = context_fn()
    part = _CheckpointedPart(function, args, kwargs, inner, preserve_rng_state, determinism_check == "default")
    with outer, part.casting(), part.drawing():
        start = next(numbers)
        result = function(*args, **kwargs)
    if here.grad:
        part.empty(_nodes(result, start))
    return result


class _CheckpointedPart:
    """A checkpointed part: how to run it again, and its nodes whose saved tensors are gone."""

    def __init__(self, function: Callable, args: tuple, kwargs: dict, context: Any, rng: bool, check: bool) -> None:
        self.call: Any = (function, args, kwargs)
        self.context = context
        self.check = check
        self.casting = as_now()
        # A replay draws new numbers: what is recorded keeps them instead of drawing the same again.
        self.drawn = None if here.recorder is None else _DrawnNumbers()
        rewinds = rng and self.drawn is None
        self.random = [(s, s.get_state()) for s in _streams()] if rewinds else []
        self.nodes: list[Node] = []
        self.said: list[Any] = []

    def drawing(self) -> Any:
        """The first run: its random numbers are kept, where it is recorded."""
        return contextlib.nullcontext() if self.drawn is None else listening(self.drawn.keep)

    def drawn_before(self) -> Any:
        """The second run: random numbers are those of the first."""
        if self.drawn is None:
            return _rewound(self.random)
        self.drawn.at = 0
        return listening(self.drawn.give)

    def empty(self, nodes: list[Node]) -> None:
        """Throw away what the nodes saved, and leave a note to run the part again."""
        self.nodes = nodes
        self.said = [_describe(node) for node in nodes]
        for i, node in enumerate(nodes):
            for name in _places(node):
                setattr(node, name, _Gone(self, i, name))

    def fill(self) -> None:
        """Run the part again, and give its nodes what the new ones saved."""
        function, args, kwargs = self.call
        with enable_grad(), self.casting(), self.drawn_before(), _once_more(), self.context:
            start = next(numbers)
            fresh = _nodes(function(*args, **kwargs), start)
        self._compare(fresh)
        for old, new in zip(self.nodes, fresh):
            for name in _places(new):
                if isinstance(getattr(old, name), _Gone):
                    setattr(old, name, getattr(new, name))

    def _compare(self, fresh: list[Node]) -> None:
        if len(fresh) != len(self.nodes):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original "
                "forward and recomputation.\nNumber of operations recorded during forward: "
                f"{len(self.nodes)}\nNumber of operations recorded during recomputation: {len(fresh)}. "
                "The function has to do the same both times."
            )
        said = [_describe(node) for node in fresh]
        differ = [(i, a, b) for i, (a, b) in enumerate(zip(self.said, said)) if a != b]
        if differ and (self.check or any(a[0] != b[0] for _, a, b in differ)):
            lines = [f"operation {i}: {a} during forward, {b} when recomputed" for i, a, b in differ]
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different "
                "metadata than during the forward pass.\n" + "\n".join(lines)
            )


class _DrawnNumbers:
    """Listens at the door to the two runs of a part: the second is given what the first one drew."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.at = 0

    def keep(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]) -> Any:
        out = call()
        if _draws(kernel, attrs):
            self.kept.append(_copy(out))  # the part may change its own
        return out

    def give(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]) -> Any:
        if not _draws(kernel, attrs):
            return call()
        if self.at == len(self.kept):
            raise CheckpointError(
                "torch.utils.checkpoint: the function draws more random numbers when recomputed than "
                "it did during the original forward."
            )
        self.at += 1
        return _copy(self.kept[self.at - 1])


def _draws(kernel: Kernel, attrs: dict[str, Any]) -> bool:
    return kernel.random or "stream" in attrs


def _copy(out: Any) -> Any:
    if isinstance(out, (tuple, list)):
        return type(out)([_copy(o) for o in out])
    return run(KERNELS["clone"], out.__class__, (out,), {"order": "K"})


@contextlib.contextmanager
def _once_more() -> Iterator[None]:
    """Inform the recording that what follows was computed before and must be computed again."""
    recorder = here.recorder
    if not hasattr(recorder, "again"):
        yield
        return
    before, recorder.again = recorder.again, next(_rounds)
    try:
        yield
    finally:
        recorder.again = before


class _Gone:
    """Stands where saved tensors were; asked for one, it has them computed again."""

    def __init__(self, part: _CheckpointedPart, index: int, name: str) -> None:
        self.part, self.index, self.name = part, index, name

    def _now(self) -> Any:
        self.part.fill()
        return getattr(self.part.nodes[self.index], self.name)

    def __getitem__(self, i: Any) -> Any:
        return self._now()[i]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._now())


def _places(node: Node) -> list[str]:
    """The attributes in which a node holds tensors for backward."""
    names = ("saved", "outputs") if isinstance(node, OpNode) else ("saved",)
    held = [(n, getattr(node, n, None)) for n in names]
    return [n for n, value in held if value and value is not FREED]


def _describe(node: Node) -> tuple:
    shapes = []
    for name in _places(node):
        value = getattr(node, name)
        for kept in value.values() if isinstance(value, dict) else value:
            array = kept[0] if isinstance(kept, tuple) else kept
            shapes.append(tuple(getattr(array, "shape", ())))
    return node.name(), tuple(shapes)


def _nodes(result: Any, start: int) -> list[Node]:
    """The nodes made since `start` that lead to a result, oldest first."""
    found: dict[int, Node] = {}
    stack = [e[0] for t in _tensors(result) if (e := current_edge(t)) is not None]
    while stack:
        node = stack.pop()
        if node.seq >= start and node.seq not in found:
            if isinstance(node, (OpNode, FunctionNode)):
                found[node.seq] = node
            stack.extend(e[0] for e in node.edges if e is not None)
    return [found[seq] for seq in sorted(found)]


def _tensors(value: Any) -> Iterator[Tensor]:
    from ..base.trees import tree_leaves

    return (leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor))


def _streams() -> list[Any]:
    return [devices.backend_of(CPU).stream(CPU), *open_streams("cuda")]


@contextlib.contextmanager
def _rewound(random: list[tuple[Any, Any]]) -> Iterator[None]:
    """Draw again the numbers that were drawn the first time."""
    now = [(stream, stream.get_state()) for stream, _ in random]
    for stream, state in random:
        stream.set_state(state)
    try:
        yield
    finally:
        for stream, state in now:
            stream.set_state(state)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A chain of modules in `segments` checkpointed parts; the last one keeps its tensors.

    Args:
        functions: a `Sequential`, or a list of modules or functions.
        segments: into how many parts they are cut.
        input: what the first is called with.
        use_reentrant: as for `checkpoint`.

    Raises:
        ValueError: if `segments` is less than 1.

    Example:
        >>> from rushlight.utils.checkpoint import checkpoint_sequential
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> checkpoint_sequential([torch.square, torch.neg, torch.sum], 2, x, use_reentrant=False).backward()
        >>> x.grad
        tensor([-2., -4.])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant is None:
        warnings.warn(_NOT_SAID, stacklevel=2)
        use_reentrant = True
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if segments < 1:
        raise ValueError(f"segments must be at least 1, but got {segments}")
    size = len(chain) // segments

    def run(first: int, last: int) -> Callable:
        def forward(x: Any) -> Any:
            for module in chain[first:last]:
                x = module(x)
            return x

        return forward

    for i in range(segments - 1):
        part = run(i * size, (i + 1) * size)
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run((segments - 1) * size, len(chain))(input)


class CheckpointFunction:
    """PyTorch's function behind `checkpoint(use_reentrant=True)`; here it calls `checkpoint`.

    Example:
        >>> from rushlight.utils.checkpoint import CheckpointFunction
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> CheckpointFunction.apply(lambda t: t**3, True, x).backward()
        >>> x.grad
        tensor(12.)
    """

    @staticmethod
    def apply(run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """`run_function(*args)`, whose inside backward computes again."""
        return checkpoint(run_function, *args, use_reentrant=True, preserve_rng_state=preserve_rng_state)
