"""Locks that a forked child can use: it has none of the threads that may hold them.

A child copies a lock as it is, held or not, but only the thread that forked lives on in it. Every lock of
rushlight comes from here and is new in the child. Where the data behind a lock must be whole there too
(a random stream in the middle of a draw), the forking thread also takes the lock for the moment of the
fork; such a lock guards a short stretch in which no other lock is taken, so nobody waits in a circle.

Python itself holds a lock per module while it is imported, and a child would wait for ever for a module
that another thread was importing (our engine, at the first operation): a fork waits for such imports. One
that begins between the last look and the fork, or lasts longer than the fork waits, is undone in the child,
which imports the module itself when it needs it.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
import weakref
from typing import Any

_PATIENCE_S = 5.0  # a fork waits so long for other threads' imports

# Python's modules that take a lock before a fork and release it after: imported while a fork waits, they only release.
_LOCKED_FOR_FORKS = {"logging": "_lock", "concurrent.futures.thread": "_global_shutdown_lock"}

_renewed: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_taken: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


class _Holding(threading.local):
    """The locks this thread holds because it is about to fork."""

    def __init__(self) -> None:
        self.locks: list[Any] = []


_holding = _Holding()


def new_lock() -> Any:
    """A `threading.Lock` that is free in a forked child."""
    return renew_in_child(threading.Lock())


def new_rlock() -> Any:
    """A `threading.RLock` that is free in a forked child."""
    return renew_in_child(threading.RLock())


def new_quiet_rlock() -> Any:
    """An RLock that no other thread holds at the moment of a fork."""
    lock = new_rlock()
    _taken[id(lock)] = lock
    return lock


def renew_in_child(lock: Any) -> Any:
    """Release, in a forked child, a lock that other code made."""
    _renewed[id(lock)] = lock
    return lock


def _alive(locks: weakref.WeakValueDictionary) -> list[Any]:
    # One call in C: other threads may make locks meanwhile.
    return [lock for ref in locks.valuerefs() if (lock := ref()) is not None]


def _imports() -> dict[str, Any]:
    """Which thread imports which module, None where it is about to; private to Python, but old and stable."""
    locks = getattr(importlib._bootstrap, "_module_locks", {})  # type: ignore[attr-defined]
    alive = [(name, lock) for name, ref in list(locks.items()) if (lock := ref()) is not None]
    return {name: getattr(lock, "owner", None) for name, lock in alive}


def _others_import() -> bool:
    me = threading.get_ident()
    return any(owner not in (None, me) for owner in _imports().values())


def _settled() -> set[str]:
    """Those of the modules above that are imported: a fork has asked them to take their locks."""
    found = [(name, sys.modules.get(name)) for name in _LOCKED_FOR_FORKS]
    return {n for n, m in found if m is not None and not getattr(m.__spec__, "_initializing", False)}


def _before() -> None:
    """Hold the quiet locks while no other thread imports; an import that waits for this thread is not waited for."""
    settled = _settled()
    _wait_for_imports()
    for name in _settled() - settled:  # it will release what nobody asked it to take
        getattr(sys.modules[name], _LOCKED_FOR_FORKS[name]).acquire()


def _wait_for_imports() -> None:
    until = time.monotonic() + _PATIENCE_S
    while True:
        for lock in _alive(_taken):
            lock.acquire()
            _holding.locks.append(lock)
        if not _others_import() or time.monotonic() > until:
            return
        _in_parent()  # an import may draw random numbers
        time.sleep(0.001)


def _in_parent() -> None:
    while _holding.locks:
        _holding.locks.pop().release()


def _in_child() -> None:
    _holding.locks.clear()
    for lock in _alive(_renewed):
        lock._at_fork_reinit()  # what the threading module does with its own locks
    _undo_imports()


def _undo_imports() -> None:
    """Forget modules that a thread of the parent had half imported: it will not go on in this process."""
    me = threading.get_ident()
    for name in [name for name, owner in _imports().items() if owner != me]:
        importlib._bootstrap._module_locks.pop(name, None)  # type: ignore[attr-defined]
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if getattr(spec, "_initializing", False):
            del sys.modules[name]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
