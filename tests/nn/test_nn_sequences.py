"""Packed and padded sequences, and recurrent layers over them, against PyTorch."""

from __future__ import annotations

import pytest

from side_by_side import agree

SETUP = """
R = nn.utils.rnn
a, b, c = torch.arange(6.).reshape(3, 2), torch.arange(10.).reshape(5, 2), torch.arange(2.).reshape(1, 2)
def show(p):
    return [p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]
"""

SAME = {
    "pad": "r = R.pad_sequence([a, b, c])",
    "pad batch first": "r = R.pad_sequence([a, b, c], batch_first=True, padding_value=-1.0)",
    "pad left": "r = R.pad_sequence([a, b, c], batch_first=True, padding_side='left')",
    "pad side wrong": "R.pad_sequence([a, b], padding_side='up')",
    "pad not iterable": "R.pad_sequence(3)",
    "pad backward": "a.requires_grad_(); (R.pad_sequence([a, b]) ** 2).sum().backward(); r = a.grad",
    "unpad": "r = R.unpad_sequence(R.pad_sequence([a, b, c]), torch.tensor([3, 5, 1]))",
    "pack": "r = show(R.pack_sequence([b, a, c]))",
    "pack unsorted": "r = show(R.pack_sequence([a, b, c], enforce_sorted=False))",
    "pack unsorted refused": "R.pack_sequence([a, b, c])",
    "pack padded": "r = show(R.pack_padded_sequence(R.pad_sequence([b, a, c]), [5, 3, 1]))",
    "pack padded batch first": "r = show(R.pack_padded_sequence(R.pad_sequence([a, b, c], True), torch.tensor([3, 5, 1]), True, False))",
    "pack ties": "r = show(R.pack_sequence([a, a + 1, b, b + 1], enforce_sorted=False))",
    "pack zero length": "R.pack_padded_sequence(R.pad_sequence([b, a]), [5, 0])",
    "pack wrong count": "R.pack_padded_sequence(R.pad_sequence([b, a]), [5])",
    "pad packed": "r = R.pad_packed_sequence(R.pack_sequence([a, b, c], enforce_sorted=False))",
    "pad packed options": "r = R.pad_packed_sequence(R.pack_sequence([a, b, c], enforce_sorted=False), True, -1.0, 7)",
    "pad packed too short": "R.pad_packed_sequence(R.pack_sequence([b, a]), total_length=2)",
    "unpack": "r = R.unpack_sequence(R.pack_sequence([a, b, c], enforce_sorted=False))",
    "packed to": "p = R.pack_sequence([b, a]); q = p.double(); r = [str(q.data.dtype), p.to('cpu') is p, q.is_cuda, type(q).__name__]",
    "pack backward": "b.requires_grad_(); (R.pack_sequence([b, a]).data ** 2).sum().backward(); r = b.grad",
    "pad packed backward": "b.requires_grad_(); (R.pad_packed_sequence(R.pack_sequence([b, a]))[0] ** 2).sum().backward(); r = b.grad",
    "fields": "p = R.pack_sequence([b, a]); r = [p._fields, len(p), p[0] is p.data]",
    "lstm packed": """
        m = nn.LSTM(2, 3, 2, bidirectional=True)
        p = R.pack_sequence([a, b, c], enforce_sorted=False)
        y, (h, k) = m(p); (y.data.sum() + h.pow(2).sum()).backward()
        r = [show(y), h, k, m.weight_ih_l0.grad, m.bias_hh_l1_reverse.grad]""",
    "gru packed with state": "m = nn.GRU(2, 3); y, h = m(R.pack_sequence([a, b, c], enforce_sorted=False), torch.arange(9.).reshape(1, 3, 3) / 9); r = [show(y), h]",
    "rnn packed": "m = nn.RNN(2, 3, nonlinearity='relu', bias=False); y, h = m(R.pack_sequence([b, a])); r = [show(y), h]",
    "lstm proj packed": "m = nn.LSTM(2, 3, proj_size=2); y, h = m(R.pack_sequence([b, a])); r = [y.data, h]",
    "dropout warns": "nn.LSTM(2, 3, dropout=0.5); r = 1",
    "dropout wrong": "nn.LSTM(2, 3, dropout=2.0)",
    "hidden float": "nn.LSTM(2, 3.0)",
    "hidden zero": "nn.LSTM(2, 0)",
    "layers zero": "nn.LSTM(2, 3, 0)",
    "proj large": "nn.LSTM(2, 3, proj_size=3)",
    "proj gru": "nn.GRU(2, 3, proj_size=3)",
    "nonlinearity": "nn.RNN(2, 3, nonlinearity='sine')",
    "input 4d": "nn.GRU(2, 3)(torch.ones(1, 1, 1, 2))",
    "input size": "nn.GRU(2, 3)(torch.ones(1, 1, 5))",
    "input dtype": "nn.GRU(2, 3)(torch.ones(1, 1, 2, dtype=torch.float64))",
    "hx size": "nn.GRU(2, 3)(torch.ones(1, 1, 2), torch.ones(1, 4, 3))",
    "hx dims": "nn.GRU(2, 3)(torch.ones(1, 1, 2), torch.ones(4, 3))",
    "hx dims unbatched": "nn.GRU(2, 3)(torch.ones(1, 2), torch.ones(1, 1, 3))",
    "lstm hx size": "nn.LSTM(2, 3)(torch.ones(1, 1, 2), (torch.ones(1, 1, 3), torch.ones(1, 4, 3)))",
    "lstm hx dims": "nn.LSTM(2, 3)(torch.ones(1, 1, 2), (torch.ones(1, 3), torch.ones(1, 3)))",
    "cell dims": "nn.GRUCell(2, 3)(torch.ones(1, 1, 2))",
    "all_weights": "m = nn.LSTM(2, 3, 2, bidirectional=True); r = [[tuple(w.shape) for w in l] for l in m.all_weights]; m.flatten_parameters()",
    "deepcopy": "m = nn.GRU(2, 3); n = copy.deepcopy(m); r = [n(torch.ones(2, 2))[0], n._flat_weights[0] is n.weight_ih_l0]",
}


@pytest.mark.parametrize("name", SAME)
def test_same_as_torch(name: str) -> None:
    import textwrap

    agree(SETUP + textwrap.dedent(SAME[name]))
