"""`step.epoch(loader)`: programs that gather their batches themselves, equal to the plain loop."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.data import DataLoader, RandomSampler, TensorDataset


class Side:
    def __init__(self, device):
        torch.manual_seed(7)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.25), nn.ReLU(), nn.Linear(8, 3))
        self.net.to(device)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)

    def step(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.cross_entropy(self.net(x), y)
        loss.backward()
        self.opt.step()
        return loss, y


def data(device, n=43):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.standard_normal((n, 4)).astype(np.float32)).to(device)
    return TensorDataset(x, torch.tensor(rng.integers(0, 3, n)).to(device))


def compare(device, make_loader, epochs=3):
    """The plain loop over a loader beside `epoch`, from the same seed; the compiled step."""
    results = []
    for compiled in (False, True):
        side = Side(device)
        loader = make_loader(data(device))
        step = torch.compile(side.step) if compiled else side.step
        torch.manual_seed(5)
        seen = []
        for _ in range(epochs):
            outs = step.epoch(loader) if compiled else (step(x, y) for x, y in loader)
            for loss, y in outs:
                seen.append((loss.item(), y.cpu().numpy().copy()))
        weights = [p.detach().cpu().numpy() for p in side.net.parameters()]
        results.append((seen, weights, torch.rand(1).item()))
    tolerance = {"rtol": 0, "atol": 0} if device == "cpu" else {"rtol": 1e-4, "atol": 1e-6}
    (a, wa, ra), (b, wb, rb) = results
    assert ra == rb and len(a) == len(b)
    for (x, labels), (y, other) in zip(a, b):
        np.testing.assert_array_equal(labels, other)
        np.testing.assert_allclose(y, x, **tolerance)
    for x, y in zip(wa, wb):
        np.testing.assert_allclose(y, x, **tolerance)
    return step


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"shuffle": True, "drop_last": True}])
def test_equals_the_plain_loop(options, device):
    step = compare(device, lambda d: DataLoader(d, 5, **options))
    (gathered,) = step.gathered
    (replay,) = gathered.step.replays
    assert replay.runs >= 3 * 8 - 3  # 8 full batches an epoch; the first steps are recorded
    code = replay.program.instructions
    assert any(ins.name == "next_places" for ins in code)
    assert not any(s.storage.kind == "argument" for ins in code for s in ins.reads)


def test_leaving_early_and_beginning_again():
    side, other = Side("cpu"), Side("cpu")
    step = torch.compile(side.step)
    for stop in (2, 6, 8, 3, 8):
        order = []
        for loader, run in ((DataLoader(data("cpu"), 5), step.epoch), (DataLoader(data("cpu"), 5), None)):
            torch.manual_seed(stop)
            found = run(loader) if run else (other.step(x, y) for x, y in loader)
            order.append([loss.item() for _, (loss, _) in zip(range(stop), found)])
        assert order[0] == order[1]


def test_another_loader_and_other_data():
    step = torch.compile(Side("cpu").step)
    first = DataLoader(data("cpu"), 5)
    for _ in range(2):
        list(step.epoch(first))
        list(step.epoch(DataLoader(first.dataset, 10)))
    assert len(step.gathered) == 2
    first.dataset.tensors[0].mul_(0)  # read where it lies
    other = Side("cpu")
    other.net.load_state_dict(step.fn.__self__.net.state_dict())
    other.opt.load_state_dict(step.fn.__self__.opt.state_dict())
    torch.manual_seed(1)
    a = [loss.item() for loss, _ in step.epoch(first)]
    torch.manual_seed(1)
    assert a == [other.step(x, y)[0].item() for x, y in first]


@pytest.mark.parametrize(
    "make",
    [
        lambda d: DataLoader(d, 5, collate_fn=lambda rows: [torch.stack(c) for c in zip(*rows)]),
        lambda d: DataLoader(d, 5, sampler=RandomSampler(d, replacement=True)),
        lambda d: DataLoader(d, sampler=list(range(0, 20)), batch_size=4),
    ],
    ids=["collate", "replacement", "list"],
)
def test_loaders_that_cannot_be_known_before_go_the_plain_way(make):
    assert not compare("cpu", make).gathered


def test_pictures_on_the_device(device):
    """An image set kept on a GPU; on the CPU it goes the plain way."""
    from rushlight.vision import transforms
    from rushlight.vision.datasets._arrays import ArrayDataset

    rng = np.random.default_rng(0)
    images = ArrayDataset.__new__(ArrayDataset)
    images.data = rng.integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
    images.targets = rng.integers(0, 3, 40).tolist()
    images.target_transform = None
    images.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.25,) * 3)])
    images.to(device)
    w = torch.ones(8, device=device)
    step = torch.compile(lambda x, y: ((x * w).sum((1, 2, 3)) + y).sum())
    loader = DataLoader(images, 8, shuffle=True)
    for _ in range(3):
        torch.manual_seed(4)
        want = [((x * w).sum((1, 2, 3)) + y).sum().item() for x, y in loader]
        torch.manual_seed(4)
        got = [t.item() for t in step.epoch(loader)]
        np.testing.assert_allclose(got, want, rtol=1e-5)
    assert bool(step.gathered) == (device != "cpu")
