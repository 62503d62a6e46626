"""Uses of ultralytics: a small YOLO from its description."""

import torch
from ultralytics.nn.tasks import DetectionModel
from ultralytics.utils.ops import xywh2xyxy

LIBRARY = "ultralytics"


def a_detector_forward() -> object:
    net = DetectionModel("yolov8n.yaml", ch=3, nc=4, verbose=False).eval()
    out = net(torch.rand(1, 3, 64, 64))[0]
    return out.shape, out.mean((0, 2))


def a_step_of_training() -> object:
    from ultralytics.cfg import get_cfg

    net = DetectionModel("yolov8n.yaml", ch=3, nc=4, verbose=False).train()
    net.args = get_cfg()
    batch = {
        "img": torch.rand(2, 3, 64, 64), "batch_idx": torch.tensor([0.0, 1.0]), "cls": torch.tensor([[1.0], [2.0]]),
        "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.4], [0.4, 0.6, 0.3, 0.5]]),
    }  # fmt: skip
    loss, parts = net(batch)
    loss.sum().backward()
    return parts, sum(p.grad.norm() for p in net.parameters() if p.grad is not None)


def boxes() -> object:
    return xywh2xyxy(torch.rand(3, 4))


def a_tiny_training() -> object:
    """Four pictures of one bright square each, two epochs, without augmentation; the losses of each batch."""
    from pathlib import Path

    import numpy as np
    from PIL import Image
    from ultralytics import YOLO
    from ultralytics.models.yolo.detect import DetectionTrainer
    from ultralytics.utils import SETTINGS

    class Trainer(DetectionTrainer):
        """Without evaluation, for which the stored numbers' PyTorch lacks torchvision's compiled operators."""

        def validate(self) -> tuple:
            return {}, 0.0

        def final_eval(self) -> None:
            pass

    SETTINGS.update({name: False for name, value in SETTINGS.items() if value is True})
    rng = np.random.default_rng(0)
    for part in ("train", "val"):
        for kind in ("images", "labels"):
            Path(kind, part).mkdir(parents=True)
        for i in range(4):
            picture = np.zeros((64, 64, 3), np.uint8)
            x, y = rng.integers(8, 40, 2)
            picture[y : y + 16, x : x + 16] = 255
            Image.fromarray(picture).save(f"images/{part}/{i}.png")
            line = f"{i % 2} {(x + 8) / 64} {(y + 8) / 64} 0.25 0.25\n"
            Path("labels", part, f"{i}.txt").write_text(line)
    here = Path.cwd()
    Path("data.yaml").write_text(f"path: {here}\ntrain: images/train\nval: images/val\nnames: [a, b]\n")
    losses: list = []
    net = YOLO("yolov8n.yaml")
    net.add_callback("on_train_batch_end", lambda t: losses.append(dict(t.loss_items)))
    net.train(
        trainer=Trainer, data="data.yaml", epochs=2, imgsz=64, batch=2, workers=0, device="cpu",
        project=str(here / "runs"), name="one", plots=False, amp=False, mosaic=0.0, hsv_h=0, hsv_s=0, hsv_v=0, translate=0,
        scale=0, fliplr=0, optimizer="SGD", lr0=0.001, seed=0, deterministic=True, verbose=False, pretrained=False,
    )  # fmt: skip
    return losses
