"""What PyTorch's functions do with DTensors: on each rank's part where that is the same, else on the whole.

A function that no rule knows gathers its arguments and computes on every rank: always right, never quick. Rules say
where less has to be sent: element by element, products with one matrix cut, norms along dims that are whole.
"""

from __future__ import annotations

import math
from typing import Any

from ...base.trees import tree_leaves, tree_map
from ...core.modes import no_grad
from ...core.op import is_pointwise
from ...core.overriding import DisableTorchFunctionSubclass
from ...core.tensor import Tensor, properties
from ...runtime.thread import here
from .dims import DIMS
from .dtensor import DTensor, local_of, spread
from .losses import LOSSES
from .moving import moved, summed_back
from .placement_types import Partial, Placement, Replicate, Shard
from .products import PRODUCTS

__all__ = ["answer", "without_summands"]


def _kept(before: tuple[int, ...], after: tuple[int, ...], dim: int, ranks: int) -> int | None:
    """The dim of another shape that is cut as `dim` is: the same one, or one it leads and divides evenly."""
    front = math.prod(before[:dim])
    for j, size in enumerate(after):
        if math.prod(after[:j]) != front or size == 1 != before[dim]:
            continue
        if size == before[dim]:
            return j
        even = before[dim] % ranks == 0 == size % ranks
        if even and (size % before[dim] == 0 or before[dim] % size == 0):
            return j
    return None


def _viewed(func: Any, input: Any, after: tuple[int, ...]) -> Any:
    """The parts in the shape that they have in a tensor of shape `after`."""
    before, mesh = input.full_shape, input.device_mesh
    local, kinds = list(after), list[Placement]()
    dims = [k.dim for k in input.placements if isinstance(k, Shard)]
    if 0 in before or len(set(dims)) < len(dims) or any(k.is_partial() for k in input.placements):
        return NotImplemented
    for i, kind in enumerate(input.placements):
        made: Placement = kind
        if isinstance(kind, Shard):
            j = _kept(before, after, kind.dim, mesh.size(i))
            if j is None or j in [k.dim for k in kinds if isinstance(k, Shard)]:
                return NotImplemented
            local[j] = after[j] * input._a.shape[kind.dim] // before[kind.dim]
            made = Shard(j)
        kinds.append(made)
    with DisableTorchFunctionSubclass():
        part = local_of(input).reshape(tuple(local))
    return spread(DTensor, part, mesh, tuple(kinds), after)


def _flatten(func: Any, input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape, ndim = input.full_shape, input.dim()
    if not ndim or isinstance(start_dim, str):
        return NotImplemented
    first, last = start_dim % ndim, end_dim % ndim
    if first > last:
        return NotImplemented
    joined = math.prod(shape[first : last + 1])
    return _viewed(func, input, (*shape[:first], joined, *shape[last + 1 :]))


def _reshape(func: Any, input: Any, *shape: Any, **more: Any) -> Any:
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if more or not sizes or any(type(n) is not int for n in sizes) or sizes.count(-1) > 1:
        return NotImplemented  # among others another dtype, which `view` takes as well
    total, known = math.prod(input.full_shape), math.prod([n for n in sizes if n != -1])
    if known <= 0 or total % known or (-1 not in sizes and known != total):
        return NotImplemented  # the function itself has the right words for it
    return _viewed(func, input, tuple([total // known if n == -1 else n for n in sizes]))


SHAPES = {"flatten": _flatten, "reshape": _reshape, "view": _reshape}


# They tell or set something of the object itself.
PLAIN = frozenset("""
    dim ndimension element_size data_ptr get_device is_floating_point is_complex is_signed requires_grad_
    is_inference retain_grad is_contiguous storage_offset __hash__ is_nonzero_ retains_grad_
    register_post_accumulate_grad_hook
""".split())  # fmt: skip
# Element by element, so each rank's part by itself, as pointwise ops are; in place with an underscore behind.
EACH = frozenset("""
    bernoulli_like bool bfloat16 clone contiguous copy cpu cuda double empty_like fill float full_like half int long
    ones_like pos to type_as zero zeros_like
    __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __neg__ __pos__ __abs__ __invert__ __rsub__ __rtruediv__ __rpow__
    __rmod__ __rfloordiv__ __floordiv__ __and__ __or__ __xor__
""".split())  # fmt: skip
# Of these, what may be done with summands: the sum of the results is the result of the sum.
LINEAR = frozenset("clone contiguous neg negative __neg__ to float double half bfloat16 cpu cuda pos".split())
# Random numbers are drawn for the whole on every rank, as one process would, and each keeps its part.
RANDOM = frozenset("normal_ uniform_ bernoulli_ exponential_ random_ cauchy_ log_normal_ geometric_ trunc_normal_".split())  # fmt: skip
ASKED = frozenset("item __bool__ __float__ __int__ __index__ __complex__ __format__ is_nonzero".split())
TURNED = ("T", "mT", "H", "mH")
_PROPERTIES = {id(v): k for k, v in properties().items()}


def answer(func: Any, args: tuple, kwargs: dict) -> Any:
    """The result of a public function one of whose arguments is a DTensor."""
    name = func.__name__
    if name in ("__get__", "__set__"):
        return _property(func, args, kwargs)
    if name in PLAIN:
        return _plainly(func, args, kwargs)
    if name in ("register_hook", "backward"):
        return _of_tape(name, func, args, kwargs)
    if name in ("numpy", "tolist", "__array__"):
        raise RuntimeError(f".{name}() is not supported for tensor subclasses, got DTensor")
    loss: Any = LOSSES.get(name) if here.losses_cut else None
    if loss is not None:
        return loss(func, *args, **kwargs)
    if here.replicating:  # set by experimental.implicit_replication
        args, kwargs = _replicated(args, kwargs)
    _check(name, args, kwargs)
    if name.startswith("_foreach_") and name[-1] == "_":
        return _plainly(func, *tree_map(_part, (args, kwargs)))
    if name in ASKED:
        return _plainly(func, (local_of(_whole(args[0])), *args[1:]), kwargs)
    if name in RANDOM:
        return _drawn(func, args, kwargs)
    product: Any = PRODUCTS.get(name) or SHAPES.get(name) or DIMS.get(name)
    if product is not None:
        found = product(func, *args, **kwargs)
        if found is not NotImplemented:
            return found
    if name in EACH or (name[-1] == "_" and name[:-1] in EACH) or is_pointwise(name):
        found = _each_part(name, func, args, kwargs)
        if found is not NotImplemented:
            return found
    return _on_whole(name, func, args, kwargs)


def _plainly(func: Any, args: Any, kwargs: Any) -> Any:
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def _property(func: Any, args: tuple, kwargs: dict) -> Any:
    name = _PROPERTIES.get(id(func.__self__), "")
    if name in TURNED:
        return args[0].transpose(-2, -1) if args[0].dim() > 1 else args[0]
    if name in ("real", "imag"):
        return _each_part(name, func, args, kwargs)
    return _plainly(func, args, kwargs)


def _of_tape(name: str, func: Any, args: tuple, kwargs: dict) -> Any:
    t = args[0]
    if name == "backward":
        parts = tree_map(_part, (args, kwargs))
        return _plainly(func, parts[0], parts[1])

    def hook(g: Any) -> Any:
        told = args[1](spread(DTensor, g, t.device_mesh, t.placements, t.full_shape))
        return local_of(told) if isinstance(told, DTensor) else told

    return _plainly(func, (t, hook), kwargs)


def _part(t: Any) -> Any:
    return local_of(t) if isinstance(t, DTensor) else t


def _replicated(args: tuple, kwargs: dict) -> Any:
    """Plain tensors as DTensors that every rank has whole, see `experimental.implicit_replication`."""
    mesh = next(t.device_mesh for t in tree_leaves((args, kwargs)) if isinstance(t, DTensor))

    def spread_out(t: Any) -> Any:
        plain = isinstance(t, Tensor) and not isinstance(t, DTensor) and t.dim()
        return DTensor.from_local(t, mesh, [Replicate()] * mesh.ndim) if plain else t

    return tree_map(spread_out, (args, kwargs))


def _check(name: str, args: tuple, kwargs: dict) -> None:
    """All tensors are spread over one mesh; plain ones are numbers."""
    leaves = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
    spreads = [t for t in leaves if isinstance(t, DTensor)]
    others = [t for t in leaves if not isinstance(t, DTensor)]
    if any(t.device_mesh != spreads[0].device_mesh for t in spreads):
        raise RuntimeError(f"{name}: the DTensors are on different meshes, {spreads[0].device_mesh} and another one")
    if any(t.dim() for t in others):
        raise RuntimeError(
            f"aten.{name} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
            "DTensor before calling distributed operators!"
        )


def _whole(t: DTensor) -> DTensor:
    return t._as((Replicate(),) * t.device_mesh.ndim)


def _summands(t: Any) -> bool:
    return any(k.is_partial() for k in t.placements)


def without_summands(t: Any) -> Any:
    """A DTensor whose summands are added up; all ranks call it."""
    if not isinstance(t, DTensor) or not _summands(t):
        return t
    return t._as(tuple([Replicate() if k.is_partial() else k for k in t.placements]))


# -- element by element ------------------------------------------------------------------------------


def _each_part(name: str, func: Any, args: tuple, kwargs: dict) -> Any:
    inplace = name[-1] == "_" and not name.startswith("__")
    spreads = [t for t in tree_leaves((args, kwargs)) if isinstance(t, DTensor)]
    if inplace and not isinstance(args[0], DTensor):
        raise RuntimeError(f"aten.{name} got mixed torch.Tensor and DTensor: a plain tensor cannot take a DTensor's values")  # fmt: skip
    linear = name in LINEAR or (name in ("mul", "div", "true_divide") and len(spreads) == 1 and not isinstance(args[1], Tensor))  # fmt: skip
    if not (linear and all(k in (Partial("sum"), Partial("avg")) for t in spreads for k in t.placements if k.is_partial())):  # fmt: skip
        if inplace and _summands(args[0]):
            return NotImplemented
        args, kwargs = tree_map(without_summands, (args, kwargs))
    first = args[0] if inplace else _model([t for t in tree_leaves((args, kwargs)) if isinstance(t, DTensor)])
    mesh, kinds, shape = first.device_mesh, first.placements, first.full_shape
    cut = [i for i, k in enumerate(kinds) if k.is_shard()]
    unfit = []

    def own(t: Any) -> Any:
        if not isinstance(t, DTensor):
            return summed_back(t, mesh, cut) if isinstance(t, Tensor) else t
        if t is first and inplace:
            return local_of(t)
        if t.full_shape == shape:
            return local_of(t._as(kinds))
        if _reaches(t, kinds, len(shape)) and len(t.full_shape) <= len(shape):
            return summed_back(local_of(t), mesh, cut)
        unfit.append(t)
        return t

    parts = tree_map(own, (args, kwargs))
    if unfit:
        return NotImplemented
    result = _plainly(func, parts[0], parts[1])
    if inplace:
        return _taken_over(first, parts[0][0], result)
    return tree_map(lambda r: _wrapped(r, mesh, kinds, shape), result)


def _model(spreads: list[DTensor]) -> DTensor:
    """The argument whose placements the result has: one of the most dims, cut if possible."""
    most = max(len(t.full_shape) for t in spreads)
    largest = [t for t in spreads if len(t.full_shape) == most]
    largest.sort(key=lambda t: -t.numel())
    biggest = [t for t in largest if t.numel() == largest[0].numel()]
    return next((t for t in biggest if any(k.is_shard() for k in t.placements)), biggest[0])


def _reaches(t: DTensor, kinds: tuple[Placement, ...], ndim: int) -> bool:
    """Whether a whole tensor is stretched along every dim that the others are cut along."""
    if any(not k.is_replicate() for k in t.placements):
        return False
    missing = ndim - len(t.full_shape)
    return all(k.dim < missing or t.full_shape[k.dim - missing] == 1 for k in kinds if isinstance(k, Shard))


def _wrapped(r: Any, mesh: Any, kinds: tuple[Placement, ...], shape: tuple[int, ...]) -> Any:
    if not isinstance(r, Tensor):
        return r
    full = shape
    if all(k.is_replicate() for k in kinds):
        full = tuple(r.shape)
    return spread(DTensor, r, mesh, kinds, full)


def _taken_over(t: DTensor, part: Tensor, result: Any) -> Any:
    """After a change in place: the spread tensor has the part's memory and history."""
    if isinstance(result, Tensor):
        t._a, t._edge, t._ver, t._ext = part._a, part._edge, part._ver, part._ext
        return t
    return result


# -- on the whole --------------------------------------------------------------------------------------


def _on_whole(name: str, func: Any, args: tuple, kwargs: dict) -> Any:
    """Gather every argument; every rank computes all of it."""
    if kwargs.get("out") is not None:
        raise NotImplementedError(f"{name}(out=...) with DTensors: use the result")
    mesh = next(t for t in tree_leaves((args, kwargs)) if isinstance(t, DTensor)).device_mesh
    every: tuple[Placement, ...] = (Replicate(),) * mesh.ndim
    parts = tree_map(lambda t: local_of(_whole(t)) if isinstance(t, DTensor) else t, (args, kwargs))
    if (name[-1] == "_" and not name.startswith("__")) or name == "__setitem__":
        t = args[0]
        mine = parts[0][0].clone() if parts[0][0]._a is t._a else parts[0][0]
        _plainly(func, (mine, *parts[0][1:]), parts[1])
        _keep(t, mine)
        return None if name == "__setitem__" else t
    result = _plainly(func, parts[0], parts[1])
    return tree_map(lambda r: _wrapped(r, mesh, every, ()), result)


def _keep(t: DTensor, whole: Tensor) -> None:
    """Let a spread tensor have the values of a whole one."""
    every: tuple[Placement, ...] = (Replicate(),) * t.device_mesh.ndim
    part = moved(whole, t.full_shape, t.device_mesh, every, t.placements)
    if part.requires_grad:
        raise RuntimeError("this change of a DTensor in place cannot be recorded: write it without the underscore")
    with no_grad():
        local_of(t.detach()).copy_(part)


def _drawn(func: Any, args: tuple, kwargs: dict) -> Any:
    t = args[0]
    if t.requires_grad and t.is_leaf and _recording():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    with no_grad():
        whole = local_of(t).detach().new_empty(t.full_shape)
        _plainly(func, (whole, *args[1:]), kwargs)
        _keep(t, whole)
    return t


def _recording() -> bool:
    from ...core.modes import is_grad_enabled

    return is_grad_enabled()


DTensor._answer = staticmethod(answer)  # type: ignore[assignment]
