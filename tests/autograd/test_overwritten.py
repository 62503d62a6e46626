"""What may be overwritten before `backward`: all that PyTorch's derivatives do not read, though ours may."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as rl
import rushlight.nn.functional as F
from traced import both


def _overwritten(make: Any, how: str, device: str) -> tuple[rl.Tensor, rl.Tensor]:
    """The gradient with what PyTorch's derivative does not read overwritten before `backward`, and without."""
    found = []
    for write in (True, False):
        x = rl.linspace(-2, 7, 12).reshape(3, 4).to(device).requires_grad_()
        o = x * 1
        y = make(o)
        with rl.set_grad_enabled(how != "no_grad"):
            place = y if how.startswith("result") else o
            if write and how in ("view", "result view"):
                place[0].mul_(3)
            elif write:
                (place.detach() if how == "detached" else place).mul_(3)
        (y * 1 if how.startswith("result") else y.sum()).backward(
            *([rl.ones(3, 4, device=device)] if how.startswith("result") else [])
        )
        if write and how.startswith("result"):  # which is part of the graph
            rows = [3.0, 3.0 if how == "result" else 1.0, 3.0 if how == "result" else 1.0]
            x.grad /= rl.tensor(rows, device=device).unsqueeze(1)
        found.append(x.grad)
    return found[0], found[1]


@pytest.mark.parametrize("how", ["itself", "detached", "no_grad", "view"])
@pytest.mark.parametrize("loss", ["cross_entropy", "l1_loss"])
def test_inputs_of_losses_may_change_where_pytorch_keeps_something_else(loss: str, how: str, device: str) -> None:
    targets = {"cross_entropy": rl.tensor([0, 1, 2], device=device), "l1_loss": rl.ones(3, 4, device=device)}
    changed, plain = _overwritten(lambda o: getattr(F, loss)(o, targets[loss]), how, device)
    assert rl.equal(changed, plain)


@pytest.mark.parametrize("how", ["result", "result view"])
@pytest.mark.parametrize("name", ["leaky_relu", "relu6", "hardtanh"])
def test_results_of_activations_may_change_where_pytorch_keeps_the_input(name: str, how: str, device: str) -> None:
    """`out = F.leaky_relu(x); out += skip` is how residual networks are written."""
    changed, plain = _overwritten(getattr(F, name), how, device)
    assert rl.allclose(changed, plain)


def test_a_step_that_overwrites_logits_and_activations_is_compiled_and_traced(device: str) -> None:
    def program(compiled: bool) -> list[float]:
        net = rl.nn.Linear(4, 4, device=device)
        opt = rl.optim.SGD(net.parameters(), lr=0.1)
        target = rl.tensor([0, 1, 2], device=device)

        def step(x: rl.Tensor) -> rl.Tensor:
            out = F.leaky_relu(net(x))
            out += x
            loss = F.cross_entropy(out, target)
            out.zero_()
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        call = rl.compile(step) if compiled else step
        xs = [rl.linspace(-i, 2, 12, device=device).reshape(3, 4) for i in range(12)]
        return [call(x).item() for x in xs]

    both(program, False, replays=0)
    rl.manual_seed(0)
    plain = program(False)
    rl.manual_seed(0)
    assert program(True) == pytest.approx(plain)


def test_the_waiting_nodes_of_a_tensor_that_is_never_written_are_few() -> None:
    logits, target = rl.zeros(2, 3, requires_grad=True), rl.tensor([0, 1])
    for _ in range(40):
        F.cross_entropy(logits, target).backward()
    assert len(logits._ver) < 12


def test_a_write_with_a_history_to_a_view_made_without_one_is_refused_before_it_happens():
    base, weight = rl.zeros(3), rl.ones(2, requires_grad=True)
    with rl.no_grad():
        view = base[:2]
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        view.add_(weight)
    assert base.tolist() == [0, 0, 0] and not base.requires_grad
    view.add_(1)  # without a history it may be written
    assert base.tolist() == [1, 1, 0]
