// Short vectors, each by one thread: cross products. Before this file stand the prelude and S,
// the element type.
typedef Wide<S>::type T;
#define EVERY(i, count) \
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (count); i += (i64)gridDim.x * blockDim.x)

// Vectors of three, whose elements lie `inner` apart.
KERNEL(cross)(const S* __restrict__ x, const S* __restrict__ y, S* __restrict__ out, i64 count, i64 inner) {
    depend();
    EVERY(i, count) {
        const i64 at = i / inner * 2 * inner + i;
        T a[3], b[3];
#pragma unroll
        for (int k = 0; k < 3; k++) a[k] = widen(x[at + k * inner]), b[k] = widen(y[at + k * inner]);
#pragma unroll
        for (int k = 0; k < 3; k++) {
            const int p = (k + 1) % 3, q = (k + 2) % 3;
            out[at + k * inner] = narrow(To<S>(), T(a[p] * b[q] - a[q] * b[p]));
        }
    }
}
