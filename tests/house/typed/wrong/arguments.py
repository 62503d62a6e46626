"""Every line that ends in `# wrong` is one a type checker must refuse."""

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn, optim

x = torch.randn(2, 3)
torch.randn("two", 3)  # wrong
torch.zeros(2, dtype="float32")  # wrong
torch.cat(x, "rows")  # wrong
torch.relu([1.0, 2.0])  # wrong
F.cross_entropy(x)  # wrong
F.cross_entropy(x, x, reduction=3)  # wrong
F.linear(x, [[1.0]])  # wrong
F.conv2d(x, x, stride="same")  # wrong
x.sum(keepdim="yes")  # wrong
x.view(shape="wide")  # wrong
x + "1"  # wrong
x @ 2  # wrong
x.transpose(0)  # wrong
nn.Linear(3)  # wrong
nn.Conv2d(3, 4, kernel_size=3, colour="red")  # wrong
optim.SGD()  # wrong
optim.Adam([x], learning_rate=0.1)  # wrong
torch.no_grad(3, 4)  # wrong
