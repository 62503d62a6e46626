"""The autograd engine side by side with PyTorch: passes, graphs, modes, hooks and their errors."""

from __future__ import annotations

import warnings

import pytest

import rushlight as rl
from side_by_side import agree

X = "x = torch.tensor([0.5, 1.5, -2.0], requires_grad=True)\n"


def said(source: str) -> None:
    """The same result, or the same kind of error with the same opening words."""
    torch = pytest.importorskip("torch")
    outcomes = []
    for lib in (torch, rl):
        lib.manual_seed(0)
        space = {"torch": lib, "nn": lib.nn, "F": lib.nn.functional}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(source, space)
            outcomes.append(("fine", space.get("r")))
        except Exception as error:
            outcomes.append((type(error).__name__, str(error)))
    (kind, words), (our_kind, our_words) = outcomes
    if kind == "fine" and our_kind == "fine":
        agree(source)
        return
    assert our_kind == kind, f"{outcomes[1]} is not PyTorch's {outcomes[0]}"
    start = " ".join(words.split()[:6]).replace("torch.", "rushlight.")
    assert our_words.startswith(start), f"{our_words!r} does not begin as PyTorch's {words!r}"


# -- backward and grad -----------------------------------------------------------------------------

PASSES = {
    "sum": "(x * x).sum().backward()\nr = x.grad",
    "seed": "(x * x).backward(torch.tensor([1.0, 2.0, 3.0]))\nr = x.grad",
    "twice": "(x * x).sum().backward()\n(x * 3).sum().backward()\nr = x.grad",
    "grad": "r = torch.autograd.grad((x ** 3).sum(), x)",
    "grad of two": "y = x * 2\nr = torch.autograd.grad((x * y).sum(), [x, y])",
    "grad leaves alone": "torch.autograd.grad((x * x).sum(), x)\nr = x.grad",
    "several outputs": "r = torch.autograd.grad([(x * x).sum(), x.sum()], x)",
    "several seeds": "r = torch.autograd.grad([x * x, x], x, [torch.ones(3), torch.ones(3) * 2])",
    "a seed is none": "r = torch.autograd.grad([(x * x).sum(), x], x, [None, torch.ones(3)])",
    "backward of list": "torch.autograd.backward([(x * x).sum(), x.sum()])\nr = x.grad",
    "second": (
        "(g,) = torch.autograd.grad((x ** 4).sum(), x, create_graph=True)\nr = [g, *torch.autograd.grad(g.sum(), x)]"
    ),
    "third": (
        "y = (x ** 5).sum()\nr = []\nfor _ in range(3):\n"
        "    (g,) = torch.autograd.grad(y, x, create_graph=True)\n    r.append(g)\n    y = g.sum()"
    ),
    "fourth of sin": (
        "y = x.sin().sum()\nr = []\nfor _ in range(4):\n"
        "    (g,) = torch.autograd.grad(y, x, create_graph=True)\n    r.append(g)\n    y = g.sum()"
    ),
    "backward with graph": "(x ** 3).sum().backward(create_graph=True)\ng = x.grad\nx.grad = None\n"
    "g.sum().backward()\nr = [x.grad, g.requires_grad]",
    "penalty": (
        "w = torch.ones(3, requires_grad=True)\n"
        "(g,) = torch.autograd.grad(((x * w) ** 2).sum(), x, create_graph=True)\n"
        "((g ** 2).sum() + 1).backward()\nr = [x.grad, w.grad]"
    ),
    "unused": "w = torch.ones(2, requires_grad=True)\n"
    "r = torch.autograd.grad((x * x).sum(), [x, w], allow_unused=True)",
    "unused refused": "w = torch.ones(2, requires_grad=True)\nr = torch.autograd.grad((x * x).sum(), [x, w])",
    "unused made": "w = torch.ones(2, requires_grad=True)\n"
    "r = torch.autograd.grad((x * x).sum(), [x, w], materialize_grads=True)",
    "made but refused": "w = torch.ones(2, requires_grad=True)\n"
    "r = torch.autograd.grad((x * x).sum(), [x, w], materialize_grads=True, allow_unused=False)",
    "not a leaf of it": "w = torch.ones(2)\nr = torch.autograd.grad((x * x).sum(), [x, w])",
    "grad of a non-scalar": "r = torch.autograd.grad(x * x, x)",
    "backward of a non-scalar": "(x * x).backward()",
    "backward of no graph": "torch.ones(2).sum().backward()",
    "backward of a leaf": "y = torch.tensor(2.0, requires_grad=True)\ny.backward()\nr = y.grad",
    "grad of itself": "y = torch.tensor(2.0, requires_grad=True)\nr = torch.autograd.grad(y, y)",
    "grad of itself twice": "y = x * 2\nr = torch.autograd.grad(y.sum(), [y, y])",
    "wrong seed shape": "(x * x).backward(torch.ones(2))",
    "wrong seed shape grad": "torch.autograd.grad(x * x, x, torch.ones(2))",
    "seed broadcasts not": "(x * x).backward(torch.ones(1))",
    "seed of a type": "(x * x).backward('one')",
    "too few seeds": "torch.autograd.backward([x.sum(), x.sum()], [torch.ones(())])",
    "too few seeds of grad": "torch.autograd.grad([x.sum(), x.sum()], x, [torch.ones(())])",
    "no inputs": "torch.autograd.grad(x.sum(), [])",
    "requires_grad set": "y = torch.ones(2, dtype=torch.int64)\ny.requires_grad = True",
    "seed of another dtype": "(x * 2).backward(torch.ones(3, dtype=torch.float64))\nr = x.grad",
    "delete grad": "(x * 2).sum().backward()\ndel x.grad\nr = x.grad",
    "set grad device": "x.grad = torch.ones(3, device='meta')",
    "again": "y = (x * x).sum()\ny.backward()\ny.backward()",
    "again through grad": "y = x.exp().sum()\ntorch.autograd.grad(y, x)\ntorch.autograd.grad(y, x)",
    "again without saved": "y = (x + 1).sum()\ny.backward()\ny.backward()\nr = x.grad",
    "retained": "y = (x * x).sum()\ny.backward(retain_graph=True)\ny.backward()\nr = x.grad",
    "inputs": "w = torch.ones(3, requires_grad=True)\n(x * w).sum().backward(inputs=[x])\nr = [x.grad, w.grad]",
    "inputs one": "w = torch.ones(3, requires_grad=True)\n(x * w).sum().backward(inputs=x)\nr = [x.grad, w.grad]",
    "inputs inside": "y = x * 2\n(y * y).sum().backward(inputs=[y])\nr = [y.grad, x.grad]",
    "inputs both": "y = x * 2\n(y * y).sum().backward(inputs=[y, x])\nr = [y.grad, x.grad]",
    "inputs empty": "(x * x).sum().backward(inputs=[])",
    "inputs unused": "w = torch.ones(3, requires_grad=True)\n(x * x).sum().backward(inputs=[w])\nr = [w.grad, x.grad]",
    "inputs no grad": "w = torch.ones(3)\n(x * x).sum().backward(inputs=[w])",
    "integer": "torch.ones(2, dtype=torch.int64, requires_grad=True)",
    "integer later": "torch.ones(2, dtype=torch.int64).requires_grad_()",
    "diamond": "y = x * 2\nz = y.sin() + y.cos() * y\nz.sum().backward()\nr = x.grad",
    "shared many times": "y = x\nfor _ in range(5):\n    y = y * y + x\ny.sum().backward()\nr = x.grad",
    "through views": "y = x.view(3, 1).expand(3, 4)[1:].t()\n(y * y).sum().backward()\nr = x.grad",
    "detached": "y = x * 2\n(y.detach() * x).sum().backward()\nr = x.grad",
    "detach_": "y = x * 2\ny.detach_()\nr = [y.requires_grad, y.grad_fn is None]",
    "some outputs": "a, b = x.sort()\na.sum().backward()\nr = x.grad",
    "split outputs": "a, b, c = x.unbind()\n(a * c).backward()\nr = x.grad",
    "empty": "y = torch.ones(0, requires_grad=True)\ny.sum().backward()\nr = y.grad",
    "complex": "z = torch.tensor([1 + 2j], requires_grad=True)\n(z * z.conj()).real.sum().backward()\nr = z.grad",
    "complex output": "z = torch.tensor(1 + 2j, requires_grad=True)\n(z * z).backward()",
    "requires_grad inside": "y = x * 2\ny.requires_grad = False",
    "requires_grad by deed": "y = torch.ones(2)\ny.requires_grad = True\nr = [y.requires_grad, y.is_leaf]",
    "leaf": "y = x * 2\nr = [x.is_leaf, y.is_leaf, x.detach().is_leaf, x.grad_fn, (x * 2).grad_fn.name()]",
    "grad of freed part": "y = x.exp()\nz = y * 2\nz.sum().backward()\n(y * 3).sum().backward()",
    "is none": "r = [x.grad, (x * 2).requires_grad]",
    "next functions": "y = (x * 2).sum()\nr = [y.grad_fn.name(), y.grad_fn.next_functions[0][0].name(),"
    " y.grad_fn.next_functions[0][0].next_functions[0][0].name()]",
    "accumulate variable": "y = x * 2\nr = y.grad_fn.next_functions[0][0].variable is x",
    "set grad": "x.grad = torch.ones(3)\n(x * 2).sum().backward()\nr = x.grad",
    "set grad shape": "x.grad = torch.ones(2)",
    "set grad dtype": "x.grad = torch.ones(3, dtype=torch.float64)",
    "set grad kind": "x.grad = 3",
    "set grad itself": "x.grad = x",
    "named inputs": "w = x.detach().requires_grad_()\nr = torch.autograd.grad((x * w).sum(), {'x': x, 3: w})",
    "named inputs, several seeds": "r = torch.autograd.grad((x * 2).sum(), {'x': x}, torch.ones(4), is_grads_batched=True)",
    "named inputs of backward": "w = x.detach().requires_grad_()\n(x * w).sum().backward(inputs={'w': w})\nr = [x.grad, w.grad]",
    "named inputs in order": "from collections import OrderedDict\ntorch.autograd.grad((x * 2).sum(), OrderedDict(x=x))",
    "several seeds that do not fit": "torch.autograd.grad(x * 2, x, torch.ones(2, 4), is_grads_batched=True)",
    "grad zeroed": "(x * 2).sum().backward()\nx.grad.zero_()\n(x * 3).sum().backward()\nr = x.grad",
    "double to float": "y = x.double() * 2\ny.sum().backward()\nr = x.grad",
}


@pytest.mark.parametrize("name", PASSES)
def test_passes(name: str) -> None:
    said(X + PASSES[name])


# -- modes -----------------------------------------------------------------------------------------

MODES = {
    "no_grad": "with torch.no_grad():\n    y = x * 2\nr = [y.requires_grad, torch.is_grad_enabled()]",
    "nested": "with torch.no_grad():\n    with torch.enable_grad():\n        y = x * 2\n    z = x * 2\n"
    "r = [y.requires_grad, z.requires_grad]",
    "decorator": "@torch.no_grad()\ndef f(a):\n    return a * 2\nr = [f(x).requires_grad, f.__name__]",
    "bare decorator": "@torch.no_grad\ndef f(a):\n    return a * 2\nr = [f(x).requires_grad, torch.is_grad_enabled()]",
    "enable decorator": "@torch.enable_grad()\ndef f(a):\n    return a * 2\nwith torch.no_grad():\n    r = f(x).requires_grad",
    "set context": "with torch.set_grad_enabled(False):\n    y = x * 2\nr = [y.requires_grad, torch.is_grad_enabled()]",
    "set call": "torch.set_grad_enabled(False)\ny = x * 2\ntorch.set_grad_enabled(True)\nr = [y.requires_grad, (x * 2).requires_grad]",
    "set decorator": "@torch.set_grad_enabled(False)\ndef f(a):\n    return a * 2\nr = [f(x).requires_grad, torch.is_grad_enabled()]",
    "generator": (
        "@torch.no_grad()\ndef f(a):\n    for _ in range(2):\n        got = yield (a * 2).requires_grad\n"
        "        assert not torch.is_grad_enabled()\n    return 'end'\n"
        "r = []\nfor v in f(x):\n    r += [v, torch.is_grad_enabled()]"
    ),
    "generator sends": (
        "@torch.no_grad()\ndef f():\n    got = yield 1\n    r.append((got, torch.is_grad_enabled()))\n    yield 2\n"
        "r = []\ng = f()\nnext(g)\ng.send('hello')\nr.append(torch.is_grad_enabled())"
    ),
    "generator throws": (
        "@torch.no_grad()\ndef f():\n    try:\n        yield 1\n    except ValueError:\n        r.append(torch.is_grad_enabled())\n        yield 2\n"
        "r = []\ng = f()\nnext(g)\nr.append(g.throw(ValueError()))\nr.append(torch.is_grad_enabled())"
    ),
    "generator closes": (
        "@torch.no_grad()\ndef f():\n    try:\n        yield 1\n    finally:\n        r.append(torch.is_grad_enabled())\n"
        "r = []\ng = f()\nnext(g)\ng.close()\nr.append(torch.is_grad_enabled())"
    ),
    "error inside": "try:\n    with torch.no_grad():\n        raise ValueError\nexcept ValueError:\n    pass\nr = torch.is_grad_enabled()",
    "recursive": "@torch.no_grad()\ndef f(n):\n    return [torch.is_grad_enabled()] + (f(n - 1) if n else [])\nr = f(2) + [torch.is_grad_enabled()]",
    "one object twice": "m = torch.no_grad()\nwith m:\n    pass\nwith m:\n    y = x * 2\nr = [y.requires_grad, torch.is_grad_enabled()]",
    "inference": "with torch.inference_mode():\n    y = x * 2\nr = [y.requires_grad, y.is_inference(), torch.is_inference_mode_enabled()]",
    "inference off": "with torch.inference_mode(False):\n    y = x * 2\nr = [y.requires_grad, y.is_inference()]",
    "inference decorator": "@torch.inference_mode()\ndef f(a):\n    return a * 2\nr = [f(x).is_inference(), torch.is_grad_enabled()]",
    "inference bare": "@torch.inference_mode\ndef f(a):\n    return a * 2\nr = [f(x).is_inference(), torch.is_grad_enabled()]",
    "inference in graph": "with torch.inference_mode():\n    y = torch.ones(3)\n(x * y).sum().backward()",
    "inference add": "with torch.inference_mode():\n    y = torch.ones(3)\nz = x + y\nr = z.requires_grad",
    "inference in place": "with torch.inference_mode():\n    y = torch.ones(3)\ny.add_(1)",
    "inference requires": "with torch.inference_mode():\n    y = torch.ones(3)\ny.requires_grad_()",
    "inference inside requires": "with torch.inference_mode():\n    y = torch.ones(3, requires_grad=True)\n    z = y * 2\nr = [z.requires_grad]",
    "inference clone": "with torch.inference_mode():\n    y = torch.ones(3)\nz = y.clone()\nr = [z.is_inference(), (z * x).requires_grad]",
    "leaf in place": "x.add_(1)",
    "leaf in place no_grad": "with torch.no_grad():\n    x.add_(1)\nr = x",
    "leaf view in place": "x[0] = 1.0",
    "changed saved": "y = x.exp()\ny.add_(1)\ny.sum().backward()",
    "changed saved by view": "y = x * 1\nz = y * y\ny[0] = 1\nz.sum().backward()",
    "changed not saved": "y = x * 2\ny.add_(1)\ny.sum().backward()\nr = x.grad",
    "detached change": "y = x.exp()\ny.detach().add_(1)\ny.sum().backward()",
    "data change": "y = x.exp()\ny.data.add_(1)\ny.sum().backward()\nr = x.grad",
    "version": "y = torch.ones(2)\ny.add_(1)\ny[0] = 2\nr = y._version",
    "class decorated": "@torch.no_grad()\nclass C:\n    pass",
}


@pytest.mark.parametrize("name", MODES)
def test_modes(name: str) -> None:
    said(X + MODES[name])


# -- hooks -----------------------------------------------------------------------------------------

HOOKS = {
    "leaf": "seen = []\nx.register_hook(lambda g: seen.append(g.clone()))\n(x * 2).sum().backward()\nr = [seen, x.grad]",
    "replace leaf": "x.register_hook(lambda g: g * 10)\n(x * 2).sum().backward()\nr = x.grad",
    "inside": "y = x * 2\ny.register_hook(lambda g: g + 1)\n(y * y).sum().backward()\nr = x.grad",
    "order": "y = x * 2\ny.register_hook(lambda g: g + 1)\ny.register_hook(lambda g: g * 3)\ny.sum().backward()\nr = x.grad",
    "removed": "h = x.register_hook(lambda g: g * 10)\nh.remove()\n(x * 2).sum().backward()\nr = x.grad",
    "removed twice": "h = x.register_hook(lambda g: g * 10)\nh.remove()\nh.remove()\nr = 1",
    "with": "with x.register_hook(lambda g: g * 10):\n    (x * 2).sum().backward()\n(x * 2).sum().backward()\nr = x.grad",
    "after sum": "seen = []\ny = x * 2\ny.register_hook(lambda g: seen.append(g.clone()))\n(y + y * y).sum().backward()\nr = seen",
    "retain before hook": "y = x * 2\ny.retain_grad()\ny.register_hook(lambda g: g * 5)\ny.sum().backward()\nr = [y.grad, x.grad]",
    "retain after hook": "y = x * 2\ny.register_hook(lambda g: g * 5)\ny.retain_grad()\ny.sum().backward()\nr = [y.grad, x.grad]",
    "retain": "y = x * 2\ny.retain_grad()\nr = [y.retains_grad]\n(y * y).sum().backward()\nr += [y.grad, x.grad]",
    "retain twice": "y = x * 2\ny.retain_grad()\ny.retain_grad()\n(y * y).sum().backward()\nr = [y.grad]",
    "retain accumulates": "y = x * 2\ny.retain_grad()\nz = (y * y).sum()\nz.backward(retain_graph=True)\nz.backward()\nr = [y.grad, x.grad]",
    "retain leaf": "x.retain_grad()\nr = x.retains_grad\n(x * 2).sum().backward()",
    "retain none": "torch.ones(2).retain_grad()",
    "none": "torch.ones(2).register_hook(lambda g: g)",
    "in grad": "y = x * 2\ny.register_hook(lambda g: g * 3)\nr = torch.autograd.grad(y.sum(), [x])",
    "in grad of it": "y = x * 2\ny.register_hook(lambda g: g * 3)\nr = torch.autograd.grad(y.sum(), [y])",
    "leaf in grad": "x.register_hook(lambda g: g * 3)\nr = torch.autograd.grad((x * 2).sum(), [x])",
    "wrong kind": "x.register_hook(lambda g: 'no')\n(x * 2).sum().backward()",
    "wrong shape": "x.register_hook(lambda g: g[:1])\n(x * 2).sum().backward()",
    "not callable": "x.register_hook(3)\n(x * 2).sum().backward()",
    "post with a result": "x.register_post_accumulate_grad_hook(lambda t: t.grad)\n(x * 2).sum().backward()",
    "post": "seen = []\nx.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.clone())))\n(x * 2).sum().backward()\nr = seen",
    "post frees": "def f(t):\n    t.grad = None\nx.register_post_accumulate_grad_hook(f)\n(x * 2).sum().backward()\nr = x.grad",
    "post inside": "y = x * 2\ny.register_post_accumulate_grad_hook(lambda t: None)",
    "post none": "torch.ones(2).register_post_accumulate_grad_hook(lambda t: None)",
    "post removed": "seen = []\nh = x.register_post_accumulate_grad_hook(lambda t: seen.append(1))\nh.remove()\n(x * 2).sum().backward()\nr = seen",
    "node": "seen = []\ny = x * 2\ny.grad_fn.register_hook(lambda gi, go: seen.append((len(gi), gi[0].clone(), go[0].clone())))\ny.sum().backward()\nr = seen",
    "node replaces": "y = x * 2\ny.grad_fn.register_hook(lambda gi, go: (gi[0] * 7,) + gi[1:])\ny.sum().backward()\nr = x.grad",
    "node before": "y = x * 2\ny.grad_fn.register_prehook(lambda go: (go[0] * 7,))\ny.sum().backward()\nr = x.grad",
    "with graph": "y = x * 2\ny.register_hook(lambda g: g * x)\n(g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)\nr = [g, *torch.autograd.grad(g.sum(), x)]",
    "grad mode inside": "seen = []\nx.register_hook(lambda g: seen.append(torch.is_grad_enabled()))\n(x * 2).sum().backward()\n(x * x).sum().backward(create_graph=True)\nr = seen",
    "hook on changed": "y = x * 2\ny.register_hook(lambda g: g * 100)\ny.mul_(3)\ny.sum().backward()\nr = x.grad",
    "hook after change": "y = x * 2\ny.mul_(3)\ny.register_hook(lambda g: g * 100)\ny.sum().backward()\nr = x.grad",
    "retain on changed": "y = x * 2\ny.retain_grad()\ny.mul_(3)\ny.sum().backward()\nr = [y.grad, x.grad]",
    "hooks dict": "y = x * 2\nh = y.register_hook(lambda g: g)\nr = [isinstance(h.id, int)]",
    "error in hook": "def f(g):\n    raise KeyError('mine')\nx.register_hook(f)\n(x * 2).sum().backward()",
    "backward in hook": "w = torch.ones(2, requires_grad=True)\nx.register_hook(lambda g: (w * 3).sum().backward())\n(x * 2).sum().backward()\nr = [w.grad, x.grad]",
    "node before, tensor after": "seen = []\ny = x * 2\ny.grad_fn.register_prehook(lambda gs: seen.append('node'))\n"
    "y.register_hook(lambda g: seen.append('tensor'))\ny.sum().backward()\nr = seen",
    "node before in grad of it": "seen = []\ny = x * 2\ny.grad_fn.register_prehook(lambda gs: seen.append('node'))\n"
    "y.register_hook(lambda g: seen.append('tensor'))\nend = y.grad_fn.next_functions[0][0]\n"
    "end.register_prehook(lambda gs: seen.append('end'))\n"
    "r = [*torch.autograd.grad(y.sum(), y, retain_graph=True), *torch.autograd.grad(y.sum(), x), seen]",
    "retain before the node": "y = x * 2\ny.retain_grad()\ny.grad_fn.register_prehook(lambda gs: (gs[0] * 5,))\n"
    "y.sum().backward()\nr = [y.grad, x.grad]",
    "node called": "(x * 2).grad_fn(x, x)",
    "several outputs": "a, b = x.sort()\nseen = []\na.register_hook(lambda g: seen.append(g))\n(a * 2).sum().backward()\nr = seen",
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks(name: str) -> None:
    said(X + HOOKS[name])


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.zeros(2, 3, 4, 5).contiguous(memory_format=lib.channels_last),
        lambda lib: lib.zeros(4, 3).t(),
        lambda lib: lib.zeros(2, 1, 3).permute(2, 0, 1),
        lambda lib: lib.zeros(3, 4)[:, ::2],
        lambda lib: lib.zeros(3, 1).expand(3, 4),
        lambda lib: lib.zeros(3, 4),
    ],
    ids=["channels_last", "transposed", "permuted", "gaps", "expanded", "dense"],
)
@pytest.mark.parametrize(
    "loss",
    [
        lambda x, g: x.backward(g),
        lambda x, g: (x * 2).backward(g),
        lambda x, g: (x * 2).backward(g.transpose(0, -1).contiguous().transpose(0, -1)),
        lambda x, g: x.sum().backward(),
        lambda x, g: (x.sum() + (x * x).sum()).backward(),
    ],
    ids=["as it is", "product", "turned", "sum", "two"],
)
def test_gradients_lie_in_memory_as_their_leaves(make, loss, device):
    torch = pytest.importorskip("torch")
    strides = []
    for lib in (rl, torch):
        place = device if lib is rl else "cpu"
        x = make(lib).to(place).requires_grad_()
        loss(x, lib.ones(tuple(x.shape)).to(place))
        strides.append([s for s, n in zip(x.grad.stride(), x.shape) if n > 1])
    assert strides[0] == strides[1]
