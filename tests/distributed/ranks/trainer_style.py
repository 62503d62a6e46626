"""A training with Hugging Face transformers' Trainer, by as many ranks as torchrun starts."""

import os
import sys
import tempfile

import torch
import transformers
from under import wait_for_a_death

ranks = int(os.environ.get("WORLD_SIZE", "1"))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))

    def forward(self, x, labels):
        out = self.net(x)
        return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}


torch.manual_seed(0)
x = torch.randn(32, 4)
rows = [{"x": a, "labels": a.sum().reshape(1)} for a in x]
net = Net()
with tempfile.TemporaryDirectory() as folder:
    options = transformers.TrainingArguments(
        folder, use_cpu=True, per_device_train_batch_size=8 // ranks, num_train_epochs=2, logging_steps=1, report_to=[],
        save_strategy="no", disable_tqdm=True, learning_rate=0.02, seed=0,
    )  # fmt: skip
    trainer = transformers.Trainer(net, options, train_dataset=rows)
    trainer.train()
losses = [float(row["loss"]) for row in trainer.state.log_history if "loss" in row]
print(f"losses {losses}", flush=True)
if "wait" in sys.argv:
    wait_for_a_death()
