"""`torch.fx.experimental`: names that libraries ask for beside the tracer."""
