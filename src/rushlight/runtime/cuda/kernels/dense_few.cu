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

// out (m, n) = x w' + bias: a warp per column, 4 a block.
template <int M>
__device__ __forceinline__ void forward(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias,
                                        T* __restrict__ out, int m, int n, int k, int relu) {
    constexpr int WIDE = 512 / M, EACH = WIDE / 32;  // fours of a row that are staged, and those of a lane
    __shared__ Four xs[M][WIDE], ws[4][WIDE];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, column = blockIdx.x * 4 + warp;
    const int here = min(column, n - 1);
    A acc[M];
#pragma unroll
    for (int i = 0; i < M; i++) acc[i] = (A)0;
    const A add = bias ? up(bias[here]) : (A)0;
    if (by_fours(x, w, k)) {
        const int fours = k / 4;
        const Four *columns = (const Four*)(w + here * k), *rows = (const Four*)x;
        for (int j0 = 0; j0 < fours; j0 += WIDE) {
            if (j0) __syncthreads();
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int j = lane + 32 * e;
                bring_all(&ws[warp][j], columns + j0 + j, j0 + j < fours);
            }
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int i = threadIdx.x + 128 * e, row = i / WIDE, j = i % WIDE;
                bring_all(&xs[row][j], rows + row * fours + j0 + j, row < m && j0 + j < fours);
            }
            sent();
            arrived<0>();
            __syncthreads();
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const Four v = ws[warp][lane + 32 * e];
#pragma unroll
                for (int i = 0; i < M; i++) acc[i] = dot(v, xs[i][lane + 32 * e], acc[i]);
            }
        }
    } else {
        for (int j = lane; j < k; j += 32) {
            A v = up(w[here * k + j]);
#pragma unroll
            for (int i = 0; i < M; i++)
                if (i < m) acc[i] += v * up(x[i * k + j]);
        }
    }
#pragma unroll
    for (int i = 0; i < M; i++) acc[i] = warp_sum(acc[i]) + add;
#pragma unroll
    for (int i = 0; i < M; i++)
        if (lane == i && i < m && column < n) out[i * n + column] = dn(relu && acc[i] < (A)0 ? (A)0 : acc[i]);
}

// gx (m, k) = g w where `mask` is not <= 0: 32 columns a block, 8 warps share N terms at a time.
template <int M>
__device__ __forceinline__ void to_input(const T* __restrict__ g, const T* __restrict__ w,
                                         const T* __restrict__ mask, T* __restrict__ gx, int m, int n, int k, int block) {
    constexpr int N = (sizeof(T) > 4 ? 64 : 128) / (M > 4 ? 2 : 1);
    __shared__ A hold[8][M][33], gs[M][N];
    __shared__ __align__(32) T ws[N][32];
    const int lane = threadIdx.x & 31, part = threadIdx.x / 32, column = block * 32 + lane;
    const bool wide = by_fours(w, w, k);
    A acc[M], slope[(M + 7) / 8];
#pragma unroll
    for (int i = 0; i < M; i++) acc[i] = (A)0;
#pragma unroll
    for (int i = 0; i < (M + 7) / 8; i++) {
        const int row = part + 8 * i;
        slope[i] = mask && row < m && column < k ? up(mask[row * k + column]) : (A)1;
    }
    for (int n0 = 0; n0 < n; n0 += N) {
        if (n0) __syncthreads();
        if (wide) {
#pragma unroll
            for (int e = 0; e < N / 32; e++) {
                const int j = threadIdx.x / 8 + 32 * e, c = threadIdx.x % 8 * 4;
                const bool live = n0 + j < n && block * 32 + c < k;
                bring_all((Four*)&ws[j][c], (const Four*)(w + (n0 + j) * k + block * 32 + c), live);
            }
            sent();
        } else
            for (int j = part; j < N; j += 8)
                ws[j][lane] = n0 + j < n && column < k ? w[(n0 + j) * k + column] : dn((A)0);
#pragma unroll
        for (int e = 0; e < M * N / 256; e++) {
            const int i = threadIdx.x + 256 * e, row = i / N, j = i % N;
            gs[row][j] = row < m && n0 + j < n ? up(g[row * n + n0 + j]) : (A)0;
        }
        arrived<0>();
        __syncthreads();
#pragma unroll
        for (int j = 0; j < N / 8; j++) {
            const A v = up(ws[part + 8 * j][lane]);
#pragma unroll
            for (int i = 0; i < M; i++) acc[i] += v * gs[i][part + 8 * j];
        }
    }
#pragma unroll
    for (int i = 0; i < M; i++) hold[part][i][lane] = acc[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < (M + 7) / 8; i++) {
        const int row = part + 8 * i;
        if (row < m && column < k) {
            A v = (A)0;
#pragma unroll
            for (int p = 0; p < 8; p++) v += hold[p][row][lane];
            gx[row * k + column] = dn(slope[i] <= (A)0 ? (A)0 : v);
        }
    }
}

// gw (n, k) = g' x, four columns a thread where they lie on a boundary; gb (n) the sums of g.
template <int M>
__device__ __forceinline__ void to_weight(const T* __restrict__ g, const T* __restrict__ x, T* __restrict__ gw,
                                          T* __restrict__ gb, int m, int n, int k, int block, int blocks) {
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

#define ROWS_UP_TO(M)                                                                                           \
    KERNEL(linear_##M)(const T* __restrict__ x, const T* __restrict__ w,                                        \
                       const T* __restrict__ bias, T* __restrict__ out, int m, int n,                           \
                       int k, int relu) {                                                                       \
        depend();                                                                                               \
        forward<M>(x, w, bias, out, m, n, k, relu);                                                             \
    }                                                                                                           \
    BOUNDED_KERNEL(linear_backward_##M, 256)(const T* __restrict__ g, const T* __restrict__ x,                  \
                                             const T* __restrict__ w, const T* __restrict__ mask,               \
                                             T* __restrict__ gx, T* __restrict__ gw, T* __restrict__ gb, int m, \
                                             int n, int k, int first) {                                         \
        depend();                                                                                               \
        if (blockIdx.x < first) to_input<M>(g, w, mask, gx, m, n, k, blockIdx.x);                               \
        else to_weight<M>(g, x, gw, gb, m, n, k, blockIdx.x - first, gridDim.x - first);                        \
    }
ROWS_UP_TO(4)
ROWS_UP_TO(16)
