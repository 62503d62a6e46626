"""Some 500 scenes around compiled functions, of kinds that once gave other results than eager calls."""

from __future__ import annotations

import pytest

import compile_scenes_arguments  # noqa: F401 - adds its scenes
import compile_scenes_classes  # noqa: F401 - adds its scenes
import compile_scenes_names  # noqa: F401 - adds its scenes
import compile_scenes_patched  # noqa: F401 - adds its scenes
import compile_scenes_reads  # noqa: F401 - adds its scenes
import compile_scenes_results  # noqa: F401 - adds its scenes
import compile_scenes_training  # noqa: F401 - adds its scenes
import compile_scenes_world  # noqa: F401 - adds its scenes
import rushlight as torch
from compile_scenes import SCENES, run


@pytest.mark.parametrize("name", SCENES)
def test_compiled_tells_the_same(name):
    make = SCENES[name]
    expected = run(make, lambda fn: fn)
    for i, (a, b) in enumerate(zip(expected, run(make, torch.compile), strict=True)):
        assert a == b, f"step {i} of {name}"


def test_numbers_that_are_only_handed_back_are_replayed():
    """Returned, in tuples and dicts, by way of variables, helpers and `with`: no code looks at them."""

    def helper(x):
        return x.sum().item()

    def blocks(x):
        loss = x.mean().item()
        with torch.no_grad():
            return {"loss": loss, "n": (x > 0).sum().item()}, [helper(x)], x * 2

    step = torch.compile(blocks)
    for i in range(6):
        x = torch.arange(6.0) + i
        found, (total,), y = step(x)
        assert found == {"loss": 2.5 + i, "n": 5 + (i > 0)} and total == 15 + 6 * i
        assert type(found["n"]) is int and type(total) is float and torch.equal(y, x * 2)
    assert step.why() is None and step.replays[0].runs >= 3


def test_views_of_what_the_caller_has_are_replayed():
    """A result that is a view of an argument, of a parameter, of another result knows of both sides' writes."""
    w = torch.ones(2, 3)
    step = torch.compile(lambda x: (x.view(-1), w[0], (y := x * 2), y[1]))
    for i in range(6):
        x = torch.arange(6.0).reshape(2, 3).clone()
        flat, row, y, part = step(x)
        flat[0], row[0], part[0] = 9, i, 7
        assert x[0, 0] == 9 and w[0, 0] == i and y[1, 0] == 7
        assert flat._base is x and row._base is w and part._base is y and x._version == 1
    assert step.why() is None and step.replays[0].runs >= 3


def test_gradients_made_while_an_earlier_result_waits_for_its_backward():
    """Fuzz seed 39: the second of two programs at work left the first one's gradients."""

    def make():
        torch.manual_seed(0)
        net, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 2)

        def step(x):
            net.zero_grad()
            (net(x) ** 2).sum().backward()
            return head(x)

        return net, step

    (a, plain), (b, step) = make(), make()
    step, kept = torch.compile(step), []
    for i in range(7):
        x = torch.arange(6.0).reshape(2, 3) + i
        kept = [*kept[-2:], plain(x), step(x)]
        assert torch.equal(a.weight.grad, b.weight.grad) and torch.equal(a.bias.grad, b.bias.grad)
    assert len(step.replays[0].pool) > 1


def test_containers_with_classes_of_their_own_come_back():
    class Out(dict):
        pass

    def fn(x):
        out = Out(a=x * 2)
        out.name = "two"
        return out

    step = torch.compile(fn)
    for i in range(6):
        out = step(torch.ones(2) * i)
        assert type(out) is Out and out.name == "two" and out["a"].tolist() == [2.0 * i] * 2
    assert step.replays


def test_containers_with_fields_of_their_own_are_not_made_again() -> None:
    """A defaultdict's factory, and that of a class of the user's, lie beside the items."""
    import collections

    class Counted(collections.defaultdict):
        pass

    class Plain(collections.Counter):
        pass

    from rushlight.capture.state.tree import _parts

    assert _parts(collections.defaultdict(int, a=1)) is None and _parts(Counted(int, a=1)) is None
    assert _parts(Plain(a=1)) == [("a", 1)] and _parts(collections.OrderedDict(a=1)) == [("a", 1)]
