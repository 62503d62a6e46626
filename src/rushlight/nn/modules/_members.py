"""Finding a module's parts: registration, lookup by path, and the walks over the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...base.config import settings
from ...core.changes import changes
from ...core.tensor import Tensor
from ..parameter import Parameter
from ._global_hooks import on_registration

if TYPE_CHECKING:
    from .module import Module


def typename(value: object) -> str:
    """The name PyTorch's messages use for a value's type: `torch.FloatTensor`, `int`, `a.b.C`."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return value.type()
    kind = value if isinstance(value, type) else type(value)
    module = kind.__module__
    return kind.__qualname__ if module in (None, "builtins") else f"{module}.{kind.__qualname__}"


def _check_name(owner: Any, kind: str, name: Any, taken: dict) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        got = f", got: {name}" if kind == "module" else ""
        raise KeyError(f'{kind} name can\'t contain "."{got}')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(owner, name) and name not in taken:
        raise KeyError(f"attribute '{name}' already exists")


DEEPEST = 10_000  # levels of modules; if there are more, a module contains itself


def children_first(root: Any, method: str, plain: Callable) -> Iterator[tuple[Any, bool]]:
    """Yield (module, False) for `root` and all modules in it, children first, without recursion.

    A module whose class has a `method` of its own (not `plain`) comes as (module, True), without the
    modules in it: the caller calls that method, which handles them.
    """
    stack = [(root, root.children())]
    while stack:
        module, children = stack[-1]
        for child in children:
            if getattr(getattr(child, method), "__func__", None) is not plain:
                yield child, True
                continue
            stack.append((child, child.children()))
            if len(stack) > DEEPEST:
                raise RecursionError("modules are nested without end; one of them contains itself")
            break
        else:
            stack.pop()
            yield module, False


def _modules_of(root: Any) -> list[Any]:
    """What `root.modules()` walks over."""
    found: list[Any] = []
    memo: set[Any] = set()
    waiting = [root]
    while waiting:
        module = waiting.pop()
        if module in memo:
            continue
        own = module.__class__.named_modules is not Members.named_modules
        if own or "named_modules" in module.__dict__:  # it has a walk of its own
            return list(root.modules())
        memo.add(module)
        found.append(module)
        if module._modules:
            waiting += [m for m in reversed(module._modules.values()) if m is not None]
    return found


class Members:
    """The part of Module that registers and finds parameters, buffers and child modules."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]

    # -- registration ---------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that moves and is saved with the module, but is not trained.

        Args:
            name: the attribute under which it will be found.
            tensor: the tensor, or None to reserve the name.
            persistent: False keeps it out of `state_dict`.

        Raises:
            KeyError: if the name is taken, empty, or has a dot in it.
            TypeError: if `tensor` is not a tensor.

        Example:
            >>> net = nn.Module()
            >>> net.register_buffer("mean", torch.zeros(2))
            >>> net.state_dict()
            OrderedDict([('mean', tensor([0., 0.]))])
            >>> list(net.parameters())
            []
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name(self, "buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                f"({settings.module} Tensor or None required)"
            )
        changes[0] += 1
        self._buffers[name] = on_registration("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; assigning `self.name = nn.Parameter(...)` does the same.

        Args:
            name: the attribute under which it will be found.
            param: the parameter, or None for one that this module does not have (a layer without bias).

        Raises:
            KeyError: if the name is taken, empty, or has a dot in it.
            TypeError: if `param` is not a Parameter.

        Example:
            >>> net = nn.Module()
            >>> net.register_parameter("scale", nn.Parameter(torch.ones(2)))
            >>> [(name, tuple(p.shape)) for name, p in net.named_parameters()]
            [('scale', (2,))]
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name(self, "parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    f"({settings.module}.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
            param = on_registration("parameter", self, name, param)
        changes[0] += 1
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name; assigning `self.name = module` does the same.

        Args:
            name: the attribute under which it will be found.
            module: the child, or None to reserve the name.

        Raises:
            KeyError: if the name is taken, empty, or has a dot in it.
            TypeError: if `module` is not a Module.

        Example:
            >>> net = nn.Sequential()
            >>> net.add_module("first", nn.Flatten())
            >>> net
            Sequential(
              (first): Flatten(start_dim=1, end_dim=-1)
            )
        """
        if module is not None and not isinstance(module, Members):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        _check_name(self, "module", name, self._modules)
        changes[0] += 1
        self._modules[name] = on_registration("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a child module: another name of `add_module`.

        Example:
            >>> net = nn.Module()
            >>> net.register_module("act", nn.ReLU())
            >>> net.act
            ReLU()
        """
        self.add_module(name, module)

    # -- lookup by path -------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """Return the module at a dotted path; the empty path is this module.

        Raises:
            AttributeError: if a part of the path is missing or is not a module.

        Example:
            >>> net = nn.Sequential(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
            >>> net.get_submodule("0.1")
            ReLU()
        """
        found: Any = self
        for part in target.split(".") if target else ():
            if not hasattr(found, part):
                raise AttributeError(f"{found._get_name()} has no attribute `{part}`")
            found = getattr(found, part)
            if not isinstance(found, Members):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path, in place of what is there.

        Args:
            target: the path, such as `"encoder.0.act"`.
            module: the new module.
            strict: True raises an error if nothing is at that path yet.

        Raises:
            ValueError: if the path is empty or `module` is not a Module.
            AttributeError: if the path leads to something that is not a module.

        Example:
            >>> net = nn.Sequential(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
            >>> net.set_submodule("0.1", nn.GELU())
            >>> net[0][1]
            GELU(approximate='none')
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Members):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Members):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_leaf(self, target: str) -> tuple[Any, Any]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, getattr(owner, name)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path.

        Raises:
            AttributeError: if there is none.

        Example:
            >>> net = nn.Sequential(nn.Linear(2, 3))
            >>> net.get_parameter("0.weight").shape
            torch.Size([3, 2])
        """
        _, found = self._get_leaf(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted path.

        Raises:
            AttributeError: if there is none.

        Example:
            >>> net = nn.Sequential(nn.BatchNorm1d(2))
            >>> net.get_buffer("0.running_mean")
            tensor([0., 0.])
        """
        owner, found = self._get_leaf(target)
        name = target.rpartition(".")[2]
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # -- walks ----------------------------------------------------------------------------------

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Yield (path, member) for what `get_members_fn` gives of this module and all modules in it."""
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_prefix, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (module_prefix + "." if module_prefix else "") + name, member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterate over the parameters; a parameter that is used twice comes once.

        Args:
            recurse: False leaves out the parameters of child modules.

        Example:
            >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
            >>> sum(p.numel() for p in net.parameters())
            58
            >>> optimizer = optim.SGD(net.parameters(), lr=0.1)
        """
        cls = self.__class__
        plain = cls.named_parameters is Members.named_parameters
        if not plain or not recurse or cls._named_members is not Members._named_members:
            for _, param in self.named_parameters(recurse=recurse):
                yield param
            return
        seen: set[int] = set()  # training loops ask at every step: names would cost more than the rest
        for module in _modules_of(self):
            for member in module._parameters.values():
                if member is not None and id(member) not in seen:
                    seen.add(id(member))
                    yield member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterate over pairs of dotted path and parameter.

        Args:
            prefix: put before every path.
            recurse: False leaves out the parameters of child modules.
            remove_duplicate: False repeats a parameter that has several paths.

        Example:
            >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
            >>> [(name, tuple(p.shape)) for name, p in net.named_parameters()]
            [('0.weight', (8, 4)), ('0.bias', (8,))]
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the buffers; a buffer that is used twice comes once.

        Args:
            recurse: False leaves out the buffers of child modules.

        Example:
            >>> [b.shape for b in nn.BatchNorm1d(3).buffers()]
            [torch.Size([3]), torch.Size([3]), torch.Size([])]
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterate over pairs of dotted path and buffer.

        Args:
            prefix: put before every path.
            recurse: False leaves out the buffers of child modules.
            remove_duplicate: False repeats a buffer that has several paths.

        Example:
            >>> [name for name, _ in nn.BatchNorm1d(3).named_buffers()]
            ['running_mean', 'running_var', 'num_batches_tracked']
        """
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """Iterate over the modules directly in this one, each once.

        Example:
            >>> list(nn.Sequential(nn.Flatten(), nn.ReLU()).children())
            [Flatten(start_dim=1, end_dim=-1), ReLU()]
        """
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over pairs of name and module, for the modules directly in this one.

        Example:
            >>> list(nn.Sequential(nn.Flatten(), nn.ReLU()).named_children())
            [('0', Flatten(start_dim=1, end_dim=-1)), ('1', ReLU())]
        """
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterate over this module and all modules in it, parents first.

        Args:
            remove_duplicate: False repeats a module that is used in several places.

        Example:
            >>> net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
            >>> [type(m).__name__ for m in net.modules()]
            ['Sequential', 'Linear', 'Sequential', 'ReLU']
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Iterate over pairs of dotted path and module, this module first with an empty path.

        Args:
            memo: modules that are left out; those that were met are added to it.
            prefix: put before every path.
            remove_duplicate: False repeats a module that is used in several places.

        Example:
            >>> net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
            >>> [name for name, _ in net.named_modules()]
            ['', '0', '1', '1.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        stack = [(prefix, iter(self._modules.items()))]
        while stack:
            above, rest = stack[-1]
            for name, module in rest:
                if module is None:
                    continue
                below = above + ("." if above else "") + name
                if getattr(module.named_modules, "__func__", None) is not Members.named_modules:
                    yield from module.named_modules(memo, below, remove_duplicate)
                elif module not in memo:
                    if remove_duplicate:
                        memo.add(module)
                    yield below, module
                    stack.append((below, iter(module._modules.items())))
                    break
            else:
                stack.pop()
