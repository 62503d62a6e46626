"""`torch.distributed.device_mesh`: the devices of several processes."""

from ._one import classes, functions

globals().update(classes("device_mesh", "DeviceMesh"))
globals().update(functions("device_mesh", "init_device_mesh"))
