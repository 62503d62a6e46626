"""`rushlight explain`: every row is found by the error that its own script raises."""

from __future__ import annotations

import io
import sys

import pytest

import rushlight as rl
from rushlight.cli import main
from rushlight.cli.explain import KNOWN


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.pattern[:30])
def test_each_error_is_explained(known, capsys) -> None:
    try:
        exec(compile(known.example, "<user>", "exec"), {"__name__": "__main__", "torch": rl})
    except SystemExit:
        pytest.skip("there is a GPU")
    except Exception as error:  # noqa: BLE001 - each of them is another kind
        assert main(["explain", f"{type(error).__name__}: {error}"]) == 0
    else:
        raise AssertionError("it did not fail")
    said = capsys.readouterr().out
    assert " ".join(said.split()) == " ".join(f"{known.means} -> {known.todo}".split())


def test_a_traceback_and_a_list(capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Traceback ...\nRuntimeError: CUDA out of memory"))
    assert main(["explain", "-"]) == 0 and "smaller batch" in capsys.readouterr().out
    assert main(["explain"]) == 0 and len(capsys.readouterr().out.splitlines()) == 2 * len(KNOWN)
    assert main(["explain", "no", "such"]) == 2 and "not among" in capsys.readouterr().err
