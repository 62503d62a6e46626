/* Places between pixels: which neighbours along one axis a sample reads, how much of each, and how that changes. */

/* Into [-0.5, size - 0.5], or [0, size - 1] where corners are pixels, by mirrors at both ends; `slope` takes its sign. */
INLINE float mirrored(float p, idx size, int align, float *slope) {
    const float low = align ? 0.0f : -0.5f, span = align ? (float)(size - 1) : (float)size;
    const float far = p - low, a = fabsf(far), twice = 2 * span, over = a - truncf(a / twice) * twice, back = twice - over;
    const float sign = (far < 0) != (over > back) ? -1.0f : 1.0f, inside = (over > back ? back : over) + low;
    *slope *= span == 0 ? 0.0f : sign;
    return span == 0 ? 0.0f : inside;
}

/* Into [0, size - 1]; NaN becomes 0, and an end has no slope. */
INLINE float clipped(float p, idx size, float *slope) {
    const float high = (float)(size - 1);
    *slope = p > 0 && p < high ? *slope : 0.0f;
    const float q = p > 0 ? p : 0.0f;
    return q < high ? q : high;
}

INLINE float bounded(int padding, float p, idx size, int align, float *slope) {
    if (padding == S_ZEROS) return p;
    if (padding == S_REFLECTION) p = mirrored(p, size, align, slope);
    return clipped(p, size, slope);
}

/* A whole number as a place, -1 outside; NaN and numbers too large for any image are outside. */
INLINE int32_t place(float p, idx size) { return p >= 0 && p <= (float)(size - 1) ? (int32_t)p : -1; }

/* The four weights of a cubic (a = -0.75) at `t` behind the second, and their derivatives. */
INLINE void cubic(float t, float *w, float *dw) {
    const float a = -0.75f;
    for (int k = 0; k < 4; k++) {
        const float d = k == 0 ? t + 1 : k == 1 ? t : k == 2 ? 1 - t : 2 - t, sign = k < 2 ? 1.0f : -1.0f;
        if (k == 1 || k == 2) {
            w[k] = ((a + 2) * d - (a + 3)) * d * d + 1;
            dw[k] = sign * (3 * (a + 2) * d - 2 * (a + 3)) * d;
        } else {
            w[k] = ((d - 5) * d + 8) * d * a - 4 * a;
            dw[k] = sign * ((3 * d - 10) * d + 8) * a;
        }
    }
}

/* One axis of n places; `mode` and `padding` are constants where it is called, so that the loop has no branches. */
INLINE void axis_of(const int mode, const int padding, int align, const float *restrict grid, idx size, idx n,
                    int32_t *restrict at, float *restrict w, float *restrict dw) {
    const float scale = align ? (float)(size - 1) / 2 : (float)size / 2, shift = align ? 0.0f : 0.5f;
    for (idx j = 0; j < n; j++) {
        float slope = scale, p = (grid[j] + 1) * scale - shift;
        if (mode == S_CUBIC) {
            const float low = floorf(p);
            float ws[4], ds[4], unused = 1;
            cubic(p - low, ws, ds);
            UNROLL for (int k = 0; k < 4; k++) {
                at[k * n + j] = place(bounded(padding, low + (float)(k - 1), size, align, &unused), size);
                w[k * n + j] = ws[k];
                dw[k * n + j] = ds[k] * slope;
            }
            continue;
        }
        p = bounded(padding, p, size, align, &slope);
        if (mode == S_NEAREST) {
            at[j] = place(rintf(p), size);
            w[j] = 1;
            dw[j] = 0;
            continue;
        }
        const float low = floorf(p), part = p - low;
        at[j] = place(low, size), at[n + j] = place(low + 1, size);
        w[j] = 1 - part, w[n + j] = part;
        dw[j] = -slope, dw[n + j] = slope;
    }
}

/* n <= SAMPLE_BLOCK coordinates in [-1, 1], `step` apart. Tables are [tap][n]; dw: derivatives of w by the coordinate. */
static void K(sample_axis)(int mode, int padding, int align, const float *grid, idx step, idx size, idx n, int32_t *at,
                           float *w, float *dw) {
    float line[SAMPLE_BLOCK];
    for (idx j = 0; j < n; j++) line[j] = grid[j * step];
#define AXIS(m, p) \
    case 3 * m + p: axis_of(m, p, align, line, size, n, at, w, dw); return;
    switch (3 * mode + padding) {
        AXIS(S_BILINEAR, S_ZEROS) AXIS(S_BILINEAR, S_BORDER) AXIS(S_BILINEAR, S_REFLECTION)
        AXIS(S_NEAREST, S_ZEROS) AXIS(S_NEAREST, S_BORDER) AXIS(S_NEAREST, S_REFLECTION)
        AXIS(S_CUBIC, S_ZEROS) AXIS(S_CUBIC, S_BORDER) AXIS(S_CUBIC, S_REFLECTION)
    }
#undef AXIS
}

/* Two axes as one: the tap (a, b) reads row a, place b of rows of `size`; `drop`: outside, NaN is no weight. */
static void K(sample_join)(const int32_t *restrict a, const float *restrict wa, const int32_t *restrict b,
                           const float *restrict wb, idx size, idx n, int drop, int32_t *restrict at, float *restrict w) {
    for (idx j = 0; j < n; j++) {
        const int out = (a[j] < 0) | (b[j] < 0);
        at[j] = out ? -1 : a[j] * (int32_t)size + b[j];
        w[j] = out & drop ? 0.0f : wa[j] * wb[j];
    }
}
