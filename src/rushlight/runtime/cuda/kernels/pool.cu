// Pooling over windows of up to three dims; a missing dim has size 1. Arrays are dense (N C D H W).
struct Win { int d, h, w, od, oh, ow, kd, kh, kw, sd, sh, sw, pd, ph, pw, gd, gh, gw; };

// -- maxima: value and flat position within the image -------------------------------------------

__device__ __forceinline__ void max_at(const T* x, Win k, i64 plane, int oz, int oy, int ox, T* y,
                                       i64* index, i64 i) {
    int z0 = oz * k.sd - k.pd, y0 = oy * k.sh - k.ph, x0 = ox * k.sw - k.pw;
    // A window of nothing but -inf names its first real element.
    int zf = z0 < 0 ? z0 + (-z0 + k.gd - 1) / k.gd * k.gd : z0;
    int yf = y0 < 0 ? y0 + (-y0 + k.gh - 1) / k.gh * k.gh : y0;
    int xf = x0 < 0 ? x0 + (-x0 + k.gw - 1) / k.gw * k.gw : x0;
    int at = (zf * k.h + yf) * k.w + xf;
    const T* p = x + plane * k.d * k.h * k.w;
    A best = -infinity();
    T kept = dn(best);
    for (int a = 0; a < k.kd; a++) {
        int z = z0 + a * k.gd;
        if (z < 0 || z >= k.d) continue;
        for (int b = 0; b < k.kh; b++) {
            int yy = y0 + b * k.gh;
            if (yy < 0 || yy >= k.h) continue;
            for (int c = 0; c < k.kw; c++) {
                int xx = x0 + c * k.gw;
                if (xx < 0 || xx >= k.w) continue;
                int here = (z * k.h + yy) * k.w + xx;
                T raw = p[here];
                A v = up(raw);
                if (v > best || v != v) { best = v; kept = raw; at = here; }
            }
        }
    }
    y[i] = kept;
    index[i] = at;
}

KERNEL(max_pool)(const T* x, T* y, i64* index, i64 count, Win k) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
        int per = k.od * k.oh * k.ow;
        i64 plane = i / per;
        int rest = (int)(i - plane * per);
        int ox = rest % k.ow, oy = rest / k.ow % k.oh, oz = rest / (k.ow * k.oh);
        max_at(x, k, plane, oz, oy, ox, y, index, i);
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
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
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
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x)
        y[i] = x[i / out * size + index[i]];
}

// -- means --------------------------------------------------------------------------------------

__device__ __forceinline__ int span(int start, int k, int n, int pad, int include) {
    int end = min(start + k, n + pad);
    if (include) return end - start;
    return min(end, n) - max(start, 0);
}

KERNEL(avg_pool)(const T* x, T* y, i64 count, Win k, int include, int divisor) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
        int per = k.od * k.oh * k.ow;
        i64 plane = i / per;
        int rest = (int)(i - plane * per);
        int ox = rest % k.ow, oy = rest / k.ow % k.oh, oz = rest / (k.ow * k.oh);
        int z0 = oz * k.sd - k.pd, y0 = oy * k.sh - k.ph, x0 = ox * k.sw - k.pw;
        const T* p = x + plane * k.d * k.h * k.w;
        A total = (A)0;
        for (int z = max(z0, 0); z < min(z0 + k.kd, k.d); z++)
            for (int yy = max(y0, 0); yy < min(y0 + k.kh, k.h); yy++)
                for (int xx = max(x0, 0); xx < min(x0 + k.kw, k.w); xx++)
                    total += up(p[(z * k.h + yy) * k.w + xx]);
        A by = divisor ? (A)divisor
                       : (A)span(z0, k.kd, k.d, k.pd, include) * (A)span(y0, k.kh, k.h, k.ph, include) *
                             (A)span(x0, k.kw, k.w, k.pw, include);
        y[i] = dn(total / by);
    }
}

// Every input element collects from the windows it lies in.
KERNEL(avg_pool_grad)(const T* g, T* gx, i64 count, Win k, int include,
                      int divisor) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
        int per = k.d * k.h * k.w;
        i64 plane = i / per;
        int rest = (int)(i - plane * per);
        int x = rest % k.w, y = rest / k.w % k.h, z = rest / (k.w * k.h);
        const T* p = g + plane * k.od * k.oh * k.ow;
        int za = max(0, (z + k.pd - k.kd + k.sd) / k.sd), zb = min(k.od - 1, (z + k.pd) / k.sd);
        int ya = max(0, (y + k.ph - k.kh + k.sh) / k.sh), yb = min(k.oh - 1, (y + k.ph) / k.sh);
        int xa = max(0, (x + k.pw - k.kw + k.sw) / k.sw), xb = min(k.ow - 1, (x + k.pw) / k.sw);
        if (z + k.pd - k.kd + 1 <= 0) za = 0;
        if (y + k.ph - k.kh + 1 <= 0) ya = 0;
        if (x + k.pw - k.kw + 1 <= 0) xa = 0;
        A total = (A)0;
        for (int oz = za; oz <= zb; oz++)
            for (int oy = ya; oy <= yb; oy++)
                for (int ox = xa; ox <= xb; ox++) {
                    A by = (A)divisor;
                    if (!divisor)
                        by = (A)span(oz * k.sd - k.pd, k.kd, k.d, k.pd, include) *
                             (A)span(oy * k.sh - k.ph, k.kh, k.h, k.ph, include) *
                             (A)span(ox * k.sw - k.pw, k.kw, k.w, k.pw, include);
                    total += up(p[(oz * k.oh + oy) * k.ow + ox]) / by;
                }
        gx[i] = dn(total);
    }
}
