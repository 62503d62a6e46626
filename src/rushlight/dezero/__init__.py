"""DeZero, the framework of the book "Deep Learning from Scratch 3", on rushlight's engine."""

# Set to True to read steps 23 to 32 of the book with the simple core, as the book does.
is_simple_core = False

if is_simple_core:
    from .core_simple import Config, Function, Variable, as_array, as_variable, no_grad, setup_variable, using_config
else:
    from . import cuda, dataloaders, datasets, functions, functions_conv, layers, models, optimizers, transforms, utils
    from .core import (  # type: ignore[assignment]
        Config,
        Function,
        Parameter,
        Variable,
        as_array,
        as_variable,
        no_grad,
        setup_variable,
        test_mode,
        using_config,
    )
    from .dataloaders import DataLoader, SeqDataLoader
    from .datasets import Dataset
    from .layers import Layer
    from .models import Model

setup_variable()
if not is_simple_core:
    from . import core as _core
    from ._usual import usual as _usual

    _usual.know_all(_core, functions, layers)
__version__ = "0.0.13"  # of the DeZero whose API this is

__all__ = [
    "Config", "DataLoader", "Dataset", "Function", "Layer", "Model", "Parameter", "SeqDataLoader",
    "Variable", "as_array", "as_variable", "cuda", "dataloaders", "datasets", "functions",
    "functions_conv", "is_simple_core", "layers", "models", "no_grad", "optimizers",
    "setup_variable", "test_mode", "transforms", "using_config", "utils",
]  # fmt: skip
