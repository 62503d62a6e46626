"""Uses of lightning: a Trainer with checkpoints, and one that goes on where another stopped."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LIBRARY = "lightning"


class _Net(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        self.losses: list[float] = []

    def training_step(self, batch: list, index: int) -> torch.Tensor:
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train", loss)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch: list, index: int) -> None:
        self.log("val", nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self) -> object:
        optimizer = torch.optim.Adam(self.parameters(), lr=0.02)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


def _loader() -> DataLoader:
    x = torch.randn(24, 4)
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 8)


def _trainer(epochs: int, **more: object) -> lightning.Trainer:
    return lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=".", **more,
    )  # fmt: skip


def training_and_validation() -> object:
    lightning.seed_everything(0, verbose=False)
    net, data = _Net(), _loader()
    trainer = _trainer(2, enable_checkpointing=False, gradient_clip_val=1.0)
    trainer.fit(net, data, data)
    return net.losses, trainer.callback_metrics["val"]


def a_checkpoint_and_its_continuation() -> object:
    lightning.seed_everything(0, verbose=False)
    net, data = _Net(), _loader()
    first = _trainer(1)
    first.fit(net, data)
    first.save_checkpoint("one.ckpt")
    other = _Net()
    _trainer(3).fit(other, data, ckpt_path="one.ckpt")
    loaded = _Net.load_from_checkpoint("one.ckpt")
    return other.losses, loaded.net(torch.ones(1, 4))
