"""DTensor: a tensor that is spread over the ranks of a mesh, of which every rank holds a part.

Its shape is that of the whole, as if one process had it. Underneath lies this rank's part, an ordinary array: the
tape, optimisers and checkpoints work on it. Functions of PyTorch find their way by `rules.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...base.shapes import Size, wrap_dim
from ...core.overriding import notice
from ...core.tensor import Tensor, tensor_over
from .moving import moved, rows_of, whole_gradient
from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard

__all__ = ["DTensor", "distribute_tensor", "local_of", "rows_of", "spread"]


class DTensor(Tensor):
    """A tensor that is spread over the ranks of a mesh.

    Made by `distribute_tensor` and `DTensor.from_local`; the parameters of `fully_shard` are such tensors.

    Example:
        >>> from rushlight.distributed.tensor import Shard, distribute_tensor
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> t = distribute_tensor(torch.arange(4), mesh, [Shard(0)])
        >>> t.to_local(), t.full_tensor()
        (tensor([0, 1, 2, 3]), tensor([0, 1, 2, 3]))
    """

    device_mesh: Any
    placements: tuple[Placement, ...]
    full_shape: tuple[int, ...]
    _answer: ClassVar[Callable[[Any, tuple, dict], Any]]  # rules.py, which needs this class first

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls._answer(func, args, kwargs or {})

    # -- making and moving ------------------------------------------------------------------------

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: Any = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
    ) -> DTensor:
        """A tensor of which every rank gives its part.

        Args:
            local_tensor: this rank's part.
            device_mesh: the ranks.
            placements: how the parts lie, one for each dim of the mesh; `Replicate()` if not given.
            run_check: take the values of the first rank where every rank should have the same.
            shape: of the whole, needed where parts are not equally long.
            stride: accepted and not needed.
        """
        mesh = _mesh_or_world(device_mesh)
        kinds = _positive(placements or (Replicate(),) * mesh.ndim, local_tensor.dim())
        full = list(local_tensor.shape)
        for i, kind in enumerate(kinds):
            if isinstance(kind, Shard) and shape is None:
                full[kind.dim] *= mesh.size(i)
        made = spread(DTensor, local_tensor, mesh, kinds, tuple(full if shape is None else shape))
        if run_check:
            _take_first(made)
        return made

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """This rank's part as a plain tensor over the same memory.

        Args:
            grad_placements: how the part's gradients will lie, if not as the tensor does.
        """
        plain = local_of(self)
        if grad_placements is None or not plain.requires_grad:
            return plain
        return whole_gradient(plain, self.full_shape, self.device_mesh, grad_placements, self.placements)

    def redistribute(
        self,
        device_mesh: Any = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor with other placements; all ranks call it.

        Args:
            device_mesh: the mesh that it is on.
            placements: how it shall lie, one for each dim of the mesh.
            async_op: accepted; it is there when the call returns.
            forward_dtype, backward_dtype: not supported.

        Raises:
            RuntimeError: if the placements are not given, or are `Partial`.
            NotImplementedError: if the mesh is another one.
        """
        if forward_dtype is not None or backward_dtype is not None:
            raise NotImplementedError("redistribute(forward_dtype=..., backward_dtype=...): cast the tensor first")
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        kinds = _positive(placements, self.dim())
        for old, new in zip(self.placements, kinds):
            if new.is_partial() and new != old:
                raise RuntimeError(
                    f"Can not redistribute from {old} to {new}, redistributing to Partial is for internal use only!"
                )
        return self._as(kinds)

    def _as(self, kinds: tuple[Placement, ...]) -> DTensor:
        mesh, shape = self.device_mesh, self.full_shape
        local = moved(local_of(self), shape, mesh, self.placements, kinds)
        return spread(DTensor, local, mesh, kinds, shape)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole tensor, on every rank; all ranks call it.

        Args:
            grad_placements: how its gradients will lie, if not whole on every rank.
        """
        whole = self._as((Replicate(),) * self.device_mesh.ndim)
        local = whole.to_local(grad_placements=grad_placements)
        return local.clone() if local._a is self._a else local

    # -- what it is -------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The size of every dimension of the whole tensor."""
        return Size(self.full_shape)

    def size(self, dim: int | None = None) -> Any:
        """The size of every dimension of the whole tensor, or of one."""
        return Size(self.full_shape) if dim is None else self.full_shape[wrap_dim(dim, self.dim())]

    def numel(self) -> int:
        """The number of elements of the whole tensor."""
        return int(np.prod(self.full_shape, dtype=np.int64))

    nelement = numel

    @property
    def nbytes(self) -> int:
        """The number of bytes of the whole tensor."""
        return self.numel() * self._a.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """The strides of the whole tensor, row by row."""
        found: list[int] = []
        step = 1
        for n in reversed(self.full_shape):
            found.insert(0, step)
            step *= max(n, 1)
        return tuple(found) if dim is None else found[wrap_dim(dim, len(found))]

    def __len__(self) -> int:
        if not self.full_shape:
            raise TypeError("len() of a 0-d tensor")
        return self.full_shape[0]

    @property
    def _local_tensor(self) -> Tensor:
        return local_of(self)

    @property
    def data(self) -> DTensor:
        """The same tensor without history."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        self._a = value._a

    @property
    def grad(self) -> Any:
        """The gradient, spread as the tensor is."""
        held = self._grad
        if held is None:
            return None
        return spread(DTensor, held, self.device_mesh, _of_gradient(self.placements), self.full_shape)

    @grad.setter
    def grad(self, value: Any) -> None:
        if isinstance(value, DTensor):
            value = local_of(value._as(_of_gradient(self.placements)))
        if value is not None and value._a.shape != self._a.shape:
            raise RuntimeError(
                f"assigned grad has data of a different size: {list(value.shape)} for {list(self._a.shape)}"
            )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def detach(self) -> DTensor:  # type: ignore[override]
        """The same tensor without history, still spread: what a state dict holds."""
        made = spread(DTensor, local_of(self), self.device_mesh, self.placements, self.full_shape)
        made._edge = None
        return made

    # -- as an object -----------------------------------------------------------------------------

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"DTensor(local_tensor={local_of(self).detach()}, device_mesh={self.device_mesh!r}, placements={self.placements})"

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) not in memo:
            made = spread(type(self), local_of(self).detach().clone(), self.device_mesh, self.placements, self.full_shape)  # fmt: skip
            if getattr(self, "_is_param", False):
                made._is_param = True
            memo[id(self)] = made.requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __copy__(self) -> DTensor:
        made = spread(type(self), local_of(self).detach(), self.device_mesh, self.placements, self.full_shape)
        if getattr(self, "_is_param", False):
            made._is_param = True
        return made.requires_grad_(self.requires_grad)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """This rank's part, and how it lies; a process with another rank gets the same part from it."""
        kinds = tuple([_words(kind) for kind in self.placements])
        param = bool(getattr(self, "_is_param", False))
        told = (local_of(self).detach(), self.device_mesh, kinds, self.full_shape)
        return rebuilt, (*told, self.requires_grad, param)


def _words(kind: Placement) -> tuple[Any, ...]:
    """A placement in numbers and text, which any reader of files understands."""
    if isinstance(kind, _StridedShard):
        return ("strided", kind.dim, kind.split_factor)
    if isinstance(kind, Shard):
        return ("shard", kind.dim)
    return ("partial", kind.reduce_op) if isinstance(kind, Partial) else ("replicate",)


def _kind(words: Any, ndim: int) -> Placement:
    match words:
        case ("shard", int(dim)) if 0 <= dim < ndim:
            return Shard(dim)
        case ("strided", int(dim), int(factor)) if 0 <= dim < ndim:
            return _StridedShard(dim, factor)
        case ("partial", str(reduce_op)):
            return Partial(reduce_op)
        case ("replicate",):
            return Replicate()
    raise ValueError("this does not describe how a tensor lies on ranks")


def rebuilt(local: Any, mesh: Any, kinds: Any, shape: Any, requires_grad: Any, param: Any) -> DTensor:
    """A DTensor that was pickled, in this run or another one.

    Raises:
        ValueError: if this does not describe one.
    """
    sound = isinstance(local, Tensor) and type(kinds) is tuple and isinstance(shape, tuple)
    if not sound or not hasattr(mesh, "get_coordinate") or len(kinds) != mesh.ndim:
        raise ValueError("this does not describe a DTensor")
    if len(shape) != local.dim() or any(type(n) is not int or n < m for n, m in zip(shape, local.shape)):
        raise ValueError("the part of a DTensor is larger than the whole")
    found = tuple([_kind(words, len(shape)) for words in kinds])
    made = spread(DTensor, local.detach(), mesh, found, shape)
    if param is True:
        made._is_param = True
    return made.requires_grad_(requires_grad is True)


def local_of(t: Any) -> Tensor:
    """This rank's part, with its history; the versions of both are counted together."""
    plain = tensor_over(t._a, t._a.__class__)
    if t._ver is None:
        t._ver = [0]
    plain._edge, plain._ver = t._edge, t._ver
    return plain


def _of_gradient(kinds: tuple[Placement, ...]) -> tuple[Placement, ...]:
    return tuple([Replicate() if k.is_partial() else k for k in kinds])


def _positive(placements: Any, ndim: int) -> tuple[Placement, ...]:
    """Placements whose dims are counted from the front."""
    found = []
    for kind in placements:
        if isinstance(kind, Shard):
            dim = kind.dim + ndim if kind.dim < 0 else kind.dim
            if not 0 <= dim < ndim:
                raise AssertionError(f"Sharding dim {kind.dim} greater than tensor ndim {ndim}")
            kind = kind if dim == kind.dim else Shard(dim)
        found.append(kind)
    return tuple(found)


def _mesh_or_world(mesh: Any) -> Any:
    if mesh is not None:
        return mesh
    from ..device_mesh import init_device_mesh
    from ..groups import group_of

    return init_device_mesh("cpu", (group_of().size(),))


def _take_first(made: DTensor) -> None:
    """Where every rank should have the same, the values of the first one."""
    from ..collectives import broadcast

    for i, kind in enumerate(made.placements):
        if kind.is_replicate():
            broadcast(local_of(made).detach(), group=made.device_mesh.get_group(i), group_src=0)


def spread(cls: type, local: Tensor, mesh: Any, placements: tuple[Placement, ...], full: tuple[int, ...]) -> Any:
    """A DTensor of class `cls` over a part that is there."""
    notice(cls)
    made: Any = object.__new__(cls)
    made._a = local._a
    made._edge = local._edge
    made._ver = local._ver
    made._grad = made._ext = None
    made.device_mesh, made.placements, made.full_shape = mesh, placements, tuple(full)
    return made


def distribute_tensor(
    tensor: Tensor, device_mesh: Any = None, placements: Any = None, *, src_data_rank: int | None = 0
) -> DTensor:
    """Spread a tensor over the ranks of a mesh; the values are those of one rank.

    Args:
        tensor: the whole, of the same shape on every rank.
        device_mesh: the ranks; all in one line if not given.
        placements: `Shard(dim)` or `Replicate()` for each dim of the mesh; `Replicate()` if not given.
        src_data_rank: the rank, in each line of the mesh, whose values count; None: every rank has the same, and
            nothing is sent.

    Raises:
        ValueError: if there are not as many placements as the mesh has dims.

    Example:
        >>> from rushlight.distributed.tensor import Shard, distribute_tensor
        >>> t = distribute_tensor(torch.arange(4), dist.init_device_mesh("cpu", (1,)), [Shard(0)])
        >>> t.placements
        (Shard(dim=0),)
    """
    mesh = _mesh_or_world(device_mesh)
    kinds = _positive(placements or (Replicate(),) * mesh.ndim, tensor.dim())
    if len(kinds) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
            f"{len(kinds)}, and device_mesh.ndim: {mesh.ndim}."
        )
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or tensor.placements != kinds:
            raise ValueError("Cannot distribute a DTensor with another mesh or placements: use redistribute")
        return tensor
    whole = tensor.detach().clone()
    if src_data_rank is not None:
        from ..collectives import broadcast

        for i in range(mesh.ndim):
            broadcast(whole, group=mesh.get_group(i), group_src=src_data_rank)
    every = (Replicate(),) * mesh.ndim
    local = moved(whole, tuple(tensor.shape), mesh, every, kinds)
    made = spread(DTensor, local, mesh, kinds, tuple(tensor.shape))
    return made.requires_grad_(tensor.requires_grad)
