"""Hooks of modules against PyTorch: what is called when, with what, and what a return changes."""

from __future__ import annotations

import pytest

from side_by_side import agree

SETUP = """
r = []
def note(label):
    def hook(module, *args):
        r.append((label, type(module).__name__, [a if not callable(a) else 0 for a in args]))
    return hook
m = nn.Linear(2, 1)
with torch.no_grad():
    m.weight.fill_(2.0); m.bias.fill_(1.0)
x = torch.ones(3, 2, requires_grad=True)
"""

SAME = {
    "forward": "m.register_forward_hook(note('f')); m(x)",
    "forward pre": "m.register_forward_pre_hook(note('p')); m(x)",
    "forward kwargs": "m.register_forward_hook(note('f'), with_kwargs=True); m(input=x)",
    "pre kwargs": "m.register_forward_pre_hook(note('p'), with_kwargs=True); m(input=x)",
    "forward replaces": "m.register_forward_hook(lambda mod, a, out: out * 2); r.append(m(x))",
    "pre replaces tensor": "m.register_forward_pre_hook(lambda mod, a: a[0] * 2); r.append(m(x))",
    "pre replaces tuple": "m.register_forward_pre_hook(lambda mod, a: (a[0] * 3,)); r.append(m(x))",
    "pre kwargs replaces": "m.register_forward_pre_hook(lambda mod, a, k: ((x * 2,), {}), with_kwargs=True); r.append(m(x))",
    "pre kwargs wrong": "m.register_forward_pre_hook(lambda mod, a, k: 3, with_kwargs=True); m(x)",
    "order": "m.register_forward_hook(note('a')); m.register_forward_hook(note('b'), prepend=True); m.register_forward_hook(note('c')); m(x)",
    "pre order": "m.register_forward_pre_hook(note('a')); m.register_forward_pre_hook(note('b'), prepend=True); m(x)",
    "remove": "h = m.register_forward_hook(note('a')); m(x); h.remove(); m(x); h.remove()",
    "handle as context": "with m.register_forward_hook(note('a')):\n    m(x)\nm(x)",
    "always called": """
m.register_forward_hook(note('always'), always_call=True)
m.register_forward_hook(note('not'))
try:
    m(torch.ones(1, 5))
except RuntimeError:
    r.append('raised')
""",
    "always called after hook": """
def bad(*a): raise ValueError('bad')
m.register_forward_hook(bad)
m.register_forward_hook(note('always'), always_call=True)
try:
    m(x)
except ValueError as e:
    r.append(str(e))
""",
    "full backward": "m.register_full_backward_hook(note('b')); m(x).sum().backward(); r.append(x.grad)",
    "full backward no input grad": "m.register_full_backward_hook(note('b')); m(torch.ones(3, 2)).sum().backward(); r.append(m.weight.grad)",
    "full backward replaces": "m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,)); m(x).sum().backward(); r.append(x.grad)",
    "full backward wrong count": "m.register_full_backward_hook(lambda mod, gi, go: (gi[0], gi[0])); m(x).sum().backward()",
    "full backward pre": "m.register_full_backward_pre_hook(note('p')); m(x).sum().backward(); r.append(x.grad)",
    "full backward pre replaces": "m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 10,)); m(x).sum().backward(); r += [x.grad, m.weight.grad]",
    "full backward pre then hook": "m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 10,)); m.register_full_backward_hook(note('b')); m(x).sum().backward()",
    "full backward pre no input grad": "m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 10,)); m(torch.ones(3, 2)).sum().backward(); r.append(m.weight.grad)",
    "full backward order": "m.register_full_backward_hook(note('a')); m.register_full_backward_hook(note('b'), prepend=True); m(x).sum().backward()",
    "full backward under no_grad": "m.register_full_backward_hook(note('b'))\nwith torch.no_grad():\n    r.append(m(x))",
    "full backward twice": "m.register_full_backward_hook(note('b')); y = m(x).sum(); y.backward(retain_graph=True); y.backward(); r.append(x.grad)",
    "full backward tuple": """
class Two(nn.Module):
    def forward(self, a, b):
        return a * 2, b * 3
t = Two(); t.register_full_backward_hook(note('b'))
y, z = t(x, torch.ones(2)); (y.sum() + z.sum()).backward()
""",
    "full backward unused output": """
class Two(nn.Module):
    def forward(self, a):
        return a * 2, a * 3
t = Two(); t.register_full_backward_hook(note('b'))
y, z = t(x); y.sum().backward()
""",
    "full backward non tensors": """
class Two(nn.Module):
    def forward(self, a, k):
        return a * k, 'x'
t = Two(); t.register_full_backward_hook(note('b'))
y, z = t(x, 3); y.sum().backward(); r.append(z)
""",
    "both kinds": "m.register_backward_hook(note('b')); m.register_full_backward_hook(note('b'))",
    "both kinds other way": "m.register_full_backward_hook(note('b')); m.register_backward_hook(note('b'))",
    "old backward": "s = nn.Tanh(); s.register_backward_hook(lambda mod, gi, go: r.append((gi, go))); s(x).sum().backward()",
    "sequential": "s = nn.Sequential(m, nn.ReLU()); [k.register_full_backward_hook(note(str(i))) for i, k in enumerate(s)]; s(x).sum().backward()",
    "global forward": """
from_module = nn.modules.module
h = from_module.register_module_forward_hook(note('g'))
p = from_module.register_module_forward_pre_hook(note('gp'))
try:
    nn.Sequential(m, nn.ReLU())(x)
finally:
    h.remove(); p.remove()
m(x)
""",
    "global backward": """
h = nn.modules.module.register_module_full_backward_hook(note('g'))
p = nn.modules.module.register_module_full_backward_pre_hook(note('gp'))
try:
    m(x).sum().backward()
finally:
    h.remove(); p.remove()
""",
    "global registration": """
hs = [nn.modules.module.register_module_parameter_registration_hook(lambda mod, n, p: r.append(('p', n))),
      nn.modules.module.register_module_buffer_registration_hook(lambda mod, n, p: r.append(('b', n))),
      nn.modules.module.register_module_module_registration_hook(lambda mod, n, p: r.append(('m', n)))]
try:
    s = nn.Sequential(nn.BatchNorm1d(1)); s.q = nn.ReLU(); s.add_module('t', nn.ReLU())
finally:
    for h in hs:
        h.remove()
""",
    "dict output": """
class D(nn.Module):
    def forward(self, a):
        return {'y': a * 2}
d = D(); d.register_forward_hook(lambda mod, a, out: {'y': out['y'] + 1}); r.append(d(x))
""",
    "a pre hook changes what the module sees, not the gradient of its result": """
m.register_full_backward_pre_hook(lambda mod, g: (g[0] * 2,))
y = m(x); y.retain_grad(); y.sum().backward(); r.append((y.grad, x.grad))
""",
    "a gradient that passes the module by": """
m.register_full_backward_hook(note('f'))
m.register_forward_hook(lambda mod, a, out: r.append(torch.autograd.grad(a[0].sum(), x)))
m(x).sum().backward()
""",
    "deepcopy keeps hooks": "m.register_forward_hook(note('h')); copy.deepcopy(m)(x)",
}


@pytest.mark.parametrize("name", SAME)
def test_same_as_torch(name: str) -> None:
    agree(SETUP + SAME[name])
