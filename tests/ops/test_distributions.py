"""Distributions side by side with PyTorch's: numbers drawn, densities, moments, errors, gradients."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import rushlight as rl
from rushlight.operators.random import gamma_draws
from side_by_side import agree


@pytest.fixture(autouse=True)
def _validated():
    """PyTorch's compiler switches validation off when another test imports it."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.distributions.Distribution.set_default_validate_args(True)


T = "torch.tensor"

# constructor with parameters named a, b (leaf tensors), so that gradients can be asked for
MADE = {
    "Normal": ("D.Normal(a, b)", "[0.3, -1.0, 2.0]", "[0.5, 1.0, 2.5]"),
    "Normal-broadcast": ("D.Normal(a, b)", "[[0.3], [-1.0]]", "[0.5, 1.0, 2.5]"),
    "LogNormal": ("D.LogNormal(a, b)", "[0.3, -1.0, 0.2]", "[0.5, 1.0, 0.4]"),
    "HalfNormal": ("D.HalfNormal(b)", "0.0", "[0.5, 1.0, 2.5]"),
    "HalfCauchy": ("D.HalfCauchy(b)", "0.0", "[0.5, 1.0, 2.5]"),
    "Uniform": ("D.Uniform(a, b)", "[-1.0, 0.0]", "[0.5, 3.0]"),
    "Laplace": ("D.Laplace(a, b)", "[-1.0, 0.0]", "[0.5, 3.0]"),
    "Cauchy": ("D.Cauchy(a, b)", "[-1.0, 0.0]", "[0.5, 3.0]"),
    "Gumbel": ("D.Gumbel(a, b)", "[-1.0, 0.0]", "[0.5, 3.0]"),
    "Exponential": ("D.Exponential(b)", "0.0", "[0.5, 3.0]"),
    "Gamma": ("D.Gamma(a, b)", "[0.4, 2.0, 20.0]", "[0.5, 3.0, 1.0]"),
    "InverseGamma": ("D.InverseGamma(a, b)", "[2.4, 3.0, 20.0]", "[0.5, 3.0, 1.0]"),
    "Chi2": ("D.Chi2(b)", "0.0", "[0.5, 3.0]"),
    "FisherSnedecor": ("D.FisherSnedecor(a, b)", "[3.4, 5.0]", "[5.5, 13.0]"),
    "StudentT": ("D.StudentT(b, a, 2.0)", "[-1.0, 0.0]", "[2.5, 3.0]"),
    "Beta": ("D.Beta(a, b)", "[0.4, 2.0, 20.0]", "[0.5, 3.0, 1.0]"),
    "Kumaraswamy": ("D.Kumaraswamy(a, b)", "[1.4, 2.0, 3.0]", "[1.5, 3.0, 1.0]"),
    "Dirichlet": ("D.Dirichlet(a)", "[[0.4, 2.0, 5.0], [1.0, 1.0, 0.3]]", "0.0"),
    "Weibull": ("D.Weibull(a, b)", "[0.4, 2.0]", "[1.5, 3.0]"),
    "Pareto": ("D.Pareto(a, b)", "[0.4, 2.0]", "[2.5, 3.0]"),
    "MultivariateNormal": ("D.MultivariateNormal(a, b)", "[0.4, 2.0]", "[[2.0, 0.5], [0.5, 1.0]]"),
    "MultivariateNormal-batch": (
        "D.MultivariateNormal(a, scale_tril=b)", "[[0.4, 2.0], [1.0, 1.0], [2.0, 0.0]]",
        "[[2.0, 0.0], [0.5, 1.0]]",
    ),
    "MultivariateNormal-precision": (
        "D.MultivariateNormal(a, precision_matrix=b)", "[0.4, 2.0]", "[[2.0, 0.5], [0.5, 1.0]]",
    ),
    "Independent": ("D.Independent(D.Normal(a, b), 1)", "[[0.3, 1.0], [-1.0, 2.0]]", "[0.5, 1.0]"),
    "Transformed": (
        "D.TransformedDistribution(D.Normal(a, b), [D.AffineTransform(1.0, 2.0), D.TanhTransform()])",
        "[0.3, 1.0]", "[0.1, 0.2]",
    ),
    "LogisticNormal": ("D.LogisticNormal(a, b)", "[0.3, -1.0, 2.0]", "[0.5, 1.0, 0.5]"),
    "RelaxedBernoulli": ("D.RelaxedBernoulli(torch.tensor(0.7), probs=a)", "[0.3, 0.6]", "0.0"),
    "RelaxedOneHotCategorical": (
        "D.RelaxedOneHotCategorical(torch.tensor(0.7), logits=a)", "[[0.3, 0.6, 1.0]]", "0.0",
    ),
    "GeneralizedPareto": ("D.GeneralizedPareto(a, b, 0.3)", "[0.0, 1.0, -2.0]", "[1.0, 2.0, 0.5]"),
    "GeneralizedPareto-bounded": ("D.GeneralizedPareto(a, 0.5, b)", "[0.0, -2.0]", "[-0.4, 0.0]"),
    "ContinuousBernoulli": ("D.ContinuousBernoulli(a)", "[0.1, 0.4995, 0.5, 0.7]", "0.0"),
    "ContinuousBernoulli-logits": ("D.ContinuousBernoulli(logits=a)", "[0.1, -3.0, 0.0]", "0.0"),
    "LowRankMultivariateNormal": (
        "D.LowRankMultivariateNormal(a, b, b[:, 0] ** 2 + 0.1)", "[0.4, 2.0, 1.0]", "[[2.0], [0.5], [-1.0]]",
    ),
}  # fmt: skip

DISCRETE = {
    "Categorical-probs": ("D.Categorical(a)", "[[0.3, 0.1, 0.6], [1.0, 1.0, 3.0]]"),
    "Categorical-logits": ("D.Categorical(logits=a)", "[0.3, -0.1, 0.6, 2.0]"),
    "OneHotCategorical": ("D.OneHotCategorical(a)", "[[0.3, 0.1, 0.6], [1.0, 1.0, 3.0]]"),
    "OneHotStraightThrough": ("D.OneHotCategoricalStraightThrough(a)", "[0.3, 0.1, 0.6]"),
    "Bernoulli": ("D.Bernoulli(a)", "[0.3, 0.5, 0.9]"),
    "Bernoulli-logits": ("D.Bernoulli(logits=a)", "[0.3, 0.5, -0.9]"),
    "Geometric": ("D.Geometric(a)", "[0.3, 0.5, 0.9]"),
    "Binomial": ("D.Binomial(torch.tensor([5.0, 50.0, 200.0]), a)", "[0.3, 0.5, 0.9]"),
    "Binomial-same": ("D.Binomial(6, a)", "[0.3, 0.5, 0.9]"),
    "NegativeBinomial": ("D.NegativeBinomial(6, a)", "[0.3, 0.5, 0.9]"),
    "Multinomial": ("D.Multinomial(7, a)", "[[0.3, 0.1, 0.6], [1.0, 1.0, 3.0]]"),
    "Poisson": ("D.Poisson(a)", "[0.3, 5.0, 30.0]"),
    "VonMises": ("D.VonMises(torch.tensor([0.0, 1.0, -3.0], dtype=a.dtype), a)", "[0.5, 20.0, 1e-6]"),
    "LKJCholesky": ("D.LKJCholesky(3, a)", "[0.5, 2.0]"),
    "Mixture": (
        "D.MixtureSameFamily(D.Categorical(a), D.Normal(torch.tensor([0.0, 1.0, 2.0]), 0.5))",
        "[0.3, 0.1, 0.6]",
    ),
}


def made(name: str, dtype: str = "float32") -> str:
    if name in MADE:
        make, a, b = MADE[name]
    else:
        (make, a), b = DISCRETE[name], "0.0"
    if name.startswith("GeneralizedPareto"):
        dtype = "float32"  # PyTorch 2.13 refuses parameters of others
    return (
        f"import warnings\nD = torch.distributions\n"
        f"a = {T}({a}, dtype=torch.{dtype}, requires_grad=True)\n"
        f"b = {T}({b}, dtype=torch.{dtype}, requires_grad=True)\nd = {make}\n"
    )


ATTEMPT = """
def attempt(f):
    try:
        return f()
    except NotImplementedError:
        return "NotImplementedError"
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*MADE, *DISCRETE])
def test_samples_and_densities(name: str, dtype: str) -> None:
    """The same seed gives the same draws, and these the same densities."""
    agree(
        made(name, dtype)
        + """
x = d.sample((4,))
y = d.sample(torch.Size([2, 1]))
r = [x, y, d.log_prob(x), torch.rand(3), x.requires_grad, d.has_rsample]
"""
    )


@pytest.mark.parametrize("name", [*MADE, *DISCRETE])
def test_what_a_distribution_tells_of_itself(name: str) -> None:
    agree(
        made(name)
        + ATTEMPT
        + """
r = [d.batch_shape, d.event_shape, repr(d), repr(d.support), d.has_enumerate_support]
for what in ("mean", "mode", "variance", "stddev"):
    r.append(attempt(lambda: getattr(d, what)))
for what in ("entropy", "perplexity"):
    r.append(attempt(lambda: getattr(d, what)()))
"""
    )


@pytest.mark.parametrize("name", [*MADE, *DISCRETE])
def test_expand(name: str) -> None:
    agree(
        made(name)
        + """
e = d.expand((2, 3) + tuple(d.batch_shape))
x = e.sample((2,))
r = [e.batch_shape, e.event_shape, repr(e), x, e.log_prob(x), type(e).__name__]
"""
    )


@pytest.mark.parametrize("named", ["{}", "{'where': constraints.real}"])
@pytest.mark.parametrize("given", [False, True])
def test_expand_of_a_subclass_with_parameters_of_its_own(named: str, given: bool) -> None:
    agree(
        f"""
constraints = torch.distributions.constraints
class Ordered(torch.distributions.Categorical):
    arg_constraints = {named}
    def __init__(self, where, validate_args=None):
        self.where, self.note = where, where + 1
        super().__init__(torch.stack([where.sigmoid(), 1 - where.sigmoid()], -1), validate_args=validate_args)
    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Ordered, _instance)
        new.where, new.note, new.own = self.where.expand(batch_shape), self.note.expand(batch_shape), 3
        return super().expand(batch_shape, _instance=new)
d = Ordered(torch.tensor([0.1, 0.3]))
kept = d.logits if {given} else None
e = d.expand((3, 2))
r = [repr(e), e.probs, e.logits, e.where, e.note, e.own, e.log_prob(torch.zeros(3, 2))]
"""
    )


def _no_draw_gradient(name: str) -> bool:
    return name in ("Gamma", "InverseGamma", "Chi2", "FisherSnedecor", "StudentT", "Beta", "Dirichlet")


@pytest.mark.parametrize("name", [n for n in MADE if not _no_draw_gradient(n)])
def test_gradients_of_draws(name: str) -> None:
    agree(
        made(name)
        + """
x = d.rsample((5,))
w = torch.linspace(0.5, 1.5, x.numel()).reshape(x.shape)
r = [x, *torch.autograd.grad((x * w).sum(), [a, b], allow_unused=True)]
"""
    )


@pytest.mark.parametrize("name", [n for n in MADE if _no_draw_gradient(n)])
def test_gradients_of_draws_that_torch_approximates(name: str) -> None:
    torch = pytest.importorskip("torch")
    source = (
        made(name, "float64")
        + """
x = d.rsample((50,))
w = torch.linspace(0.5, 1.5, x.numel(), dtype=torch.float64).reshape(x.shape)
r = [g for g in torch.autograd.grad((x * w).sum(), [a, b], allow_unused=True) if g is not None]
"""
    )
    results = []
    for lib in (torch, rl):
        lib.manual_seed(3)
        space = {"torch": lib}
        exec(source, space)
        results.append([g.numpy() for g in space["r"]])
    for want, got in zip(*results):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("name", [*MADE, *DISCRETE])
def test_gradients_of_densities(name: str) -> None:
    agree(
        made(name, "float64")
        + """
x = d.sample((3,))
r = torch.autograd.grad(d.log_prob(x).sum(), [a, b], allow_unused=True)
"""
    )


CUMULATIVE = [
    "Normal", "LogNormal", "HalfNormal", "HalfCauchy", "Uniform", "Laplace", "Cauchy", "Gumbel",
    "Exponential", "Weibull", "Pareto", "Transformed", "Kumaraswamy", "ContinuousBernoulli", "GeneralizedPareto",
]  # fmt: skip


@pytest.mark.parametrize("name", CUMULATIVE)
def test_cumulative_functions(name: str) -> None:
    agree(
        made(name, "float64")
        + """
p = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64).reshape(3, *[1 for _ in d.batch_shape])
x = d.icdf(p)
r = [x, d.cdf(x)]
"""
    )


def test_gamma_and_mixture_cumulative() -> None:
    agree(made("Gamma") + "r = d.cdf(torch.tensor([0.3, 0.5, 17.0]))")
    agree(made("Mixture") + "r = d.cdf(torch.tensor([0.3, 0.5, 1.7]))")
    for f in ("log_cdf", "log_survival_function"):
        agree(made("GeneralizedPareto") + f"r = d.{f}(torch.tensor([0.7, 1.9, 4.0]))")
    agree("r = torch.distributions.GeneralizedPareto(0.0, 1.0, -0.5).log_prob(torch.tensor(5.0))")


@pytest.mark.parametrize("name", ["Categorical-probs", "Bernoulli", "Binomial-same", "OneHotCategorical"])
def test_enumerate_support(name: str) -> None:
    agree(made(name) + "r = [d.enumerate_support(), d.enumerate_support(expand=False)]")


INVALID = [
    "torch.distributions.Normal(0.0, -1.0)",
    "torch.distributions.Normal(torch.zeros(2), torch.tensor([1.0, 0.0]))",
    "torch.distributions.Normal(float('nan'), 1.0)",
    "torch.distributions.Normal('a', 1.0)",
    "torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(float('nan')))",
    "torch.distributions.Normal(0.0, 1.0).log_prob(1.0)",
    "torch.distributions.Normal(torch.zeros(2), 1.0).log_prob(torch.zeros(3))",
    "torch.distributions.Normal(0.0, -1.0, validate_args=False).scale",
    "torch.distributions.Uniform(1.0, 0.0)",
    "torch.distributions.Uniform(0.0, 1.0).log_prob(torch.tensor(2.0))",
    "torch.distributions.Uniform(0.0, 1.0, validate_args=False).log_prob(torch.tensor(2.0))",
    "torch.distributions.Categorical(torch.tensor([-0.5, 1.5]))",
    "torch.distributions.Categorical(torch.tensor(0.5))",
    "torch.distributions.Categorical(logits=torch.tensor(0.5))",
    "torch.distributions.Categorical()",
    "torch.distributions.Categorical(torch.ones(2), torch.ones(2))",
    "torch.distributions.Categorical(logits=torch.tensor([float('nan'), 0.0]))",
    "torch.distributions.Categorical(torch.ones(2)).log_prob(torch.tensor(2))",
    "torch.distributions.Categorical(torch.ones(2)).log_prob(torch.tensor(0.5))",
    "torch.distributions.Categorical(torch.ones(2)).rsample()",
    "torch.distributions.Bernoulli(1.5)",
    "torch.distributions.Bernoulli(0.5).log_prob(torch.tensor(0.5))",
    "torch.distributions.Binomial(-1, torch.tensor(0.5))",
    "torch.distributions.Binomial(torch.tensor([1.0, 2.0]), 0.5).entropy()",
    "torch.distributions.Multinomial(torch.tensor(2), torch.ones(2))",
    "torch.distributions.Poisson(-1.0)",
    "torch.distributions.Exponential(0.0)",
    "torch.distributions.Gamma(1.0, 1.0).log_prob(torch.tensor(-1.0))",
    "torch.distributions.Dirichlet(torch.tensor(1.0))",
    "torch.distributions.Dirichlet(torch.tensor([1.0, -1.0]))",
    "torch.distributions.Dirichlet(torch.ones(2)).log_prob(torch.ones(2))",
    "torch.distributions.Beta(1.0, -1.0)",
    "torch.distributions.Geometric(0.0)",
    "torch.distributions.Independent(torch.distributions.Normal(0.0, 1.0), 1)",
    "torch.distributions.MultivariateNormal(torch.zeros(2))",
    "torch.distributions.MultivariateNormal(torch.zeros(()), torch.eye(2))",
    "torch.distributions.MultivariateNormal(torch.zeros(2), torch.zeros(2))",
    "torch.distributions.MultivariateNormal(torch.zeros(2), -torch.eye(2))",
    "torch.distributions.MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2, 2))",
    "torch.distributions.TransformedDistribution(torch.distributions.Normal(0.0, 1.0), 3)",
    "torch.distributions.kl_divergence(torch.distributions.Cauchy(0.0, 1.0), torch.distributions.Poisson(1.0))",
    "torch.distributions.constraints.dependent.check(torch.ones(2))",
]


@pytest.mark.parametrize("source", INVALID)
def test_refusals(source: str) -> None:
    agree(f"import torch as _\nr = {source}".replace("import torch as _\n", ""))


PAIRS = [
    ("Normal(a, b)", "Normal(b, a)"),
    ("LogNormal(a, b)", "LogNormal(b, a)"),
    ("HalfNormal(a)", "HalfNormal(b)"),
    ("Gamma(a, b)", "Gamma(b, a)"),
    ("Beta(a, b)", "Beta(b, a)"),
    ("Dirichlet(a)", "Dirichlet(b)"),
    ("Exponential(a)", "Exponential(b)"),
    ("Exponential(a)", "Gamma(a, b)"),
    ("Exponential(a)", "Normal(a, b)"),
    ("Gamma(a, b)", "Exponential(b)"),
    ("Laplace(a, b)", "Laplace(b, a)"),
    ("Laplace(a, b)", "Normal(b, a)"),
    ("Normal(a, b)", "Laplace(b, a)"),
    ("Uniform(a, a + 1)", "Uniform(a - 1, a + b)"),
    ("Uniform(a, a + 1)", "Normal(b, a)"),
    ("Cauchy(a, b)", "Cauchy(b, a)"),
    ("Gumbel(a, b)", "Gumbel(b, a)"),
    ("Poisson(a)", "Poisson(b)"),
    ("Geometric(a / 4)", "Geometric(b / 4)"),
    ("Bernoulli(a / 4)", "Bernoulli(b / 4)"),
    ("Bernoulli(a / 4)", "Poisson(b)"),
    ("Bernoulli(torch.tensor([0.0, 1.0, 0.5]))", "Bernoulli(torch.tensor([0.0, 0.5, 1.0]))"),
    ("Binomial(5, a / 4)", "Binomial(5, b / 4)"),
    ("Categorical(a)", "Categorical(b)"),
    ("Categorical(torch.tensor([0.0, 1.0]))", "Categorical(torch.tensor([0.5, 0.5]))"),
    ("Categorical(torch.tensor([0.5, 0.5]))", "Categorical(torch.tensor([0.0, 1.0]))"),
    ("OneHotCategorical(a)", "OneHotCategorical(b)"),
    ("Normal(a, b)", "Gamma(b, a)"),
    ("Exponential(a)", "Uniform(a, a + 1)"),
    ("MultivariateNormal(a, torch.eye(3) * 2)", "MultivariateNormal(b, torch.eye(3) + 0.5)"),
    ("Independent(D.Normal(a, b), 1)", "Independent(D.Normal(b, a), 1)"),
]


@pytest.mark.parametrize("p,q", PAIRS)
def test_divergences(p: str, q: str) -> None:
    agree(
        f"""
D = torch.distributions
a = torch.tensor([0.7, 1.2, 3.0], requires_grad=True)
b = torch.tensor([1.5, 0.4, 2.0], requires_grad=True)
kl = D.kl_divergence(D.{p}, D.{q})
r = [kl]
if kl.requires_grad:
    r += torch.autograd.grad(kl.sum(), [a, b], allow_unused=True)
"""
    )


def test_divergences_of_subclasses_and_registered_ones() -> None:
    agree(
        """
D = torch.distributions
class Mine(D.Normal):
    pass
before = D.kl_divergence(Mine(0.0, 1.0), D.Normal(1.0, 1.0))
@D.register_kl(Mine, D.Normal)
def rule(p, q):
    return torch.tensor(7.0)
r = [before, D.kl_divergence(Mine(0.0, 1.0), D.Normal(1.0, 1.0))]
"""
    )


CONSTRAINTS = [
    ("boolean", "[0.0, 1.0, 2.0]"), ("one_hot", "[[0.0, 1.0], [1.0, 1.0]]"),
    ("positive", "[0.0, 1.0, -1.0]"), ("nonnegative", "[0.0, 1.0, -1.0]"),
    ("nonnegative_integer", "[0.0, 1.5, -1.0]"), ("positive_integer", "[0.0, 1.0, 1.5]"),
    ("real", "[0.0, float('nan'), float('inf')]"), ("real_vector", "[[0.0, float('nan')], [1.0, 2.0]]"),
    ("unit_interval", "[0.0, 1.0, 1.5]"), ("interval(-1.0, 2.0)", "[-2.0, 1.0, 2.0]"),
    ("half_open_interval(-1.0, 2.0)", "[-1.0, 1.0, 2.0]"), ("less_than(2.0)", "[-1.0, 1.0, 2.0]"),
    ("greater_than(2.0)", "[-1.0, 3.0, 2.0]"), ("greater_than_eq(2.0)", "[-1.0, 3.0, 2.0]"),
    ("integer_interval(0, 3)", "[-1.0, 3.0, 2.5]"), ("multinomial(3)", "[[1.0, 3.0], [2.0, 1.0]]"),
    ("simplex", "[[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]]"),
    ("lower_triangular", "[[1.0, 0.0], [1.0, -1.0]]"), ("lower_cholesky", "[[1.0, 0.0], [1.0, -1.0]]"),
    ("corr_cholesky", "[[1.0, 0.0], [0.6, 0.8]]"), ("positive_definite", "[[1.0, 0.0], [0.0, 1.0]]"),
    ("positive_semidefinite", "[[1.0, 1.0], [1.0, 1.0]]"), ("symmetric", "[[1.0, 0.5], [0.2, 1.0]]"),
    ("square", "[[1.0, 0.5]]"), ("stack([C.real, C.positive], 0)", "[[1.0, -1.0], [2.0, -2.0]]"),
    ("cat([C.real, C.positive], 0, [1, 1])", "[-1.0, -2.0]"), ("independent(C.positive, 1)", "[[1.0, -1.0]]"),
]  # fmt: skip


@pytest.mark.parametrize("constraint,value", CONSTRAINTS)
def test_constraints(constraint: str, value: str) -> None:
    agree(
        f"""
C = torch.distributions.constraints
c = C.{constraint}
r = [c.check(torch.tensor({value})), c.event_dim, c.is_discrete]
if {constraint!r}[:3] not in ("cat", "sta"):
    r.append(repr(c))
"""
    )


TRANSFORMS = [
    ("ExpTransform()", "[0.5, -1.0]"), ("AffineTransform(1.0, -2.0)", "[0.5, -1.0]"),
    ("AffineTransform(torch.tensor([1.0, 0.0]), torch.tensor([2.0, 3.0]), event_dim=1)", "[0.5, -1.0]"),
    ("PowerTransform(torch.tensor(2.0))", "[0.5, 1.0]"), ("SigmoidTransform()", "[0.5, -1.0]"),
    ("TanhTransform()", "[0.5, -1.0]"), ("SoftplusTransform()", "[0.5, -1.0]"),
    ("StickBreakingTransform()", "[[0.5, -1.0, 2.0]]"), ("ReshapeTransform((2,), (1, 2))", "[0.5, -1.0]"),
    ("ExpTransform().inv", "[0.5, 1.0]"), ("CorrCholeskyTransform()", "[0.5, -1.0, 0.3]"),
    ("ComposeTransform([T.AffineTransform(1.0, 2.0), T.ExpTransform()])", "[0.5, -1.0]"),
    ("IndependentTransform(T.ExpTransform(), 1)", "[0.5, -1.0]"),
    ("CatTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)], 0, [1, 1])", "[0.5, -1.0]"),
    ("StackTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)], 0)", "[0.5, -1.0]"),
    ("CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))", "[0.5, -1.0]"),
    ("identity_transform", "[0.5, -1.0]"),
]  # fmt: skip


@pytest.mark.parametrize("transform,value", TRANSFORMS)
def test_transforms(transform: str, value: str) -> None:
    agree(
        f"""
T = torch.distributions.transforms
t = T.{transform}
x = torch.tensor({value}, requires_grad=True)
y = t(x)
r = [y, t.inv(y), t.log_abs_det_jacobian(x, y), t.bijective, t.forward_shape(x.shape), t.inv.inv is t]
"""
    )


def test_transforms_without_volume_and_with_a_cache() -> None:
    agree(
        """
T = torch.distributions.transforms
x = torch.tensor([0.5, -1.0, 2.0])
s = T.SoftmaxTransform()
m = torch.tensor([[0.5, 1.0], [2.0, -1.0]])
c = T.ExpTransform(cache_size=1)
y = c(x)
r = [s(x), s.inv(s(x)), T.AbsTransform()(x), T.LowerCholeskyTransform()(m), c.inv(y) is x,
     T.PositiveDefiniteTransform()(m), T.ExpTransform() == T.ExpTransform(),
     T.AffineTransform(0, 1) == T.AffineTransform(0, 2)]
"""
    )


def test_registered_transforms_reach_their_constraint() -> None:
    agree(
        """
D = torch.distributions
C = D.constraints
x = torch.tensor([[0.5, -1.0], [2.0, 1.0]])
r = []
for name in ("real", "positive", "unit_interval", "simplex", "real_vector"):
    for registry in (D.biject_to, D.transform_to):
        y = registry(getattr(C, name))(x)
        r += [y, getattr(C, name).check(y)]
r += [D.transform_to(C.interval(-1.0, 3.0))(x), D.transform_to(C.less_than(3.0))(x)]
r += [D.transform_to(C.greater_than(1.0))(x), D.transform_to(C.lower_cholesky)(x)]
"""
    )


def test_import_paths_of_classes() -> None:
    agree(
        """
import importlib
r = []
for path in ("normal.Normal", "categorical.Categorical", "poisson.Poisson", "binomial.Binomial",
             "multinomial.Multinomial", "studentT.StudentT", "kl.kl_divergence", "utils.broadcast_all",
             "multivariate_normal.MultivariateNormal", "relaxed_categorical.RelaxedOneHotCategorical",
             "constraint_registry.biject_to", "exp_family.ExponentialFamily", "transforms.Transform"):
    module, _, name = path.rpartition(".")
    r.append(getattr(importlib.import_module(torch.__name__ + ".distributions." + module), name).__name__
             if name != "biject_to" else name)
"""
    )


def test_validation_can_be_switched_off_for_all() -> None:
    agree(
        """
D = torch.distributions
D.Distribution.set_default_validate_args(False)
try:
    r = D.Normal(0.0, -1.0).scale
finally:
    D.Distribution.set_default_validate_args(True)
"""
    )


def test_gradient_of_gamma_draws_keeps_the_cumulative_probability() -> None:
    """dx/da is the direction in which P(a, x) stays what it is."""
    rng = np.random.RandomState(0)
    a = np.exp(rng.uniform(-3, 5, 400))
    x = np.maximum(rng.gamma(a), 1e-200)
    slope = gamma_draws.standard_gamma_grad(rl.tensor(a), rl.tensor(x)).numpy()

    def cumulative(a: np.ndarray, x: np.ndarray) -> np.ndarray:
        return rl.special.gammainc(rl.tensor(a), rl.tensor(x)).numpy()

    h = 1e-5 * a
    along = (cumulative(a + h, x) - cumulative(a - h, x)) / (2 * h)
    k = 1e-5 * x
    density = (cumulative(a, x + k) - cumulative(a, x - k)) / (2 * k)
    middle = (cumulative(a, x) > 0.01) & (cumulative(a, x) < 0.99)
    np.testing.assert_allclose(slope[middle], (-along / density)[middle], rtol=1e-5)


def test_gradient_of_beta_draws_where_it_is_known() -> None:
    """Beta(a, 1) is u ** (1 / a), whose derivative is -x log(x) / a."""
    rng = np.random.RandomState(0)
    a = np.exp(rng.uniform(-3, 6, 500))
    x = np.minimum(rng.uniform(0, 1, 500) ** (1 / a), 1 - 1e-12)
    slope = gamma_draws.dirichlet_grad(rl.tensor(x), rl.tensor(a), rl.tensor(a + 1)).numpy()
    np.testing.assert_allclose(slope * (1 - x), -x * np.log(x) / a, rtol=1e-6)


def test_gradient_of_beta_draws_by_brute_force() -> None:
    """One thin case, x near 1 with a small second parameter, by a plain sum over a fine grid."""
    a, b, x = 3.0, 0.1, 0.999
    s = np.linspace(0, 400, 2_000_001)  # 1 - t = (1 - x) exp(-s)
    t = 1 - (1 - x) * np.exp(-s)
    centre = float(rl.tensor(a).digamma() - rl.tensor(a + b).digamma())
    f = np.exp(-b * s + (a - 1) * np.log(t / x)) * (np.log(t) - centre)
    want = np.sum((f[1:] + f[:-1]) / 2) * (s[1] - s[0])
    got = gamma_draws.dirichlet_grad(rl.tensor(x).double(), rl.tensor(a), rl.tensor(a + b))
    np.testing.assert_allclose(float(got), want, rtol=1e-4)


def test_second_derivatives_of_gamma_draws_are_refused() -> None:
    a = rl.tensor([2.0], requires_grad=True)
    (g,) = rl.autograd.grad(rl.distributions.Gamma(a, 1.0).rsample().sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for '_standard_gamma_grad' is not implemented"):
        rl.autograd.grad(g.sum(), a)


def test_binomial_stream_and_refusals() -> None:
    agree(
        """
c = torch.tensor([0.0, 3.0, 40.0, 500.0, -1.0, 7.0])
p = torch.tensor([0.5, 0.2, 0.7, 0.5, 0.5, 1.0])
r = [torch.binomial(c, p), torch.binomial(c.double(), p.double()), torch.rand(2)]
"""
    )
    agree("r = torch.binomial(torch.ones(2, dtype=torch.int64), torch.ones(2))")
    agree("r = torch.binomial(torch.tensor([1.0]), torch.tensor([float('nan')]))")


def test_reinforce_step() -> None:
    """The use of most scripts: an action drawn, its log probability weighted and differentiated."""
    agree(
        """
net = nn.Linear(4, 3)
x = torch.randn(8, 4)
m = torch.distributions.Categorical(F.softmax(net(x), dim=-1))
action = m.sample()
loss = -(m.log_prob(action) * torch.linspace(-1, 1, 8)).mean() - 0.01 * m.entropy().mean()
loss.backward()
r = [action, loss, net.weight.grad, net.bias.grad]
"""
    )


def test_variational_step() -> None:
    agree(
        """
D = torch.distributions
net = nn.Linear(4, 6)
mean, log = net(torch.randn(5, 4)).chunk(2, -1)
q = D.Independent(D.Normal(mean, F.softplus(log)), 1)
z = q.rsample()
prior = D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1)
loss = (D.kl_divergence(q, prior) + (z ** 2).sum(-1)).mean()
loss.backward()
r = [z, loss, net.weight.grad]
"""
    )


def test_divergence_of_exponential_families_by_their_normalizers() -> None:
    """A family without a rule of its own takes the general way, and says which pairs it cannot."""
    from rushlight.distributions import ExponentialFamily, Gamma, Normal, Poisson, kl

    p, q = Gamma(rl.tensor([2.0, 3.0]), 1.5), Gamma(rl.tensor([1.0, 4.0]), 2.5)
    general = kl._KL_REGISTRY[ExponentialFamily, ExponentialFamily](p, q)
    np.testing.assert_allclose(general.detach().numpy(), kl.kl_divergence(p, q).numpy(), rtol=1e-5)
    with pytest.raises(NotImplementedError, match="between different exponential families"):
        kl.kl_divergence(Normal(0.0, 1.0), Poisson(1.0))


@pytest.mark.parametrize("name", ["xlogy", "special.xlog1py"])
def test_gradient_of_xlogy_at_zero(name: str) -> None:
    agree(
        f"""
x = torch.tensor([0.0, 0.0, 0.0, 0.0, 2.0], requires_grad=True)
y = torch.tensor([2.0, 0.0, -0.5, -2.0, 0.5])
torch.{name}(x, y).sum().backward()
r = x.grad
"""
    )


def test_absent_distributions_say_so() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Parreto'. Did you mean: 'Pareto'"):
        rl.distributions.Parreto  # noqa: B018
