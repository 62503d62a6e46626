"""Containers against PyTorch: every list and dict operation."""

from __future__ import annotations

import pytest

from side_by_side import agree

SETUP = "a, b, c, d = nn.ReLU(), nn.Tanh(), nn.Linear(2, 2), nn.GELU()\n"

SAME = {
    "index": "s = nn.Sequential(a, b, c); r = [repr(s[0]), repr(s[-1]), repr(s[1:]), len(s), repr(list(s))]",
    "index out": "nn.Sequential(a)[1]",
    "index negative out": "nn.Sequential(a)[-2]",
    "set": "s = nn.Sequential(a, b); s[0] = d; s[-1] = c; r = repr(s)",
    "delete": "s = nn.Sequential(a, b, c); del s[1]; r = [repr(s), list(s.state_dict())]",
    "delete slice": "s = nn.Sequential(a, b, c, d); del s[1:3]; r = repr(s)",
    "append extend": "s = nn.Sequential(a); r = repr(s.append(b).extend([c, d]))",
    "extend sequential": "s = nn.Sequential(a); r = repr(s.extend(nn.Sequential(b, c)))",
    "insert": "s = nn.Sequential(a, b); s.insert(1, c); s.insert(0, d); r = repr(s)",
    "insert end": "s = nn.Sequential(a, b); s.insert(2, c); r = repr(s)",
    "insert out": "nn.Sequential(a).insert(7, b)",
    "pop": "s = nn.Sequential(a, b, c); r = [repr(s.pop(1)), repr(s)]",
    "add": "r = repr(nn.Sequential(a) + nn.Sequential(b))",
    "add wrong": "nn.Sequential(a) + [b]",
    "iadd": "s = nn.Sequential(a); s += nn.Sequential(b); r = repr(s)",
    "mul": "r = [repr(nn.Sequential(a, b) * 2), repr(3 * nn.Sequential(a))]",
    "imul": "s = nn.Sequential(a, b); s *= 3; r = repr(s)",
    "mul zero": "nn.Sequential(a) * 0",
    "mul float": "nn.Sequential(a) * 1.5",
    "named": "s = nn.Sequential(OrderedDict(x=a, y=c)); r = [repr(s), list(s.state_dict()), repr(s.y), repr(s[1])]",
    "not a module": "nn.Sequential(3)",
    "empty": "r = [repr(nn.Sequential()), nn.Sequential()(5)]",
    "list": "l = nn.ModuleList([a, b]); l.append(c); l.extend([d]); l.insert(1, c); r = [repr(l), len(l), repr(l[0]), repr(l[1:]), repr(l + [a])]",
    "list set": "l = nn.ModuleList([a, b]); l[1] = c; l[-2] = d; r = repr(l)",
    "list delete": "l = nn.ModuleList([a, b, c]); del l[0]; r = [repr(l), list(l.state_dict())]",
    "list delete slice": "l = nn.ModuleList([a, b, c]); del l[:2]; r = repr(l)",
    "list pop": "l = nn.ModuleList([a, b, c]); r = [repr(l.pop(-1)), repr(l)]",
    "list iadd": "l = nn.ModuleList(); l += [a]; r = repr(l)",
    "list call": "nn.ModuleList([a])(3)",
    "list not iterable": "nn.ModuleList(3)",
    "list out": "nn.ModuleList([a])[3]",
    "list repr runs": "r = repr(nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1)]))",
    "list in": "l = nn.ModuleList([a]); r = a in l",
    "dict": "m = nn.ModuleDict({'x': a}); m['y'] = c; m.update({'z': b}); r = [repr(m), len(m), list(m), 'x' in m, list(m.keys()), list(m.state_dict()), repr(list(m.values())), repr(list(m.items()))]",
    "dict pop": "m = nn.ModuleDict({'x': a, 'y': b}); r = [repr(m.pop('x')), repr(m)]; m.clear(); r.append(len(m))",
    "dict delete": "m = nn.ModuleDict({'x': a, 'y': b}); del m['x']; r = repr(m)",
    "dict missing": "nn.ModuleDict({'x': a})['q']",
    "dict pairs": "r = repr(nn.ModuleDict([('x', a), ('y', b)]))",
    "dict bad pair": "nn.ModuleDict([('x', a, b)])",
    "dict no iterable": "nn.ModuleDict(3)",
    "dict bad name": "nn.ModuleDict({'forward': a})",
    "parameter list": "l = nn.ParameterList([torch.ones(2), nn.Parameter(torch.ones(1, 2)), 5]); l.append(torch.zeros(3)); l[0] = torch.zeros(1); r = [repr(l), len(l), list(l.state_dict()), l[-1], type(l[0]).__name__, len(list(l.parameters())), l[2]]",
    "parameter list slice": "l = nn.ParameterList([torch.ones(1)] * 3); r = repr(l[1:])",
    "parameter list extend wrong": "nn.ParameterList().extend(torch.ones(3))",
    "parameter list out": "nn.ParameterList([torch.ones(1)])[4]",
    "parameter list call": "nn.ParameterList()(1)",
    "parameter dict": """
p = nn.ParameterDict({'b': torch.ones(2), 'a': 3}); p['c'] = nn.Parameter(torch.zeros(1))
r = [repr(p), len(p), list(p), 'a' in p, p.get('q', 7), list(p.state_dict()), p.pop('a'), list(p.keys()),
     list(reversed(p)), p.setdefault('n', torch.ones(1)), len(list(p.values())), [k for k, _ in p.items()]]
p.update({'z': torch.ones(1)}); q = p.copy(); q |= nn.ParameterDict({'w': 1}); r.append(list(q)); r.append(list(p | q))
r.append(p.popitem()[0]); p.clear(); r.append(len(p))""",
    "parameter dict int key": "nn.ParameterDict({1: torch.ones(1)})",
    "parameter dict fromkeys": "r = repr(nn.ParameterDict().fromkeys(['a', 'b'], 3))",
    "container": "r = repr(nn.Container(a=nn.ReLU()))",
}


@pytest.mark.parametrize("name", SAME)
def test_same_as_torch(name: str) -> None:
    agree(SETUP + SAME[name])
