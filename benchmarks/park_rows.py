"""The rows of the park: each makes a network, its data and one step, large for a GPU or small for a CPU."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from park_language import GPT, Encoder, LSTMModel, Tagger, WrittenBlock, decay_groups
from park_small import GraphNet, Orthogonalising, small_cnn
from park_vision import VGG, Mixer, MobileNetV2, ResNet50, UNet, ViT, discriminator, generator
from torch import nn


class Work(NamedTuple):
    """One step: `step(*args)` answers a loss, or for inference something whose mean is compared."""

    step: Callable[..., Any]
    args: tuple
    items: int  # pictures or tokens of a step


class Place(NamedTuple):
    """Where a row runs, and how its networks are wrapped: by nothing, or by `torch.compile`."""

    device: str
    large: bool
    wrap: Callable[[Any], Any]
    draws: np.random.Generator  # data: `torch.randn` differs between libraries in the last bit
    dropout: bool = True

    def size(self, large: Any, small: Any) -> Any:
        return large if self.large else small

    def drop(self, p: float) -> float:
        return p if self.dropout else 0.0

    def settle(self, net: Any, last: bool = False) -> Any:
        """The network on the device, in the order of memory that is asked for."""
        net = net.to(self.device)
        if not self.dropout:
            for m in net.modules():
                if isinstance(m, nn.Dropout):
                    m.p = 0.0
        return net.to(memory_format=torch.channels_last) if last and self.large else net

    def normal(self, *shape: int) -> Any:
        x = self.draws.standard_normal(shape, dtype=np.float32)
        return torch.from_numpy(x).to(self.device)

    def pictures(self, n: int, size: int, last: bool = False) -> Any:
        x = self.normal(n, 3, size, size)
        return x.contiguous(memory_format=torch.channels_last) if last and self.large else x

    def numbers(self, high: int, *shape: int) -> Any:
        return torch.from_numpy(self.draws.integers(0, high, shape)).to(self.device)

    def half(self) -> Any:
        """bfloat16 by autocast on a GPU."""
        return torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.large)


def adamw(groups: Any, device: str, **how: Any) -> Any:
    """AdamW, the fused one where the library has it, as training scripts ask."""
    fused = device == "cuda" and "fused" in inspect.signature(torch.optim.AdamW).parameters
    return torch.optim.AdamW(groups, **how, **({"fused": True} if fused else {}))


def classifier(place: Place, net: Any, batch: int, size: int, classes: int, last: bool = True) -> Work:
    """SGD with momentum on pictures, bfloat16 on a GPU."""
    net = place.wrap(place.settle(net, last))
    # Few pictures make steep gradients through batch norm: larger steps there would only compare chaos.
    optimiser = torch.optim.SGD(net.parameters(), lr=place.size(0.01, 1e-5), momentum=0.9)

    def step(x, y):
        optimiser.zero_grad(set_to_none=True)
        with place.half():
            loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimiser.step()
        return loss

    return Work(step, (place.pictures(batch, size, last), place.numbers(classes, batch)), batch)


# -- transformers -----------------------------------------------------------------------------------


def gpt(place: Place, shape: tuple, batch: int, half: bool) -> Work:
    layers, heads, width, vocabulary, length = shape
    plain = place.settle(GPT(layers, heads, width, vocabulary, length))
    optimiser = adamw(decay_groups(plain, 0.1), place.device, lr=3e-4, betas=(0.9, 0.95))
    net = place.wrap(plain)

    def step(x, y):
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(place.device, dtype=torch.bfloat16, enabled=half):
            loss = net(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        optimiser.step()
        return loss

    data = place.numbers(vocabulary, batch, length + 1)
    args = (data[:, :-1].contiguous(), data[:, 1:].contiguous())
    return Work(step, args, batch * length)


def gpt2(place: Place) -> Work:
    shape = place.size((12, 12, 768, 50304, 1024), (2, 4, 64, 512, 64))
    return gpt(place, shape, place.size(8, 4), place.large)


def gpt6(place: Place, half: bool = True) -> Work:
    shape = place.size((6, 6, 384, 65, 256), (3, 4, 96, 65, 64))
    return gpt(place, shape, place.size(64, 8), half and place.large)


def gpt6_tf32(place: Place) -> Work:
    return gpt6(place, half=False)


def gpt4(place: Place) -> Work:
    return gpt(place, (4, 4, 128, 65, 64), 12, False)


def encoder(place: Place) -> Work:
    width, heads, layers, batch, length = place.size((256, 8, 4, 64, 128), (64, 4, 2, 8, 32))
    net = Encoder(1000, width, heads, layers, length, place.drop(0.1))
    net = place.wrap(place.settle(net))
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4)

    def step(x, y):
        optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimiser.step()
        return loss

    args = place.numbers(1000, batch, length), place.numbers(10, batch)
    return Work(step, args, batch * length)


def written(place: Place) -> Work:
    """Values of sequences from others; norms, softmax and gates in single steps."""
    width, heads, layers, batch, length = place.size((512, 8, 6, 8, 512), (64, 4, 2, 4, 32))
    net = nn.Sequential(*[WrittenBlock(width, heads) for _ in range(layers)])
    net = place.wrap(place.settle(net))
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4)

    def step(x, y):
        optimiser.zero_grad(set_to_none=True)
        with place.half():
            loss = F.mse_loss(net(x).float(), y)
        loss.backward()
        optimiser.step()
        return loss

    args = place.normal(batch, length, width), place.normal(batch, length, width)
    return Work(step, args, batch * length)


# -- recurrent --------------------------------------------------------------------------------------


def lstm(place: Place) -> Work:
    vocabulary, width, batch, length = place.size((10000, 650, 20, 35), (1000, 128, 20, 35))
    net = place.settle(LSTMModel(vocabulary, width, 2, place.drop(0.5)))
    wrapped = place.wrap(net)
    optimiser = torch.optim.SGD(net.parameters(), lr=1.0)

    def step(x, y, h, c):
        optimiser.zero_grad(set_to_none=True)
        out, _ = wrapped(x, (h, c))
        loss = F.cross_entropy(out.view(-1, vocabulary), y.view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        optimiser.step()
        return loss

    state = [torch.zeros(2, batch, width).to(place.device) for _ in range(2)]
    data = [place.numbers(vocabulary, length, batch) for _ in range(2)]
    return Work(step, (*data, *state), batch * length)


def tagger(place: Place) -> Work:
    width, batch, length = place.size((256, 64, 60), (32, 8, 20))
    net = place.settle(Tagger(2000, width, 20))
    wrapped = place.wrap(net)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    lengths = [length - i * length // (2 * batch) for i in range(batch)]

    def step(x, y):
        optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(wrapped(x, lengths), y)
        loss.backward()
        optimiser.step()
        return loss

    args = place.numbers(2000, batch, length), place.numbers(20, sum(lengths))
    return Work(step, args, sum(lengths))


# -- pictures ---------------------------------------------------------------------------------------


def resnet50(place: Place) -> Work:
    batch, size, classes = place.size((128, 224, 1000), (4, 64, 10))
    return classifier(place, ResNet50(classes), batch, size, classes)


def mobilenet(place: Place) -> Work:
    batch, size, classes = place.size((128, 96, 1000), (4, 64, 10))
    return classifier(place, MobileNetV2(classes), batch, size, classes)


def vgg(place: Place) -> Work:
    batch, size, classes = place.size((64, 224, 1000), (4, 64, 10))
    counts = place.size((2, 2, 3, 3, 3), (1, 1, 2, 2, 2))
    return classifier(place, VGG(counts, classes), batch, size, classes)


def vit(place: Place) -> Work:
    size, patch, width, layers, heads = place.size((224, 16, 384, 12, 6), (32, 8, 48, 3, 4))
    batch, classes = place.size((128, 1000), (8, 10))
    net = ViT(size, patch, width, layers, heads, classes)
    return classifier(place, net, batch, size, classes, last=False)


def mixer(place: Place) -> Work:
    size, patch, width, layers = place.size((224, 16, 512, 8), (32, 8, 64, 3))
    batch, classes = place.size((128, 1000), (8, 10))
    return classifier(place, Mixer(size, patch, width, layers, classes), batch, size, classes, False)


def unet(place: Place) -> Work:
    width, batch, size = place.size((64, 64, 32), (16, 4, 16))
    net = place.wrap(place.settle(UNet(width)))
    optimiser = adamw(net.parameters(), place.device, lr=2e-4)

    def step(x, noise, t):
        optimiser.zero_grad(set_to_none=True)
        with place.half():
            keep = (1 - t.float() / 1000).view(-1, 1, 1, 1)
            loss = F.mse_loss(net(keep * x + (1 - keep) * noise, t).float(), noise)
        loss.backward()
        optimiser.step()
        return loss

    args = place.pictures(batch, size), place.pictures(batch, size), place.numbers(1000, batch)
    return Work(step, args, batch)


def dcgan(place: Place) -> Work:
    width, batch = place.size((64, 64), (16, 8))
    make, judge = place.settle(generator(100, width)), place.settle(discriminator(width))
    g, d = place.wrap(make), place.wrap(judge)
    how = {"lr": 2e-4, "betas": (0.5, 0.999)}
    of_make = torch.optim.Adam(make.parameters(), **how)
    of_judge = torch.optim.Adam(judge.parameters(), **how)

    def step(real, z, ones, zeros):
        of_judge.zero_grad(set_to_none=True)
        fake = g(z)
        loss = F.binary_cross_entropy_with_logits(d(real), ones)
        loss = loss + F.binary_cross_entropy_with_logits(d(fake.detach()), zeros)
        loss.backward()
        of_judge.step()
        of_make.zero_grad(set_to_none=True)
        fooled = F.binary_cross_entropy_with_logits(d(fake), ones)
        fooled.backward()
        of_make.step()
        return loss.detach() + fooled.detach()

    flags = [torch.full((batch,), value).to(place.device) for value in (1.0, 0.0)]
    z = place.normal(batch, 100, 1, 1)
    return Work(step, (place.pictures(batch, 64), z, *flags), batch)


def orthogonal(place: Place) -> Work:
    width, batch = place.size((64, 512), (8, 16))
    net = place.settle(small_cnn(width), last=True)
    if place.large:
        net = net.half()
    wrapped = place.wrap(net)
    optimiser = Orthogonalising(net.parameters(), lr=0.02)
    dtype = torch.float16 if place.large else torch.float32

    def step(x, y):
        optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(wrapped(x).float(), y, label_smoothing=0.2)
        loss.backward()
        optimiser.step()
        return loss

    x = place.pictures(batch, 32, last=True).to(dtype)
    return Work(step, (x, place.numbers(10, batch)), batch)


def graph(place: Place) -> Work:
    nodes, edges, width = place.size((20000, 300000, 128), (300, 2000, 32))
    net = place.settle(GraphNet(width, width, 16, 3))
    wrapped = place.wrap(net)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)

    def step(x, src, dst, degree, y):
        optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(wrapped(x, src, dst, degree), y)
        loss.backward()
        optimiser.step()
        return loss

    src, dst = place.numbers(nodes, edges), place.numbers(nodes, edges)
    degree = torch.bincount(dst.cpu(), minlength=nodes).clamp(min=1).float().to(place.device)
    x = place.normal(nodes, width)
    return Work(step, (x, src, dst, degree, place.numbers(16, nodes)), nodes)


# -- inference --------------------------------------------------------------------------------------


def generation(place: Place, shape: tuple, length: int) -> Work:
    """One token at a time with a cache of keys and values; greedy."""
    net = place.settle(GPT(*shape[:-1], length)).eval()
    dtype = torch.bfloat16 if place.large else torch.float32
    net = net.to(dtype)
    cache = net.empty_cache(1, place.device, dtype)
    if place.wrap is not plain:
        net.next_token = place.wrap(net.next_token)
    token = torch.zeros(1, 1, dtype=torch.long).to(place.device)
    at = torch.zeros(1, dtype=torch.long).to(place.device)

    def step(token, at):
        with torch.no_grad():
            found = net.next_token(token, at, cache)
            token.copy_(found)
            at.add_(1).remainder_(length)
        return found.float()

    return Work(step, (token, at), 1)


def generate_gpt2(place: Place) -> Work:
    shape = place.size((12, 12, 768, 50304, 0), (2, 4, 64, 512, 0))
    return generation(place, shape, place.size(1024, 64))


def generate_tiny(place: Place) -> Work:
    return generation(place, (4, 4, 128, 65, 0), 64)


def latency(place: Place, net: Any, x: Any) -> Work:
    """One input through a network in bfloat16 (float32 on a CPU)."""
    net = net.eval()
    if place.large:
        net = net.to(torch.bfloat16)
        x = x.to(torch.bfloat16) if x.is_floating_point() else x
    net = place.wrap(net)

    def step(x):
        with torch.no_grad():
            return net(x).float()

    return Work(step, (x,), 1)


def latency_resnet50(place: Place) -> Work:
    net = place.settle(ResNet50(place.size(1000, 10)), last=True)
    return latency(place, net, place.pictures(1, place.size(224, 64), last=True))


def latency_gpt2(place: Place) -> Work:
    shape = place.size((12, 12, 768, 50304, 1024), (2, 4, 64, 512, 64))
    net = place.settle(GPT(*shape))
    return latency(place, net, place.numbers(shape[3], 1, place.size(128, 32)))


def plain(net: Any) -> Any:
    """A network as it is."""
    return net


ROWS: dict[str, Callable[[Place], Work]] = {
    "gpt2": gpt2, "gpt6": gpt6, "gpt6-tf32": gpt6_tf32, "gpt4": gpt4, "resnet50": resnet50,
    "mobilenet": mobilenet, "vgg": vgg, "lstm": lstm, "encoder": encoder, "unet": unet,
    "dcgan": dcgan, "orthogonal": orthogonal, "generate-gpt2": generate_gpt2,
    "generate-tiny": generate_tiny, "latency-resnet50": latency_resnet50,
    "latency-gpt2": latency_gpt2, "vit": vit, "mixer": mixer, "graph": graph, "tagger": tagger, "written": written,
}  # fmt: skip
