"""Containers of modules."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, overload

from ...core.changes import changes
from ...core.tensor import Tensor
from ._parameter_containers import ParameterDict, ParameterList
from .module import Module, indent

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """As `Module`, with its old name and children by keyword; deprecated."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for key, value in kwargs.items():
            self.add_module(key, value)


def _position(container: Any, idx: Any) -> int:
    """The index counted from the start; IndexError if it is out of range."""
    size = len(container)
    idx = operator.index(idx)
    if not -size <= idx < size:
        raise IndexError(f"index {idx} is out of range")
    return idx % size


class Sequential(Module):
    """Call modules one after another, each with the output of the one before.

    Modules are numbered from "0"; an `OrderedDict` gives them names. Indexing works as for a list,
    and a slice is a Sequential of the same modules.

    Args:
        args: modules, or one `OrderedDict` of modules by name.

    Shape:
        What the first module takes -> what the last module gives.

    Example:
        >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        >>> net(torch.zeros(3, 4)).shape
        torch.Size([3, 2])
        >>> net[:2]
        Sequential(
          (0): Linear(in_features=4, out_features=8, bias=True)
          (1): ReLU()
        )
        >>> from collections import OrderedDict
        >>> list(nn.Sequential(OrderedDict(fc=nn.Linear(4, 2), act=nn.ReLU())).state_dict())
        ['fc.weight', 'fc.bias']
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    @overload
    def __init__(self, *args: Module) -> None: ...
    @overload
    def __init__(self, arg: OrderedDict[str, Module], /) -> None: ...
    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Tensor:
        for module in self._modules.values():
            input = module(input)
        return input

    def _key(self, idx: Any) -> str:
        size = len(self)
        i = operator.index(idx)
        if not -size <= i < size:
            raise IndexError(f"index {i} is out of range")
        return list(self._modules)[i]

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: Any) -> None:
        if isinstance(idx, slice):
            for key in list(self._modules)[idx]:
                delattr(self, key)
        else:
            delattr(self, self._key(idx))
        self._renumber()

    def _renumber(self) -> None:
        self._modules = {str(i): m for i, m in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, other: int) -> Sequential:
        _check_times(other)
        return Sequential(*(m for _ in range(other) for m in self))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        _check_times(other)
        once = list(self)
        for _ in range(1, other):
            self.extend(once)
        return self

    def __dir__(self) -> list[str]:
        return [k for k in super().__dir__() if not k.isdigit()]

    def append(self, module: Module) -> Sequential:
        """Add a module at the end and return the Sequential.

        Example:
            >>> nn.Sequential(nn.Flatten()).append(nn.ReLU())
            Sequential(
              (0): Flatten(start_dim=1, end_dim=-1)
              (1): ReLU()
            )
        """
        self.add_module(str(len(self)), module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Add modules at the end and return the Sequential.

        Example:
            >>> len(nn.Sequential(nn.Flatten()).extend([nn.ReLU(), nn.ReLU()]))
            3
        """
        for module in list(sequential):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Sequential:
        """Put a module before position `index` and return the Sequential.

        Raises:
            IndexError: if there is no such position.

        Example:
            >>> nn.Sequential(nn.Flatten(), nn.ReLU()).insert(1, nn.Tanh())[1]
            Tanh()
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._modules = {str(i): m for i, m in enumerate(modules)}
        return self

    def pop(self, key: Any) -> Module:
        """Take a module out, by position, and return it; those behind it are renumbered.

        Example:
            >>> net = nn.Sequential(nn.Flatten(), nn.ReLU())
            >>> net.pop(0), len(net)
            (Flatten(start_dim=1, end_dim=-1), 1)
        """
        module = self[key]
        del self[key]
        return module


def _check_times(other: Any) -> None:
    if not isinstance(other, int):
        raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(other)}")
    if other <= 0:
        raise ValueError(f"Non-positive multiplication factor {other} for {Sequential}")


class ModuleList(Module):
    """Hold modules in a list, so that their parameters belong to the module that has the list.

    It has no `forward`: the owner says how the modules are used. A plain Python list would hide
    them from `parameters()` and `to()`.

    Args:
        modules: modules to begin with.

    Example:
        >>> class Deep(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        ...     def forward(self, x):
        ...         for layer in self.layers:
        ...             x = x + layer(x)
        ...         return x
        >>> Deep()(torch.zeros(2, 4)).shape
        torch.Size([2, 4])
        >>> Deep().layers
        ModuleList(
          (0-2): 3 x Linear(in_features=4, out_features=4, bias=True)
        )
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[str(_position(self, idx))]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, str(_position(self, idx)), module)

    def __delitem__(self, idx: Any) -> None:
        gone = range(len(self))[idx] if isinstance(idx, slice) else [_position(self, idx)]
        for i in gone:
            delattr(self, str(i))
        self._modules = {str(i): m for i, m in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __dir__(self) -> list[str]:
        return [k for k in super().__dir__() if not k.isdigit()]

    def insert(self, index: int, module: Module) -> None:
        """Put a module before position `index`.

        Example:
            >>> layers = nn.ModuleList([nn.ReLU()])
            >>> layers.insert(0, nn.Flatten())
            >>> layers[0]
            Flatten(start_dim=1, end_dim=-1)
        """
        changes[0] += 1
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def append(self, module: Module | None) -> Any:
        """Add a module at the end and return the list.

        Example:
            >>> len(nn.ModuleList().append(nn.ReLU()))
            1
        """
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Module:
        """Take a module out, by position, and return it.

        Example:
            >>> nn.ModuleList([nn.Flatten(), nn.ReLU()]).pop(0)
            Flatten(start_dim=1, end_dim=-1)
        """
        module = self[key]
        del self[key]
        return module

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end and return the list.

        Raises:
            TypeError: if `modules` cannot be iterated.

        Example:
            >>> len(nn.ModuleList([nn.ReLU()]).extend([nn.Tanh(), nn.Tanh()]))
            3
        """
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        offset = len(self)
        for i, module in enumerate(list(modules)):
            self.add_module(str(offset + i), module)
        return self

    def __repr__(self) -> str:
        """The list as text; equal neighbours are printed once, with their number."""
        texts = [repr(m) for m in self]
        if not texts:
            return f"{self._get_name()}()"
        runs: list[list[Any]] = []
        for i, text in enumerate(texts):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = []
        for first, last, text in runs:
            head = f"({first}): {text}"
            if first != last:
                head = f"({first}-{last}): {last - first + 1} x {text}"
            lines.append(indent(head, 2))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """Hold modules in a dictionary, so that their parameters belong to the module that has it.

    Names keep the order in which they were added.

    Args:
        modules: a mapping of names to modules, or pairs.

    Example:
        >>> heads = nn.ModuleDict({"class": nn.Linear(8, 10), "box": nn.Linear(8, 4)})
        >>> heads["box"](torch.zeros(2, 8)).shape
        torch.Size([2, 4])
        >>> list(heads)
        ['class', 'box']
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        changes[0] += 1
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove every module."""
        changes[0] += 1
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take the module of a name out and return it.

        Example:
            >>> nn.ModuleDict({"act": nn.ReLU()}).pop("act")
            ReLU()
        """
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Any:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Return pairs of name and module."""
        return self._modules.items()

    def values(self) -> Any:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping or of pairs; a name that is there is replaced.

        Example:
            >>> acts = nn.ModuleDict({"a": nn.ReLU()})
            >>> acts.update([("b", nn.Tanh())])
            >>> list(acts.keys())
            ['a', 'b']
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(modules).__name__}"
            )
        if isinstance(modules, (OrderedDict, ModuleDict, Mapping)):
            for key, module in modules.items():
                self[key] = module
            return
        for j, pair in enumerate(modules):
            if not isinstance(pair, Iterable):
                raise TypeError(f"ModuleDict update sequence element #{j} should be Iterable; is{type(pair).__name__}")
            entry = tuple(pair)
            if len(entry) != 2:
                raise ValueError(f"ModuleDict update sequence element #{j} has length {len(entry)}; 2 is required")
            self[entry[0]] = entry[1]
