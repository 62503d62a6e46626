"""`rushlight predict`: classes of image files, by a saved network."""

from __future__ import annotations

import sys
from typing import Any

from . import checkpoint
from .errors import printable
from .evaluate import network_of
from .pick_device import pick_device
from .pictures import open_picture


def predict(args: Any) -> int:
    """Print the most likely classes of each image."""
    import rushlight as rl

    saved = checkpoint.read(args.model)
    device, _ = pick_device(args.device)
    net = network_of(saved).to(device)
    inputs = [_input(path, saved, args.invert) for path in args.images]  # all, before any answer
    with rl.no_grad():
        shares = net(rl.stack(inputs).to(device)).softmax(1).cpu()
    classes = [printable(name) for name in saved["classes"]]
    top = min(args.top, len(classes))
    paths = [printable(path) for path in args.images]
    wide = max(len(path) for path in paths)
    for path, row in zip(paths, shares):
        values, at = row.topk(top)
        best = "   ".join(f"{classes[int(i)]} {float(v):.1%}" for v, i in zip(values, at))
        print(f"{path:<{wide}}  {best}")
    return 0


def _input(path: str, saved: dict[str, Any], invert: bool) -> Any:
    """An image file as the network's input: its colours, its size, its scale."""
    from rushlight.vision import transforms as t

    size = saved["size"]
    picture = open_picture(path, "L" if saved["channels"] == 1 else "RGB")
    x = t.Compose([t.Resize(size), t.CenterCrop(size), t.ToTensor()])(picture)
    if invert:
        x = 1 - x
    if _light_background(x) and max(saved["mean"]) < 0.35:
        print(f"rushlight: {printable(path)} has a light background and the network learnt dark ones: "
              f"try {'without ' if invert else ''}--invert", file=sys.stderr)  # fmt: skip
    return t.Normalize(saved["mean"], saved["std"])(x)


def _light_background(x: Any) -> bool:
    """Whether the rim of an image is mostly light."""
    rim = (x[:, 0].mean() + x[:, -1].mean() + x[:, :, 0].mean() + x[:, :, -1].mean()) / 4
    return float(rim) > 0.6
