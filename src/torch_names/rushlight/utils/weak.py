"""`torch.utils.weak`: tables of what belongs to tensors, which keep no tensor alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

from ..core.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to others of the same object, whatever the object's `==` says.

    Args:
        key: the object.
        callback: called when the object is gone.

    Example:
        >>> from rushlight.utils.weak import WeakIdRef
        >>> x = torch.ones(2)
        >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(x.clone())
        (True, False)
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or theirs is None else mine is theirs


class WeakIdKeyDictionary(MutableMapping):
    """A dict by objects themselves; an entry goes when its key goes.

    Args:
        dict: what it begins with.

    Example:
        >>> from rushlight.utils.weak import WeakIdKeyDictionary
        >>> x = torch.ones(2)
        >>> table = WeakIdKeyDictionary({x: "a"})
        >>> table[x], len(table)
        ('a', 1)
        >>> del x
        >>> len(table)
        0
    """

    def __init__(self, dict: Any = None, ref_type: type = WeakIdRef) -> None:  # noqa: A002
        self.ref_type = ref_type
        self.data: Any = {}
        self.update(dict or {})

    def _key(self, key: Any) -> Any:
        data = self.data
        return self.ref_type(key, lambda gone: data.pop(gone, None))

    def __getitem__(self, key: Any) -> Any:
        try:
            return self.data[self.ref_type(key)]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self._key(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        return self.ref_type(key) in self.data

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor.

    Args:
        tensor: the tensor.

    Example:
        >>> from rushlight.utils.weak import TensorWeakRef
        >>> x = torch.ones(2)
        >>> TensorWeakRef(x)() is x
        True
    """

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
