// Group norm, its scale and shift, and SiLU: a block for every group of an image. What stands between them is not kept;
// the derivative finds it again. n = per * inner numbers of a group, of `per` channels with `inner` places each.
#ifndef NW
#define NW T
#endif

__device__ __forceinline__ A logistic(A v) { return (A)1 / ((A)1 + exp(-v)); }

KERNEL(group_silu)(const T* x, const NW* w, const NW* b, T* y, A* mean, A* rstd, int groups, int per,
                   int inner, double eps) {
    depend();
    __shared__ A hold[32];
    const i64 row = blockIdx.x;
    const int n = per * inner, c = (int)(row % groups) * per;
    const T* p = x + row * n;
    A m = (A)0, q = (A)0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) m += up(p[i]);
    m = block_sum(m, hold) / (A)n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        A d = up(p[i]) - m;
        q += d * d;
    }
    q = block_sum(q, hold) / (A)n;
    const A scale = (A)(1.0 / sqrt((double)q + eps));
    if (threadIdx.x == 0) {
        mean[row] = m;
        rstd[row] = scale;
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        A v = (up(p[i]) - m) * scale * up(w[c + i / inner]) + up(b[c + i / inner]);
        y[row * n + i] = dn(v * logistic(v));
    }
}

// The slope of SiLU at a number of the norm's result, times the gradient behind it.
__device__ __forceinline__ A slope(A g, A v) {
    A s = logistic(v);
    return g * s * ((A)1 + v * ((A)1 - s));
}

// parts: images, channels, 2: the sums of the slopes and of slope * hat over the places of a channel.
KERNEL(group_silu_grad)(const T* g, const T* x, const NW* w, const NW* b, const A* mean, const A* rstd, T* gx,
                        A* parts, int groups, int per, int inner) {
    depend();
    __shared__ A hold[32];
    const i64 row = blockIdx.x;
    const int n = per * inner, c = (int)(row % groups) * per, lane = threadIdx.x & 31;
    const T *p = x + row * n, *e = g + row * n;
    const A m = mean[row], scale = rstd[row];
    A s = (A)0, q = (A)0;
    for (int k = threadIdx.x / 32; k < per; k += blockDim.x / 32) { // a warp for every channel
        const A wk = up(w[c + k]), bk = up(b[c + k]);
        A all = (A)0, dot = (A)0;
        for (int i = k * inner + lane; i < (k + 1) * inner; i += 32) {
            A hat = (up(p[i]) - m) * scale, d = slope(up(e[i]), hat * wk + bk);
            all += d;
            dot += d * hat;
        }
        all = warp_sum(all);
        dot = warp_sum(dot);
        if (lane == 0) {
            parts[2 * (row * per + k)] = all;
            parts[2 * (row * per + k) + 1] = dot;
            s += wk * all;
            q += wk * dot;
        }
    }
    s = block_sum(s, hold) / (A)n;
    q = block_sum(q, hold) / (A)n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const A wk = up(w[c + i / inner]), bk = up(b[c + i / inner]);
        A hat = (up(p[i]) - m) * scale, d = slope(up(e[i]), hat * wk + bk);
        gx[row * n + i] = dn((d * wk - s - hat * q) * scale);
    }
}

KERNEL(group_finish)(const A* parts, NW* gw, NW* gb, int images, int channels) {
    depend();
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= channels) return;
    A s = (A)0, q = (A)0;
    for (int i = 0; i < images; i++) {
        s += parts[2 * ((i64)i * channels + c)];
        q += parts[2 * ((i64)i * channels + c) + 1];
    }
    gw[c] = Down<NW>::of(q);
    gb[c] = Down<NW>::of(s);
}
