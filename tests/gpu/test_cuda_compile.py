"""CUDA sources on their way to kernels: what is compiled, and where joined kernels are tried."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import rushlight as rl
from cuda_on_host import COMPILER, needs_compiler
from cuda_on_host import KERNELS as FOLDER
from rushlight.capture.joined import proof as parts
from rushlight.runtime.door import KERNELS, Kernel

KERNEL = r'extern "C" __global__ void .*?(\w+)\([^()]*\) {'
FILES = [p.name for p in sorted(FOLDER.glob("*.cu")) if re.search(r"^ *(BOUNDED_)?KERNEL\(", p.read_text(), re.M)]


def kernels_of(file: str, *flags: str) -> list[str]:
    """The names of the kernels that a compiler would find in a family's file."""
    text = "".join([(FOLDER / f).read_text() for f in ("kernel.cuh", file)])
    command = [str(COMPILER), "-E", "-P", "-w", "-x", "c++", *flags, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return re.findall(KERNEL, " ".join(done.stdout.split()))


@needs_compiler
@pytest.mark.parametrize("file", FILES)
def test_only_the_kernel_that_is_asked_for_is_compiled(file: str) -> None:
    names = kernels_of(file)
    assert names
    for name in names:
        assert kernels_of(file, "-DONE_KERNEL", f"-DASKED_{name}=~,") == [name]


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The compiler of a GPU, with an empty cache."""
    if not rl.cuda.is_available():
        pytest.skip("no GPU")
    from rushlight.base.config import settings
    from rushlight.runtime.cuda.code import compile as found

    monkeypatch.setattr(settings, "cache_dir", str(tmp_path))
    return found


SOURCE = 'extern "C" __global__ void k(int* out) { *out = NUMBER; }'
WRONG = 'extern "C" __global__ void k(int* out) { nonsense }'


def test_kernels_are_compiled_in_the_background_on_a_gpu(compiler: Any) -> None:
    import cupy

    out, asked = cupy.zeros(1, cupy.int32), [(f"-DNUMBER={n}",) for n in range(4)]
    with compiler.compiling_ahead() as ahead:
        for options in asked:
            with pytest.raises(compiler.NotCompiled):
                compiler.kernel(SOURCE, "k", options)
        ahead.wait()
        for n, options in enumerate(asked):
            compiler.kernel(SOURCE, "k", options)(1, 1, out.data.ptr)
            assert int(out[0]) == n
    compiler.kernel(SOURCE, "k", ("-DNUMBER=7",))(1, 1, out.data.ptr)  # waits again
    assert int(out[0]) == 7


def test_an_error_of_the_background_is_told_to_who_asks_on_a_gpu(compiler: Any) -> None:
    with compiler.compiling_ahead() as ahead:
        with pytest.raises(compiler.NotCompiled):
            compiler.kernel(WRONG, "k")
        ahead.wait()
        with pytest.raises(RuntimeError, match="does not compile"):
            compiler.kernel(WRONG, "k")


@pytest.mark.parametrize("few", [0, 1 << 20], ids=["by the device", "by NumPy"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_joined_kernels_are_compared_with_their_parts(few: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_FEW", few)
    x = rl.randn(4, 3).to(getattr(rl, dtype)).numpy()
    kernel = Kernel(f"twice {few} {dtype}", lambda xp, x: x + x)
    monkeypatch.setitem(parts.PARTS, kernel.name, lambda part, a, _: (a, part("add", a[0], a[0])))
    try:
        assert parts.agrees(kernel.name, [x], {})
        wrong = KERNELS["square"].generic
        monkeypatch.setattr(kernel, "generic", wrong)
        kernel.impls.clear()
        assert not parts.agrees(kernel.name, [x], {})
    finally:
        del KERNELS[kernel.name]


@pytest.mark.parametrize("file", sorted(p.name for p in FOLDER.glob("*.cu")))
def test_every_kernel_waits_for_the_one_in_front_of_it(file):
    """In a graph a kernel may be started early: its first words must be `depend();`."""
    text = (FOLDER / file).read_text().replace("\\\n", "\n")
    heads = list(re.finditer(r'KERNEL\([^()]*\)\s*\(|extern "C" __global__ void', text))
    for head in heads:
        body = text.index("{", text.index(")", head.end()))
        assert text[body + 1 :].lstrip().startswith("depend();"), text[head.start() : body]
