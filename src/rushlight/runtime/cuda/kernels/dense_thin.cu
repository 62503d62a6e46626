// Dense layers with few classes, forward and back to their input: one of the three dims is at most 16, and what it
// multiplies lies in shared memory whole. Rows of x, w and g are read 16 bytes at a time: k % 4 == 0.
#define FEW 16

typedef Vec<T, 4> Four;

// out (m, n) = x w' + bias with n <= FEW: TPR threads share a row, 256 / TPR rows a block.
template <int TPR>
__device__ __forceinline__ void head(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias,
                                     T* __restrict__ out, int m, int n, int k, int relu) {
    extern __shared__ __align__(32) char room[];
    __shared__ A hold[256 / 32][FEW];
    constexpr int ROWS = 256 / TPR;
    const int fours = k / 4, t = threadIdx.x, lane = t % TPR, row0 = blockIdx.x * ROWS, row = row0 + t / TPR;
    Four *ws = (Four*)room, *xs = ws + n * fours;
    for (int i = t; i < n * fours; i += 256) bring_all(ws + i, (const Four*)w + i, true);
    for (int i = t; i < ROWS * fours; i += 256) {
        const bool live = row0 + i / fours < m;
        bring_all(xs + i, (const Four*)x + (live ? (i64)row0 * fours + i : 0), live);
    }
    sent();
    A acc[FEW];
#pragma unroll
    for (int c = 0; c < FEW; c++) acc[c] = (A)0;
    arrived<0>();
    __syncthreads();
    for (int j = lane; j < fours; j += TPR) {
        const Four v = xs[t / TPR * fours + j];
#pragma unroll
        for (int c = 0; c < FEW; c++) {
            if (c < n) {
                const Four u = ws[c * fours + j];
#pragma unroll
                for (int q = 0; q < 4; q++) acc[c] += up(v.v[q]) * up(u.v[q]);
            }
        }
    }
#pragma unroll
    for (int c = 0; c < FEW; c++)
        if (c < n) acc[c] = warp_sum(acc[c]);
    if (TPR > 32) {
        if (t % 32 == 0)
#pragma unroll
            for (int c = 0; c < FEW; c++) hold[t / 32][c] = acc[c];
        __syncthreads();
    }
    if (row >= m) return;
#pragma unroll
    for (int c = 0; c < FEW; c++) {
        if (c < n && lane == c) {
            A v = acc[c];
            if (TPR > 32) {
                v = (A)0;
#pragma unroll
                for (int p = 0; p < TPR / 32; p++) v += hold[t / TPR * (TPR / 32) + p][c];
            }
            if (bias) v += up(bias[c]);
            out[(i64)row * n + c] = dn(relu && v < (A)0 ? (A)0 : v);
        }
    }
}

BOUNDED_KERNEL(head_32, 256)(const T* x, const T* w, const T* bias, T* out, int m, int n, int k, int relu) {
    depend();
    head<32>(x, w, bias, out, m, n, k, relu);
}
BOUNDED_KERNEL(head_128, 256)(const T* x, const T* w, const T* bias, T* out, int m, int n, int k, int relu) {
    depend();
    head<128>(x, w, bias, out, m, n, k, relu);
}

// gx (m, k) = g w where `mask` is not <= 0, with n <= FEW terms: 32 rows and 128 columns a block.
BOUNDED_KERNEL(head_input, 256)(const T* __restrict__ g, const T* __restrict__ w, const T* __restrict__ mask,
                                T* __restrict__ gx, int m, int n, int k) {
    depend();
    __shared__ Four ws[FEW][32], masks[32][32];
    __shared__ A gs[32][FEW];
    const int t = threadIdx.x, lane = t % 32, fours = k / 4, at = blockIdx.x * 32 + lane, row0 = blockIdx.y * 32;
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const int j = t / 32 + 8 * e;
        const bool live = j < n && at < fours;
        bring_all(&ws[j][lane], (const Four*)w + (live ? j * fours + at : 0), live);
    }
    if (mask)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int row = t / 32 + 8 * e;
            const bool live = row0 + row < m && at < fours;
            bring_all(&masks[row][lane], (const Four*)mask + (live ? (i64)(row0 + row) * fours + at : 0), live);
        }
    sent();
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const int i = t + 256 * e, row = i / FEW, j = i % FEW;
        gs[row][j] = row0 + row < m && j < n ? up(g[(i64)(row0 + row) * n + j]) : (A)0;
    }
    arrived<0>();
    __syncthreads();
    if (at >= fours) return;
    A acc[4][4];
#pragma unroll
    for (int i = 0; i < 16; i++) acc[i / 4][i % 4] = (A)0;
#pragma unroll
    for (int j = 0; j < FEW; j++) {
        if (j < n) {
            const Four v = ws[j][lane];
#pragma unroll
            for (int e = 0; e < 4; e++)
#pragma unroll
                for (int q = 0; q < 4; q++) acc[e][q] += gs[t / 32 + 8 * e][j] * up(v.v[q]);
        }
    }
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int row = t / 32 + 8 * e;
        if (row0 + row >= m) break;
        Four v;
#pragma unroll
        for (int q = 0; q < 4; q++)
            v.v[q] = dn(mask && up(masks[row][lane].v[q]) <= (A)0 ? (A)0 : acc[e][q]);
        ((Four*)gx)[(i64)(row0 + row) * fours + at] = v;
    }
}
