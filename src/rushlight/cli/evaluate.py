"""`rushlight eval`: the test of a saved network, from the file alone."""

from __future__ import annotations

from typing import Any

from . import checkpoint
from .errors import UsageError
from .images import Images, load_images
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


def test_loader(images: Images, batch_size: int) -> Any:
    """The test images in order."""
    from rushlight.utils.data import DataLoader

    return DataLoader(images.test, batch_size)


def evaluate_file(args: Any) -> int:
    """Print the same numbers that `rushlight train` ended with."""
    saved = checkpoint.read(args.model)
    device, why = pick_device(args.device)
    data = args.data or saved["data"]
    images = load_images(data, args.data_dir or saved["data_dir"], size=saved["size"])
    _check_fit(images, saved)
    print(f"Testing on {why}.")
    loader = test_loader(images, args.batch_size)
    print(table(measure(network_of(saved).to(device), loader, device, images.classes)))
    return 0


def _check_fit(images: Images, saved: dict[str, Any]) -> None:
    """Refuse images that the network does not know."""
    theirs, ours = images.classes, saved["classes"]
    if theirs != ours:
        odd = [c for c in theirs if c not in ours]
        what = f"class {odd[0]!r}" if odd else f"{len(theirs)} classes"
        raise UsageError(
            f"{images.name} has {what}, but the network knows {len(ours)}: {', '.join(ours[:12])}"
        )
    shape, wanted = (images.channels, images.size), (saved["channels"], saved["size"])
    if shape != wanted:
        raise UsageError(
            f"{images.name} has images of {shape[0]}x{shape[1]}x{shape[1]}, but the network takes "
            f"{wanted[0]}x{wanted[1]}x{wanted[1]}"
        )
