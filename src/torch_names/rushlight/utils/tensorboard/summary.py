"""`torch.utils.tensorboard.summary`: summaries as libraries make them themselves, for `add_summary`."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from . import plugins

__all__ = ["custom_scalars", "hparams"]


def hparams(
    hparam_dict: dict[str, Any] | None = None, metric_dict: dict[str, Any] | None = None,
    hparam_domain_discrete: dict[str, list] | None = None,
) -> tuple[bytes, bytes, bytes]:  # fmt: skip
    """Three summaries of a run: what is compared, its settings, and that it has ended.

    Args:
        hparam_dict: the settings by name.
        metric_dict: the results by name; only the names are used.
        hparam_domain_discrete: for a setting all values it may have.

    Example:
        >>> from rushlight.utils.tensorboard.summary import hparams
        >>> len(hparams({"lr": 0.1}, {"loss": 0.5}))
        3
    """
    given = {k: v.item() if isinstance(v, Tensor) else v for k, v in (hparam_dict or {}).items()}
    first, second, third = plugins.hparams(given, metric_dict or {}, hparam_domain_discrete)
    return first, second, third


def custom_scalars(layout: dict[str, dict[str, list]]) -> bytes:
    """Which curves are drawn together: {category: {chart: ["Multiline" or "Margin", tags]}}.

    Args:
        layout: the charts.

    Example:
        >>> from rushlight.utils.tensorboard.summary import custom_scalars
        >>> type(custom_scalars({"all": {"losses": ["Multiline", ["a", "b"]]}}))
        <class 'bytes'>
    """
    return plugins.custom_scalars(layout)
