"""Which tests `make test` runs: of tests with many parameters a part that is always the same, and not those of `REST`.

`make test-rest` runs the others, `make test-all` both. Files that are named on the command line are run whole.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict

import pytest

SHARE = 8  # one in so many of a group
FEW = 6  # tests with no more parameters than this run whole

# Tests that start processes or compilers again and again, seconds each: one in so many of a function's; none where it says 0,
# which leaves a quicker test of the same feature in its file. `FILE::FUNCTION` goes before `FILE`.
REST: dict[str, int] = {
    "test_cli_folders.py::test_a_run_in_its_first_epoch_is_not_overwritten": 0,
    "test_cli_folders.py::test_odd_names_on_a_strict_terminal": 0,
    "test_cli_folders.py::test_resumed_from_another_folder_and_after_a_move": 0,
    "test_cli_folders.py::test_runs_that_start_together_have_folders_of_their_own": 0,
    "test_cli_log.py": 3,
    "test_cli_story.py::test_exports_of_weights": 0,
    "test_cli_story.py::test_nothing_is_overwritten": 0,
    "test_cli_story.py::test_resumed_with_more_epochs": 0,
    "test_cli_story.py::test_the_report_in_a_browser": 0,
    "test_cli_story.py::test_view_and_runs": 0,
    "test_cli_train.py::test_a_signal_from_outside": 2,
    "test_cli_train.py::test_ctrl_c_in_a_terminal": 0,
    "test_cli_train.py::test_the_default_run_learns": 0,
    "test_counting.py::test_a_run_fails_when_too_few_ran": 3,
    "test_distributed.py::test_a_killed_rank_is_named_and_the_run_resumes": 0,
    "test_distributed.py::test_checkpoint_is_read_by_another_number_of_ranks": 0,
    "test_distributed.py::test_checkpoint_of_copies_is_read_by_other_wrappers": 0,
    "test_distributed.py::test_each_collective_is_what_one_process_computes": 2,
    "test_distributed.py::test_elastic_style_script_resumes_from_its_snapshot": 0,
    "test_distributed.py::test_gpt_style_script_agrees_with_one_process": 0,
    "test_distributed.py::test_imagenet_style_script": 0,
    "test_distributed.py::test_train_by_two_ranks_is_the_training_of_one": 3,
    "test_distributed.py::test_train_goes_on_after_a_rank_was_killed": 0,
    "test_distributed_files.py::test_each_reads_what_the_other_wrote": 0,
    "test_distributed_sharding.py": 0,
    "test_distributed_sharding.py::test_fully_shard_is_pytorchs": 1,
    "test_fork.py::test_children_of_a_busy_process": 2,
    "test_layers_import_down.py": 1,
    "test_library_uses.py::test_uses_give_pytorchs_numbers": 4,
    "test_loop_scripts.py": 2,
    "test_loops_ahead.py::test_another_thread_begins_with_cpu_programs": 0,
    "test_notebook.py::test_a_cell_that_fails_is_told": 0,
    "test_notebook.py::test_pages_run_in_jupyter": 0,
    "test_site.py::test_the_site_builds_without_a_warning": 0,
    "test_types.py": 0,
    "test_types.py::test_completion": 1,
    "test_vmap.py::test_rows": 4,
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
    functions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for nodeid, file in tests:
        functions[file, nodeid.split("[", 1)[0].rpartition("::")[2]].append(nodeid)
    quick: set[str] = set()
    for (file, function), ids in functions.items():
        share = REST.get(f"{file}::{function}", REST.get(file))
        if share is not None:
            quick.update(some(ids, share))
        elif len(ids) <= FEW:
            quick.update(ids)
        else:
            groups: dict[str, list[str]] = defaultdict(list)
            for nodeid in ids:
                groups[kind(nodeid)].append(nodeid)
            for group in groups.values():
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
