"""A classifier's head: the last layer, its loss and the way back to its input as one launch."""

from __future__ import annotations

from ...joined.epilogues import LINEAR_GRADS
from ...joined.head import HEAD_STEP, HEAD_WHOLE
from ...program.instructions import Instruction, Program
from ...program.match import Made, first, joined, maker, reader, rewrite, rule


def join_heads(program: Program, force: bool = False) -> Program:
    """linear + cross_entropy_step + what takes its gradient back to the layer's input, joined."""
    return rewrite(program, [_head], force)


@rule(
    HEAD_STEP, HEAD_WHOLE,
    loss=first("cross_entropy_step"),
    layer=maker("linear", of="loss<0"),
    back=reader("mm", "mm_masked", "linear_backward", of="loss.1", at=0),
)  # fmt: skip
def _head(loss: Instruction, layer: Instruction, back: Instruction) -> list[Made] | None:
    whole = back.name == "linear_backward"
    if back.inputs[2 if whole else 1] is not layer.inputs[1]:
        return None
    if whole and back.inputs[1] is not layer.inputs[0]:
        return None
    mask = back.inputs[-1] if back.name != "mm" else None
    inputs = (*layer.inputs, *loss.inputs[1:], mask)
    made: list[Made] = []
    for logits in ((), layer.outputs):  # handed out as well where somebody else wants them
        attrs = {**loss.attrs, "logits": bool(logits)}
        if not whole:
            outs = (*loss.outputs, *back.outputs, *logits)
            made.append({"loss": joined(HEAD_STEP, inputs, attrs, outs, loss.line)})
            continue
        outs = (loss.outputs[0], *back.outputs, *logits)
        made.append({"loss": joined(HEAD_WHOLE, inputs, attrs, outs, loss.line)})
        gx, *grads = back.outputs
        outs = (*loss.outputs, gx, *logits)
        rest = joined(LINEAR_GRADS, (loss.outputs[1], inputs[0]), {}, grads, back.line)
        made.append({"loss": joined(HEAD_STEP, inputs, attrs, outs, loss.line), "back": rest})
    return made
