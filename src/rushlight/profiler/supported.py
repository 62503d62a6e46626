"""What the profiler can watch on this machine."""

from __future__ import annotations

from .profiler import ProfilerActivity


def supported_activities() -> set[ProfilerActivity]:
    """The CPU, and the GPU where there is one.

    Example:
        >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
        True
    """
    from ..runtime.cuda import why_not

    found = {ProfilerActivity.CPU}
    if why_not() is None:
        found.add(ProfilerActivity.CUDA)
    return found
