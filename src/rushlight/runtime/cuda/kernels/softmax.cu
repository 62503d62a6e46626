// softmax and its relatives along one dim: (outer, n, inner) with the dim in the middle.
// KIND: 0 softmax, 1 log_softmax, 2 softmax that answers zeros for a row of -inf.
#ifndef KIND
#define KIND 0
#endif

__device__ __forceinline__ A ex(float v) { return expf(v); }
__device__ __forceinline__ A ex(double v) { return exp(v); }
__device__ __forceinline__ A lg(float v) { return logf(v); }
__device__ __forceinline__ A lg(double v) { return log(v); }
__device__ __forceinline__ A top_of(A m) { return KIND == 2 && m == -infinity() ? (A)0 : m; }
__device__ __forceinline__ A last_of(A v, A m, A sum, A log_sum) {
    if (KIND == 1) return (v - m) - log_sum;
    if (KIND == 2 && sum == (A)0) return (A)0;
    return ex(v - m) / sum;
}

// inner == 1: a warp per row.
KERNEL(rows_warp)(const T* x, T* y, i64 rows, int n) {
    depend();
    i64 row = blockIdx.x * (i64)(blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    int lane = threadIdx.x & 31;
    const T* p = x + row * n;
    A m = -infinity();
    for (int i = lane; i < n; i += 32) {
        A v = up(p[i]);
        m = (v > m || v != v) ? v : m;
    }
    m = top_of(warp_max(m));
    A sum = (A)0;
    for (int i = lane; i < n; i += 32) sum += ex(up(p[i]) - m);
    sum = warp_sum(sum);
    A ls = lg(sum);
    for (int i = lane; i < n; i += 32) y[row * n + i] = dn(last_of(up(p[i]), m, sum, ls));
}

// inner == 1, long rows: a block per row, each thread keeping its own maximum and sum in one pass.
KERNEL(rows_block)(const T* x, T* y, i64 rows, int n) {
    depend();
    __shared__ A hold[32];
    i64 row = blockIdx.x;
    const T* p = x + row * n;
    A m = -infinity(), sum = (A)0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        A v = up(p[i]);
        if (v > m) { sum = m == -infinity() ? (A)0 : sum * ex(m - v); m = v; }
        sum += v == -infinity() ? (A)0 : ex(v - m);
    }
    A all = block_max(m, hold);
    A top = top_of(all);
    A part = m == -infinity() ? sum : sum * ex(m - top);
    if (all == -infinity() && KIND != 2) part = infinity() - infinity();  // as exp(-inf - -inf)
    sum = block_sum(part, hold);
    A ls = lg(sum);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[row * n + i] = dn(last_of(up(p[i]), top, sum, ls));
}

// inner > 1: a thread per column; neighbours lie side by side in memory.
KERNEL(columns)(const T* x, T* y, i64 count, int n, i64 inner) {
    depend();
    i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (i >= count) return;
    const T* p = x + i / inner * inner * n + i % inner;
    T* q = y + (p - x);
    A m = -infinity();
    for (int k = 0; k < n; k++) {
        A v = up(p[k * inner]);
        m = (v > m || v != v) ? v : m;
    }
    m = top_of(m);
    A sum = (A)0;
    for (int k = 0; k < n; k++) sum += ex(up(p[k * inner]) - m);
    A ls = lg(sum);
    for (int k = 0; k < n; k++) q[k * inner] = dn(last_of(up(p[k * inner]), m, sum, ls));
}

__device__ __forceinline__ A term(A g, A y) { return KIND == 1 ? g : g * y; }
__device__ __forceinline__ A slope(A g, A y, A sum) {
    return KIND == 1 ? g - ex(y) * sum : y * (g - sum);
}

KERNEL(grad_warp)(const T* g, const T* y, T* gx, i64 rows, int n) {
    depend();
    i64 row = blockIdx.x * (i64)(blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    A sum = (A)0;
    for (int i = threadIdx.x & 31; i < n; i += 32)
        sum += term(up(g[row * n + i]), up(y[row * n + i]));
    sum = warp_sum(sum);
    for (int i = threadIdx.x & 31; i < n; i += 32)
        gx[row * n + i] = dn(slope(up(g[row * n + i]), up(y[row * n + i]), sum));
}
KERNEL(grad_block)(const T* g, const T* y, T* gx, i64 rows, int n) {
    depend();
    __shared__ A hold[32];
    i64 row = blockIdx.x;
    A sum = (A)0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += term(up(g[row * n + i]), up(y[row * n + i]));
    sum = block_sum(sum, hold);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        gx[row * n + i] = dn(slope(up(g[row * n + i]), up(y[row * n + i]), sum));
}
KERNEL(grad_columns)(const T* g, const T* y, T* gx, i64 count, int n, i64 inner) {
    depend();
    i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (i >= count) return;
    i64 at = i / inner * inner * n + i % inner;
    A sum = (A)0;
    for (int k = 0; k < n; k++) sum += term(up(g[at + k * inner]), up(y[at + k * inner]));
    for (int k = 0; k < n; k++)
        gx[at + k * inner] = dn(slope(up(g[at + k * inner]), up(y[at + k * inner]), sum));
}
