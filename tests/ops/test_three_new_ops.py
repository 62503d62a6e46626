"""An op is one record: three new ones, each a source file and a row, reach every reader and touch nothing else.

The files are written here as somebody who adds ops would write them; a process of its own imports them as parts of
`rushlight.operators`, so that other tests never see them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAD = """
from rushlight.core.op import Op
from rushlight.core.public import public
from rushlight.operators.made_of.pointwise import same_meta, unary
from rushlight.runtime.facts import Facts, Rows
from optable import Row, T
"""
# name -> (the op, its row)
OPS = {
    # a pointwise one: vmap follows from that
    "cube": ("""
cube = unary("cube", lambda xp, x: x * x * x, dx=lambda g, x: g * 3 * x * x, doc="The third power.",
             facts=Facts(autocast="float32", aten=""))
""", 'Row("cube", T(3, 4))'),
    # one along a dim
    "reversed_along": ("""
_op = Op(lambda xp, x, *, dim: xp.flip(x, dim).copy(), "reversed_along", meta=lambda x, *, dim: (x.shape, x.dtype),
         facts=Facts(vmap="along", layout="plain", aten="flip"))
_op.derivative(x=lambda g, dim: _op(g, dim=dim))

@public("torch", "Tensor")
def reversed_along(input, dim):
    return _op(input, dim=dim % input.dim())
""", 'Row("reversed_along", T(3, 4), 1)'),
    # one that refuses positions that are no rows
    "rows_at": ("""
def _body(xp, x, at):
    if at.size and (int(at.min()) < 0 or int(at.max()) >= x.shape[0]):
        raise IndexError("no such row")
    return xp.take(x, at, axis=0)

_op = Op(_body, "rows_at", meta=lambda x, at: (at.shape + x.shape[1:], x.dtype), facts=Facts(positions=Rows()))
_op.derivative(x=lambda g, at, x_shape: g.new_zeros(x_shape).index_add(0, at, g))

@public("torch", "Tensor")
def rows_at(input, at):
    return _op(input, at)
""", 'Row("rows_at", T(3, 4), T(2, dtype="index:3"))'),
}  # fmt: skip
CHECKS = """
import importlib, sys
import rushlight as rl
import rushlight.operators
from optable import call
from rushlight._aten.names import shown_name
from rushlight.amp.lists import FLOAT32, POLICIES
from rushlight.capture.loops import fragile
from rushlight.runtime.batch.rules import rule_of
from rushlight.runtime.door import KERNELS

rushlight.operators.__path__.append(sys.argv[1])
for name in sys.argv[2:]:
    row = importlib.import_module(f"rushlight.operators.new_{name}").ROW
    rl.__dict__.setdefault(name, rl.core.public.NAMESPACES["torch"][name])
    arrays = row.arrays("float64")
    tensors = [rl.tensor(a, requires_grad=s.grad) for s, a in zip(row.specs(), arrays)]
    out = call(rl, row, tensors)
    assert rl.autograd.gradcheck(lambda x: call(rl, row, [x, *tensors[1:]]), tensors[:1])
    meta = call(rl, row, [t.detach().to("meta") for t in tensors])
    assert meta.shape == out.shape and meta.dtype == out.dtype
x = rl.arange(12.0).view(4, 3)
assert rule_of(KERNELS["cube"]).__name__ == "pointwise"
assert rl.vmap(rl.cube)(x).tolist() == (x**3).tolist()
assert POLICIES["cube"] == {"cpu": FLOAT32, "cuda": FLOAT32}
assert rl.vmap(lambda t: rl.reversed_along(t, 0))(x).tolist() == x.flip(1).tolist()
assert shown_name("reversed_along", {}) == "aten::flip"
assert shown_name("cube", {}) == "rushlight::cube"
kernel = KERNELS["rows_at"]
assert fragile.may_refuse(kernel, [], "cpu") and fragile.looked_at(kernel.facts) == (1,)
"""


def test_a_source_file_and_a_row_are_enough(tmp_path: Path) -> None:
    for name, (source, row) in OPS.items():
        (tmp_path / f"new_{name}.py").write_text(f"{HEAD}{source}\nROW = {row}\n")
    support = Path(__file__).parents[1] / "support"
    script = f"import sys; sys.path.insert(0, {str(support)!r})\n{CHECKS}"
    subprocess.run([sys.executable, "-c", script, str(tmp_path), *OPS], check=True)
