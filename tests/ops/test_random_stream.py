"""The CPU random stream against numbers that PyTorch drew, recorded or fresh."""

import os
import pickle
import threading
import zlib

import numpy as np
import pytest

from rushlight.runtime.cpu import random, words
from rushlight.runtime.cpu.random import Stream

F32, F64, I64 = np.dtype("f4"), np.dtype("f8"), np.dtype("i8")
FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8", "bool"]
SIZES = [0, 1, 2, 15, 16, 17, 31, 33, 623, 1000, 10000]
WEIGHTS = np.array([0.1, 0.2, 0.3, 0.4], np.float32)

# One stream of seed 42, drawn from in this order by torch 2.13.
GOLDEN = [
    ("rand", lambda s: s.uniform(3, F32), [0.8822692632675171, 0.9150039553642273, 0.38286376]),
    ("randn", lambda s: s.normal(3, F32), [-0.829319179058075, -1.6137069463729858, -0.2147045284]),
    (
        "randn of 17",  # starts with the spare of the draw before still kept
        lambda s: s.normal(17, F32)[[0, 8, 16]],
        [-0.9341633915901184, 1.7173610925674438, -0.601142942905426],
    ),
    ("randn pair", lambda s: s.normal(2, F64), [0.29893549051188345, -0.32775865148343225]),
    ("randint", lambda s: s.randint(-5, 100, 4, I64), [28, 42, 10, 4]),
    ("randint 64", lambda s: s.randint(0, 2**40, 2, I64), [216391026539, 236151178483]),
    ("randperm", lambda s: s.randperm(10), [5, 6, 4, 3, 1, 0, 2, 8, 7, 9]),
    ("random64", lambda s: s.random64(), 244695290339797379),
    ("bernoulli", lambda s: s.bernoulli(0.4, 8, F32), [0, 0, 1, 0, 0, 0, 1, 1]),
    ("exponential", lambda s: s.exponential(2, F32, 2.0), [0.2415906935930252, 0.0260667689144]),
    ("multinomial", lambda s: s.multinomial(WEIGHTS, 3), [1, 3, 2]),
    ("multinomial again", lambda s: s.multinomial(WEIGHTS, 6, True), [3, 3, 1, 3, 0, 1]),
    ("poisson", lambda s: s.poisson(np.array([0.0, 3.0, 30.0])), [0, 4, 30]),
    ("uniform", lambda s: s.uniform(2, F64, -1, 3), [1.0463490893345484, 0.15792623279096496]),
    ("gamma", lambda s: s.gamma(np.array([0.5, 5.0], F32)), [0.2507686913013458, 5.1228032112]),
]


def test_golden_numbers_in_one_stream():
    stream = Stream(42)
    for name, draw, expected in GOLDEN:
        np.testing.assert_allclose(draw(stream), expected, rtol=2e-6, err_msg=name)


@pytest.mark.parametrize(
    ("args", "first"), [((), 0.267295241355896), ((-1,), 0.9937993884086609), ((2**64 - 1,), 0.9937993884086609)]
)
def test_golden_seeds(args, first):
    assert Stream(*args).uniform(1, F32)[0] == np.float32(first)


def test_seed_rules():
    stream = Stream()
    assert stream.initial_seed() == 67280421310721
    assert stream.manual_seed(-5) is stream
    assert stream.initial_seed() == 2**64 - 5
    assert stream.seed() == stream.initial_seed()
    for bad in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            stream.manual_seed(bad)
    for bad in (1.5, "1", True):
        with pytest.raises(RuntimeError, match="manual_seed expected a long"):
            stream.manual_seed(bad)


def test_state_round_trips_with_a_spare_normal():
    stream = Stream(7)
    stream.normal(3, F64)
    state, twin, thawed = stream.get_state(), stream.clone(), pickle.loads(pickle.dumps(stream))
    expected = stream.normal(5, F64)
    for other in (twin, thawed):
        np.testing.assert_array_equal(other.normal(5, F64), expected)
    stream.set_state(state)
    np.testing.assert_array_equal(stream.normal(5, F64), expected)


def test_bad_states_are_refused():
    stream = Stream()
    state = stream.get_state()
    with pytest.raises(TypeError, match="ByteTensor"):
        stream.set_state(state.astype(np.float32))
    with pytest.raises(RuntimeError, match="5056 bytes, but got 10"):
        stream.set_state(state[:10])
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        stream.set_state(np.zeros_like(state))


def test_randperm_equals_the_plain_swap_loop():
    for n in (0, 1, 2, 5, 100, 3000):
        words = Stream(n)._words32(max(n - 1, 0)).tolist()
        order = list(range(n))
        for i, word in enumerate(words):
            j = i + word % (n - i)
            order[i], order[j] = order[j], order[i]
        assert Stream(n).randperm(n).tolist() == order


def test_a_scalar_shape_gives_a_scalar_array():
    stream, half = Stream(), np.array(0.5)
    draws = [
        stream.uniform((), F32, -1.0, 1.0),
        stream.normal((), F32),
        stream.randint(0, 5, (), I64),
        stream.bernoulli(0.5, (), F32),
        stream.bernoulli(half, (), F32),
        stream.exponential((), F32),
        stream.poisson(half),
        stream.gamma(half),
    ]
    assert all(isinstance(x, np.ndarray) and x.shape == () for x in draws)


def test_multinomial_refuses_bad_weights():
    for bad in ([-1.0, 1.0], [np.inf, 1.0], [np.nan, 1.0], [0.0, 0.0]):
        with pytest.raises(RuntimeError, match="probabilit"):
            Stream().multinomial(np.array(bad), 1)


def test_threads_share_a_stream_without_tearing_a_draw():
    stream, rows = Stream(1), []
    draw = [threading.Thread(target=lambda: rows.append(stream.normal(15, F64))) for _ in range(8)]
    for thread in draw:
        thread.start()
    for thread in draw:
        thread.join()
    serial = Stream(1)
    expected = [serial.normal(15, F64) for _ in range(8)]
    assert sorted(r.tolist() for r in rows) == sorted(e.tolist() for e in expected)


def numpy_dtype(name):
    if name == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return np.dtype(name)


def as_double(tensor):
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def check(ours, theirs, seed=11, rtol=0.0, atol=0.0):
    """Both draw twice from one seed; the numbers, and then the states, must agree."""
    torch = pytest.importorskip("torch")
    stream, generator = Stream(seed), torch.Generator().manual_seed(seed)
    for _ in range(2):
        got, expected = ours(stream), theirs(generator)
        assert str(expected.dtype) == f"torch.{got.dtype.name}"
        assert got.shape == tuple(expected.shape)
        if got.dtype.kind not in "iub":
            got = got.astype(np.float64)
        np.testing.assert_allclose(got, as_double(expected), rtol=rtol, atol=atol)
    np.testing.assert_array_equal(stream.get_state(), generator.get_state().numpy())


def tolerance(name):
    eps = {"float32": 2.0**-23, "float64": 2.0**-52}.get(name, 2.0**-10)
    if name == "bfloat16":
        eps = 2.0**-7
    return {"rtol": 4 * eps, "atol": 2 * eps if name in ("float32", "float64") else 0.0}


# The first, the last and some others of 20005 numbers of seed 42, mean 0.25, deviation 1.75, and the checksum of all: torch 2.13, once as it
# finds an x86 processor with AVX2 and once with ATEN_CPU_CAPABILITY=default, which is what other processors take.
DRAWN = {
    True: (409836849, [3.6221017837524414, -1.0662367343902588, -2.2834584712982178, -0.8122286796569824]),
    False: (2233502471, [3.622101306915283, -1.066238284111023, -2.2834584712982178, -0.8122286796569824]),
}


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("vectors", [True, False])
def test_both_ways_to_normals_are_torchs_on_every_machine(monkeypatch, vectors, native):
    monkeypatch.setattr(random, "has_vectors", lambda: vectors)
    if not native:
        monkeypatch.setattr(words, "_native", lambda: None)
    elif words._native() is None:
        pytest.skip("without the extension there is one way")
    checksum, some = DRAWN[vectors]
    found = Stream(42).normal(20005, F32, 0.25, 1.75)
    if vectors:  # polynomials: the same bits everywhere; the other way has the functions of the C library
        assert zlib.crc32(found.tobytes()) == checksum
    np.testing.assert_allclose(found[[0, 8, 5000, -1]], some, rtol=1e-6)


def test_the_way_to_normals_is_that_of_the_processor():
    torch = pytest.importorskip("torch")
    if "ATEN_CPU_CAPABILITY" not in os.environ:
        assert random.has_vectors() == ("AVX" in torch.backends.cpu.get_cpu_capability())


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", FLOATS)
def test_torch_uniform_and_normal(name, n):
    torch = pytest.importorskip("torch")
    t, d = getattr(torch, name), numpy_dtype(name)
    check(lambda s: s.uniform((n,), d), lambda g: torch.rand(n, dtype=t, generator=g))
    for low, high in [(-0.3, 0.7), (0.0, 0.7), (-0.001, 0.001), (1000.0, 1000.1)]:
        check(
            lambda s, a=low, b=high: s.uniform((n,), d, a, b),
            lambda g, a=low, b=high: torch.empty(n, dtype=t).uniform_(a, b, generator=g),
        )
    check(lambda s: s.normal((n,), d), lambda g: torch.randn(n, dtype=t, generator=g))
    check(lambda s: s.normal((n,), d, 0.1, 0.7), lambda g: torch.empty(n, dtype=t).normal_(0.1, 0.7, generator=g))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(
    ("method", "args"), [("exponential", (1.7,)), ("geometric", (0.2,)), ("cauchy", (0.1, 1.7)), ("log_normal", (0, 1))]
)
def test_torch_continuous(method, args, name):
    torch = pytest.importorskip("torch")
    t, d = getattr(torch, name), numpy_dtype(name)
    check(
        lambda s: getattr(s, method)((1003,), d, *args),
        lambda g: getattr(torch.empty(1003, dtype=t), f"{method}_")(*args, generator=g),
        rtol=64 * tolerance(name)["rtol"] if name == "float64" else tolerance(name)["rtol"],
    )


@pytest.mark.parametrize("name", INTEGERS + FLOATS)
def test_torch_integers(name):
    torch = pytest.importorskip("torch")
    t, d, n = getattr(torch, name), numpy_dtype(name), 1003
    high = 2 if name == "bool" else 100
    check(lambda s: s.random((n,), d), lambda g: torch.empty(n, dtype=t).random_(generator=g))
    check(lambda s: s.randint(0, high, (n,), d), lambda g: torch.randint(0, high, (n,), dtype=t, generator=g))
    check(lambda s: s.bernoulli(0.2, (n,), d), lambda g: torch.empty(n, dtype=t).bernoulli_(0.2, generator=g))
    if name != "bool":
        check(lambda s: s.randperm(99, d), lambda g: torch.randperm(99, dtype=t, generator=g))


@pytest.mark.parametrize(
    ("low", "high"), [(-5, 7), (0, 2**28 - 1), (0, 2**28), (-3, 2**32), (-(2**40), 2**50), (-(2**63), 2**63 - 1)]
)
def test_torch_randint_spans(low, high):
    torch = pytest.importorskip("torch")
    check(lambda s: s.randint(low, high, (101,), I64), lambda g: torch.randint(low, high, (101,), generator=g))


def test_torch_full_range():
    torch = pytest.importorskip("torch")
    check(
        lambda s: s.randint(-(2**63), 2**63, (101,), I64),
        lambda g: torch.empty(101, dtype=torch.int64).random_(-(2**63), None, generator=g),
    )


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 60000])
def test_torch_randperm(n):
    torch = pytest.importorskip("torch")
    check(lambda s: s.randperm(n), lambda g: torch.randperm(n, generator=g))


@pytest.mark.parametrize("name", FLOATS)
def test_torch_draws_from_a_tensor(name):
    torch = pytest.importorskip("torch")
    t, d = getattr(torch, name), numpy_dtype(name)
    p = Stream(1).uniform((17, 59), d)
    tp = torch.from_numpy(p.astype(np.float64)).to(t)
    check(lambda s: s.bernoulli(p, p.shape, d), lambda g: torch.bernoulli(tp, generator=g))
    # Without replacement the 16-bit keys have ties, which torch's topk orders as it pleases.
    most = 20 if d.itemsize > 2 else 1
    for k, replacement in [(1, False), (most, False), (1, True), (50, True)]:
        check(
            lambda s, k=k, r=replacement: s.multinomial(p, k, r),
            lambda g, k=k, r=replacement: torch.multinomial(tp, k, r, generator=g),
        )
    for scale in (4, 64):  # powers of two, so that both sides scale exactly
        check(lambda s, c=scale: s.poisson(p * d.type(c)), lambda g, c=scale: torch.poisson(tp * c, generator=g))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_torch_gamma_and_dirichlet(name):
    torch = pytest.importorskip("torch")
    alpha = Stream(1).uniform((17, 59), np.dtype(name), 0.0, 4.0)
    ta, close = torch.from_numpy(alpha), {"rtol": 16 * tolerance(name)["rtol"]}
    check(lambda s: s.gamma(alpha), lambda g: torch._standard_gamma(ta, generator=g), **close)
    check(lambda s: s.dirichlet(alpha), lambda g: torch._sample_dirichlet(ta, generator=g), **close)


def test_torch_states_are_interchangeable():
    torch = pytest.importorskip("torch")
    for draws in (0, 1, 623, 624, 625):
        stream, generator = Stream(9), torch.Generator().manual_seed(9)
        stream.uniform(draws, F32)
        torch.rand(draws, generator=generator)
        np.testing.assert_array_equal(stream.get_state(), generator.get_state().numpy())
        torch.randn(3, generator=generator)
        stream.set_state(generator.get_state().numpy())
        np.testing.assert_array_equal(stream.get_state(), generator.get_state().numpy())
        fresh = torch.Generator()
        fresh.set_state(torch.from_numpy(stream.get_state()))
        assert stream.normal(1, F32)[0] == np.float32(torch.randn(1, generator=fresh).item())
        theirs = torch.empty((), dtype=torch.int64).random_(generator=fresh).item()
        assert stream.random64() == theirs


@pytest.mark.parametrize("before", [0, 1, 3, 623, 700])
@pytest.mark.parametrize("n", [64, 65, 312, 624, 1025, 5000])
def test_words_in_vectors_are_numpys(n: int, before: int) -> None:
    """Whatever was drawn before, and wherever the state's 624 words end."""
    streams = [np.random.MT19937(7) for _ in range(3)]
    for s in streams:
        s.random_raw(before)
    plain = words.words64(streams[0], n) & (2**53 - 1)
    exact = plain.astype(np.float64) * 2.0**-53
    for p in (0.0, 1e-17, 0.3, float(exact[5]), 1.0):  # also at a number that is drawn
        streams[1].state = streams[2].state
        drawn = words.below(streams[1], n, p, np.dtype(np.float32))
        assert np.array_equal(drawn.astype(bool), exact < p), p
    streams[1].state = streams[2].state
    assert np.array_equal(words.unit(streams[1], n, np.float64), exact)
    assert streams[1].random_raw() == streams[0].random_raw()  # both stand at the same word
    low = words.unit(streams[2], n, np.float32)
    assert low.dtype == np.float32 and low.min() >= 0 and low.max() < 1
