"""`torch.cuda`: the GPUs of this machine; every question is answered without one, too."""

from __future__ import annotations

from typing import Any

from ..base.device import device as _device
from ..base.errors import AcceleratorError, OutOfMemoryError
from ..operators.create.legacy import CUDA_TYPES as _TYPES
from ..runtime import devices as _devices
from ..runtime.thread import settle as _settle
from ._gpus import _is_in_bad_fork, is_available, is_initialized  # noqa: F401
from ._gpus import gpu as _gpu
from ._gpus import index_of as _index
from .memory import (
    empty_cache,
    ipc_collect,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .streams import Event, Stream, current_stream, default_stream, set_stream, stream

globals().update(_TYPES)  # FloatTensor, LongTensor, ...


# -- which GPUs there are ----------------------------------------------------------------------


def init() -> None:
    """Open the GPUs now instead of at the first use.

    Raises:
        RuntimeError: if there is no GPU.

    Example:
        >>> if torch.cuda.is_available():
        ...     torch.cuda.init()
    """
    _gpu()
    _devices.backend_of(_device("cuda"))


def device_count() -> int:
    """How many GPUs can be used.

    Example:
        >>> torch.cuda.device_count() > 0 or not torch.cuda.is_available()
        True
    """
    return _gpu().device_count() if is_available() else 0


def current_device() -> int:
    """The index of the GPU that `device="cuda"` means.

    Raises:
        RuntimeError: if there is no GPU.

    Example:
        >>> if torch.cuda.is_available():
        ...     index = torch.cuda.current_device()
    """
    return _gpu().current_device()


def set_device(device: Any) -> None:
    """Make a GPU the current one; a negative index changes nothing.

    Example:
        >>> if torch.cuda.is_available():
        ...     torch.cuda.set_device(0)
    """
    if isinstance(device, int) and device < 0:
        return
    _gpu().set_device(_index(device))


def get_device_properties(device: Any = None) -> Any:
    """Name, memory, compute capability and multiprocessors of a GPU.

    Example:
        >>> if torch.cuda.is_available():
        ...     memory = torch.cuda.get_device_properties(0).total_memory
    """
    return _gpu().properties(_index(device))


def get_device_name(device: Any = None) -> str:
    """The product name of a GPU.

    Example:
        >>> if torch.cuda.is_available():
        ...     name = torch.cuda.get_device_name(0)
    """
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, as (major, minor).

    Example:
        >>> if torch.cuda.is_available():
        ...     major, minor = torch.cuda.get_device_capability()
    """
    found = get_device_properties(device)
    return found.major, found.minor


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current GPU computes in bfloat16.

    Args:
        including_emulation: count GPUs that have no bfloat16 units and compute it with others.

    Example:
        >>> half = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    """
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """Whether the current GPU has TF32 matrix units.

    Example:
        >>> torch.cuda.is_tf32_supported() <= torch.cuda.is_available()
        True
    """
    return is_available() and get_device_capability()[0] >= 8


def get_arch_list() -> list[str]:
    """The architectures kernels are compiled for: at run time, for the GPUs that are here.

    Example:
        >>> all(name.startswith("sm_") for name in torch.cuda.get_arch_list())
        True
    """
    found = {get_device_capability(i) for i in range(device_count())}
    return [f"sm_{major}{minor}" for major, minor in sorted(found)]


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one GPU can read the memory of another.

    Args:
        device, peer_device: the one that reads, and the one whose memory it is.

    Example:
        >>> if torch.cuda.device_count() > 1:
        ...     direct = torch.cuda.can_device_access_peer(0, 1)
    """
    return _gpu().can_access_peer(_index(device), _index(peer_device))


def synchronize(device: Any = None) -> None:
    """Wait until a GPU has finished everything it was given.

    Work on a GPU is only started when a function returns; wait before taking the time.

    Example:
        >>> if torch.cuda.is_available():
        ...     torch.cuda.synchronize()
    """
    _settle()
    _gpu().synchronize(_index(device))


class device:  # noqa: N801
    """Inside the block another GPU is the current one.

    Example:
        >>> with torch.cuda.device(0 if torch.cuda.is_available() else None):
        ...     pass
    """

    def __init__(self, device: Any) -> None:
        self.idx = device

    def __enter__(self) -> None:
        _settle()
        nowhere = self.idx is None or (isinstance(self.idx, int) and self.idx < 0)
        self.before = None if nowhere else _gpu().current_device()
        if self.before is not None:
            set_device(self.idx)

    def __exit__(self, *exc: Any) -> None:
        _settle()
        if self.before is not None:
            set_device(self.before)


class device_of(device):  # noqa: N801
    """Inside the block the GPU of a tensor is the current one.

    Args:
        obj: a tensor; one of the CPU changes nothing.

    Example:
        >>> with torch.cuda.device_of(torch.ones(2)):
        ...     pass
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


# -- random numbers ----------------------------------------------------------------------------


def _stream_of(value: Any = None) -> Any:
    _settle()
    d = _device("cuda", _index(value))
    return _devices.backend_of(d).stream(d)


def manual_seed(seed: int) -> None:
    """Restart the current GPU's random numbers; without a GPU there is nothing to restart.

    Args:
        seed: any integer.

    Example:
        >>> torch.cuda.manual_seed(0)
    """
    if is_available():
        _stream_of().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Restart the random numbers of every GPU.

    Args:
        seed: any integer.

    Example:
        >>> torch.cuda.manual_seed_all(0)
    """
    for i in range(device_count()):
        _stream_of(i).manual_seed(int(seed))


def seed() -> None:
    """Restart the current GPU's random numbers from the operating system's entropy.

    Example:
        >>> torch.cuda.seed()
    """
    if is_available():
        _stream_of().seed()


def seed_all() -> None:
    """Restart the random numbers of every GPU from the operating system's entropy.

    Example:
        >>> torch.cuda.seed_all()
    """
    for i in range(device_count()):
        _stream_of(i).seed()


def initial_seed() -> int:
    """The seed of the current GPU's random numbers.

    Example:
        >>> if torch.cuda.is_available():
        ...     seed = torch.cuda.initial_seed()
    """
    return _stream_of().initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a GPU's random numbers, as a ByteTensor.

    Example:
        >>> if torch.cuda.is_available():
        ...     state = torch.cuda.get_rng_state()
        ...     torch.cuda.set_rng_state(state)
    """
    from ..operators.create.from_data import as_tensor

    return as_tensor(_stream_of(device).get_state(), device="cpu")


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Let a GPU's random numbers continue from a state of `get_rng_state`.

    Args:
        new_state: the ByteTensor.

    Example:
        >>> if torch.cuda.is_available():
        ...     torch.cuda.set_rng_state(torch.cuda.get_rng_state())
    """
    _stream_of(device).set_state(new_state.numpy())


def get_rng_state_all() -> list[Any]:
    """The states of every GPU's random numbers.

    Example:
        >>> len(torch.cuda.get_rng_state_all()) == torch.cuda.device_count()
        True
    """
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of every GPU's random numbers.

    Args:
        new_states: what `get_rng_state_all` returned.

    Example:
        >>> torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    """
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


__all__ = [
    "Event",
    "AcceleratorError",
    "OutOfMemoryError",
    "Stream",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    *_TYPES,
]


_GRAPHS = ("CUDAGraph", "graph", "graph_pool_handle", "graphs", "is_current_stream_capturing", "make_graphed_callables")

_MORE = (
    "CudaError", "_lazy_call", "get_gencode_flags", "has_half", "has_magma", "memory_stats_as_nested_dict", "reset_max_memory_cached",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module  # `from . import` would ask this very function

    if name in ("amp", "comm", "nvtx", "profiler", "random"):
        return import_module(f"{__name__}.{name}")
    if name in _MORE:
        return getattr(import_module(f"{__name__}.rarely_used"), name)
    if name == "StreamContext":
        return stream
    if name == "_initialized":
        return is_initialized()
    if name in _GRAPHS:
        graphs = import_module(f"{__name__}.graphs")
        return graphs if name == "graphs" else getattr(graphs, name)
    from .._names.lookup import missing

    raise AttributeError(missing(__name__, globals(), name))
