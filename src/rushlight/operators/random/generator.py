"""Generator: a random stream with a device, and the default one that functions draw from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...base.config import settings
from ...base.device import CPU, as_device, device
from ...core.public import public, publish
from ...core.tensor import Tensor, wrap
from ...runtime import devices
from ...runtime.thread import settle

_DEFAULT_SEED = 67280421310721


class Generator:
    """A source of random numbers; on the CPU it draws what PyTorch's draws for the same seed.

    Args:
        device: where the numbers are drawn.

    Example:
        >>> g = torch.Generator().manual_seed(0)
        >>> torch.rand(2, generator=g)
        tensor([0.4963, 0.7682])
        >>> torch.rand(2, generator=g.manual_seed(0))
        tensor([0.4963, 0.7682])
    """

    __slots__ = ("_own", "device")

    def __init__(self, device: device | str | int | None = "cpu") -> None:  # noqa: A002
        d = as_device(device)
        if d.type == "meta":
            raise RuntimeError("META device type not an accelerator.")
        backend = devices.backend_of(d)
        self.device = backend.check(d)
        self._own = backend.stream(self.device).clone()
        self._own.manual_seed(_DEFAULT_SEED)

    @property
    def stream(self) -> Any:
        """The backend's stream behind this generator."""
        return self._own

    def _at_rest(self) -> Any:
        """The stream, when everything was drawn that was asked for so far."""
        settle()
        return self.stream

    def manual_seed(self, seed: int) -> Generator:
        """Restart from `seed`."""
        if seed.__class__ is bool or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self._at_rest().manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Restart from a seed of the operating system's entropy, and return that seed."""
        return self._at_rest().seed()

    def initial_seed(self) -> int:
        """The seed this generator was last restarted from."""
        return self._at_rest().initial_seed()

    def get_state(self) -> Tensor:
        """The whole state as a ByteTensor."""
        return wrap(np.asarray(self._at_rest().get_state()))

    def set_state(self, new_state: Tensor) -> None:
        """Continue from a state that `get_state` returned."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a ByteTensor, but got {type(new_state).__name__}")
        self._at_rest().set_state(new_state.numpy())

    def clone_state(self) -> Generator:
        """Another generator that will draw the same numbers."""
        twin = object.__new__(Generator)
        twin.device = self.device
        twin._own = self._at_rest().clone()
        return twin

    def __reduce__(self) -> Any:
        return _rebuild, (str(self.device), self.get_state())

    def __repr__(self) -> str:
        return f"<{settings.module}.Generator object at {hex(id(self))}>"


class _Default(Generator):
    """The generator of functions that are not given one; its stream belongs to the backend."""

    __slots__ = ()

    def __init__(self) -> None:
        self.device = CPU

    @property
    def stream(self) -> Any:
        return devices.backend_of(CPU).stream(CPU)


def _rebuild(where: str, state: Tensor) -> Generator:
    generator = Generator(where)
    generator.set_state(state)
    return generator


default_generator = _Default()


def stream_for(generator: Any, d: device, name: str = "rand") -> Any:
    """The stream to draw from on device `d`: the generator's, or the device's default."""
    if generator is None:
        return devices.backend_of(d).stream(d)
    if not isinstance(generator, Generator):
        raise TypeError(f"{name}(): argument 'generator' must be Generator, not {type(generator).__name__}")
    if generator.device.type != d.type and d.type != "meta":
        raise RuntimeError(f"Expected a '{d}' device type for generator but found '{generator.device}'")
    return generator.stream


@public("torch", "random")
def manual_seed(seed: int) -> Generator:
    """Restart the random numbers of every device from `seed`.

    Args:
        seed: any integer.

    Returns:
        The default generator of the CPU.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.rand(3)
        tensor([0.4963, 0.7682, 0.0885])
    """
    settle()
    seed = int(seed)
    default_generator.manual_seed(seed)
    settings.seed = seed  # a device opened later starts from it
    devices.seed_others(seed)
    return default_generator


@public("torch", "random")
def seed() -> int:
    """Restart the random numbers from the operating system's entropy; returns the seed.

    Example:
        >>> torch.seed() == torch.initial_seed()
        True
    """
    value = default_generator.seed()
    settings.seed = value
    devices.seed_others(value)
    return value


@public("torch", "random")
def initial_seed() -> int:
    """The seed the default generator was last restarted from.

    Example:
        >>> _ = torch.manual_seed(7)
        >>> torch.initial_seed()
        7
    """
    return default_generator.initial_seed()


@public("torch", "random")
def get_rng_state() -> Tensor:
    """The state of the default CPU generator, as a ByteTensor.

    Example:
        >>> state = torch.get_rng_state()
        >>> a = torch.rand(3)
        >>> torch.set_rng_state(state)
        >>> torch.equal(a, torch.rand(3))
        True
    """
    return default_generator.get_state()


@public("torch", "random")
def set_rng_state(new_state: Tensor) -> None:
    """Let the default CPU generator continue from `new_state`.

    Args:
        new_state: what `get_rng_state` returned.

    Example:
        >>> state = torch.get_rng_state()
        >>> a = torch.rand(3)
        >>> torch.set_rng_state(state)
        >>> torch.equal(a, torch.rand(3))
        True
    """
    default_generator.set_state(new_state)


@public("random")
@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
             device_type: str = "cuda") -> Iterator[None]:  # fmt: skip
    """A block after which the random numbers go on as if nothing had been drawn inside it.

    Args:
        devices: GPUs whose generators are kept, too; all that were used if not given.
        enabled: False makes it do nothing.
        device_type: the kind of `devices`.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> with torch.random.fork_rng():
        ...     a = torch.rand(3)
        >>> torch.equal(a, torch.rand(3))
        True
    """
    if not enabled:
        yield
        return
    held = [(default_generator.stream, default_generator.stream.get_state())]
    for stream in _accelerator_streams(devices, device_type):
        held.append((stream, stream.get_state()))
    try:
        yield
    finally:
        for stream, state in held:
            stream.set_state(state)


def _accelerator_streams(wanted: Any, device_type: str) -> list[Any]:
    """The default streams of the listed devices, or of all that are open."""
    if wanted is None:
        return devices.open_streams(device_type)
    named = [device(device_type, d) if isinstance(d, int) else as_device(d) for d in wanted]
    return [devices.backend_of(d).stream(d) for d in named if d.type != "cpu"]


publish("torch", "Generator", Generator)
publish("torch", "default_generator", default_generator)
publish("random", "default_generator", default_generator)
publish("random", "Generator", Generator)
