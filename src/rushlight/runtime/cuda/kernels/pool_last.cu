// Pooling where channels lie innermost (N D H W C): a thread takes VW channels of one place, C is a multiple of VW.
#ifndef VW
#define VW 1
#endif
struct Win { int d, h, w, od, oh, ow, kd, kh, kw, sd, sh, sw, pd, ph, pw, gd, gh, gw; };
typedef Vec<T, VW> Row;

struct Place { int c, x, y, z; i64 n; };

// The channels and the place that belong to number i, of images of d x h x w places.
__device__ __forceinline__ Place place_of(i64 i, int C, int d, int h, int w) {
    const int groups = C / VW;
    i64 at = i / groups;
    Place p;
    p.c = (int)(i - at * groups) * VW;
    p.x = (int)(at % w), at /= w;
    p.y = (int)(at % h), at /= h;
    p.z = (int)(at % d), p.n = at / d;
    return p;
}
#define EACH(i, count) \
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x)

// -- maxima: value and flat position within the image -----------------------------------------------

// The first place of a window that is not in the padding.
__device__ __forceinline__ int inside(int start, int gap) {
    return start < 0 ? start + (-start + gap - 1) / gap * gap : start;
}

KERNEL(max_pool_last)(const T* x, T* y, i64* index, i64 count, int C, Win k) {
    depend();
    EACH(i, count) {
        const Place o = place_of(i, C, k.od, k.oh, k.ow);
        const int z0 = o.z * k.sd - k.pd, y0 = o.y * k.sh - k.ph, x0 = o.x * k.sw - k.pw;
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
                    const Row v = *(const Row*)(x + (o.n * k.d * k.h * k.w + here) * C + o.c);
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

// gx was filled with zeros. Places differ, so each is written once; or they may meet (S is float or double).
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

KERNEL(avg_pool_last)(const T* x, T* y, i64 count, int C, Win k, int include, int divisor) {
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
                    const Row v = *(const Row*)(x + (((o.n * k.d + z) * k.h + r) * k.w + q) * C + o.c);
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

KERNEL(avg_pool_grad_last)(const T* g, T* gx, i64 count, int C, Win k, int include,
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
                    const Row v = *(const Row*)(g + (((p.n * k.od + z) * k.oh + r) * k.ow + q) * C + p.c);
#pragma unroll
                    for (int j = 0; j < VW; j++) total[j] += up(v.v[j]) / by;
                }
        Row out;
#pragma unroll
        for (int j = 0; j < VW; j++) out.v[j] = dn(total[j]);
        *(Row*)(gx + i * VW) = out;
    }
}
