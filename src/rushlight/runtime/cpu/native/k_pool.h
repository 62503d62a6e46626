/* Pooling: windows of 2 x 2 at once, and one place of every window of a row for all others. */

typedef int64_t vl __attribute__((vector_size(VL * 8)));
typedef int64_t vl_any __attribute__((vector_size(VL * 8), aligned(8), may_alias));

/* A row of 2 x 2 windows by vectors of LANES results: the maxima of rows a and b, and their places in the plane, the first
 * at `at`. One candidate of each window after the other stands against the best so far; a NaN wins, the last one. The
 * last vector overlaps the one before. */
#define POOL_ROW(LANES, EVEN, ODD) \
    typedef float RL_JOIN(pool_f, LANES) __attribute__((vector_size(LANES * 4))); \
    typedef float RL_JOIN(pool_any, LANES) __attribute__((vector_size(LANES * 4), aligned(4), may_alias)); \
    typedef int32_t RL_JOIN(pool_i, LANES) __attribute__((vector_size(LANES * 4))); \
    typedef int64_t RL_JOIN(pool_l, LANES) __attribute__((vector_size(LANES * 8), aligned(8), may_alias)); \
    INLINE void RL_JOIN(pool_take, LANES)(RL_JOIN(pool_f, LANES) v, int32_t step, RL_JOIN(pool_f, LANES) * best, \
                                          RL_JOIN(pool_i, LANES) * where) { \
        typedef RL_JOIN(pool_i, LANES) bits; \
        const bits better = (v > *best) | (v != v); \
        *best = (RL_JOIN(pool_f, LANES))((better & (bits)v) | (~better & (bits)*best)); \
        *where = (better & step) | (~better & *where); \
    } \
    static void RL_JOIN(K(pool_row), LANES)(const float *a, const float *b, idx wide, int32_t at, int32_t w, float *to, \
                                            int64_t *where) { \
        typedef RL_JOIN(pool_f, LANES) f; \
        typedef RL_JOIN(pool_any, LANES) any; \
        RL_JOIN(pool_i, LANES) count; \
        for (int i = 0; i < LANES; i++) count[i] = at + 2 * i; \
        for (idx j = 0; j < wide; j += LANES) { \
            const idx here = j + LANES <= wide ? j : wide - LANES; \
            const f a0 = *(const any *)(a + 2 * here), a1 = *(const any *)(a + 2 * here + LANES); \
            const f b0 = *(const any *)(b + 2 * here), b1 = *(const any *)(b + 2 * here + LANES); \
            f best = __builtin_shufflevector(a0, a1, EVEN); \
            RL_JOIN(pool_i, LANES) step = count + (int32_t)(2 * here), add = {0}; \
            RL_JOIN(pool_take, LANES)(__builtin_shufflevector(a0, a1, ODD), 1, &best, &add); \
            RL_JOIN(pool_take, LANES)(__builtin_shufflevector(b0, b1, EVEN), w, &best, &add); \
            RL_JOIN(pool_take, LANES)(__builtin_shufflevector(b0, b1, ODD), w + 1, &best, &add); \
            *(any *)(to + here) = best; \
            *(RL_JOIN(pool_l, LANES) *)(where + here) = __builtin_convertvector(step + add, RL_JOIN(pool_l, LANES)); \
        } \
    }
#define LIST(...) __VA_ARGS__
POOL_ROW(4, LIST(0, 2, 4, 6), LIST(1, 3, 5, 7))
#if VL > 4
POOL_ROW(8, LIST(0, 2, 4, 6, 8, 10, 12, 14), LIST(1, 3, 5, 7, 9, 11, 13, 15))
#endif
#if VL > 8
POOL_ROW(16, LIST(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
         LIST(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31))
#endif
#undef LIST

/* Rows of h x w floats, `row` apart, to h/2 x w/2 maxima and their places. */
static void K(max_2x2)(const float *x, idx h, idx w, idx row, float *y, int64_t *index) {
    const idx wide = w / 2;
    for (idx i = 0; i < h / 2; i++) {
        const float *a = x + 2 * i * row, *b = a + row;
        const int32_t at = (int32_t)(2 * i * w);
        float *to = y + i * wide;
        int64_t *where = index + i * wide;
#if VL > 8
        if (wide >= 16) {
            RL_JOIN(K(pool_row), 16)(a, b, wide, at, (int32_t)w, to, where);
            continue;
        }
#endif
#if VL > 4
        if (wide >= 8) {
            RL_JOIN(K(pool_row), 8)(a, b, wide, at, (int32_t)w, to, where);
            continue;
        }
#endif
        if (wide >= 4) {
            RL_JOIN(K(pool_row), 4)(a, b, wide, at, (int32_t)w, to, where);
            continue;
        }
        for (idx j = 0; j < wide; j++) {
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
