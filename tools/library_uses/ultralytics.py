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
