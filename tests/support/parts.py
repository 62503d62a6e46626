"""Which tests `make test` runs: of tests with many parameters, and of the slow files of `REST`, a part that is always the same.

`make test-rest` runs the others, `make test-all` both. Files that are named on the command line are run whole.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict

import pytest

SHARE = 12  # one in so many of a group
FEW = 6  # tests with no more parameters than this run whole

# Files whose tests start processes or compilers, train, or read all of the source, a second or more each: one in so many of a
# file's tests, so that each has one at least. `FILE::FUNCTION` goes before `FILE`: one in so many of that function's, none
# where it says 0.
REST: dict[str, int] = {
    "test_call_in_c.py::test_nothing_is_left_behind": 3,
    "test_capture_footguns.py": 3,
    "test_capture_ops.py": 16,
    "test_cli.py": 4,
    "test_cli_data.py": 4,
    "test_cli_folders.py": 4,
    "test_cli_hostile.py": 4,
    "test_cli_log.py": 3,
    "test_cli_story.py": 6,
    "test_cli_story.py::test_nothing_is_overwritten": 0,
    "test_cli_story.py::test_predict_goes_on_past_bad_files": 0,
    "test_cli_story.py::test_resumed_with_more_epochs": 0,
    "test_cli_tasks.py": 3,
    "test_cli_train.py": 5,
    "test_cli_train.py::test_resumed_as_if_never_interrupted": 7,
    "test_cli_zoo.py": 8,
    "test_compile_scenes.py::test_compiled_tells_the_same": 12,
    "test_conv_emulated.py": 4,
    "test_counting.py": 3,
    "test_counting.py::test_a_run_fails_when_too_few_ran": 3,
    "test_cpu_engine.py": 3,
    "test_cuda_emulated_entropy.py": 4,
    "test_cuda_emulated_head.py": 4,
    "test_cuda_emulated_norm.py": 4,
    "test_cuda_emulated_pool.py": 4,
    "test_data_batch_path.py": 3,
    "test_data_workers.py": 4,
    "test_dezero_steps.py": 4,
    "test_distributed.py": 6,
    "test_distributed.py::test_a_rank_killed_at_any_point_of_a_step_is_named_and_the_run_resumes": 0,
    "test_distributed.py::test_checkpoint_is_read_by_another_number_of_ranks": 0,
    "test_distributed.py::test_checkpoint_of_copies_is_read_by_other_wrappers": 0,
    "test_distributed.py::test_train_by_two_ranks_is_the_training_of_one": 0,
    "test_distributed.py::test_train_goes_on_after_a_rank_was_killed": 0,
    "test_distributed.py::test_training_is_that_of_one_process": 0,
    "test_distributed_files.py": 8,
    "test_distributed_meeting.py": 5,
    "test_distributed_sharding.py": 8,
    "test_docstrings.py::test_examples": 8,
    "test_files_hostile.py": 6,
    "test_fit.py": 3,
    "test_fork.py": 3,
    "test_fuzz.py::test_random_scripts": 2,
    "test_io.py": 3,
    "test_leak.py": 3,
    "test_library_uses.py": 4,
    "test_loop_scripts.py": 2,
    "test_loops_ahead.py::test_another_thread_begins_with_cpu_programs": 0,
    "test_loops_attacked.py::test_attack": 6,
    "test_notebook.py": 4,
    "test_notebook.py::test_pages_run_in_jupyter": 0,
    "test_onnx.py": 3,
    "test_ops.py::test_second_derivative_is_numeric": 16,
    "test_row_groups.py": 6,
    "test_run.py": 4,
    "test_run.py::test_spawn_from_a_module": 0,
    "test_run_examples.py": 3,
    "test_sharing.py": 3,
    "test_sharing.py::test_processes_see_each_others_writes": 0,
    "test_site.py": 6,
    "test_strangers.py": 6,
    "test_thread_state.py": 3,
    "test_types.py": 12,
    "test_vector_stores.py": 4,
    "test_vision_detection.py": 4,
    "test_vmap.py::test_rows": 8,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part", choices=["quick", "rest"], help="a part of the suite: tests/support/parts.py"
    )


def is_whole(config: pytest.Config) -> bool:
    """No file, folder or word was asked for."""
    source = config.args_source in (
        pytest.Config.ArgsSource.TESTPATHS,
        pytest.Config.ArgsSource.INVOCATION_DIR,
    )
    return source and not config.option.keyword and not config.option.markexpr


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    part = config.getoption("--part")
    if part and is_whole(config):
        quick = quick_ones([(item.nodeid, item.path.name) for item in items])
        gone = [item for item in items if (item.nodeid in quick) == (part == "rest")]
        items[:] = [item for item in items if (item.nodeid in quick) == (part == "quick")]
        config.hook.pytest_deselected(items=gone)


def quick_ones(tests: list[tuple[str, str]]) -> set[str]:
    """The ids of the tests of the quick part; the same for the same suite, whatever ran before."""
    groups: dict[str, list[str]] = defaultdict(list)
    for nodeid, file in tests:
        function = f"{file}::{nodeid.split('[', 1)[0].rpartition('::')[2]}"
        named = next((name for name in (function, file) if name in REST), function)
        groups[named].append(nodeid)
    quick: set[str] = set()
    for name, ids in groups.items():
        if name in REST:
            quick.update(some(ids, REST[name]))
        elif len(ids) <= FEW:
            quick.update(ids)
        else:
            kinds: dict[str, list[str]] = defaultdict(list)
            for nodeid in ids:
                kinds[kind(nodeid)].append(nodeid)
            for group in kinds.values():
                quick.update(some(group, SHARE))
    return quick


def some(ids: list[str], share: int) -> list[str]:
    """One in so many, chosen by a checksum of the id; at least one, or none where `share` is 0."""
    count = -(-len(ids) // share) if share else 0
    return sorted(ids, key=lambda nodeid: zlib.crc32(nodeid.encode()))[:count]


def kind(nodeid: str) -> str:
    """An op of the op table, or the first word of a test's parameters: each kind has a test in every part."""
    word = nodeid.partition("[")[2].removesuffix("]").removeprefix("cpu-").removeprefix("cuda-")
    found = re.match(r"([\w.]+)\(", word) or re.match(r"[^\W\d_]+", word)
    return found.group() if found else ""
