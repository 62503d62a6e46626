"""Random programs of views, writes in place, `out=`, modes and gradients; `python tests/ops/random_programs.py FIRST COUNT` searches."""

from __future__ import annotations

import random
import re
import sys
from typing import Any

from programs import Pair, Quirk

DTYPES = ["float32"] * 8 + ["float64"] * 3 + ["int64"] * 2 + ["bool", "uint8", "int32", "float16", "complex64"]
SHAPES = [(), (1,), (3,), (2, 3), (3, 2), (2, 1, 3), (0,), (2, 0), (1, 1), (2, 3, 2), (2, 2)]
NUMBERS = {"bool": [True, False], "uint8": [0, 1, 3, 255], "complex64": [1j, -1.5, 0.5 + 2j], "int": [0, 1, 2, -1, -3]}
FLOATS = [0.0, 1.0, -1.5, 0.5, 2.25, 3.0, -0.75]

# {a} {b} {c} tensors, {d} a dim of a, {e} a place for a new one, {i} an index of a, {n} a number, {s} a's shape.
VIEWS = """
{a}.transpose({d}, {d})|{a}.t()|{a}.mT|{a}.unsqueeze({e})|{a}.squeeze({d})|{a}.squeeze()|{a}.reshape(-1)|{a}.view(-1)|{a}.flatten()
{a}.expand(2, *{a}.shape)|{a}[{i}]|{a}[{i}]|{a}[{i}]|{a}.narrow({d}, 0, 1)|{a}.select({d}, 0)|{a}.diagonal()|{a}.detach()|{a}.chunk(2, {d})[0]
{a}.split(1, {d})[-1]|{a}.unbind({d})[0]|{a}.movedim({d}, {d})|{a}.unfold({d}, 1, 1)|{a}.expand_as({b})|{a}.contiguous()|{a}.data
{a}.swapaxes({d}, {d})|torch.atleast_2d({a})|{a}.view({s})|{a}.reshape({s})|{a}.view_as({b})|{a}.tensor_split(2, {d})[0]
""".replace("\n", "|").strip("|").split("|")  # fmt: skip
RESULTS = """
{a} + {b}|{a} * {b}|{a} - {n}|{a} / {b}|{n} - {a}|{a} ** 2|{a}.abs()|{a}.exp()|{a}.sigmoid()|{a}.relu()|{a}.sin()|{a}.sum()|{a}.sum({d})
{a}.sum({d}, keepdim=True)|{a}.mean()|{a}.mean({d})|{a} @ {b}|{a}.max({d})[0]|{a}.clone()|torch.cat([{a}, {b}], {d})|torch.stack([{a}, {a}], {e})
torch.where({a} > 0, {b}, {n})|{a}.to(torch.{t})|{a}.cumsum({d})|{a}.prod()|{a}.softmax({d})|{a}.clamp(0, 1.5)|{a} > {b}|{a} == {n}|{a}.flip({d})
{a}.roll(1, {d})|{a}.amax({d})|{a}.index_select({d}, torch.tensor([0, 0]))|{a}.masked_fill({b} > 0, {n})|torch.maximum({a}, {b})|{a}.tril()
{a}.any()|torch.zeros_like({a})|{a}.type_as({b})|torch.add({a}, {b}, alpha={n})|torch.outer({a}, {b})|{a}.var({d})|{a}.argmax({d})|{a}.repeat_interleave(2)
{a}.float()|F.pad({a}, (1, 1))|{a}.logsumexp({d})|{a}.std()|F.mse_loss({a}, {b})|torch.lerp({a}, {b}, 0.5)|{a}.index_add({d}, torch.tensor([0]), {b})
""".replace("\n", "|").strip("|").split("|")  # fmt: skip
WRITES = """
{a}.add_({b})|{a}.mul_({b})|{a}.copy_({b})|{a}.mul_({n})|{a}.fill_({n})|{a}.zero_()|{a}.neg_()|{a}.exp_()|{a}.relu_()|{a}[{i}] = {n}|{a}[{i}] = {b}
{a}[{i}] += {n}|{a} += {b}|{a}.masked_fill_({b} > 0, {n})|{a}.clamp_(0, 1)|{a}.squeeze_()|{a}.unsqueeze_({e})|{a}.transpose_({d}, {d})|{a}.detach_()
{a}.requires_grad_()|{a}.requires_grad_(False)|{a}.addcmul_({b}, {c})|{a}.tril_()|{a}.data.mul_(2)|{a}.grad = None|{a}.retain_grad()|{a}.sub_({n})
""".replace("\n", "|").strip("|").split("|")  # fmt: skip
OUTS = """
torch.add({a}, {b}, out={o})|torch.exp({a}, out={o})|torch.sum({a}, {d}, out={o})|torch.abs({a}, out={o})|torch.amax({a}, {d}, out={o})|torch.gt({a}, {b}, out={o})
torch.mean({a}, {d}, out={o})|torch.clamp({a}, 0, 1, out={o})|torch.argmax({a}, out={o})|torch.all({a} != 0, {d}, out={o})|torch.tril({a}, out={o})|torch.mul({a}, {n}, out={o})
""".replace("\n", "|").strip("|").split("|")  # fmt: skip
GRADS = """
{a}.sum().backward()|{a}.sum().backward(retain_graph=True)|{a}.backward(torch.ones_like({a}))|{a}.register_hook(lambda g: log.append(g.clone()))
{a}.register_hook(lambda g: g * 2)|{a}.grad.zero_()|{a}.backward()|z{k} = torch.autograd.grad({a}.sum(), {b}, retain_graph=True, allow_unused=True)
t{k} = torch.autograd.grad(({a} ** 3).sum(), {b}, create_graph=True)[0]|z{k} = torch.autograd.grad(({a} * {a}).sum(), {b}, create_graph=True)
""".replace("\n", "|").strip("|").split("|")  # fmt: skip
MODES = ["with torch.no_grad(): "] * 4 + ["with torch.inference_mode(): ", "with torch.enable_grad(): "] + [""] * 34

# `all` is asked about truth values only: with bytes as `out` PyTorch makes bytes of 0.5 first, and says that it is 0.
# Where PyTorch refuses, this search asks nothing: which of two errors is raised, and what we compute all the same
# (writes that overlap what they read, gradients that PyTorch does not know), is listed in docs/trust.md.
KNOWN = re.compile(r" is not \w+Error\(|not implemented for|ComplexFloat can't be cast")
SKIPPED = ("stride", "is_contiguous", "grad_fn", "output_nr", "_is_view", "storage_offset", "retains_grad")


class Program:
    """One program, made while it runs: arguments are chosen for the tensors that are there."""

    def __init__(self, torch: Any, seed: int) -> None:
        self.rng = random.Random(seed)
        self.pair = Pair(torch)
        self.names = 0

    def tensors(self) -> list[str]:
        theirs = self.pair.spaces[1]
        return [n for n, v in theirs.items() if n != "torch" and n[0] == "t" and hasattr(v, "dim")]

    def new(self) -> str:
        self.names += 1
        return f"t{self.names}"

    def made(self) -> str:
        kind, shape, rng = self.rng.choice(DTYPES), self.rng.choice(SHAPES), self.rng
        count = 1
        for n in shape:
            count *= n
        pool = NUMBERS.get(kind) or (NUMBERS["int"] if kind.startswith("int") else FLOATS)
        values = [rng.choice(pool) for _ in range(count)]
        text = f"{self.new()} = torch.tensor({values}, dtype=torch.{kind}).reshape({shape}).clone()"
        wants = kind.startswith(("float", "complex")) and rng.random() < 0.5
        return text + (".requires_grad_()" if wants else "")

    def index(self, shape: tuple[int, ...]) -> str:
        rng, parts = self.rng, []
        for n in shape:
            if rng.random() < 0.3:
                break
            places = ", ".join(str(rng.randrange(-n, n) if n else 0) for _ in range(2))
            parts.append(
                rng.choice([str(rng.randrange(-n, n) if n else 0), "1:", ":-1", "::2", ":", "None, :", f"[{places}]",
                            f"torch.tensor([{places}])", f"torch.arange({n}) > 0"])
            )  # fmt: skip
        return ", ".join(parts) or rng.choice(["...", "None", "()", "True"])

    def line(self) -> str:
        rng = self.rng
        pool = rng.choice([VIEWS, VIEWS, RESULTS, RESULTS, WRITES, WRITES, OUTS, GRADS, GRADS])
        if rng.random() < 0.06:
            return self.made()
        a, b, c, out = (rng.choice(self.tensors()) for _ in range(4))
        theirs = self.pair.spaces[1][a]
        n = max(theirs.dim(), 1)
        empty = f"torch.empty(0, dtype=torch.{rng.choice(DTYPES)})"
        text = rng.choice(pool).format(
            a=a, b=b, c=c, o=rng.choice([out, empty]), d=rng.randrange(-n, n), e=rng.randrange(-n, n), s=tuple(theirs.shape),
            i=self.index(tuple(theirs.shape)), n=rng.choice([2, 0.5, -1.5, True, 0, 3]), t=rng.choice(DTYPES), k=self.names + 1,
        )  # fmt: skip
        if f"out={out}" in text:
            text = text.replace(f"out={out}", f"out=torch.zeros_like({out})")  # overlaps are not defined
        if pool in (VIEWS, RESULTS, OUTS):
            text = f"{self.new()} = {text}"
        elif pool is GRADS:
            self.names += 1
            return text
        return rng.choice(MODES) + text


def difference(torch: Any, seed: int, steps: int = 10) -> str | None:
    """The program of this seed up to the line after which something differs, and what; None where nothing does."""
    program = Program(torch, seed)
    lines = [program.made(), program.made()]
    for _ in range(steps):
        line = lines.pop(0) if lines else program.line()
        try:
            found = program.pair.run(line, SKIPPED)
        except Quirk:
            return None
        if found:
            known = KNOWN.search(found)
            return None if known else "\n".join([f"seed {seed}", *program.pair.lines, found])
    return None


if __name__ == "__main__":
    import torch

    first, count = int(sys.argv[1]), int(sys.argv[2])
    wrong = [d for d in (difference(torch, s) for s in range(first, first + count)) if d]
    print("\n\n".join(wrong))
    print(f"{len(wrong)} of {count} differ")
