"""Fixtures every test shares: the device as a parameter, skipped where it is absent."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))

# Several workers share the cores: one thread each, said before any library counts them.
if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
    os.environ["OMP_NUM_THREADS"] = "1"

import counting
import order
import parts
import rushlight


def words() -> dict[str, str]:
    """The environment without what pytest says of itself."""
    return {n: value for n, value in os.environ.items() if not n.startswith("PYTEST_")}


# What was said when the suite began. Tools that a test imports say more for their own process.
SAID, FOLDER = words(), os.getcwd()

# Tests are about eager calls unless they ask for more; RUSHLIGHT_TRACE=1 has all of them traced.
rushlight.tracing(os.environ.get("RUSHLIGHT_TRACE") == "1")

# A CI job that runs in the background is started with SIGINT ignored, and its children inherit that;
# tests of Ctrl-C need it as a terminal gives it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    counting.register(config)
    config.pluginmanager.register(order, "order")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """`-n auto`: one more than there are cores. Where a test waits for other processes, another has its core meanwhile."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else cores + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    counting.pytest_addoption(parser)
    parts.pytest_addoption(parser)
    parser.addoption("--shard", help="I/N: only every N-th test, starting with the I-th (from 0)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`--shard 2/8` lets eight processes share the suite on a machine with many cores."""
    parts.choose(config, items)
    order.longest_first(items)
    shard = config.getoption("--shard")
    if shard:
        first, of = (int(n) for n in shard.split("/"))
        items[:] = items[first::of]
    counting.note_device_tests(config, items, "cuda" in DEVICES)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Every test starts from the environment and the folder that the suite was started in, and so do its processes."""
    now = words()
    if now != SAID:
        for name in now.keys() - SAID.keys():
            del os.environ[name]
        os.environ.update(SAID)
    os.chdir(FOLDER)


# Ten thousand tests take the device as a parameter; on a machine without a GPU they are not made twice
# only to be skipped.
DEVICES = ["cpu", "cuda"] if rushlight.cuda.is_available() else ["cpu"]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """Every device of this machine."""
    return request.param


@pytest.fixture(scope="session", autouse=True)
def _emulated_kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Emulated GPUs of all workers share the kernels that they compile."""
    base = tmp_path_factory.getbasetemp()
    workers = "PYTEST_XDIST_WORKER" in os.environ
    SAID["EMULATED_GPU_FOLDER"] = str((base.parent if workers else base) / "emulated-gpu")
    os.environ.update(SAID)


@pytest.fixture(autouse=True)
def _restore_global_state():
    """Tests may change defaults and the number of threads; the next one starts as this one did."""
    from rushlight.base import dtypes

    before, threads = dtypes.get_default_dtype(), rushlight.get_num_threads()
    yield
    dtypes.set_default_dtype(before)
    rushlight.set_default_device(None)
    if rushlight.get_num_threads() != threads:
        rushlight.set_num_threads(threads)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The project's shared folder, where the seeds lie; skips where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("no shared folder beside the repository")
    return folder
