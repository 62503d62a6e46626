// Small products, for which a library call costs the host more than the GPU. With at most 16 rows M:
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

// Up to some ten million multiply-adds: 32 x 32 results a block, 2 x 2 a thread of 16 x 16.
template <bool FLIP_X, bool FLIP_Y>
__device__ __forceinline__ void tiled(const T* x, const T* y, const T* bias, T* out, int m, int n, int k) {
    __shared__ A xs[32][33], ys[32][33];  // k, then row or column
    const int t = threadIdx.x, tx = t % 16, ty = t / 16, low = t % 32, high = t / 32;
    const int row0 = blockIdx.y * 32, column0 = blockIdx.x * 32;
    A acc[2][2] = {{(A)0, (A)0}, {(A)0, (A)0}};
    for (int k0 = 0; k0 < k; k0 += 32) {
#pragma unroll
        for (int i = 0; i < 32; i += 8) {
            if (FLIP_X) {  // (k, m): neighbours are rows of the result
                int kk = k0 + high + i, r = row0 + low;
                xs[high + i][low] = kk < k && r < m ? up(x[(i64)kk * m + r]) : (A)0;
            } else {
                int kk = k0 + low, r = row0 + high + i;
                xs[low][high + i] = kk < k && r < m ? up(x[(i64)r * k + kk]) : (A)0;
            }
            if (FLIP_Y) {  // (n, k): neighbours are along k
                int kk = k0 + low, c = column0 + high + i;
                ys[low][high + i] = kk < k && c < n ? up(y[(i64)c * k + kk]) : (A)0;
            } else {
                int kk = k0 + high + i, c = column0 + low;
                ys[high + i][low] = kk < k && c < n ? up(y[(i64)kk * n + c]) : (A)0;
            }
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 32; j++) {
            A a0 = xs[j][ty], a1 = xs[j][ty + 16], b0 = ys[j][tx], b1 = ys[j][tx + 16];
            acc[0][0] += a0 * b0;
            acc[0][1] += a0 * b1;
            acc[1][0] += a1 * b0;
            acc[1][1] += a1 * b1;
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) {
            int r = row0 + ty + 16 * i, c = column0 + tx + 16 * j;
            if (r < m && c < n) out[(i64)r * n + c] = dn(acc[i][j] + (bias ? up(bias[c]) : (A)0));
        }
}

#define TILED(NAME, FLIP_X, FLIP_Y)                                                                  \
    extern "C" __global__ void NAME(const T* x, const T* y, const T* b, T* out, int m, int n, int k) { \
        tiled<FLIP_X, FLIP_Y>(x, y, b, out, m, n, k);                                                \
    }
TILED(tiled_nn, false, false)
TILED(tiled_nt, false, true)
TILED(tiled_tn, true, false)
