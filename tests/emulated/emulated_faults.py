"""Memory that runs out and launches that are refused, each in turn, on the emulated GPU."""

from __future__ import annotations

import ctypes
import warnings

import emulated_capture
import emulated_gpu
from cupy.cuda import runtime

import rushlight as rl
from emulated_optim import upload
from faults import Case, allocation_fails, check_compiled, check_device_lost, check_optimiser, check_training
from rushlight.runtime.cuda.bodies import update
from rushlight.runtime.cuda.code import launch


def refused(status: int, launches: int = 1) -> None:
    """Let the driver refuse the n-th launch from now on."""
    library = emulated_gpu.drivers[-1]
    for name, value in (("fails_with", status), ("fails_in", launches)):
        ctypes.c_int.in_dll(library, name).value = value


def check_refused_launches() -> None:
    """A launch that the driver refuses, through C and through Python, and the replay of a graph."""
    x = rl.ones(5, device="cuda")
    for in_c in (True, False):
        launch._in_c = in_c
        for status, words in ((700, "restart the process"), (1, "was not begun")):
            for act in (lambda: x + x, lambda: (x * 2).relu(), lambda: x.sum()):
                refused(status)
                try:
                    act()
                except rl.AcceleratorError as error:
                    assert error.error_code == status and words in str(error), error
                else:
                    raise AssertionError(f"a launch was not refused ({in_c=})")
                act()  # the process goes on where the GPU does
    launch._in_c = True


def check_refused_steps() -> None:
    """A step of two launches, of which the driver refuses one for a moment: it is done as a whole."""
    for name in ("SGD", "Adam"):
        for k in (1, 2):
            case, other = Case("cuda", name), Case("cuda", name)
            for i in range(4):
                case.backward(i)
                refused(1, k)
                case.opt.step()
                refused(0, 0)
                other.step(i)
                assert case.everything() == other.everything(), (name, k, i)


def check_refused_replays() -> None:
    """A graph that is not launched: AcceleratorError, no parameter has moved, no step was counted."""
    case, other, plain = Case("cuda"), Case("cuda"), runtime.graphLaunch
    step, undisturbed = rl.compile(case.tensors_step), rl.compile(other.tensors_step)
    for i in (0, 1, 2):
        step(*[t.to("cuda") for t in case.batches[i]])
        undisturbed(*[t.to("cuda") for t in case.batches[i]])
    batch = [t.to("cuda") for t in case.batches[3]]
    before, versions, count = case.everything(), case.versions(), case.opt._step_count

    def fail(*args: object) -> None:
        raise runtime.CUDARuntimeError(719)

    runtime.graphLaunch = fail
    try:
        step(*batch)
    except rl.AcceleratorError as error:
        assert error.error_code == 719 and "restart the process" in str(error)
    else:
        raise AssertionError("nobody launched the graph")
    finally:
        runtime.graphLaunch = plain
    assert case.everything() == before and case.versions() == versions
    assert case.opt._step_count == count
    step(*batch)
    undisturbed(*batch)
    assert case.everything() == other.everything() and case.opt._step_count == count + 1


def main() -> None:
    check_refused_launches()
    update._Live.refresh = upload  # type: ignore[method-assign]
    runtime.memGetInfo = lambda: (2**20, 2**30)
    warnings.simplefilter("ignore")  # a program that finds no memory: the step stays eager and says so
    check_refused_steps()
    for name in ("SGD", "Adam", "Rprop"):
        assert check_optimiser("cuda", name, allocation_fails, rl.OutOfMemoryError) >= 4, name
    assert check_training("cuda", allocation_fails, rl.OutOfMemoryError) >= 1
    emulated_capture.install()
    assert check_compiled("cuda", allocation_fails, rl.OutOfMemoryError, most=5) >= 2
    check_refused_replays()
    check_device_lost()
    print("equal")


if __name__ == "__main__":
    main()
