"""What every test of loops starts with."""

from __future__ import annotations

import pytest

from rushlight.core.hot import meeting


@pytest.fixture(autouse=True)
def without_dezero(monkeypatch: pytest.MonkeyPatch) -> None:
    """DeZero, once imported by another test, bars loops of the whole process."""
    monkeypatch.setattr(meeting, "barred", None)
