/* Matrix products: panels of A and B packed to lie as the inner loop reads them, tiles in registers.
 * (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.) */

#if defined(__aarch64__) || VL == 16
#define MR 8 /* rows of a tile: 8 x 3 vectors fill 24 of 32 registers */
#define NRV 3
#else
#define MR 4 /* 16 registers: 4 x 2 */
#define NRV 2
#endif
#define NR (NRV * VL)
#define KC 448  /* most depth of a panel: NR * KC floats of B and MR * KC of A stay in the first cache */
#define MC 128  /* most rows of A packed at once: MC * KC floats stay in the second */
#define NC 3072 /* most columns of B packed at once */
#define NC_ONCE 192 /* of them where they are used once */
#define FEW 16 /* rows or columns, of which packing the other matrix would take longer than the product */

/* Equal pieces: one of 784 becomes two of 392, not one of 448 and a poor 336. */
INLINE idx piece(idx n, idx most, idx unit) {
    const idx pieces = (n + most - 1) / most, each = (n + pieces - 1) / pieces;
    return (each + unit - 1) / unit * unit;
}

/* One tile: acc[i][j] = sum_p a[p][i] * b[p][j], for the first `rows` rows of a panel of A and the first
 * `wide` vectors of one of B. */
INLINE void gemm_tile(idx depth, const float *restrict a, const float *restrict b, idx b_step,
                      vf acc[MR][NRV], const int rows, const int wide) {
    vf t[MR][NRV];
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < wide; j++) t[i][j] = (vf){0};
    for (idx p = 0; p < depth; p++) {
        vf col[NRV];
        UNROLL for (int j = 0; j < wide; j++) col[j] = load(b + j * VL);
#if defined(__aarch64__)
        const float32x4_t lo = vld1q_f32(a);
#define ROW(i, half, lane) \
    UNROLL for (int j = 0; j < wide; j++) \
        t[i][j] = (vf)vfmaq_laneq_f32((float32x4_t)t[i][j], (float32x4_t)col[j], half, lane);
        ROW(0, lo, 0) ROW(1, lo, 1) ROW(2, lo, 2) ROW(3, lo, 3)
        if (rows > 4) {
            const float32x4_t hi = vld1q_f32(a + 4);
            ROW(4, hi, 0) ROW(5, hi, 1) ROW(6, hi, 2) ROW(7, hi, 3)
        }
#undef ROW
#else
        UNROLL for (int i = 0; i < rows; i++) {
            const vf row = spread(a[i]);
            UNROLL for (int j = 0; j < wide; j++) t[i][j] += row * col[j];
        }
#endif
        a += MR;
        b += b_step;
    }
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int j = 0; j < wide; j++) acc[i][j] = t[i][j];
}

/* `high` rows and `wide` vectors of the tile, of which `rows` and `cols` belong to the result. */
INLINE void gemm_write(vf acc[MR][NRV], const int high, const int wide, float *c, idx ldc, idx rows, idx cols,
                       const float *bias, int add) {
    UNROLL for (int i = 0; i < high; i++) {
        if (i >= rows) return;
        UNROLL for (int j = 0; j < wide; j++) {
            float *at = c + i * ldc + j * VL;
            const idx left = cols - j * VL;
            if (left <= 0) continue;
            vf v = acc[i][j];
            if (add) v += GET(at);
            if (bias) v += GET(bias + j * VL);
            PUT(at, v);
        }
    }
}

/* `count` lines of `depth` numbers, `width` lines interleaved: out[p][line]; missing lines are zero. */
INLINE void pack_lines(const float *src, idx line, idx step, idx count, idx depth, int width, float *out) {
    for (idx first = 0; first < count; first += width) {
        const float *s = src + first * line;
        const idx here = count - first < width ? count - first : width;
        idx p = 0;
        if (line == 1 && here == width) {
            for (; p < depth; p++) memcpy(out + p * width, s + p * step, (size_t)width * 4);
        } else if (step == 1 && here == width && width % 4 == 0) {
            for (; p + 4 <= depth; p += 4) {
                if (p % 16 == 0) /* the lines are too many streams for the hardware to follow */
                    for (int i = 0; i < width; i++) __builtin_prefetch(s + i * line + p + 64);
#if defined(__x86_64__) && VL == 16
                if (width % 16 == 0) {
                    UNROLL for (int i = 0; i < width; i += 16) tall_square(s + i * line + p, line, out + p * width + i, width);
                    continue;
                }
#endif
                UNROLL for (int i = 0; i < width; i += 4) square(s + i * line + p, line, out + p * width + i, width);
            }
            for (; p < depth; p++)
                UNROLL for (int i = 0; i < width; i++) out[p * width + i] = s[i * line + p];
        } else {
            for (; step == 1 && p + 4 <= depth; p += 4) {
                for (idx i = 0; i + 4 <= here; i += 4) square(s + i * line + p, line, out + p * width + i, width);
                for (int q = 0; q < 4; q++)
                    for (idx i = here / 4 * 4; i < width; i++)
                        out[(p + q) * width + i] = i < here ? s[i * line + p + q] : 0.0f;
            }
            for (; p < depth; p++) {
                float *to = out + p * width;
                if (line == 1) memcpy(to, s + p * step, (size_t)here * 4);
                else for (idx i = 0; i < here; i++) to[i] = s[i * line + p * step];
                memset(to + here, 0, (size_t)(width - here) * 4);
            }
        }
        out += depth * width;
    }
}

/* Enough for the whole product and for any part of it, whose pieces may be larger. */
static size_t K(gemm_scratch)(const Gemm *g) {
    const idx kc = g->k < KC ? g->k : KC, mc = (g->m < MC ? g->m : MC) + MR, nc = (g->n < NC ? g->n : NC) + NR;
    return (size_t)(kc * (mc + nc)) * sizeof(float);
}

/* Few rows or few columns, both along memory: dot products, nothing to pack. */
INLINE void gemm_dots(const Gemm *g, const int rows, idx i, idx from, idx end) {
    const idx whole = g->k - g->k % VL;
    for (idx j = from; j < end; j += 4) {
        const int cols = end - j < 4 ? (int)(end - j) : 4;
        vf acc[4][4];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int c = 0; c < 4; c++) acc[r][c] = (vf){0};
        const float *a = g->a + i * g->a_row;
        const float *b[4];
        UNROLL for (int c = 0; c < 4; c++) b[c] = g->b + (j + (c < cols ? c : cols - 1)) * g->b_col;
        for (idx p = 0; p < whole; p += VL) {
            vf x[4];
            UNROLL for (int r = 0; r < rows; r++) x[r] = load(a + r * g->a_row + p);
            UNROLL for (int c = 0; c < 4; c++) {
                const vf y = load(b[c] + p);
                UNROLL for (int r = 0; r < rows; r++) acc[r][c] += x[r] * y;
            }
        }
#if VL == 16 /* others have no loads of a part of a vector */
        if (whole < g->k) {
            vf x[4];
            UNROLL for (int r = 0; r < rows; r++) x[r] = load_some(a + r * g->a_row + whole, g->k - whole, 0);
            UNROLL for (int c = 0; c < 4; c++) {
                const vf y = load_some(b[c] + whole, g->k - whole, 0);
                UNROLL for (int r = 0; r < rows; r++) acc[r][c] += x[r] * y;
            }
        }
#endif
        UNROLL for (int r = 0; r < rows; r++) {
            float sums[4], *at = g->c + (i + r) * g->ldc + j;
            *(v4_any *)sums = totals(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
            for (int c = 0; c < cols; c++) {
#if VL != 16
                for (idx p = whole; p < g->k; p++) sums[c] += a[r * g->a_row + p] * b[c][p];
#endif
                if (g->bias) sums[c] += g->bias[j + c];
                at[c] = g->add ? at[c] + sums[c] : sums[c];
            }
        }
    }
}

/* A few columns of B at a time, which all rows of A then find in the cache. */
static void K(gemm_few)(const Gemm *g) {
    const idx most = g->m <= 4 ? g->n : 16;
    for (idx from = 0; from < g->n; from += most) {
        const idx end = g->n - from < most ? g->n : from + most;
        idx i = 0;
        for (; i + 4 <= g->m; i += 4) gemm_dots(g, 4, i, from, end);
        if (g->m - i == 3) gemm_dots(g, 3, i, from, end);
        if (g->m - i == 2) gemm_dots(g, 2, i, from, end);
        if (g->m - i == 1) gemm_dots(g, 1, i, from, end);
    }
}

#define THIN 4       /* rows of A up to which B's rows are added up where they lie */
#define THIN_WIDE 1024 /* columns at a time: these stay in the first cache */

/* Some rows of B, each times a number, added to a row of C. */
INLINE void add_lines(float *c, const float *b, idx b_row, const float *a, idx a_col, idx n, const int lines) {
    float by[8];
    idx j = 0;
    UNROLL for (int l = 0; l < lines; l++) by[l] = a[l * a_col];
    for (; j + VL <= n; j += VL) {
        vf even = load(c + j), odd = {0}; /* two chains */
        UNROLL for (int l = 0; l < lines; l += 2) {
            even += spread(by[l]) * load(b + l * b_row + j);
            if (l + 1 < lines) odd += spread(by[l + 1]) * load(b + (l + 1) * b_row + j);
        }
        store(c + j, even + odd);
    }
    for (; j < n; j++) {
        float sum = c[j];
        for (int l = 0; l < lines; l++) sum += by[l] * b[l * b_row + j];
        c[j] = sum;
    }
}

/* Few rows of A, B's rows along memory: a row of C is a sum of B's rows, which are read once and not packed. */
static void K(gemm_thin)(const Gemm *g) {
    for (idx j = 0; j < g->n; j += THIN_WIDE) {
        const idx n = g->n - j < THIN_WIDE ? g->n - j : THIN_WIDE;
        for (idx i = 0; i < g->m; i++) {
            float *c = g->c + i * g->ldc + j;
            if (!g->add) memset(c, 0, (size_t)n * 4);
            if (g->bias) for (idx q = 0; q < n; q++) c[q] += g->bias[j + q];
        }
        for (idx p = 0; p < g->k; p += 8)
            for (idx i = 0; i < g->m; i++) {
                const float *a = g->a + i * g->a_row + p * g->a_col, *b = g->b + p * g->b_row + j;
                float *c = g->c + i * g->ldc + j;
                if (g->k - p >= 8) add_lines(c, b, g->b_row, a, g->a_col, n, 8);
                else
                    for (idx l = 0; l < g->k - p; l++)
                        add_lines(c, b + l * g->b_row, g->b_row, a + l * g->a_col, g->a_col, n, 1);
            }
    }
}

#define SMALL 8192 /* numbers of B that stay in the first cache, */
#define LOW MOST_ROWS_HERE /* and rows of A, for which packing either takes longer than it saves */
#define NEAR 65536   /* numbers of B that stay in the second cache: they may be read column by column */
#define SHALLOW 16   /* products of each number of C: packing takes longer than they do */

/* Vectors of C beside each other: four rows of four take half of 32 registers. */
#if defined(__aarch64__) || VL == 16
#define ACROSS 4
#else
#define ACROSS 2
#endif

/* `rows` rows and `wide` vectors of C from column j on, of which `cols` numbers are C's; A and B are read where they lie. */
INLINE void gemm_here(const Gemm *g, idx i, idx j, idx cols, const int rows, const int wide, const int partial) {
    vf t[4][ACROSS];
    const float *a = g->a + i * g->a_row, *b = g->b + j;
    const idx rest = cols - (wide - 1) * VL, a_row = g->a_row, a_col = g->a_col, b_row = g->b_row, ldc = g->ldc;
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int c = 0; c < wide; c++) t[r][c] = (vf){0};
    for (idx p = g->k; p > 0; p--, a += a_col, b += b_row) {
        vf col[ACROSS];
        UNROLL for (int c = 0; c < wide; c++)
            col[c] = partial && c == wide - 1 ? load_some(b + c * VL, rest, 0) : load(b + c * VL);
        UNROLL for (int r = 0; r < rows; r++) {
            const vf row = spread(a[r * a_row]);
            UNROLL for (int c = 0; c < wide; c++) t[r][c] += row * col[c];
        }
    }
    float *const to = g->c + i * ldc + j;
    const float *const bias = g->bias ? g->bias + j : NULL;
    if (g->add || bias) {
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int c = 0; c < wide; c++) {
                const idx left = partial && c == wide - 1 ? rest : VL;
                if (g->add) t[r][c] += GET(to + r * ldc + c * VL);
                if (bias) t[r][c] += GET(bias + c * VL);
            }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int c = 0; c < wide; c++) {
            const idx left = partial && c == wide - 1 ? rest : VL;
            PUT(to + r * ldc + c * VL, t[r][c]);
        }
}

INLINE void gemm_lines(const Gemm *g, idx j, idx cols, const int wide, const int partial) {
    idx i = 0;
    for (; i + 4 <= g->m; i += 4) gemm_here(g, i, j, cols, 4, wide, partial);
    for (; i < g->m; i++) gemm_here(g, i, j, cols, 1, wide, partial);
}

/* Small matrices, of which a batch has many, and thin ones: nothing is packed. The sums are those of the tiles. */
static void K(gemm_small)(const Gemm *g) {
    idx j = 0;
    for (; ACROSS == 4 && j + 4 * VL <= g->n; j += 4 * VL) gemm_lines(g, j, 4 * VL, ACROSS, 0);
    for (; j + 2 * VL <= g->n; j += 2 * VL) gemm_lines(g, j, 2 * VL, 2, 0);
    const idx left = g->n - j;
    if (left == VL) gemm_lines(g, j, VL, 1, 0);
#if VL == 16 /* others have no loads of a part of a vector */
    else if (left > VL) gemm_lines(g, j, left, 2, 1);
    else if (left > 0) gemm_lines(g, j, left, 1, 1);
#endif
}

INLINE void gemm_block(const Gemm *g, const float *a, const float *b, idx b_step, idx kc, float *c, idx rows,
                       idx cols, const float *bias, int add, const int high, const int wide) {
    vf acc[MR][NRV];
    gemm_tile(kc, a, b, b_step, acc, high, wide);
    gemm_write(acc, high, wide, c, g->ldc, rows < high ? rows : high, cols < NR ? cols : NR, bias, add);
}

/* One block of columns against all rows; `wide` vectors of it are not empty. */
INLINE void gemm_strip(const Gemm *g, const float *pa, const float *b, idx b_step, idx kc, float *c, idx mc,
                       idx cols, const float *bias, int add, const int wide) {
    for (idx i = 0; i < mc; i += MR, c += MR * g->ldc) {
        const float *a = pa + i * kc;
        if (mc - i > MR / 2) gemm_block(g, a, b, b_step, kc, c, mc - i, cols, bias, add, MR, wide);
        else gemm_block(g, a, b, b_step, kc, c, mc - i, cols, bias, add, MR / 2, wide);
    }
}

static void K(gemm_blocks)(const Gemm *g, const float *pa, const float *pb, idx b_step, idx i0, idx mc, idx j0,
                           idx nc, idx kc, int add, const float *bias) {
    for (idx j = 0; j < nc; j += NR) {
        const float *b = b_step == NR ? pb + j * kc : pb + j, *to = bias ? bias + j0 + j : NULL;
        float *c = g->c + i0 * g->ldc + j0 + j;
        if (nc - j <= VL) gemm_strip(g, pa, b, b_step, kc, c, mc, nc - j, to, add, 1);
        else if (NRV > 2 && nc - j <= 2 * VL) gemm_strip(g, pa, b, b_step, kc, c, mc, nc - j, to, add, 2);
        else gemm_strip(g, pa, b, b_step, kc, c, mc, nc - j, to, add, NRV);
    }
}

/* What columns [j0, j0 + nc) get from depth [p0, p0 + kc); A is packed once where one piece holds it. */
INLINE void gemm_columns(const Gemm *g, idx p0, idx kc, idx j0, idx nc, idx mc_most, float *pa, float *pb) {
    const int add = g->add || p0 > 0;
    const float *bias = p0 == 0 ? g->bias : NULL;
    const float *b = g->b + p0 * g->b_row + j0 * g->b_col;
    /* Packing B pays when many rows use it; with few, whole tiles read it where it lies. */
    const int lies = g->m <= MR && g->b_col == 1 && kc * nc <= 8192;
    const idx straight = lies ? nc - nc % NR : 0;
    if (straight < nc) pack_lines(b + straight * g->b_col, g->b_col, g->b_row, nc - straight, kc, NR, pb);
    for (idx i0 = 0; i0 < g->m; i0 += mc_most) {
        const idx mc = g->m - i0 < mc_most ? g->m - i0 : mc_most;
        if (j0 == 0 || mc < g->m)
            pack_lines(g->a + i0 * g->a_row + p0 * g->a_col, g->a_row, g->a_col, mc, kc, MR, pa);
        if (straight) K(gemm_blocks)(g, pa, b, g->b_row, i0, mc, j0, straight, kc, add, bias);
        if (straight < nc) K(gemm_blocks)(g, pa, pb, NR, i0, mc, j0 + straight, nc - straight, kc, add, bias);
    }
}

static void K(gemm)(const Gemm *g, float *scratch) {
    if ((g->m <= FEW || g->n <= FEW) && g->a_col == 1 && g->b_row == 1 && g->k >= VL) {
        K(gemm_few)(g);
        return;
    }
    const int here = g->b_row == 2 * VL && g->n <= 2 * VL; /* a panel of B as it is packed */
    const int low = g->m <= LOW && (here || (g->k <= KC && g->k * g->n <= SMALL));
    const int thin = g->m <= THIN && g->n >= 2 * VL, shallow = g->k <= SHALLOW && g->k * g->n <= SMALL;
    if (g->b_col == 1 && (low || shallow || (thin && g->k * g->n <= NEAR)) && (VL == 16 || g->n % VL == 0)) {
        const idx most = shallow ? 4 : g->m; /* rows that are written at a time */
        for (idx i = 0; i < g->m; i += most) {
            Gemm part = *g;
            part.a += i * g->a_row, part.c += i * g->ldc;
            part.m = g->m - i < most ? g->m - i : most;
            K(gemm_small)(&part);
        }
        return;
    }
    if (thin && g->b_col == 1 && g->k * g->n > SMALL) { /* less: tiles, which keep C in registers */
        K(gemm_thin)(g);
        return;
    }
    /* With few rows a piece of B is used once: it need not outlast the second cache. */
    const idx kc_most = piece(g->k, KC, 1), mc_most = piece(g->m, MC, MR);
    const idx nc_most = piece(g->n, g->m <= MC ? NC_ONCE : NC, NR);
    float *pa = scratch, *pb = scratch + kc_most * mc_most;
    for (idx p0 = 0; p0 < g->k; p0 += kc_most) {
        const idx kc = g->k - p0 < kc_most ? g->k - p0 : kc_most;
        for (idx j0 = 0; j0 < g->n; j0 += nc_most)
            gemm_columns(g, p0, kc, j0, g->n - j0 < nc_most ? g->n - j0 : nc_most, mc_most, pa, pb);
    }
}
