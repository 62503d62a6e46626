"""Functions over rows, written out in small pieces as users write them: what row groups are made of."""

from __future__ import annotations

import random
from typing import Any

import rushlight as torch
from rushlight.runtime.cpu import joins as cpu_joins
from rushlight.runtime.cuda import joins as cuda_joins

_ANSWERS = ("row_step", "row_reduction", "row_columns", "width", "MOST_ROW_INPUTS", "MOST_ROW_STEPS")


def answer_as_a_gpu(set_attribute: Any) -> None:
    """Let the CPU answer as a GPU: its programs get row groups, which the generic body computes."""
    for name in _ANSWERS:
        set_attribute(cpu_joins, name, getattr(cuda_joins, name))
    set_attribute(cpu_joins, "packed_rows", lambda attrs: b"")  # nothing the engine could read


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return ((x - mean) * torch.rsqrt(variance + 1e-5) * w + b).tanh()


def rms_norm(x: Any, w: Any) -> Any:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def softmax(x: Any) -> Any:
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def entropy(x: Any) -> Any:
    p = softmax(x)
    return -(p * torch.log(p + 1e-6)).sum(-1).mean()


def unit(x: Any) -> Any:
    """Rows of length one, their sums without a dim of 1 kept."""
    length = (x * x).sum(-1).sqrt()
    return x / length.unsqueeze(-1)


def residual(x: Any, y: Any, w: Any) -> Any:
    """Two uses of a sum, one of them behind a reduction."""
    total = x + torch.nn.functional.silu(y)
    return total + rms_norm(total, w)


def masked(x: Any, y: Any) -> Any:
    """A mask from a comparison of rows."""
    top = x.amax(-1, keepdim=True)
    return torch.where(x > top - 1, x * y, torch.zeros_like(x)).sum(-1, keepdim=True) * x


def square(x: Any) -> Any:
    """Rows and columns of one length: sums of rows that are taken for columns."""
    return x - x.sum(-1) + x.mean(-1, keepdim=True)


def scores(x: Any, y: Any) -> Any:
    """Softmax between what stands around it in attention."""
    return torch.softmax(x * 0.5 + y, -1) * torch.sigmoid(y)


def likelihood(x: Any, y: Any) -> Any:
    """A loss over soft labels."""
    return -(y.exp() * torch.log_softmax(x / 0.7, -1)).sum(-1)


def attention_scores(x: Any, mask: Any, bias: Any, padding: Any) -> Any:
    """Masks and biases of fewer rows than the scores: for all heads, for one head, for one sentence."""
    x = (x + bias).masked_fill(mask > 1, -1e4) + padding + 0.1 * mask
    return (x - torch.logsumexp(x, -1, keepdim=True)).exp()


# A function, and the shapes of its arguments; None stands for the number of columns.
FUNCTIONS: dict[str, tuple] = {
    "layer_norm": (layer_norm, (3, 4, None), (None,), (None,)),
    "rms_norm": (rms_norm, (7, None), (None,)),
    "softmax": (softmax, (2, 3, 5, None)),
    "entropy": (entropy, (9, None)),
    "unit": (unit, (4, None)),
    "residual": (residual, (2, 5, None), (2, 5, None), (None,)),
    "masked": (masked, (6, None), (6, None)),
    "square": (square, (None, None)),
    "scores": (scores, (2, 3, 4, None), (2, 3, 4, None)),
    "attention": (attention_scores, (2, 3, 5, None), (1, 1, 5, None), (1, 3, 1, None), (2, 1, 1, None)),
    "likelihood": (likelihood, (6, None), (6, None)),
    "one row": (layer_norm, (1, None), (None,), (None,)),
}


class Random:
    """A random function over rows: pointwise steps, reductions, masks, views and writes in place, in any order."""

    def __init__(self, seed: int) -> None:
        draws = random.Random(seed)
        self.plan = [tuple([draws.randrange(60) for _ in range(5)]) for _ in range(draws.randrange(4, 16))]

    def __call__(self, x: Any, y: Any, w: Any) -> Any:
        full, rows, seen = [x * w, y * 1.0], [x.mean(-1, keepdim=True)], []
        for what, i, j, k, n in self.plan:
            a, b, r = full[i % len(full)], full[j % len(full)], rows[k % len(rows)]
            what %= 14
            if what < 4:
                full.append((torch.add, torch.mul, torch.sub, torch.maximum)[n % 4](a, b))
            elif what == 4:
                full.append((torch.tanh, torch.sigmoid, torch.relu, torch.abs)[n % 4](a))
            elif what == 5:
                full.append((a - r, a * r, r - a, a / (r.abs() + 1), a * w + 0.5)[n % 5])
            elif what == 6:
                way = (torch.sum, torch.mean, torch.amax, torch.amin)[n % 4]
                rows.append(way(a, -1, keepdim=True) * 0.1)
            elif what == 7:
                row = a.sum(-1) if n % 2 else torch.logsumexp(a, -1)
                rows.append(row.unsqueeze(-1) * 0.1)
            elif what == 8:
                rows.append(torch.tanh(r) + rows[n % len(rows)])
            elif what == 9:
                full.append((torch.softmax if n % 2 else torch.log_softmax)(a, -1))
            elif what == 10:
                full.append(torch.where(a > r, a, b * 0.5))
            elif what == 11:
                folded = a.reshape(2, -1, a.shape[-1])
                full.append((folded - folded.mean(-1, keepdim=True)).reshape(a.shape))
            elif what == 12:
                seen.append((a.T, a[1:], a.sum(0), r.squeeze(-1), a * w)[n % 5])
            else:
                full[-1] = full[-1] * 1.0
                full[-1].mul_((0.5, -1.0)[n % 2])
        total = full[0] * 0.1 + full[1] * 0.1 + full[-1]
        return sum((v.sum() * 0.01 for v in (*seen, *rows)), total)
