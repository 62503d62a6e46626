"""The CUDA backend on a machine without a GPU: its kernels compiled for the host by g++, a block's threads in turns.

    PYTHONPATH=src python tools/emulated_gpu.py script.py [arguments]

Everything above the driver is real: kernels, their choice, launches (in C too, through a libcuda.so.1 made
here), memory, streams. It is slow, and knows float32 and float64 only. What belongs to a library (cuBLASLt,
cuDNN, CuPy's own kernels) is not there: keep to small layers, whose kernels are ours. Needs CuPy and g++.
EMULATED_GPU_FOLDER names a folder where processes share the kernels that they have compiled.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import WeakValueDictionary

import host_path

HEADER = Path(__file__).resolve().parent.parent / "tests" / "support" / "cuda_emulator.h"
sys.path.append(str(HEADER.parent))

from precompiled import FLAGS, precompiled  # noqa: E402

# The driver's one function: kernels are host functions of the grid, the block and the parameters.
DRIVER = """
#include <stddef.h>
#include <sys/mman.h>
typedef void (*kernel)(unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void **);
void (*captured)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void **);
int fails_in, fails_with; /* the n-th launch from now on is refused with this status */
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra)
{
    if (fails_in && !--fails_in)
        return fails_with;
    if (captured)
        captured(f, gx, gy, gz, bx, by, bz, parameters);
    else
        ((kernel)f)(gx, gy, gz, bx, by, bz, parameters);
    return 0;
}
int cuEventRecordWithFlags(void *event, void *stream, unsigned flags) { return 0; }
/* addresses that have no memory until it is put behind them: whoever touches them before ends the process */
int cuMemAddressReserve(unsigned long long *found, size_t n, size_t align, unsigned long long at, unsigned long long flags)
{
    void *p = mmap(0, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *found = (unsigned long long)p;
    return p == MAP_FAILED ? 2 : 0;
}
int cuMemAddressFree(unsigned long long at, size_t n) { return munmap((void *)at, n) ? 1 : 0; }
int cuMemCreate(unsigned long long *handle, size_t n, void *how, unsigned long long flags) { *handle = 1; return 0; }
int cuMemRelease(unsigned long long handle) { return 0; }
int cuMemMap(unsigned long long at, size_t n, size_t from, unsigned long long handle, unsigned long long flags)
{
    return mprotect((void *)at, n, PROT_READ | PROT_WRITE) ? 1 : 0;
}
int cuMemUnmap(unsigned long long at, size_t n) { return 0; }
int cuMemSetAccess(unsigned long long at, size_t n, void *access, size_t count) { return 0; }
"""
ENTRY = """
extern "C" void entry(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, void** p) {
    launch(Dim{a, b, c}, Dim{d, e, f}, [=] { call_at(%s, p); });
}
extern "C" void** kept(void** p) { return copies_at(%s, p); }
"""
# What only a GPU's assembler understands, and what stands for it here; half types are not emulated.
ASSEMBLY = [
    (r'asm volatile\("atom\.acq_rel[^;]*;"[^;]*;', "seen = atomicInc(counter, gridDim.z - 1);"),
    (r'asm volatile\("prefetch[^;]*;"[^;]*;', ";"),
    (r'asm volatile\(\s*"cp\.async.*?\);\n', ";\n"),
    (r'asm\("cvt\.rna\.tf32[^;]*;"[^;]*;', "bits = to_tf32(v);"),
    (r'asm\("ex2[^;]*;"[^;]*;', "power = exp2f(v);"),
    (r'asm\("mma\.sync.*?\);\n', "multiply_tf32(c, a0, a1, a2, a3, b0, b1);\n"),
    (r'asm\("cvt[^;]*;"[^;]*;', ";"),
    (r"extern __shared__ (?:__align__\(\d+\) )?(\w+) (\w+)\[\];", r"static __align__(128) \1 \2[1 << 18];"),
]

_header = HEADER.read_text()
_shared = os.environ.get("EMULATED_GPU_FOLDER")
_folder = Path(_shared or tempfile.mkdtemp(prefix="emulated-gpu-"))
_libraries: list[Any] = []  # as long as they are loaded, their kernels can be called
captures: dict[Any, Any] = {}  # a kernel's address -> what copies its parameters for a capture
drivers: list[Any] = []  # the one that is installed
loaded: WeakValueDictionary[Any, Any] = WeakValueDictionary()  # a kernel's address -> its module


def built(name: str, command: list[str], text: str, suffix: str) -> Any:
    """The shared library of a source, compiled unless another process has done so."""
    key = hashlib.sha256("\0".join([*command, text, _header]).encode()).hexdigest()[:20]
    made = _folder / f"{name}-{key}.so"
    if not made.exists():
        _folder.mkdir(parents=True, exist_ok=True)
        own = f"{made.stem}-{os.getpid()}"
        source, new = _folder / (own + suffix), _folder / (own + ".so")
        source.write_text(text)
        done = subprocess.run([*command, "-shared", "-fPIC", "-o", new, source], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{source} does not compile for the host:\n{done.stderr[:3000]}")
        new.replace(made)
    library = ctypes.PyDLL(str(made), ctypes.RTLD_GLOBAL if name == "driver" else 0)
    _libraries.append(library)
    return library


class Module:
    """A loaded module: the source, compiled for the host when one of its kernels is asked for."""

    def load(self, code: bytes) -> None:
        self.text, _, options = code.decode().partition("\0\0")
        given = [o[2:].replace("=", " ", 1) for o in options.split("\0") if o.startswith("-D")]
        self.defined = "".join([f"#define {o}\n" for o in given])

    def get_function(self, name: str) -> Any:
        text = self.text
        for found, instead in ASSEMBLY:
            text = re.sub(found, instead, text, flags=re.S)
        command = ["g++", *FLAGS, "-fpermissive"]
        header = precompiled(HEADER, _folder, command) if _shared else HEADER
        text = f'#include "{header}"\n{self.defined}{text}\n#undef C\n{ENTRY % (name, name)}'
        library = built("kernel", command, text, ".cpp")
        address = ctypes.cast(library.entry, ctypes.c_void_p).value
        library.kept.restype = ctypes.c_void_p
        captures[address] = library.kept
        loaded[address] = self
        return SimpleNamespace(ptr=address, module=self)  # which holds it, as CuPy's


def _malloc(self: host_path.Pool, size: int) -> Any:
    """Memory of its own for every array, full of NaN: what a kernel does not write shows."""
    raw = (ctypes.c_char * (size + 1024))()  # create_string_buffer tells auditors, for which no program skips Python
    start = ctypes.addressof(raw) + 511 & ~511
    ctypes.memset(start, 0xFF, size)
    return self.pointer(self.memory(start, size + 511 & ~511, raw, 0), 0)


def install() -> None:
    """Make `cuda` an emulated GPU; call it before the backend is used."""
    library = built("driver", ["gcc", "-O1", "-Wl,-soname,libcuda.so.1"], DRIVER, ".c")
    drivers.append(library)
    library.cuLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3
    host_path.Pool.malloc = _malloc  # type: ignore[method-assign]
    host_path.no_driver()
    import cupy
    from cupy.cuda import driver, function, runtime

    function.Module = Module
    driver.launchKernel = _raising(library.cuLaunchKernel, driver.CUDADriverError)
    driver.launchCooperativeKernel = lambda *given: driver.launchKernel(*given, 0)
    runtime.deviceGetAttribute = lambda which, i: {75: 7, 95: 0}.get(
        which, 227 << 10
    )  # blocks run one after another: none can wait for others
    cupy.cuda.Device = lambda index=0: SimpleNamespace(compute_capability="70", id=0)
    runtime.memsetAsync = lambda to, value, size, stream: ctypes.memset(to, value, size)
    cupy.zeros = _zeros
    from rushlight.base.device import device
    from rushlight.runtime import devices

    devices.backend_of(device("cuda"))
    host_path.no_libraries(in_c=False)
    from rushlight.runtime.cuda.code import compile, launch
    from rushlight.runtime.cuda.memory import lost

    lost.driver = SimpleNamespace(CUDADriverError=lambda status: f"status {status}")  # no driver to ask
    launch.launch_in_c()
    compile.cubin = lambda text, options: (text + "\0\0" + "\0".join(options)).encode()


def _raising(launch: Any, kind: type) -> Any:
    """A function of the driver as CuPy calls it, which raises what the driver answers."""

    def call(*args: Any) -> None:
        status = launch(*args)
        if status:
            error = kind.__new__(kind, f"status {status}")  # its own __init__ asks a real driver
            error.status = status
            raise error

    return call


def _zeros(shape: Any, dtype: Any = float) -> Any:
    import cupy

    a = cupy.empty(shape, dtype)
    ctypes.memset(a.data.ptr, 0, a.nbytes)
    return a


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    install()
    sys.argv = sys.argv[1:]
    sys.modules["emulated_gpu"] = sys.modules["__main__"]  # for scripts that import it
    sys.path.append(str(Path(sys.argv[0]).resolve().parent))  # and for what lies beside them
    runpy.run_path(sys.argv[0], run_name="__main__")
