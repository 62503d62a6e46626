"""`torch.testing._internal`: what libraries' tests take from PyTorch's own."""
