/* Pooling: windows of 2 x 2 at once, and one place of every window of a row for all others. */

/* Rows of h x w floats, `row` apart, to h/2 x w/2 maxima and their places; a NaN wins, the last one. */
static void K(max_2x2)(const float *x, idx h, idx w, idx row, float *y, int64_t *index) {
    const idx wide = w / 2;
    for (idx i = 0; i < h / 2; i++) {
        const float *restrict a = x + 2 * i * row, *restrict b = a + row;
        const int32_t at = (int32_t)(2 * i * w);
        float *restrict to = y + i * wide;
        int64_t *restrict where = index + i * wide;
        for (idx j = 0; j < wide; j++) {
            const float v0 = a[2 * j], v1 = a[2 * j + 1], v2 = b[2 * j], v3 = b[2 * j + 1];
            float best = v0;
            int32_t step = 0;
            step = v1 > best || v1 != v1 ? 1 : step;
            best = v1 > best || v1 != v1 ? v1 : best;
            step = v2 > best || v2 != v2 ? (int32_t)w : step;
            best = v2 > best || v2 != v2 ? v2 : best;
            step = v3 > best || v3 != v3 ? (int32_t)w + 1 : step;
            best = v3 > best || v3 != v3 ? v3 : best;
            to[j] = best;
            where[j] = at + (int32_t)(2 * j) + step;
        }
    }
}

typedef int32_t vi_any __attribute__((vector_size(VL * 4), aligned(4), may_alias));

INLINE void max_vector(vf v, vi at, float *best, int32_t *index) {
    const vf b = load(best);
    const vi better = (v > b) | (v != v), before = *(vi_any *)index;
    store(best, pick(better, v, b));
    *(vi_any *)index = (better & at) | (~better & before);
}

/* One place of n windows, `step` apart: take it where it beats the best so far, or is a NaN. */
static void K(max_row)(const float *x, idx n, idx step, int32_t at, float *best, int32_t *index) {
    if (n < VL || step > 2) {
        for (idx i = 0; i < n; i++) {
            const float v = x[i * step];
            const int better = (v > best[i]) | (v != v);
            best[i] = better ? v : best[i];
            index[i] = better ? at + (int32_t)(i * step) : index[i];
        }
        return;
    }
    vi count;
    for (int i = 0; i < VL; i++) count[i] = at + i * (int32_t)step;
    for (idx i = 0; i < n; i += VL) {
        const idx here = i + VL <= n ? i : n - VL; /* the last vector may overlap: a maximum twice is the same */
        const vi place = count + spread_i((int32_t)(here * step));
        max_vector(step == 1 ? load(x + here) : load_evens(x + 2 * here), place, best + here, index + here);
    }
}

static void K(add_row)(const float *x, idx n, idx step, float *sums) {
    idx i = 0;
    if (step <= 2)
        for (; i + VL <= n; i += VL)
            store(sums + i, load(sums + i) + (step == 1 ? load(x + i) : load_evens(x + 2 * i)));
    for (; i < n; i++) sums[i] += x[i * step];
}
