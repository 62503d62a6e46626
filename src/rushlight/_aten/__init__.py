"""PyTorch's inner operators, `torch.ops.aten`: their names, what computes them, and which kernel of ours is which."""
