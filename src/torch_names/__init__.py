"""PyTorch's names that are no engine: the folder `rushlight/fx` here is imported as `rushlight.fx`."""

raise ImportError("import rushlight.fx, not torch_names.rushlight.fx: two copies would be two classes")
