/* Batch and layer normalisation: sums over channels or rows, then one affine pass. */

/* Sums of (x - shift) and its square; shifting by any value near the mean keeps the difference exact. */
static void K(moments)(const float *x, idx n, double *sum, double *square, float shift) {
    const vf t = spread(shift);
    double a = 0, b = 0;
    idx i = 0;
    while (i + VL <= n) { /* short chains in float, then in double */
        const idx end = n - i > 512 * VL ? i + 512 * VL : n;
        vf s0 = {0}, q0 = {0}, s1 = {0}, q1 = {0};
        for (; i + 2 * VL <= end; i += 2 * VL) {
            const vf v = load(x + i) - t, w = load(x + i + VL) - t;
            s0 += v;
            q0 += v * v;
            s1 += w;
            q1 += w * w;
        }
        for (; i + VL <= end; i += VL) {
            const vf v = load(x + i) - t;
            s0 += v;
            q0 += v * v;
        }
        a += (double)total(s0 + s1);
        b += (double)total(q0 + q1);
    }
    for (; i < n; i++) {
        const float v = x[i] - shift;
        a += v;
        b += v * v;
    }
    *sum += a;
    *square += b;
}

static void K(affine)(const float *xs, float *out, idx n, float scale, float shift) {
    const vf a = spread(scale), b = spread(shift);
    EACH1(x * a + b)
}

/* Sums of g and of g * (x - mean). */
static void K(norm_sums)(const float *g, const float *x, idx n, float mean, double *sg, double *sgx) {
    const vf m = spread(mean);
    double a = 0, b = 0;
    idx i = 0;
    while (i + VL <= n) {
        const idx end = n - i > 512 * VL ? i + 512 * VL : n;
        vf s0 = {0}, q0 = {0}, s1 = {0}, q1 = {0};
        for (; i + 2 * VL <= end; i += 2 * VL) {
            const vf v = load(g + i), w = load(g + i + VL);
            s0 += v;
            q0 += v * (load(x + i) - m);
            s1 += w;
            q1 += w * (load(x + i + VL) - m);
        }
        for (; i + VL <= end; i += VL) {
            const vf v = load(g + i);
            s0 += v;
            q0 += v * (load(x + i) - m);
        }
        a += (double)total(s0 + s1);
        b += (double)total(q0 + q1);
    }
    for (; i < n; i++) {
        a += g[i];
        b += g[i] * (x[i] - mean);
    }
    *sg += a;
    *sgx += b;
}

/* out = a * g + b * x + c */
static void K(norm_back)(const float *xs, const float *ys, float *out, idx n, float a, float b, float c) {
    const vf va = spread(a), vb = spread(b), vc = spread(c);
    EACH2(x * va + y * vb + vc)
}

static void K(layer_norm)(const float *x, const float *w, const float *b, float *y, float *mean, float *rstd,
                          idx rows, idx n, float eps) {
    for (idx r = 0; r < rows; r++, x += n, y += n) {
        double sum = 0, square = 0;
        K(moments)(x, n, &sum, &square, x[0]);
        const double at = sum / (double)n, var = square / (double)n - at * at;
        const float m = (float)((double)x[0] + at);
        const float s = (float)(1.0 / sqrt((var > 0 || var != var ? var : 0) + (double)eps));
        mean[r] = m;
        rstd[r] = s;
        const float *xs = x;
        float *out = y;
        const vf vm = spread(m), vs = spread(s);
        if (w && b) {
            EACH(const vf x = load(xs + i_); const vf u = load(w + i_); const vf v = load(b + i_),
                 const vf x = load_some(xs + i_, left_, 0); const vf u = load_some(w + i_, left_, 0);
                 const vf v = load_some(b + i_, left_, 0), (x - vm) * vs * u + v)
        } else {
            EACH1((x - vm) * vs)
            if (w) K(binary)(B_MUL, y, w, y, n);
            if (b) K(binary)(B_ADD, y, b, y, n);
        }
    }
}

/* gw and gb are added to; rows of gx are written. */
static void K(layer_norm_grad)(const float *g, const float *x, const float *w, const float *mean,
                               const float *rstd, float *gx, float *gw, float *gb, idx rows, idx n) {
    for (idx r = 0; r < rows; r++, g += n, x += n, gx += n) {
        const vf m = spread(mean[r]), s = spread(rstd[r]);
        vf sum = {0}, dot = {0};
        float rest_sum = 0, rest_dot = 0;
        idx i = 0;
        for (; i + VL <= n; i += VL) {
            const vf v = load(g + i), hat = (load(x + i) - m) * s;
            store(gw + i, load(gw + i) + v * hat);
            store(gb + i, load(gb + i) + v);
            const vf scaled = w ? v * load(w + i) : v;
            sum += scaled;
            dot += scaled * hat;
        }
        for (; i < n; i++) {
            const float hat = (x[i] - mean[r]) * rstd[r], scaled = w ? g[i] * w[i] : g[i];
            gw[i] += g[i] * hat;
            gb[i] += g[i];
            rest_sum += scaled;
            rest_dot += scaled * hat;
        }
        const float a = (total(sum) + rest_sum) / (float)n, b = (total(dot) + rest_dot) / (float)n;
        const vf va = spread(a), vb = spread(b);
        for (i = 0; i + VL <= n; i += VL) {
            const vf v = load(g + i), hat = (load(x + i) - m) * s;
            store(gx + i, ((w ? v * load(w + i) : v) - va - hat * vb) * s);
        }
        for (; i < n; i++) {
            const float hat = (x[i] - mean[r]) * rstd[r], scaled = w ? g[i] * w[i] : g[i];
            gx[i] = (scaled - a - hat * b) * rstd[r];
        }
    }
}

/* -- root mean square: rows divided by it --------------------------------------------------------- */

INLINE double squares_of(const float *x, idx n) {
    vf q0 = {0}, q1 = {0};
    double all = 0;
    idx i = 0;
    for (idx end; i + VL <= n;) { /* short chains in float, then in double */
        end = n - i > 1024 * VL ? i + 1024 * VL : n;
        for (; i + 2 * VL <= end; i += 2 * VL) {
            const vf v = load(x + i), w = load(x + i + VL);
            q0 += v * v;
            q1 += w * w;
        }
        if (i + VL <= end) {
            q0 += load(x + i) * load(x + i);
            i += VL;
        }
        all += (double)total(q0 + q1);
        q0 = q1 = (vf){0};
    }
    for (; i < n; i++) all += (double)(x[i] * x[i]);
    return all;
}

static void K(rms_norm)(const float *xs, const float *w, float *out, float *rstd, idx rows, idx n, float eps) {
    for (idx r = 0; r < rows; r++, xs += n, out += n) {
        rstd[r] = (float)(1.0 / sqrt(squares_of(xs, n) / (double)n + (double)eps));
        const vf s = spread(rstd[r]);
        if (w) {
            const float *ys = w;
            EACH2(x * s * y)
        } else {
            EACH1(x * s)
        }
    }
}

/* gx = rstd (w g - hat mean(w g hat)); gw is added to. */
static void K(rms_norm_grad)(const float *g, const float *x, const float *w, const float *rstd, float *gx, float *gw,
                             idx rows, idx n) {
    for (idx r = 0; r < rows; r++, g += n, x += n, gx += n) {
        const vf s = spread(rstd[r]);
        vf dot = {0};
        float rest = 0;
        idx i = 0;
        for (; i + VL <= n; i += VL) {
            const vf term = load(g + i) * load(x + i) * s;
            store(gw + i, load(gw + i) + term);
            dot += w ? term * load(w + i) : term;
        }
        for (; i < n; i++) {
            const float term = g[i] * x[i] * rstd[r];
            gw[i] += term;
            rest += w ? term * w[i] : term;
        }
        const float b = (total(dot) + rest) / (float)n * rstd[r];
        const vf vb = spread(b);
        for (i = 0; i + VL <= n; i += VL) {
            const vf v = load(g + i);
            store(gx + i, ((w ? v * load(w + i) : v) - load(x + i) * vb) * s);
        }
        for (; i < n; i++) gx[i] = ((w ? g[i] * w[i] : g[i]) - x[i] * b) * rstd[r];
    }
}

/* -- columns --------------------------------------------------------------------------------------- */

#define COLUMN_CHAIN 64 /* rows added in float before the sums go on in double */

static void K(column_moments)(const float *x, idx rows, idx step, idx columns, double *sum, double *square) {
    for (idx c = 0; c < columns; c += VL) {
        const idx left = columns - c;
        const vf t = GET(x + c);
        double s[VL] = {0}, q[VL] = {0};
        for (idx r = 0; r < rows; r += COLUMN_CHAIN) {
            const idx end = rows - r < COLUMN_CHAIN ? rows : r + COLUMN_CHAIN;
            vf a = {0}, b = {0};
            for (idx i = r; i < end; i++) {
                const vf v = GET(x + i * step + c) - t;
                a += v;
                b += v * v;
            }
            for (int i = 0; i < VL; i++) s[i] += (double)a[i], q[i] += (double)b[i];
        }
        for (idx i = 0; i < VL && i < left; i++) sum[c + i] = s[i], square[c + i] = q[i];
    }
}

static void K(column_affine)(const float *x, float *y, idx rows, idx step, idx columns, const float *scale,
                             const float *shift) {
    for (idx r = 0; r < rows; r++, x += step, y += step)
        for (idx c = 0; c < columns; c += VL) {
            const idx left = columns - c;
            PUT(y + c, GET(x + c) * GET(scale + c) + GET(shift + c));
        }
}

static void K(column_sums)(const float *g, const float *x, idx rows, idx step, idx columns, const float *mean, double *sg,
                           double *sgx) {
    for (idx c = 0; c < columns; c += VL) {
        const idx left = columns - c;
        const vf m = GET(mean + c);
        double s[VL] = {0}, q[VL] = {0};
        for (idx r = 0; r < rows; r += COLUMN_CHAIN) {
            const idx end = rows - r < COLUMN_CHAIN ? rows : r + COLUMN_CHAIN;
            vf a = {0}, b = {0};
            for (idx i = r; i < end; i++) {
                const vf v = GET(g + i * step + c);
                a += v;
                b += v * (GET(x + i * step + c) - m);
            }
            for (int i = 0; i < VL; i++) s[i] += (double)a[i], q[i] += (double)b[i];
        }
        for (idx i = 0; i < VL && i < left; i++) sg[c + i] = s[i], sgx[c + i] = q[i];
    }
}

/* a * g + b * (x - mean) + c; abc: three rows of `columns`. Two rows far from zero may lie close together. */
static void K(column_back)(const float *g, const float *x, float *out, idx rows, idx step, idx columns, const float *abc,
                           const float *mean) {
    for (idx r = 0; r < rows; r++, g += step, x += step, out += step)
        for (idx c = 0; c < columns; c += VL) {
            const idx left = columns - c;
            const vf a = GET(abc + c), b = GET(abc + columns + c), d = GET(abc + 2 * columns + c);
            PUT(out + c, GET(g + c) * a + (GET(x + c) - GET(mean + c)) * b + d);
        }
}
