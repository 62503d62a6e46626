"""Module against PyTorch: attributes, walks, conversion, printed trees, state dicts, their words."""

from __future__ import annotations

import inspect
import pickle

import pytest

import rushlight
from rushlight import nn
from side_by_side import agree

torch = pytest.importorskip("torch")


SAME = {
    "assign int as parameter": "m = nn.Linear(2, 2); m.weight = 5",
    "assign tensor as parameter": "m = nn.Linear(2, 2); m.weight = torch.ones(2, 2)",
    "parameter becomes None": "m = nn.Linear(2, 2); m.bias = None; r = (repr(m), list(m.state_dict()))",
    "assign str as child": "m = nn.Sequential(nn.ReLU()); m._modules; setattr(m, '0', 'x')",
    "assign str as buffer": "m = nn.BatchNorm1d(2); m.running_mean = 'x'",
    "buffer takes tensor": "m = nn.BatchNorm1d(2); m.running_mean = torch.ones(2); r = m.state_dict()['running_mean']",
    "parameters before init": """
        class M(nn.Module):
            def __init__(self):
                self.w = nn.Parameter(torch.ones(1))
        M()""",
    "module before init": """
        class M(nn.Module):
            def __init__(self):
                self.w = nn.ReLU()
        M()""",
    "register buffer before init": """
        class M(nn.Module):
            def __init__(self):
                self.register_buffer('a', torch.ones(1))
        M()""",
    "unknown attribute": "nn.Linear(2, 2).nothing",
    "no forward": "nn.Module()(1)",
    "unexpected keyword": "nn.Module(a=1)",
    "unexpected positional": "nn.Module(1)",
    "buffer name with dot": "nn.Module().register_buffer('a.b', None)",
    "buffer name empty": "nn.Module().register_buffer('', None)",
    "buffer name not str": "nn.Module().register_buffer(3, None)",
    "buffer name taken": "m = nn.Linear(1, 1); m.register_buffer('weight', None)",
    "buffer not tensor": "nn.Module().register_buffer('a', 3)",
    "parameter name with dot": "nn.Module().register_parameter('a.b', None)",
    "parameter name taken": "m = nn.Linear(1, 1); m.register_parameter('in_features', None)",
    "parameter not parameter": "nn.Module().register_parameter('a', torch.ones(1))",
    "parameter not leaf": "nn.Module().register_parameter('a', nn.Parameter(torch.ones(1)) )\nr = 1",
    "module name with dot": "nn.Module().add_module('a.b', None)",
    "module name taken": "nn.Linear(1, 1).add_module('weight', nn.ReLU())",
    "module not module": "nn.Module().add_module('a', 3)",
    "module name empty": "nn.Module().add_module('', None)",
    "module name int": "nn.Module().add_module(3, None)",
    "get_submodule": "m = nn.Sequential(nn.Sequential(nn.Linear(2, 3))); r = repr(m.get_submodule('0.0'))",
    "get_submodule missing": "nn.Sequential(nn.ReLU()).get_submodule('0.a')",
    "get_submodule not module": "nn.Sequential(nn.Linear(1, 1)).get_submodule('0.weight')",
    "get_parameter": "m = nn.Sequential(nn.Linear(2, 1)); r = m.get_parameter('0.bias')",
    "get_parameter not": "m = nn.Sequential(nn.BatchNorm1d(2)); m.get_parameter('0.running_mean')",
    "get_buffer": "m = nn.Sequential(nn.BatchNorm1d(2)); r = m.get_buffer('0.running_mean')",
    "get_buffer not": "m = nn.Sequential(nn.BatchNorm1d(2)); m.get_buffer('0.weight')",
    "set_submodule": "m = nn.Sequential(nn.Sequential(nn.ReLU())); m.set_submodule('0.0', nn.Tanh()); r = repr(m)",
    "set_submodule empty": "nn.Sequential().set_submodule('', nn.ReLU())",
    "set_submodule strict": "nn.Sequential(nn.ReLU()).set_submodule('5', nn.ReLU(), strict=True)",
    "named walks": """
        a = nn.Linear(1, 1)
        m = nn.Sequential(a, nn.Sequential(a, nn.BatchNorm1d(1)))
        r = ([n for n, _ in m.named_parameters()],
             [n for n, _ in m.named_parameters(remove_duplicate=False)],
             [n for n, _ in m.named_parameters('p', recurse=False)],
             [n for n, _ in m[1].named_buffers('x')],
             [n for n, _ in m.named_modules()],
             [n for n, _ in m.named_modules(prefix='q', remove_duplicate=False)],
             [n for n, _ in m.named_children()], len(list(m.modules())), len(list(m.children())),
             len(list(m.parameters())), len(list(m.buffers())), len(list(m.buffers(recurse=False))))""",
    "train and eval": """
        m = nn.Sequential(nn.Dropout(), nn.Sequential(nn.BatchNorm1d(1)))
        r = [x.training for x in m.eval().modules()] + [x.training for x in m.train().modules()]""",
    "train needs bool": "nn.ReLU().train(1)",
    "requires_grad_": "m = nn.Linear(2, 2).requires_grad_(False); r = [p.requires_grad for p in m.parameters()]",
    "zero_grad": """
        m = nn.Linear(2, 2); m(torch.ones(1, 2)).sum().backward(); m.zero_grad(); a = m.weight.grad
        m(torch.ones(1, 2)).sum().backward(); m.zero_grad(set_to_none=False)
        r = (a is None, m.weight.grad)""",
    "apply": """
        r = []
        nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU())).apply(lambda m: r.append(type(m).__name__))""",
    "to float64": "m = nn.BatchNorm1d(2).to(torch.float64); r = [str(t.dtype) for t in m.state_dict().values()]",
    "double half float": """
        m = nn.BatchNorm1d(2)
        r = [str(t.dtype) for f in ('double', 'half', 'bfloat16', 'float') for t in getattr(m, f)().state_dict().values()]""",
    "to int": "nn.Linear(1, 1).to(torch.int64)",
    "to tensor": "m = nn.Linear(1, 1).to(torch.ones(1, dtype=torch.float64)); r = str(m.weight.dtype)",
    "to keeps parameters": "m = nn.Linear(1, 1); w = m.weight; m.double(); r = w is m.weight",
    "to moves gradients": "m = nn.Linear(1, 1); m(torch.ones(1, 1)).sum().backward(); m.double(); r = str(m.weight.grad.dtype)",
    "type": "m = nn.Linear(1, 1).type(torch.float64); r = str(m.weight.dtype)",
    "to_empty": "m = nn.Linear(2, 3, device='meta'); r = [str(m.weight.device)] + [str(m.to_empty(device='cpu').weight.device), tuple(m.weight.shape)]",
    "delete": "m = nn.BatchNorm1d(2); del m.weight; del m.running_mean; r = list(m.state_dict())",
    "delete missing": "m = nn.ReLU(); del m.nothing",
    "module over attribute": "m = nn.Module(); m.a = 3; m.a = nn.ReLU(); r = ('a' in m.__dict__, repr(m))",
    "parameter over module": "m = nn.Module(); m.a = nn.ReLU(); m.a = nn.Parameter(torch.ones(1)); r = (list(m._modules), list(m._parameters))",
    "non persistent buffer": "m = nn.Module(); m.register_buffer('a', torch.ones(1), persistent=False); r = (list(m.state_dict()), [n for n, _ in m.named_buffers()])",
    "Buffer": "m = nn.Module(); m.a = nn.Buffer(torch.ones(1)); m.b = nn.Buffer(torch.ones(1), persistent=False); r = (list(m.state_dict()), [n for n, _ in m.named_buffers()], isinstance(m.a, nn.Buffer))",
    "Parameter repr": "r = repr(nn.Parameter(torch.arange(3.)))",
    "Parameter no grad repr": "r = repr(nn.Parameter(torch.arange(3), requires_grad=False))",
    "Parameter int": "nn.Parameter(torch.arange(3))",
    "Parameter empty": "r = tuple(nn.Parameter().shape)",
    "Parameter shares": "t = torch.zeros(2); p = nn.Parameter(t); t[0] = 3; r = p",
    "Parameter is leaf": "p = nn.Parameter(torch.ones(2)); q = p * 2; r = (p.is_leaf, p.requires_grad, type(q).__name__, isinstance(q, nn.Parameter))",
    "Parameter deepcopy": "p = nn.Parameter(torch.ones(2), requires_grad=False); q = copy.deepcopy([p, p]); r = (q[0] is q[1], q[0] is p, q[0].requires_grad, type(q[0]).__name__)",
    "repr tree": """
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 2)
                self.inner = nn.Sequential(OrderedDict(x=nn.ReLU(), y=nn.ModuleList([nn.Tanh(), nn.Tanh(), nn.ReLU()])))
                self.none = None
                self.p = nn.ParameterList([torch.ones(2, 3), torch.ones(1)])
                self.d = nn.ModuleDict({'k': nn.Dropout(0.1)})
            def extra_repr(self):
                return 'two\\nlines'
        r = repr(Block())""",
    "repr of None child": "m = nn.Module(); m.add_module('a', None); r = repr(m)",
    "dir": "d = dir(nn.Sequential(nn.Linear(1, 1))[0]); r = ('weight' in d, 'forward' in d, '0' in dir(nn.Sequential(nn.ReLU())))",
    "state_dict prefix": "r = list(nn.Sequential(nn.Linear(1, 1)).state_dict(prefix='a.'))",
    "state_dict positional": "d = OrderedDict(); nn.Linear(1, 1).state_dict(d, 'p.'); r = list(d)",
    "state_dict keep_vars": "r = [t.requires_grad for t in nn.Linear(1, 1).state_dict(keep_vars=True).values()] + [t.requires_grad for t in nn.Linear(1, 1).state_dict().values()]",
    "state_dict metadata": "r = {k: dict(v) for k, v in nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1)).state_dict()._metadata.items()}",
    "load ok": "r = str(nn.Linear(1, 1).load_state_dict(nn.Linear(1, 1).state_dict()))",
    "load missing": "nn.Linear(1, 1).load_state_dict({})",
    "load unexpected": "m = nn.Linear(1, 1); m.load_state_dict({**m.state_dict(), 'x': torch.ones(1), 'y.z': torch.ones(1)})",
    "load both": "nn.Sequential(nn.Linear(1, 1)).load_state_dict({'a': torch.ones(1), '0.weight': torch.ones(1, 1)})",
    "load not strict": "r = str(nn.Linear(1, 1).load_state_dict({'x': torch.ones(1)}, strict=False))",
    "load size": "nn.Sequential(nn.Linear(2, 3)).load_state_dict({'0.weight': torch.ones(2, 2), '0.bias': torch.ones(4)})",
    "load size not strict": "nn.Linear(2, 3).load_state_dict({'weight': torch.ones(2, 2)}, strict=False)",
    "load no dict": "nn.Linear(1, 1).load_state_dict(3)",
    "load no tensor": "nn.Linear(1, 1, bias=False).load_state_dict({'weight': 'x'})",
    "load copies": "m = nn.Linear(1, 1); w = m.weight; m.load_state_dict({'weight': torch.ones(1, 1), 'bias': torch.ones(1)}); r = (w is m.weight, m.weight, m.weight.requires_grad)",
    "load casts": "m = nn.Linear(1, 1); m.load_state_dict({'weight': torch.ones(1, 1, dtype=torch.float64), 'bias': torch.ones(1)}); r = m.weight",
    "load assign": """
        m = nn.Linear(1, 1); w = torch.ones(1, 1, dtype=torch.float64)
        m.load_state_dict({'weight': w, 'bias': torch.ones(1)}, assign=True)
        r = (m.weight, m.weight.requires_grad, type(m.weight).__name__, m.weight.data_ptr() == w.data_ptr())""",
    "load old scalar": "m = nn.Module(); m.a = nn.Parameter(torch.tensor(3.)); m.load_state_dict({'a': torch.ones(1)}); r = m.a",
    "load into meta": "m = nn.Linear(1, 1, device='meta', bias=False); m.load_state_dict({'weight': torch.ones(1, 1)}); r = str(m.weight.device)",
    "load old batch norm": "m = nn.BatchNorm1d(1); s = {k: v for k, v in m.state_dict().items() if 'num' not in k}; r = str(m.load_state_dict(s))",
    "extra state": """
        class M(nn.Linear):
            def get_extra_state(self): return {'a': 1}
            def set_extra_state(self, s): self.seen = s
        m = M(1, 1); s = m.state_dict(); r = [list(s), str(m.load_state_dict(s)), m.seen]""",
    "extra state missing": """
        class M(nn.Linear):
            def get_extra_state(self): return {'a': 1}
            def set_extra_state(self, s): self.seen = s
        M(1, 1).load_state_dict(nn.Linear(1, 1).state_dict())""",
    "extra state unexpected": "nn.Linear(1, 1, bias=False).load_state_dict({'weight': torch.ones(1, 1), '_extra_state': 3})",
    "state dict hooks": """
        r = []
        m = nn.Sequential(nn.Linear(1, 1))
        m.register_state_dict_pre_hook(lambda mod, prefix, keep: r.append(('pre', prefix, keep)))
        m[0].register_state_dict_post_hook(lambda mod, d, prefix, meta: r.append(('post', prefix, list(d))))
        m.register_load_state_dict_pre_hook(lambda mod, d, prefix, *a: r.append(('load', prefix, type(mod).__name__)))
        m.register_load_state_dict_post_hook(lambda mod, keys: r.append(str(keys)))
        m.load_state_dict(m.state_dict())""",
    "post hook returns": "m = nn.ReLU(); m.register_state_dict_post_hook(lambda *a: 3); m.state_dict()",
    "private state dict hook": "m = nn.Linear(1, 1); m._register_state_dict_hook(lambda mod, d, p, meta: {'x': 1}); r = m.state_dict()",
    "deepcopy": "m = nn.Sequential(nn.Linear(1, 1)); n = copy.deepcopy(m); r = (n[0].weight is m[0].weight, n[0].weight, m[0].weight)",
    "shared weight deepcopy": "m = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)); m[1].weight = m[0].weight; n = copy.deepcopy(m); r = n[0].weight is n[1].weight",
    "seed": "m = nn.Sequential(nn.Linear(3, 4), nn.Conv2d(1, 2, 3), nn.Embedding(3, 2), nn.LSTM(2, 3)); r = {k: v for k, v in m.state_dict().items()}",
}


@pytest.mark.parametrize("name", SAME)
def test_same_as_torch(name: str) -> None:
    agree(SAME[name])


def test_pickle_keeps_parameters_and_ties() -> None:
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    m[1].weight = m[0].weight
    m[0].bias.requires_grad_(False)
    n = pickle.loads(pickle.dumps(m))
    assert n[0].weight is n[1].weight
    assert isinstance(n[0].weight, nn.Parameter)
    assert n[0].weight.requires_grad
    assert not n[0].bias.requires_grad
    x = rushlight.ones(1, 2)
    assert n(x).tolist() == m(x).tolist()


def test_parameter_keeps_attributes_when_pickled() -> None:
    p = nn.Parameter(rushlight.ones(2))
    p.label = "w"
    assert pickle.loads(pickle.dumps(p)).label == "w"


def test_import_paths() -> None:
    from rushlight.nn.modules.conv import Conv2d
    from rushlight.nn.modules.linear import NonDynamicallyQuantizableLinear
    from rushlight.nn.modules.module import Module
    from rushlight.nn.modules.utils import _pair
    from rushlight.nn.parameter import Parameter

    assert (Conv2d, Module, Parameter) == (nn.Conv2d, nn.Module, nn.Parameter)
    assert issubclass(NonDynamicallyQuantizableLinear, nn.Linear)
    assert _pair(3) == (3, 3)
    assert _pair([1, 2]) == (1, 2)
    for name in torch.nn.modules.__dict__:
        if isinstance(getattr(torch.nn.modules, name), type(torch)) and not name.startswith("_"):
            __import__(f"rushlight.nn.modules.{name}")


def test_device_mix_names_the_module() -> None:
    m = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 3, device="meta")))
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device") as e:
        m(rushlight.ones(1, 2))
    assert str(e.value).count("In module") == 1
    assert "In module '1.0' (Linear) of Sequential" in str(e.value)


# -- calls and members in C are those in Python ---------------------------------------------------


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.scale = nn.Parameter(rushlight.ones(3))
        self.register_buffer("shift", rushlight.zeros(3))

    def forward(self, x, *, twice=False):
        y = self.layer(x) * self.scale + self.shift
        return 2 * y if twice else y


def test_members_of_a_called_module_follow_its_tables():
    m, x = Held(), rushlight.ones(1, 2)
    first = m(x)
    assert m.layer is m._modules["layer"] and m.scale is m._parameters["scale"]
    other = m._modules["layer"] = nn.Linear(2, 3)
    assert m.layer is other and not rushlight.equal(m(x), first)
    m._parameters["scale"] = nn.Parameter(rushlight.zeros(3))
    assert m(x).abs().sum().item() == 0
    assert rushlight.equal(m(x, twice=True), 2 * m(x))
    m.__dict__["shift"] = rushlight.full((3,), 5.0)  # what the object has itself comes first
    assert rushlight.equal(m(x), rushlight.full((1, 3), 5.0))
    del m._modules["layer"]
    with pytest.raises(AttributeError, match="'Held' object has no attribute 'layer'"):
        m(x)
    assert getattr(m, "layer", None) is None and not hasattr(m, "nothing")


def test_somebody_elses_getattr_is_asked():
    class Own(Held):
        def __getattr__(self, name):
            if name in ("scale", "shift") and "shift" in self._buffers:
                return rushlight.full((3,), 2.0)
            return super().__getattr__("layer" if name == "alias" else name)

    m, x = Own(), rushlight.ones(1, 2)
    for _ in range(2):
        assert m.alias is m._modules["layer"]
        assert rushlight.equal(m(x), m.alias(x) * 2 + 2)
    m = Held()
    before = m(x)
    Held.__getattr__ = lambda self, name: rushlight.full((3,), 0.0) if name == "shift" else "nothing"
    try:
        assert m.shift.sum().item() == 0 and m.absent == "nothing" and m.layer == "nothing"
    finally:
        del Held.__getattr__
    assert rushlight.equal(m(x), before)
    looked = []

    def look(self, name):
        looked.append(name)
        return object.__getattribute__(self, name)

    Held.__getattribute__ = look
    try:
        m(x)
        assert {"layer", "scale", "shift"} <= set(looked)
    finally:
        del Held.__getattribute__
    looked.clear()
    assert rushlight.equal(m(x), before) and not looked


def test_a_property_that_fails_leads_to_the_tables():
    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self._parameters["weight"] = nn.Parameter(rushlight.ones(2))

        @property
        def weight(self):
            raise AttributeError("hidden")

        @property
        def broken(self):
            raise ValueError("kept")

        def forward(self):
            return self.weight

    m = Fails()
    for _ in range(2):
        assert m() is m._parameters["weight"]
        with pytest.raises(ValueError, match="kept"):
            m.broken
    with pytest.raises(AttributeError, match="'Fails' object has no attribute 'other'"):
        m.other


def test_a_call_sees_what_stands_before_forward():
    m, x = Held(), rushlight.ones(1, 2)
    plain = m(x)
    m.forward = lambda x: "its own"
    assert m(x) == "its own"
    del m.forward
    handle = m.register_forward_hook(lambda module, args, out: out + 1)
    assert rushlight.equal(m(x), plain + 1)
    handle.remove()
    everywhere = nn.modules.module.register_module_forward_pre_hook(lambda module, args: None)
    assert rushlight.equal(m(x), plain)
    everywhere.remove()
    Held._forward_pre_hooks = property(lambda self: {1: lambda module, args: (args[0] * 0,)})
    try:
        assert rushlight.equal(m(x), m.layer.bias[None].detach() * m.scale)
    finally:
        del Held._forward_pre_hooks
    call = nn.Module.__call__
    nn.Module.__call__ = lambda self, *args, **kwargs: "another"
    try:
        assert m(x) == "another"
    finally:
        nn.Module.__call__ = call
    assert rushlight.equal(m(x), plain) and rushlight.equal(m.__call__(x), plain)
    assert rushlight.equal(nn.Module.__call__(m, x), plain)
    with pytest.raises(TypeError, match="forward"):
        m(x, 1, 2, 3)


def test_signatures_of_modules_are_those_of_their_calls():
    class Own(nn.Linear):
        def __call__(self, a, *, b=1):
            return a

    for module in (nn.Linear(2, 3), nn.Sequential(nn.ReLU()), Held(), nn.Module()):
        assert str(inspect.signature(module)) == "(*args, **kwargs)"
    assert str(inspect.signature(Own(2, 3))) == "(a, *, b=1)"
    assert list(inspect.signature(nn.Linear).parameters)[:2] == ["in_features", "out_features"]
    assert list(inspect.signature(nn.Linear(2, 3).forward).parameters) == ["input"]
