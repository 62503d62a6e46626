"""Every CUDA kernel of the library families equals the generic body on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")
cuda_cases = pytest.importorskip("cuda_cases")

import rushlight as torch  # noqa: E402
from cuda_compare import LAYOUTS, compare  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("family", cuda_cases.FAMILIES)
def test_kernels_equal_the_cpu(family: str, layout: str) -> None:
    torch.ones(1, device="cuda")
    rng = np.random.default_rng(0)
    wrong = []
    for case in cuda_cases.FAMILIES[family](rng):
        if layout != "dense" and case.dtype != np.float32:
            continue
        error, _ = compare(case, layout)
        if error < 0 and (case.may_refuse or layout == "strided"):
            continue
        # Images in channels_last order are cuDNN's, which computes in TF32 unless it is told not to.
        least = 1e-3 if family == "conv" and layout == "last" else 0.0
        if not 0 <= error <= max(cuda_cases.tolerance(case), least):
            wrong.append(f"{case.name} {case.dtype} {case.label}: {error:.2e}")
    assert not wrong, "\n".join(wrong)


def test_captured_optimiser_reads_todays_numbers() -> None:
    import cupy

    from rushlight.runtime.cuda.bodies.update import _step
    from rushlight.runtime.cuda.memory.streams import using
    from rushlight.runtime.door import collecting_replay_hooks

    torch.ones(1, device="cuda")
    p, g = cupy.ones(10, cupy.float32), cupy.ones(10, cupy.float32)
    hyper = np.array([0.5, 0.0, 0.0, 0.0])
    flags = {"nesterov": False, "maximize": False, "first": False, "n": 1}
    _step("sgd_update", np.zeros(4), (p, g), flags)
    cupy.cuda.Stream.null.synchronize()  # the stream below does not wait for it
    stream = cupy.cuda.Stream(non_blocking=True)
    with using(stream), collecting_replay_hooks() as hooks:
        stream.begin_capture()
        _step("sgd_update", hyper, (p, g), flags)
        graph = stream.end_capture()
        for lr in (0.5, 0.25):
            hyper[0] = lr
            for hook in hooks:
                hook.refresh()
            graph.launch(stream)
        stream.synchronize()
    assert float(p[0]) == pytest.approx(0.25)


def test_a_graph_runs_the_same_from_c_and_from_python() -> None:
    """Both make the same calls, give the description back, and say what the library answers."""
    import ctypes
    import struct

    from rushlight.runtime.cuda.code import launch
    from rushlight.runtime.cuda.library.cudnn import _run_graph

    if launch._native is None:
        pytest.skip("the extension is not built")
    said: list[tuple] = []
    refused = 0

    def create(kind: int, box: int) -> int:
        said.append(("create", kind))
        ctypes.c_void_p.from_address(box).value = 77
        return 0

    def put(at: int, name: int, kind: int, n: int, values: int) -> int:
        said.append(("put", at, name, kind, list((ctypes.c_int64 * n).from_address(values))))
        return 0

    def end(at: int) -> int:
        said.append(("end", at))
        return refused

    def execute(handle: int, plan: int, at: int) -> int:
        said.append(("execute", handle, plan, at))
        return 0

    def drop(at: int) -> int:
        said.append(("drop", at))
        return 0

    i, p = ctypes.c_int, ctypes.c_void_p
    kinds = ([i, p], [p, i, i, ctypes.c_int64, p], [p], [p, p, p], [p])
    held = [ctypes.CFUNCTYPE(i, *k)(f) for k, f in zip(kinds, (create, put, end, execute, drop))]
    functions = struct.pack("5P", *[ctypes.cast(f, p).value for f in held])
    for refused in (0, 3):
        answers = []
        for run in (_run_graph, launch._native.run_graph):
            said.clear()
            status = run(functions, 5, 6, struct.pack("3q", 1, 2, 9), [100, 200, 300], 400)
            answers.append((status, said[:]))
        assert answers[0] == answers[1]
        status, calls = answers[0]
        assert status == refused and calls[-1] == ("drop", 77)
        assert ("put", 77, 1001, 6, [100, 200, 300]) in calls
        assert (("execute", 5, 6, 77) in calls) == (not refused)
    with pytest.raises(ValueError, match="a number for each address"):
        launch._native.run_graph(functions, 5, 6, struct.pack("2q", 1, 2), [100, 200, 300], 400)
    with pytest.raises(TypeError):
        launch._native.run_graph(b"", 5, 6, b"", [], 400)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128], ids=["f", "d", "D"])
@pytest.mark.parametrize(("n", "m"), [(131, 2), (3, 9000), (300, 70)])
def test_triangular_equations_larger_than_a_launch(n: int, m: int, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> torch.Tensor:
        real, imaginary = rng.standard_normal((2, *shape))
        return torch.tensor(real + 1j * imaginary if dtype.is_complex else real).to(dtype)

    a = numbers(n, n) / n + 2 * torch.eye(n, dtype=dtype)
    near = 1e-4 if dtype == torch.float32 else 1e-10
    for upper in (False, True):
        for ones in (False, True):
            how = {"upper": upper, "unitriangular": ones}
            for left, b in ((True, numbers(2, n, m)), (True, numbers(n, m)), (False, numbers(m, n))):
                want = torch.linalg.solve_triangular(a, b, left=left, **how)
                found = torch.linalg.solve_triangular(a.cuda(), b.cuda(), left=left, **how)
                assert torch.allclose(found.cpu(), want, near, near)
        b = numbers(n, m)
        want = torch.cholesky_solve(b, a, upper=upper)
        assert torch.allclose(torch.cholesky_solve(b.cuda(), a.cuda(), upper=upper).cpu(), want, near, near)
