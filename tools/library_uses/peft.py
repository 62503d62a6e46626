"""Uses of peft: LoRA, its merge, and its files."""

import torch
from peft import IA3Config, LoraConfig, PeftModel, get_peft_model
from torch import nn

LIBRARY = "peft"


def _net() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def lora_on_a_small_net() -> object:
    model = get_peft_model(_net(), LoraConfig(r=2, lora_alpha=4, target_modules=["0", "2"]))
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.05)
    x, y, losses = torch.randn(16, 6), torch.randint(3, (16,)), []
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        losses.append(loss)
    merged = model.merge_and_unload()
    return losses, merged(x)


def saved_and_loaded_adapters() -> object:
    config = LoraConfig(r=2, target_modules=["0"], init_lora_weights=False)
    model = get_peft_model(_net(), config).eval()
    model.save_pretrained("adapter")
    again = PeftModel.from_pretrained(_net(), "adapter").eval()
    x = torch.randn(4, 6)
    return again(x), (again(x) - model(x)).abs().max()


def ia3() -> object:
    model = get_peft_model(_net(), IA3Config(target_modules=["0"], feedforward_modules=[]))
    out = model(torch.randn(4, 6))
    out.sum().backward()
    return out, [p.grad.norm() for p in model.parameters() if p.grad is not None]
