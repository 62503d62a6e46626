"""Which device to use, and the sentence that says why."""

from __future__ import annotations

from .errors import UsageError


def pick_device(asked: str) -> tuple[str, str]:
    """The device's name and why it was chosen; UsageError when it cannot be had."""
    import rushlight
    from rushlight.runtime.cuda import why_not

    reason = why_not()
    if asked == "auto":
        if reason is None:
            return "cuda:0", f"cuda:0 ({rushlight.cuda.get_device_name(0)}): a GPU was found"
        return "cpu", f"cpu: no GPU can be used, because {_lower(reason)}"
    try:
        chosen = rushlight.device(asked)
    except RuntimeError as error:
        raise UsageError(f"--device {asked}: {error}") from None
    if chosen.type == "cpu":
        return "cpu", "cpu: as asked"
    if chosen.type != "cuda":
        raise UsageError(f"--device {asked}: rushlight trains on cpu and cuda")
    if reason is not None:
        raise UsageError(f"--device {asked}: no GPU can be used, because {_lower(reason)}")
    count = rushlight.cuda.device_count()
    index = chosen.index or 0
    if index >= count:
        raise UsageError(f"--device {asked}: this machine has {count} GPU(s), numbered from 0")
    return f"cuda:{index}", f"cuda:{index} ({rushlight.cuda.get_device_name(index)}): as asked"


def _lower(sentence: str) -> str:
    """A sentence as the end of another one."""
    name = sentence[:2].isupper() or sentence.startswith("CuPy")
    return (sentence if name else sentence[0].lower() + sentence[1:]).rstrip(".")
