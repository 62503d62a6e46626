"""`torch.distributed.checkpoint.hf_storage`: safetensors files of several processes."""

from .._one import classes

_NAMES = ("HuggingFaceStorageReader", "HuggingFaceStorageWriter")
globals().update(classes("checkpoint.hf_storage", *_NAMES))
