"""What scikit-learn reaches on the same rows or texts, where it is installed: told beside our network, never in its place."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from ..words import counted

MISSING = "scikit-learn is not installed, so there is no other model to compare with (pip install scikit-learn)"
KNOWN = ("classification", "regression")


def boosting(task: Any, categories: list[int]) -> tuple[str, Any] | str:
    """Gradient boosting over the columns."""
    if (why := _why_not(task)) is not None:
        return why
    from sklearn import ensemble

    kinds = {"classification": ensemble.HistGradientBoostingClassifier, "regression": ensemble.HistGradientBoostingRegressor}  # fmt: skip
    return "gradient boosting", kinds[task.kind](categorical_features=categories or None, random_state=0)


def of_words(task: Any) -> tuple[str, Any] | str:
    """Logistic or ridge regression over words and pairs of words."""
    if (why := _why_not(task)) is not None:
        return why
    from sklearn import feature_extraction, linear_model, pipeline

    model = linear_model.Ridge() if task.kind == "regression" else linear_model.LogisticRegression(max_iter=1000)
    words = feature_extraction.text.TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    return "a linear model of words", pipeline.make_pipeline(words, model)


def _why_not(task: Any) -> str | None:
    if task.kind not in KNOWN:
        return f"there is no other model for --task {task.kind} to compare with"
    return None if find_spec("sklearn") is not None else MISSING


def beside(images: Any) -> tuple[dict[str, Any], str]:
    """For test.json, and a line: the other model's numbers on the same test."""
    made = images.inputs.baseline(images)
    if isinstance(made, str):
        return {}, made + "."
    name, model = made
    task, train, test = images.task, images.train, images.test
    if task.kind == "regression" and len(task.names) > 1:
        return {}, f"There is no {name} beside several numbers at once."

    def of(part: Any) -> Any:
        return part.x if images.inputs.kind == "table" else part.contents

    try:
        model.fit(of(train), np.asarray(train.targets).ravel())
        found = model.predict(of(test))
    except ValueError as error:  # too few of a class for its own validation, no word that it knows
        return {}, f"{name.capitalize()} (scikit-learn) beside it: {' '.join(str(error).split())[:200]}"
    result = task.compared(np.asarray(test.targets), found)
    said = f"{name.capitalize()} (scikit-learn) on the same {counted(len(test), images.noun)}: {task.score_name} {task.shown(result[0])}"
    entry: dict[str, Any] = {"name": name, task.score: round(result[0], 6)}
    if result[1] is not None:
        entry["interval_95"] = [round(v, 6) for v in result[1]]
        said += f" ({task.shown(result[1][0])} to {task.shown(result[1][1])})"
    return {"baseline": entry}, said + "."
