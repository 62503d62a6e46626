"""Arrays that begin in the middle of 16 bytes, on the emulated GPU, whose kernels stop at an address that is not aligned.

A window of something need not begin at a multiple of 16 bytes; a kernel that assumes it loses the GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as rl
from rushlight.nn import functional as F

OFFSETS = (0, 1, 2, 3, 5)


def windows(device: str) -> list[Any]:
    """Dense windows of seven rows at different places of a larger array, and one that is not dense."""
    whole = rl.arange(400.0).to(device) / 37
    made = [whole[k : k + 84].view(7, 12) for k in OFFSETS]
    return [*made, whole[3:203].view(10, 20)[:7, 2:14], whole[1:85].view(12, 7).t()]


def written(work: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """What stands around a window when something was written into it."""

    def run(x: Any) -> Any:
        mine = x.clone(memory_format=rl.preserve_format)
        root = x._base
        before = root.clone()
        work(x, mine)
        after = root.clone()
        root.copy_(before)
        return after

    return run


def dense(use: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Only what our own kernels take: the libraries are not emulated."""
    return lambda x: use(x) if x.is_contiguous() else x.sum()


USES: dict[str, Callable[[Any], Any]] = {
    "zero_": written(lambda x, mine: x.zero_()),
    "fill_": written(lambda x, mine: x.fill_(2.5)),
    "fill_ with a tensor": written(lambda x, mine: x.fill_(mine[0, 0])),
    "copy_": written(lambda x, mine: x.copy_(mine * 2)),
    "copy_ of a number": written(lambda x, mine: x.copy_(mine[1, 1])),
    "copy_ of a row": written(lambda x, mine: x.copy_(mine[1])),
    "copy_ of another type": written(lambda x, mine: x.copy_((mine * 2).to(rl.float64))),
    "written as a storage": written(lambda x, mine: x.untyped_storage().fill_(0)),
    "taken over by a storage": written(lambda x, mine: x.storage().copy_((x._base * 2).storage())),
    "add_": written(lambda x, mine: x.add_(mine)),
    "add_ times a number": written(lambda x, mine: x.add_(mine, alpha=0.5)),
    "sub_ times a number": written(lambda x, mine: x.sub_(mine[0], alpha=2)),
    "add_ a number": written(lambda x, mine: x.add_(1.5)),
    "mul_": written(lambda x, mine: x.mul_(mine[0])),
    "sub_": written(lambda x, mine: x.sub_(mine[:, :1])),
    "relu_": written(lambda x, mine: x.relu_()),
    "clamp_": written(lambda x, mine: x.clamp_(1, 2)),
    "clamp_ from below": written(lambda x, mine: x.clamp_(min=1)),
    "clamp_ between": written(lambda x, mine: x.clamp_(mine - 1, mine + 1)),
    "exp_": written(lambda x, mine: x.exp_()),
    "lerp_": written(lambda x, mine: x.lerp_(mine, 0.25)),
    "lerp_ by a tensor": written(lambda x, mine: x.lerp_(mine[0], mine)),
    "addcmul_": written(lambda x, mine: x.addcmul_(mine, x, value=0.5)),
    "addcdiv_": written(lambda x, mine: x.addcdiv_(mine[0], mine, value=2)),
    "addcmul_ of its own turned": written(lambda x, mine: x[:6, :6].addcmul_(x[:6, :6].t(), mine[:6, :6])),
    "remainder_": written(lambda x, mine: x.remainder_(mine)),
    "set by a slice": written(lambda x, mine: x.__setitem__(slice(1, 4), mine[:3])),
    "set to a number": written(lambda x, mine: x.__setitem__(slice(1, 4), 3.0)),
    "masked_fill_": written(lambda x, mine: x.masked_fill_(mine > 1, 0.5)),
    "add": lambda x: x + x,
    "by a number": lambda x: x * 2.5,
    "by a row": lambda x: x * x[1],
    "where": lambda x: rl.where(x > 1, x, -x),
    "to another type": lambda x: x.to(rl.float64),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.t().contiguous(),
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(1),
    "sum of columns": lambda x: x.sum(0),
    "largest": lambda x: x.max(1)[0],
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "mean of rows": lambda x: x.mean(-1),
    "norm": lambda x: x.norm(),
    "position": lambda x: x.argmax(-1),
    "rms_norm": lambda x: F.rms_norm(x, (12,)),
    "batch_norm": dense(lambda x: F.batch_norm(x.reshape(7, 3, 2, 2), None, None, training=True)),
    "group_norm": dense(lambda x: F.group_norm(x.reshape(1, 6, 7, 2), 2)),
    "foreach": lambda x: rl._foreach_add([x, x], [x, x], alpha=2)[1],
    "layer_norm": lambda x: F.layer_norm(x, (12,)),
    "layer_norm with weights": lambda x: F.layer_norm(x, (12,), x[0], x[1]),
    "cross_entropy": dense(lambda x: F.cross_entropy(x, rl.arange(7).to(x.device))),
    "linear": dense(lambda x: F.linear(x, x[:5], x[0, :5])),
    "linear of few": dense(lambda x: F.linear(x[:3], x[3:7], x[0, 1:5])),
    "embedding": lambda x: F.embedding(rl.tensor([5, 0, 3], device=x.device), x),
    "gather": lambda x: x.gather(1, rl.tensor([[1], [0], [3]], device=x.device)),
    "cat": lambda x: rl.cat([x[1:], x[:2]], 0),
    "stack": lambda x: rl.stack([x, x]),
    "max_pool2d": dense(lambda x: F.max_pool2d(x.reshape(1, 1, 7, 12), 2)),
}


def normalised(x: Any) -> Any:
    """Back through a normalisation, from a window to a window."""
    x = x.detach().requires_grad_()
    F.layer_norm(x, (12,)).pow(2).sum().backward()
    return x.grad


def backward(x: Any) -> Any:
    """Gradients that arrive at windows."""
    x = x.detach().requires_grad_()
    (x[1:, 1:] * x[:-1, :-1]).sum().backward()
    return x.grad


USES["backward"] = backward
USES["back through layer_norm"] = normalised

for name, use in USES.items():
    print(name, flush=True)  # the last is the one that stopped
    for there, here in zip(windows("cuda"), windows("cpu")):
        expected = use(here).detach().numpy()
        found = use(there).detach().cpu().numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=name)
print(len(USES), "uses: equal")
