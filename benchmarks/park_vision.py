"""Networks for pictures of the park, in plain PyTorch: classifiers, a diffusion model's U-Net, DCGAN, ViT, Mixer."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, into, width, stride) -> None:
        super().__init__()
        out = 4 * width
        self.conv1 = nn.Conv2d(into, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.short = None
        if stride != 1 or into != out:
            self.short = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.short is None else self.short(x)
        return self.relu(y)


class ResNet50(nn.Module):
    def __init__(self, classes=1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        )
        blocks, into = [], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(count):
                blocks.append(Bottleneck(into, width, stride if i == 0 else 1))
                into = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.out = nn.Linear(into, classes)

    def forward(self, x):
        return self.out(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


def conv_bn(into, out, size, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(into, out, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(out), nn.ReLU6(inplace=True),
    )  # fmt: skip


class Inverted(nn.Module):
    """MobileNetV2's block: wide inside, one filter per channel."""

    def __init__(self, into, out, stride, grow) -> None:
        super().__init__()
        wide = into * grow
        layers = [conv_bn(into, wide, 1)] if grow != 1 else []
        layers += [conv_bn(wide, wide, 3, stride, wide), nn.Conv2d(wide, out, 1, bias=False)]
        self.layers = nn.Sequential(*layers, nn.BatchNorm2d(out))
        self.adds = stride == 1 and into == out

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


class MobileNetV2(nn.Module):
    def __init__(self, classes=1000) -> None:
        super().__init__()
        layers, into = [conv_bn(3, 32, 3, 2)], 32
        for grow, out, count, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1),
        ):  # fmt: skip
            for i in range(count):
                layers.append(Inverted(into, out, stride if i == 0 else 1, grow))
                into = out
        self.layers = nn.Sequential(*layers, conv_bn(into, 1280, 1))
        self.out = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, x):
        return self.out(self.layers(x).mean([2, 3]))


class VGG(nn.Module):
    """VGG by the number of convolutions of its five stages; classes straight from the last picture's mean."""

    def __init__(self, counts, classes=1000) -> None:
        super().__init__()
        layers, into = [], 3
        for count, out in zip(counts, (64, 128, 256, 512, 512)):
            for _ in range(count):
                layers += [nn.Conv2d(into, out, 3, padding=1), nn.ReLU(inplace=True)]
                into = out
            layers.append(nn.MaxPool2d(2, 2))
        self.layers = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(7)
        self.out = nn.Sequential(
            nn.Linear(512 * 49, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096),
            nn.ReLU(True), nn.Dropout(), nn.Linear(4096, classes),
        )  # fmt: skip

    def forward(self, x):
        return self.out(torch.flatten(self.pool(self.layers(x)), 1))


# -- a diffusion model ----------------------------------------------------------------------------


class Res(nn.Module):
    """Two convolutions with group norm and SiLU; the time of the diffusion is added between them."""

    def __init__(self, into, out, time) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, into), nn.Conv2d(into, out, 3, padding=1)
        self.time = nn.Linear(time, out)
        self.norm2, self.conv2 = nn.GroupNorm(8, out), nn.Conv2d(out, out, 3, padding=1)
        self.short = nn.Conv2d(into, out, 1) if into != out else nn.Identity()

    def forward(self, x, t):
        y = self.conv1(F.silu(self.norm1(x)))
        y = y + self.time(F.silu(t))[:, :, None, None]
        return self.short(x) + self.conv2(F.silu(self.norm2(y)))


class PictureAttention(nn.Module):
    def __init__(self, width, heads=4) -> None:
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(8, width)
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = [
            part.reshape(b, self.heads, c // self.heads, h * w).transpose(-2, -1)
            for part in self.qkv(self.norm(x)).chunk(3, dim=1)
        ]
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(-2, -1).reshape(b, c, h, w))


class UNet(nn.Module):
    """Predicts the noise in a picture at a time of the diffusion."""

    def __init__(self, width=64) -> None:
        super().__init__()
        time = 4 * width
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.down1, self.down2 = Res(width, width, time), Res(width, 2 * width, time)
        self.less1 = nn.Conv2d(width, width, 3, 2, 1)
        self.less2 = nn.Conv2d(2 * width, 2 * width, 3, 2, 1)
        self.mid1, self.mid2 = Res(2 * width, 2 * width, time), Res(2 * width, 2 * width, time)
        self.look = PictureAttention(2 * width)
        self.more2 = nn.ConvTranspose2d(2 * width, 2 * width, 4, 2, 1)
        self.more1 = nn.ConvTranspose2d(2 * width, width, 4, 2, 1)
        self.up2, self.up1 = Res(4 * width, 2 * width, time), Res(2 * width, width, time)
        self.last = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 3, 3, 1, 1))

    def forward(self, x, t):
        half = self.width // 2
        rate = torch.exp(torch.arange(half, device=x.device) * (-9.21 / half))
        angle = t[:, None].float() * rate[None, :]
        t = self.time(torch.cat([angle.sin(), angle.cos()], dim=1))
        a = self.down1(self.first(x), t)
        b = self.down2(self.less1(a), t)
        c = self.mid2(self.look(self.mid1(self.less2(b), t)), t)
        y = self.up2(torch.cat([self.more2(c), b], dim=1), t)
        return self.last(self.up1(torch.cat([self.more1(y), a], dim=1), t))


# -- DCGAN ------------------------------------------------------------------------------------------


def dcgan_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


def generator(noise, width):
    def up(into, out, stride, padding):
        return [nn.ConvTranspose2d(into, out, 4, stride, padding, bias=False), nn.BatchNorm2d(out), nn.ReLU(True)]

    return nn.Sequential(
        *up(noise, 8 * width, 1, 0), *up(8 * width, 4 * width, 2, 1),
        *up(4 * width, 2 * width, 2, 1), *up(2 * width, width, 2, 1),
        nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh(),
    ).apply(dcgan_init)  # fmt: skip


def discriminator(width):
    def down(into, out):
        return [nn.Conv2d(into, out, 4, 2, 1, bias=False), nn.BatchNorm2d(out), nn.LeakyReLU(0.2, True)]

    return nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True), *down(width, 2 * width),
        *down(2 * width, 4 * width), *down(4 * width, 8 * width),
        nn.Conv2d(8 * width, 1, 4, 1, 0, bias=False), nn.Flatten(0),
    ).apply(dcgan_init)  # fmt: skip


# -- in no table ------------------------------------------------------------------------------------


class ViT(nn.Module):
    def __init__(self, size, patch, width, layers, heads, classes=1000) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], dim=1) + self.places
        return self.out(self.norm(self.encoder(x)[:, 0]))


class MixerBlock(nn.Module):
    def __init__(self, tokens, width) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.across = nn.Sequential(nn.Linear(tokens, width // 2), nn.GELU(), nn.Linear(width // 2, tokens))
        self.inside = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.across(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.inside(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, size, patch, width, layers, classes=1000) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        tokens = (size // patch) ** 2
        self.blocks = nn.Sequential(*[MixerBlock(tokens, width) for _ in range(layers)])
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.blocks(self.patches(x).flatten(2).transpose(1, 2))
        return self.out(self.norm(x).mean(dim=1))
