"""Uses of timm: architectures forward and backward, feature maps, schedules and averages of weights."""

import timm
import torch
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3

LIBRARY = "timm"
NAMES = [
    "resnet18", "resnet26d", "seresnet18", "mobilenetv3_small_050", "mobilenetv2_035", "efficientnet_lite0", "ghostnet_050", "convnext_atto",
    "convnextv2_atto", "vit_tiny_patch16_224", "deit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "mixer_s32_224", "regnetx_002", "densenet121", "edgenext_xx_small", "mobilevit_xxs",
    "poolformer_s12", "levit_128s", "repvgg_a0", "hardcorenas_a", "lcnet_050", "tinynet_e", "xcit_nano_12_p16_224",
]  # fmt: skip


def _use(name: str):  # noqa: ANN202
    def use() -> object:
        size = 224 if "224" in name or name == "levit_128s" else 64
        model = timm.create_model(name, num_classes=10)
        out = model.eval()(torch.randn(1, 3, size, size))
        out.pow(2).mean().backward()
        grads = [p.grad.norm() for p in model.parameters() if p.grad is not None]
        return out, len(grads), torch.stack(grads).norm()

    use.__name__ = name
    return use


globals().update({name: _use(name) for name in NAMES})


def feature_maps() -> object:
    model = timm.create_model("resnet18", features_only=True, out_indices=(1, 3)).eval()
    return [f.mean() for f in model(torch.randn(1, 3, 64, 64))]


def a_few_steps_of_training() -> object:
    model = timm.create_model("resnet10t", num_classes=4)
    optimizer = create_optimizer_v2(model, opt="lamb", lr=1e-2, weight_decay=0.01)
    schedule = CosineLRScheduler(optimizer, t_initial=4, warmup_t=1, warmup_lr_init=1e-4)
    ema, losses = ModelEmaV3(model, decay=0.9), []
    x, y = torch.randn(4, 3, 32, 32), torch.arange(4)
    for step in range(3):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad(), loss.backward(), optimizer.step(), schedule.step(step)
        ema.update(model, step=step)
        losses.append(loss)
    return losses, sum(p.abs().sum() for p in ema.module.parameters())
