"""User-written functions side by side with PyTorch: contexts, saved tensors, marks and errors."""

from __future__ import annotations

import gc
import weakref

import pytest

import rushlight as rl
from test_autograd import said

HEAD = """
Function = torch.autograd.Function
from functools import partial
x = torch.tensor([0.5, 1.5, -2.0], requires_grad=True)
w = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
seen = []
"""


def define(forward: str, backward: str, extra: str = "", name: str = "Fn") -> str:
    lines = [f"class {name}(Function):", "    @staticmethod", f"    def forward{forward}"]
    lines += ["    @staticmethod", f"    def backward{backward}"]
    return HEAD + "\n".join(lines) + "\n" + extra + "\n"


EXP = define(
    "(ctx, a):\n        y = a.exp()\n        ctx.save_for_backward(y)\n        return y",
    "(ctx, g):\n        (y,) = ctx.saved_tensors\n        return g * y",
)
MUL = define(
    "(ctx, a, b):\n        ctx.save_for_backward(a, b)\n        return a * b",
    "(ctx, g):\n        a, b = ctx.saved_tensors\n        seen.append(ctx.needs_input_grad)\n        return g * b, g * a",
)
TWO = define(
    "(ctx, a):\n        ctx.save_for_backward(a)\n        return a * 2, a * a",
    "(ctx, g1, g2):\n        (a,) = ctx.saved_tensors\n        seen.append((g1, g2))\n        return g1 * 2 + g2 * 2 * a",
)
SETUP = HEAD + (
    "class Fn(Function):\n    @staticmethod\n    def forward(a, k):\n        return a * k\n"
    "    @staticmethod\n    def setup_context(ctx, inputs, output):\n        a, k = inputs\n        ctx.k = k\n"
    "        ctx.save_for_backward(a, output)\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return g * ctx.k, None\n"
)
ADD_ = define(
    "(ctx, a):\n        a.add_(1)\n        ctx.mark_dirty(a)\n        return a", "(ctx, g):\n        return g * 3"
)

CASES = {
    "exp": EXP + "y = Fn.apply(x)\ny.sum().backward()\nr = [y, x.grad]",
    "exp twice": EXP
    + "(g,) = torch.autograd.grad(Fn.apply(x).sum(), x, create_graph=True)\nr = [g, *torch.autograd.grad(g.sum(), x)]",
    "name": EXP + "r = [type(Fn.apply(x).grad_fn).__name__, Fn.apply(x).grad_fn.name()]",
    "no grad": EXP + "with torch.no_grad():\n    y = Fn.apply(x)\nr = [y.requires_grad, y]",
    "no input requires": EXP + "y = Fn.apply(torch.ones(2))\nr = [y.requires_grad, y.grad_fn]",
    "freed": EXP + "y = Fn.apply(x).sum()\ny.backward()\ny.backward()",
    "retained": EXP + "y = Fn.apply(x).sum()\ny.backward(retain_graph=True)\ny.backward()\nr = x.grad",
    "changed": EXP + "y = Fn.apply(x)\ny.add_(1)\ny.sum().backward()",
    "input changed": MUL + "a = x * 1\ny = Fn.apply(a, w)\na.add_(1)\ny.sum().backward()",
    "mul": MUL + "Fn.apply(x, w).sum().backward()\nr = [x.grad, w.grad, seen]",
    "needs": MUL + "Fn.apply(x, w.detach()).sum().backward()\nr = [x.grad, seen]",
    "needs none": MUL + "Fn.apply(x, torch.ones(3)).sum().backward()\nr = [x.grad, seen]",
    "mul to third": MUL
    + "y = Fn.apply(x, Fn.apply(x, x)).sum()\nr = []\nfor _ in range(3):\n    (g,) = torch.autograd.grad(y, x, create_graph=True)\n    r.append(g)\n    y = g.sum()",
    "two": TWO + "a, b = Fn.apply(x)\n(a + b).sum().backward()\nr = [x.grad, len(seen)]",
    "two, one used": TWO + "a, b = Fn.apply(x)\na.sum().backward()\nr = [x.grad, seen]",
    "two, other used": TWO + "a, b = Fn.apply(x)\nb.sum().backward()\nr = [x.grad, seen]",
    "two is a tuple": TWO + "r = [type(Fn.apply(x)).__name__, len(Fn.apply(x))]",
    "not made": define(
        "(ctx, a):\n        ctx.set_materialize_grads(False)\n        return a * 2, a * 3",
        "(ctx, g1, g2):\n        seen.append((g1 is None, g2 is None))\n        return g1 * 2",
        "a, b = Fn.apply(x)\na.sum().backward()\nr = [x.grad, seen]",
    ),
    "none gradient": define(
        "(ctx, a, b):\n        return a * b",
        "(ctx, g):\n        return g, None",
        "Fn.apply(x, w).sum().backward()\nr = [x.grad, w.grad]",
    ),
    "too few": define(
        "(ctx, a, b):\n        return a * b", "(ctx, g):\n        return g", "Fn.apply(x, w).sum().backward()"
    ),
    "too many": define(
        "(ctx, a):\n        return a * 2", "(ctx, g):\n        return g, g", "Fn.apply(x).sum().backward()"
    ),
    "too many but none": define(
        "(ctx, a):\n        return a * 2",
        "(ctx, g):\n        return g, None, None",
        "Fn.apply(x).sum().backward()\nr = x.grad",
    ),
    "wrong shape": define(
        "(ctx, a):\n        return a * 2", "(ctx, g):\n        return g[:2]", "Fn.apply(x).sum().backward()"
    ),
    "shape to be summed": define(
        "(ctx, a):\n        return a * 2",
        "(ctx, g):\n        return g.expand(2, 3)",
        "Fn.apply(x).sum().backward()\nr = x.grad",
    ),
    "wrong kind": define(
        "(ctx, a):\n        return a * 2", "(ctx, g):\n        return 'no'", "Fn.apply(x).sum().backward()"
    ),
    "another dtype": define(
        "(ctx, a):\n        return a * 2",
        "(ctx, g):\n        return g.double()",
        "Fn.apply(x).sum().backward()\nr = x.grad",
    ),
    "gradient for a number": define(
        "(ctx, a, k):\n        return a * k", "(ctx, g):\n        return g, g", "Fn.apply(x, 3.0).sum().backward()"
    ),
    "other arguments": define(
        "(ctx, a, k, flag, name):\n        ctx.k, ctx.name = k, name\n        return a * k",
        "(ctx, g):\n        seen.append((ctx.name, ctx.needs_input_grad))\n        return g * ctx.k, None, None, None",
        "Fn.apply(x, 3.0, True, 'mine').sum().backward()\nr = [x.grad, seen]",
    ),
    "setup": SETUP + "y = Fn.apply(x, 3.0)\ny.sum().backward()\nr = [y, x.grad]",
    "setup saved": SETUP + "y = Fn.apply(x, 3.0)\nr = [len(y.grad_fn.saved_tensors), y.grad_fn.saved_tensors[1]]",
    "dirty": ADD_ + "a = x * 1\nb = Fn.apply(a)\nb.sum().backward()\nr = [a is b, a, x.grad, a._version]",
    "dirty leaf": ADD_ + "Fn.apply(x)",
    "dirty not returned": define(
        "(ctx, a):\n        a.add_(1)\n        ctx.mark_dirty(a)\n        return a * 1",
        "(ctx, g):\n        return g",
        "Fn.apply(x * 1)",
    ),
    "dirty needed before": ADD_ + "a = x * 1\nb = a * a\nFn.apply(a)\nb.sum().backward()",
    "dirty used after": ADD_ + "a = x * 1\nFn.apply(a)\n(a * 2).sum().backward()\nr = x.grad",
    "not differentiable": define(
        "(ctx, a):\n        i = a.sign()\n        ctx.mark_non_differentiable(i)\n        return a * 2, i",
        "(ctx, g, gi):\n        seen.append(gi)\n        return g * 2",
        "a, i = Fn.apply(x)\nr = [i.requires_grad, a.requires_grad]\na.sum().backward()\nr += [x.grad, seen]",
    ),
    "integers out": define(
        "(ctx, a):\n        return a * 2, a.long()",
        "(ctx, g, gi):\n        return g * 2",
        "a, i = Fn.apply(x)\nr = [i.requires_grad]\na.sum().backward()\nr += [x.grad]",
    ),
    "input returned": define(
        "(ctx, a):\n        return a",
        "(ctx, g):\n        return g * 5",
        "y = Fn.apply(x)\ny.sum().backward()\nr = [y is x, x.grad, y.requires_grad]",
    ),
    "input returned, no grad": define(
        "(ctx, a):\n        return a",
        "(ctx, g):\n        return g * 5",
        "a = torch.ones(2)\ny = Fn.apply(a)\nr = [y is a]",
    ),
    "view returned": define(
        "(ctx, a):\n        return a.view(3, 1)",
        "(ctx, g):\n        return g.view(3) * 5",
        "y = Fn.apply(x)\ny.sum().backward()\nr = [x.grad, y]",
    ),
    "detached inside": define(
        "(ctx, a):\n        seen.append((a.requires_grad, torch.is_grad_enabled()))\n        return a * 2",
        "(ctx, g):\n        seen.append((g.requires_grad, torch.is_grad_enabled()))\n        return g * 2",
        "Fn.apply(x).sum().backward()\nFn.apply(x).sum().backward(create_graph=True)\nr = seen",
    ),
    "once": HEAD
    + "from importlib import import_module\nonce = import_module(torch.__name__ + '.autograd.function').once_differentiable\n"
    + "class Fn(Function):\n    @staticmethod\n    def forward(ctx, a):\n        ctx.save_for_backward(a)\n        return a * a\n"
    + "    @staticmethod\n    @once\n    def backward(ctx, g):\n        seen.append(torch.is_grad_enabled())\n        return g * 2 * ctx.saved_tensors[0]\n"
    + "Fn.apply(x).sum().backward()\nr = [x.grad, seen]",
    "once twice": HEAD
    + "from importlib import import_module\nonce = import_module(torch.__name__ + '.autograd.function').once_differentiable\n"
    + "class Fn(Function):\n    @staticmethod\n    def forward(ctx, a):\n        ctx.save_for_backward(a)\n        return a * a\n"
    + "    @staticmethod\n    @once\n    def backward(ctx, g):\n        return g * 2 * ctx.saved_tensors[0]\n"
    + "(g,) = torch.autograd.grad(Fn.apply(x).sum(), x, create_graph=True)\ng.sum().backward()",
    "no forward": HEAD + "class Fn(Function):\n    pass\nFn.apply(x)",
    "no backward": HEAD
    + "class Fn(Function):\n    @staticmethod\n    def forward(ctx, a):\n        return a * 2\nFn.apply(x).sum().backward()",
    "called": EXP + "Fn()(x)",
    "save a number": define(
        "(ctx, a):\n        ctx.save_for_backward(3)\n        return a * 2",
        "(ctx, g):\n        return g",
        "Fn.apply(x)",
    ),
    "save none": define(
        "(ctx, a):\n        ctx.save_for_backward(a, None)\n        return a * 2",
        "(ctx, g):\n        seen.append(ctx.saved_tensors[1])\n        return g",
        "Fn.apply(x).sum().backward()\nr = seen",
    ),
    "save twice": define(
        "(ctx, a):\n        ctx.save_for_backward(a)\n        ctx.save_for_backward(a * 2)\n        return a * 2",
        "(ctx, g):\n        return g * ctx.saved_tensors[0]",
        "Fn.apply(x).sum().backward()\nr = x.grad",
    ),
    "save inside": define(
        "(ctx, a):\n        ctx.save_for_backward(a.exp())\n        return a * 2",
        "(ctx, g):\n        return g * ctx.saved_tensors[0]",
        "Fn.apply(x).sum().backward()\nr = x.grad",
    ),
    "error in backward": define(
        "(ctx, a):\n        return a * 2", "(ctx, g):\n        raise KeyError('mine')", "Fn.apply(x).sum().backward()"
    ),
    "error in forward": define(
        "(ctx, a):\n        raise KeyError('mine')", "(ctx, g):\n        return g", "Fn.apply(x)"
    ),
    "no output tensor": define("(ctx, a):\n        return 3", "(ctx, g):\n        return g", "r = Fn.apply(x)"),
    "mixed outputs": define(
        "(ctx, a):\n        return a * 2, 'mine', None",
        "(ctx, g, s, n):\n        seen.append((s, n))\n        return g",
        "a, s, n = Fn.apply(x)\na.sum().backward()\nr = [s, n, seen, x.grad]",
    ),
    "keyword": EXP + "Fn.apply(a=x)",
    "tensors by keyword": MUL + "Fn.apply(b=w, a=x).sum().backward()\nr = [x.grad, w.grad, seen]",
    "gradients in a list": TWO.replace("(ctx, g1, g2):", "(ctx, gs):\n        g1, g2 = gs").replace(
        "    @staticmethod\n    def forward", "    boxed_grads_call = True\n    @staticmethod\n    def forward", 1
    )
    + "a, b = Fn.apply(x)\n(a + b).sum().backward()\nr = x.grad",
    "backward and vjp": EXP + "Fn.vjp = staticmethod(lambda ctx, g: g)\nFn.apply(x).sum().backward()",
    "dirty that is no input": define(
        "(ctx, a):\n        y = a.clone()[1:]\n        ctx.mark_dirty(y)\n        return y",
        "(ctx, g):\n        return g",
        "Fn.apply(x)",
    ),
    "dirty view of several": define(
        "(ctx, a):\n        ctx.mark_dirty(a.mul_(2))\n        return a, a * 2",
        "(ctx, g, h):\n        return g",
        "Fn.apply((x * 1)[1:])",
    ),
    "dirty view of a leaf": define(
        "(ctx, a):\n        ctx.mark_dirty(a.mul_(2))\n        return a",
        "(ctx, g):\n        return g",
        "Fn.apply(x[1:])",
    ),
    "dirty part": define(
        "(ctx, a):\n        ctx.mark_dirty(a.mul_(2))\n        return a",
        "(ctx, g):\n        return g",
        "Fn.apply((x * 1).unbind()[1])",
    ),
    "as it is": define(
        "(ctx, a):\n        return a", "(ctx, g):\n        return g", "y = Fn.apply(x)\nr = [y is x, y._base is x]"
    ),
    "lists are not looked into": define(
        "(ctx, ts):\n        return ts[0] * 2", "(ctx, g):\n        return None", "r = Fn.apply([x]).requires_grad"
    ),
    "straight through": define(
        "(ctx, a):\n        return (a > 0).float()",
        "(ctx, g):\n        return g.clamp(-1, 1)",
        "(Fn.apply(x) * w).sum().backward()\nr = [x.grad, w.grad]",
    ),
    "in a module": define(
        "(ctx, a, b):\n        ctx.save_for_backward(a, b)\n        return a @ b.t()",
        "(ctx, g):\n        a, b = ctx.saved_tensors\n        return g @ b, g.t() @ a",
        "class Lin(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = nn.Parameter(torch.ones(2, 3))\n"
        "    def forward(self, a):\n        return Fn.apply(a, self.w)\nm = Lin()\nm(x.reshape(1, 3)).sum().backward()\nr = [m.w.grad, x.grad]",
    ),
    "subclass": EXP
    + "class Two(Fn):\n    pass\nTwo.apply(x).sum().backward()\nr = [x.grad, Two.apply(x).grad_fn.name()]",
    "hook on node": EXP
    + "y = Fn.apply(x)\ny.grad_fn.register_hook(lambda gi, go: (gi[0] * 2,))\ny.sum().backward()\nr = x.grad",
    "vjp by name": HEAD
    + "class Fn(Function):\n    @staticmethod\n    def forward(ctx, a):\n        return a * 2\n    @staticmethod\n    def vjp(ctx, g):\n        return g * 2\nFn.apply(x).sum().backward()\nr = x.grad",
    "attributes on node": EXP.replace("ctx.save_for_backward(y)", "ctx.save_for_backward(y)\n        ctx.note = 7")
    + "r = Fn.apply(x).grad_fn.note",
}


@pytest.mark.parametrize("name", CASES)
def test_function(name: str) -> None:
    said(CASES[name])


def test_saved_tensors_close_no_cycle() -> None:
    """What is saved, input or output, dies with the result."""

    class Exp(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[1]

    gc.collect()
    gc.disable()
    try:
        x = rl.ones(3, requires_grad=True)
        y = Exp.apply(x * 2)
        gone = weakref.ref(y._a)
        del y
        assert gone() is None
    finally:
        gc.enable()


def test_the_saved_input_of_a_leaf_is_the_leaf() -> None:
    class Keep(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = rl.ones(3, requires_grad=True)
    assert Keep.apply(x).grad_fn.saved_tensors[0] is x


def test_a_node_of_a_users_function_prints_where_it_is_from() -> None:
    torch = pytest.importorskip("torch")

    def story(lib):
        class Twice(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        y = Twice.apply(lib.ones(1, requires_grad=True))
        return repr(y.grad_fn).partition(" at ")[0].replace("rushlight.", "torch."), repr(y)

    assert story(rl) == story(torch)
