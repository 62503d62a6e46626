"""Uses of torchio: transforms of volumes, and patches of them."""

import torch
import torchio as tio

LIBRARY = "torchio"


def _subject() -> tio.Subject:
    return tio.Subject(
        scan=tio.ScalarImage(tensor=torch.rand(1, 16, 16, 16)), organ=tio.LabelMap(tensor=(torch.rand(1, 16, 16, 16) > 0.5).long()),
    )  # fmt: skip


def transforms() -> object:
    chain = tio.Compose(
        [tio.ZNormalization(), tio.RandomFlip(axes=(0, 1)), tio.RandomNoise(std=0.1), tio.CropOrPad(12)]
    )
    out = chain(_subject())
    return out.shape, out.scan.data.mean(), out.organ.data.float().mean()


def patches_put_together() -> object:
    sampler = tio.GridSampler(_subject(), patch_size=8, patch_overlap=2)
    joined = tio.GridAggregator(sampler)
    for batch in torch.utils.data.DataLoader(sampler, batch_size=4):
        joined.add_batch(batch["scan"][tio.DATA], batch[tio.LOCATION])
    return joined.get_output_tensor().mean((1, 2, 3)), len(sampler)
