"""The names of public modules that are looked up late, and what is said of those that PyTorch has and we lack."""
