"""PyTorch's `torch.autograd`: backward, grad, Function, modes and gradient checks."""

from ..core.gradients.differentiate import backward, grad
from ..core.gradients.function import Function, FunctionCtx
from ..core.modes import detect_anomaly, enable_grad, inference_mode, no_grad, set_detect_anomaly, set_grad_enabled
from ..core.public import publish
from ..profiler import ProfilerActivity
from ..profiler.events import DeviceType
from ..profiler.profiler import _profiler_enabled  # noqa: F401 - asked for here
from . import forward_ad, function, functional, grad_mode, graph, profiler
from .grad_mode import set_multithreading_enabled
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable

publish("autograd", "backward", backward)  # the classes of their arguments may answer for them
publish("autograd", "grad", grad)

__all__ = [
    "DeviceType", "Function", "FunctionCtx", "GradcheckError", "ProfilerActivity", "Variable", "backward", "detect_anomaly",
    "enable_grad", "forward_ad", "function", "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck",
    "graph", "inference_mode", "no_grad", "profiler", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled",
]  # fmt: skip
