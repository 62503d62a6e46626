// Group norm, its scale and shift, and SiLU (unless SILU is 0): a block for every group of an image. What stands between them is not kept;
// the derivative finds it again. n = per * inner numbers of a group, of `per` channels with `inner` places each.
#ifndef NW
#define NW T
#endif
// Numbers that are read at once; `inner` is a multiple of it.
#ifndef VW
#define VW 1
#endif
#ifndef SILU
#define SILU 1
#endif
#define EACH _Pragma("unroll") for (int j = 0; j < VW; j++)
typedef Vec<T, VW> Row;

// Missing weights are ones, a missing bias is 0.
__device__ __forceinline__ A weight_of(const NW* w, int c) { return w ? up(w[c]) : (A)1; }
__device__ __forceinline__ A bias_of(const NW* b, int c) { return b ? up(b[c]) : (A)0; }

__device__ __forceinline__ A logistic(A v) { return (A)1 / ((A)1 + exp(-v)); }

KERNEL(group_silu)(const T* __restrict__ x, const NW* __restrict__ w, const NW* __restrict__ b, T* __restrict__ y,
                   A* __restrict__ mean, A* __restrict__ rstd, int groups, int per, int inner, double eps) {
    depend();
    __shared__ A hold[32];
    const i64 row = blockIdx.x;
    const int n = per * inner, c = (int)(row % groups) * per;
    const T* p = x + row * n;
    A m = (A)0, q = (A)0;
#pragma unroll 4
    for (int i = threadIdx.x * VW; i < n; i += blockDim.x * VW) {
        const Row v = *(const Row*)(p + i);
        EACH m += up(v.v[j]);
    }
    m = block_sum(m, hold) / (A)n;
#pragma unroll 4
    for (int i = threadIdx.x * VW; i < n; i += blockDim.x * VW) {
        const Row v = *(const Row*)(p + i);
        EACH q += (up(v.v[j]) - m) * (up(v.v[j]) - m);
    }
    q = block_sum(q, hold) / (A)n;
    const A scale = (A)(1.0 / sqrt((double)q + eps));
    if (threadIdx.x == 0) {
        mean[row] = m;
        rstd[row] = scale;
    }
#pragma unroll 2
    for (int i = threadIdx.x * VW; i < n; i += blockDim.x * VW) {
        const A wk = weight_of(w, c + i / inner), bk = bias_of(b, c + i / inner);
        Row v = *(const Row*)(p + i);
        EACH {
            const A r = (up(v.v[j]) - m) * scale * wk + bk;
            v.v[j] = dn(SILU ? r * logistic(r) : r);
        }
        *(Row*)(y + row * n + i) = v;
    }
}

// The slope of SiLU at a number of the norm's result, times the gradient behind it.
__device__ __forceinline__ A slope(A g, A v) {
    if (!SILU) return g;
    A s = logistic(v);
    return g * s * ((A)1 + v * ((A)1 - s));
}

// parts: images, channels, 2: the sums of the slopes and of slope * hat over the places of a channel.
KERNEL(group_silu_grad)(const T* __restrict__ g, const T* __restrict__ x, const NW* __restrict__ w,
                        const NW* __restrict__ b, const A* __restrict__ mean, const A* __restrict__ rstd,
                        T* __restrict__ gx, A* __restrict__ parts, int groups, int per, int inner) {
    depend();
    __shared__ A hold[32];
    const i64 row = blockIdx.x;
    const int n = per * inner, c = (int)(row % groups) * per, lane = threadIdx.x & 31;
    const T *p = x + row * n, *e = g + row * n;
    const A m = mean[row], scale = rstd[row];
    A s = (A)0, q = (A)0;
    for (int k = threadIdx.x / 32; k < per; k += blockDim.x / 32) { // a warp for every channel
        const A wk = weight_of(w, c + k), bk = bias_of(b, c + k);
        A all = (A)0, dot = (A)0;
#pragma unroll 2
        for (int i = k * inner + lane * VW; i < (k + 1) * inner; i += 32 * VW) {
            const Row v = *(const Row*)(p + i), u = *(const Row*)(e + i);
            EACH {
                const A hat = (up(v.v[j]) - m) * scale, d = slope(up(u.v[j]), hat * wk + bk);
                all += d;
                dot += d * hat;
            }
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
#pragma unroll 2
    for (int i = threadIdx.x * VW; i < n; i += blockDim.x * VW) {
        const A wk = weight_of(w, c + i / inner), bk = bias_of(b, c + i / inner);
        Row v = *(const Row*)(p + i);
        const Row u = *(const Row*)(e + i);
        EACH {
            const A hat = (up(v.v[j]) - m) * scale, d = slope(up(u.v[j]), hat * wk + bk);
            v.v[j] = dn((d * wk - s - hat * q) * scale);
        }
        *(Row*)(gx + row * n + i) = v;
    }
}

// A block for 32 channels: its warps share the images.
KERNEL(group_finish)(const A* parts, NW* gw, NW* gb, int images, int channels) {
    depend();
    __shared__ A hold[2][32][33];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int c = blockIdx.x * 32 + lane;
    A s = (A)0, q = (A)0;
    if (c < channels)
#pragma unroll 4
        for (int i = warp; i < images; i += warps) {
            s += parts[2 * ((i64)i * channels + c)];
            q += parts[2 * ((i64)i * channels + c) + 1];
        }
    hold[0][warp][lane] = s;
    hold[1][warp][lane] = q;
    __syncthreads();
    if (warp || c >= channels) return;
    for (int k = 1; k < warps; k++) {
        s += hold[0][k][lane];
        q += hold[1][k][lane];
    }
    gw[c] = Down<NW>::of(q);
    gb[c] = Down<NW>::of(s);
}
