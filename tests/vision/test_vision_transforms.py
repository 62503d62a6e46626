"""Transforms: PIL images against tensors, numbers against PyTorch, draws in torchvision's order."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("PIL")
from PIL import Image, ImageEnhance

import rushlight
from rushlight.vision import transforms as T
from rushlight.vision.transforms import InterpolationMode
from rushlight.vision.transforms import functional as F

RNG = np.random.default_rng(0)
NOISE = RNG.integers(0, 256, (20, 30, 3), dtype=np.uint8)
SMOOTH = np.stack([np.add.outer(np.arange(20) * 3, np.arange(30) * c).astype(np.uint8) for c in (2, 3, 4)], -1)


def both(a: np.ndarray = NOISE):
    return Image.fromarray(a), rushlight.from_numpy(np.ascontiguousarray(a.transpose(2, 0, 1)))


def as_array(x) -> np.ndarray:
    if isinstance(x, rushlight.Tensor):
        return x.numpy().astype(np.float64)
    a = np.asarray(x, np.float64)
    return a[None] if a.ndim == 2 else a.transpose(2, 0, 1)


# -- conversions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "LA", "CMYK", "1", "I", "F", "I;16", "P"])
def test_to_tensor(mode: str) -> None:
    grey = Image.fromarray(NOISE).convert("L")
    if mode == "I;16":
        img = Image.fromarray(NOISE[:, :, 0].astype(np.uint16) * 100)
    elif mode == "LA":
        img = Image.fromarray(NOISE).convert("LA")
    else:
        img = (grey if mode in "1IF" else Image.fromarray(NOISE)).convert(mode)
    x = T.ToTensor()(img)
    assert x.shape == (len(img.getbands()), 20, 30)
    raw = np.asarray(img)
    raw = raw[None] if raw.ndim == 2 else raw.transpose(2, 0, 1)
    if mode in ("I", "F", "I;16"):
        assert (x.numpy() == raw).all() and x.dtype != rushlight.uint8
    else:
        raw = raw.astype(np.uint8) * (255 if mode == "1" else 1)
        assert x.dtype == rushlight.float32
        assert (x.numpy() == raw.astype(np.float32) / np.float32(255)).all()


def test_to_tensor_of_arrays() -> None:
    assert T.ToTensor()(NOISE).shape == (3, 20, 30)
    assert T.ToTensor()(NOISE[:, :, 0]).shape == (1, 20, 30)
    kept = NOISE.copy()
    T.ToTensor()(kept).zero_()
    assert (kept == NOISE).all()
    assert T.ToTensor()(NOISE.astype(np.float64)).dtype == rushlight.float64
    with pytest.raises(TypeError, match="pic should be PIL Image or ndarray"):
        T.ToTensor()([1])
    with pytest.raises(ValueError, match="2/3 dimensional"):
        T.ToTensor()(np.zeros((1, 2, 3, 4)))


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "LA"])
def test_there_and_back(mode: str) -> None:
    img = Image.fromarray(NOISE).convert(mode)
    for made in (T.ToTensor()(img), T.PILToTensor()(img), np.asarray(img)):
        back = T.ToPILImage()(made)
        assert back.mode == mode and (np.asarray(back) == np.asarray(img)).all()


def test_to_pil_image_of_other_types() -> None:
    floats = rushlight.rand(1, 4, 5)
    assert T.ToPILImage(mode="F")(floats).mode == "F"
    assert T.ToPILImage()(rushlight.arange(20, dtype=rushlight.int32).reshape(4, 5)).mode == "I"
    assert T.ToPILImage("YCbCr")(NOISE).mode == "YCbCr"
    with pytest.raises(ValueError, match="channels"):
        T.ToPILImage()(rushlight.rand(5, 4, 4))
    with pytest.raises(ValueError, match="Incorrect mode"):
        T.ToPILImage("RGB")(NOISE[:, :, 0])
    with pytest.raises(TypeError, match="pic should be Tensor or ndarray"):
        T.ToPILImage()("x")


@pytest.mark.parametrize("source", ["uint8", "int8", "int16", "int32", "float32", "float64"])
@pytest.mark.parametrize("target", ["uint8", "int8", "int16", "int32", "float32", "float64"])
def test_convert_image_dtype(source: str, target: str) -> None:
    a, b = getattr(rushlight, source), getattr(rushlight, target)
    ends = [0.0, 0.5, 1.0] if a.is_floating_point else [0, 100, rushlight.iinfo(a).max]
    x = rushlight.tensor(ends, dtype=a)
    if source == "float32" and target == "int32":
        with pytest.raises(RuntimeError, match="cannot be performed safely"):
            F.convert_image_dtype(x, b)
        return
    y = F.convert_image_dtype(x, b)
    assert y.dtype == b and y[0] == 0
    top = 1.0 if b.is_floating_point else rushlight.iinfo(b).max
    if b.is_floating_point or a.is_floating_point or source == target:
        assert y[2] == top
    elif rushlight.iinfo(a).max > rushlight.iinfo(b).max:
        assert y[2] == top


def test_normalize() -> None:
    torch = pytest.importorskip("torch")
    x = RNG.random((2, 3, 4, 5)).astype(np.float32)
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    ours = T.Normalize(mean, std)(rushlight.from_numpy(x)).numpy()
    t = torch.from_numpy(x)
    theirs = t.clone().sub_(torch.tensor(mean).view(-1, 1, 1)).div_(torch.tensor(std).view(-1, 1, 1))
    assert (ours == theirs.numpy()).all()
    own = rushlight.from_numpy(x.copy())
    assert F.normalize(own, mean, std, inplace=True) is own
    with pytest.raises(ValueError, match="std evaluated to zero"):
        F.normalize(own, [0.5], [0.0])
    with pytest.raises(TypeError, match="should be a float tensor"):
        F.normalize(own.to(rushlight.uint8), mean, std)
    with pytest.raises(ValueError, match="Expected tensor to be a tensor image"):
        F.normalize(own[0, 0], [0.5], [0.5])
    with pytest.raises(TypeError, match="img should be Tensor Image"):
        F.normalize(Image.fromarray(NOISE), mean, std)


# -- PIL images and tensors agree -----------------------------------------------------------------

# transform, the largest difference of a pixel, the share of pixels that may differ by more
SAME = [
    (T.CenterCrop(12), 0, 0),
    (T.CenterCrop((25, 11)), 0, 0),
    (T.CenterCrop(41), 0, 0),
    (T.Pad(3), 0, 0),
    (T.Pad((1, 2), fill=9), 0, 0),
    (T.Pad([1, 2, 3, 4], padding_mode="edge"), 0, 0),
    (T.Pad([1, 0, 3, 4], padding_mode="reflect"), 0, 0),
    (T.Pad([1, 2, 0, 4], padding_mode="symmetric"), 0, 0),
    (T.Pad([-2, 3, -4, 0]), 0, 0),
    (T.Pad([-2, 3, 4, -1], padding_mode="edge"), 0, 0),
    (T.RandomCrop(16, padding=4), 0, 0),
    (T.RandomCrop((25, 40), pad_if_needed=True, fill=3), 0, 0),
    (T.RandomHorizontalFlip(1.0), 0, 0),
    (T.RandomVerticalFlip(1.0), 0, 0),
    (T.FiveCrop(8), 0, 0),
    (T.TenCrop((8, 9), vertical_flip=True), 0, 0),
    (T.Resize(10), 1, 0),
    (T.Resize((35, 17)), 1, 0),
    (T.Resize(40, max_size=50), 1, 0),
    (T.Resize((7, 9), interpolation=InterpolationMode.BICUBIC), 1, 0),
    (T.Resize((40, 60), interpolation=InterpolationMode.NEAREST), 0, 0),
    (T.RandomResizedCrop(8), 1, 0),
    (T.RandomRotation(40), 0, 0.01),
    (T.RandomRotation((20, 20), expand=True, fill=7), 0, 0.01),
    (T.RandomRotation((90, 90), expand=True), 0, 0),
    (T.RandomRotation((-15, -15), center=(3, 4)), 0, 0.01),
    (T.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 10, fill=100), 0, 0.01),
    (T.RandomAffine((5, 9), shear=(-5, 5, -7, 7), center=(2, 3)), 0, 0.01),
    (T.Grayscale(), 1, 0),
    (T.Grayscale(3), 1, 0),
    (T.RandomGrayscale(1.0), 1, 0),
    (T.GaussianBlur(3), 0, 0),
    (T.GaussianBlur((5, 3), 1.5), 0, 0),
    (T.ColorJitter(brightness=0.5), 1, 0),
    (T.ColorJitter(contrast=0.5), 1, 0.02),
    (T.ColorJitter(saturation=0.5), 1, 0.01),
    (T.ColorJitter(hue=0.3), 6, 0.01),
    (T.RandomInvert(1.0), 0, 0),
    (T.RandomPosterize(3, 1.0), 0, 0),
    (T.RandomSolarize(100, 1.0), 0, 0),
    (T.RandomAdjustSharpness(2, 1.0), 1, 0),
    (T.RandomAdjustSharpness(0.3, 1.0), 1, 0),
    (T.RandomAutocontrast(1.0), 1, 0),
    (T.RandomEqualize(1.0), 0, 0),
]


@pytest.mark.parametrize("transform, most, share", SAME, ids=[str(s[0]) for s in SAME])
@pytest.mark.parametrize("picture", [NOISE, SMOOTH], ids=["noise", "smooth"])
def test_pil_and_tensor_agree(transform, most: float, share: float, picture) -> None:
    results = []
    for img in both(picture):
        rushlight.manual_seed(3)
        out = transform(img)
        results.append([as_array(o) for o in (out if isinstance(out, tuple) else (out,))])
    for a, b in zip(*results):
        assert a.shape == b.shape
        assert (np.abs(a - b) > most).mean() <= share


@pytest.mark.parametrize("shape", [(3, 9, 8), (2, 3, 9, 8), (2, 2, 1, 9, 8)])
def test_tensors_with_any_leading_dims(shape) -> None:
    x = rushlight.rand(*shape)
    for t in (
        T.Resize((5, 6)),
        T.Pad(2, padding_mode="reflect"),
        T.Pad(1, padding_mode="symmetric"),
        T.GaussianBlur(3),
        T.RandomRotation(10),
        T.CenterCrop(4),
    ):
        rushlight.manual_seed(0)
        whole = t(x)
        rushlight.manual_seed(0)
        one = t(x.reshape(-1, *shape[-3:])[0])
        assert whole.shape[:-2] == x.shape[:-2]
        assert rushlight.allclose(whole.reshape(-1, *whole.shape[-3:])[0], one, atol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "nearest-exact"])
@pytest.mark.parametrize("antialias", [True, False])
def test_resize_is_interpolate(mode: str, antialias: bool) -> None:
    torch = pytest.importorskip("torch")
    x = RNG.random((3, 11, 13)).astype(np.float32)
    ours = F.resize(rushlight.from_numpy(x), [7, 17], InterpolationMode(mode), antialias=antialias)
    smooth = mode in ("bilinear", "bicubic")
    options = {"align_corners": False, "antialias": antialias} if smooth else {}
    t = torch.from_numpy(x)[None]
    theirs = torch.nn.functional.interpolate(t, (7, 17), mode=mode, **options)[0]
    assert np.allclose(ours.numpy(), theirs.numpy(), atol=1e-6)


@pytest.mark.parametrize(
    "size, max_size, wanted",
    [(10, None, (10, 15)), ([10], None, (10, 15)), ((4, 5), None, (4, 5)), (25, 30, (20, 30)),
     (40, 50, (33, 50)), (20, None, (20, 30))],
)  # fmt: skip
def test_resized_shapes(size, max_size, wanted) -> None:
    for img in both():
        out = F.resize(img, size, max_size=max_size)
        assert tuple(F.get_dimensions(out)[1:]) == wanted
    with pytest.raises(ValueError, match="max_size"):
        F.resize(img, 20, max_size=20)
    with pytest.raises(ValueError, match="max_size should only be passed"):
        F.resize(img, (20, 20), max_size=30)


def test_crop_beyond_the_edge_is_black() -> None:
    for img in both():
        a = as_array(F.crop(img, -3, 25, 10, 12))
        assert a.shape == (3, 10, 12)
        assert (a[:, :3] == 0).all() and (a[:, :, 5:] == 0).all()
        assert (a[:, 3:, :5] == NOISE[:7, 25:30].transpose(2, 0, 1)).all()
        assert (as_array(F.crop(img, 50, 50, 4, 4)) == 0).all()


def test_enhancers_are_pillows() -> None:
    img, _ = both()
    wanted = ImageEnhance.Contrast(img).enhance(1.7)
    assert (np.asarray(F.adjust_contrast(img, 1.7)) == np.asarray(wanted)).all()


def test_hue_and_gamma_limits() -> None:
    for img in both():
        with pytest.raises(ValueError, match="hue_factor"):
            F.adjust_hue(img, 0.6)
        with pytest.raises(ValueError, match="Gamma"):
            F.adjust_gamma(img, -1)
        assert np.abs(as_array(F.adjust_hue(img, 0.0)) - as_array(img)).max() <= 8  # 8-bit hues
    a, b = (as_array(F.adjust_gamma(i, 0.7)) for i in both())
    assert np.abs(a - b).max() <= 1


def test_gaussian_blur_against_torch() -> None:
    torch = pytest.importorskip("torch")
    x = RNG.random((3, 9, 10)).astype(np.float32)
    ours = F.gaussian_blur(rushlight.from_numpy(x), [3, 5], [0.7, 1.3]).numpy()

    def kernel(size, sigma):
        k = torch.exp(-0.5 * (torch.linspace(-(size - 1) / 2, (size - 1) / 2, size) / sigma) ** 2)
        return k / k.sum()

    weight = (kernel(5, 1.3)[:, None] * kernel(3, 0.7)).expand(3, 1, 5, 3)
    padded = torch.nn.functional.pad(torch.from_numpy(x)[None], [1, 1, 2, 2], mode="reflect")
    theirs = torch.nn.functional.conv2d(padded, weight, groups=3)[0].numpy()
    assert np.allclose(ours, theirs, atol=1e-6)


# -- random numbers in torchvision's order ---------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def seeded(torch, seed: int = 5):
    rushlight.manual_seed(seed)
    torch.manual_seed(seed)


def same_place(torch) -> None:
    """Both generators have drawn as many numbers."""
    assert rushlight.rand(1).item() == torch.rand(1).item()


def test_draws_of_a_crop(torch) -> None:
    seeded(torch)
    img, _ = both()
    got = T.RandomCrop.get_params(img, (7, 9))
    top = torch.randint(0, 20 - 7 + 1, size=(1,)).item()
    assert got == (top, torch.randint(0, 30 - 9 + 1, size=(1,)).item(), 7, 9)
    assert T.RandomCrop.get_params(img, (20, 30)) == (0, 0, 20, 30)  # nothing to draw
    same_place(torch)
    with pytest.raises(ValueError, match="Required crop size"):
        T.RandomCrop.get_params(img, (21, 9))


def test_draws_of_a_resized_crop(torch) -> None:
    seeded(torch)
    img, _ = both()
    scale, ratio = (0.08, 1.0), (3 / 4, 4 / 3)
    for _ in range(40):
        got = T.RandomResizedCrop.get_params(img, scale, ratio)
        assert got == _resized_crop(torch, 20, 30, scale, ratio)
    same_place(torch)


def _resized_crop(torch, height, width, scale, ratio):
    log_ratio = torch.log(torch.tensor(ratio))
    for _ in range(10):
        area = height * width * torch.empty(1).uniform_(scale[0], scale[1]).item()
        low, high = log_ratio.tolist()
        aspect = torch.exp(torch.empty(1).uniform_(low, high)).item()
        w, h = int(round(math.sqrt(area * aspect))), int(round(math.sqrt(area / aspect)))
        if 0 < w <= width and 0 < h <= height:
            i = torch.randint(0, height - h + 1, size=(1,)).item()
            return i, torch.randint(0, width - w + 1, size=(1,)).item(), h, w
    w = width if width / height <= max(ratio) else int(round(height * max(ratio)))
    return 0, (width - w) // 2, height, w


def test_a_crop_that_never_fits_is_central() -> None:
    tall = Image.new("L", (10, 100))
    assert T.RandomResizedCrop.get_params(tall, (5.0, 6.0), (0.5, 2.0)) == (40, 0, 20, 10)
    wide = Image.new("L", (100, 10))
    assert T.RandomResizedCrop.get_params(wide, (5.0, 6.0), (0.5, 2.0)) == (0, 40, 10, 20)


def test_draws_of_flips(torch) -> None:
    seeded(torch)
    x = rushlight.arange(6).reshape(1, 2, 3)
    for _ in range(50):
        flipped = bool((T.RandomHorizontalFlip(0.3)(x) != x).any())
        assert flipped == bool(torch.rand(1) < 0.3)
        flipped = bool((T.RandomVerticalFlip(0.6)(x) != x).any())
        assert flipped == bool(torch.rand(1) < 0.6)
        T.RandomGrayscale(0.1)(x)
        torch.rand(1)
    same_place(torch)


def test_draws_of_colour(torch) -> None:
    seeded(torch)
    jitter = T.ColorJitter(0.4, (0.2, 1.3), 0, 0.1)
    assert jitter.saturation is None
    for _ in range(20):
        order, b, c, s, h = jitter.get_params(jitter.brightness, jitter.contrast, jitter.saturation, jitter.hue)
        assert order.tolist() == torch.randperm(4).tolist()
        assert b == float(torch.empty(1).uniform_(0.6, 1.4))
        assert c == float(torch.empty(1).uniform_(0.2, 1.3))
        assert s is None and h == float(torch.empty(1).uniform_(-0.1, 0.1))
    same_place(torch)


def test_draws_of_turns(torch) -> None:
    seeded(torch)
    assert T.RandomRotation.get_params([-7.0, 9.0]) == torch.empty(1).uniform_(-7, 9).item()
    got = T.RandomAffine.get_params([-5.0, 5.0], (0.1, 0.2), (0.9, 1.1), [-3.0, 3.0, 1.0, 2.0], [30, 20])
    u = lambda a, b: torch.empty(1).uniform_(a, b).item()
    angle = u(-5, 5)
    shift = (int(round(u(-3.0, 3.0))), int(round(u(-4.0, 4.0))))
    scale = u(0.9, 1.1)
    assert got == (angle, shift, scale, (u(-3, 3), u(1, 2)))
    assert T.GaussianBlur.get_params(0.1, 2.0) == u(0.1, 2.0)
    same_place(torch)


def test_draws_of_an_erasure(torch) -> None:
    seeded(torch)
    x = rushlight.ones(3, 20, 30)
    for _ in range(30):
        i, j, h, w, v = T.RandomErasing.get_params(x, (0.02, 0.33), (0.3, 3.3), None)
        low, high = torch.log(torch.tensor((0.3, 3.3))).tolist()
        for _ in range(10):
            area = 600 * torch.empty(1).uniform_(0.02, 0.33).item()
            aspect = torch.exp(torch.empty(1).uniform_(low, high)).item()
            hh, ww = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if hh < 20 and ww < 30:
                break
        noise = torch.empty([3, hh, ww]).normal_()
        assert (h, w) == (hh, ww) and np.allclose(v.numpy(), noise.numpy(), atol=1e-5)
        assert (i, j) == (torch.randint(0, 21 - h, (1,)).item(), torch.randint(0, 31 - w, (1,)).item())
    same_place(torch)


def test_erasing() -> None:
    x = rushlight.ones(3, 20, 30)
    y = T.RandomErasing(1.0, value=(1.0, 2.0, 3.0))(x)
    assert (x == 1).all() and set(y[2].flatten().tolist()) == {1.0, 3.0}
    assert T.RandomErasing(1.0, inplace=True)(x) is x and (x == 0).any()
    assert T.RandomErasing(0.0)(y) is y
    with pytest.raises(ValueError, match="Random erasing probability"):
        T.RandomErasing(1.5)
    with pytest.raises(ValueError, match="number of input channels"):
        T.RandomErasing(1.0, value=(1, 2))(x)


def test_draws_of_random_apply(torch) -> None:
    seeded(torch)
    x = rushlight.zeros(1)
    for _ in range(30):
        changed = T.RandomApply([T.Lambda(lambda t: t + 1)], p=0.3)(x).item() == 1
        assert changed == (not 0.3 < torch.rand(1))
    same_place(torch)


def test_choice_and_order_use_pythons_random() -> None:
    import random

    steps = [T.Lambda(lambda t, k=k: [*t, k]) for k in range(4)]
    random.seed(1)
    got = T.RandomOrder(steps)([])
    random.seed(1)
    order = list(range(4))
    random.shuffle(order)
    assert got == order
    random.seed(2)
    got = [T.RandomChoice(steps, p=[1, 2, 3, 4])([])[0] for _ in range(9)]
    random.seed(2)
    assert got == [random.choices(range(4), weights=[1, 2, 3, 4])[0] for _ in range(9)]


# -- printed forms and errors ----------------------------------------------------------------------

PRINTED = {
    "ToTensor()": T.ToTensor(),
    "PILToTensor()": T.PILToTensor(),
    "ToPILImage()": T.ToPILImage(),
    "ToPILImage(mode=L)": T.ToPILImage("L"),
    "Normalize(mean=(0.5,), std=(0.5,))": T.Normalize((0.5,), (0.5,)),
    "Resize(size=32, interpolation=bilinear, max_size=None, antialias=True)": T.Resize(32),
    "CenterCrop(size=(8, 8))": T.CenterCrop(8),
    "Pad(padding=2, fill=0, padding_mode=constant)": T.Pad(2),
    "RandomCrop(size=(32, 32), padding=4)": T.RandomCrop(32, 4),
    "RandomHorizontalFlip(p=0.5)": T.RandomHorizontalFlip(),
    "RandomResizedCrop(size=(8, 8), scale=(0.08, 1.0), ratio=(0.75, 1.3333), "
    "interpolation=bilinear, antialias=True)": T.RandomResizedCrop(8),
    "RandomRotation(degrees=[-10.0, 10.0], interpolation=nearest, expand=False, fill=0)": (T.RandomRotation(10)),
    "ColorJitter(brightness=(0.5, 1.5), contrast=None, saturation=None, hue=None)": (T.ColorJitter(0.5)),
    "GaussianBlur(kernel_size=(3, 3), sigma=(0.1, 2.0))": T.GaussianBlur(3),
    "RandomGrayscale(p=0.1)": T.RandomGrayscale(),
    "RandomErasing(p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False)": (T.RandomErasing()),
    "Lambda()": T.Lambda(len),
    "Compose(\n    ToTensor()\n    CenterCrop(size=(4, 4))\n)": T.Compose([T.ToTensor(), T.CenterCrop(4)]),
    "RandomApply(\n    p=0.5\n    ToTensor()\n)": T.RandomApply([T.ToTensor()]),
}


@pytest.mark.parametrize("text", PRINTED, ids=lambda t: t.split("(")[0])
def test_printed_forms(text: str) -> None:
    assert repr(PRINTED[text]) == text


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: T.Resize("x" * 3), ValueError, "1 or 2 values"),
        (lambda: T.Resize(3.5), TypeError, "Size should be int or sequence"),
        (lambda: T.CenterCrop((1, 2, 3)), ValueError, "two dimensions"),
        (lambda: T.Pad((1, 2, 3)), ValueError, "Padding must be an int or a 1, 2, or 4"),
        (lambda: T.Pad("a"), TypeError, "inappropriate padding"),
        (lambda: T.Pad(1, padding_mode="x"), ValueError, "Padding mode should be either"),
        (lambda: T.RandomRotation(-1), ValueError, "must be positive"),
        (lambda: T.RandomRotation((1, 2, 3)), ValueError, "sequence of length 2"),
        (lambda: T.ColorJitter(-1), ValueError, "must be non negative"),
        (lambda: T.ColorJitter(hue=0.7), ValueError, "hue values should be between"),
        (lambda: T.ColorJitter("x"), TypeError, "single number or a list"),
        (lambda: T.GaussianBlur(2), ValueError, "odd and positive"),
        (lambda: T.GaussianBlur(3, -1), ValueError, "must be positive"),
        (lambda: T.Lambda(3), TypeError, "callable"),
        (lambda: T.RandomChoice(3), TypeError, "should be a sequence"),
        (lambda: T.RandomAffine(1, translate=(2, 0)), ValueError, "between 0 and 1"),
        (lambda: T.RandomAffine(1, scale=(0, 1)), ValueError, "should be positive"),
        (lambda: T.ConvertImageDtype(3), TypeError, "torch.dtype"),
        (lambda: F.hflip([1]), TypeError, "img should be PIL Image or Tensor Image"),
        (lambda: F.resize(Image.new("L", (3, 3)), 2, "bilinear"), TypeError, "interpolation"),
        (lambda: F.five_crop(Image.new("L", (3, 3)), 4), ValueError, "bigger than input"),
        (lambda: F.posterize(Image.new("L", (3, 3)), 9), ValueError, "bits"),
        (lambda: F.adjust_brightness(rushlight.ones(3, 2, 2), -1), ValueError, "non-negative"),
        (lambda: F.adjust_hue(rushlight.ones(2, 2, 2), 0.1), TypeError, "permitted channel"),
    ],
)
def test_errors(make, error, words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_pillow_numbers_for_interpolation() -> None:
    assert T.Resize(4, interpolation=Image.BICUBIC).interpolation is InterpolationMode.BICUBIC
    assert T.Resize(4, interpolation=0).interpolation is InterpolationMode.NEAREST


def test_linear_transformation() -> None:
    x = rushlight.rand(2, 3, 2, 2)
    white = T.LinearTransformation(rushlight.eye(12) * 2, rushlight.ones(12))
    assert rushlight.allclose(white(x), (x - 1) * 2)
    with pytest.raises(ValueError, match="square"):
        T.LinearTransformation(rushlight.rand(2, 3), rushlight.rand(2))


def test_gradients_pass_through() -> None:
    x = rushlight.rand(3, 8, 8, requires_grad=True)
    chain = T.Compose([T.Resize(6), T.CenterCrop(4), T.Pad(1), T.Normalize([0.5], [0.5])])
    chain(F.hflip(F.adjust_brightness(x, 0.5))).sum().backward()
    assert x.grad.shape == x.shape and (x.grad != 0).any()


def test_the_inner_modules_have_the_functions_of_one_kind_of_picture() -> None:
    """torchvision's `_functional_tensor` and `_functional_pil`, with its names of parameters."""
    from rushlight.vision.transforms import _functional_pil as pil
    from rushlight.vision.transforms import _functional_tensor as tensors

    rushlight.manual_seed(0)
    img = rushlight.randint(0, 256, (3, 6, 8)).to(rushlight.uint8)
    picture = Image.fromarray(img.permute(1, 2, 0).contiguous().numpy())
    words = {f"adjust_{n}": {f"{n}_factor": 0.4} for n in ("brightness", "contrast", "saturation", "hue", "sharpness")}
    words |= {"adjust_gamma": {"gamma": 2.0}, "posterize": {"bits": 3}, "solarize": {"threshold": 90}}
    words |= {name: {} for name in ("invert", "autocontrast", "equalize", "hflip", "vflip", "get_dimensions")}
    for name, said in words.items():
        for one, home in ((img, tensors), (picture, pil)):
            found, expected = getattr(home, name)(one, **said), getattr(F, name)(one, **said)
            assert np.array_equal(np.asarray(found), np.asarray(expected)), name
    assert tensors.get_image_size(img) == [8, 6] and tensors.get_image_num_channels(img) == 3
    hsv = tensors._rgb2hsv(img / 255)
    assert hsv.shape == img.shape and rushlight.allclose(tensors._hsv2rgb(hsv), img / 255, atol=1e-5)
    with pytest.raises(TypeError, match="img should be PIL Image or Tensor"):
        F.elastic_transform("picture", rushlight.zeros(1, 6, 8, 2))
