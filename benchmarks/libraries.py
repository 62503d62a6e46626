"""Real libraries training on a device: losses and time of a step on PyTorch and on rushlight, one after the other.

    python benchmarks/libraries.py --device cuda                      where both PyTorch and the libraries are installed
    python benchmarks/libraries.py --device cpu --rows gpt2,llama     some of them

Weights and batches come from one seed on the CPU, dropout is off, numbers are float32 (TF32 off), so that losses
can be compared. Each library runs in a process of its own; one that is not installed, or fails, says so.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

HERE = Path(__file__).resolve()
STEPS = 30


def _steps(net: Any, loss_of: Callable[[], Any], device: str) -> dict[str, Any]:
    """Train with AdamW; the losses, and the median time of the last two thirds of the steps."""
    import torch

    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    losses, times = [], []
    for _ in range(STEPS):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        times.append(time.perf_counter() - begin)
    assert next(net.parameters()).device.type == device
    return {"losses": losses, "ms": statistics.median(times[STEPS // 3 :]) * 1e3}


def gpt2(device: str) -> dict[str, Any]:
    """transformers: GPT-2 of 4 layers, next-token loss."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    how = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    net = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_embd=256, n_layer=4, n_head=8, **how))
    ids = torch.randint(2, 1000, (8, 128)).to(device)
    net = net.to(device).train()
    return _steps(net, lambda: net(input_ids=ids, labels=ids).loss, device)


def bert(device: str) -> dict[str, Any]:
    """transformers: BERT with a padded batch, so with a mask."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=1000, hidden_size=256, num_hidden_layers=4, num_attention_heads=8, intermediate_size=1024,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=3,
    )  # fmt: skip
    net = BertForSequenceClassification(config).to(device).train()
    ids = torch.randint(2, 1000, (16, 64))
    mask = (torch.arange(64)[None] < torch.randint(16, 65, (16, 1))).long().to(device)
    ids, labels = ids.to(device), (torch.arange(16) % 3).to(device)
    return _steps(net, lambda: net(input_ids=ids, attention_mask=mask, labels=labels).loss, device)


def llama(device: str) -> dict[str, Any]:
    """transformers: Llama with groups of heads and rotary positions."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=2, max_position_embeddings=256,
    )  # fmt: skip
    net = LlamaForCausalLM(config).to(device).train()
    ids = torch.randint(2, 1000, (8, 128)).to(device)
    return _steps(net, lambda: net(input_ids=ids, labels=ids).loss, device)


def timm(device: str) -> dict[str, Any]:
    """timm: a ResNet of 10 layers."""
    import timm
    import torch
    from torch.nn import functional as F

    net = timm.create_model("resnet10t", num_classes=10).to(device).train()
    x, y = torch.randn(16, 3, 64, 64).to(device), (torch.arange(16) % 10).to(device)
    return _steps(net, lambda: F.cross_entropy(net(x), y), device)


def timm_vit(device: str) -> dict[str, Any]:
    """timm: a small vision transformer."""
    import timm
    import torch
    from torch.nn import functional as F

    net = timm.create_model("vit_tiny_patch16_224", img_size=64, num_classes=10).to(device).train()
    x, y = torch.randn(16, 3, 64, 64).to(device), (torch.arange(16) % 10).to(device)
    return _steps(net, lambda: F.cross_entropy(net(x), y), device)


def diffusers(device: str) -> dict[str, Any]:
    """diffusers: a U-Net with attention learns to remove noise."""
    import torch
    from diffusers import DDPMScheduler, UNet2DModel

    net = UNet2DModel(
        sample_size=32, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    ).to(device)  # fmt: skip
    noise, x = DDPMScheduler(num_train_timesteps=50), torch.rand(8, 3, 32, 32)
    e, t = torch.randn_like(x).to(device), torch.randint(50, (8,)).to(device)
    mixed = noise.add_noise(x.to(device), e, t)
    return _steps(net, lambda: (net(mixed, t).sample - e).pow(2).mean(), device)


def lightning(device: str) -> dict[str, Any]:
    """lightning: its Trainer drives a convolutional network."""
    try:
        import lightning as pl
    except ImportError:
        import pytorch_lightning as pl
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Net(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(
                nn.Conv2d(3, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 15 * 15, 10)
            )
            self.losses: list[float] = []
            self.times: list[float] = []

        def training_step(self, batch: Any, index: int) -> Any:
            loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            self.losses.append(loss.item())
            self.times.append(time.perf_counter())
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    net = Net()
    data = TensorDataset(torch.randn(32 * STEPS, 3, 32, 32), torch.arange(32 * STEPS) % 10)
    trainer = pl.Trainer(
        max_epochs=1, accelerator="gpu" if device == "cuda" else "cpu", devices=1, logger=False,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(net, DataLoader(data, 32))
    gaps = [b - a for a, b in zip(net.times, net.times[1:])]
    return {"losses": net.losses, "ms": statistics.median(gaps[STEPS // 3 :]) * 1e3}


ROWS = {f.__name__: f for f in (gpt2, bert, llama, timm, timm_vit, diffusers, lightning)}


def _worker(row: str, device: str) -> None:
    import torch

    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.allow_tf32 = False
    try:
        found = ROWS[row](device)
    except Exception as e:  # whatever a library raises is the row's result
        found = {"failed": f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"[:300]}
    print(json.dumps({"torch": torch.__version__, **found}))


def _run(side: str, row: str, device: str) -> dict[str, Any]:
    """One row on one side, in a process of its own."""
    start = [sys.executable] if side == "torch" else [sys.executable, "-m", "rushlight", "run"]
    command = [*start, str(HERE), "--worker", row, "--device", device]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, env=os.environ.copy())
    except subprocess.TimeoutExpired:
        return {"failed": "took more than 180 s"}
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return {"failed": (done.stderr.strip().splitlines() or ["nothing"])[-1][:300]}


def _report(row: str, torch: dict[str, Any], ours: dict[str, Any]) -> None:
    if "failed" in torch or "failed" in ours:
        print(f"{row:12} PyTorch: {torch.get('failed', 'ran')}; rushlight: {ours.get('failed', 'ran')}")
        return
    apart = max(abs(a - b) / max(abs(a), 1e-6) for a, b in zip(torch["losses"], ours["losses"]))
    print(
        f"{row:12} {torch['ms']:9.2f} {ours['ms']:9.2f} {torch['ms'] / ours['ms']:6.2f}x  losses "
        f"{torch['losses'][0]:.5f} to {torch['losses'][-1]:.5f}, ours apart by at most {apart:.1e}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        _worker(args.worker, args.device)
        return
    print(f"{'':12} {'PyTorch':>9} {'ours':>9}  ratio  (ms a step)")
    told = {}
    for row in args.rows.split(","):
        told[row] = {side: _run(side, row, args.device) for side in ("torch", "rushlight")}
        _report(row, told[row]["torch"], told[row]["rushlight"])
        if args.out:
            args.out.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
