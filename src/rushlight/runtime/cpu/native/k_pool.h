/* Pooling: windows of 2 x 2 at once, and one place of every window of a row for all others. */

typedef int64_t vl __attribute__((vector_size(VL * 8)));
typedef int64_t vl_any __attribute__((vector_size(VL * 8), aligned(8), may_alias));

/* One candidate of each window against the best so far; a NaN wins, the last one. */
INLINE void max_take(vf v, int32_t step, vf *best, vi *where) {
    const vi better = (v > *best) | (v != v);
    *best = pick(better, v, *best);
    *where = (better & spread_i(step)) | (~better & *where);
}

/* Rows of h x w floats, `row` apart, to h/2 x w/2 maxima and their places. */
static void K(max_2x2)(const float *x, idx h, idx w, idx row, float *y, int64_t *index) {
    const idx wide = w / 2;
    vi count;
    for (int i = 0; i < VL; i++) count[i] = 2 * i;
    for (idx i = 0; i < h / 2; i++) {
        const float *a = x + 2 * i * row, *b = a + row;
        const int32_t at = (int32_t)(2 * i * w);
        float *to = y + i * wide;
        int64_t *where = index + i * wide;
        for (idx j = 0; j < wide && wide >= VL; j += VL) {
            const idx here = j + VL <= wide ? j : wide - VL; /* the last vector overlaps the one before */
            const vf a0 = load(a + 2 * here), a1 = load(a + 2 * here + VL);
            const vf b0 = load(b + 2 * here), b1 = load(b + 2 * here + VL);
            vf best = EVENS(a0, a1);
            vi step = spread_i(0);
            max_take(ODDS(a0, a1), 1, &best, &step);
            max_take(EVENS(b0, b1), (int32_t)w, &best, &step);
            max_take(ODDS(b0, b1), (int32_t)w + 1, &best, &step);
            store(to + here, best);
            step += count + spread_i(at + (int32_t)(2 * here));
            *(vl_any *)(where + here) = __builtin_convertvector(step, vl);
        }
        for (idx j = 0; j < wide && wide < VL; j++) {
            const float v[4] = {a[2 * j], a[2 * j + 1], b[2 * j], b[2 * j + 1]};
            int best = 0;
            for (int k = 1; k < 4; k++) best = (v[k] > v[best]) | (v[k] != v[k]) ? k : best;
            to[j] = v[best];
            where[j] = at + 2 * j + (best / 2) * w + best % 2;
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
