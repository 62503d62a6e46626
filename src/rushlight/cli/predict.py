"""`rushlight predict`: classes of image files, by a saved network."""

from __future__ import annotations

from typing import Any

from . import checkpoint
from .errors import UsageError
from .evaluate import network_of
from .pick_device import pick_device


def predict(args: Any) -> int:
    """Print the most likely classes of each image."""
    import rushlight as rl

    saved = checkpoint.read(args.model)
    device, _ = pick_device(args.device)
    net = network_of(saved).to(device)
    batch = [
        _read(path, saved, args.invert) for path in args.images
    ]  # all readable before any answer
    with rl.no_grad():
        shares = net(rl.stack(batch).to(device)).softmax(1).cpu()
    top = min(args.top, len(saved["classes"]))
    wide = max(len(p) for p in args.images)
    for path, row in zip(args.images, shares):
        values, at = row.topk(top)
        best = "   ".join(f"{saved['classes'][int(i)]} {float(v):.1%}" for v, i in zip(values, at))
        print(f"{path:<{wide}}  {best}")
    return 0


def _read(path: str, saved: dict[str, Any], invert: bool) -> Any:
    """An image file as the network's input: its colours, its size, its scale."""
    from rushlight.vision import transforms as t

    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise UsageError(
            "reading image files needs Pillow: pip install 'rushlight[vision]'"
        ) from None
    try:
        with Image.open(path) as opened:
            picture = opened.convert("L" if saved["channels"] == 1 else "RGB")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except UnidentifiedImageError:
        raise UsageError(f"{path} is not an image that Pillow can read") from None
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    size = saved["size"]
    steps = t.Compose([t.Resize(size), t.CenterCrop(size), t.ToTensor()])
    x = steps(picture)
    return t.Normalize(saved["mean"], saved["std"])(1 - x if invert else x)
