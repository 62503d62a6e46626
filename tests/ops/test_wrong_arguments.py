"""What is no tensor, given where one is needed, is refused in PyTorch's words by every public function."""

from __future__ import annotations

import traceback
import types
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.core import explain
from rushlight.core.public import NAMESPACES
from rushlight.operators import load_all
from same import agree

torch = pytest.importorskip("torch")
load_all()

WRONG = {"array": np.ones((2, 3), np.float32), "list": [1.0, 2.0], "float": 1.5, "none": None, "text": "a", "int": 3}
OWNERS = {
    "torch": torch, "functional": torch.nn.functional, "linalg": torch.linalg, "fft": torch.fft,
    "special": torch.special,
}  # fmt: skip

# PyTorch wants a tensor first, and ours computes with a number or an array, beside a tensor, too: what
# comes out is right.
LENIENT = {"igamma", "igammac", "gammainc", "gammaincc", "dist", "kl_div", "pairwise_distance", "soft_margin_loss"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some functions take text for the name of a file, and make it."""
    monkeypatch.chdir(tmp_path)


def outcome(fn: Any, *args: Any) -> Any:
    try:
        return fn(*args)
    except Exception as error:
        return error


def cases(place: str) -> Any:
    for name, fn in sorted(NAMESPACES[place].items()):
        theirs = getattr(OWNERS[place], name, None)
        if theirs is None or not callable(fn) or isinstance(fn, type):
            continue
        for kind, value in WRONG.items():
            for more in range(3):
                ours = outcome(fn, value, *[rl.ones(2, 3)] * more)
                yield (f"{name}({kind}, +{more})", name, ours, outcome(theirs, value, *[torch.ones(2, 3)] * more))


@pytest.mark.parametrize("place", OWNERS)
@pytest.mark.filterwarnings("ignore")
def test_every_public_function_says_what_it_wants(place: str) -> None:
    bad = []
    for label, name, ours, theirs in cases(place):
        if isinstance(ours, AttributeError) and not isinstance(theirs, AttributeError):
            bad.append(f"{label}: {ours!r}")
        wants = isinstance(theirs, TypeError) and "must be Tensor" in str(theirs)
        if wants and not isinstance(ours, TypeError) and name not in LENIENT:
            bad.append(f"{label}: {ours!r} for {theirs!r}")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("place", OWNERS)
@pytest.mark.filterwarnings("ignore")
def test_no_word_of_the_inside_comes_out(place: str) -> None:
    """A tensor first and then what is none, or nothing at all: an error that its caller can understand."""
    bad = []
    for name, fn in sorted(NAMESPACES[place].items()):
        theirs = getattr(OWNERS[place], name, None)
        if theirs is None or not callable(fn) or isinstance(fn, type):
            continue
        for value in ("abc", None, {}, [1.5, "a"], int):
            for args in ((rl.ones(2, 3), value), (rl.ones(2, 3), value, value), (value, value)):
                ours = outcome(fn, *args)
                if isinstance(ours, (AttributeError, AssertionError)):
                    same = outcome(theirs, *[torch.ones(2, 3) if a is args[0] and a is not value else a for a in args])
                    if type(same) is not type(ours):
                        bad.append(f"{name}{args[1:]}: {ours!r} for {same!r}")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("place", OWNERS)
@pytest.mark.filterwarnings("ignore")
def test_no_iterator_and_no_array_of_numpy_speaks(place: str) -> None:
    """An option that should be a number: never StopIteration, which a loop of the caller's would swallow."""
    bad = []
    for name, fn in sorted(NAMESPACES[place].items()):
        theirs = getattr(OWNERS[place], name, None)
        wants = getattr(fn, "__annotations__", {}).values()
        if theirs is None or "Tensor" not in wants or isinstance(fn, type):
            continue
        for value in (ARRAY, None, "abc", object()):
            ours = outcome(fn, rl.ones(2, 3), value)
            if isinstance(ours, StopIteration) or "truth value of an array" in str(ours):
                bad.append(f"{name}({value!r}): {ours!r}")
    assert not bad, "\n".join(bad)


F = rl.nn.functional
ARRAY = np.ones((2, 3), np.float32)

SAID = {
    "F.linear(ARRAY, rl.ones(4, 3))": "linear(): argument 'input' (position 1) must be Tensor, not numpy.ndarray; torch.from_numpy(",
    "F.linear(rl.ones(2, 3), weight=ARRAY)": "linear(): argument 'weight' (position 2) must be Tensor, not numpy.ndarray",
    "rl.nn.Linear(3, 4)(ARRAY)": "linear(): argument 'input' (position 1) must be Tensor, not numpy.ndarray",
    "rl.nn.Conv2d(1, 1, 1)(ARRAY)": "conv2d(): argument 'input' (position 1) must be Tensor, not numpy.ndarray",
    "F.cross_entropy(rl.ones(2, 3), [0, 1])": "cross_entropy(): argument 'target' (position 2) must be Tensor, not list; torch.tensor(",
    "rl.add(rl.ones(3), ARRAY)": "add(): argument 'other' (position 2) must be Tensor, not numpy.ndarray",
    "rl.ones(3).dot(ARRAY)": "dot(): argument 'tensor' (position 2) must be Tensor, not numpy.ndarray",
    "rl.abs_(1.5)": "abs_(): argument 'input' (position 1) must be Tensor, not float",
    "rl.mul(None, None)": "mul(): argument 'input' (position 1) must be Tensor, not NoneType",
    "rl.einsum('i,i', rl.ones(3), ARRAY)": "expected Tensor as element 1 in argument 1, but got numpy.ndarray",
    "rl.nn.utils.get_total_norm([ARRAY])": "get_total_norm(): argument 'tensors' (position 1) must be Tensor, not numpy.ndarray",
    "F.pad(rl.ones(3), 'ab')": "pad(): argument 'pad' (position 2) must be tuple of ints, not str",
    "F.avg_pool2d(rl.ones(1, 1, 4, 4), ['a', 2])": "avg_pool2d(): argument 'kernel_size' (position 2) must be tuple of ints, but found element of type str at pos 0",
    "rl.topk(rl.ones(3), 'a')": "topk(): argument 'k' (position 2) must be int, not str",
    "rl.softmax(rl.ones(3), 'a')": "softmax(): argument 'dim' (position 2) must be int, not str",
    "rl.chunk(rl.ones(4), ARRAY)": "chunk(): argument 'chunks' (position 2) must be int, not numpy.ndarray",
    "rl.cholesky(rl.ones(2, 3), ARRAY)": "cholesky(): argument 'upper' (position 2) must be bool, not numpy.ndarray",
    "rl.reshape(rl.ones(4), ARRAY)": "reshape() received an invalid combination of arguments - got (Tensor, numpy.ndarray)",
    "rl.tensor_split(rl.ones(4), None)": "tensor_split() received an invalid combination of arguments - got (Tensor",
    "rl.full_like(rl.ones(2), None)": "full(): argument 'fill_value' (position 2) must be Number, not NoneType",
    "rl.ones(2).new_full((2,), None)": "full(): argument 'fill_value' (position 2) must be Number, not NoneType",
    "rl.ones(2).masked_fill(rl.ones(2) > 0, None)": "masked_fill() received an invalid combination of arguments - got (Tensor, NoneType)",
    "rl.meshgrid(ARRAY)": "expected Tensor as element 0 in argument 0, but got numpy.ndarray",
}


@pytest.mark.parametrize("text", SAID)
@pytest.mark.filterwarnings("ignore")
def test_the_error_names_the_argument_and_the_mend(text: str) -> None:
    with pytest.raises(TypeError) as error:
        eval(text)
    assert str(error.value).startswith(SAID[text])


def test_what_is_differentiated_must_be_tensors() -> None:
    y = (rl.ones(2, requires_grad=True) * 2).sum()
    for lib, out in ((rl, y), (torch, (torch.ones(2, requires_grad=True) * 2).sum())):
        with pytest.raises(AssertionError, match=r"Expected output to be a torch\.Tensor"):
            lib.autograd.backward([ARRAY])
        with pytest.raises(AssertionError, match=r"Expected output to be a torch\.Tensor"):
            lib.autograd.grad([1.5], [out])
        for inputs in ([None], ["a"]):
            with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges"):
                lib.autograd.grad(out, inputs)
            with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges"):
                lib.autograd.backward(out, inputs=inputs)


def test_operators_take_arrays_as_pytorchs_do() -> None:
    x = rl.ones(2, 3)
    assert (x + ARRAY).tolist() == (x - -ARRAY).tolist() == [[2.0] * 3] * 2
    assert (x == ARRAY).all()


def test_a_right_call_runs_the_same_instructions() -> None:
    """What was added lies behind the function's own code, which only an exception leaves for it."""

    def plain(input: Tensor) -> Any:
        return input._a

    before = plain.__code__
    plain.__annotations__["input"] = "Tensor"
    explain.explain_failures(plain, plain.__name__)
    after = plain.__code__
    assert after is not before and after.co_code.startswith(before.co_code)
    explain.explain_failures(plain, plain.__name__)
    assert plain.__code__ is after


def test_other_errors_keep_their_type_and_their_line() -> None:
    try:
        F.linear(rl.ones(2, 3), rl.ones(4, 5))
    except RuntimeError as error:
        frames = traceback.extract_tb(error.__traceback__)
        assert "core/explain.py" not in [f.filename.replace("\\", "/")[-15:] for f in frames]
        assert all(f.line for f in frames)
    else:
        pytest.fail("shapes that do not fit")


def _samples() -> list[types.FunctionType]:
    held = 3

    def catches(input: Tensor, how: str = "") -> Any:
        try:
            return held + input.missing
        except AttributeError:
            if how == "again":
                raise
            return "caught"
        finally:
            held_open.append(how)

    def opens(input: Tensor, *, close: Any) -> Any:
        with close:
            for n in range(3):
                if n == 2:
                    return input.missing, [n * held for n in range(3)]

    held_open: list[str] = []
    return [catches, opens]


Tensor = rl.Tensor


def test_what_a_function_catches_itself_stays_caught() -> None:
    catches, opens = _samples()
    for fn in (catches, opens):
        fn.__annotations__["input"] = "Tensor"
        explain.explain_failures(fn, fn.__name__)
    assert catches(3) == "caught"
    with pytest.raises(TypeError, match=r"catches\(\): argument 'input' \(position 1\)"):
        catches(3, "again")
    with pytest.raises(AttributeError):
        catches(rl.ones(1), "again")
    closed = []

    class Close:
        def __enter__(self) -> None: ...

        def __exit__(self, *error: Any) -> None:
            closed.append(error[0])

    with pytest.raises(TypeError, match=r"opens\(\): argument 'input'"):
        opens([1], close=Close())
    assert closed == [AttributeError]


def test_ctrl_c_is_not_explained_away() -> None:
    def waits(input: Any) -> None:
        raise KeyboardInterrupt

    waits.__annotations__["input"] = "Tensor"
    explain.explain_failures(waits, waits.__name__)
    with pytest.raises(KeyboardInterrupt):
        waits(1)


TRUE_FOR_A_NUMBER = """
x.tril(True)|x.topk(True)|x.kthvalue(True)|x.chunk(True)|x.split(True)|x.split([True, 3])|x.select(0, True)|x.narrow(0, True, 1)|x.narrow(0, 0, True)|x.diagonal(True)
x.diag(True)|x.diff(True)|x.unfold(0, True, 1)|x.roll(True)|x.rot90(True)|x.flip(True)|x.repeat(True, 1)|x.tile(True)|x.view(True, 16)|x.reshape((True, 16))
x.expand(True, 4, 4)|x.broadcast_to((True, 4, 4))|x.repeat_interleave(True)|x.unflatten(0, (True, 4))|x.as_strided((True,), (1,))|x.as_strided((2,), (1,), True)
x.tensor_split(True)|x.hsplit(True)|x.multinomial(True)|x.matrix_power(True)|x.cov(correction=True)|x.nonzero_static(size=True)|x.sum_to_size(True, 4)|x.histogram(True)
torch.linspace(0, 1, True)|torch.tril_indices(True, 2)|torch.fft.fftfreq(True)|torch.fft.fft(x, n=True)|torch.empty_strided((2,), (True,))|torch.slice_scatter(x, x[1:], 0, True)
F.pad(x, (True, 1))|F.max_pool2d(x[None], True)|F.avg_pool2d(x[None], 2, True)|F.adaptive_avg_pool2d(x[None], True)|F.unfold(x[None, None], True)|F.pixel_shuffle(x[None], True)
F.conv2d(x[None, None], x[None, None, :3, :3], stride=(True, 1))|F.conv2d(x[None, None], x[None, None, :2, :3], groups=True)|F.group_norm(x, True)|F.embedding(x.long(), x, True)
F.cross_entropy(x, x[0].long(), ignore_index=True)|F.channel_shuffle(x[None], True)|torch.linalg.tensorinv(x, ind=True)
torch.polygamma(True, x)|x.polygamma(True)|torch.mvlgamma(x + 3, True)|torch.special.multigammaln(x + 3, True)|x.round(decimals=True)|torch.slice_copy(x, True, 0, 3, 2)
torch.slice_copy(x, 1, True)|torch.slice_copy(x, 1, 0, True)|torch.slice_copy(x, 1, 0, 3, True)|x.var(True, False)|x.std(True, keepdim=not 0)|x.var(dim=True)|x.std(axis=True)|torch.var_mean(x, True, correction=0)|torch.std_mean(x, True, correction=0)
F.interpolate(x[None], True)|F.interpolate(x[None, None], (True, 3), mode="bilinear")|torch.gradient(x, edge_order=True)|torch.randint_like(x, True)|F.avg_pool2d(x[None], 2, divisor_override=True)
F.ctc_loss(x[:, None].log_softmax(-1), x[:1].long() + 1, (True,), (1,))|F.ctc_loss(x[:, None].log_softmax(-1), x[:1].long() + 1, (4,), (True,))|F.local_response_norm(x[None], True)
torch.convolution(x[None, None], x[None, None], None, (1, 1), (0, 0), (1, 1), False, (True, 0), 1)|torch.gru(x[None], x[None], [x.repeat(3, 1), x.repeat(3, 1)], False, True, 0.0, False, False, False)
torch.lstm(x[None], (x[None], x[None]), [x.repeat(4, 1), x.repeat(4, 1)], False, True, 0.0, False, False, False)|torch.rnn_relu(x[None], x[None], [x, x], False, True, 0.0, False, False, False)
""".replace("\n", "|").strip("|").split("|")  # fmt: skip


@pytest.mark.parametrize("text", TRUE_FOR_A_NUMBER)
def test_a_truth_value_is_no_whole_number(text):
    """PyTorch refuses True for an int; Python would compute with 1."""
    torch = pytest.importorskip("torch")
    for lib in (torch, rl):
        given = {"torch": lib, "F": lib.nn.functional, "x": lib.eye(4)}
        with pytest.raises(TypeError):
            eval(text, given)
        eval(text.replace("True", "1"), given)  # the number itself is taken


def test_other_kinds_of_numbers_are_refused_as_by_pytorch():
    for text in ("torch.isin(torch.arange(3), True)", "torch.isin(True, torch.arange(3))", "torch.isin(1j, torch.arange(3))",
                 "torch.cumulative_trapezoid(torch.ones(3), dx=True)", "torch.trapezoid(torch.ones(3), dx=1j)",
                 "torch.slice_copy(torch.ones(3, 2), 5)", "torch.slice_copy(torch.ones(3, 2), 0, 0, 2, 0)",
                 "torch.nn.functional.interpolate(torch.ones(1, 1, 4), 2.5)", "torch.nn.functional.interpolate(torch.ones(1, 1, 4), (2.5,))",
                 "torch.nn.functional.ctc_loss(torch.ones(4, 1, 3), torch.ones(1, 1).long(), (2.5,), (1,))",
                 "torch.nn.functional.ctc_loss(torch.ones(4, 1, 3), torch.ones(1, 1).long(), torch.tensor([2.5]), torch.tensor([1]))",
                 "torch.polygamma(1.5, torch.ones(3))", "torch.ones(3).mvlgamma(1.0)", "torch.ones(3).round(decimals=1.0)"):  # fmt: skip
        agree(text)


def test_whole_numbers_of_other_kinds_are_taken():
    x = rl.arange(12.0).reshape(3, 4)
    for one in (np.int64(1), rl.tensor(1)):
        assert x.tril(one).equal(x.tril(1)) and x.select(0, one).equal(x[1]) and x.narrow(0, one, one).equal(x[1:2])
        assert x.topk(one).values.equal(x.topk(1).values) and len(x.chunk(one)) == 1
        assert rl.nn.functional.max_pool2d(x[None], one).equal(x[None])
