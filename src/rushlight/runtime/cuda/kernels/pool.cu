// Pooling over windows of up to three dims; a missing dim has size 1. Arrays are dense, row by row (N C D H W) or, LAST, with
// channels innermost (N D H W C): then a thread takes VW channels of one place, and C is a multiple of VW.
#ifndef LAST
#define LAST 0
#endif
#ifndef VW
#define VW 1
#endif
struct Win { int d, h, w, od, oh, ow, kd, kh, kw, sd, sh, sw, pd, ph, pw, gd, gh, gw; };
typedef Vec<T, VW> Row;

struct Place { int c, x, y, z; i64 n; };  // n: an image, or row by row one channel of it

// The channels and the place that belong to number i, of images of d x h x w places.
__device__ __forceinline__ Place place_of(i64 i, int C, int d, int h, int w) {
    Place p;
    if (LAST) {
        const int groups = C / VW;
        i64 at = i / groups;
        p.c = (int)(i - at * groups) * VW;
        p.x = (int)(at % w), at /= w;
        p.y = (int)(at % h), at /= h;
        p.z = (int)(at % d), p.n = at / d;
    } else {
        const int per = d * h * w;
        p.n = i / per;
        const int rest = (int)(i - p.n * per);
        p.c = 0, p.x = rest % w, p.y = rest / w % h, p.z = rest / (w * h);
    }
    return p;
}
// Where place `here` of the same image lies, which has `size` of them.
__device__ __forceinline__ i64 beside(const Place& p, i64 size, int here, int C) {
    return LAST ? (p.n * size + here) * C + p.c : p.n * size + here;
}
#define EACH(i, count) \
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x)

// -- maxima: value and flat position within the image -------------------------------------------

// The first place of a window that is not in the padding.
__device__ __forceinline__ int inside(int start, int gap) {
    return start < 0 ? start + (-start + gap - 1) / gap * gap : start;
}

KERNEL(max_pool)(const T* x, T* y, i64* index, i64 count, int C, Win k) {
    depend();
    EACH(i, count) {
        const Place o = place_of(i, C, k.od, k.oh, k.ow);
        const int z0 = o.z * k.sd - k.pd, y0 = o.y * k.sh - k.ph, x0 = o.x * k.sw - k.pw;
        // A window of nothing but -inf names its first real element.
        const int first = (inside(z0, k.gd) * k.h + inside(y0, k.gh)) * k.w + inside(x0, k.gw);
        A best[VW];
        Row kept;
        int at[VW];
#pragma unroll
        for (int j = 0; j < VW; j++) best[j] = -infinity(), kept.v[j] = dn(best[j]), at[j] = first;
        for (int a = 0, z = z0; a < k.kd; a++, z += k.gd) {
            if (z < 0 || z >= k.d) continue;
            for (int b = 0, r = y0; b < k.kh; b++, r += k.gh) {
                if (r < 0 || r >= k.h) continue;
                for (int e = 0, q = x0; e < k.kw; e++, q += k.gw) {
                    if (q < 0 || q >= k.w) continue;
                    const int here = (z * k.h + r) * k.w + q;
                    const Row v = *(const Row*)(x + beside(o, k.d * k.h * k.w, here, C));
#pragma unroll
                    for (int j = 0; j < VW; j++) {
                        const A u = up(v.v[j]);
                        if (u > best[j] || u != u) best[j] = u, kept.v[j] = v.v[j], at[j] = here;
                    }
                }
            }
        }
        *(Row*)(y + i * VW) = kept;
#pragma unroll
        for (int j = 0; j < VW; j++) index[i * VW + j] = at[j];
    }
}

// Windows of 2 x 2 side by side, the common case; W is even, so pairs are read at once.
KERNEL(max_pool_2x2)(const T* x, T* y, i64* index, int count, int w, int ow,
                     int oh) {
    depend();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        int ox = i % ow, rest = i / ow, oy = rest % oh;
        i64 plane = rest / oh;
        int at = oy * 2 * w + ox * 2;
        const T* p = x + plane * (2 * oh) * w + at;
        Vec<T, 2> a = *(const Vec<T, 2>*)p, b = *(const Vec<T, 2>*)(p + w);
        A best = up(a.v[0]);
        T kept = a.v[0];
        A v = up(a.v[1]);
        int where = at;
        if (v > best || v != v) { best = v; kept = a.v[1]; where = at + 1; }
        v = up(b.v[0]);
        if (v > best || v != v) { best = v; kept = b.v[0]; where = at + w; }
        v = up(b.v[1]);
        if (v > best || v != v) { best = v; kept = b.v[1]; where = at + w + 1; }
        y[i] = kept;
        index[i] = where;
    }
}

// Every block owns whole planes, gathers their gradients in shared memory and writes them out once.
KERNEL(max_pool_grad)(const T* g, const i64* index, T* gx, i64 planes, int size,
                      int out, int per_block, int overlap) {
    depend();
    extern __shared__ __align__(16) char room[];
    A* hold = (A*)room;
    for (i64 first = (i64)blockIdx.x * per_block; first < planes;
         first += (i64)gridDim.x * per_block) {
        int mine = (int)(planes - first < per_block ? planes - first : per_block);
        __syncthreads();
        for (int i = threadIdx.x; i < mine * size; i += blockDim.x) hold[i] = (A)0;
        __syncthreads();
        if (overlap == 2) {  // one thread a plane keeps the order of the sums
            for (int k = threadIdx.x; k < mine; k += blockDim.x)
                for (int i = 0; i < out; i++)
                    hold[k * size + index[(first + k) * out + i]] += up(g[(first + k) * out + i]);
        } else {
            for (int i = threadIdx.x; i < mine * out; i += blockDim.x) {
                A v = up(g[first * out + i]);
                A* to = hold + i / out * size + index[first * out + i];
                if (overlap) atomicAdd(to, v);
                else *to = v;
            }
        }
        __syncthreads();
        T* dst = gx + first * size;
        for (int i = threadIdx.x; i < mine * size; i += blockDim.x) dst[i] = dn(hold[i]);
    }
}

// Planes too large for shared memory: gx was filled with zeros; A is its type (float or double).
KERNEL(max_pool_grad_large)(const T* g, const i64* index, A* gx, i64 count,
                            i64 size, i64 out, int overlap) {
    depend();
    EACH(i, count) {
        if (overlap == 2) {
            for (i64 k = i * out; k < (i + 1) * out; k++) gx[i * size + index[k]] += up(g[k]);
        } else {
            A* to = gx + i / out * size + index[i];
            if (overlap) atomicAdd(to, up(g[i]));
            else *to = up(g[i]);
        }
    }
}

KERNEL(pool_take)(const T* x, const i64* index, T* y, i64 count, i64 size,
                  i64 out) {
    depend();
    EACH(i, count) y[i] = x[i / out * size + index[i]];
}

// Channels innermost; gx was filled with zeros. Places differ, so each is written once; or they may meet (S is float or double).
KERNEL(max_pool_grad_last)(const T* g, const i64* index, T* gx, i64 count, int C, i64 size,
                           i64 out) {
    depend();
    EACH(i, count) gx[(i / (out * C) * size + index[i]) * C + i % C] = g[i];
}
KERNEL(max_pool_grad_last_meeting)(const T* g, const i64* index, A* gx, i64 count, int C,
                                   i64 size, i64 out) {
    depend();
    EACH(i, count) atomicAdd(gx + (i / (out * C) * size + index[i]) * C + i % C, up(g[i]));
}

// -- means ------------------------------------------------------------------------------------------

__device__ __forceinline__ int span(int start, int k, int n, int pad, int include) {
    int end = min(start + k, n + pad);
    if (include) return end - start;
    return min(end, n) - max(start, 0);
}
// What the window of output place (z, y, x) is divided by.
__device__ __forceinline__ A divisor_of(Win k, int z, int y, int x, int include, int divisor) {
    if (divisor) return (A)divisor;
    return (A)span(z * k.sd - k.pd, k.kd, k.d, k.pd, include) *
           (A)span(y * k.sh - k.ph, k.kh, k.h, k.ph, include) *
           (A)span(x * k.sw - k.pw, k.kw, k.w, k.pw, include);
}

KERNEL(avg_pool)(const T* x, T* y, i64 count, int C, Win k, int include, int divisor) {
    depend();
    EACH(i, count) {
        const Place o = place_of(i, C, k.od, k.oh, k.ow);
        const int z0 = o.z * k.sd - k.pd, y0 = o.y * k.sh - k.ph, x0 = o.x * k.sw - k.pw;
        A total[VW];
#pragma unroll
        for (int j = 0; j < VW; j++) total[j] = (A)0;
        for (int z = max(z0, 0); z < min(z0 + k.kd, k.d); z++)
            for (int r = max(y0, 0); r < min(y0 + k.kh, k.h); r++)
                for (int q = max(x0, 0); q < min(x0 + k.kw, k.w); q++) {
                    const Row v = *(const Row*)(x + beside(o, k.d * k.h * k.w, (z * k.h + r) * k.w + q, C));
#pragma unroll
                    for (int j = 0; j < VW; j++) total[j] += up(v.v[j]);
                }
        const A by = divisor_of(k, o.z, o.y, o.x, include, divisor);
        Row out;
#pragma unroll
        for (int j = 0; j < VW; j++) out.v[j] = dn(total[j] / by);
        *(Row*)(y + i * VW) = out;
    }
}

// The windows along one dim that a place lies in: the first of them, and how many there are.
__device__ __forceinline__ int first_window(int at, int pad, int k, int step) {
    const int from = at + pad - k + 1;
    return from <= 0 ? 0 : (from + step - 1) / step;
}

// Every input element collects from the windows it lies in.
KERNEL(avg_pool_grad)(const T* g, T* gx, i64 count, int C, Win k, int include,
                      int divisor) {
    depend();
    EACH(i, count) {
        const Place p = place_of(i, C, k.d, k.h, k.w);
        const int zb = min(k.od - 1, (p.z + k.pd) / k.sd), yb = min(k.oh - 1, (p.y + k.ph) / k.sh),
                  xb = min(k.ow - 1, (p.x + k.pw) / k.sw);
        A total[VW];
#pragma unroll
        for (int j = 0; j < VW; j++) total[j] = (A)0;
        for (int z = first_window(p.z, k.pd, k.kd, k.sd); z <= zb; z++)
            for (int r = first_window(p.y, k.ph, k.kh, k.sh); r <= yb; r++)
                for (int q = first_window(p.x, k.pw, k.kw, k.sw); q <= xb; q++) {
                    const A by = divisor_of(k, z, r, q, include, divisor);
                    const Row v = *(const Row*)(g + beside(p, k.od * k.oh * k.ow, (z * k.oh + r) * k.ow + q, C));
#pragma unroll
                    for (int j = 0; j < VW; j++) total[j] += up(v.v[j]) / by;
                }
        Row out;
#pragma unroll
        for (int j = 0; j < VW; j++) out.v[j] = dn(total[j]);
        *(Row*)(gx + i * VW) = out;
    }
}
