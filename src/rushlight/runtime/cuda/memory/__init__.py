"""Memory of the GPU and the streams that order its use: the pool, copies to and from the host."""
