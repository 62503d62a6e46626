/* Depthwise convolutions: a vector holds as many channels of one place, so that strides, narrow images and borders waste
 * nothing. Images lie as [place][channel]; weights as [tap][channel]. Taps that meet padding are left out. */

/* Results [lo, hi) along dim `i` whose tap k meets the image. */
INLINE void depth_range(const Depth *t, int i, idx k, idx *lo, idx *hi) {
    const idx before = t->p[i] - k * t->d[i], left = t->in[i] - 1 + before;
    *lo = before <= 0 ? 0 : (before + t->s[i] - 1) / t->s[i];
    *hi = left < 0 ? 0 : left / t->s[i] + 1;
    if (*hi > t->out[i]) *hi = t->out[i];
    if (*lo > *hi) *lo = *hi;
}

/* Taps [lo, hi) along dim `i` that meet the image at result q. */
INLINE void depth_taps(const Depth *t, int i, idx q, idx *lo, idx *hi) {
    const idx first = q * t->s[i] - t->p[i];
    *lo = first >= 0 ? 0 : (-first + t->d[i] - 1) / t->d[i];
    *hi = first >= t->in[i] ? 0 : (t->in[i] - 1 - first) / t->d[i] + 1;
    if (*hi > t->k[i]) *hi = t->k[i];
    if (*lo > *hi) *lo = *hi;
}

/* `many` results of a row from x on, with taps [a, b) along the row and those of `near` before it. */
INLINE void depth_places(const Depth *t, const float *w, const idx near[4], const float *x, float *y, idx at, idx a, idx b,
                         vf bias, const int many) {
    const idx step = t->x_step, next = t->s[2] * step;
    vf acc[4];
    UNROLL for (int j = 0; j < many; j++) acc[j] = bias;
    for (idx z = near[0]; z < near[1]; z++)
        for (idx r = near[2]; r < near[3]; r++) {
            const float *row = x + (z * t->d[0] * t->in[1] + r * t->d[1]) * t->in[2] * step;
            const float *from = row + (at * t->s[2] - t->p[2] + a * t->d[2]) * step;
            const float *weight = w + ((z * t->k[1] + r) * t->k[2] + a) * VL;
            for (idx k = a; k < b; k++, from += t->d[2] * step, weight += VL) {
                const vf by = load(weight);
                UNROLL for (int j = 0; j < many; j++) acc[j] += by * load(from + j * next);
            }
        }
    UNROLL for (int j = 0; j < many; j++) store(y + (at + j) * t->y_step, acc[j]);
}

static void K(depth)(const Depth *t, const float *x, const float *w, const float *bias, float *y) {
    const vf start = bias ? load(bias) : (vf){0};
    idx inner[2] = {0, t->out[2]}; /* results that meet all taps of a row */
    for (idx k = 0; k < t->k[2]; k++) {
        idx lo, hi;
        depth_range(t, 2, k, &lo, &hi);
        inner[0] = lo > inner[0] ? lo : inner[0];
        inner[1] = hi < inner[1] ? hi : inner[1];
    }
    if (inner[1] < inner[0]) inner[0] = inner[1] = t->out[2];
    for (idx z = 0; z < t->out[0]; z++)
        for (idx r = 0; r < t->out[1]; r++) {
            idx near[4], a, b, q = 0;
            depth_taps(t, 0, z, near, near + 1);
            depth_taps(t, 1, r, near + 2, near + 3);
            const float *from = x + ((z * t->s[0] - t->p[0]) * t->in[1] + r * t->s[1] - t->p[1]) * t->in[2] * t->x_step;
            float *to = y + (z * t->out[1] + r) * t->out[2] * t->y_step;
            for (; q < inner[0]; q++) {
                depth_taps(t, 2, q, &a, &b);
                depth_places(t, w, near, from, to, q, a, b, start, 1);
            }
            for (; q + 4 <= inner[1]; q += 4) depth_places(t, w, near, from, to, q, 0, t->k[2], start, 4);
            for (; q < inner[1]; q++) depth_places(t, w, near, from, to, q, 0, t->k[2], start, 1);
            for (; q < t->out[2]; q++) {
                depth_taps(t, 2, q, &a, &b);
                depth_places(t, w, near, from, to, q, a, b, start, 1);
            }
        }
}

/* The image's gradient: every result's gradient goes to the places its taps met. x is written to and begins with zeros. */
static void K(depth_spread)(const Depth *t, const float *g, const float *w, float *x) {
    for (idx z = 0; z < t->out[0]; z++)
        for (idx r = 0; r < t->out[1]; r++) {
            idx near[4], a, b;
            depth_taps(t, 0, z, near, near + 1);
            depth_taps(t, 1, r, near + 2, near + 3);
            for (idx q = 0; q < t->out[2]; q++) {
                const vf by = load(g + ((z * t->out[1] + r) * t->out[2] + q) * t->y_step);
                depth_taps(t, 2, q, &a, &b);
                for (idx i = near[0]; i < near[1]; i++)
                    for (idx j = near[2]; j < near[3]; j++) {
                        const idx plane = z * t->s[0] - t->p[0] + i * t->d[0], row = r * t->s[1] - t->p[1] + j * t->d[1];
                        const idx first = q * t->s[2] - t->p[2];
                        float *to = x + ((plane * t->in[1] + row) * t->in[2] + first + a * t->d[2]) * t->x_step;
                        const float *weight = w + ((i * t->k[1] + j) * t->k[2] + a) * VL;
                        for (idx k = a; k < b; k++, to += t->d[2] * t->x_step, weight += VL)
                            store(to, load(to) + by * load(weight));
                    }
            }
        }
}

/* Taps [0, wide) of one row of the kernel, from one row of results [a, b) that meets all of them. */
INLINE void depth_row_weight(const float *g, idx g_step, const float *x, idx next, idx tap, idx n, float *sums, const int wide) {
    vf even[8], odd[8];
    UNROLL for (int k = 0; k < wide; k++) even[k] = load(sums + k * VL), odd[k] = (vf){0};
    idx q = 0;
    for (; q + 2 <= n; q += 2) {
        const vf first = load(g + q * g_step), second = load(g + (q + 1) * g_step);
        UNROLL for (int k = 0; k < wide; k++) {
            even[k] += first * load(x + q * next + k * tap);
            odd[k] += second * load(x + (q + 1) * next + k * tap);
        }
    }
    for (; q < n; q++) {
        const vf first = load(g + q * g_step);
        UNROLL for (int k = 0; k < wide; k++) even[k] += first * load(x + q * next + k * tap);
    }
    UNROLL for (int k = 0; k < wide; k++) store(sums + k * VL, even[k] + odd[k]);
}

/* Adds to the sums [tap][channel] what one image gives. */
static void K(depth_weight)(const Depth *t, const float *x, const float *g, float *sums) {
    const idx next = t->s[2] * t->x_step, tap = t->d[2] * t->x_step;
    for (idx i = 0; i < t->k[0] * t->k[1]; i++) {
        const idx kz = i / t->k[1], ky = i % t->k[1];
        idx z0, z1, r0, r1;
        depth_range(t, 0, kz, &z0, &z1);
        depth_range(t, 1, ky, &r0, &r1);
        for (idx k = 0; k < t->k[2];) {
            const idx left = t->k[2] - k, wide = left >= 7 ? 7 : left >= 5 ? 5 : left >= 3 ? 3 : 1;
            idx lo[8], hi[8], a = 0, b = t->out[2]; /* [a, b): what all these taps meet */
            for (idx j = 0; j < wide; j++) {
                depth_range(t, 2, k + j, lo + j, hi + j);
                a = lo[j] > a ? lo[j] : a;
                b = hi[j] < b ? hi[j] : b;
            }
            if (b < a) b = a;
            float *to = sums + (i * t->k[2] + k) * VL;
            for (idx z = z0; z < z1; z++)
                for (idx r = r0; r < r1; r++) {
                    const float *gs = g + (z * t->out[1] + r) * t->out[2] * t->y_step;
                    const idx plane = z * t->s[0] - t->p[0] + kz * t->d[0], row = r * t->s[1] - t->p[1] + ky * t->d[1];
                    const float *xs = x + ((plane * t->in[1] + row) * t->in[2] - t->p[2] + k * t->d[2]) * t->x_step;
                    const float *g0 = gs + a * t->y_step, *x0 = xs + a * next;
                    switch (wide) {
                    case 7: depth_row_weight(g0, t->y_step, x0, next, tap, b - a, to, 7); break;
                    case 5: depth_row_weight(g0, t->y_step, x0, next, tap, b - a, to, 5); break;
                    case 3: depth_row_weight(g0, t->y_step, x0, next, tap, b - a, to, 3); break;
                    default: depth_row_weight(g0, t->y_step, x0, next, tap, b - a, to, 1); break;
                    }
                    for (idx j = 0; j < wide; j++) { /* beside what all of them meet */
                        vf sum = load(to + j * VL);
                        for (idx q = lo[j]; q < hi[j]; q++)
                            if (q < a || q >= b) sum += load(gs + q * t->y_step) * load(xs + q * next + j * tap);
                        store(to + j * VL, sum);
                    }
                }
            k += wide;
        }
    }
}
