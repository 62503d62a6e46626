"""Uses of kornia."""

import kornia
import kornia.augmentation as K
import torch

LIBRARY = "kornia"


def filters_and_edges() -> object:
    x = torch.rand(1, 3, 16, 16, requires_grad=True)
    blurred = kornia.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5))
    edges = kornia.filters.sobel(kornia.color.rgb_to_grayscale(blurred))
    edges.sum().backward()
    return blurred.mean((2, 3)), edges.mean(), x.grad.norm()


def geometry() -> object:
    x = torch.rand(1, 3, 16, 16)
    m = kornia.geometry.get_rotation_matrix2d(
        torch.tensor([[8.0, 8.0]]), torch.tensor([30.0]), torch.ones(1, 2)
    )
    turned = kornia.geometry.warp_affine(x, m, (16, 16))
    return m, turned.mean((2, 3)), kornia.geometry.resize(x, (8, 8)).mean()


def colours() -> object:
    x = torch.rand(1, 3, 8, 8)
    return kornia.color.rgb_to_lab(x).mean((2, 3)), kornia.color.rgb_to_hsv(x).mean((2, 3))


def augmentations() -> object:
    net = K.AugmentationSequential(
        K.RandomHorizontalFlip(p=0.5), K.RandomAffine(20.0, p=1.0), K.ColorJitter(0.1, 0.1, p=1.0)
    )
    return net(torch.rand(4, 3, 16, 16)).mean((2, 3))
