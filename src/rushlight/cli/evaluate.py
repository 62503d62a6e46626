"""`rushlight eval`: the test of a saved network, from the file alone."""

from __future__ import annotations

from typing import Any

from . import checkpoint
from .errors import UsageError
from .images import load_images
from .networks import build
from .pick_device import pick_device
from .report import measure, table


def network_of(saved: dict[str, Any]) -> Any:
    """The network a checkpoint describes, with its weights."""
    config = saved["config"]
    net = build(config["model"], channels=saved["channels"], size=saved["size"],
                classes=len(saved["classes"]), width=config["width"])  # fmt: skip
    try:
        net.load_state_dict(saved["model"])
    except RuntimeError as error:
        raise UsageError(f"the weights do not fit the network: {error}") from None
    return net.eval()


def test_loader(images: Any, batch_size: int) -> Any:
    from rushlight.utils.data import DataLoader

    return DataLoader(images.test, batch_size)


def evaluate_file(args: Any) -> int:
    """Print the same numbers that `rushlight train` ended with."""
    saved = checkpoint.read(args.model)
    device, why = pick_device(args.device)
    images = load_images(
        args.data or saved["data"], args.data_dir or saved["data_dir"], size=saved["size"]
    )
    if images.classes != saved["classes"]:
        raise UsageError(
            f"{images.name} has {len(images.classes)} classes ({images.classes[0]}, ...), the network "
            f"knows {len(saved['classes'])} ({saved['classes'][0]}, ...)"
        )
    if images.channels != saved["channels"] or images.size != saved["size"]:
        raise UsageError(
            f"{images.name} has {images.channels}x{images.size}x{images.size} images, the network "
            f"takes {saved['channels']}x{saved['size']}x{saved['size']}"
        )
    print(f"Testing on {why}.")
    result = measure(
        network_of(saved).to(device), test_loader(images, args.batch_size), device, images.classes
    )
    print(table(result))
    return 0
