// Layer and root-mean-square normalisation of rows of n numbers; RMS leaves the mean out.
#ifndef RMS
#define RMS 0
#endif
#ifndef NW
#define NW T
#endif
// TEAM: 0 a block per row, 1 a warp per row.
#ifndef TEAM
#define TEAM 0
#endif

__device__ __forceinline__ A team_sum(A v, A* hold) { return TEAM ? warp_sum(v) : block_sum(v, hold); }
#define LANE (TEAM ? threadIdx.x & 31 : threadIdx.x)
#define WIDTH (TEAM ? 32 : blockDim.x)
#define MY_ROW (TEAM ? blockIdx.x * (i64)(blockDim.x / 32) + threadIdx.x / 32 : (i64)blockIdx.x)

// With `other` the rows of x + other are normalised, and kept in `total`.
KERNEL(norm_rows)(const T* x, const T* other, const NW* w, const NW* b, T* total, T* y,
                  A* mean, A* rstd, i64 rows, int n, double eps) {
    depend();
    __shared__ A hold[32];
    i64 row = MY_ROW;
    if (row >= rows) return;
    const T* p = x + row * n;
    if (other) { // every thread reads again what it wrote itself
        for (int i = LANE; i < n; i += WIDTH) total[row * n + i] = dn(up(p[i]) + up(other[row * n + i]));
        p = total + row * n;
    }
    A m = (A)0;
    if (!RMS) {
        for (int i = LANE; i < n; i += WIDTH) m += up(p[i]);
        m = team_sum(m, hold) / (A)n;
    }
    A q = (A)0;
    for (int i = LANE; i < n; i += WIDTH) {
        A d = up(p[i]) - m;
        q += d * d;
    }
    q = team_sum(q, hold) / (A)n;
    A scale = (A)(1.0 / sqrt((double)q + eps));
    if (LANE == 0) {
        if (!RMS) mean[row] = m;
        rstd[row] = scale;
    }
    for (int i = LANE; i < n; i += WIDTH) {
        A v = (up(p[i]) - m) * scale;
        if (w) v *= up(w[i]);
        if (b) v += up(b[i]);
        y[row * n + i] = dn(v);
    }
}

// `more` is added to the gradient: the one that comes past the norm.
KERNEL(norm_rows_grad)(const T* g, const T* x, const NW* w, const A* mean,
                       const A* rstd, const T* more, T* gx, i64 rows, int n) {
    depend();
    __shared__ A hold[32];
    i64 row = MY_ROW;
    if (row >= rows) return;
    A m = RMS ? (A)0 : mean[row], scale = rstd[row];
    A s = (A)0, q = (A)0;
    for (int i = LANE; i < n; i += WIDTH) {
        A e = up(g[row * n + i]);
        if (w) e *= up(w[i]);
        s += e;
        q += e * (up(x[row * n + i]) - m) * scale;
    }
    s = RMS ? (A)0 : team_sum(s, hold) / (A)n;
    q = team_sum(q, hold) / (A)n;
    for (int i = LANE; i < n; i += WIDTH) {
        A e = up(g[row * n + i]);
        if (w) e *= up(w[i]);
        A hat = (up(x[row * n + i]) - m) * scale;
        T v = dn((e - s - hat * q) * scale);
        gx[row * n + i] = more ? dn(up(more[row * n + i]) + up(v)) : v;
    }
}

// Column sums of g and g * hat over a part of the rows. parts: splits, 2, n.
KERNEL(weight_sums)(const T* g, const T* x, const A* mean, const A* rstd, A* parts,
                    i64 rows, int n) {
    depend();
    int i = blockIdx.x * 32 + threadIdx.x % 32, lane = threadIdx.x / 32, lanes = blockDim.x / 32;
    __shared__ A hold[2][32][33];
    A s = (A)0, q = (A)0;
    if (i < n)
        for (i64 r = blockIdx.y * (i64)lanes + lane; r < rows; r += (i64)gridDim.y * lanes) {
            A e = up(g[r * n + i]);
            s += e;
            q += e * (up(x[r * n + i]) - (RMS ? (A)0 : mean[r])) * rstd[r];
        }
    hold[0][lane][threadIdx.x % 32] = s;
    hold[1][lane][threadIdx.x % 32] = q;
    __syncthreads();
    if (lane || i >= n) return;
    for (int k = 1; k < lanes; k++) {
        s += hold[0][k][threadIdx.x];
        q += hold[1][k][threadIdx.x];
    }
    parts[(i64)(2 * blockIdx.y) * n + i] = s;
    parts[(i64)(2 * blockIdx.y + 1) * n + i] = q;
}

KERNEL(weight_finish)(const A* parts, NW* gw, NW* gb, int splits, int n) {
    depend();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    A s = (A)0, q = (A)0;
    for (int k = 0; k < splits; k++) {
        s += parts[(i64)(2 * k) * n + i];
        q += parts[(i64)(2 * k + 1) * n + i];
    }
    gw[i] = Down<NW>::of(q);
    if (gb) gb[i] = Down<NW>::of(s);
}
