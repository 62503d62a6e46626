/* Three operands at once, and sums of a few rows: every product is rounded before it is added, as NumPy's are. */

/* `expr` of a, b and c, vectors of three arrays. */
#define EACH3(expr) \
    EACH(const vf a = load(x + i_); const vf b = load(y + i_); const vf c = load(z + i_), \
         const vf a = load_some(x + i_, left_, 1.0f); const vf b = load_some(y + i_, left_, 1.0f); \
         const vf c = load_some(z + i_, left_, 1.0f), expr)

/* From the nearer end, so that weight 1 gives it exactly. */
INLINE vf lerp_of(vf a, vf b, vf c) {
    const vf gap = b - a, near = a + rounded(c * gap), far = b - rounded(gap * (spread(1.0f) - c));
    return pick(vabs(c) < spread(0.5f), near, far);
}

static void K(three)(int which, const float *x, const float *y, const float *z, float value, float *out, idx n) {
    const vf v = spread(value);
    if (which == T_LERP) { EACH3(lerp_of(a, b, c)) }
    else if (which == T_PRELU) { EACH3(pick(b > spread(0.0f), a, a * c)) } /* a, or c times it where b is not positive */
    else if (which == T_ADDCMUL && value == 1.0f) { EACH3(a + rounded(b * c)) }
    else if (which == T_ADDCMUL) { EACH3(a + rounded(rounded(b * c) * v)) }
    else if (value == 1.0f) { EACH3(a + b / c) }
    else { EACH3(a + rounded(b / c * v)) }
}

/* out = start + weight * (end - start), or from the other end where `far` is 1 - weight. */
static void K(lerp_by)(const float *xs, const float *ys, float weight, int from_end, float *out, idx n) {
    const vf w = spread(weight);
    if (from_end) { EACH2(y - rounded((y - x) * w)) }
    else { EACH2(x + rounded((y - x) * w)) }
}

/* One row as a weighted sum of `taps` rows, `row[t]` floats into x; a weight of 0 leaves a row out where `skip`. */
static void K(mix_rows)(const float *x, const idx *row, const float *weight, idx taps, int skip, float *out, idx n) {
    idx i = 0;
    if (taps == 2 && !skip) { /* between two rows */
        const float *first = x + row[0], *second = x + row[1];
        const vf one = spread(weight[0]), two = spread(weight[1]);
        _Pragma("GCC unroll 4") for (; i + VL <= n; i += VL)
            store(out + i, rounded(load(first + i) * one) + rounded(load(second + i) * two));
    }
    for (; i < n; i += VL) {
        const idx left = n - i;
        vf sum = rounded(GET(x + row[0] + i) * spread(weight[0]));
        if (skip && weight[0] == 0) sum = (vf){0};
        for (idx t = 1; t < taps; t++)
            if (!skip || weight[t] != 0) sum += rounded(GET(x + row[t] + i) * spread(weight[t]));
        PUT(out + i, sum);
    }
}

#if defined(__aarch64__)
/* Numbers of x by their places; where `clip` those below 0 read the first one. */
INLINE vf gathered(const float *x, const int32_t *at, const int clip) {
    idx a = at[0], b = at[1], c = at[2], d = at[3];
    if (clip) a &= ~(a >> 31), b &= ~(b >> 31), c &= ~(c >> 31), d &= ~(d >> 31);
    return (vf){x[a], x[b], x[c], x[d]};
}

/* VL places: see mix_places. */
INLINE vf mix_vector(const float *restrict x, const int32_t *at, const float *weight, idx taps, idx n, const int skip) {
    vf sum = {0};
    for (idx t = 0; t < taps; t++, at += n, weight += n) {
        const vf w = load(weight);
        vf v = gathered(x, at, skip == SKIP_OUTSIDE);
        if (skip == SKIP_OUTSIDE) v = pick((vi)load((const float *)at) < 0, (vf){0}, v);
        vf part = rounded(v * w);
        if (skip == SKIP_ZEROS) part = pick(w == (vf){0}, (vf){0}, part);
        sum = t ? sum + part : part;
    }
    return sum;
}
#endif

/* Places of a row, each a weighted sum of `taps` places of another; tables are [tap][place], `skip` one of SKIP_*. */
static void K(mix_places)(const float *restrict x, const int32_t *at, const float *weight, idx taps, int skip,
                          float *restrict out, idx n) {
    idx j = 0;
#if defined(__aarch64__)
#define MIX(taps, skip) \
    for (; j + VL <= n; j += VL) store(out + j, mix_vector(x, at + j, weight + j, taps, n, skip));
    if (skip == SKIP_ZEROS) { MIX(taps, SKIP_ZEROS) }
    else if (skip == SKIP_OUTSIDE && taps == 4) { MIX(4, SKIP_OUTSIDE) }
    else if (skip == SKIP_OUTSIDE) { MIX(taps, SKIP_OUTSIDE) }
    else if (taps == 1) { MIX(1, SKIP_NONE) }
    else if (taps == 2) { MIX(2, SKIP_NONE) }
    else { MIX(taps, SKIP_NONE) }
#undef MIX
#elif VL > 4
    for (; j + VL <= n; j += VL) {
        vf sum = {0};
        for (idx t = 0; t < taps; t++) {
            const vf w = load(weight + t * n + j);
            const vi from = (vi)load((const float *)at + t * n + j), inside = skip == SKIP_OUTSIDE ? ~(from >> 31) & from : from;
#if VL == 16
            vf v = (vf)_mm512_i32gather_ps((__m512i)inside, x, 4);
#else
            vf v = (vf)_mm256_i32gather_ps(x, (__m256i)inside, 4);
#endif
            if (skip == SKIP_OUTSIDE) v = pick(from < 0, (vf){0}, v);
            vf part = rounded(v * w);
            if (skip == SKIP_ZEROS) part = pick(w == (vf){0}, (vf){0}, part);
            sum = t ? sum + part : part;
        }
        store(out + j, sum);
    }
#endif
    for (; j < n; j++) {
        float sum = 0;
        for (idx t = 0; t < taps; t++) {
            const float w = weight[t * n + j], v = skip == SKIP_OUTSIDE && at[t * n + j] < 0 ? 0.0f : x[at[t * n + j]];
            const vf part = rounded(spread(skip == SKIP_ZEROS && w == 0 ? 0.0f : v * w));
            sum = t ? sum + part[0] : part[0];
        }
        out[j] = sum;
    }
}
