// Images read at places between their pixels (grid_sample), and the gradients of both. MODE is 0 bilinear, 1 nearest,
// 2 bicubic; PADDING 0 zeros, 1 border, 2 reflection; DIMS the dims of an image, ALIGN whether corners are pixels.
#ifndef MODE
#define MODE 0
#endif
#ifndef PADDING
#define PADDING 0
#endif
#ifndef DIMS
#define DIMS 2
#endif
#ifndef ALIGN
#define ALIGN 0
#endif
#define TAPS (MODE == 1 ? 1 : MODE == 2 ? 4 : 2) /* neighbours along an axis */
#define ALL (DIMS == 2 ? TAPS * TAPS : TAPS * TAPS * TAPS)

struct Sizes { i64 n[3]; };  // depth, rows, columns; the last is not used for images
struct Line { int at[TAPS]; A w[TAPS], dw[TAPS]; };  // a neighbour's place (-1: outside), weight, the weight's derivative

// Into [-0.5, size - 0.5], or [0, size - 1] where corners are pixels, by mirrors at both ends; `slope` takes its sign.
__device__ __forceinline__ A mirrored(A p, A size, A* slope) {
    const A low = ALIGN ? (A)0 : (A)-0.5, span = ALIGN ? size - 1 : size;
    if (span == 0) {
        *slope = 0;
        return 0;
    }
    const A far = p - low, twice = 2 * span, a = far < 0 ? -far : far, over = a - trunc(a / twice) * twice;
    const A back = twice - over;
    if ((far < 0) != (over > back)) *slope = -*slope;
    return (over > back ? back : over) + low;
}

// Into [0, size - 1]; NaN becomes 0, and an end has no slope.
__device__ __forceinline__ A bounded(A p, A size, A* slope) {
    if (PADDING == 0) return p;
    if (PADDING == 2) p = mirrored(p, size, slope);
    if (!(p > 0 && p < size - 1)) *slope = 0;
    p = p > 0 ? p : (A)0;
    return p < size - 1 ? p : size - 1;
}

__device__ __forceinline__ int place(A p, A size) { return p >= 0 && p <= size - 1 ? (int)p : -1; }

// What a coordinate in [-1, 1] reads along an axis.
__device__ __forceinline__ void look(A g, i64 n, Line* line) {
    const A size = (A)n;
    A slope = (ALIGN ? size - 1 : size) / 2, p = ALIGN ? (g + 1) * slope : ((g + 1) * size - 1) / 2;
    if (MODE == 2) {
        const A low = floor(p), t = p - low, a = (A)-0.75;
#pragma unroll
        for (int k = 0; k < TAPS; k++) {
            const A d = k == 0 ? t + 1 : k == 1 ? t : k == 2 ? 1 - t : 2 - t, sign = k < 2 ? slope : -slope;
            const bool near = k == 1 || k == 2;
            A unused = 1;
            line->at[k] = place(bounded(low + (k - 1), size, &unused), size);
            line->w[k] = near ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((d - 5) * d + 8) * d * a - 4 * a;
            line->dw[k] = sign * (near ? (3 * (a + 2) * d - 2 * (a + 3)) * d : ((3 * d - 10) * d + 8) * a);
        }
        return;
    }
    p = bounded(p, size, &slope);
    if (MODE == 1) {
        line->at[0] = place(rint(p), size);
        line->w[0] = 1;
        line->dw[0] = 0;
        return;
    }
    const A low = floor(p), part = p - low;
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        line->at[k] = place(low + k, size);
        line->w[k] = k ? part : 1 - part;
        line->dw[k] = k ? slope : -slope;
    }
}

// The neighbours along all axes; in the grid x comes first, in the image it is the last dim.
__device__ __forceinline__ void look_all(const T* grid, const Sizes& s, Line* lines) {
#pragma unroll
    for (int d = 0; d < DIMS; d++) look(up(grid[DIMS - 1 - d]), s.n[d], lines + d);
}

// One of all combinations of neighbours: its place in the image, -1 outside, and its weight, with the derivative of
// axis `by` in place of that axis' weight (-1: of none).
__device__ __forceinline__ int tap_of(const Line* lines, const Sizes& s, int tap, int by, A* weight) {
    int digits[DIMS], at = 0;
    bool inside = true;
#pragma unroll
    for (int d = DIMS - 1; d >= 0; d--) {
        digits[d] = tap % TAPS;
        tap /= TAPS;
    }
    A w = 1;
#pragma unroll
    for (int d = 0; d < DIMS; d++) {
        const int own = lines[d].at[digits[d]];
        inside = inside && own >= 0;
        at = at * (int)s.n[d] + own;
        w *= by == d ? lines[d].dw[digits[d]] : lines[d].w[digits[d]];
    }
    *weight = w;
    return inside ? at : -1;
}

// x is (images, channels, plane), out (images, channels, places). A thread reads `each` channels of one place; `count`
// is images * shares of channels * places.
KERNEL(sample)(const T* __restrict__ x, const T* __restrict__ grid, T* __restrict__ out, i64 count, i64 places,
               int channels, int each, i64 plane, Sizes s) {
    depend();
    const int shares = (channels + each - 1) / each;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const i64 rest = i / places, at_place = i - rest * places, image = rest / shares;
        const int first = (int)(rest - image * shares) * each, end = min(first + each, channels);
        Line lines[DIMS];
        int at[ALL];
        A w[ALL];
        look_all(grid + (image * places + at_place) * DIMS, s, lines);
#pragma unroll
        for (int t = 0; t < ALL; t++) at[t] = tap_of(lines, s, t, -1, w + t);
        for (int c = first; c < end; c++) {
            const T* from = x + (image * channels + c) * plane;
            A sum = 0;
#pragma unroll
            for (int t = 0; t < ALL; t++)
                if (at[t] >= 0) sum += up(from[at[t]]) * w[t];
                else if (DIMS == 2) sum += 0 * w[t];  // NaN stays NaN
            out[(image * channels + c) * places + at_place] = dn(sum);
        }
    }
}

// Every gradient to the pixels that its place read, in whichever order they come; gx starts as zeros.
KERNEL(spread)(const T* __restrict__ g, const T* __restrict__ grid, A* gx, i64 count, i64 places, int channels,
               int each, i64 plane, Sizes s) {
    depend();
    const int shares = (channels + each - 1) / each;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const i64 rest = i / places, at_place = i - rest * places, image = rest / shares;
        const int first = (int)(rest - image * shares) * each, end = min(first + each, channels);
        Line lines[DIMS];
        int at[ALL];
        A w[ALL];
        look_all(grid + (image * places + at_place) * DIMS, s, lines);
#pragma unroll
        for (int t = 0; t < ALL; t++) at[t] = tap_of(lines, s, t, -1, w + t);
        for (int c = first; c < end; c++) {
            const A v = up(g[(image * channels + c) * places + at_place]);
            A* to = gx + (image * channels + c) * plane;
#pragma unroll
            for (int t = 0; t < ALL; t++)
                if (at[t] >= 0) atomicAdd(to + at[t], v * w[t]);
        }
    }
}

// The same in the order of the places, the same bits every time: a thread has a channel of an image to itself.
KERNEL(spread_in_order)(const T* __restrict__ g, const T* __restrict__ grid, A* gx, i64 count, i64 places,
                        int channels, i64 plane, Sizes s) {
    depend();
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        for (i64 j = 0; j < places; j++) {
            Line lines[DIMS];
            look_all(grid + (i / channels * places + j) * DIMS, s, lines);
            const A v = up(g[i * places + j]);
            for (int t = 0; t < ALL; t++) {
                A w;
                const int at = tap_of(lines, s, t, -1, &w);
                if (at >= 0) gx[i * plane + at] += v * w;
            }
        }
    }
}

// What a step of each place changes, summed over the channels.
KERNEL(slope)(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ grid, T* __restrict__ out,
              i64 count, i64 places, int channels, i64 plane, Sizes s) {
    depend();
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const i64 image = i / places, at_place = i - image * places;
        Line lines[DIMS];
        int at[ALL];
        A worth[ALL], w;
        look_all(grid + i * DIMS, s, lines);
#pragma unroll
        for (int t = 0; t < ALL; t++) {
            at[t] = tap_of(lines, s, t, -1, &w);
            worth[t] = 0;
        }
        for (int c = 0; c < channels; c++) {
            const A v = up(g[(image * channels + c) * places + at_place]);
            const T* from = x + (image * channels + c) * plane;
#pragma unroll
            for (int t = 0; t < ALL; t++)
                if (at[t] >= 0) worth[t] += up(from[at[t]]) * v;
        }
#pragma unroll
        for (int d = 0; d < DIMS; d++) {
            A sum = 0;
#pragma unroll
            for (int t = 0; t < ALL; t++) {
                tap_of(lines, s, t, d, &w);
                if (at[t] >= 0) sum += w * worth[t];
            }
            out[i * DIMS + DIMS - 1 - d] = dn(sum);
        }
    }
}
