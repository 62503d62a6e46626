"""The devices of this machine: one Backend object per device type, found by name or by array type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import numpy as np

from ..base.arrays import ArrayModule, KernelBody, KernelLike, RandomStream
from ..base.device import device

A = TypeVar("A")  # the class of a device's arrays


class Backend(Protocol[A]):
    """What a device type must be able to do; arrays are its own type."""

    type: str
    array_type: Any  # the class A itself

    @property
    def xp(self) -> ArrayModule: ...

    def bind(self, kernel: KernelLike) -> KernelBody: ...
    def check(self, d: device) -> device: ...
    def device_of(self, a: A) -> device: ...
    def from_host(self, a: np.ndarray, d: device) -> A: ...
    def to_host(self, a: A) -> np.ndarray: ...
    def asarray(self, value: Any, like: A | None = None) -> A: ...
    def synchronize(self, d: device) -> None: ...
    def stream(self, d: device) -> Any: ...  # a RandomStream, with what kernels of the device read


class OverOthers:
    """A backend of arrays without memory of their own: what it is asked as a device, the device under it answers."""

    xp: Any = np

    def check(self, d: device) -> device:
        return d

    def device_of(self, a: Any) -> device:
        return a.place

    def from_host(self, a: np.ndarray, d: device) -> Any:
        return backend_of(d).from_host(a, d)

    def asarray(self, value: Any, like: Any = None) -> Any:
        return np.asarray(value)

    def synchronize(self, d: device) -> None:
        backend_of(d).synchronize(d)

    def stream(self, d: device) -> Any:
        return backend_of(d).stream(d)


class Devices:
    """What is known of the devices of this process; each says its own part when it is opened."""

    def __init__(self) -> None:
        self.loaders: dict[str, Callable[[], Backend]] = {}  # how a type is opened, see __init__
        self.by_name: dict[str, Backend] = {}  # those that are open
        self.by_type: dict[type, Backend] = {}  # the same by type of array
        self.overrides: dict[str, dict[str, KernelBody]] = {}  # bodies that a device has of its own
        # Array types whose backend may itself hold a reference to an array, which reference counting must not mistake
        # for a user's; with the function that says whether it holds one.
        self.keepers: dict[type, Callable[[Any], bool]] = {}
        # And how to tell it whether it may hand such an array out again; the answer is how it was until now.
        self.reusers: dict[type, Callable[[bool], bool]] = {}
        # How a device makes an optimiser's call ready: (kernel's name, arrays, attributes, whether it is one of several)
        # -> whether the call changes all or nothing and, as one of several, takes no more memory.
        self.preparers: dict[type, Callable[[str, list[Any], dict[str, Any], bool], bool]] = {}


known = Devices()


@contextmanager
def nothing_reused() -> Iterator[None]:
    """Inside the block every result of a kernel is a new array, for code that distinguishes arrays by identity."""
    before = [(reuse, reuse(False)) for reuse in known.reusers.values()]
    try:
        yield
    finally:
        for reuse, was in before:
            reuse(was)


def overrides(device_type: str) -> dict[str, KernelBody]:
    """The device's own kernel bodies, by kernel name."""
    return known.overrides.setdefault(device_type, {})


def register(backend: Backend) -> None:
    known.by_name[backend.type] = backend
    known.by_type[backend.array_type] = backend


def register_type(backend: Backend) -> None:
    """Know arrays that belong to no device of their own."""
    known.by_type[backend.array_type] = backend


def backend_of(d: device) -> Backend:
    """The backend of a device name, imported on first use; raises if the device cannot be used."""
    found = known.by_name.get(d.type)
    if found is None:
        found = _load(d.type)
    return found


def _load(name: str) -> Backend:
    if name not in known.loaders:
        raise RuntimeError(f"rushlight has no backend for device type {name!r}; it runs on cpu and cuda.")
    register(known.loaders[name]())
    return known.by_name[name]


def backend_of_type(cls: type) -> Backend:
    found = known.by_type.get(cls)
    if found is None:
        for base, backend in known.by_type.items():
            if issubclass(cls, base):
                known.by_type[cls] = backend
                return backend
        raise TypeError(f"no device knows arrays of type {cls.__name__}")
    return found


def is_array(value: Any) -> bool:
    """Whether a value is a raw array of any loaded device."""
    return type(value) in known.by_type


def classes_with_memory() -> list[type]:
    """The classes of arrays of the devices that have been opened."""
    return [backend.array_type for backend in known.by_name.values()]


def device_of(a: Any) -> device:
    """The device a raw array lives on."""
    return backend_of_type(a.__class__).device_of(a)


def open_streams(device_type: str) -> list[RandomStream]:
    """The default random streams of every device of a type that has been opened."""
    found = known.by_name.get(device_type)
    listed = getattr(found, "streams", None)
    return [] if listed is None else list(listed())


def seed_others(seed: int) -> None:
    """Restart the streams of devices other than the CPU; one opened later asks `settings.seed`."""
    for name in known.by_name:
        if name != "cpu":
            for stream in open_streams(name):
                stream.manual_seed(seed)
