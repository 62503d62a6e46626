/* Pooling: windows of 2 x 2 at once, and one place of every window of a row for all others. */

typedef int64_t vl __attribute__((vector_size(VL * 8)));
typedef int64_t vl_any __attribute__((vector_size(VL * 8), aligned(8), may_alias));

#if defined(__x86_64__) && VL == 16
/* The even and the odd ones of 32 floats, and two vectors one number of each after the other. */
#define POOL_INDEX(first, step) \
    _mm512_setr_epi32(first, first + step, first + 2 * step, first + 3 * step, first + 4 * step, first + 5 * step, \
                      first + 6 * step, first + 7 * step, first + 8 * step, first + 9 * step, first + 10 * step, \
                      first + 11 * step, first + 12 * step, first + 13 * step, first + 14 * step, first + 15 * step)
#define POOL_PAIRS(first) \
    _mm512_setr_epi32(first, 16 + first, first + 1, 17 + first, first + 2, 18 + first, first + 3, 19 + first, \
                      first + 4, 20 + first, first + 5, 21 + first, first + 6, 22 + first, first + 7, 23 + first)
#define POOL_SOME(n) ((n) >= 16 ? 0xffff : (n) <= 0 ? 0 : (__mmask16)((1u << (n)) - 1))

INLINE void pool_take(__m512 v, __m512i step, __m512 *best, __m512i *where) {
    const __mmask16 better = _mm512_cmp_ps_mask(v, *best, _CMP_GT_OQ) | _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    *best = _mm512_mask_mov_ps(*best, better, v);
    *where = _mm512_mask_mov_epi32(*where, better, step);
}

/* Which of 16 windows there are, of their 32 columns, and of 8 places each. */
typedef struct {
    __mmask16 all, low, high;
    __mmask8 first, second;
} PoolMask;

INLINE PoolMask pool_mask(idx left) {
    return (PoolMask){POOL_SOME(left), POOL_SOME(2 * left), POOL_SOME(2 * left - 16), (__mmask8)POOL_SOME(left < 8 ? left : 8),
                      (__mmask8)POOL_SOME(left < 16 ? left - 8 : 8)};
}

/* Windows of 2 x 2: the maxima of rows a and b, and their places in the plane, the first at `at`. One candidate of each window
 * after the other stands against the best so far; a NaN wins, the last one. */
INLINE void pool_vector(const float *a, const float *b, PoolMask m, int32_t at, int32_t w, float *to, int64_t *where) {
    const __m512i even = POOL_INDEX(0, 2), odd = POOL_INDEX(1, 2);
    const __m512 a0 = _mm512_maskz_loadu_ps(m.low, a), a1 = _mm512_maskz_loadu_ps(m.high, a + 16);
    const __m512 b0 = _mm512_maskz_loadu_ps(m.low, b), b1 = _mm512_maskz_loadu_ps(m.high, b + 16);
    const __m512i first = _mm512_add_epi32(even, _mm512_set1_epi32(at));
    __m512 best = _mm512_permutex2var_ps(a0, even, a1);
    __m512i place = first;
    pool_take(_mm512_permutex2var_ps(a0, odd, a1), _mm512_add_epi32(first, _mm512_set1_epi32(1)), &best, &place);
    pool_take(_mm512_permutex2var_ps(b0, even, b1), _mm512_add_epi32(first, _mm512_set1_epi32(w)), &best, &place);
    pool_take(_mm512_permutex2var_ps(b0, odd, b1), _mm512_add_epi32(first, _mm512_set1_epi32(w + 1)), &best, &place);
    _mm512_mask_storeu_ps(to, m.all, best);
    _mm512_mask_storeu_epi64(where, m.first, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(place)));
    _mm512_mask_storeu_epi64(where + 8, m.second, _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(place, 1)));
}

static void K(max_2x2)(const float *x, idx h, idx w, idx row, float *y, int64_t *index) {
    const idx wide = w / 2, whole = wide / 16 * 16;
    const PoolMask all = pool_mask(16), some = pool_mask(wide - whole);
    for (idx i = 0; i < h / 2; i++, x += 2 * row, y += wide, index += wide) {
        const int32_t at = (int32_t)(2 * i * w);
        for (idx j = 0; j < whole; j += 16)
            pool_vector(x + 2 * j, x + row + 2 * j, all, at + 2 * (int32_t)j, (int32_t)w, y + j, index + j);
        if (whole < wide)
            pool_vector(x + 2 * whole, x + row + 2 * whole, some, at + 2 * (int32_t)whole, (int32_t)w, y + whole,
                        index + whole);
    }
}

/* The numbers of 16 windows in two rows; false where a place is not 0, 1, w or w + 1 behind the first one of its window. */
INLINE int spread_vector(const float *g, const int64_t *index, PoolMask m, int32_t at, int32_t w, float *a, float *b) {
    const __m512i low = POOL_PAIRS(0), high = POOL_PAIRS(8), even = POOL_INDEX(0, 2);
    const __m512i one = _mm512_maskz_loadu_epi64(m.first, index), two = _mm512_maskz_loadu_epi64(m.second, index + 8);
    const __m512i places = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(one)), _mm512_cvtepi64_epi32(two), 1);
    const __m512i from = _mm512_sub_epi32(places, _mm512_add_epi32(even, _mm512_set1_epi32(at)));
    const __mmask16 at0 = _mm512_cmpeq_epi32_mask(from, _mm512_setzero_si512());
    const __mmask16 at1 = _mm512_cmpeq_epi32_mask(from, _mm512_set1_epi32(1));
    const __mmask16 at2 = _mm512_cmpeq_epi32_mask(from, _mm512_set1_epi32(w));
    const __mmask16 at3 = _mm512_cmpeq_epi32_mask(from, _mm512_set1_epi32(w + 1));
    const __m512i upper = _mm512_srli_epi64(_mm512_or_si512(one, two), 32); /* of numbers below 2^31 there is none */
    if (((at0 | at1 | at2 | at3) & m.all) != m.all || _mm512_test_epi64_mask(upper, upper)) return 0;
    const __m512 v = _mm512_maskz_loadu_ps(m.all, g);
    const __m512 v0 = _mm512_maskz_mov_ps(at0, v), v1 = _mm512_maskz_mov_ps(at1, v);
    const __m512 v2 = _mm512_maskz_mov_ps(at2, v), v3 = _mm512_maskz_mov_ps(at3, v);
    _mm512_mask_storeu_ps(a, m.low, _mm512_permutex2var_ps(v0, low, v1));
    _mm512_mask_storeu_ps(b, m.low, _mm512_permutex2var_ps(v2, low, v3));
    _mm512_mask_storeu_ps(a + 16, m.high, _mm512_permutex2var_ps(v0, high, v1));
    _mm512_mask_storeu_ps(b + 16, m.high, _mm512_permutex2var_ps(v2, high, v3));
    return 1;
}

/* Numbers of 2 x 2 windows side by side, at their places in h x w floats, zeros elsewhere. False, with anything written,
 * where a place is not one of its window. */
static int K(spread_2x2)(const float *g, const int64_t *index, idx h, idx w, float *to) {
    const idx wide = w / 2, whole = wide / 16 * 16;
    const PoolMask all = pool_mask(16), some = pool_mask(wide - whole);
    for (idx i = 0; i < h / 2; i++, g += wide, index += wide) {
        float *a = to + 2 * i * w, *b = a + w;
        const int32_t at = (int32_t)(2 * i * w);
        if (w % 2) a[w - 1] = b[w - 1] = 0.0f;
        for (idx j = 0; j < whole; j += 16)
            if (!spread_vector(g + j, index + j, all, at + 2 * (int32_t)j, (int32_t)w, a + 2 * j, b + 2 * j)) return 0;
        if (whole < wide && !spread_vector(g + whole, index + whole, some, at + 2 * (int32_t)whole, (int32_t)w,
                                           a + 2 * whole, b + 2 * whole))
            return 0;
    }
    if (h % 2) memset(to + (h - 1) * w, 0, (size_t)w * 4);
    return 1;
}
#undef POOL_INDEX
#undef POOL_PAIRS
#undef POOL_SOME
#else
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
#undef LIST

/* Rows of h x w floats, `row` apart, to h/2 x w/2 maxima and their places. */
static void K(max_2x2)(const float *x, idx h, idx w, idx row, float *y, int64_t *index) {
    const idx wide = w / 2;
    for (idx i = 0; i < h / 2; i++) {
        const float *a = x + 2 * i * row, *b = a + row;
        const int32_t at = (int32_t)(2 * i * w);
        float *to = y + i * wide;
        int64_t *where = index + i * wide;
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
            for (int k = 1; k < 4; k++) best = ((v[k] > v[best]) | (v[k] != v[k])) ? k : best;
            to[j] = v[best];
            where[j] = at + 2 * j + (best / 2) * w + best % 2;
        }
    }
}

#endif

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
