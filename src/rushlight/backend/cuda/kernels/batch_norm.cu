// Batch normalisation. LAST: channels lie innermost (rows x C); otherwise planes of `inner` numbers, C of
// them an image. VW numbers are moved at once; `inner` (or C, when LAST) is a multiple of it.
#ifndef VW
#define VW 1
#endif
#ifndef LAST
#define LAST 0
#endif
typedef Vec<T, VW> Row;

// Two sums per channel and split: of (x - pivot) and its square, or of g and g * (x - mean).
// parts: splits, 2, C.
template <bool GRAD>
__device__ __forceinline__ void add_up(const T* g, const T* x, A centre, int k, Row gv, Row xv, A& s, A& q) {
    A d = up(xv.v[k]) - centre;
    if (GRAD) {
        A e = up(gv.v[k]);
        s += e;
        q += e * d;
    } else {
        s += d;
        q += d * d;
    }
}

template <bool GRAD>
__device__ __forceinline__ void sums_planes(const T* g, const T* x, const A* mean, A* parts, int C,
                                            int inner, i64 images) {
    __shared__ A hold[32];
    int c = blockIdx.x, split = blockIdx.y;
    A centre = GRAD ? mean[c] : up(x[(i64)c * inner]);
    A s = (A)0, q = (A)0;
    int steps = inner / VW;
    i64 count = images * steps;
    for (i64 j = split * (i64)blockDim.x + threadIdx.x; j < count; j += (i64)gridDim.y * blockDim.x) {
        i64 n = j / steps;
        i64 at = (n * C + c) * inner + (j - n * steps) * VW;
        Row xv = *(const Row*)(x + at), gv = xv;
        if (GRAD) gv = *(const Row*)(g + at);
#pragma unroll
        for (int k = 0; k < VW; k++) add_up<GRAD>(g, x, centre, k, gv, xv, s, q);
    }
    s = block_sum(s, hold);
    q = block_sum(q, hold);
    if (threadIdx.x == 0) {
        parts[(i64)(2 * split) * C + c] = s;
        parts[(i64)(2 * split + 1) * C + c] = q;
    }
}

// blockDim = (across, down): `across` threads cover VW channels each.
template <bool GRAD>
__device__ __forceinline__ void sums_last(const T* g, const T* x, const A* mean, A* parts, int C,
                                          i64 rows) {
    extern __shared__ __align__(16) char room[];
    A* hold = (A*)room;  // down, across, VW, 2
    int c = (blockIdx.x * blockDim.x + threadIdx.x) * VW;
    A s[VW], q[VW], centre[VW];
    bool live = c < C;
#pragma unroll
    for (int k = 0; k < VW; k++) {
        s[k] = q[k] = (A)0;
        centre[k] = live ? (GRAD ? mean[c + k] : up(x[c + k])) : (A)0;
    }
    if (live)
        for (i64 r = blockIdx.y * (i64)blockDim.y + threadIdx.y; r < rows;
             r += (i64)gridDim.y * blockDim.y) {
            Row xv = *(const Row*)(x + r * C + c), gv = xv;
            if (GRAD) gv = *(const Row*)(g + r * C + c);
#pragma unroll
            for (int k = 0; k < VW; k++) add_up<GRAD>(g, x, centre[k], k, gv, xv, s[k], q[k]);
        }
    A* mine = hold + (threadIdx.y * blockDim.x + threadIdx.x) * VW * 2;
#pragma unroll
    for (int k = 0; k < VW; k++) {
        mine[2 * k] = s[k];
        mine[2 * k + 1] = q[k];
    }
    __syncthreads();
    if (threadIdx.y == 0 && live)
        for (int k = 0; k < VW; k++) {
            A a = (A)0, b = (A)0;
            for (int y = 0; y < blockDim.y; y++) {
                A* from = hold + ((y * blockDim.x + threadIdx.x) * VW + k) * 2;
                a += from[0];
                b += from[1];
            }
            parts[(i64)(2 * blockIdx.y) * C + c + k] = a;
            parts[(i64)(2 * blockIdx.y + 1) * C + c + k] = b;
        }
}

extern "C" __global__ void sums(const T* x, A* parts, int C, int inner, i64 images) {
    if (LAST) sums_last<false>(x, x, 0, parts, C, images);
    else sums_planes<false>(x, x, 0, parts, C, inner, images);
}
extern "C" __global__ void grad_sums(const T* g, const T* x, const A* mean, A* parts, int C, int inner,
                                     i64 images) {
    if (LAST) sums_last<true>(g, x, mean, parts, C, images);
    else sums_planes<true>(g, x, mean, parts, C, inner, images);
}

// 32 channels and 8 lanes of splits a block.
__device__ __forceinline__ bool total(const A* parts, int C, int splits, int c, A& s, A& q) {
    __shared__ A hold[2][8][33];
    int lane = threadIdx.x / 32, column = threadIdx.x % 32;
    s = q = (A)0;
    if (c < C)
        for (int k = lane; k < splits; k += 8) {
            s += parts[(i64)(2 * k) * C + c];
            q += parts[(i64)(2 * k + 1) * C + c];
        }
    hold[0][lane][column] = s;
    hold[1][lane][column] = q;
    __syncthreads();
    if (lane || c >= C) return false;
    for (int k = 1; k < 8; k++) {
        s += hold[0][k][column];
        q += hold[1][k][column];
    }
    return true;
}

extern "C" __global__ void statistics(const T* x, const A* parts, A* mean, A* invstd, int C, int inner,
                                      int splits, i64 n, double eps) {
    int c = blockIdx.x * 32 + threadIdx.x % 32;
    A s, q;
    if (!total(parts, C, splits, c, s, q)) return;
    A pivot = up(x[LAST ? c : (i64)c * inner]);
    A shift = s / (A)n;
    A var = q / (A)n - shift * shift;
    if (var < (A)0) var = (A)0;
    mean[c] = pivot + shift;
    invstd[c] = (A)(1.0 / sqrt((double)var + eps));
}

// gw and gb in the weight's type NW; `totals` keeps them (2, C) for the rest of the derivative.
#ifndef NW
#define NW T
#endif
extern "C" __global__ void weight_grads(const A* parts, const A* invstd, A* totals, NW* gw, NW* gb,
                                        int C, int splits) {
    int c = blockIdx.x * 32 + threadIdx.x % 32;
    A s, q;
    if (!total(parts, C, splits, c, s, q)) return;
    q *= invstd[c];
    totals[c] = s;
    totals[C + c] = q;
    gb[c] = Down<NW>::of(s);
    gw[c] = Down<NW>::of(q);
}

// IX counts elements: unsigned while they fit, because 64-bit divisions cost more than the arithmetic.
#ifndef IX
#define IX i64
#endif
__device__ __forceinline__ int channel(IX at, int C, int inner) {
    return LAST ? (int)(at % C) : (int)(at / inner % C);
}

#ifndef NS
#define NS A
#endif
// What a channel's numbers are multiplied with and added to. LAST: VW channels, otherwise one.
#define HELD (LAST ? VW : 1)

// SPREAD: the statistics are a variance rather than 1 / standard deviation (evaluation mode).
template <bool SPREAD> struct Affine {
    A mean[HELD], scale[HELD], shift[HELD];
    __device__ __forceinline__ void load(int c, const NW* w, const NW* b, const NS* m, const NS* spread,
                                         double eps) {
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            mean[k] = up(m[c + k]);
            A v = up(spread[c + k]);
            if (SPREAD) v = (A)1 / sqrt(v + (A)eps);
            scale[k] = w ? v * up(w[c + k]) : v;
            shift[k] = b ? up(b[c + k]) : (A)0;
        }
    }
};

template <bool SPREAD>
__device__ __forceinline__ void normalise(const T* x, const NW* w, const NW* b, const NS* mean,
                                          const NS* spread, T* y, i64 count, int C, int inner,
                                          double eps) {
    const IX step = (IX)gridDim.x * blockDim.x * VW;
    IX at = ((IX)blockIdx.x * blockDim.x + threadIdx.x) * VW;
    const bool fixed = LAST && step % C == 0;  // a thread meets the same channels every time
    Affine<SPREAD> f;
    if (fixed && at < count) f.load(channel(at, C, inner), w, b, mean, spread, eps);
    for (; at < count; at += step) {
        Row v = *(const Row*)(x + at);
        if (!fixed) f.load(channel(at, C, inner), w, b, mean, spread, eps);
#pragma unroll
        for (int k = 0; k < VW; k++) {
            const int j = LAST ? k : 0;
            v.v[k] = dn((up(v.v[k]) - f.mean[j]) * f.scale[j] + f.shift[j]);
        }
        *(Row*)(y + at) = v;
    }
}
extern "C" __global__ void apply(const T* x, const NW* w, const NW* b, const NS* mean, const NS* invstd,
                                 T* y, i64 count, int C, int inner, double eps) {
    normalise<false>(x, w, b, mean, invstd, y, count, C, inner, eps);
}
extern "C" __global__ void apply_eval(const T* x, const NW* w, const NW* b, const NS* mean,
                                      const NS* var, T* y, i64 count, int C, int inner, double eps) {
    normalise<true>(x, w, b, mean, var, y, count, C, inner, eps);
}

struct Slope {
    A mean[HELD], scale[HELD], level[HELD], tilt[HELD];
    __device__ __forceinline__ void load(int c, int C, const NW* w, const A* m, const A* invstd,
                                         const A* totals, A inverse_n) {
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            mean[k] = m[c + k];
            A v = invstd[c + k];
            scale[k] = w ? v * up(w[c + k]) : v;
            level[k] = totals[c + k] * inverse_n;
            tilt[k] = totals[C + c + k] * inverse_n * v;
        }
    }
};

extern "C" __global__ void apply_grad(const T* g, const T* x, const NW* w, const A* mean,
                                      const A* invstd, const A* totals, T* gx, i64 count, int C,
                                      int inner, double inverse_n) {
    const IX step = (IX)gridDim.x * blockDim.x * VW;
    IX at = ((IX)blockIdx.x * blockDim.x + threadIdx.x) * VW;
    const bool fixed = LAST && step % C == 0;
    Slope f;
    if (fixed && at < count) f.load(channel(at, C, inner), C, w, mean, invstd, totals, (A)inverse_n);
    for (; at < count; at += step) {
        Row v = *(const Row*)(x + at), e = *(const Row*)(g + at);
        if (!fixed) f.load(channel(at, C, inner), C, w, mean, invstd, totals, (A)inverse_n);
#pragma unroll
        for (int k = 0; k < VW; k++) {
            const int j = LAST ? k : 0;
            A out = up(e.v[k]) - f.level[j] - (up(v.v[k]) - f.mean[j]) * f.tilt[j];
            v.v[k] = dn(out * f.scale[j]);
        }
        *(Row*)(gx + at) = v;
    }
}

// -- running statistics: either array may be missing -----------------------------------------------

extern "C" __global__ void running(T* means, T* variances, const A* mean, const A* invstd, int C,
                                   double momentum, double eps, double bessel) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) return;
    if (means) means[c] = dn(up(means[c]) * (A)(1 - momentum) + mean[c] * (A)momentum);
    if (variances) {
        double s = invstd[c];
        A var = (A)((1.0 / (s * s) - eps) * bessel);
        variances[c] = dn(up(variances[c]) * (A)(1 - momentum) + var * (A)momentum);
    }
}
