"""oneDNN through ctypes: the library, and the kernels that use it."""
