"""Pruning: parameters multiplied by masks of zeros and ones before every forward."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

from ...core.public import NAMESPACES
from ...core.tensor import Tensor

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod:
    """The base class of prunings: before every call, `name` becomes `name_orig` times `name_mask`.

    A subclass says in `compute_mask` what is pruned.

    Attributes:
        PRUNING_TYPE: "unstructured" (single elements), "structured" (slices) or "global".

    Example:
        >>> class Negative(prune.BasePruningMethod):
        ...     def compute_mask(self, t, default_mask):
        ...         return default_mask * (t > 0)
        >>> layer = nn.Linear(2, 1, bias=False)
        >>> layer.weight = nn.Parameter(torch.tensor([[-1.0, 2.0]]))
        >>> _ = Negative.apply(layer, "weight")
        >>> layer.weight_mask
        tensor([[0., 1.]])
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the new mask; subclasses define it.

        Args:
            t: the tensor, or the scores of its elements.
            default_mask: what earlier prunings left.
        """
        raise NotImplementedError

    def apply_mask(self, module: Any) -> Tensor:
        """Return the tensor times its mask."""
        name = self._tensor_name
        mask, orig = getattr(module, f"{name}_mask"), getattr(module, f"{name}_orig")
        return mask.to(dtype=orig.dtype) * orig

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter of a module, on top of earlier prunings; return the hook.

        Args:
            name: the parameter's name.
            args, kwargs: handed to the class.
            importance_scores: what decides in place of the parameter's values; of the same shape.
        """
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        before = _hook_of(module, name)
        orig = getattr(module, name)
        scores = orig if importance_scores is None else importance_scores
        if tuple(scores.shape) != tuple(orig.shape):
            raise AssertionError("importance_scores should have the same shape as parameter")
        default = getattr(module, f"{name}_mask", None) if before else None
        default = NAMESPACES["torch"]["ones_like"](orig) if default is None else default.detach().clone()
        if before is not None:
            container = PruningContainer(*_methods_of(before))
            container._tensor_name = name
            container.add_pruning_method(method)
            mask = container.compute_mask(scores, default)
            _drop_hook(module, name)
            setattr(module, f"{name}_mask", mask)
            hook: BasePruningMethod = container
        else:
            mask, hook = method.compute_mask(scores, default_mask=default), method
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", orig)
            module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Return a pruned copy of a tensor that belongs to no module.

        Args:
            t: the tensor.
            default_mask: what is left already; all if None.
            importance_scores: what decides in place of the tensor's values.

        Example:
            >>> prune.L1Unstructured(amount=2).prune(torch.tensor([3.0, -1.0, 2.0, -4.0]))
            tensor([ 3., -0.,  0., -4.])
        """
        default = NAMESPACES["torch"]["ones_like"](t) if default_mask is None else default_mask
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Any) -> None:
        """Make the pruning permanent: the masked values become the parameter."""
        name = self._tensor_name
        weight, orig = self.apply_mask(module), module._parameters.pop(f"{name}_orig")
        orig.data = weight.data
        del module._buffers[f"{name}_mask"]
        if name in module.__dict__:
            delattr(module, name)
        setattr(module, name, orig)


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter; each decides about what the ones before left.

    Args:
        args: the prunings.

    Example:
        >>> layer = nn.Linear(4, 4)
        >>> _ = prune.l1_unstructured(layer, "weight", amount=4)
        >>> _ = prune.random_unstructured(layer, "weight", amount=3)
        >>> int((layer.weight == 0).sum())
        7
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple = tuple(args)
        if args:
            self._tensor_name = args[0]._tensor_name

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, at: int) -> BasePruningMethod:
        return self._pruning_methods[at]

    def add_pruning_method(self, method: Any) -> None:
        """Add a pruning of the same tensor on top."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the old mask, less what the newest pruning takes from it."""
        method, old = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            keep: Any = old == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            alive = old.sum([d for d in range(t.dim()) if d != dim]) != 0
            keep = (slice(None),) * dim + (alive,)
        else:
            keep = (slice(None),) * t.dim()
        mask = old.clone()
        mask[keep] = method.compute_mask(t[keep], default_mask=old[keep]).to(dtype=old.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the names that pruning makes.

    Example:
        >>> prune.Identity().prune(torch.tensor([1.0, -2.0]))
        tensor([ 1., -2.])
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class CustomFromMask(BasePruningMethod):
    """See `custom_from_mask`, which applies it: a mask of your own."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(dtype=default_mask.dtype)


class _ByAmount(BasePruningMethod):
    """A pruning of a number of elements, or of a part of all."""

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount


class RandomUnstructured(_ByAmount):
    """See `random_unstructured`, which applies it: elements drawn at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        n = _how_many(self.amount, t.numel())
        mask = default_mask.clone()
        if n:
            drawn = NAMESPACES["torch"]["rand_like"](t).reshape(-1)
            mask.view(-1)[drawn.topk(n).indices] = 0
        return mask


class L1Unstructured(_ByAmount):
    """See `l1_unstructured`, which applies it: elements with the smallest absolute values."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        n = _how_many(self.amount, t.numel())
        mask = default_mask.clone()
        if n:
            mask.view(-1)[t.abs().reshape(-1).topk(n, largest=False).indices] = 0
        return mask


class RandomStructured(BasePruningMethod):
    """See `random_structured`, which applies it: slices drawn at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        n = _how_many(self.amount, _slices(t, self.dim))
        if n == 0:
            return default_mask
        drawn = NAMESPACES["torch"]["rand"](t.shape[self.dim])
        left = drawn.topk(t.shape[self.dim] - n).indices
        return default_mask * _only(t, self.dim, left).to(dtype=default_mask.dtype)


class LnStructured(BasePruningMethod):
    """See `ln_structured`, which applies it: slices with the smallest norms."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        n = _how_many(self.amount, _slices(t, self.dim))
        if n == 0:
            return default_mask
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = NAMESPACES["torch"]["norm"](t, p=self.n, dim=others)
        left = norms.topk(t.shape[self.dim] - n).indices
        return default_mask * _only(t, self.dim, left).to(dtype=default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Give a parameter the names that pruning makes, prune nothing, and return the module.

    Args:
        name: the parameter's name.

    Example:
        >>> layer = prune.identity(nn.Linear(2, 1), "bias")
        >>> layer.bias_mask
        tensor([1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune elements of a parameter drawn at random, and return the module.

    Args:
        name: the parameter's name.
        amount: how many, or which part of all (between 0 and 1).

    Example:
        >>> layer = prune.random_unstructured(nn.Linear(4, 2), "weight", amount=3)
        >>> int((layer.weight_mask == 0).sum())
        3
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Tensor | None = None) -> Any:
    """Prune the elements of a parameter with the smallest absolute values, and return the module.

    Args:
        name: the parameter's name.
        amount: how many, or which part of all (between 0 and 1).
        importance_scores: what decides in place of the values; of the same shape.

    Example:
        >>> layer = nn.Linear(4, 1, bias=False)
        >>> layer.weight = nn.Parameter(torch.tensor([[3.0, -1.0, 2.0, -4.0]]))
        >>> prune.l1_unstructured(layer, "weight", amount=0.5).weight.detach()
        tensor([[ 3., -0.,  0., -4.]])
        >>> sorted(layer.state_dict())
        ['weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune slices of a parameter drawn at random, and return the module.

    Args:
        name: the parameter's name.
        amount: how many slices, or which part of all (between 0 and 1).
        dim: slices are taken along this dimension.

    Example:
        >>> layer = prune.random_structured(nn.Linear(4, 3), "weight", amount=1, dim=0)
        >>> int((layer.weight_mask == 0).sum())
        4
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prune the slices of a parameter with the smallest norms, and return the module.

    Args:
        name: the parameter's name.
        amount: how many slices, or which part of all (between 0 and 1).
        n: which norm, as `torch.linalg.norm` takes it.
        dim: slices are taken along this dimension.
        importance_scores: what decides in place of the values; of the same shape.

    Example:
        >>> layer = nn.Linear(2, 2)
        >>> layer.weight = nn.Parameter(torch.tensor([[3.0, 3.0], [1.0, 1.0]]))
        >>> prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight_mask
        tensor([[1., 1.],
                [0., 0.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune a parameter by a mask of your own, and return the module.

    Args:
        name: the parameter's name.
        mask: 1 where elements stay, 0 where they are pruned.

    Example:
        >>> layer = prune.custom_from_mask(nn.Linear(2, 1), "bias", torch.tensor([0.0]))
        >>> layer.bias.detach()
        tensor([-0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters as if they were one long tensor.

    Args:
        parameters: pairs of module and name.
        pruning_method: the class, such as `L1Unstructured`.
        importance_scores: a dict of scores by such pairs, which decide in place of the values.
        kwargs: arguments of the class.

    Example:
        >>> net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        >>> prune.global_unstructured(
        ...     [(net[0], "weight"), (net[1], "weight")], prune.L1Unstructured, amount=6
        ... )
        >>> sum(int((layer.weight == 0).sum()) for layer in net)
        6
    """
    pairs, given = list(parameters), importance_scores or {}
    cat = NAMESPACES["torch"]["cat"]
    values = [getattr(m, name) for m, name in pairs]
    scores = [given.get(pair, v) for pair, v in zip(pairs, values, strict=True)]
    ones = NAMESPACES["torch"]["ones_like"]
    held = [getattr(m, f"{name}_mask", None) for m, name in pairs]
    masks = [ones(v) if k is None else k for k, v in zip(held, values, strict=True)]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}')  # fmt: skip
    container.add_pruning_method(method)
    long = container.compute_mask(cat([s.detach().reshape(-1) for s in scores]), cat([k.reshape(-1) for k in masks]))
    parts = long.split([v.numel() for v in values])
    for (module, name), part, value in zip(pairs, parts, values, strict=True):
        custom_from_mask(module, name, mask=part.view_as(value))


def remove(module: Any, name: str) -> Any:
    """Make the pruning of a parameter permanent, and return the module.

    Args:
        name: the parameter's name.

    Raises:
        ValueError: if the parameter is not pruned.

    Example:
        >>> layer = prune.l1_unstructured(nn.Linear(4, 2), "weight", amount=3)
        >>> sorted(prune.remove(layer, "weight").state_dict())
        ['bias', 'weight']
    """
    hook = _hook_of(module, name)
    if hook is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    hook.remove(module)
    _drop_hook(module, name)
    return module


def is_pruned(module: Any) -> bool:
    """Return whether a module, or one in it, is pruned.

    Example:
        >>> layer = nn.Linear(4, 2)
        >>> prune.is_pruned(layer)
        False
        >>> prune.is_pruned(prune.l1_unstructured(layer, "weight", amount=3))
        True
    """
    hooks = (h for _, m in module.named_modules() for h in m._forward_pre_hooks.values())
    return any(isinstance(h, BasePruningMethod) for h in hooks)


def _hook_of(module: Any, name: str) -> BasePruningMethod | None:
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return hook
    return None


def _drop_hook(module: Any, name: str) -> None:
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            del module._forward_pre_hooks[key]


def _methods_of(hook: BasePruningMethod) -> tuple:
    return hook._pruning_methods if isinstance(hook, PruningContainer) else (hook,)


def _is_count(amount: Any) -> bool:
    """Whether the amount is a number of elements, and not a part of all."""
    return isinstance(amount, numbers.Integral)


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = _is_count(amount)
    if (whole and amount < 0) or (not whole and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _how_many(amount: Any, size: int) -> int:
    if _is_count(amount):
        if amount > size:
            raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
        return int(amount)
    return round(float(amount) * size)


def _slices(t: Tensor, dim: int) -> int:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {t.shape} with {t.dim()} dims"
        )
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
    return t.shape[dim]


def _only(t: Tensor, dim: int, indices: Tensor) -> Tensor:
    """Ones in these slices along `dim`, zeros elsewhere."""
    mask = NAMESPACES["torch"]["zeros_like"](t)
    mask[(slice(None),) * (dim % t.dim()) + (indices,)] = 1
    return mask
