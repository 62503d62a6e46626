/* A convolution's weight gradient, gw[o][k] = sum over images, rows and places of g[o] * x[tap k], in two forms.
 *
 * Dots: vectors of neighbouring places, summed up in the end; for few channels and wide rows.
 * Outer products: vectors of output channels, from gradients laid out in panels [place][channel]; every
 * place's gradients meet every tap's input. Fewer loads, no sums across a vector, rows of any width. */

/* -- dots ------------------------------------------------------------------------------------------- */

/* One vector of places, or what is left of a row. An input is loaded once: nearly all lie across two cache lines. */
INLINE void corr_places(const float *xs, const float *gs, const idx *g_at, const idx *tap, vf acc[][12], idx left,
                        const int outs, const int taps) {
    vf row[6];
    UNROLL for (int i = 0; i < outs; i++) row[i] = GET(gs + g_at[i]);
    UNROLL for (int j = 0; j < taps; j++) {
        const vf x = rounded(GET(xs + tap[j]));
        UNROLL for (int i = 0; i < outs; i++) acc[i][j] += row[i] * x;
    }
}

INLINE void corr_tile(const Corr *c, const float *buf, const float *g, float *gw, int first, idx o, idx k,
                      const int outs, const int taps) {
    vf acc[6][12];
    idx g_at[6], tap[12]; /* past the end the last one again; its results are not stored */
    UNROLL for (int i = 0; i < outs; i++) g_at[i] = (o + i < c->outs ? o + i : c->outs - 1) * c->g_out;
    UNROLL for (int j = 0; j < taps; j++) tap[j] = c->tap[k + j < c->taps ? k + j : c->taps - 1];
    UNROLL for (int i = 0; i < outs; i++)
        UNROLL for (int j = 0; j < taps; j++) acc[i][j] = (vf){0};
    for (idx n = 0; n < c->images; n++)
        for (idx y = 0; y < c->rows; y++) {
            const float *xs = buf + n * c->x_image + c->x_row[y];
            const float *gs = g + n * c->g_image + y * c->g_row;
            idx q = 0;
            for (; q + VL <= c->width; q += VL) corr_places(xs + q, gs + q, g_at, tap, acc, VL, outs, taps);
            if (WHOLE_ROWS && q < c->width) corr_places(xs + q, gs + q, g_at, tap, acc, c->width - q, outs, taps);
        }
    UNROLL for (int i = 0; i < outs; i++) {
        float sums[12];
        UNROLL for (int j = 0; j + 4 <= taps; j += 4)
            *(v4_any *)(sums + j) = totals(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
        UNROLL for (int j = taps / 4 * 4; j < taps; j++) sums[j] = total(acc[i][j]);
        float *at = gw + (o + i) * c->taps + k;
        for (int j = 0; j < taps && o + i < c->outs && k + j < c->taps; j++) at[j] = first ? sums[j] : at[j] + sums[j];
    }
}

#define CORR(O, T) \
    static __attribute__((noinline)) void K(corr_##O##x##T)(const Corr *c, const float *buf, \
                                                                  const float *g, float *gw, int first) { \
        for (idx o = 0; o < c->outs; o += O) \
            for (idx k = 0; k < c->taps; k += T) corr_tile(c, buf, g, gw, first, o, k, O, T); \
    }
#if VL == 8
CORR(4, 2)
CORR(3, 3)
CORR(1, 8)
#else
CORR(6, 4)
CORR(4, 6)
CORR(3, 8)
CORR(1, 10)
#endif

static void K(corr_run)(const Corr *c, const float *buf, const float *g, float *gw, int first) {
#if VL == 8
    if (c->outs == 1) K(corr_1x8)(c, buf, g, gw, first);
    else if (c->outs % 4 == 0 || c->outs > 12) K(corr_4x2)(c, buf, g, gw, first);
    else K(corr_3x3)(c, buf, g, gw, first);
#else
    if (c->outs == 1) K(corr_1x10)(c, buf, g, gw, first);
    else if (c->outs == 6 || c->outs == 5) K(corr_6x4)(c, buf, g, gw, first);
    else if (c->outs % 4 == 0 || c->outs > 12) K(corr_4x6)(c, buf, g, gw, first);
    else K(corr_3x8)(c, buf, g, gw, first);
#endif
}

/* -- outer products --------------------------------------------------------------------------------- */

/* Taps beside one vector of channels, and beside two: what the registers hold. */
#if defined(__aarch64__)
#define TAPS_1 12
#define TAPS_2 8
#elif VL == 16
#define TAPS_1 12 /* more taps have more addresses than registers */
#define TAPS_2 12
#else
#define TAPS_1 12
#define TAPS_2 6
#endif

static idx K(outer_width)(idx outs) { return outs > VL ? 2 * VL : VL; }

/* Places [0, n) of a row; answers where the panel goes on. */
INLINE const float *outer_row(const float *xs, const float *gs, idx n, const idx *tap, vf acc[][2], const int vecs,
                              const int taps) {
    idx q = 0;
#if defined(__aarch64__)
    for (; q + 4 <= n; q += 4, gs += 4 * vecs * VL) {
        float32x4_t x[TAPS_1];
        UNROLL for (int j = 0; j < taps; j++) x[j] = vld1q_f32(xs + tap[j] + q);
#define PLACE(lane) \
    UNROLL for (int v = 0; v < vecs; v++) { \
        const float32x4_t g = vld1q_f32(gs + (lane * vecs + v) * VL); \
        UNROLL for (int j = 0; j < taps; j++) \
            acc[j][v] = (vf)vfmaq_laneq_f32((float32x4_t)acc[j][v], g, x[j], lane); \
    }
        PLACE(0) PLACE(1) PLACE(2) PLACE(3)
#undef PLACE
    }
#endif
    for (; q < n; q++, gs += vecs * VL) {
        vf g[2];
        UNROLL for (int v = 0; v < vecs; v++) g[v] = load(gs + v * VL);
        UNROLL for (int j = 0; j < taps; j++) {
            const vf x = spread(xs[tap[j] + q]);
            UNROLL for (int v = 0; v < vecs; v++) acc[j][v] += g[v] * x;
        }
    }
    return gs;
}

INLINE void outer_tile(const Corr *c, const float *buf, const float *g, float *sums, int first, idx k,
                       const int vecs, const int taps) {
    vf acc[TAPS_1][2];
    idx tap[TAPS_1]; /* past the end the last one again; its results are not stored */
    UNROLL for (int j = 0; j < taps; j++) {
        tap[j] = c->tap[k + j < c->taps ? k + j : c->taps - 1];
        UNROLL for (int v = 0; v < vecs; v++) acc[j][v] = (vf){0};
    }
    for (idx n = 0; n < c->images; n++) {
        const float *gs = g + n * c->g_image;
        for (idx y = 0; y < c->rows; y++)
            gs = outer_row(buf + n * c->x_image + c->x_row[y], gs, c->width, tap, acc, vecs, taps);
    }
    UNROLL for (int j = 0; j < taps; j++)
        UNROLL for (int v = 0; v < vecs; v++)
            if (k + j < c->taps) {
                float *at = sums + ((k + j) * vecs + v) * VL;
                store(at, first ? acc[j][v] : load(at) + acc[j][v]);
            }
}

static __attribute__((noinline)) void K(outer_1)(const Corr *c, const float *buf, const float *g, float *sums,
                                                 int first) {
    for (idx k = 0; k < c->taps; k += TAPS_1) outer_tile(c, buf, g, sums, first, k, 1, TAPS_1);
}

static __attribute__((noinline)) void K(outer_2)(const Corr *c, const float *buf, const float *g, float *sums,
                                                 int first) {
    for (idx k = 0; k < c->taps; k += TAPS_2) outer_tile(c, buf, g, sums, first, k, 2, TAPS_2);
}

/* One panel of channels against all taps: sums[tap][channel]. */
static void K(outer_run)(const Corr *c, const float *buf, const float *g, float *sums, int first) {
    if (K(outer_width)(c->outs) == VL) K(outer_1)(c, buf, g, sums, first);
    else K(outer_2)(c, buf, g, sums, first);
}
