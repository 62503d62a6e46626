"""Recurrent layers, transformers, embeddings, losses and packing."""

import rushlight as torch
import rushlight.nn as nn
import rushlight.nn.functional as F
from rushlight.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence


class Tagger(nn.Module):
    def __init__(self, words: int, tags: int, hidden: int = 8) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, hidden, padding_idx=0)
        self.lstm = nn.LSTM(hidden, hidden, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)
        self.out = nn.Linear(2 * hidden, tags)

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(self.embed(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False)
        y, (h, c) = self.lstm(packed)
        assert isinstance(y, PackedSequence) and h.shape == c.shape
        padded, sizes = pad_packed_sequence(y, batch_first=True)
        scores: torch.Tensor = self.out(padded)
        return scores


rows = [torch.tensor([1, 2, 3]), torch.tensor([4, 5])]
tokens = pad_sequence(rows, batch_first=True, padding_value=0)
scores = Tagger(10, 4)(tokens, torch.tensor([3, 2]))
loss = F.cross_entropy(scores.transpose(1, 2), tokens % 4, weight=torch.ones(4), reduction="mean")
gru = nn.GRUCell(4, 6)
state = torch.zeros(2, 6)
for t in range(3):
    state = gru(torch.randn(2, 4), state)
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True), num_layers=1)
memory = encoder(torch.randn(2, 5, 8), mask=nn.Transformer.generate_square_subsequent_mask(5))
attention = nn.MultiheadAttention(8, 2, batch_first=True)
y, weights = attention(memory, memory, memory, need_weights=True)
z = F.scaled_dot_product_attention(memory, memory, memory, is_causal=True)
print(loss.item(), state.shape, y.shape, weights, z.shape, nn.CTCLoss(blank=0, zero_infinity=True))
print(
    F.pad(z, (0, 1, 0, 1), value=0.5).shape,
    F.interpolate(torch.rand(1, 1, 4, 4), scale_factor=2.0, mode="bilinear").shape,
)
print(
    F.gumbel_softmax(scores, tau=0.5, hard=True).shape,
    F.normalize(z, p=2.0, dim=-1).shape,
    F.dropout(z, 0.5, training=True).shape,
)
