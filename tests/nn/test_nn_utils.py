"""nn.utils, nn.init and nn.attention against PyTorch."""

from __future__ import annotations

import pytest

import rushlight
from rushlight import nn
from side_by_side import agree

SETUP = """
m = nn.Linear(3, 2)
U = nn.utils
x = torch.arange(12.).reshape(4, 3) / 10
def step():
    m(x).pow(2).sum().backward()
"""

SAME = {
    "clip norm": "step(); r = [U.clip_grad_norm_(m.parameters(), 0.5), m.weight.grad, m.bias.grad]",
    "clip norm inf": "step(); r = [U.clip_grad_norm_(m.parameters(), 0.5, float('inf')), m.weight.grad]",
    "clip norm 1": "step(); r = [U.clip_grad_norm_(list(m.parameters()), 0.5, norm_type=1), m.weight.grad]",
    "clip norm tensor": "step(); r = [U.clip_grad_norm_(m.weight, 100.0), m.weight.grad]",
    "clip norm empty": "r = U.clip_grad_norm_([], 1.0)",
    "clip norm no grads": "r = U.clip_grad_norm_(m.parameters(), 1.0)",
    "clip norm generator empty": "r = U.clip_grad_norm_((p for p in []), 1.0)",
    "clip norm nonfinite": "step(); m.weight.grad[0, 0] = float('inf'); U.clip_grad_norm_(m.parameters(), 1.0, error_if_nonfinite=True)",
    "clip norm old": "step(); r = U.clip_grad_norm(m.parameters(), 0.5)",
    "clip value": "step(); U.clip_grad_value_(m.parameters(), 0.3); r = [m.weight.grad, m.bias.grad]",
    "total norm": "r = U.get_total_norm([torch.ones(3), 2 * torch.ones(2, 2)])",
    "total norm p": "r = U.get_total_norm([torch.ones(3), 2 * torch.ones(2, 2)], 3.0)",
    "vector": "r = U.parameters_to_vector(m.parameters())",
    "vector back": "U.vector_to_parameters(torch.arange(8.), m.parameters()); r = [m.weight, m.bias, m.weight.requires_grad]",
    "vector wrong": "U.vector_to_parameters(3, m.parameters())",
    "weight norm": "U.weight_norm(m); r = [sorted(m.state_dict()), m(x), m.weight_g, m.weight_v]",
    "weight norm backward": "U.weight_norm(m); step(); r = [m.weight_g.grad, m.weight_v.grad]",
    "weight norm dim None": "U.weight_norm(m, dim=None); r = [m(x), m.weight_g]",
    "weight norm removed": "U.weight_norm(m); U.remove_weight_norm(m); r = [list(m.state_dict()), m(x), len(m._forward_pre_hooks)]",
    "weight norm twice": "U.weight_norm(U.weight_norm(m))",
    "weight norm not there": "U.remove_weight_norm(m)",
    "parametrized weight norm": "U.parametrizations.weight_norm(m); step(); p = m.parametrizations.weight; r = [list(m.state_dict()), repr(m), m(x), p.original0.grad, p.original1.grad]",
    "parametrized weight norm loads old": "n = nn.Linear(3, 2); U.parametrizations.weight_norm(m); r = str(m.load_state_dict({'bias': n.bias.detach(), 'weight_g': torch.ones(2, 1), 'weight_v': n.weight.detach()}))",
    "spectral norm": "U.spectral_norm(m); r = [m(x), m(x), sorted(m.state_dict()), m.weight_u]; step(); r.append(m.weight_orig.grad)",
    "spectral norm eval": "U.spectral_norm(m); m(x); m(x); m.eval(); r = [m(x), m(x)]",
    "spectral norm removed": "U.spectral_norm(m); m(x); U.remove_spectral_norm(m); r = [list(m.state_dict()), m(x)]",
    "spectral norm conv transpose": "c = U.spectral_norm(nn.ConvTranspose1d(3, 2, 2)); r = c(torch.ones(1, 3, 4))",
    "parametrized spectral norm": "U.parametrizations.spectral_norm(m); step(); r = [m(x), list(m.state_dict()), repr(m), m.parametrizations.weight.original.grad]",
    "parametrized spectral norm conv": "c = U.parametrizations.spectral_norm(nn.Conv2d(2, 3, 2), n_power_iterations=3); r = c(torch.ones(1, 2, 4, 4))",
    "parametrize": """
        class Sym(nn.Module):
            def forward(self, X): return X.triu() + X.triu(1).transpose(-1, -2)
            def right_inverse(self, A): return A.triu()
        l = nn.Linear(3, 3)
        P = U.parametrize
        P.register_parametrization(l, 'weight', Sym())
        r = [repr(l), l.weight, P.is_parametrized(l), P.is_parametrized(l, 'bias'), list(l.state_dict()), type(l).__name__,
             P.type_before_parametrizations(l).__name__, [n for n, _ in l.named_parameters()]]
        l.weight = torch.ones(3, 3) * 2
        r += [l.parametrizations.weight.original]
        with P.cached():
            r.append(l.weight is l.weight)
        l(torch.ones(1, 3)).sum().backward(); r.append(l.parametrizations.weight.original.grad)
        P.remove_parametrizations(l, 'weight'); r += [repr(l), l.weight, list(l.state_dict()), P.is_parametrized(l)]""",
    "parametrize two": """
        class Add(nn.Module):
            def forward(self, X): return X + 1
            def right_inverse(self, X): return X - 1
        P = U.parametrize
        P.register_parametrization(m, 'weight', Add()); P.register_parametrization(m, 'weight', Add()); w = m.weight
        P.register_parametrization(m, 'bias', Add()); r = [w, m.weight, m.bias, repr(m)]
        P.remove_parametrizations(m, 'weight', leave_parametrized=False); r += [m.weight, list(m.state_dict())]""",
    "parametrize unknown": "U.parametrize.register_parametrization(m, 'nothing', nn.ReLU())",
    "parametrize shape": """
        class Bad(nn.Module):
            def forward(self, X): return X[:1]
        U.parametrize.register_parametrization(m, 'weight', Bad())""",
    "parametrize deepcopy": "U.parametrizations.weight_norm(m); n = copy.deepcopy(m); r = [n(x), type(n).__name__]",
    "parametrize no inverse": """
        class Half(nn.Module):
            def forward(self, X): return X / 2
        U.parametrize.register_parametrization(m, 'weight', Half()); m.weight = torch.ones(2, 3)""",
    "remove not parametrized": "U.parametrize.remove_parametrizations(m, 'weight')",
    "skip init": "n = U.skip_init(nn.Linear, 3, 2); r = [tuple(n.weight.shape), str(n.weight.device), n.weight.requires_grad]",
    "skip init wrong": "U.skip_init(nn.ReLU)",
    "functional_call": "r = [U.stateless.functional_call(m, {'weight': torch.ones(2, 3)}, x), m.weight]",
    "functional_call kwargs": "r = U.stateless.functional_call(m, {'weight': torch.ones(2, 3), 'bias': torch.ones(2)}, (), {'input': x})",
    "functional_call grad": "w = torch.ones(2, 3, requires_grad=True); U.stateless.functional_call(m, {'weight': w}, x).sum().backward(); r = [w.grad, m.weight.grad is None]",
    "functional_call strict": "U.stateless.functional_call(m, {'weight': torch.ones(2, 3)}, x, strict=True)",
    "functional_call tied": "s = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)); s[1].weight = s[0].weight; r = U.stateless.functional_call(s, {'0.weight': torch.ones(3, 3)}, x)",
    "functional_call restores": "w = m.weight\ntry:\n    U.stateless.functional_call(m, {'weight': torch.ones(2, 9)}, x)\nexcept RuntimeError:\n    r = m.weight is w",
    "fuse conv bn": """
        c, b = nn.Conv2d(2, 3, 2, bias=False), nn.BatchNorm2d(3)
        b.running_mean.copy_(torch.arange(3.)); b.running_var.copy_(torch.arange(1., 4.))
        f = U.fuse_conv_bn_eval(c.eval(), b.eval()); y = torch.arange(32.).reshape(1, 2, 4, 4) / 32
        r = [f(y), b(c(y)), repr(f)]""",
    "fuse conv transpose bn": """
        c, b = nn.ConvTranspose1d(2, 3, 2), nn.BatchNorm1d(3)
        b.running_mean.copy_(torch.arange(3.)); f = U.fuse_conv_bn_eval(c.eval(), b.eval(), transpose=True)
        r = f(torch.ones(1, 2, 4))""",
    "fuse linear bn": "b = nn.BatchNorm1d(2); b.running_mean.fill_(0.5); r = U.fuse_linear_bn_eval(m.eval(), b.eval())(x)",
    "fuse training": "U.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))",
    "consume prefix": "s = OrderedDict({'module.a': 1, 'b': 2}); nn.modules.utils.consume_prefix_in_state_dict_if_present(s, 'module.'); r = dict(s)",
}


@pytest.mark.parametrize("name", SAME)
def test_same_as_torch(name: str) -> None:
    import textwrap

    agree(SETUP + textwrap.dedent(SAME[name]))


@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_same_as_torch(kind: str | None, shape: tuple, trivial: bool) -> None:
    agree(
        f"""
        m = nn.Linear{shape}
        nn.utils.parametrizations.orthogonal(m, 'weight', {kind!r}, use_trivialization={trivial})
        r = [m.weight, list(m.state_dict()), repr(m)]
        m(torch.ones(1, {shape[0]})).pow(2).sum().backward()
        r.append(m.parametrizations.weight.original.grad)
        """
    )


INIT = {
    "uniform": "nn.init.uniform_(t, -1, 2)",
    "normal": "nn.init.normal_(t, 1, 2)",
    "trunc": "nn.init.trunc_normal_(t)",
    "trunc far": "nn.init.trunc_normal_(t, 9.0, 1.0)",
    "trunc long": "nn.init.trunc_normal_(torch.empty(300), 0.3, 1.5, -1.0, 1.0)",
    "trunc tail": "nn.init.trunc_normal_(torch.empty(50), -3.0, 0.5, -2.0, 2.0)",
    "trunc double": "nn.init.trunc_normal_(torch.empty(50, dtype=torch.float64), std=0.02)",
    "trunc inside": "nn.init.trunc_normal_(torch.empty(50), 0.0, 8.0)",
    "trunc narrow": "nn.init.trunc_normal_(t, 0.1, 0.5, -0.5, 0.7)",
    "constant": "nn.init.constant_(t, 0.3)",
    "ones": "nn.init.ones_(t)",
    "zeros": "nn.init.zeros_(t)",
    "eye": "nn.init.eye_(t)",
    "eye 3d": "nn.init.eye_(c)",
    "dirac": "nn.init.dirac_(c)",
    "dirac groups": "nn.init.dirac_(c, 2)",
    "dirac wrong": "nn.init.dirac_(t)",
    "dirac groups wrong": "nn.init.dirac_(c, 3)",
    "xavier uniform": "nn.init.xavier_uniform_(t, 1.3)",
    "xavier normal": "nn.init.xavier_normal_(c, 1.3)",
    "kaiming uniform": "nn.init.kaiming_uniform_(c, mode='fan_out', nonlinearity='relu')",
    "kaiming normal": "nn.init.kaiming_normal_(t, a=0.2)",
    "kaiming mode": "nn.init.kaiming_normal_(t, mode='fan')",
    "kaiming empty": "nn.init.kaiming_normal_(torch.empty(0, 3))",
    "fan 1d": "nn.init.xavier_uniform_(torch.empty(3))",
    "orthogonal": "nn.init.orthogonal_(t)",
    "orthogonal tall": "nn.init.orthogonal_(torch.empty(7, 3), 2.0)",
    "orthogonal 4d": "nn.init.orthogonal_(torch.empty(2, 3, 2, 2))",
    "orthogonal 1d": "nn.init.orthogonal_(torch.empty(7))",
    "sparse": "nn.init.sparse_(t, 0.5)",
    "gains": "[nn.init.calculate_gain(n) for n in ('linear', 'conv2d', 'sigmoid', 'tanh', 'relu', 'leaky_relu', 'selu')]",
    "gain slope": "nn.init.calculate_gain('leaky_relu', 0.3)",
    "gain wrong": "nn.init.calculate_gain('what')",
    "gain not a number": "nn.init.calculate_gain('leaky_relu', True)",
    "old name": "nn.init.uniform(t)",
    "old kaiming": "nn.init.kaiming_normal(t)",
    "generator": "nn.init.normal_(t, generator=torch.Generator().manual_seed(5))",
    "parameter": "nn.init.ones_(nn.Parameter(torch.zeros(2)))",
}


@pytest.mark.parametrize("name", INIT)
def test_init(name: str) -> None:
    agree(f"t, c = torch.empty(4, 6), torch.empty(4, 4, 3)\nr = {INIT[name]}")


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_orthogonal_parametrization(kind: str, shape: tuple[int, int]) -> None:
    layer = nn.Linear(shape[1], shape[0])
    nn.utils.parametrizations.orthogonal(layer, orthogonal_map=kind)
    optimiser_moves = layer.parametrizations.weight.original
    for _ in range(2):
        w = layer.weight.detach()
        tall = w if shape[0] >= shape[1] else w.t()
        gram = tall.t() @ tall
        assert (gram - rushlight.eye(min(shape))).abs().max().item() < 1e-5
        layer(rushlight.ones(1, shape[1])).sum().backward()
        with rushlight.no_grad():
            optimiser_moves.sub_(0.1 * optimiser_moves.grad)


def test_sdpa_kernel() -> None:
    from rushlight.nn.attention import SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel

    before = _cur_sdpa_kernel_backends()
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert _cur_sdpa_kernel_backends() == [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
    assert _cur_sdpa_kernel_backends() == before
    with pytest.raises(AssertionError), sdpa_kernel("math"):  # type: ignore[arg-type]
        pass
