"""What the databases of PyTorch's own tests found (tools/parity.py): a line for each cause, run without them."""

from __future__ import annotations

import pytest

from same import agree

LINES = """
torch.arange(8.0)[::2].ravel().stride()
torch.rand(1, 4, 2, 2).float(memory_format=torch.channels_last).stride()
torch.rand(1, 4, 2, 2).double(memory_format=torch.channels_last).stride()
torch.rand(1, 4, 2, 2).cpu(memory_format=torch.channels_last).stride()
(lambda x: torch.nn.functional.pixel_shuffle(x, 1).data_ptr() == x.data_ptr())(torch.ones(1, 1, 2, 2))
(lambda x: torch.nn.functional.pixel_unshuffle(x, 1).data_ptr() == x.data_ptr())(torch.ones(1, 1, 2, 2))
(lambda x: torch.cartesian_prod(x) is x)(torch.arange(3))
(lambda e: torch.histogram(torch.rand(3), e).bin_edges is e)(torch.tensor([0.0, 0.5, 1.0]))
(lambda v: torch.autograd.grad(torch.zeros(3).index_fill(0, torch.tensor([1, 1]), v).sum(), v))(torch.tensor(2.0, requires_grad=True))
torch.zeros(3, 2).index_fill(0, torch.tensor([1, -1]), torch.tensor(5.0))
torch.isclose(torch.tensor([3, 4], dtype=torch.uint8), torch.tensor([4, 3], dtype=torch.uint8), rtol=0, atol=1)
torch.diff(torch.arange(3.0), n=0, prepend=torch.ones(1))
torch.linalg.vander(torch.tensor(2.0), N=2)
torch.tensor(True).sum_to_size(())
torch.take_along_dim(torch.arange(4.0), torch.tensor([-1, 0]), 0)
torch.take_along_dim(torch.arange(4.0), torch.tensor([-1, 0]))
torch.gather(torch.arange(4.0), 0, torch.tensor([], dtype=torch.uint8))
torch.nn.functional.silu(torch.tensor([1 + 1j]))
torch.nn.functional.softsign(torch.tensor([1 + 1j]))
torch.nn.functional.tanhshrink(torch.tensor([1 + 1j]))
torch.nn.functional.l1_loss(torch.tensor([1 + 1j]), torch.tensor([2 + 3j]))
torch.lerp(torch.tensor([1 + 1j]), torch.tensor([2 + 3j]), 0.3 + 1j)
torch.movedim(torch.zeros(2, 3), (0, 1), (1, -1))
torch.zeros(2, dtype=torch.int64).masked_fill(torch.tensor(True), torch.tensor(1j))
torch.nn.LSTM(3, 5, bias=0)
torch.nn.GRU(0, 5)
(lambda z: torch.autograd.grad(torch.nn.functional.rms_norm(z, (2,)).sum().real, z))(torch.tensor([[1 + 2j, 3 - 1j]], requires_grad=True))
torch.vmap(lambda t: t.as_strided((2,), (1,), 0))(torch.arange(6.0).reshape(2, 3))
torch.vmap(lambda t: t.as_strided((2,), (1,)))(torch.arange(12.0)[6:].reshape(2, 3))
torch.vmap(torch.func.grad(lambda t: (t.as_strided((2, 2), (1, 1)) ** 2).sum()))(torch.arange(6.0).reshape(2, 3))
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_agrees(line: str) -> None:
    agree(line, 1e-5)
