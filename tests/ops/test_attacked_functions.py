"""Functions that were attacked with random arguments beside PyTorch: what differed, kept as tests."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])


@BOTH
def test_resize_takes_the_order_of_the_memory_it_is_told(lib: Any) -> None:
    turned = lib.arange(6.0).reshape(2, 3).t().resize_(3, 2, memory_format=lib.contiguous_format)
    assert turned.stride() == (2, 1) and turned.flatten().tolist() == list(range(6))
    image = lib.arange(8.0).resize_(1, 2, 2, 2, memory_format=lib.channels_last)
    assert image.stride() == (8, 1, 4, 2)
    assert image[0, 1].tolist() == [[1.0, 3.0], [5.0, 7.0]]
    kept = lib.arange(8.0).resize_as_(image, memory_format=lib.preserve_format)
    assert kept.stride() == image.stride() and kept.equal(image)
    assert lib.arange(8.0).resize_as_(image).stride() == (8, 4, 2, 1)
    with pytest.raises(RuntimeError, match="Unsupported memory format ?Preserve"):
        lib.arange(4.0).resize_(4, memory_format=lib.preserve_format)


def test_memory_that_grows_away_from_its_views_is_told() -> None:
    def with_view() -> Any:
        x = rl.arange(6.0)
        return x, x[2:]

    for grow in (0, 1):
        pair = with_view()
        with pytest.warns(UserWarning, match="do not share the new one"):
            pair[grow].resize_(7)
    shared = rl.arange(6.0)
    other = shared.detach()
    with pytest.warns(UserWarning, match="do not share the new one"):
        shared.resize_(7)
    assert other.shape == (6,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = rl.arange(6.0).resize_(9)
        assert alone[:6].tolist() == list(range(6))
        rl.empty(0).resize_(3)
        with_view()[0].resize_(3)
        rl.arange(6.0)[2:].resize_(4)


@pytest.mark.parametrize("given", [
    {"mean": 10.0}, {"mean": 1e3}, {"std": 100.0}, {"std": -1.0}, {"a": 5.0, "b": 9.0},
    {"a": -0.5, "b": 0.2, "dtype": "float64"}, {"a": -0.5, "b": 0.2, "dtype": "float16"}, {},
], ids=str)  # fmt: skip
@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
def test_truncated_normals_are_pytorchs(given: dict) -> None:
    found = []
    for lib in (rl, torch):
        lib.manual_seed(0)
        how = dict(given)
        w = lib.empty(4, 5, dtype=getattr(lib, how.pop("dtype", "float32")))
        lib.nn.init.trunc_normal_(w, **how)
        found.append([*w.flatten().tolist(), lib.rand(1).item()])
    assert found[0] == pytest.approx(found[1], rel=5e-7)


@BOTH
def test_a_width_that_heads_do_not_divide_is_told_before_anything_is_made(lib: Any) -> None:
    with pytest.raises(AssertionError, match="embed_dim must be divisible by num_heads"):
        lib.nn.Transformer(4.5, 2)
    with pytest.raises(ValueError, match="embed_dim and num_heads must be greater than 0"):
        lib.nn.Transformer(-4, 2)


KINDS = {
    "Beta": [(2.0, 3.0), (0.5, 0.7)], "ContinuousBernoulli": [(0.3,), (0.5,)], "Exponential": [(2.0,)],
    "Gamma": [(2.0, 3.0)], "Gumbel": [(-1.0, 0.5)], "Laplace": [(0.3, 2.0)], "Normal": [(0.3, 2.0)],
    "Pareto": [(0.5, 3.0), (1.0, 0.8)], "Uniform": [(0.0, 1.0), (0.2, 0.7), (-1.0, 2.0), (1.0, 4.0)],
}  # fmt: skip


def _divergence(lib: Any, p: str, q: str, given: tuple[float, ...], n: int) -> list[float] | str:
    numbers = [lib.tensor(x, dtype=lib.float64, requires_grad=True) for x in given]
    made = [getattr(lib.distributions, name)(*args, validate_args=False)
            for name, args in ((p, numbers[:n]), (q, numbers[n:]))]  # fmt: skip
    try:
        found = lib.distributions.kl_divergence(*made)
    except NotImplementedError:
        return "not there"
    if not found.isfinite() or not found.requires_grad:
        return [found.item()]
    slopes = lib.autograd.grad(found, numbers, allow_unused=True)
    return [found.item(), *[0.0 if g is None else g.item() for g in slopes]]


@pytest.mark.parametrize("p", KINDS)
def test_divergences_between_kinds_and_their_gradients(p: str) -> None:
    for q, others in KINDS.items():
        for own in KINDS[p]:
            for other in others:
                want, got = [_divergence(lib, p, q, own + other, len(own)) for lib in (torch, rl)]
                if isinstance(want, str):
                    assert got == want, (p, own, q, other)
                else:
                    assert got == pytest.approx(want, rel=1e-9, abs=1e-9, nan_ok=True), (p, own, q, other)


def test_entropy_and_divergence_of_wishart() -> None:
    found = []
    for lib in (torch, rl):
        df = lib.tensor([3.5, 5.0], dtype=lib.float64, requires_grad=True)
        matrix = lib.tensor([[2.0, 0.3], [0.3, 1.0]], dtype=lib.float64, requires_grad=True)
        p = lib.distributions.Wishart(df, matrix)
        assert isinstance(p, lib.distributions.ExponentialFamily)
        slopes = lib.autograd.grad(p.entropy().sum(), [df, matrix])
        distance = lib.distributions.kl_divergence(p, lib.distributions.Wishart(df + 1, matrix * 2))
        parts = [p.entropy(), *slopes, distance]
        found.append([x for part in parts for x in part.flatten().tolist()])
    assert found[0] == pytest.approx(found[1], rel=1e-8)


def _outcome(lib: Any, text: str) -> Any:
    given = {"torch": lib, "F": lib.nn.functional, "x": lib.arange(12.0).reshape(3, 4), "i": lib.tensor([0, 2]),
             "mask": lib.tensor([True, False, True]), "wave": lib.arange(24.0).sin()}  # fmt: skip
    found = eval(text, given)
    parts = found if isinstance(found, tuple) else (found,)
    return [(p.tolist(), str(p.dtype).split(".")[1]) for p in parts]


SAME = """
torch.histogram(torch.ones(4), 3)|torch.histogram(torch.arange(5.0), 3, range=(1.0, 1.0))|torch.histc(torch.ones(4), 3)|torch.bincount(i[:0], weights=torch.ones(0))
torch.bincount(i[:0], weights=torch.ones(0), minlength=2)|x.repeat_interleave(2, 1, output_size=8)|x[0].repeat_interleave(2, output_size=8)|torch.logit(x[0] / 4, 0.6).round(decimals=3)
torch.zeros(3).index_put_((mask,), torch.ones(1, 1))|torch.zeros(3, 4).index_put_((i,), torch.ones(1, 4), True)|F.interpolate(torch.ones(1, 1, 2), scale_factor=0.3, mode="area")
x.renorm(2, -1, 3.0)|torch.unique(x[:0], dim=0)|torch.unique_consecutive(x.bool(), dim=1)
""".replace("\n", "|").strip("|").split("|")  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_results_at_the_ends_of_their_options(text: str) -> None:
    assert _outcome(rl, text) == _outcome(torch, text)


def test_a_real_signal_of_all_frequencies_is_made_of_the_first_half() -> None:
    found = []
    for lib in (torch, rl):
        wave = lib.arange(24.0, dtype=lib.float64)
        both = lib.complex(wave.sin(), wave.cos())
        spectra = lib.stft(both, 8, window=lib.ones(8, dtype=lib.float64), return_complex=True)
        whole = lib.istft(spectra, 8, window=lib.ones(8, dtype=lib.float64))
        found.append(whole.tolist())
    assert found[1] == pytest.approx(found[0], abs=1e-12)


@BOTH
def test_a_loop_over_joined_datasets_ends(lib: Any) -> None:
    class Endless(lib.utils.data.Dataset):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, i: int) -> int:
            return i  # raises nothing behind its end

    joined = lib.utils.data.ConcatDataset([Endless(), Endless()])
    assert [x for x, _ in zip(joined, range(9))] == [0, 1, 0, 1]
    with pytest.raises(IndexError):
        joined[4]


@BOTH
def test_the_top_one_is_the_first_of_equal_ones(lib: Any) -> None:
    for size in (2, 3, 64, 200):
        row = lib.arange(size) % 2
        for x in (row, row.double(), row.to(lib.uint8)):
            assert x.topk(1).indices.item() == x.argmax().item() == 1
            assert x.topk(1, largest=False).indices.item() == 0
    holed = lib.tensor([float("nan"), 1.0, float("nan")])
    assert holed.topk(1).indices.item() == 0
    assert holed.topk(1, largest=False).values.item() == 1


@BOTH
def test_variances_may_be_shared_along_any_one_dim(lib: Any) -> None:
    F = lib.nn.functional
    mean, target = lib.zeros(2, 3, 4), lib.ones(2, 3, 4)
    for shape in ((2, 3, 4), (2, 3, 1), (2, 1, 4), (1, 3, 4), (2, 3)):
        assert F.gaussian_nll_loss(mean, target, lib.ones(*shape)).item() == 0.5
    for shape in ((2, 1, 1), (3, 4), (4,)):
        with pytest.raises(ValueError, match="var is of incorrect size"):
            F.gaussian_nll_loss(mean, target, lib.ones(*shape))
    with pytest.raises(RuntimeError, match="Expected non-empty vector or matrix"):
        F.multi_margin_loss(mean, lib.zeros(2, 4).long())


def test_every_float16_has_pytorchs_sinc_and_decimals() -> None:
    bits = torch.arange(-32768, 32768, dtype=torch.int32).to(torch.int16)
    theirs = bits.view(torch.float16)
    theirs = theirs[theirs.isfinite()]
    ours = rl.from_numpy(theirs.numpy())
    pairs = [(theirs.sinc(), ours.sinc())]
    pairs += [(theirs.round(decimals=n), ours.round(decimals=n)) for n in (1, 3, -1)]
    for want, got in pairs:
        assert torch.from_numpy(got.numpy()).allclose(want, rtol=1e-3, atol=6e-8, equal_nan=True)


@BOTH
def test_ends_of_arange_are_cut_off_after_counting(lib: Any) -> None:
    assert lib.arange(0, 3.5, dtype=lib.int32).tolist() == [0, 1, 2, 3]
    assert lib.arange(5, 0.5, -1.5, dtype=lib.int8).tolist() == [5, 4, 3]
    assert lib.arange(0, 3.5, dtype=lib.int64).tolist() == [0, 1, 2]
