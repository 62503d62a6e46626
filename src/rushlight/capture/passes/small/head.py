"""A classifier's head: the last layer, its loss and the way back to its input as one launch."""

from __future__ import annotations

from typing import Any

from ...joined.epilogues import LINEAR_GRADS
from ...joined.head import HEAD_STEP, HEAD_WHOLE
from ...program.match import Found, Joining, first, joined, maker, reader, rule


@rule(
    HEAD_STEP, HEAD_WHOLE,
    loss=first("cross_entropy_step"),
    layer=maker("linear", of="loss<0"),
    back=reader("mm", "mm_masked", "linear_backward", of="loss.1", at=0),
)  # fmt: skip
def _head(m: Found) -> Any:
    (x, w, _), (loss, g) = m.layer.inputs, m.loss.outputs
    whole = m.back.name == "linear_backward"
    if any(a is not b for a, b in zip(m.back.inputs[1:], (x, w) if whole else (w,))):
        return None
    mask = m.back.inputs[-1] if m.back.name != "mm" else None
    inputs = (*m.layer.inputs, *m.loss.inputs[1:], mask)
    gx, *grads = m.back.outputs
    made = []
    for logits in ((), m.layer.outputs):  # handed out as well where somebody else wants them
        attrs = {**m.loss.attrs, "logits": bool(logits)}
        step = {"loss": joined(HEAD_STEP, inputs, attrs, (loss, g, gx, *logits))}
        if whole:
            made.append({"loss": joined(HEAD_WHOLE, inputs, attrs, (loss, gx, *grads, *logits))})
            step["back"] = joined(LINEAR_GRADS, (g, x), {}, grads)
        made.append(step)
    return made


join_heads = Joining(_head)
