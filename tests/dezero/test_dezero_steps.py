"""Programs of the book, as its readers write them, run by `rushlight run` under the name dezero."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight
from test_dezero_data import write_mnist

SOURCE = Path(rushlight.__file__).parent.parent


def run(folder: Path, code: str, name: str = "step.py") -> str:
    """What a script prints under `rushlight run`, with warnings as errors."""
    (folder / name).write_text(code)
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "HOME": str(folder), "OPENBLAS_NUM_THREADS": "1"}
    start = "import sys; from rushlight.cli import main; sys.exit(main(['run', sys.argv[1]]))"
    done = subprocess.run([sys.executable, "-c", start, name], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAMS = {
    # 24: functions of optimisation
    "goldstein": (
        """
import numpy as np
from dezero import Variable
def goldstein(x, y):
    z = (1 + (x + y + 1)**2 * (19 - 14*x + 3*x**2 - 14*y + 6*x*y + 3*y**2)) * \\
        (30 + (2*x - 3*y)**2 * (18 - 32*x + 12*x**2 + 48*y - 36*x*y + 27*y**2))
    return z
x = Variable(np.array(1.0)); y = Variable(np.array(1.0))
z = goldstein(x, y)
z.backward()
print(x.grad, y.grad)
""",
        "variable(-5376.0) variable(8064.0)\n",
    ),
    # 27: the Taylor series of sin
    "taylor": (
        """
import math
import numpy as np
from dezero import Variable, Function
class Sin(Function):
    def forward(self, x):
        return np.sin(x)
    def backward(self, gy):
        x = self.inputs[0].data
        return gy * np.cos(x)
def my_sin(x, threshold=0.0001):
    y = 0
    for i in range(100000):
        c = (-1) ** i / math.factorial(2 * i + 1)
        t = c * x ** (2 * i + 1)
        y = y + t
        if abs(t.data) < threshold:
            break
    return y
for f in (Sin(), my_sin):
    x = Variable(np.array(np.pi / 4))
    y = f(x)
    y.backward()
    print('%.4f %.4f' % (y.data, x.grad.data))
""",
        "0.7071 0.7071\n0.7071 0.7071\n",
    ),
    # 28: gradient descent on Rosenbrock's function
    "rosenbrock": (
        """
import numpy as np
from dezero import Variable
def rosenbrock(x0, x1):
    return 100 * (x1 - x0 ** 2) ** 2 + (x0 - 1) ** 2
x0 = Variable(np.array(0.0)); x1 = Variable(np.array(2.0))
for i in range(1000):
    y = rosenbrock(x0, x1)
    x0.cleargrad(); x1.cleargrad()
    y.backward()
    x0.data -= 0.001 * x0.grad
    x1.data -= 0.001 * x1.grad
print('%.4f %.4f' % (x0.data, x1.data))
""",
        "0.6837 0.4660\n",
    ),
    # 36: a gradient inside the function that is differentiated
    "double": (
        """
import numpy as np
from dezero import Variable
x = Variable(np.array(2.0))
y = x ** 2
y.backward(create_graph=True)
gx = x.grad
x.cleargrad()
z = gx ** 3 + y
z.backward()
print(x.grad)
""",
        "variable(100.0)\n",
    ),
    # 37, 38, 40: tensors
    "tensors": (
        """
import numpy as np
import dezero.functions as F
from dezero import Variable
x = Variable(np.array([[1, 2, 3], [4, 5, 6]]))
c = Variable(np.array([[10, 20, 30], [40, 50, 60]]))
print(x + c)
y = F.reshape(x, (6,)); y.backward(retain_grad=True); print(x.grad)
x.cleargrad(); y = x.T; y.backward(); print(x.grad)
print(F.sum(x, axis=0), x.sum(keepdims=True))
print(F.get_item(x, np.array([0, 0, 1])), x[:, 2])
""",
        """variable([[11 22 33]
          [44 55 66]])
variable([[1 1 1]
          [1 1 1]])
variable([[1 1 1]
          [1 1 1]])
variable([5 7 9]) variable([[21]])
variable([[1 2 3]
          [1 2 3]
          [4 5 6]]) variable([3 6])
""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_small_programs(name, tmp_path):
    code, expected = PROGRAMS[name]
    assert run(tmp_path, code) == expected


def test_spiral_is_learnt(tmp_path):
    """Steps 48 to 50."""
    code = """
import numpy as np
import dezero
import dezero.functions as F
from dezero import optimizers, DataLoader
from dezero.models import MLP
max_epoch, batch_size, hidden_size, lr = 120, 30, 10, 1.0
train_set = dezero.datasets.Spiral(train=True)
test_set = dezero.datasets.Spiral(train=False)
train_loader = DataLoader(train_set, batch_size)
test_loader = DataLoader(test_set, batch_size, shuffle=False)
model = MLP((hidden_size, 3))
optimizer = optimizers.SGD(lr).setup(model)
for epoch in range(max_epoch):
    sum_loss, sum_acc = 0, 0
    for x, t in train_loader:
        y = model(x)
        loss = F.softmax_cross_entropy(y, t)
        acc = F.accuracy(y, t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        sum_loss += float(loss.data) * len(t)
        sum_acc += float(acc.data) * len(t)
with dezero.no_grad():
    correct = sum(float(F.accuracy(model(x), t).data) * len(t) for x, t in test_loader)
print(sum_loss / len(train_set), sum_acc / len(train_set), correct / len(test_set))
"""
    loss, accuracy, tested = map(float, run(tmp_path, code).split())
    assert loss < 0.45 and accuracy > 0.8 and tested > 0.75


def test_sine_is_learnt(tmp_path):
    """Steps 59 and 60."""
    code = """
import numpy as np
import dezero
from dezero import Model, SeqDataLoader
import dezero.functions as F
import dezero.layers as L
class Net(Model):
    def __init__(self, rnn, out_size):
        super().__init__()
        self.rnn = rnn
        self.fc = L.Linear(out_size)
    def reset_state(self):
        self.rnn.reset_state()
    def __call__(self, x):
        return self.fc(self.rnn(x))
np.random.seed(0)
for rnn in (L.RNN(20), L.LSTM(20)):
    train_set = dezero.datasets.SinCurve(train=True)
    loader = SeqDataLoader(train_set, batch_size=30)
    seqlen = len(train_set)
    model = Net(rnn, 1)
    optimizer = dezero.optimizers.Adam(alpha=0.01).setup(model)
    losses = []
    for epoch in range(30):
        model.reset_state()
        loss, count, total = 0, 0, 0
        for x, t in loader:
            y = model(x)
            loss += F.mean_squared_error(y, t)
            count += 1
            if count % 30 == 0 or count == seqlen:
                model.cleargrads()
                loss.backward()
                loss.unchain_backward()
                optimizer.update()
        losses.append(float(loss.data) / count)
    print(losses[0], losses[-1])
"""
    for line in run(tmp_path, code).splitlines():
        first, last = map(float, line.split())
        assert last < 0.2 * first


def test_step_52_unmodified(tmp_path, shared):
    """The seed's script, on a MNIST of a few hundred random pictures beside it."""
    write_mnist(tmp_path / "data" / "MNIST" / "raw", n=1000)
    out = run(tmp_path, (shared / "seeds" / "dezero_step52.py").read_text())
    lines = out.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"epoch: {i}" for i in range(1, 6)]
    losses = [float(line.split()[3].rstrip(",")) for line in lines]
    assert losses == sorted(losses, reverse=True)


def test_step_53_saves_and_goes_on(tmp_path):
    write_mnist(tmp_path / "data" / "MNIST" / "raw", n=200)
    code = """
import os
import dezero
import dezero.functions as F
from dezero import optimizers, DataLoader
from dezero.models import MLP
train_set = dezero.datasets.MNIST(train=True)
train_loader = DataLoader(train_set, 100)
model = MLP((50, 10))
optimizer = optimizers.SGD(0.1).setup(model)
if os.path.exists('my_mlp.npz'):
    model.load_weights('my_mlp.npz')
for epoch in range(3):
    sum_loss = 0
    for x, t in train_loader:
        y = model(x)
        loss = F.softmax_cross_entropy(y, t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        sum_loss += float(loss.data) * len(t)
    print(sum_loss / len(train_set))
model.save_weights('my_mlp.npz')
"""
    first = run(tmp_path, code).split()
    second = run(tmp_path, code).split()
    assert float(second[0]) < float(first[-1]) + 0.05
    with np.load(tmp_path / "my_mlp.npz") as saved:
        assert saved["l0/W"].shape == (784, 50) and saved["l0/W"].dtype == np.float32
