"""Which ops autocast runs in low precision, in float32, or in the widest dtype of their inputs: a fact of each kernel."""

from __future__ import annotations

from ..core.op import OPS, Op, when_defined

LOW_PRECISION, FLOAT32, WIDEST, REFUSED = range(4)
# For whole functions: nothing inside is cast (one kernel in PyTorch, several ops here); the result is cast; all
# tensors have the dtype of a recurrent layer's last state; float16, whichever low precision was asked for.
PLAIN, LOW_RESULT, AS_STATE, HALF = range(4, 8)

# Refused under autocast on the GPU, as PyTorch refuses it.
UNSAFE = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional."
    "binary_cross_entropy_with_logits\nor torch.nn.BCEWithLogitsLoss.  "
    "binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to autocast."
)
_BY_NAME = {"low": LOW_PRECISION, "float32": FLOAT32, "widest": WIDEST, "refused": REFUSED}


def _policies() -> dict[str, dict[str, int]]:
    """Op name to device type to policy, as the ops' facts say; most ops have none. Ops that are loaded later come in."""
    found: dict[str, dict[str, int]] = {}

    def note(op: Op) -> None:
        said = op.kernel.facts.autocast
        if said is None or op.name != op.kernel.name:
            return
        by_device = said if isinstance(said, dict) else dict.fromkeys(("cuda", "cpu"), said)
        found[op.name] = {place: _BY_NAME[policy] for place, policy in by_device.items()}

    for op in OPS.values():
        note(op)
    when_defined.append(note)
    return found


POLICIES = _policies()
