"""PyTorch's `torch.distributions`: sampling, densities and divergences."""

from importlib import import_module
from typing import Any

from ..base.errors import no_attribute
from ..base.signatures import show_plainly
from . import constraints, transforms
from .categories import (
    Categorical,
    MixtureSameFamily,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from .constraint_registry import biject_to, transform_to
from .counts import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from .distribution import Distribution, ExponentialFamily
from .gammas import Chi2, Exponential, FisherSnedecor, Gamma, GeneralizedPareto, InverseGamma, Pareto, StudentT, Weibull
from .kl import kl_divergence, register_kl
from .line import Cauchy, Gumbel, HalfCauchy, HalfNormal, Laplace, LogNormal, Normal, Uniform, VonMises
from .made_of import Independent, TransformedDistribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from .unit import Beta, ContinuousBernoulli, Dirichlet, Kumaraswamy, LogisticNormal
from .vectors import LKJCholesky, LowRankMultivariateNormal, MultivariateNormal, Wishart

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform",
    "Categorical", "Cauchy", "Chi2", "ComposeTransform", "CorrCholeskyTransform",
    "ContinuousBernoulli", "CumulativeDistributionTransform", "Dirichlet", "Distribution", "ExpTransform",
    "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel",
    "HalfCauchy", "HalfNormal", "Independent", "IndependentTransform", "InverseGamma",
    "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "LowerCholeskyTransform",
    "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson",
    "PositiveDefiniteTransform", "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical",
    "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform",
    "StackTransform", "StickBreakingTransform", "StudentT", "TanhTransform", "Transform",
    "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraints", "identity_transform",
    "kl_divergence", "register_kl", "transform_to", "transforms",
]  # fmt: skip

show_plainly(list(globals().values()))


def __getattr__(name: str) -> Any:
    try:
        return import_module(f"{__name__}.{name}")  # PyTorch's module of one class: a row of _names/aliases.py
    except ModuleNotFoundError:
        raise AttributeError(no_attribute(__name__, name, globals())) from None
