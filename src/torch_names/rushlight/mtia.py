"""`torch.mtia`: Meta's accelerators, which rushlight does not use."""

from ._names.absent_device import absent as _absent

globals().update(_absent("mtia"))
