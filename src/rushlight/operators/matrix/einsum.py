"""Sums of products written with indices: einsum, contracted pair by pair into matrix products."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from ...core.explain import kind_of
from ...core.public import public
from ...core.tensor import Tensor
from .matmul import matmul

# A label is a letter, or a negative int for a dim under the ellipsis, counted from the right.
Label = Any
Labels = list[Label]


@public("torch")
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums of products, written with one letter per dimension.

    A letter that is not behind the arrow is summed over; `...` stands for any further
    dimensions.

    Args:
        equation: such as "ij,jk->ik"; without an arrow, the letters that occur once, in the
            order of the alphabet.
        operands: one tensor for each group of letters. Tensors and lists of dimension numbers
            in turn are taken too.

    Raises:
        RuntimeError: if the sizes of a letter differ, or the letters do not fit.

    Example:
        >>> a = torch.tensor([[1, 2], [3, 4]])
        >>> torch.einsum("ij,j->i", a, torch.tensor([1, 10]))
        tensor([21, 43])
        >>> torch.einsum("ii->", a)
        tensor(5)
    """
    if not isinstance(equation, str):
        equation, operands = _from_sublists((equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    try:
        dims = [t._a.ndim for t in operands]
    except AttributeError:
        at = next(i for i, t in enumerate(operands) if not isinstance(t, Tensor))
        kind = kind_of(operands[at])
        raise TypeError(f"expected Tensor as element {at} in argument 1, but got {kind}") from None
    if len(operands) == 2:
        plan = _plan(equation, operands[0]._a.shape, operands[1]._a.shape)
        if plan is not None:
            return plan.follow(*operands)
    terms, target = _parse(equation, tuple(dims))
    parts = [_distinct(t, labels) for t, labels in zip(operands, terms)]
    _check_sizes(operands, terms)
    out, labels = parts[0]
    for i, (other, other_labels) in enumerate(parts[1:], start=1):
        later = set(target).union(*[set(p[1]) for p in parts[i + 1 :]])
        out, labels = _contract(out, labels, other, other_labels, later)
    return _finish(out, labels, target)


# -- two operands -------------------------------------------------------------------------------


class _Plan(NamedTuple):
    """How two operands are contracted: None where one already lies as it is needed."""

    left: tuple[int, ...] | None
    left_shape: tuple[int, ...] | None
    right: tuple[int, ...] | None
    right_shape: tuple[int, ...] | None
    summed: bool
    shape: tuple[int, ...] | None
    order: tuple[int, ...] | None

    def follow(self, a: Tensor, b: Tensor) -> Tensor:
        a = a if self.left is None else a.permute(self.left)
        b = b if self.right is None else b.permute(self.right)
        a = a if self.left_shape is None else a.reshape(self.left_shape)
        b = b if self.right_shape is None else b.reshape(self.right_shape)
        out = matmul(a, b) if self.summed else a * b
        out = out if self.shape is None else out.reshape(self.shape)
        return out if self.order is None else out.permute(self.order)


@lru_cache(maxsize=256)
def _plan(equation: str, a: tuple[int, ...], b: tuple[int, ...]) -> _Plan | None:
    """The plan of an equation of two operands; None where a label is summed in one alone, repeated, or broadcasts."""
    (la, lb), target = _parse(equation, (len(a), len(b)))
    size = {**dict(zip(lb, b)), **dict(zip(la, a))}
    if len(set(la)) < len(la) or len(set(lb)) < len(lb):
        return None
    if any(size[x] != n for labels, shape in ((la, a), (lb, b)) for x, n in zip(labels, shape)):
        return None
    shared = [x for x in la if x in lb]
    if not la or not lb or any(x not in shared and x not in target for x in (*la, *lb)):
        return None
    batch, summed = [x for x in shared if x in target], [x for x in shared if x not in target]
    rows, columns = [x for x in la if x not in shared], [x for x in lb if x not in shared]
    lead, m, n = [size[x] for x in batch], [size[x] for x in rows], [size[x] for x in columns]
    k = prod([size[x] for x in summed])
    left, right = batch + rows + summed, batch + summed + columns
    out, shape, final = batch + rows + columns, (*lead, *m, *n), (*lead, prod(m), prod(n))
    to_left, to_right = (*lead, prod(m), k), (*lead, k, prod(n))
    return _Plan(
        _order(la, left), _unless(to_left, tuple([size[x] for x in left])),
        _order(lb, right), _unless(to_right, tuple([size[x] for x in right])),
        k != 1, _unless(shape, final), _order(out, target),
    )  # fmt: skip


def _order(labels: Labels, wanted: Labels) -> tuple[int, ...] | None:
    return None if labels == wanted else tuple([labels.index(x) for x in wanted])


def _unless(shape: tuple[int, ...], same: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if shape == same else shape


# -- reading the equation -----------------------------------------------------------------------


def _from_sublists(args: tuple) -> tuple[str, tuple]:
    """`(a, [0, 1], b, [1, 2], [0, 2])` as an equation."""
    pairs, rest = args[: len(args) // 2 * 2], args[len(args) // 2 * 2 :]
    operands = pairs[::2]
    terms = [_spell(s) for s in pairs[1::2]]
    equation = ",".join(terms)
    return (equation + "->" + _spell(rest[0]) if rest else equation), operands


def _spell(sublist: Any) -> str:
    letters = []
    for s in sublist:
        if s is Ellipsis:
            letters.append("...")
        elif not 0 <= s < 52:
            raise ValueError(f"einsum(): expected subscripts in [0, 52), but got {s}")
        else:
            letters.append(chr(ord("A") + s) if s < 26 else chr(ord("a") + s - 26))
    return "".join(letters)


def _letters(term: str, where: str) -> Labels:
    """The labels of one term; the ellipsis stays as "..."."""
    out: Labels = []
    i = 0
    while i < len(term):
        c = term[i]
        if c == ".":
            if term[i : i + 3] != "...":
                raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis")
            if "..." in out:
                raise RuntimeError(f"einsum(): found '.' for {where} for which an ellipsis was already found")
            out.append("...")
            i += 3
            continue
        if not (c.isascii() and c.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]"
            )
        out.append(c)
        i += 1
    return out


@lru_cache(maxsize=256)
def _parse(equation: str, ndims: tuple[int, ...]) -> tuple[list[Labels], Labels]:
    """The labels of each operand and of the result, which nobody changes."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) < len(ndims):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    if len(terms) > len(ndims):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    parsed = [_with_ellipsis(_letters(t, f"operand {i}"), n, i) for i, (t, n) in enumerate(zip(terms, ndims))]
    widest = sorted({x for labels in parsed for x in labels if isinstance(x, int)})
    if not arrow:
        every = [x for labels in parsed for x in labels if isinstance(x, str)]
        return parsed, widest + sorted(x for x in set(every) if every.count(x) == 1)
    target: Labels = []
    for x in _letters(right, "the output"):
        if x == "...":
            target += widest
        elif x in target:
            raise RuntimeError(f"einsum(): output subscript {x} appears more than once in the output")
        elif not any(x in labels for labels in parsed):
            raise RuntimeError(f"einsum(): output subscript {x} does not appear in the equation for any input operand")
        else:
            target.append(x)
    return parsed, target


def _with_ellipsis(labels: Labels, ndim: int, number: int) -> Labels:
    named = sum(1 for x in labels if x != "...")
    if "..." not in labels:
        if named != ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the "
                f"number of dimensions ({ndim}) for operand {number} and no ellipsis was given"
            )
        return labels
    if named > ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) is more than the number "
            f"of dimensions ({ndim}) for operand {number}"
        )
    at = labels.index("...")
    return labels[:at] + list(range(named - ndim, 0)) + labels[at + 1 :]


def _check_sizes(operands: tuple, terms: list[Labels]) -> None:
    seen: dict[Label, int] = {}
    for i, (t, labels) in enumerate(zip(operands, terms)):
        for x, size in zip(labels, t._a.shape):
            before = seen.get(x, 1)
            if before != size and before != 1 and size != 1:
                raise RuntimeError(
                    f"einsum(): subscript {x} has size {size} for operand {i} which does not "
                    f"broadcast with previously seen size {before}"
                )
            seen[x] = max(before, size) if size else size


# -- contracting --------------------------------------------------------------------------------


def _distinct(t: Tensor, labels: Labels) -> tuple[Tensor, Labels]:
    """Take the diagonal for a label that one operand has twice."""
    labels = list(labels)
    for x in set(labels):
        while labels.count(x) > 1:
            i = labels.index(x)
            j = labels.index(x, i + 1)
            if t._a.shape[i] != t._a.shape[j]:
                raise RuntimeError(
                    f"einsum(): subscript {x} is repeated for operand but the sizes don't match, "
                    f"{t._a.shape[j]} != {t._a.shape[i]}"
                )
            t = t.diagonal(0, i, j)
            labels = [y for k, y in enumerate(labels) if k not in (i, j)] + [x]
    return t, labels


def _sum_out(t: Tensor, labels: Labels, keep: Any) -> tuple[Tensor, Labels]:
    gone = tuple([i for i, x in enumerate(labels) if x not in keep])
    return (t.sum(gone), [x for x in labels if x in keep]) if gone else (t, labels)


def _drop_ones(t: Tensor, labels: Labels, sizes: dict[Label, int]) -> tuple[Tensor, Labels]:
    """Without the dims of size 1 that the other operand has larger: it broadcasts along them."""
    gone = tuple([i for i, x in enumerate(labels) if t._a.shape[i] == 1 and sizes.get(x, 1) != 1])
    return (t.squeeze(gone), [x for i, x in enumerate(labels) if i not in gone]) if gone else (t, labels)


def _contract(a: Tensor, la: Labels, b: Tensor, lb: Labels, later: set) -> tuple[Tensor, Labels]:
    sizes_a, sizes_b = dict(zip(la, a._a.shape)), dict(zip(lb, b._a.shape))
    a, la = _drop_ones(a, la, sizes_b)
    b, lb = _drop_ones(b, lb, sizes_a)
    a, la = _sum_out(a, la, later.union(lb))
    b, lb = _sum_out(b, lb, later.union(la))
    shared = [x for x in la if x in lb]
    batch = [x for x in shared if x in later]
    summed = [x for x in shared if x not in later]
    rows = [x for x in la if x not in shared]
    columns = [x for x in lb if x not in shared]
    size = {**dict(zip(lb, b._a.shape)), **dict(zip(la, a._a.shape))}
    lead, m, n = [size[x] for x in batch], [size[x] for x in rows], [size[x] for x in columns]
    k = prod([size[x] for x in summed])
    left = a.permute([la.index(x) for x in batch + rows + summed]) if la else a
    right = b.permute([lb.index(x) for x in batch + summed + columns]) if lb else b
    if summed:
        left, right = left.reshape((*lead, prod(m), k)), right.reshape((*lead, k, prod(n)))
        product = matmul(left, right)
    else:
        product = left.reshape((*lead, prod(m), 1)) * right.reshape((*lead, 1, prod(n)))
    return product.reshape((*lead, *m, *n)), batch + rows + columns


def _finish(t: Tensor, labels: Labels, target: Labels) -> Tensor:
    t, labels = _sum_out(t, labels, set(target))
    order = [labels.index(x) for x in target]
    return t if order == list(range(len(order))) else t.permute(order)
