"""`torch._dynamo.exc`: exceptions that libraries catch around compiled calls."""


class TorchDynamoException(RuntimeError):
    """The base of what PyTorch's compiler raises; rushlight falls back to eager mode instead."""


class Unsupported(TorchDynamoException):
    """Something that cannot be compiled."""


class TorchRuntimeError(TorchDynamoException):
    """What an operation of a compiled function raises, in PyTorch; here the error comes as it is."""


class RecompileError(TorchDynamoException):
    """A second compilation that was forbidden."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend that failed."""
