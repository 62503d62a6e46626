"""The program of a small training step after each pass that changes it: what docs/compiled-step.md shows.

PYTHONPATH=src python tools/compiled_step.py
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.capture.passes import PASSES
from rushlight.capture.record.recording import Recording
from rushlight.nn import functional as F


class Block(nn.Module):
    """What a transformer repeats, without its attention."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Any) -> Any:
        return x + self.down(F.gelu(self.up(self.norm(x))))


def recorded() -> Any:
    """The program of the third step: the first makes the optimiser's state, the second agrees with it."""
    torch.manual_seed(0)
    net = nn.Sequential(Block(), Block(), nn.Linear(16, 4))
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x: Any, y: Any) -> Any:
        optimiser.zero_grad()
        loss = F.cross_entropy(net(x), y) * 0.5
        loss.backward()
        optimiser.step()
        return loss

    args = (torch.randn(8, 16), torch.randint(0, 4, (8,)))
    step(*args)
    step(*args)
    recording = Recording(step, args, {})
    recording.call()
    recording.analyse()
    return recording.program


def lines(program: Any) -> list[str]:
    found = []
    for ins in program.instructions:
        made = ", ".join(f"%{s.number}" for s in ins.outputs) or "-"
        read = ", ".join(f"%{s.number}" for s in ins.reads[:4])
        more = ", ..." if len(ins.reads) > 4 else ""
        shape = "x".join(map(str, ins.outputs[0].shape)) if ins.outputs else ""
        found.append(f"{made:12} {shape:8} {ins.name}({read}{more})")
    return found


def main() -> None:
    program = recorded()
    before = lines(program)
    print(f"recorded: {len(before)} instructions")
    print("\n".join(before))
    for name, run, _ in PASSES:
        program = run(program)
        after = lines(program)
        if after == before:
            continue
        print(f"\n{name}: {len(after)} instructions")
        for line in before:
            if line not in after:
                print(f"- {line}")
        for line in after:
            if line not in before:
                print(f"+ {line}")
        before = after


if __name__ == "__main__":
    main()
