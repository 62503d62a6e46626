"""The matcher: what it finds, and what it refuses because somebody could tell."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight.capture.passes.sequences import join_lookups
from rushlight.capture.passes.tidy import drop_dead
from rushlight.capture.program.index import Index
from rushlight.capture.program.match import first, joined, maker, reader, rewrite, rule
from rushlight.runtime.door import KERNELS, Kernel
from test_capture_passes import X, Y, check, names, record


@pytest.fixture(scope="module", autouse=True)
def kernel():
    """A kernel that computes exp(a * b)."""
    made = Kernel("times_exp", lambda xp, a, b: xp.exp(a * b))
    yield made
    del KERNELS["times_exp"]


def rules(place=None):
    kernel = KERNELS["times_exp"]

    @rule(kernel, times=first("mul"), exp=reader("exp", of="times"))
    def times_exp(m):
        made = joined(kernel, m.times.inputs, {}, m.exp.outputs)
        return made if place is None else {place: made}

    return [times_exp]


def tried(fn, *args, place=None):
    """The program after the rule, which computes the same as the function."""
    program = rewrite(drop_dead(record(fn, *args)), rules(place), force=True)
    check(fn, program, *[torch.randn(*a.shape) for a in args], rtol=1e-6)
    return names(program)


def test_a_chain_is_replaced():
    assert tried(lambda x: (x * 2).exp() + 1, X) == ["times_exp", "add"]


def test_every_chain_is():
    assert tried(lambda x: (x * 2).exp() + (x * 3).exp(), X) == ["times_exp", "times_exp", "add"]


def _second_reader(x):
    y = x * 2
    return y.exp() + y


def _result(x):
    y = x * 2
    return y.exp(), y


def _view(x):
    y = x * 2
    return y.exp() + y.t().reshape(3, 4)


def _view_that_is_a_result(x):
    y = x * 2
    return y.exp(), y[0]


def _written_in_between(x):
    y = x * 2
    y.add_(1)
    return y.exp()


def _operand_written_before_the_first_and_the_second(x):
    z = x + 1
    y = z * 2
    z.mul_(0)
    w = y.exp()
    return w + z


REFUSED = {
    f.__name__.strip("_"): f for f in (_second_reader, _result, _view, _view_that_is_a_result, _written_in_between)
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_somebody_else_sees_stays(name):
    assert "times_exp" not in tried(REFUSED[name], X)


def test_an_operand_may_change_behind_the_place_that_reads_it():
    fn = _operand_written_before_the_first_and_the_second
    assert "times_exp" in tried(fn, X)  # at the place of the product
    assert "times_exp" not in tried(fn, X, place="exp")


def test_a_value_may_be_read_before_its_new_place_only():
    def fn(x):
        a = x * 2
        w = a.exp()
        b = w + 1
        return b

    assert tried(fn, X, place="times") == ["times_exp", "add"]


def test_views_that_lead_to_the_parts_alone_go_with_them():
    kernel = KERNELS["times_exp"]

    @rule(kernel, times=first("mul"), exp=reader("exp", of="times", whole_views=True))
    def through(m):
        a, b = m.times.inputs
        if m.exp.outputs[0].shape != a.shape:
            return None
        return joined(kernel, (a, b), {}, m.exp.outputs)

    def fn(x):
        return (x * 2).view(4, 3).view(3, 4).exp()

    program = rewrite(record(fn, X), [through], force=True)
    assert names(program) == ["times_exp"]
    check(fn, program, Y, rtol=1e-6)


def test_a_joined_kernel_reads_no_view_of_what_is_not_made_any_more():
    """The other operand may be a view of the value that goes: the rows of an embedding added to their transpose."""
    kernel = KERNELS["times_exp"]

    @rule(kernel, exp=first("exp"), times=reader("mul", of="exp"))
    def beside(m):
        return joined(kernel, (m.times.inputs[1], 1.0), {}, m.times.outputs)

    def fn(x):
        y = x.exp()
        return y * y.t()

    program = record(fn, torch.randn(3, 3))
    assert names(rewrite(program, [beside], force=True)) == ["exp", "t", "mul"]

    table, chosen = torch.randn(6, 4), torch.tensor([1, 3, 0, 5])

    def rows(i):
        found = torch.nn.functional.embedding(i, table)
        return found + found.t()

    program = join_lookups(record(rows, chosen), force=True)
    assert "embedding_add" not in names(program)
    check(rows, program, chosen.flip(0))


def test_makers_are_found_behind_views():
    kernel = KERNELS["times_exp"]
    seen = []

    @rule(kernel, exp=first("exp"), times=maker("mul", of="exp<0", stays=True))
    def behind(m):
        seen.append(m.times.name)

    rewrite(record(lambda x: (x * 2)[1:].exp(), X), [behind], force=True)
    assert seen == ["mul"]


def test_missing_parts_are_tried_last():
    kernel = KERNELS["times_exp"]
    seen = []

    @rule(kernel, times=first("mul"), exp=reader("exp", of="times", optional=True),
          log=reader("log", of=("exp", "times"), maybe=True))  # fmt: skip
    def parts(m):
        seen.append((m.exp is not None, m.log is not None))

    rewrite(record(lambda x: (x * 2).exp().log() + x, X), [parts], force=True)
    assert seen == [(True, True), (False, False)]


def test_random_numbers_are_not_drawn_twice_or_left_out():
    kernel = KERNELS["times_exp"]

    @rule(kernel, drop=first("dropout"), times=reader("mul", of="drop"))
    def without(m):
        return joined(kernel, (m.times.inputs[0], 1.0), {}, m.times.outputs)

    program = record(lambda x: torch.nn.functional.dropout(x, 0.5) * 2, X)
    assert rewrite(program, [without], force=True) is program


def test_the_index_is_kept_while_instructions_change():
    def fn(x):
        return ((x * 2).exp() * 3).exp() + ((x * 4).exp() * 5).exp()

    program = drop_dead(record(fn, X))
    index = Index(program)
    for ins in list(index.code):
        if ins is not None and ins.name == "mul" and ins in index.place:
            exp = next(index.readers(ins.outputs[0]))
            made = joined(KERNELS["times_exp"], ins.inputs, {}, exp.outputs)
            assert index.replace([ins, exp], {index.place[ins]: made})
    again = Index(index.program_now())
    assert names(again.program) == ["times_exp"] * 4 + ["add"]
    order = {ins: k for k, ins in enumerate(i for i in index.code if i is not None)}
    for table in ("reads", "writes"):
        mine, fresh = getattr(index, table), getattr(again, table)
        moved = {n: {order[index.code[at]] for at in places} for n, places in mine.items() if places}
        assert moved == {n: places for n, places in fresh.items() if places}
    check(fn, again.program, Y / 8, rtol=1e-5)  # so that exponents of exponents stay small


def test_an_index_of_another_program_is_not_taken():
    program = record(lambda x: (x * 2).exp() + (x * 3).exp(), X)
    rewrite(program, [], force=True)
    first_time = rewrite(program, rules(), force=True)
    again = rewrite(program, rules(), force=True)
    assert names(first_time) == names(again) == ["times_exp", "times_exp", "add"]
    assert Index.known(program) is None and Index.known(again) is not None


def test_what_crosses_from_a_call_to_its_backward_is_not_read_again():
    """Between the two the caller may change a parameter."""
    w = torch.randn(4, requires_grad=True)
    program = record(lambda x: (x * w).exp(), X)
    if program.hand_over is None:
        pytest.skip("this recording has no second half")
    kernel = KERNELS["times_exp"]
    backward = {ins.name for ins in program.instructions[program.hand_over :]}

    @rule(kernel, times=first("mul"), exp=reader("exp", of="times", stays=True), slope=reader("mul", of="exp"))
    def again(m):
        made = joined(kernel, m.times.inputs, {}, m.slope.outputs)
        return {"slope": made}

    assert "mul" in backward
    assert "times_exp" not in names(rewrite(program, [again], force=True))


def test_values_are_near_where_they_are_numbers():
    from rushlight.capture.joined.proof import are_near, differ_little

    a = np.array([1.0, np.inf, -np.inf, np.nan, 0.0], np.float32)
    same, wrong = a.copy(), np.array([1.0, np.inf, np.inf, np.nan, 0.0], np.float32)
    for near in (lambda x, y: are_near(np, x, y, 1e-3, lambda v: v), lambda x, y: differ_little(x, y, 1e-3)):
        assert near(a, same)
        assert not near(a, wrong) and not near(np.nan_to_num(a), a)
        assert not near(a + np.float32([1, 0, 0, 0, 0]), a)
