"""`torch.ao.quantization`: rushlight does not quantise; no module is one of these classes."""

from __future__ import annotations

from ..base.refusal import absent_classes, refuser

_LACKS, _INSTEAD = "does not quantise", "Compute in bfloat16 or float16: see rushlight.amp."
_refuse = refuser("ao.quantization", _LACKS, _INSTEAD)
_classes = absent_classes(
    "ao.quantization", _LACKS, _INSTEAD,
    ("DeQuantStub", "FakeQuantize", "FakeQuantizeBase", "MinMaxObserver", "ObserverBase", "QConfig", "QuantStub"),
)  # fmt: skip

DeQuantStub = _classes["DeQuantStub"]
FakeQuantize = _classes["FakeQuantize"]
FakeQuantizeBase = _classes["FakeQuantizeBase"]
MinMaxObserver = _classes["MinMaxObserver"]
ObserverBase = _classes["ObserverBase"]
QConfig = _classes["QConfig"]
QuantStub = _classes["QuantStub"]
convert = _refuse("convert")
get_default_qconfig = _refuse("get_default_qconfig")
prepare = _refuse("prepare")
prepare_qat = _refuse("prepare_qat")
quantize_dynamic = _refuse("quantize_dynamic")
