"""`torch.xpu`: Intel GPUs, which rushlight does not use."""

from ._names.absent_device import absent as _absent

globals().update(_absent("xpu"))
