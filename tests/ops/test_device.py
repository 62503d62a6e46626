"""Devices: names, defaults, the meta device, mixing them, and honest answers without a GPU."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import rushlight as rl
from same import agree, outcome

NAMES = """
torch.device('cpu') | torch.device('cuda') | torch.device('cuda:1') | torch.device('cuda', 1) | torch.device(type='cuda', index=0) | torch.device('meta')
torch.device('cuda').index | torch.device('cuda:3').index | str(torch.device('cuda:3')) | repr(torch.device('cuda', 1)) | repr(torch.device('cpu'))
torch.device('cpu') == torch.device('cpu') | torch.device('cuda') == torch.device('cuda:0') | torch.device('cuda:0') == 'cuda:0' | torch.device(torch.device('cpu'))
torch.device('foo') | torch.device('cuda:') | torch.device('cuda:-1') | torch.device('cuda:01') | torch.device('cuda:1', 1) | torch.device(1.5) | torch.device('') | torch.device('CPU')
torch.ones(2).device | torch.ones(2).get_device() | torch.ones(2).is_cuda | torch.ones(2).cpu() | torch.ones(2).to('cpu') | torch.ones(2, device=torch.device('cpu'))
torch.get_default_device() | torch.ones(2, device='meta') | torch.ones(2).to('meta') | torch.ones(2, device='meta').to('cpu') | torch.ones(2, device='meta').numpy() | torch.ones(2, device='meta').item()
torch.ones(2, 3, device='meta') @ torch.ones(3, 4, device='meta') | torch.ones(2, device='meta') + 1 | torch.ones(2, 3, device='meta').sum(1) | torch.ones(2, device='meta').tolist() | bool(torch.ones((), device='meta'))
torch.ones(2, 3, device='meta').t().stride() | torch.empty(2, 3, 4, 5, device='meta', memory_format=torch.channels_last).stride() | torch.zeros_like(torch.ones(2, 3, device='meta').t()).stride() | torch.ones(2, 3, device='meta')[0] | torch.ones(2, device='meta', dtype=torch.int8) + torch.ones(2, device='meta') | torch.ones(4, device='meta').view(2, 2)
torch.ones(2) + torch.ones(2, device='meta') | torch.ones(2, device='meta') * torch.ones(2) | torch.ones(2, device='meta').is_meta | str(torch.ones(2, device='meta'))
torch.cuda.is_available() | torch.cuda.device_count() | torch.cuda.is_initialized() | torch.cuda.manual_seed(1) | torch.cuda.manual_seed_all(1) | torch.cuda.memory_allocated() | torch.cuda.max_memory_allocated() | torch.cuda.memory_reserved()
torch.cuda.empty_cache() | torch.cuda.is_bf16_supported() | torch.cuda.current_device() | torch.cuda.get_device_name() | torch.cuda.get_device_properties(0) | torch.cuda.get_device_capability() | torch.cuda.synchronize()
torch.cuda.mem_get_info() | torch.cuda.Event() | torch.cuda.Stream() | torch.cuda.current_stream() | torch.cuda.init() | torch.cuda.get_arch_list() | torch.cuda.seed() | torch.cuda.FloatTensor(2) | torch.cuda.get_rng_state()
torch.ones(2).cuda() | torch.ones(2).to('cuda') | torch.ones(2, device='cuda') | torch.ones(2).pin_memory() | torch.ones(2).is_pinned() | torch.Generator('cuda')
torch.accelerator.is_available() | torch.accelerator.current_accelerator() | torch.accelerator.device_count() | torch.accelerator.current_device_index() | torch.accelerator.set_device_index(0) | torch.accelerator.synchronize()
torch.backends.cuda.matmul.allow_tf32 | torch.backends.cudnn.enabled | torch.backends.cudnn.benchmark | torch.backends.cudnn.deterministic | torch.backends.cudnn.allow_tf32 | torch.backends.cudnn.version() | torch.backends.cudnn.is_available()
torch.backends.mps.is_available() | torch.backends.mps.is_built() | torch.get_float32_matmul_precision() | torch.are_deterministic_algorithms_enabled() | torch.use_deterministic_algorithms(1) | torch.version.cuda
torch.set_num_threads(0) | torch.set_num_threads(1.5) | torch.cuda.stream(None).__enter__() | torch.cuda.device(-1).__enter__() | torch.is_grad_enabled() | torch.is_inference_mode_enabled()
"""


# What a PyTorch says about its build, whether a GPU is there or not.
BUILT = {
    "torch.cuda.Event()", "torch.cuda.get_arch_list()", "torch.cuda.FloatTensor(2)", "torch.version.cuda",
    "torch.accelerator.current_accelerator()", "torch.backends.cudnn.version()", "torch.backends.cudnn.is_available()",
}  # fmt: skip


def _built_for_a_gpu() -> bool:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle")
    return torch.version.cuda is not None


def cases() -> list[str]:
    return [c.strip() for line in NAMES.strip().splitlines() for c in line.split(" | ")]


@pytest.mark.parametrize("source", cases())
def test_devices_answer_as_torch(source: str) -> None:
    if "cuda" in source and rl.cuda.is_available():
        pytest.skip("this machine has a GPU; the oracle has none")
    if source in BUILT and _built_for_a_gpu():
        pytest.skip("this PyTorch is built for GPUs, and says so without one, too")
    agree(source)


CREATORS = [
    "empty(2)", "zeros(2)", "ones(2)", "full((2,), 3.0)", "arange(2)", "linspace(0, 1, 2)", "eye(2)",
    "logspace(0, 1, 2)", "rand(2)", "randn(2)", "randint(3, (2,))", "randperm(2)", "tensor([1, 2])",
    "as_tensor([1, 2])", "asarray([1, 2])", "scalar_tensor(1)", "empty_strided((2,), (1,))",
    "empty_permuted((2,), (0,))", "hann_window(2)", "normal(0.0, 1.0, (2,))", "range(0, 1)", "triu_indices(2, 2)",
    "tril_indices(2, 2)", "fft.fftfreq(4)", "fft.rfftfreq(4)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", CREATORS)
def test_default_device_is_honoured(source: str) -> None:
    with rl.device("meta"):
        assert eval(f"rl.{source}").is_meta
        with rl.device("cpu"):
            assert eval(f"rl.{source}").is_cpu
        assert eval(f"rl.{source}").is_meta
    assert eval(f"rl.{source}").is_cpu
    rl.set_default_device("meta")
    assert eval(f"rl.{source}").is_meta
    rl.set_default_device(None)
    assert eval(f"rl.{source}").is_cpu


def test_explicit_device_beats_the_default() -> None:
    with rl.device("meta"):
        assert rl.zeros(2, device="cpu").is_cpu
        assert rl.zeros_like(rl.zeros(2, device="cpu")).is_cpu
        assert rl.zeros(2, device="cpu").new_zeros(3).is_cpu


def test_mixing_devices_names_everything() -> None:
    with pytest.raises(RuntimeError) as caught:
        rl.ones(2, 3) + rl.ones(2, 3, device="meta")
    said = str(caught.value)
    assert said.startswith("Expected all tensors to be on the same device, but found at least two devices,")
    for word in ("cpu", "meta", "[2, 3]", ".to("):
        assert word in said


def test_a_cpu_number_may_join_another_device() -> None:
    assert (rl.ones(2, device="meta") * rl.tensor(2.0)).is_meta
    assert (rl.tensor(2.0) * rl.ones(2, device="meta")).is_meta


def test_no_gpu_says_why() -> None:
    if rl.cuda.is_available():
        pytest.skip("there is a GPU")
    for source in ("torch.ones(1).cuda()", "torch.cuda.current_device()", "torch.zeros(1, device='cuda')"):
        error = outcome(rl, source)
        assert isinstance(error, RuntimeError)
        assert isinstance(error, AssertionError)
        assert "NVIDIA GPU" in str(error)
        assert "rushlight doctor" in str(error)


def test_devices_copy_and_pickle() -> None:
    d = rl.device("cuda:1")
    assert pickle.loads(pickle.dumps(d)) == d
    assert copy.deepcopy(d) == d
    assert {d: 1}[rl.device("cuda", 1)] == 1


def test_switches_are_settings() -> None:
    from rushlight.base.config import settings

    cudnn = rl.backends.cudnn
    cudnn.benchmark = True
    assert settings.cudnn_benchmark is True
    with cudnn.flags(enabled=False, benchmark=False):
        assert not cudnn.enabled
    assert cudnn.enabled
    cudnn.benchmark = False
    rl.backends.cuda.matmul.allow_tf32 = True
    assert rl.get_float32_matmul_precision() == "high"
    rl.set_float32_matmul_precision("highest")
    assert rl.backends.cuda.matmul.allow_tf32 is False
    with rl.backends.cuda.sdp_kernel(enable_flash=False):
        assert not rl.backends.cuda.flash_sdp_enabled()
    assert rl.backends.cuda.flash_sdp_enabled()


def test_threads_and_determinism() -> None:
    from rushlight.base.config import settings

    before = settings.num_threads
    rl.set_num_threads(3)
    assert rl.get_num_threads() == 3
    settings.num_threads = before
    rl.use_deterministic_algorithms(True, warn_only=True)
    assert rl.are_deterministic_algorithms_enabled()
    assert rl.is_deterministic_algorithms_warn_only_enabled()
    rl.use_deterministic_algorithms(False)


def test_gpus_can_be_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.base.config import settings

    monkeypatch.setattr(settings, "no_cuda", True)
    assert not rl.cuda.is_available()
    with pytest.raises(RuntimeError, match="RUSHLIGHT_NO_CUDA"):
        rl.cuda.current_device()


HEAVY = ("numpy.random", "cupy", "torch", "PIL", "matplotlib", "ml_dtypes", "asyncio", "rushlight.nn")


def test_import_stays_light() -> None:
    code = f"import sys, rushlight; print([m for m in {HEAVY!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.skipif(sys.platform != "linux", reason="the driver's library has this name on Linux")
@pytest.mark.skipif(rl.cuda.is_available(), reason="the driver of this machine is open")
def test_no_driver_is_seen_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts ask `cuda.is_available()` in their first lines; importing CuPy for that takes long."""
    import ctypes

    pytest.importorskip("cupy")

    def missing(name: str) -> None:
        raise OSError(f"{name}: no such file")

    monkeypatch.delitem(sys.modules, "cupy")
    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert not rl.cuda.is_available()
    assert "cupy" not in sys.modules
    with pytest.raises(RuntimeError, match="driver is not installed"):
        rl.ones(1, device="cuda")


def test_doubles_become_half_precision_through_float32(device: str) -> None:
    """As in PyTorch, on every device: what lies close to the middle of two is rounded twice."""
    between = (1 + 1 / 2048) * np.array([1 + 1e-12, 1 - 1e-12, 3 - 3e-12, -1 - 1e-12])
    want = between.astype(np.float32).astype(np.float16)
    assert (want != between.astype(np.float16)).any()
    x = rl.tensor(between, device=device)
    for found in (
        x.half(), x.reshape(2, 2).t().half().t().reshape(-1), x.float().half(),
        rl.zeros(4, dtype=rl.float16, device=device).copy_(x),
        rl.tensor(between, dtype=rl.float16), rl.tensor(between.tolist(), dtype=rl.float16), rl.tensor([between, between], dtype=rl.float16)[1],
    ):  # fmt: skip
        np.testing.assert_array_equal(found.cpu().numpy(), want)
