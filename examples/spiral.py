"""The spiral of the DeZero book: three classes that no straight line parts."""

import dezero
import dezero.functions as F
import numpy as np
from dezero import DataLoader, optimizers
from dezero.models import MLP

np.random.seed(0)
train_set = dezero.datasets.Spiral(train=True)
test_set = dezero.datasets.Spiral(train=False)
train_loader = DataLoader(train_set, 30)
test_loader = DataLoader(test_set, 30, shuffle=False)
model = MLP((10, 3))
optimizer = optimizers.SGD(1.0).setup(model)

for epoch in range(1, 301):
    for x, t in train_loader:
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
    if epoch % 100 == 0:
        right = 0
        with dezero.no_grad():
            for x, t in test_loader:
                right += float(F.accuracy(model(x), t).data) * len(t)
        print(f"epoch {epoch}  test accuracy {right / len(test_set):.2f}")
