"""Nested tensors beside PyTorch's: the same expressions, parts, errors, gradients and files."""

from __future__ import annotations

import copy
import io
import pickle
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")

JAGGED = """
x + 1 | 2 - x | x * x | x / 3 | 1 / (x + 1) | -x | x ** 2 | x > 2 | x == x | torch.where(x > 2, x, 0.0) | x.exp() | F.gelu(x)
x + torch.ones(3) | x + torch.arange(6.0).view(2, 1, 3) | x * torch.arange(18.0).view(2, 3, 3) | x + torch.ones(1, 1, 3)
x.masked_fill(x > 2, -1.0) | x.clamp(1, 3) | torch.maximum(x, x * 2) | x.to(torch.float64) | x.bool() | x.long()
x.sum() | x.sum(1) | x.sum(-1) | x.sum(1, keepdim=True) | x.sum((0, 1)) | x.mean() | x.mean(1) | x.mean(-1, True)
x.amax(1) | x.max(1) | x.min(-1) | x.argmax(-1) | x.any() | (x > 2).all() | x.prod(1) | x.max()
x.softmax(-1) | F.softmax(x, 1) | F.log_softmax(x, -1) | F.layer_norm(x, (3,)) | F.rms_norm(x, (3,)) | F.linear(x, w) | x @ w.t()
x.transpose(1, 2) | x.permute(0, 2, 1) | x.unsqueeze(-1) | x.unsqueeze(1) | x.unflatten(-1, (1, 3))
x.view(2, -1, 1, 3) | x.reshape(2, -1, 3, 1) | x.unflatten(-1, (3, 1)).flatten(2) | x.expand(2, -1, 3) | x.chunk(3, -1)
x.split([1, 2], -1) | x.select(-1, 1) | x.select(0, 1) | x[0] | x[1, 2] | x[..., 1] | torch.cat([x, x + 1], -1)
x.unbind() | x.values() | x.offsets() | x.lengths() | x.to_padded_tensor(-1.0) | x.to_padded_tensor(0.0, (2, 4, 3)) | x.clone()
torch.zeros_like(x) | x.detach() | x.contiguous() | len(x) | x.size(0) | x.size(-1) | x.dim() | x.numel() | x.is_nested
str(x.layout)[-6:] | x.is_contiguous() | x.transpose(1, 2).is_contiguous() | x.requires_grad | x.is_floating_point() | F.dropout(x, 0.5, False)
torch.matmul(x.transpose(1, 2), x) | F.scaled_dot_product_attention(h, h, h) | F.embedding(ids, w8) | x.copy_(x + 1) | x.add_(1)
x.sum(0) | x.transpose(0, 1) | x[:, 0:1, 0] | x.flatten(1, 2) | torch.cat([x, x]) | x.stack if False else torch.stack([x, x])
x.tolist() | x.numpy() | x.item() | x + other | x.cumsum(1) | x.view(-1) | F.log_softmax(x, 1) | torch.matmul(x, x.transpose(1, 2))
holes.unbind() | holes + 1 | holes.contiguous() | holes.is_contiguous() | holes.to_padded_tensor(0.0) | holes.softmax(-1)
torch.nested.narrow(dense, 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged)
torch.nested.masked_select(dense[..., 0], dense[..., 0] > 4) | torch.nested.as_nested_tensor(dense, layout=torch.jagged)
torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged) | torch.nested.nested_tensor([], layout=torch.jagged)
torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 2)], layout=torch.jagged) | torch.nested.nested_tensor(3)
torch.nested.nested_tensor_from_jagged(torch.ones(3, 5, 2), torch.tensor([0, 2, 5]), jagged_dim=2)
torch.nested.nested_tensor_from_jagged(torch.ones(5)) | torch.nested.nested_tensor([a, b], layout=torch.sparse_coo)
"""
STRIDED = """
s + 1 | s * s | s.relu() | F.gelu(s) | s.softmax(-1) | F.softmax(s, 1) | s.transpose(1, 2) | torch.bmm(s, s.transpose(1, 2))
s @ s.transpose(1, 2) | F.linear(s, w) | s[0] | s[1, 2] | s.select(0, 1) | s.unbind() | s.values() | s.to_padded_tensor(-1.0)
s.to_padded_tensor(0.0, (2, 4, 5)) | s.size(0) | s.size(2) | s.size(1) | s.size() | s.dim() | s.numel() | s.clone() | s.to(torch.float64)
s.sum(-1, keepdim=True) | torch.cat([s, s], -1) | torch.cat([s, s]) | s.reshape(2, -1, 1, 3) | s.unsqueeze(-1) | s.is_nested | repr(s)
str(s.layout)[-7:] | s @ w.t() | s + torch.ones(3) | s.mean() | len(s) | s._nested_tensor_size() | s.detach() | torch.zeros_like(s)
torch.nested.nested_tensor([a, b.view(1, 9)]) | torch.nested.nested_tensor([a, b[0]]) | torch.nested.nested_tensor([]) | s.transpose(0, 1)
F.layer_norm(s, (3,), torch.ones(3), torch.zeros(3)) | s.add_(1) | s.fill_(2) | repr(torch.nested.nested_tensor([[1, 2], [3]]))
"""


def names(t):
    """What the expressions use, made by one of the two packages."""
    a, b = t.arange(6.0).view(2, 3), t.arange(9.0).view(3, 3)
    dense = t.arange(24.0).view(2, 4, 3)
    h = t.nested.nested_tensor([t.arange(16.0).view(2, 8) / 9, t.arange(24.0).view(3, 8) / 7], layout=t.jagged)
    return {
        "torch": t, "F": t.nn.functional, "a": a, "b": b, "dense": dense, "w": t.arange(6.0).view(2, 3) / 5,
        "w8": t.arange(16.0).view(8, 2), "x": t.nested.nested_tensor([a, b], layout=t.jagged),
        "other": t.nested.nested_tensor([a, b], layout=t.jagged), "s": t.nested.nested_tensor([a, b]),
        "h": h.unflatten(-1, (2, 4)).transpose(1, 2), "ids": t.nested.nested_tensor([[1, 2], [3]], layout=t.jagged),
        "holes": t.nested.nested_tensor_from_jagged(dense[0], t.tensor([0, 2, 4]), t.tensor([1, 2])),
    }  # fmt: skip


def told(value, t):
    """Parts as lists, what it is, and for dims that are ragged a j."""
    if isinstance(value, t.Tensor) and value.is_nested:
        sizes = []
        if value.layout is t.jagged:
            sizes = ["j" if "j" in str(n) else n for n in value.shape]
        return [str(value.dtype).split(".")[1], sizes, [part.tolist() for part in value.unbind()]]
    if isinstance(value, t.Tensor):
        return [str(value.dtype).split(".")[1], list(value.shape), value.tolist()]
    if isinstance(value, (tuple, list)):
        return [told(v, t) for v in value]
    return value


def outcome(text, t):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return told(eval(text, names(t)), t)
    except Exception as error:
        return type(error)


def expressions(block):
    return [e.strip() for line in block.strip().splitlines() for e in line.split(" | ")]


def close(ours, theirs):
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return ours == (pytest.approx(theirs, rel=1e-5, abs=1e-6) if type(theirs) is float else theirs)


@pytest.mark.parametrize("text", expressions(JAGGED) + expressions(STRIDED))
def test_an_expression_gives_what_pytorch_gives(text):
    ours, theirs = outcome(text, rushlight), outcome(text, torch)
    assert close(ours, theirs), (ours, theirs)


@pytest.mark.parametrize("layout", ["jagged", "strided"])
def test_gradients_are_those_of_pytorch(layout):
    def run(t):
        F, form = t.nn.functional, getattr(t, layout)
        w = (t.arange(6.0).view(2, 3) / 5).requires_grad_()
        parts = [t.arange(6.0).view(2, 3), t.arange(9.0).view(3, 3)]
        x = t.nested.nested_tensor(parts, layout=form, requires_grad=True)
        y = F.gelu(F.linear(x, w))
        F.softmax(y, -1).to_padded_tensor(0.0).square().sum().backward()
        leaf = parts[0].clone().requires_grad_()
        t.nested.as_nested_tensor([leaf, parts[1]], layout=form).mul(2).to_padded_tensor(0.0).sum().backward()
        return told([x.grad, w.grad, leaf.grad], t), x.is_leaf, y.requires_grad, y.is_leaf

    ours, theirs = run(rushlight), run(torch)
    assert close(list(ours), list(theirs))


def test_autograd_grad_of_a_nested_tensor_is_nested():
    x = rushlight.nested.nested_tensor([[1.0, 2.0], [3.0]], layout=rushlight.jagged, requires_grad=True)
    (g,) = rushlight.autograd.grad((x * x).sum(), [x])
    assert g.is_nested and g.values().tolist() == [2.0, 4.0, 6.0]
    assert g.shape == x.shape and (x + 1).size(1) == x.size(1) != 2


def test_layers_train_on_nested_tensors_as_on_their_parts():
    rushlight.manual_seed(0)
    nn = rushlight.nn
    net = nn.Sequential(nn.Embedding(9, 8), nn.LayerNorm(8), nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.0))
    ids = [[1, 2, 3], [4], [5, 6]]
    out = net(rushlight.nested.nested_tensor(ids, layout=rushlight.jagged))
    for part, row in zip(out.unbind(), ids, strict=True):
        assert rushlight.allclose(part, net(rushlight.tensor(row)), atol=1e-6)
    out.mean(1).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


@pytest.mark.parametrize("layout", ["jagged", "strided"])
@pytest.mark.parametrize("reader", ["torch", "rushlight"])
@pytest.mark.parametrize("writer", ["torch", "rushlight"])
def test_files_go_both_ways(writer, reader, layout):
    packages = {"torch": torch, "rushlight": rushlight}
    source, target = packages[writer], packages[reader]
    nt = source.nested.nested_tensor([[1.0, 2.0], [3.0]], layout=getattr(source, layout))
    file = io.BytesIO()
    source.save({"x": nt}, file)
    file.seek(0)
    read = target.load(file)["x"]
    assert [part.tolist() for part in read.unbind()] == [[1.0, 2.0], [3.0]]
    assert str(read.layout).endswith(layout)


def test_a_file_whose_parts_lie_outside_is_refused():
    from rushlight.io import nested as files
    from rushlight.io.errors import CorruptFileError

    values, far = rushlight.ones(3), rushlight.tensor([0, 2, 9])
    for fields in ({"values": values, "offsets": far}, {"values": values}, [], {"values": values, "offsets": -far}):
        with pytest.raises(CorruptFileError):
            files.jagged(fields)
    with pytest.raises(CorruptFileError):
        files.strided(values, far[1:].view(1, 2), far[1:].view(1, 2), rushlight.tensor([0]))


@pytest.mark.parametrize("layout", ["jagged", "strided"])
def test_copies(layout):
    x = rushlight.nested.nested_tensor([[1.0], [2.0, 3.0]], layout=getattr(rushlight, layout))
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert other.values().tolist() == [1.0, 2.0, 3.0] and other.layout is x.layout
