/* Three operands at once, and sums of a few rows: every product is rounded before it is added, as NumPy's are. */

static void K(three)(int which, const float *x, const float *y, const float *z, float value, float *out, idx n) {
    const vf v = spread(value), one = spread(1.0f), half = spread(0.5f);
    for (idx i = 0; i < n; i += VL) {
        const idx left = n - i;
        const vf a = GET(x + i), b = GET(y + i), c = GET(z + i);
        vf r;
        if (which == T_LERP) { /* from the nearer end, so that weight 1 gives it exactly */
            const vf gap = b - a, near = a + rounded(c * gap), far = b - rounded(gap * (one - c));
            r = pick(vabs(c) < half, near, far);
        } else if (which == T_PRELU) { /* x, or c times it where y is not positive */
            r = pick(b > spread(0.0f), a, a * c);
        } else {
            vf part = rounded(which == T_ADDCMUL ? b * c : b / c);
            if (value != 1.0f) part = rounded(part * v);
            r = a + part;
        }
        PUT(out + i, r);
    }
}

/* out = start + weight * (end - start), or from the other end where `far` is 1 - weight. */
static void K(lerp_by)(const float *x, const float *y, float weight, int from_end, float *out, idx n) {
    const vf w = spread(weight);
    for (idx i = 0; i < n; i += VL) {
        const idx left = n - i;
        const vf a = GET(x + i), b = GET(y + i), gap = b - a;
        PUT(out + i, from_end ? b - rounded(gap * w) : a + rounded(gap * w));
    }
}

/* One row as a weighted sum of `taps` rows, `row[t]` floats into x; a weight of 0 leaves a row out where `skip`. */
static void K(mix_rows)(const float *x, const idx *row, const float *weight, idx taps, int skip, float *out, idx n) {
    for (idx i = 0; i < n; i += VL) {
        const idx left = n - i;
        vf sum = rounded(GET(x + row[0] + i) * spread(weight[0]));
        if (skip && weight[0] == 0) sum = (vf){0};
        for (idx t = 1; t < taps; t++)
            if (!skip || weight[t] != 0) sum += rounded(GET(x + row[t] + i) * spread(weight[t]));
        PUT(out + i, sum);
    }
}

/* Places of a row, each a weighted sum of `taps` places of another; tables are [tap][place], `skip` one of SKIP_*. */
static void K(mix_places)(const float *restrict x, const int32_t *at, const float *weight, idx taps, int skip,
                          float *restrict out, idx n) {
    idx j = 0;
#if defined(__x86_64__) && VL > 4
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
