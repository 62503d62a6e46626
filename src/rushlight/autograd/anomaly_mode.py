"""`torch.autograd.anomaly_mode`: where PyTorch keeps what looks for a mistake in a backward pass."""

from ..core.modes import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
