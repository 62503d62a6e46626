"""NVIDIA's libraries by their own interfaces: cuBLASLt and cuDNN."""
