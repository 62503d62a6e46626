"""Uses of open_clip: a tiny model of pictures and texts, and its loss."""

import open_clip
import torch
from library_use import trained
from open_clip.loss import ClipLoss
from open_clip.model import CLIP

LIBRARY = "open_clip_torch"


def _model() -> CLIP:
    vision = {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8}
    text = {"context_length": 8, "vocab_size": 50, "width": 32, "heads": 2, "layers": 2}
    return CLIP(16, vision, text)


def features_of_both() -> object:
    net = _model().eval()
    with torch.no_grad():
        images = net.encode_image(torch.rand(2, 3, 32, 32), normalize=True)
        texts = net.encode_text(torch.randint(1, 50, (2, 8)), normalize=True)
    return images, texts, images @ texts.T


def steps_of_training() -> object:
    net = _model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    images, texts = torch.rand(4, 3, 32, 32), torch.randint(1, 50, (4, 8))
    return trained(optimizer, 3, lambda: ClipLoss()(*net(images, texts)))


def words_as_tokens() -> object:
    return open_clip.tokenize(["a small lamp", "a candle"])[:, :6]
