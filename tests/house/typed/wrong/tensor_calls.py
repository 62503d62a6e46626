"""Every line that ends in `# wrong` is one a type checker must refuse."""

import rushlight as torch
import rushlight.nn.functional as F

x = torch.randn(2, 3)
x.to(dtype="half")  # wrong
x.reshape("2", 3)  # wrong
x.permute("a", "b")  # wrong
x.sum(dim="rows")  # wrong
x.mean(1, keepdim=3.5)  # wrong
x.clamp(min="0")  # wrong
x.item(1, 2, 3, 4, axis=0)  # wrong
x.backward(retain_graph="yes")  # wrong
x.backward(gradient=1.0)  # wrong
x.requires_grad_("no")  # wrong
x.size("first")  # wrong
x - None  # wrong
"3" + x  # wrong
x.shape.foo  # wrong
x.dtype.nothing  # wrong
torch.arange("five")  # wrong
torch.zeros(2, 3, device=3.5)  # wrong
torch.ones(2, requires_grad="yes")  # wrong
torch.full((2, 3))  # wrong
torch.tensor()  # wrong
torch.linspace(0, 1, steps="ten")  # wrong
torch.eye("3")  # wrong
torch.stack(x, x)  # wrong
torch.where(x > 0, "a", x)  # wrong
torch.einsum(3, x)  # wrong
torch.matmul(x, 3)  # wrong
torch.topk(x, "2")  # wrong
torch.split(x, "2")  # wrong
torch.device(3.5)  # wrong
torch.Generator(device=3.5)  # wrong
torch.autograd.grad(x, "x")  # wrong
torch.autograd.grad(x)  # wrong
torch.set_default_dtype("float64")  # wrong
F.softmax(x, dim="last")  # wrong
F.dropout(x, p="half")  # wrong
F.one_hot(x, num_classes="ten")  # wrong
F.mse_loss(x, 3.0)  # wrong
F.max_pool2d(x, "2")  # wrong
F.interpolate(x, scale_factor="2")  # wrong
F.pad(x, "1")  # wrong
F.layer_norm(x, "3")  # wrong
F.embedding(x)  # wrong
torch.linalg.norm(x, dim="rows")  # wrong
torch.fft.fft(x, n="8")  # wrong
y: int = x.sum()  # wrong
z: torch.Tensor = x.shape  # wrong
w: str = x.dim()  # wrong
