"""The seeds' scripts, shortened, print the same losses with tracing and without."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

LAB = """
import torch
import torchvision
import torchvision.transforms as transforms
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
transform = transforms.Compose(
    [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])
trainset = torchvision.datasets.CIFAR10(root='./data', train=True, download=False, transform=transform)
trainloader = torch.utils.data.DataLoader(trainset, batch_size=4, shuffle=True, num_workers=WORKERS)
testloader = torch.utils.data.DataLoader(trainset, batch_size=4, shuffle=False, num_workers=WORKERS)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
for epoch in range(2):
    running_loss = 0.0
    for i, data in enumerate(trainloader, 0):
        inputs, labels = data[0], data[1]
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if i % 10 == 9:
            print('[%d, %5d] loss: %.3f' % (epoch + 1, i + 1, running_loss / 10))
            running_loss = 0.0
torch.save(net.state_dict(), './cifar_net.pth')
net = Net()
net.load_state_dict(torch.load('./cifar_net.pth'))
correct = total = 0
with torch.no_grad():
    for images, labels in testloader:
        outputs = net(images)
        _, predicted = torch.max(outputs.data, 1)
        total += labels.size(0)
        correct += (predicted == labels).sum().item()
print('Accuracy: %d of %d' % (correct, total))
class_correct = list(0. for i in range(10))
with torch.no_grad():
    for images, labels in testloader:
        _, predicted = torch.max(net(images), 1)
        c = (predicted == labels).squeeze()
        for i in range(4):
            class_correct[labels[i]] += c[i].item()
print(class_correct)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 160 pictures in CIFAR-10's layout."""
    where = tmp_path_factory.mktemp("lab")
    batches = where / "data" / "cifar-10-batches-py"
    batches.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in [*[f"data_batch_{i}" for i in range(1, 6)], "test_batch"]:
        data = rng.integers(0, 256, (32, 3072), dtype=np.uint8)
        labels = rng.integers(0, 10, 32).tolist()
        (batches / name).write_bytes(pickle.dumps({"data": data, "labels": labels}, protocol=2))
    names = [f"class {i}" for i in range(10)]
    (batches / "batches.meta").write_bytes(pickle.dumps({"label_names": names}, protocol=2))
    return where


@pytest.mark.parametrize("workers", [0, 2])
def test_the_labs_script(folder: Path, workers: int) -> None:
    script = folder / "lab.py"
    script.write_text(LAB.replace("WORKERS", str(workers)))
    eager, _ = _run(folder, "--no-trace", str(script))
    traced, told = _run(folder, "--explain", str(script))
    assert traced == eager and eager.count("loss") == 8
    replayed = re.search(r"(\d+) stretches of \d+ kernels replayed", told)
    assert replayed is not None and int(replayed[1]) > 60, told


def _run(folder: Path, *arguments: str) -> tuple[str, str]:
    code = "import sys; from rushlight.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "run", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr
