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
_SHARES = {
    0: """test_cli_story.py::test_nothing_is_overwritten test_cli_story.py::test_predict_goes_on_past_bad_files
        test_cli_story.py::test_resumed_with_more_epochs
        test_distributed.py::test_a_rank_killed_at_any_point_of_a_step_is_named_and_the_run_resumes
        test_distributed.py::test_checkpoint_is_read_by_another_number_of_ranks
        test_distributed.py::test_checkpoint_of_copies_is_read_by_other_wrappers
        test_distributed.py::test_train_by_two_ranks_is_the_training_of_one
        test_distributed.py::test_train_goes_on_after_a_rank_was_killed test_distributed.py::test_training_is_that_of_one_process
        test_loops_ahead.py::test_another_thread_begins_with_cpu_programs test_notebook.py::test_pages_run_in_jupyter
        test_run.py::test_spawn_from_a_module test_sharing.py::test_processes_see_each_others_writes""",
    2: """test_fuzz.py::test_random_scripts test_loop_scripts.py""",
    3: """test_call_in_c.py::test_nothing_is_left_behind test_capture_footguns.py test_cli_log.py test_cli_tasks.py test_counting.py
        test_counting.py::test_a_run_fails_when_too_few_ran test_cpu_engine.py test_data_batch_path.py test_fit.py test_fork.py
        test_io.py test_leak.py test_onnx.py test_run_examples.py test_sharing.py test_thread_state.py""",
    4: """test_cli.py test_cli_data.py test_cli_folders.py test_cli_hostile.py test_conv_emulated.py test_cuda_emulated_entropy.py
        test_cuda_emulated_head.py test_cuda_emulated_norm.py test_cuda_emulated_pool.py test_data_workers.py test_dezero_steps.py
        test_library_uses.py test_notebook.py test_run.py test_vector_stores.py test_vision_detection.py""",
    5: """test_cli_train.py test_distributed_meeting.py""",
    6: """test_cli_story.py test_distributed.py test_files_hostile.py test_loops_attacked.py::test_attack test_row_groups.py
        test_site.py test_strangers.py""",
    7: """test_cli_train.py::test_resumed_as_if_never_interrupted""",
    8: """test_cli_zoo.py test_distributed_files.py test_distributed_sharding.py test_docstrings.py::test_examples
        test_vmap.py::test_rows""",
    12: """test_compile_scenes.py::test_compiled_tells_the_same test_types.py""",
    16: """test_capture_ops.py test_ops.py::test_second_derivative_is_numeric""",
}
REST = {name: share for share, names in _SHARES.items() for name in names.split()}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", choices=["quick", "rest"], help="a part of the suite: tests/support/parts.py")


def is_whole(config: pytest.Config) -> bool:
    """No file, folder or word was asked for."""
    source = config.args_source in (pytest.Config.ArgsSource.TESTPATHS, pytest.Config.ArgsSource.INVOCATION_DIR)
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
