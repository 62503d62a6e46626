"""torch.distributed on a GPU: NCCL inside captured steps, two ranks that share one GPU."""

from __future__ import annotations

import pytest

from rushlight.distributed import mpiexec
from rushlight.distributed.gpus import nccl_module
from rushlight.runtime.cuda import why_not
from test_distributed import HERE, launch, passed, python

pytestmark = pytest.mark.skipif(why_not() is not None, reason="no GPU")


@pytest.mark.skipif(why_not() is not None or nccl_module() is None, reason="NCCL is not installed")
def test_nccl_at_one_rank_inside_a_captured_step_cuda() -> None:
    done = python("-W", "default", str(HERE / "on_gpu.py"), "captured", gpu=True)
    assert done.returncode == 0 and "passed captured" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(mpiexec.why_not() is not None, reason="several ranks need MPI")
def test_two_ranks_on_one_gpu_agree_with_one_cuda() -> None:
    passed(launch(2, "on_gpu.py", "shared", gpu=True), 2, "shared")


@pytest.mark.skipif(mpiexec.why_not() is not None, reason="several ranks need MPI")
def test_shards_on_the_gpu_and_on_the_host_agree_with_one_rank_cuda() -> None:
    passed(launch(2, "on_gpu.py", "sharded", gpu=True), 2, "sharded")
