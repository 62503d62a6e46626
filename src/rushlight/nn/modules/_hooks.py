"""A module's own hooks: how they are registered and how a call runs them."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...core.gradients.tape import RemovableHandle
from ._backward_hooks import BackwardHook, watch_last_node
from ._global_hooks import GLOBAL, HookHandle


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
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
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

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
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

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
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
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}."
                    )
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _call_forward_hook(
        self, key: int, hook: Callable, args: tuple, kwargs: dict, result: Any
    ) -> Any:
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
