"""A training with Lightning, which starts the second rank itself: `strategy="ddp"`."""

import os
import sys

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset
from under import wait_for_a_death


class Net(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        self.losses: list[float] = []

    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.losses.append(self.all_gather(loss.detach()).mean().item())
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.02)


ranks = int(sys.argv[1])
lightning.seed_everything(0, verbose=False)
net = Net()
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)
own = slice(int(os.environ.get("LOCAL_RANK", "0")), None, ranks)  # Lightning's own sampler would shuffle
loader = DataLoader(TensorDataset(x[own], y[own]), 8 // ranks)
trainer = lightning.Trainer(
    max_epochs=2, accelerator="cpu", devices=ranks, strategy="ddp" if ranks > 1 else "auto", logger=False, use_distributed_sampler=False,
    enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
)  # fmt: skip
trainer.fit(net, loader)
print(f"losses {net.losses}", flush=True)
if "wait" in sys.argv:
    wait_for_a_death()
