// Gated linear units: the first half of a dim times the sigmoid of the second, and the gradients of both halves.
// x is (outer, 2, inner) without gaps, out and g are (outer, inner); `count` is outer * inner.
__device__ __forceinline__ A logistic(A v) { return (A)1 / ((A)1 + exp(-v)); }

KERNEL(glu)(const T* __restrict__ x, T* __restrict__ out, i64 count, i64 inner) {
    depend();
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const i64 first = i + i / inner * inner;
        out[i] = dn(up(x[first]) * logistic(up(x[first + inner])));
    }
}

KERNEL(glu_grad)(const T* __restrict__ g, const T* __restrict__ x, T* __restrict__ gx, i64 count, i64 inner) {
    depend();
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const i64 first = i + i / inner * inner;
        const A v = up(g[i]), gate = logistic(up(x[first + inner]));
        gx[first] = dn(v * gate);
        gx[first + inner] = dn((1 - gate) * gate * v * up(x[first]));
    }
}
