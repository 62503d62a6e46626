"""The one place where environment variables are read and process-wide settings live."""

from __future__ import annotations

import os


def _env(name: str, default: str) -> str:
    return os.environ.get(name, default)


def _threads(ours: str, openmp: str) -> int:
    """Threads that the environment asks for, 0 when it does not; OpenMP's may be a list like 4,2."""
    if ours and not ours.strip().isdecimal():
        raise ValueError(f"RUSHLIGHT_NUM_THREADS={ours}: a whole number is expected, 0 to decide from the machine")
    first = ours.strip() or openmp.partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0


# Settings that decide how a kernel computes: recorded programs depend on them.
_NUMERICS = (
    "cpu_engine", "float32_matmul_precision", "cudnn_enabled", "cudnn_benchmark", "cudnn_deterministic",
    "cudnn_allow_tf32", "deterministic",
)  # fmt: skip


class Settings:
    """Process-wide settings; everything here can be set before or after import."""

    numerics: tuple = ()  # the values of those that programs depend on
    before_change: tuple = ()  # functions that are called before one of them gets another value

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _NUMERICS or getattr(self, name, None) == value:
            object.__setattr__(self, name, value)
            return
        for tell in self.before_change:
            tell()
        object.__setattr__(self, name, value)
        object.__setattr__(self, "numerics", tuple([getattr(self, n, None) for n in _NUMERICS]))

    def __init__(self) -> None:  # written out: a dataclass would cost 4 ms at import
        # The module name that dtypes, sizes and errors print: `rushlight run` sets it to "torch".
        self.module = "rushlight"
        # Which CPU engine to use: "auto" picks the best that loads, "numpy" forces the fallback.
        self.cpu_engine = _env("RUSHLIGHT_CPU_ENGINE", "auto")
        # Where compiled kernels, plans and downloads are cached.
        caches = _env("XDG_CACHE_HOME", "") or os.path.join(os.path.expanduser("~"), ".cache")
        self.cache_dir = _env("RUSHLIGHT_CACHE", os.path.join(caches, "rushlight"))
        # Number of CPU threads asked for by the environment; 0 means "decide from the machine".
        self.num_threads = _threads(_env("RUSHLIGHT_NUM_THREADS", ""), _env("OMP_NUM_THREADS", ""))
        # "1" hides the GPUs, which is how the CPU half of a GPU machine is tested.
        self.no_cuda = _env("RUSHLIGHT_NO_CUDA", "0") == "1"
        # "refuse" makes jit.script an error; otherwise it returns its argument and says so once.
        self.jit = _env("RUSHLIGHT_JIT", "eager")
        # "1" traces the loops of a program from their beginning, "0" forbids it even to `rushlight run --trace`;
        # otherwise loops of scripts are traced that go on for a second, see core/hot.py.
        self.trace = _env("RUSHLIGHT_TRACE", "")
        # Whether `compile` traces what it cannot replay as a whole on the CPU, too, as it does on a GPU: for tests.
        self.trace_on_cpu = False
        # "0" keeps a process that is the first to use a GPU from compiling the usual kernels beside its own work.
        self.compiles_ahead = _env("RUSHLIGHT_COMPILE_AHEAD", "1") != "0"
        # "full" prints every frame of an error that nobody caught, see base/tracebacks.py.
        self.traceback = _env("RUSHLIGHT_TRACEBACK", "short")
        # The last `manual_seed`: the random streams of devices opened later start from it.
        self.seed: int | None = None
        # "high" and "medium" allow TF32 in float32 matrix products on the GPU.
        self.float32_matmul_precision = "highest"
        # What `backends.cudnn` holds; the CUDA convolutions read them.
        self.cudnn_enabled = True
        self.cudnn_benchmark = False
        self.cudnn_deterministic = False
        self.cudnn_allow_tf32 = True
        self.deterministic = False
        self.deterministic_warn_only = False
        self.fill_uninitialized = True  # in deterministic mode
        # Whether a module that is converted gets new parameters, or swaps them, as it then does when it loads: `torch.__future__`.
        self.overwrite_module_params = False
        self.swap_module_params = False
        self.warn_always = False
        # Whether sparse tensors are said to be checked (they always are), and `backends` frozen.
        self.sparse_invariants = False
        self.flags_frozen = False


settings = Settings()


def torch_home() -> str:
    """Where PyTorch keeps downloads: TORCH_HOME, which scripts may set at any time, or else our own cache."""
    return os.path.expanduser(_env("TORCH_HOME", settings.cache_dir))


def launcher(name: str) -> str | None:
    """What a launcher of several processes says of this one: RANK, WORLD_SIZE, LOCAL_RANK."""
    return os.environ.get(name)


def adopt(variables: dict[str, str]) -> None:
    """Take variables over into the environment of this process, for libraries that read it."""
    os.environ.update(variables)


def inherited(**more: str) -> dict[str, str]:
    """The environment for a process that this one starts."""
    return {**os.environ, **more}
