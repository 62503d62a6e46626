"""The tasks by the words of --task, and the task of a saved network."""

from __future__ import annotations

from typing import Any

from .boxes import Boxes
from .classification import Classification
from .masks import Masks
from .multilabel import Multilabel
from .regression import Regression
from .task import Task

KINDS: dict[str, type[Task]] = {task.kind: task for task in (Classification, Multilabel, Regression, Boxes, Masks)}


def task_of(saved: dict[str, Any]) -> Task:
    """The task of a checkpoint."""
    return KINDS[saved["config"]["task"]](saved["classes"], saved["scale"], noun_of(saved))


def noun_of(saved: dict[str, Any]) -> str:
    """What one sample of a checkpoint is called."""
    from ..data.readings import READINGS

    return "picture" if saved.get("inputs") is None else READINGS[saved["inputs"]["kind"]].noun
