// Windows of images: as columns, columns added back, windows along a dim added back, and the largest of windows whose places follow from the output's
// size. Before this file stand the prelude and S, the element type.
typedef Wide<S>::type T;
struct Pair { i64 h, w; };
struct Three { i64 of[3]; };
struct Ways { double of[3]; };
#define EVERY(i, count) \
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (count); i += (i64)gridDim.x * blockDim.x)

// Columns (image, kernel place, window): `count` of them all.
KERNEL(unfold)(const S* __restrict__ x, S* __restrict__ out, i64 count, Pair size, Pair windows, Pair kernel, Pair stride,
               Pair padding, Pair dilation) {
    depend();
    EVERY(i, count) {
        i64 r = i;
        const i64 wx = r % windows.w; r /= windows.w;
        const i64 wy = r % windows.h; r /= windows.h;
        const i64 kx = r % kernel.w; r /= kernel.w;
        const i64 ky = r % kernel.h; r /= kernel.h;
        const i64 y = wy * stride.h + ky * dilation.h - padding.h, at = wx * stride.w + kx * dilation.w - padding.w;
        const bool inside = y >= 0 && y < size.h && at >= 0 && at < size.w;
        out[i] = inside ? x[(r * size.h + y) * size.w + at] : narrow(To<S>(), T(0));
    }
}

// The other way round: what windows saw of a pixel is added up in the order of their places.
KERNEL(fold)(const S* __restrict__ x, S* __restrict__ out, i64 count, Pair size, Pair windows, Pair kernel, Pair stride,
             Pair padding, Pair dilation) {
    depend();
    EVERY(i, count) {
        i64 r = i;
        const i64 at = r % size.w + padding.w; r /= size.w;
        const i64 y = r % size.h + padding.h; r /= size.h;
        T total = 0;
        for (i64 ky = 0; ky < kernel.h; ky++) {
            const i64 up = y - ky * dilation.h, wy = up / stride.h;
            if (up < 0 || wy >= windows.h || wy * stride.h != up) continue;
            for (i64 kx = 0; kx < kernel.w; kx++) {
                const i64 left = at - kx * dilation.w, wx = left / stride.w;
                if (left < 0 || wx >= windows.w || wx * stride.w != left) continue;
                const i64 place = (r * kernel.h + ky) * kernel.w + kx;
                total += widen(x[(place * windows.h + wy) * windows.w + wx]);
            }
        }
        out[i] = narrow(To<S>(), total);
    }
}

// Windows along one dim of (outer, length, inner), back where they came from: an element of several gets their sum, the
// last of them first.
KERNEL(unwind)(const S* __restrict__ g, S* __restrict__ out, i64 count, i64 length, i64 inner, i64 windows, i64 size, i64 step) {
    depend();
    EVERY(i, count) {
        const i64 line = i / inner, outer = line / length, at = line - outer * length, r = i - line * inner;
        const i64 first = at < size ? 0 : (at - size) / step + 1, last = at / step < windows ? at / step : windows - 1;
        T total = 0;
        for (i64 w = last; w >= first; w--)
            total += widen(g[((outer * windows + w) * inner + r) * size + at - w * step]);
        out[i] = narrow(To<S>(), total);
    }
}

// The largest of a box and its place in the image: the first of equal ones, the last NaN.
__device__ __forceinline__ void largest(const S* x, const Three& size, const i64* start, const i64* end, S* value, i64* place) {
    i64 best = (start[0] * size.of[1] + start[1]) * size.of[2] + start[2];
    T top = widen(x[best]);
    for (i64 a = start[0]; a < end[0]; a++)
        for (i64 b = start[1]; b < end[1]; b++)
            for (i64 c = start[2]; c < end[2]; c++) {
                const i64 at = (a * size.of[1] + b) * size.of[2] + c;
                const T v = widen(x[at]);
                if (v > top || v != v) top = v, best = at;
            }
    *value = x[best];
    *place = best;
}

// Windows that divide an image into `out` parts along each of three dims.
KERNEL(adaptive_max)(const S* __restrict__ x, S* __restrict__ values, i64* __restrict__ places, i64 count, Three size, Three out) {
    depend();
    EVERY(i, count) {
        i64 r = i, start[3], end[3];
#pragma unroll
        for (int d = 2; d >= 0; d--) {
            const i64 m = out.of[d], n = size.of[d], k = r % m;
            r /= m;
            start[d] = k * n / m;
            end[d] = ((k + 1) * n + m - 1) / m;
        }
        largest(x + r * size.of[0] * size.of[1] * size.of[2], size, start, end, &values[i], &places[i]);
    }
}

// Windows of one size that begin where samples say, one for each image and dim; `at` has the sample of each dim, -1 none.
KERNEL(fractional_max)(const S* __restrict__ x, const S* __restrict__ samples, S* __restrict__ values, i64* __restrict__ places,
                       i64 count, Three size, Three out, Three kernel, Three at, i64 drawn, Ways way) {
    depend();
    EVERY(i, count) {
        i64 r = i, of[3], start[3], end[3];
#pragma unroll
        for (int d = 2; d >= 0; d--) {
            of[d] = r % out.of[d];
            r /= out.of[d];
        }
#pragma unroll
        for (int d = 0; d < 3; d++) {
            if (at.of[d] < 0) start[d] = 0;
            else if (of[d] == out.of[d] - 1) start[d] = size.of[d] - kernel.of[d];
            else {
                const T u = widen(samples[r * drawn + at.of[d]]);
                start[d] = (i64)(((double)of[d] + (double)u) * way.of[d]) - (i64)(u * (T)way.of[d]);
            }
            end[d] = start[d] + kernel.of[d];
        }
        largest(x + r * size.of[0] * size.of[1] * size.of[2], size, start, end, &values[i], &places[i]);
    }
}
