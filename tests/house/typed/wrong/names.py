"""Every line that ends in `# wrong` is one a type checker must refuse."""

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn, optim, vision

x = torch.randn(2, 3)
torch.nosuch(3)  # wrong
F.crossentropy(x, x)  # wrong
x.vieww(6)  # wrong
nn.Lineer(3, 4)  # wrong
optim.Sgd([x], lr=0.1)  # wrong
vision.models.resnet19()  # wrong
torch.linalg.qrr(x)  # wrong
