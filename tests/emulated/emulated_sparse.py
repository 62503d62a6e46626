"""Sparse gradients on the emulated GPU beside the CPU's."""

from __future__ import annotations

from typing import Any

import rushlight as rl

F = rl.nn.functional


def looked_up(w: Any, places: list[int]) -> Any:
    return (F.embedding(rl.tensor(places, device=w.device), w, sparse=True) ** 2).sum()


def table(device: str) -> Any:
    return (rl.arange(21.0) / 7).view(7, 3).to(device).requires_grad_()


def gradients(device: str) -> list[Any]:
    w = table(device)
    looked_up(w, [1, 2, 2, 5]).backward()
    found = [w.grad._indices(), w.grad._values(), w.grad.to_dense()]
    (looked_up(w, [4, 2]) + looked_up(w, [0])).backward()
    found.append(w.grad.to_dense())
    (w * 2).sum().backward()
    assert not w.grad.is_sparse
    x = table(device)
    rl.gather(x, 1, rl.tensor([[0, 1]] * 7, device=device), sparse_grad=True).sum().backward()
    return [*found, w.grad, x.grad._indices(), x.grad._values()]


def stepped(device: str, **options: Any) -> list[Any]:
    w = table(device)
    optimizer = rl.optim.SGD([w], lr=0.1, **options)
    for places in ([1, 2, 2, 5], [0, 2]):
        optimizer.zero_grad()
        looked_up(w, places).backward()
        assert w.grad.is_sparse and w.grad.is_cuda is (device == "cuda")
        optimizer.step()
    return [w.detach()]


for run in (gradients, stepped, lambda device: stepped(device, momentum=0.9, nesterov=True)):
    for here, there in zip(run("cpu"), run("cuda")):
        assert here.shape == there.shape and rl.allclose(here, there.cpu(), atol=1e-5)
print("equal")
