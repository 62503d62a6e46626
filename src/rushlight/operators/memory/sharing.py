"""Tensors in memory that several processes see: moving them there, and sending them without a copy.

`torch.multiprocessing` and `share_memory_` teach Python's own multiprocessing what is below: a tensor on the
CPU that is put into a queue, or given to a process, travels as a descriptor of its memory. One that is not
shared yet is moved into shared memory first, as in PyTorch; where other tensors or arrays look at the same
memory, it cannot be moved away from them, and the other process gets a copy.
"""

from __future__ import annotations

import mmap
import os
import weakref
from functools import cache
from sys import getrefcount
from typing import Any

import numpy as np

from ...base import shared_blocks
from ...base.dtypes import dtype, from_np, get_default_dtype
from ...base.formats import strided
from ...base.shared_blocks import Block, mapped
from ...core.exposed import exposed
from ...core.memory import data_pointer, in_memory_order, root_array
from ...core.public import public
from ...core.references import unwatched
from ...core.tensor import Tensor, wrap
from ...runtime.thread import settle
from ...runtime.wrapped import WrappedArray
from ..create.legacy import of_class
from ..shape.strided import Geometry, geometry, strided_over

_roots: weakref.WeakValueDictionary[tuple, Any] = weakref.WeakValueDictionary()  # one per storage


def _root(block: Block, at: int, count: int, kind: Any) -> Any:
    """The array of a whole storage in a block: the same one for all tensors that look at it."""
    where = (block.key, at, count, kind)
    root = _roots.get(where)
    if root is None:
        root = _roots[where] = np.frombuffer(block, kind, count, at)
    return root


def _seen(root: Any, kind: Any, home: Geometry) -> Any:
    """The part of a storage that a tensor looks at; other processes may look at it, too."""
    a = strided_over(np, root, kind, *home)  # type: ignore[arg-type]
    exposed.add(a)
    return a


def _moved(a: Any) -> Any:
    """The same view of the same storage, in shared memory."""
    root = root_array(a)
    block, at = shared_blocks.take(max(root.nbytes, 1))
    shared = _root(block, at, root.size, root.dtype)
    shared[...] = in_memory_order(root)
    return _seen(shared, a.dtype, geometry(a))


def _move(t: Tensor) -> Any:
    """Move a tensor's memory, and with it the tensor that it is a view of."""
    base = t._base
    t._a = a = _moved(t._a)
    if base is not None:
        base._a = _seen(root_array(a), base._a.dtype, geometry(base._a))
    return a


@public("Tensor")
def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor into memory that other processes can map; returns the tensor itself.

    Processes that are forked later, or that get the tensor as an argument or through a queue, see its
    memory: what one writes, the others read. Views that were made before keep the old memory.

    Example:
        >>> torch.zeros(2).share_memory_().is_shared()
        True
    """
    register()
    if self.is_cpu and not is_shared(self):
        settle()
        _move(self)
    return self


@public("Tensor")
def is_shared(self: Tensor) -> bool:
    """Whether other processes can see this tensor's memory.

    Example:
        >>> torch.zeros(2).is_shared()
        False
    """
    return self.is_cuda or (self.is_cpu and mapped(root_array(self._a)) is not None)


@public("torch")
def from_file(
    filename: str, shared: bool | None = None, size: int = 0, *, dtype: dtype | None = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor over the bytes of a file, read as they are looked at.

    Args:
        filename: the file; with `shared` it is made, or made longer, where it has not enough bytes.
        shared: write changes to the file; other processes that map it see them.
        size: how many elements.
        dtype: of the elements; the default dtype if None.
        layout: only dense tensors.
        device: only the CPU.
        pin_memory: only False.
        requires_grad: record what is done with it.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
        >>> x = torch.from_file(path, shared=True, size=2)
        >>> x.copy_(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
        >>> torch.from_file(path, size=2)
        tensor([1., 2.])
    """
    if not isinstance(filename, str):  # open() would take a number for a descriptor, and close it
        raise TypeError(f"from_file(): argument 'filename' (position 1) must be str, not {type(filename).__name__}")
    kind = get_default_dtype() if dtype is None else dtype
    if pin_memory or (layout is not None and layout is not strided):
        what = "be pinned" if pin_memory else f"have the layout {layout}"
        raise RuntimeError(f"tensors constructed from a file cannot {what}")
    if device is not None and str(device) != "cpu":
        raise RuntimeError(f"from_file(): only tensors on the CPU lie in files, not on {device}")
    wanted = size * kind.itemsize
    try:
        file = open(filename, "a+b" if shared else "rb")
    except OSError as e:
        raise RuntimeError(f"unable to open file <{filename}>: {e.strerror} ({e.errno})") from None
    with file:
        there = os.fstat(file.fileno()).st_size
        if there < wanted:
            if not shared:
                raise RuntimeError(
                    f"file <{filename}> size <{there}> is smaller than the required mapping size <{wanted}>"
                )
            file.truncate(wanted)
        if not wanted:
            return wrap(np.empty(0, kind.np)).requires_grad_(requires_grad)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        block = mmap.mmap(file.fileno(), wanted, access=access)
    a = np.frombuffer(block, kind.np, size)
    exposed.add(a)
    return wrap(a).requires_grad_(requires_grad)


# -- who else looks at a tensor's memory ------------------------------------------------------------


def _owners(t: Tensor) -> tuple[int, int, int]:
    """References to the tensor's array, to the array that owns the memory, and to the tensor that it is a view of."""
    a = t._a
    root = root_array(a)
    base = t._base
    return getrefcount(a), getrefcount(root), 0 if base is None else getrefcount(base)


@cache
def _fewest() -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The counts of tensors that alone have their memory: a whole, a part, and a view of a whole that nobody else has."""
    return unwatched(
        lambda: (
            _owners(wrap(np.zeros(2))),
            _owners(wrap(np.zeros(2)[1:])),
            _owners(wrap(np.zeros((2, 3))).transpose(0, 1)),
        )
    )


def _alone(t: Tensor) -> bool:
    whole, part, view = _fewest()
    most = view if t._base is not None else whole if t._a.base is None else part
    return all(n <= m for n, m in zip(_owners(t), most))


# -- the way to another process ---------------------------------------------------------------------


def reduce_tensor(t: Tensor) -> Any:
    """How a tensor is sent: its block of memory, and where and how it lies in it."""
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad: the graph behind it "
            "cannot go to another process. detach() it before it is sent"
        )
    if not t.is_cpu or t.is_nested or t.is_sparse or t._a.__class__ is WrappedArray:
        return t.__reduce_ex__(2)
    settle()
    a = t._a
    if not isinstance(mapped(root_array(a)), Block):
        del a
        if _alone(t):
            a = _move(t)
        else:
            a = _moved(t.detach().clone()._a)
    root = root_array(a)
    block: Block = mapped(root)
    place = (data_pointer(root) - block.address, root.size, from_np(root.dtype))
    cls = None if type(t) is Tensor else type(t)
    return _rebuild, (cls, block, place, t.dtype, geometry(a), t.requires_grad, t.__dict__ or None)


def _rebuild(
    cls: type | None, block: Block, place: tuple[int, int, dtype], kind: dtype, home: Geometry, grad: bool,
    extra: dict[str, Any] | None,
) -> Tensor:  # fmt: skip
    at, count, stored = place
    t = wrap(_seen(_root(block, at, count, stored.np), kind.np, home))
    if cls is not None:
        t = of_class(t, cls)
    if extra:
        t.__dict__.update(extra)
    return t.requires_grad_(grad)


def _reduce_block(block: Block) -> Any:
    from multiprocessing.reduction import DupFd

    return _join, (DupFd(block.fd), len(block), block.key)


def _join(sent: Any, size: int, key: bytes) -> Block:
    return shared_blocks.join(sent.detach(), size, key)


def register(*classes: type[Tensor]) -> None:
    """Let multiprocessing send tensors, and the given subclasses of theirs, by their memory."""
    from multiprocessing.reduction import ForkingPickler

    ForkingPickler.register(Block, _reduce_block)
    kinds: tuple[type, ...] = (Tensor, *classes)
    for cls in kinds:
        ForkingPickler.register(cls, reduce_tensor)
