"""`torch.quantization`: the older path of `torch.ao.quantization`."""

from .ao.quantization import (
    DeQuantStub,
    FakeQuantize,
    FakeQuantizeBase,
    MinMaxObserver,
    ObserverBase,
    QConfig,
    QuantStub,
    convert,
    get_default_qconfig,
    prepare,
    prepare_qat,
    quantize_dynamic,
)

__all__ = [
    "DeQuantStub", "FakeQuantize", "FakeQuantizeBase", "MinMaxObserver", "ObserverBase", "QConfig", "QuantStub",
    "convert", "get_default_qconfig", "prepare", "prepare_qat", "quantize_dynamic",
]  # fmt: skip
