"""Kernels that are compiled before they are asked for: the list, its order, and who compiles what."""

from __future__ import annotations

import lzma
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import rushlight as rl
from rushlight.runtime.cuda.code import usual

KERNELS = Path(usual.__file__).parents[1] / "kernels"


class Compiler(SimpleNamespace):
    """What compile.py is to the list, without NVRTC: sources that were compiled, and which wait for a sign."""

    OPTIONS = ("-std",)

    def __init__(self, kept: tuple[str, ...] = (), refused: tuple[str, ...] = ()) -> None:
        super().__init__(
            heard=None, kept=set(kept), refused=refused, made=[], go=threading.Event(), begun=threading.Event()
        )

    def path_of(self, text: str, flags: tuple[str, ...]) -> Path:
        assert flags[:1] == self.OPTIONS and flags[-1] == "-arch=sm_90"
        return Path(text)

    def is_kept(self, text: str, flags: tuple[str, ...]) -> bool:
        return text in self.kept

    def cubin(self, text: str, flags: tuple[str, ...]) -> bytes:
        if self.heard is not None:
            self.heard(self.path_of(text, flags))
        self.begun.set()
        assert self.go.wait(300)
        if text in self.refused:
            raise RuntimeError("does not compile")
        self.made.append(text)
        return b""


def listed(monkeypatch: pytest.MonkeyPatch, **networks: str) -> None:
    """A list of kernels with names of one letter, by the networks that asked for them."""
    names = sorted({k for kernels in networks.values() for k in kernels})
    found = [usual.UsualKernel(k, (), frozenset(i for i, ks in enumerate(networks.values()) if k in ks)) for k in names]
    monkeypatch.setattr(usual, "usual", lambda: found)


def test_the_list_is_of_sources_that_are_there() -> None:
    """Every entry is made of files of kernels/ and has a kernel; none stands twice."""
    found = usual.usual()
    assert len(found) > 200
    assert len({(k.text, k.options) for k in found}) == len(found)
    for kernel in found:
        assert re.search(r"__global__|KERNEL\(", kernel.text)
        assert len(kernel.networks) > 1
        assert usual.whole(usual.parts_of(kernel.text)) == kernel.text
    assert len(lzma.decompress(usual._FILE.read_bytes())) < 1 << 20


def test_a_list_comes_back_as_it_was_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    common = (KERNELS / "common.cu").read_text()
    given = [
        usual.UsualKernel("#define X\n" + common + "\nend", ("-DA=1", "-DB=2"), frozenset({0, 3})),
        usual.UsualKernel("alone", (), frozenset({1})),
        usual.UsualKernel(common, ("-DA=1",), frozenset({2})),
    ]
    file = tmp_path / "usual.xz"
    file.write_bytes(usual.packed(given))
    monkeypatch.setattr(usual, "_FILE", file)
    assert usual.usual() == given
    assert b"common.cu" in lzma.decompress(file.read_bytes())  # its name, not its text
    assert len(lzma.decompress(file.read_bytes())) < 300


def test_machine_code_that_came_with_the_package_is_not_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For its architecture and later ones of the generation, under any options that are the same."""
    pytest.importorskip("cupy")
    from rushlight.runtime.cuda.code import compile

    given = [("one", ("-std=c++17",)), ("two", ("-std=c++17", "-DA=1"))]
    codes = {usual.key_of(*kernel): bytes([i]) * (i + 3) for i, kernel in enumerate(given)}
    (tmp_path / "usual-sm_80.xz").write_bytes(usual.packed_codes(codes))
    monkeypatch.setattr(usual, "_FILE", tmp_path / "usual.xz")
    monkeypatch.setattr(usual, "shipped", usual.shipped.__wrapped__)
    monkeypatch.setattr(compile, "path_of", lambda *what: tmp_path / "none")
    monkeypatch.setattr(compile, "_compile", lambda *what: b"made")
    for arch, there in (("sm_80", True), ("sm_89", True), ("sm_90", False)):
        flags = [(text, (*options, f"-arch={arch}")) for text, options in given]
        assert [compile.is_kept(*one) for one in flags] == [there, there]
        found = [compile.cubin(*one) for one in flags]
        assert found == (list(codes.values()) if there else [b"made"] * 2)
        (tmp_path / "none").unlink(missing_ok=True)
    other = ("two", ("-std=c++17", "-DA=2", "-arch=sm_80"))
    assert not compile.is_kept(*other)


def test_what_most_networks_ask_for_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, one="abx", two="abx", three="bx", four="cx")
    compiler = Compiler()
    compiler.go.set()
    work = usual.CompileWork(compiler, "sm_90", 1).start()
    work.wait()
    assert compiler.made[:3] == ["x", "b", "a"]
    assert (work.made, work.done, work.count) == (4, 4, 4)
    assert compiler.heard is None


def test_what_a_program_asks_for_tells_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, one="abcdef", two="abcdef", three="abcdef", four="uvwxyz")
    compiler = Compiler()
    work = usual.CompileWork(compiler, "sm_90", 1).start()
    assert compiler.begun.wait(300)
    for name in "uvw":  # the program's own thread
        work.heard(Path(name))
    compiler.go.set()
    work.wait()
    assert set(compiler.made[1:7]) == set("uvwxyz")


def test_what_is_kept_or_refused_is_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, one="abc", two="abc")
    compiler = Compiler(kept=("a",), refused=("b",))
    compiler.go.set()
    told: list[tuple[int, int]] = []
    made, count, _ = usual.warm(compiler, "sm_90", lambda done, all: told.append((done, all)))
    assert (made, count, compiler.made) == (1, 3, ["c"])
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_process_that_ends_begins_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, one="abcdefgh", two="abcdefgh")
    compiler = Compiler()
    work = usual.CompileWork(compiler, "sm_90", 2).start()
    work.stopped = True
    compiler.go.set()
    work.stop()
    assert len(compiler.made) <= 2


@pytest.mark.parametrize("arch", ["90", "sm_", "sm_9", "sm_90; rm", "compute_90"])
def test_an_architecture_is_named_as_compilers_do(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    from rushlight.cli import main

    assert main(["warm", "--arch", arch]) == 2
    assert "a name such as sm_90 is expected" in capsys.readouterr().err


@pytest.mark.skipif(rl.cuda.is_available(), reason="a GPU is here")
def test_without_a_gpu_warm_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    from rushlight.cli import main

    assert main(["warm"]) == 2
    assert "no GPU to compile for" in capsys.readouterr().err


@pytest.mark.parametrize("device", ["cuda"])
def test_the_list_has_what_a_small_network_asks_for(device: str) -> None:
    """A list that nobody wrote anew after kernels changed would have none of it: python tools/usual_kernels.py."""
    if not rl.cuda.is_available():
        pytest.skip("no GPU")
    program = """
from rushlight.base.config import settings
settings.compiles_ahead = False
import rushlight as torch
from rushlight import nn
from rushlight.runtime.cuda.code import compile, usual
torch.set_default_device("cuda")
asked, cubin = [], compile.cubin
def heard(text, flags):
    asked.append((text, flags[len(compile.OPTIONS):-1]))
    return cubin(text, flags)
compile.cubin = heard
net = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
head = nn.Linear(64, 10)
optimizer = torch.optim.AdamW([*net.parameters(), *head.parameters()])
for _ in range(2):
    optimizer.zero_grad()
    x, y = torch.randn(8, 16, 64), torch.randint(0, 10, (8,))
    nn.functional.cross_entropy(head(net(x).mean(1)), y).backward()
    optimizer.step()
listed = {(k.text, k.options) for k in usual.usual()}
print(len(asked), sum(one in listed for one in asked))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=True)
    asked, there = map(int, done.stdout.split())
    assert asked > 10
    assert there > asked / 2, f"{there} of {asked}"
