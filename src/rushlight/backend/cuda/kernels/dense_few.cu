// Dense layers of at most 16 rows, forward and backward, for which a library call costs the host more than
// the GPU. x (m, k), w (n, k) and their gradients are dense; a launch keeps as many loads in flight as it can,
// since nothing here is large enough to wait for anything but memory.

typedef Vec<T, 4> Four;

__device__ __forceinline__ A dot(Four a, Four b, A acc) {
#pragma unroll
    for (int j = 0; j < 4; j++) acc += up(a.v[j]) * up(b.v[j]);
    return acc;
}

__device__ __forceinline__ bool by_fours(const void* a, const void* b, int k) {
    return k % 4 == 0 && (((size_t)a | (size_t)b) & (sizeof(Four) - 1)) == 0;
}

// out (m, n) = x w' + bias: a warp per column, U loads of w in flight.
template <int M, int U>
__device__ __forceinline__ void forward(const T* x, const T* w, const T* bias, T* out, int m, int n, int k,
                                        int relu) {
    const int column = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (column >= n) return;
    A acc[M];
#pragma unroll
    for (int i = 0; i < M; i++) acc[i] = (A)0;
    A add = bias ? up(bias[column]) : (A)0;
    if (by_fours(x, w, k)) {
        const int fours = k / 4;
        const Four *ws = (const Four*)(w + (i64)column * k), *xs = (const Four*)x;
        for (int j0 = lane; j0 < fours; j0 += 32 * U) {
            Four v[U];
#pragma unroll
            for (int u = 0; u < U; u++)
                if (j0 + 32 * u < fours) v[u] = ws[j0 + 32 * u];
#pragma unroll
            for (int u = 0; u < U; u++)
                if (j0 + 32 * u < fours)
#pragma unroll
                    for (int i = 0; i < M; i++)
                        if (i < m) acc[i] = dot(v[u], xs[i * fours + j0 + 32 * u], acc[i]);
        }
    } else {
        for (int j = lane; j < k; j += 32) {
            A v = up(w[(i64)column * k + j]);
#pragma unroll
            for (int i = 0; i < M; i++)
                if (i < m) acc[i] += v * up(x[i * k + j]);
        }
    }
#pragma unroll
    for (int i = 0; i < M; i++) {
        if (i < m) {
            A v = warp_sum(acc[i]) + add;
            if (lane == 0) out[i * n + column] = dn(relu && v < (A)0 ? (A)0 : v);
        }
    }
}

// gx (m, k) = g w where `mask` is positive: 32 columns a block, 8 warps share the n terms.
template <int M>
__device__ __forceinline__ void to_input(const T* g, const T* w, const T* mask, T* gx, int m, int n, int k,
                                         int block) {
    __shared__ A hold[8][M][33];
    const int lane = threadIdx.x & 31, part = threadIdx.x / 32, column = block * 32 + lane;
    A acc[M];
#pragma unroll
    for (int i = 0; i < M; i++) acc[i] = (A)0;
    if (column < k)
#pragma unroll 8
        for (int j = part; j < n; j += 8) {
            A v = up(w[(i64)j * k + column]);
#pragma unroll
            for (int i = 0; i < M; i++)
                if (i < m) acc[i] += v * up(g[i * n + j]);
        }
#pragma unroll
    for (int i = 0; i < M; i++) hold[part][i][lane] = acc[i];
    __syncthreads();
    for (int i = part; i < m; i += 8) {
        A v = (A)0;
#pragma unroll
        for (int p = 0; p < 8; p++) v += hold[p][i][lane];
        if (column < k) {
            i64 at = (i64)i * k + column;
            gx[at] = dn(!mask || up(mask[at]) > (A)0 ? v : (A)0);
        }
    }
}

// gw (n, k) = g' x, four columns a thread where they lie on a boundary; gb (n) the sums of g.
template <int M>
__device__ __forceinline__ void to_weight(const T* g, const T* x, T* gw, T* gb, int m, int n, int k,
                                          int block, int blocks) {
    const bool wide = by_fours(x, gw, k);
    const int per = wide ? k / 4 : k;
    for (int i = block * blockDim.x + threadIdx.x; i < n * per; i += blocks * blockDim.x) {
        const int row = i / per, at = i - row * per;
        A acc[4] = {(A)0, (A)0, (A)0, (A)0}, total = (A)0;
#pragma unroll
        for (int j = 0; j < M; j++) {
            if (j < m) {
                A v = up(g[j * n + row]);
                total += v;
                if (wide) {
                    Four f = ((const Four*)x)[j * per + at];
#pragma unroll
                    for (int c = 0; c < 4; c++) acc[c] += v * up(f.v[c]);
                } else acc[0] += v * up(x[j * k + at]);
            }
        }
        if (wide) {
            Four f;
#pragma unroll
            for (int c = 0; c < 4; c++) f.v[c] = dn(acc[c]);
            ((Four*)gw)[i] = f;
        } else gw[i] = dn(acc[0]);
        if (gb && at == 0) gb[row] = dn(total);
    }
}

#define ROWS_UP_TO(M, U)                                                                              \
    extern "C" __global__ void linear_##M(const T* x, const T* w, const T* bias, T* out, int m, int n,   \
                                          int k, int relu) {                                           \
        forward<M, U>(x, w, bias, out, m, n, k, relu);                                                \
    }                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                 \
        linear_backward_##M(const T* g, const T* x, const T* w, const T* mask, T* gx, T* gw, T* gb,    \
                            int m, int n, int k, int first) {                                         \
        if (blockIdx.x < first) to_input<M>(g, w, mask, gx, m, n, k, blockIdx.x);                     \
        else to_weight<M>(g, x, gw, gb, m, n, k, blockIdx.x - first, gridDim.x - first);              \
    }
ROWS_UP_TO(4, 4)
ROWS_UP_TO(16, 1)
