"""More uses: kinds, formats, and every class of `transforms.v2`."""

from __future__ import annotations

from vision_v2_cases import USES, Bench, use  # noqa: F401
