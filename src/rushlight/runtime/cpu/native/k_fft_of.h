/* Fourier transforms of numbers of type T, a vector's lanes being lines; k_fft.h includes this once for each type, with L(name) for
 * names, `vt` for vectors of T and TL for how many a vector holds. A complex number of all lines is two vectors, real and imaginary
 * part. The transform back is the one forward of numbers whose parts are exchanged: `re` and `im` say where they are. */

#define W (2 * TL)
typedef T L(lanes_any) __attribute__((vector_size(VL * 4), aligned(sizeof(T)), may_alias));
typedef T L(four_any) __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef struct {
    vt r, i;
} L(pair);

INLINE vt L(line)(const T *p) { return *(const L(lanes_any) *)p; }
INLINE void L(set_line)(T *p, vt v) { *(L(lanes_any) *)p = v; }
INLINE L(pair) L(more)(L(pair) a, L(pair) b) { return (L(pair)){a.r + b.r, a.i + b.i}; }
INLINE L(pair) L(less)(L(pair) a, L(pair) b) { return (L(pair)){a.r - b.r, a.i - b.i}; }
INLINE L(pair) L(times)(L(pair) a, vt c, vt s) { return (L(pair)){a.r * c - a.i * s, a.r * s + a.i * c}; }
INLINE L(pair) L(down)(L(pair) a) { return (L(pair)){a.i, -a.r}; } /* times -i */
INLINE L(pair) L(get_pair)(const T *p, idx re, idx im) { return (L(pair)){L(line)(p + re), L(line)(p + im)}; }
INLINE void L(set_pair)(T *p, idx re, idx im, L(pair) a) { L(set_line)(p + re, a.r), L(set_line)(p + im, a.i); }

INLINE void L(of_four)(const L(pair) *a, idx step, L(pair) *b) {
    const L(pair) s = L(more)(a[0], a[2 * step]), d = L(less)(a[0], a[2 * step]);
    const L(pair) t = L(more)(a[step], a[3 * step]), e = L(down)(L(less)(a[step], a[3 * step]));
    b[0] = L(more)(s, t), b[1] = L(more)(d, e), b[2] = L(less)(s, t), b[3] = L(less)(d, e);
}

/* b: the transform of r numbers; `roots`: cosines and sines of r-ths of a turn, for odd r. */
INLINE void L(of_few)(const int r, const L(pair) *a, L(pair) *b, const T *roots) {
    if (r == 2) b[0] = L(more)(a[0], a[1]), b[1] = L(less)(a[0], a[1]);
    else if (r == 4) L(of_four)(a, 1, b);
    else if (r == 8) {
        const vt half = (T)0.70710678118654752440 - (vt){0};
        L(pair) even[4], odd[4];
        L(of_four)(a, 2, even);
        L(of_four)(a + 1, 2, odd);
        odd[1] = (L(pair)){(odd[1].r + odd[1].i) * half, (odd[1].i - odd[1].r) * half};
        odd[2] = L(down)(odd[2]);
        odd[3] = (L(pair)){(odd[3].i - odd[3].r) * half, -(odd[3].i + odd[3].r) * half};
        UNROLL for (int k = 0; k < 4; k++) b[k] = L(more)(even[k], odd[k]), b[k + 4] = L(less)(even[k], odd[k]);
    } else {
        const int h = r / 2;
        L(pair) sum[MOST_RADIX / 2], less[MOST_RADIX / 2];
        b[0] = a[0];
        UNROLL for (int j = 1; j <= h; j++) {
            sum[j - 1] = L(more)(a[j], a[r - j]), less[j - 1] = L(less)(a[j], a[r - j]);
            b[0] = L(more)(b[0], sum[j - 1]);
        }
        UNROLL for (int k = 1; k <= h; k++) {
            L(pair) m = a[0], e = {{0}, {0}};
            UNROLL for (int j = 1; j <= h; j++) {
                const int at = j * k % r;
                const vt c = roots[2 * at] - (vt){0}, s = roots[2 * at + 1] - (vt){0};
                m.r += c * sum[j - 1].r, m.i += c * sum[j - 1].i;
                e.r += s * less[j - 1].r, e.i += s * less[j - 1].i;
            }
            e = L(down)(e);
            b[k] = L(more)(m, e), b[r - k] = L(less)(m, e);
        }
    }
}

/* Of each of `beside` transforms a step of radix r, with m places to go on with: y[place][r][beside] = x[r][place][beside]. Place 0
 * is not turned. */
INLINE void L(step_of)(const int r, const int turned, idx m, idx beside, const T *x, T *y, const T *turns, const T *roots, idx re, idx im) {
    turns += turned * 2 * (r - 1);
    for (idx p = turned; p < (turned ? m : 1); p++, turns += 2 * (r - 1))
        for (idx q = 0; q < beside; q++) {
            const T *from = x + (q + beside * p) * W;
            T *to = y + (q + beside * r * p) * W;
            L(pair) a[MOST_RADIX], b[MOST_RADIX];
            UNROLL for (int j = 0; j < r; j++) a[j] = L(get_pair)(from + beside * m * j * W, re, im);
            L(of_few)(r, a, b, roots);
            L(set_pair)(to, re, im, b[0]);
            UNROLL for (int k = 1; k < r; k++)
                L(set_pair)(to + beside * k * W, re, im, turned ? L(times)(b[k], turns[2 * k - 2] - (vt){0}, turns[2 * k - 1] - (vt){0}) : b[k]);
        }
}

#define STEP_OF(r) \
    L(step_of)(r, 0, m, beside, x, y, turns, roots, re, im); \
    L(step_of)(r, 1, m, beside, x, y, turns, roots, re, im);

/* One radix for all others: its loops stay loops. */
static void L(fft_step)(int r, idx m, idx beside, const T *x, T *y, const T *turns, const T *roots, idx re, idx im) {
    switch (r) {
    case 2: STEP_OF(2) break;
    case 3: STEP_OF(3) break;
    case 4: STEP_OF(4) break;
    case 5: STEP_OF(5) break;
    case 7: STEP_OF(7) break;
    case 8: STEP_OF(8) break;
    default:
        if (r < 9) __builtin_unreachable();
        STEP_OF(r)
    }
}

/* Of what is in a; b is as large. Where the result is: one of both. */
static T *L(fft_lines)(const Fft *f, T *a, T *b, int back) {
    const idx re = back ? TL : 0, im = back ? 0 : TL;
    if (f->inner) { /* as a product with what goes round: chirps that run against each other */
        const T *chirp = f->chirp, *filter = f->filter;
        for (idx j = 0; j < f->n; j++)
            L(set_pair)(a + j * W, re, im, L(times)(L(get_pair)(a + j * W, re, im), chirp[2 * j] - (vt){0}, chirp[2 * j + 1] - (vt){0}));
        memset(a + f->n * W, 0, (size_t)(f->inner->n - f->n) * W * sizeof(T));
        T *x = L(fft_lines)(f->inner, a, b, back);
        for (idx j = 0; j < f->inner->n; j++)
            L(set_pair)(x + j * W, re, im, L(times)(L(get_pair)(x + j * W, re, im), filter[2 * j] - (vt){0}, filter[2 * j + 1] - (vt){0}));
        x = L(fft_lines)(f->inner, x, x == a ? b : a, !back);
        for (idx j = 0; j < f->n; j++)
            L(set_pair)(x + j * W, re, im, L(times)(L(get_pair)(x + j * W, re, im), chirp[2 * j] - (vt){0}, chirp[2 * j + 1] - (vt){0}));
        return x;
    }
    idx left = f->n, beside = 1;
    for (int s = 0; s < f->steps; s++) {
        const int r = f->radix[s];
        left /= r;
        L(fft_step)(r, left, beside, a, b, f->turns[s], f->roots[s], re, im);
        beside *= r;
        T *const t = a;
        a = b, b = t;
    }
    return a;
}

/* The first half of the spectrum of real lines, from that of their even numbers as real and odd ones as imaginary parts. */
static void L(fft_halves)(const Fft *f, const T *z, T *x) {
    const idx h = f->n;
    const T *turn = f->halves;
    const vt half = (T)0.5 - (vt){0};
    const L(pair) first = L(get_pair)(z, 0, TL);
    L(set_pair)(x, 0, TL, (L(pair)){first.r + first.i, {0}});
    L(set_pair)(x + h * W, 0, TL, (L(pair)){first.r - first.i, {0}});
    for (idx k = 1; k <= h / 2; k++) {
        const L(pair) a = L(get_pair)(z + k * W, 0, TL), b = L(get_pair)(z + (h - k) * W, 0, TL);
        const L(pair) e = {(a.r + b.r) * half, (a.i - b.i) * half};
        const L(pair) o = L(times)((L(pair)){(a.i + b.i) * half, (b.r - a.r) * half}, turn[2 * k] - (vt){0}, turn[2 * k + 1] - (vt){0});
        L(set_pair)(x + k * W, 0, TL, L(more)(e, o));
        L(set_pair)(x + (h - k) * W, 0, TL, (L(pair)){e.r - o.r, o.i - e.i});
    }
}

/* The way back, of twice the size. */
static void L(fft_whole)(const Fft *f, const T *x, T *z) {
    const idx h = f->n;
    const T *turn = f->halves;
    const vt first = L(line)(x), last = L(line)(x + h * W);
    L(set_pair)(z, 0, TL, (L(pair)){first + last, first - last});
    for (idx k = 1; k <= h / 2; k++) {
        const L(pair) a = L(get_pair)(x + k * W, 0, TL), b = L(get_pair)(x + (h - k) * W, 0, TL);
        const L(pair) s = {a.r + b.r, a.i - b.i};
        const L(pair) o = L(times)((L(pair)){a.r - b.r, a.i + b.i}, turn[2 * k] - (vt){0}, -turn[2 * k + 1] - (vt){0});
        L(set_pair)(z + k * W, 0, TL, (L(pair)){s.r - o.i, s.i + o.r});
        L(set_pair)(z + (h - k) * W, 0, TL, (L(pair)){s.r + o.i, o.r - s.i});
    }
}

/* -- lines from memory and back ----------------------------------------------------------------------------- */

#if TL == 16
#define FIRSTS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define SECONDS 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LOWER 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif TL == 8
#define FIRSTS 0, 2, 4, 6, 8, 10, 12, 14
#define SECONDS 1, 3, 5, 7, 9, 11, 13, 15
#define LOWER 0, 8, 1, 9, 2, 10, 3, 11
#define UPPER 4, 12, 5, 13, 6, 14, 7, 15
#elif TL == 4
#define FIRSTS 0, 2, 4, 6
#define SECONDS 1, 3, 5, 7
#define LOWER 0, 4, 1, 5
#define UPPER 2, 6, 3, 7
#else
#define FIRSTS 0, 2
#define SECONDS 1, 3
#define LOWER 0, 2
#define UPPER 1, 3
#endif

INLINE L(pair) L(apart)(const T *p) {
    const vt a = L(line)(p), b = L(line)(p + TL);
    return (L(pair)){__builtin_shufflevector(a, b, FIRSTS), __builtin_shufflevector(a, b, SECONDS)};
}

INLINE void L(joined)(T *p, vt r, vt i) {
    L(set_line)(p, __builtin_shufflevector(r, i, LOWER));
    L(set_line)(p + TL, __builtin_shufflevector(r, i, UPPER));
}

INLINE int L(neighbours)(const Lines *l, char *const *at, idx apart) {
    for (int i = 1; i < l->lanes; i++)
        if (at[i] != at[0] + i * apart * (idx)sizeof(T)) return 0;
    return 1;
}

/* Four rows of four numbers as columns, and the other way round. */
INLINE void L(turned_four)(L(four_any) *r) {
    const L(four_any) a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    const L(four_any) c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5), r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5), r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/* n numbers of each line, `step` apart, to rows of lanes, `to_step` apart. The lanes behind the last line hold it, too. */
static void L(take_rows)(const Lines *l, idx offset, idx step, idx n, T *to, idx to_step) {
    idx c = 0;
#if defined(__x86_64__) && TL == 16
    if (step == 1)
        for (; c + 16 <= n; c += 16) take_tall(l->from, offset + c, to + c * to_step, to_step);
#endif
    if (step == 1 && TL >= 4)
        for (; c + 4 <= n; c += 4)
            for (int i = 0; i + 4 <= TL; i += 4) {
                L(four_any) r[4];
                for (int k = 0; k < 4; k++) r[k] = *(const L(four_any) *)((const T *)l->from[i + k] + offset + c);
                L(turned_four)(r);
                for (int k = 0; k < 4; k++) *(L(four_any) *)(to + (c + k) * to_step + i) = r[k];
            }
    else if (l->lanes == TL && L(neighbours)(l, l->from, 1))
        for (; c < n; c++) L(set_line)(to + c * to_step, L(line)((const T *)l->from[0] + offset + c * step));
    for (; c < n; c++)
        for (int i = 0; i < TL; i++) to[c * to_step + i] = ((const T *)l->from[i])[offset + c * step];
}

static void L(put_rows)(const Lines *l, idx offset, idx step, idx n, const T *from, idx from_step) {
    idx c = 0;
#if defined(__x86_64__) && TL == 16
    if (step == 1 && l->lanes == TL)
        for (; c + 16 <= n; c += 16) put_tall(from + c * from_step, from_step, l->to, offset + c);
#endif
    if (step == 1 && l->lanes >= 4)
        for (; c + 4 <= n; c += 4) {
            int i = 0;
            for (; i + 4 <= l->lanes; i += 4) {
                L(four_any) r[4];
                for (int k = 0; k < 4; k++) r[k] = *(const L(four_any) *)(from + (c + k) * from_step + i);
                L(turned_four)(r);
                for (int k = 0; k < 4; k++) *(L(four_any) *)((T *)l->to[i + k] + offset + c) = r[k];
            }
            for (; i < l->lanes; i++)
                for (int k = 0; k < 4; k++) ((T *)l->to[i])[offset + c + k] = from[(c + k) * from_step + i];
        }
    else if (l->lanes == TL && L(neighbours)(l, l->to, 1))
        for (; c < n; c++) L(set_line)((T *)l->to[0] + offset + c * step, L(line)(from + c * from_step));
    for (; c < n; c++)
        for (int i = 0; i < l->lanes; i++) ((T *)l->to[i])[offset + c * step] = from[c * from_step + i];
}

static void L(take_pairs)(const Lines *l, idx n, T *to) {
    const idx step = l->from_step;
    if (step == 2) L(take_rows)(l, 0, 1, 2 * n, to, TL);
    else if (L(neighbours)(l, l->from, 2)) {
        const T *from = (const T *)l->from[0];
        T some[W] = {0};
        for (idx j = 0; j < n; j++) {
            if (l->lanes < TL) memcpy(some, from + j * step, (size_t)l->lanes * 2 * sizeof(T));
            L(set_pair)(to + j * W, 0, TL, L(apart)(l->lanes < TL ? some : from + j * step));
        }
    } else {
        L(take_rows)(l, 0, step, n, to, W);
        L(take_rows)(l, 1, step, n, to + TL, W);
    }
}

static void L(put_pairs)(const Lines *l, idx n, const T *from) {
    const idx step = l->to_step;
    if (step == 2) L(put_rows)(l, 0, 1, 2 * n, from, TL);
    else if (L(neighbours)(l, l->to, 2)) {
        T *to = (T *)l->to[0], some[W];
        for (idx j = 0; j < n; j++) {
            const L(pair) a = L(get_pair)(from + j * W, 0, TL);
            L(joined)(l->lanes < TL ? some : to + j * step, a.r, a.i);
            if (l->lanes < TL) memcpy(to + j * step, some, (size_t)l->lanes * 2 * sizeof(T));
        }
    } else {
        L(put_rows)(l, 0, step, n, from, W);
        L(put_rows)(l, 1, step, n, from + TL, W);
    }
}

static void L(fft)(const Lines *l) {
    const Fft *const f = l->fft;
    T *const a = l->a, *const b = l->b, *z;
    const idx n = l->n, half = n / 2 + 1;
    if (l->kind == FFT_COMPLEX) {
        L(take_pairs)(l, n, a);
        z = L(fft_lines)(f, a, b, l->back);
        if (l->turn)
            for (idx k = 0; k < n; k++) {
                const L(pair) by = L(apart)((const T *)l->turn + 2 * k * l->turn_step);
                const idx re = l->back ? TL : 0, im = TL - re;
                L(set_pair)(z + k * W, re, im, L(times)(L(get_pair)(z + k * W, re, im), by.r, by.i));
            }
    } else if (l->kind == FFT_TO_HALF) {
        if (n % 2) {
            L(take_rows)(l, 0, l->from_step, n, a, W);
            for (idx j = 0; j < n; j++) L(set_line)(a + j * W + TL, (vt){0});
            z = L(fft_lines)(f, a, b, 0);
        } else {
            L(take_rows)(l, 0, l->from_step, n, a, TL);
            T *const y = L(fft_lines)(f, a, b, 0);
            z = y == a ? b : a;
            L(fft_halves)(f, y, z);
        }
    } else {
        L(take_pairs)(l, half, a);
        if (n % 2) {
            L(set_line)(a + TL, (vt){0});
            for (idx k = 1; k < half; k++) {
                const L(pair) x = L(get_pair)(a + k * W, 0, TL);
                L(set_pair)(a + (n - k) * W, 0, TL, (L(pair)){x.r, -x.i});
            }
            z = L(fft_lines)(f, a, b, 1);
        } else {
            L(fft_whole)(f, a, b);
            z = L(fft_lines)(f, b, a, 1);
        }
    }
    if (l->kind == FFT_FROM_HALF) L(put_rows)(l, 0, l->to_step, n, z, n % 2 ? W : TL);
    else L(put_pairs)(l, l->kind == FFT_COMPLEX ? n : half, z);
}

#undef W
#undef STEP_OF
#undef FIRSTS
#undef SECONDS
#undef LOWER
#undef UPPER
