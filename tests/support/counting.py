"""How many tests ran, said at the end of every run; how many did not for want of PyTorch or a GPU, where all were asked for.

`--least N` makes a run fail in which fewer ran, so that CI notices when a part of the suite falls away.
"""

from __future__ import annotations

from typing import Any

import pytest

import parts

RAN = ("passed", "failed", "xfailed", "xpassed")
_waiting = "rushlight_tests_for_a_gpu"  # what a worker tells the process that reports


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--least", type=int, default=0, help="fail when fewer tests than this ran")


def note_device_tests(config: pytest.Config, items: list[pytest.Item], has_gpu: bool) -> None:
    """Tests that take the device as a parameter are not made a second time where there is no GPU."""
    if not has_gpu:
        names = [getattr(item, "fixturenames", ()) for item in items]
        config.stash[GPU_KEY] = sum("device" in fixtures for fixtures in names)


GPU_KEY = pytest.StashKey[int]()


class Counter:
    """The plugin of the process that reports; workers of xdist hand their number over."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.for_gpu = 0

    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        found = getattr(node, "workeroutput", {}).get(_waiting, 0)
        self.for_gpu = max(self.for_gpu, found)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.for_gpu = max(self.for_gpu, self.config.stash.get(GPU_KEY, 0))
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or self.config.option.collectonly:
            return
        self.counts = count(reporter.stats, self.for_gpu)
        if self.counts["ran"] < self.config.getoption("--least"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not hasattr(self, "counts"):
            return
        least = self.config.getoption("--least")
        for line in sentences(self.counts, least, parts.is_whole(self.config)):
            terminalreporter.write_line(line, red=line.startswith("FEWER"))


class Worker:
    """The plugin of a worker: it only tells."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_sessionfinish(self) -> None:
        self.config.workeroutput[_waiting] = self.config.stash.get(GPU_KEY, 0)  # type: ignore[attr-defined]


def count(stats: dict[str, list[Any]], for_gpu: int) -> dict[str, int]:
    """What happened to the tests of a run, from pytest's own lists of reports."""
    skipped = {(r.nodeid, isinstance(r, pytest.CollectReport)): r for r in stats.get("skipped", [])}
    reasons = [(whole, _reason(r)) for (_, whole), r in skipped.items()]
    # the last is what rows of the op table say where PyTorch is too old for them (tests/support/optable.py)
    torch = [whole for whole, why in reasons if "'torch'" in why or " on; here is " in why]
    gpu = [why for _, why in reasons if "GPU" in why or "cuda" in why.lower() or "cupy" in why]
    return {
        "ran": sum(len(stats.get(outcome, [])) for outcome in RAN),
        "torch_tests": torch.count(False),
        "torch_files": torch.count(True),
        "gpu": len(gpu) + for_gpu,
    }


def _reason(report: Any) -> str:
    found = report.longrepr
    return str(found[2] if isinstance(found, tuple) else found)


def sentences(counts: dict[str, int], least: int = 0, whole: bool = True) -> list[str]:
    """The lines at the end of a run."""
    lines = [f"{counts['ran']} tests ran."]
    if whole and (counts["torch_tests"] or counts["torch_files"]):
        files = f" and {counts['torch_files']} whole files" if counts["torch_files"] else ""
        lines.append(
            f"{counts['torch_tests']} tests{files} did not run for want of PyTorch, or of a newer one "
            "(`make parity` installs it)."
        )
    if whole and counts["gpu"]:
        lines.append(f"{counts['gpu']} tests did not run for want of a GPU.")
    if counts["ran"] < least:
        lines.append(f"FEWER tests ran than the {least} that are asked for with --least.")
    return lines


def register(config: pytest.Config) -> None:
    worker = hasattr(config, "workerinput")
    config.pluginmanager.register(Worker(config) if worker else Counter(config), "rushlight-count")
