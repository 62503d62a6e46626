"""An LSTM learns a verse letter by letter, then recites it from its first letters."""

import torch
from torch import nn

VERSE = "a rushlight burns with little smoke, and lights the page of common folk. "

letters = sorted(set(VERSE))
code = torch.tensor([letters.index(c) for c in VERSE])


class Reader(nn.Module):
    def __init__(self, n, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(n, 16)
        self.lstm = nn.LSTM(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n)

    def forward(self, x, state=None):
        y, state = self.lstm(self.embedding(x), state)
        return self.out(y), state


torch.manual_seed(0)
net = Reader(len(letters))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = code[None, :-1], code[None, 1:]
for step in range(151):
    optimizer.zero_grad()
    logits, _ = net(x)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3}  loss {loss.item():.3f}")

net.eval()
said = VERSE[:4]
with torch.no_grad():
    logits, state = net(code[None, :4])
    for _ in range(len(VERSE) - 4):
        best = logits[:, -1].argmax(1)
        said += letters[best.item()]
        logits, state = net(best[None], state)
print(said)
