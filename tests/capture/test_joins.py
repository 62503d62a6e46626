"""What devices say about joined kernels: known without a GPU, apart from passes, and true to what was measured."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rushlight
import rushlight as torch
import rushlight.nn.functional as F
from rushlight.base.config import settings
from rushlight.capture.passes import optimise
from rushlight.runtime import joins
from rushlight.runtime.cuda import costs
from rushlight.runtime.cuda.small import conv_sizes, dense_sizes
from rushlight.runtime.cuda.small.conv_costs import forward_pays, weight_pays
from rushlight.runtime.door import KERNELS
from test_capture_passes import for_gpu, names, record

PASSES = Path(rushlight.__file__).parent / "capture" / "passes"


@pytest.mark.parametrize("file", sorted(PASSES.rglob("*.py")), ids=lambda p: p.name)
def test_passes_import_nothing_from_a_device(file):
    for node in ast.walk(ast.parse(file.read_text())):
        named = []
        if isinstance(node, ast.ImportFrom):
            named = [node.module or "", *[f"{node.module}.{a.name}" for a in node.names]]
        elif isinstance(node, ast.Import):
            named = [a.name for a in node.names]
        for name in named:
            parts = name.split(".")
            assert not {"cuda", "cpu", "lower"} & set(parts), f"{file.name} imports {name}"


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_what_is_declared_is_a_kernel(kind):
    joins.policy(kind)
    declared = joins._answers[kind]
    assert declared
    assert set(declared) <= set(KERNELS)


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_devices_answer_every_question_of_the_passes(kind):
    policy = joins.policy(kind)
    for name in ("fusion", "packed", "width", "is_pointwise", "channels_last_pays"):
        assert callable(getattr(policy, name))
    assert policy.MOST_INPUTS > 1 and policy.MOST_STEPS > 1


def test_a_device_that_says_nothing_joins_nothing():
    assert not joins.knows("cpu", "conv_pool")
    assert not joins.knows("cuda", "no such kernel")


# Products measured on an H200 inside a graph: rows, columns, terms, our tiled kernel and cuBLASLt in microseconds.
MEASURED = [(256, 512, 512, 10.2, 11.0), (100, 1000, 784, 14.3, 12.8), (512, 120, 400, 7.3, 9.6)]


@pytest.mark.parametrize(("m", "n", "k", "ours", "library"), MEASURED)
def test_the_models_are_near_what_was_measured(m, n, k, ours, library):
    (columns, rows, parts), depth = dense_sizes.tiles(m, n, k)
    assert costs.of_tiles(columns * rows * parts, depth) == pytest.approx(ours, rel=0.05)
    assert costs.of_library(m, n, k, "f") == pytest.approx(library, rel=0.08)
    assert dense_sizes.is_tiled(m, n, k, "f") == (ours < library)


def test_the_library_wins_sooner_by_tf32(monkeypatch):
    assert dense_sizes.is_tiled(256, 512, 512, "f")
    monkeypatch.setattr(settings, "float32_matmul_precision", "high")
    assert not dense_sizes.is_tiled(256, 512, 512, "f")
    assert dense_sizes.is_tiled(256, 256, 512, "f")


def test_other_figures_give_other_programs(monkeypatch):
    """The constants are the device's, in one place."""
    w, b = torch.randn(64, 4096), torch.randn(64)

    def fn(x):
        return F.linear(x, w, b).relu()

    x = torch.randn(4096, 4096)
    program = record(fn, x)
    assert names(for_gpu(optimise, program)) == ["linear_relu"]
    slow = costs.H200._replace(epilogue=1e6)
    monkeypatch.setattr(costs, "H200", slow)
    assert names(for_gpu(optimise, program)) == ["linear", "relu"]


def test_channels_last_pays_for_large_halves_alone():
    pays = joins.policy("cuda").channels_last_pays

    def images(*shape, dtype=torch.float16):
        return record(lambda x: x + 0, torch.zeros(*shape, dtype=dtype)).arguments[0]

    assert pays(images(32, 64, 28, 28), (64, 64, 3, 3), (32, 64, 28, 28))
    assert not pays(images(32, 64, 28, 28, dtype=torch.float32), (64, 64, 3, 3), (32, 64, 28, 28))
    assert not pays(images(1, 64, 7, 7), (64, 64, 1, 1), (1, 64, 7, 7))
    assert not pays(images(32, 3, 28, 28), (16, 3, 3, 3), (32, 16, 28, 28))


@pytest.mark.parametrize(
    "x, w, forward, weight",
    [
        ((4, 3, 32, 32), (6, 3, 5, 5), True, True),  # the first layer of the lab
        ((512, 3, 32, 32), (6, 3, 3, 3), True, True),
        ((64, 16, 8, 8), (16, 16, 5, 5), True, True),  # 400 terms: measured 4 times quicker
        ((16, 32, 96, 96), (32, 32, 3, 3), False, False),
        ((512, 32, 32, 32), (32, 32, 5, 5), False, False),
        ((64, 256, 14, 14), (256, 256, 3, 3), False, False),
    ],
)
def test_convolutions_go_where_they_are_quicker(x, w, forward, weight):
    """As measured on an H200."""
    out = tuple([n - k + 1 for n, k in zip(x[2:], w[2:])])
    shape = conv_sizes.forward_shape(x, w, out, (1, 1), (0, 0))
    assert forward_pays(shape) is forward
    assert weight_pays(shape) is weight


@pytest.mark.parametrize(
    "rows, outputs, inputs, char, forward, back",
    [
        (4, 10, 84, "f", True, True),
        (16, 512, 2048, "f", True, False),
        (8, 4096, 4096, "f", False, False),
        (1, 4096, 4096, "e", False, False),
        (4, 1024, 1024, "f", True, True),
        (17, 10, 84, "f", False, False),
    ],
)
def test_few_rows_go_where_they_are_quicker(rows, outputs, inputs, char, forward, back):
    assert dense_sizes.is_few(rows, outputs, inputs, char) is forward
    assert dense_sizes.is_few_back(rows, outputs, inputs, char) is back
