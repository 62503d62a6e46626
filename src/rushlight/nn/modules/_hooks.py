"""A module's own hooks: how they are registered and how a call runs them."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from ...core.gradients.tape import Node, RemovableHandle
from ...core.tensor import Tensor, tensor_over
from ...core.views import current_edge
from ...operators.create.filled import zeros
from ...runtime.thread import here
from ._global_hooks import GLOBAL, HookHandle


class BackwardHookFunctionBackward(Node):
    """A node that passes every gradient on unchanged; it exists to call hooks."""

    __slots__ = ("like", "n_outputs")

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        super().__init__(tuple(current_edge(t) for t in tensors))
        self.n_outputs = len(tensors)
        self.like = [(t._a.shape, t.dtype, t.device) for t in tensors]

    def apply(self, gs: list[Any]) -> Sequence[Any]:
        """Return the gradients, with zeros where none arrived, as PyTorch does."""
        return [
            zeros(shape, dtype=dtype, device=device) if g is None else g
            for g, (shape, dtype, device) in zip(gs, self.like)
        ]


def _through_gate(tensors: list[Tensor]) -> tuple[list[Tensor], Node]:
    """Return tensors with the same values whose gradients all go through one new node."""
    node = BackwardHookFunctionBackward(tensors)
    passed = []
    for i, t in enumerate(tensors):
        if t._ver is None:
            t._ver = [0]
        out = tensor_over(t._a, t._a.__class__)
        out._ver = t._ver
        if t.requires_grad:
            out._edge = (node, i)
        passed.append(out)
    return passed, node


class BackwardHook:
    """What one call of a module needs to call its full backward hooks later."""

    def __init__(self, module: Any, hooks: list[Callable], pre_hooks: list[Callable]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: tuple | None = None
        self.n_inputs = -1
        self.n_outputs = -1
        self.input_index: list[int] | None = None
        self.output_index: list[int] | None = None

    def _gated(self, values: tuple) -> tuple[tuple, Node | None, list[int] | None]:
        index = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        tensors = [values[i] for i in index]
        if not here.grad or not any(t.requires_grad for t in tensors):
            return values, None, None
        passed, node = _through_gate(tensors)
        replaced = list(values)
        for i, t in zip(index, passed):
            replaced[i] = t
        return tuple(replaced), node, index

    def setup_input_hook(self, args: tuple) -> tuple:
        """Put a node at the inputs: the gradients that reach it are the module's grad_input."""
        self.n_inputs = len(args)
        args, node, self.input_index = self._gated(args)
        if node is not None:
            node.register_hook(self._on_grad_input)
        return args

    def setup_output_hook(self, result: Any) -> Any:
        """Put a node at the outputs: the gradients that reach it are the module's grad_output."""
        single = not isinstance(result, tuple)
        values = (result,) if single else result
        self.n_outputs = len(values)
        values, node, self.output_index = self._gated(values)
        if node is not None:
            node.register_hook(self._on_grad_output)
        if single:
            return values[0]
        return type(result)(*values) if hasattr(result, "_fields") else values

    def _on_grad_output(self, _: tuple, grads: tuple) -> Any:
        grad_output = _spread(self.output_index, grads, self.n_outputs)
        changed = False
        for hook in self.pre_hooks:
            given = hook(self.module, grad_output)
            if given is None:
                continue
            given = given if isinstance(given, tuple) else (given,)
            if len(given) != len(grad_output):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, got "
                    f"{len(given)}, but expected {len(grad_output)}"
                )
            grad_output = given
            changed = True
        self.grad_outputs = grad_output
        if self.input_index is None:
            self._call_without_inputs(grad_output)
        if not changed:
            return None
        return tuple(grad_output[i] for i in self.output_index or ())

    def _call_without_inputs(self, grad_output: tuple) -> None:
        """Call the hooks when grad_output is known, because no input needs a gradient."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. See "
            "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
            "register_full_backward_hook for more details.",
            stacklevel=2,
        )
        nothing = (None,) * self.n_inputs
        for hook in self.hooks:
            given = hook(self.module, nothing, grad_output)
            if given is not None and not (isinstance(given, tuple) and all(g is None for g in given)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None

    def _on_grad_input(self, grad_inputs: tuple, _: tuple) -> Any:
        if self.grad_outputs is None:
            return None  # a gradient that did not come through the module's output
        grad_input = _spread(self.input_index, grad_inputs, self.n_inputs)
        for hook in self.hooks:
            given = hook(self.module, grad_input, self.grad_outputs)
            if given is None:
                continue
            given = given if isinstance(given, tuple) else (given,)
            if len(given) != len(grad_input):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, got "
                    f"{len(given)}, but expected {len(grad_input)}"
                )
            grad_input = given
        self.grad_outputs = None
        return tuple(grad_input[i] for i in self.input_index or ())


def _spread(index: list[int] | None, grads: Sequence[Any], n: int) -> tuple:
    """Put gradients at the positions of their tensors, None at the others."""
    full: list[Any] = [None] * n
    for i, g in zip(index or (), grads):
        full[i] = g
    return tuple(full)


def watch_last_node(module: Any, hooks: list[Callable], args: tuple, result: Any) -> None:
    """Call a deprecated (not full) backward hook, which sees only the module's last node."""
    outputs = result if isinstance(result, tuple) else (result,)
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    if first.grad_fn is None:
        return
    missing = _what_is_missed(args, outputs)
    if missing:
        case, which = missing
        warnings.warn(
            f"{case} is deprecated and will be removed in future versions. This hook will be "
            f"missing some {which}. Please use register_full_backward_hook to get the documented "
            "behavior.",
            FutureWarning,
            stacklevel=5,
        )
    for hook in hooks:
        first.grad_fn.register_hook(functools.partial(hook, module))


def _what_is_missed(args: tuple, outputs: tuple) -> tuple[str, str] | None:
    """The warning, as PyTorch words it, that such a hook does not see all gradients."""
    using = "Using non-full backward hooks on a Module that does not"
    if not all(isinstance(t, Tensor) for t in outputs):
        return f"{using} return a single Tensor or a tuple of Tensors", "of the grad_output"
    if not all(isinstance(t, Tensor) for t in args):
        return f"{using} take as input a single Tensor or a tuple of Tensors", "of the grad_input"
    made_by = {t.grad_fn for t in outputs if t.grad_fn is not None}
    if len(made_by) != 1:
        return ("Using a non-full backward hook when outputs are generated by different autograd Nodes", "grad_output")
    needed = {node for node, _ in next(iter(made_by)).next_functions}
    if {t.grad_fn for t in args if t.grad_fn is not None} != needed:
        return ("Using a non-full backward hook when the forward contains multiple autograd Nodes", "grad_input")
    return None


class Hooks:
    """The part of Module that lets others watch its calls."""

    forward: Callable[..., Any]
    _is_full_backward_hook: bool | None
    _backward_hooks: OrderedDict[int, Callable]
    _backward_pre_hooks: OrderedDict[int, Callable]
    _forward_hooks: OrderedDict[int, Callable]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Callable]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]

    # -- registration ---------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; what it returns replaces the arguments.

        Args:
            hook: returns None to change nothing, a tuple of arguments, or one argument.
            prepend: run it before the hooks that are there already.
            with_kwargs: call it as `hook(module, args, kwargs)`; it then returns None or both.

        Returns:
            A handle; its `remove()` takes the hook away.

        Example:
            >>> net = nn.Identity()
            >>> handle = net.register_forward_pre_hook(lambda module, args: (args[0] * 10,))
            >>> net(torch.tensor([1.0]))
            tensor([10.])
            >>> handle.remove()
            >>> net(torch.tensor([1.0]))
            tensor([1.])
        """
        flags = self._forward_pre_hooks_with_kwargs
        handle = HookHandle(self._forward_pre_hooks, hook, (flags,), prepend)
        if with_kwargs:
            flags[handle.id] = True
        return handle

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; what it returns replaces the output.

        Args:
            hook: returns None to leave the output as it is.
            prepend: run it before the hooks that are there already.
            with_kwargs: call it as `hook(module, args, kwargs, output)`.
            always_call: run it even when `forward` raised an error.

        Returns:
            A handle; its `remove()` takes the hook away.

        Example:
            >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            >>> seen = []
            >>> handle = net[0].register_forward_hook(lambda module, args, out: seen.append(out.shape))
            >>> _ = net(torch.zeros(5, 2))
            >>> seen
            [torch.Size([5, 3])]
        """
        companions = (self._forward_hooks_with_kwargs, self._forward_hooks_always_called)
        handle = HookHandle(self._forward_hooks, hook, companions, prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before this module's gradients are computed.

        Args:
            hook: gets the gradients of the outputs as a tuple; what it returns replaces them.
            prepend: run it before the hooks that are there already.

        Returns:
            A handle; its `remove()` takes the hook away.

        Example:
            >>> net = nn.Identity()
            >>> handle = net.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 2,))
            >>> x = torch.ones(2, requires_grad=True)
            >>> net(x).sum().backward()
            >>> x.grad
            tensor([2., 2.])
        """
        return HookHandle(self._backward_pre_hooks, hook, (), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when this module's gradients are known.

        Args:
            hook: gets the gradients of inputs and outputs as tuples; a tuple that it returns replaces
                the gradients of the inputs.
            prepend: run it before the hooks that are there already.

        Returns:
            A handle; its `remove()` takes the hook away.

        Example:
            >>> net = nn.ReLU()
            >>> handle = net.register_full_backward_hook(lambda module, gi, go: print(gi[0], go[0]))
            >>> x = torch.tensor([-1.0, 2.0], requires_grad=True)
            >>> net(x).sum().backward()
            tensor([0., 1.]) tensor([1., 1.])
        """
        self._claim_backward_hooks(True)
        return HookHandle(self._backward_hooks, hook, (), prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook with the gradients of the module's last operation only; deprecated.

        `register_full_backward_hook` sees the gradients of the module's inputs, whatever happens
        inside.
        """
        self._claim_backward_hooks(False)
        return HookHandle(self._backward_hooks, hook)

    def _claim_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full

    # -- the call -------------------------------------------------------------------------------

    def _hooked_call(self, args: tuple, kwargs: dict) -> Any:
        """Call `forward` with all hooks before and after it."""
        called: set[int] = set()
        result: Any = None
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            gate, args = self._full_backward_hook(args)
            result = self.forward(*args, **kwargs)
            result = self._run_forward_hooks(args, kwargs, result, called)
            if gate is not None:
                if not isinstance(result, (Tensor, tuple)):
                    warnings.warn(
                        "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                        f"received {type(result)}",
                        stacklevel=2,
                    )
                result = gate.setup_output_hook(result)
            self._watch_non_full(args, result)
            return result
        except Exception:
            self._run_always_called(args, kwargs, result, called)
            raise

    def _run_pre_hooks(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        with_kwargs = self._forward_pre_hooks_with_kwargs
        for key, hook in (*GLOBAL.forward_pre.items(), *self._forward_pre_hooks.items()):
            if key in with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _call_forward_hook(self, key: int, hook: Callable, args: tuple, kwargs: dict, result: Any) -> Any:
        if key in self._forward_hooks_with_kwargs or key in GLOBAL.forward_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_forward_hooks(self, args: tuple, kwargs: dict, result: Any, called: set[int]) -> Any:
        for key, hook in (*GLOBAL.forward.items(), *self._forward_hooks.items()):
            called.add(key)
            changed = self._call_forward_hook(key, hook, args, kwargs, result)
            if changed is not None:
                result = changed
        return result

    def _run_always_called(self, args: tuple, kwargs: dict, result: Any, called: set[int]) -> None:
        """After an error in `forward`, call the hooks that were registered with `always_call`."""
        always = (*GLOBAL.forward_always, *self._forward_hooks_always_called)
        for key, hook in (*GLOBAL.forward.items(), *self._forward_hooks.items()):
            if key not in always or key in called:
                continue
            try:
                changed = self._call_forward_hook(key, hook, args, kwargs, result)
                if changed is not None:
                    result = changed
            except Exception as e:  # noqa: BLE001 - the first error is the one that is raised
                where = "global module forward hook" if key in GLOBAL.forward else "forward hook"
                warnings.warn(
                    f"{where} with ``always_call=True`` raised an exception that was silenced as "
                    f"another error was raised in forward: {e}",
                    stacklevel=2,
                )

    # -- backward -------------------------------------------------------------------------------

    def _full_backward_hook(self, args: tuple) -> tuple[BackwardHook | None, tuple]:
        pre = [*GLOBAL.backward_pre.values(), *self._backward_pre_hooks.values()]
        full: list[Callable] = []
        if GLOBAL.is_full_backward:
            full += GLOBAL.backward.values()
        if self._is_full_backward_hook is True:
            full += self._backward_hooks.values()
        if not pre and not full:
            return None, args
        gate = BackwardHook(self, full, pre)
        return gate, gate.setup_input_hook(args)

    def _watch_non_full(self, args: tuple, result: Any) -> None:
        hooks: list[Callable] = []
        if GLOBAL.is_full_backward is False:
            hooks += GLOBAL.backward.values()
        if self._is_full_backward_hook is False:
            hooks += self._backward_hooks.values()
        if hooks:
            watch_last_node(self, hooks, args, result)
