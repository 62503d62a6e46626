"""`torch.utils.deterministic`: what uninitialised memory holds in deterministic mode."""

from ..backends._switch import install, setting

install(__name__, fill_uninitialized_memory=setting("fill_uninitialized"))
