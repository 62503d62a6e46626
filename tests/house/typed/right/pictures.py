"""Transforms, models and operations of vision."""

import numpy as np

import rushlight as torch
from rushlight import nn
from rushlight.vision import models, ops, transforms, utils
from rushlight.vision.transforms import functional as TF
from rushlight.vision.transforms import v2

train = transforms.Compose(
    [
        transforms.ToTensor(),
        transforms.RandomCrop(32, padding=4),
        transforms.RandomHorizontalFlip(p=0.5),
        transforms.RandomRotation(10, fill=0.5),
        transforms.ColorJitter(0.2, (0.8, 1.2), 0.1, hue=0.05),
        transforms.Resize((16, 16), interpolation=transforms.InterpolationMode.NEAREST),
        transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    ]
)
picture = np.zeros((32, 32, 3), np.uint8)
x = train(picture)
y = TF.rotate(TF.resize(torch.rand(3, 8, 8), [4, 4]), 30.0, expand=True, fill=[0.0])
z = TF.center_crop(torch.rand(3, 8, 8), 4)
again = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.RandomErasing(p=1.0)])(picture)
net = models.resnet18(weights=None, num_classes=4)
net.fc = nn.Linear(net.fc.in_features, 2)
wide = models.get_model("mobilenet_v3_small", num_classes=3)
features = nn.Sequential(*list(models.squeezenet1_1().features.children())[:2])
boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.1, 2.0]])
kept = ops.nms(boxes, torch.tensor([0.9, 0.8]), iou_threshold=0.5)
grid = utils.make_grid(torch.rand(4, 3, 8, 8), nrow=2, normalize=True)
with torch.no_grad():
    print(net.eval()(torch.rand(1, 3, 32, 32)).shape, wide.eval()(torch.rand(1, 3, 32, 32)).shape)
print(x.shape, y.shape, z.shape, again.shape, features(torch.rand(1, 3, 16, 16)).shape, kept, grid.shape)
