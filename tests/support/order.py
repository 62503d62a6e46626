"""Which files run first: those with tests of many seconds, so that none of them is alone at the end of a run.

Workers share a run. A test of 20 seconds that comes last keeps all but one of them waiting; short ones at the end fill all.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

# Files that have a test of about five seconds of work or more (`pytest --durations=50` says), the longest first.
LONG = (
    "test_fuzz.py",
    "test_distributed_sharding.py",
    "test_distributed.py",
    "test_distributed_meeting.py",
    "test_launchers.py",
    "test_stories.py",
    "test_emulated_gpu.py",
    "test_recurrent_stack.py",
    "test_autocast_functions.py",
    "test_lab.py",
    "test_types.py",
    "test_notebook.py",
    "test_library_uses.py",
    "test_libraries.py",
    "test_site.py",
    "test_run_examples.py",
    "test_cli_hostile.py",
    "test_cli_story.py",
    "test_cli_train.py",
    "test_cli.py",
    "test_counting.py",
    "test_host_path.py",
    "test_vision_zoo.py",
)
_place = {name: at for at, name in enumerate(LONG)}


def longest_first(items: list[pytest.Item]) -> None:
    """Whole files are moved: their tests stay together, in their order."""
    items.sort(key=lambda item: _place.get(item.path.name, len(LONG)))


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays to the end, 800,000 objects: every `gc.collect()` of a test and of a recording would
    walk them in vain (0.3 s), and so would Python's own collections meanwhile (5 s of 20)."""
    gc.disable()
    yield
    gc.collect()
    gc.freeze()
    gc.enable()
