// Products with few rows, where a library call costs the host more than the GPU: M is at most 16.
// x (m, k), y and out dense. nt: y (n, k), a warp per column; nn: y (k, n), 32 columns a block; and
// tn: x (k, m), y (k, n) with k small, a thread per result.

template <int M>
__device__ __forceinline__ void product_nt(const T* x, const T* y, const T* bias, T* out, int m, int n,
                                           int k) {
    int column = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (column >= n) return;
    A acc[M];
#pragma unroll
    for (int i = 0; i < M; i++) acc[i] = (A)0;
    for (int j = lane; j < k; j += 32) {
        A v = up(y[column * k + j]);
#pragma unroll
        for (int i = 0; i < M; i++)
            if (i < m) acc[i] += v * up(x[i * k + j]);
    }
    A add = bias ? up(bias[column]) : (A)0;
#pragma unroll
    for (int i = 0; i < M; i++) {
        if (i < m) {
            A v = warp_sum(acc[i]);
            if (lane == 0) out[i * n + column] = dn(v + add);
        }
    }
}

template <int M>
__device__ __forceinline__ void product_nn(const T* x, const T* y, T* out, int m, int n, int k) {
    __shared__ A hold[8][M][33];
    int lane = threadIdx.x & 31, part = threadIdx.x / 32, column = blockIdx.x * 32 + lane;
    A acc[M];
#pragma unroll
    for (int i = 0; i < M; i++) acc[i] = (A)0;
    if (column < n)
#pragma unroll 4
        for (int j = part; j < k; j += 8) {
            A v = up(y[j * n + column]);
#pragma unroll
            for (int i = 0; i < M; i++)
                if (i < m) acc[i] += v * up(x[i * k + j]);
        }
#pragma unroll
    for (int i = 0; i < M; i++) hold[part][i][lane] = acc[i];
    __syncthreads();
    for (int i = part; i < m; i += 8) {
        A v = (A)0;
#pragma unroll
        for (int p = 0; p < 8; p++) v += hold[p][i][lane];
        if (column < n) out[i * n + column] = dn(v);
    }
}

#define ROWS_UP_TO(M)                                                                                \
    extern "C" __global__ void nt_##M(const T* x, const T* y, const T* b, T* out, int m, int n, int k) { \
        product_nt<M>(x, y, b, out, m, n, k);                                                        \
    }                                                                                                \
    extern "C" __global__ void nn_##M(const T* x, const T* y, const T* b, T* out, int m, int n, int k) { \
        product_nn<M>(x, y, out, m, n, k);                                                           \
    }
ROWS_UP_TO(4)
ROWS_UP_TO(16)

extern "C" __global__ void tn(const T* x, const T* y, const T* b, T* out, int m, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    int row = i / n, column = i - row * n;
    A acc = (A)0;
#pragma unroll 4
    for (int j = 0; j < k; j++) acc += up(x[j * m + row]) * up(y[j * n + column]);
    out[i] = dn(acc);
}
