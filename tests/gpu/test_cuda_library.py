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
