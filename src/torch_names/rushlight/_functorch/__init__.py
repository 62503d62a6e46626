"""`torch._functorch`: the inner home of the transforms of `torch.func`."""
