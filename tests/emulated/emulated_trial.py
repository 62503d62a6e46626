"""Joined kernels tried on the emulated GPU before a program uses them."""

from __future__ import annotations

import copy
import threading
import warnings
from typing import Any

import emulated_capture

import rushlight as rl
from rushlight import nn
from rushlight.runtime.cuda.code import compile as compiler
from rushlight.runtime.door import KERNELS, kernel_for

CONVS, DENSE = {"conv_pool", "conv_pool_grads"}, {"linear_relu", "linear_backward"}
compilers: list[str] = []  # the threads that compiled, one entry for each kernel


def compare(joined: set[str], without: set[str]) -> None:
    """A compiled step beside the CPU's; which joined kernels its program must have, and which not."""
    rl.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 5))  # fmt: skip
    x, t = rl.randn(2, 3, 8, 8), rl.tensor([1, 4])
    found: dict[str, Any] = {}
    for device in ("cpu", "cuda"):
        own = copy.deepcopy(net).to(device)
        stepper = rl.optim.SGD(own.parameters(), lr=0.1, momentum=0.9)

        def step(x: Any, t: Any, own: Any = own, stepper: Any = stepper) -> Any:
            stepper.zero_grad()
            loss = nn.functional.cross_entropy(own(x), t)
            loss.backward()
            stepper.step()
            return loss

        run = rl.compile(step) if device == "cuda" else step
        losses = [run(x.to(device), t.to(device)).item() for _ in range(6)]
        found[device] = (losses, [p.detach().cpu() for p in own.parameters()])
    assert run.replays, run.why()
    names = {ins.name for ins in run.program().instructions}
    (losses, parameters), (theirs, others) = found.values()
    assert max(abs(a - b) for a, b in zip(losses, theirs)) < 1e-5, (losses, theirs)
    for a, b in zip(parameters, others):
        assert (a - b).abs().max() < 1e-5
    assert joined <= names and not without & names, names


def told_who_compiles() -> None:
    """Every kernel that is compiled leaves the name of its thread."""
    cubin = compiler.cubin

    def told(text: str, flags: tuple[str, ...]) -> bytes:
        compilers.append(threading.current_thread().name)
        return cubin(text, flags)

    compiler.cubin = told


def wrong_kernels_are_found() -> None:
    """One that computes something else, and one that cannot be compiled, cost their pass only."""
    right = KERNELS["linear_relu"].resolve(emulated_capture.cupy.ndarray)
    kernel_for("cuda", "linear_relu")(lambda x, w, b: right(x, w * 2, b))
    compare(CONVS, without=DENSE)

    @kernel_for("cuda", "linear_relu")
    def broken(x: Any, w: Any, b: Any) -> Any:
        return compiler.kernel("broken", "k", ())(1, 1)

    cubin = compiler.cubin

    def refuse(text: str, flags: tuple[str, ...]) -> bytes:
        if text == "broken":
            raise RuntimeError("a CUDA kernel does not compile")
        return cubin(text, flags)

    compiler.cubin = refuse
    compare(CONVS, without=DENSE)


def main() -> None:
    warnings.simplefilter("ignore")
    emulated_capture.install()
    told_who_compiles()
    compare(CONVS | DENSE, without=set())
    assert sum(name.startswith("rushlight nvrtc") for name in compilers) >= 3, compilers
    wrong_kernels_are_found()
    print("equal")


if __name__ == "__main__":
    main()
