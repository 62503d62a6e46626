/* Moving floats: transposition by small squares held in registers, rows turned round. */

static void K(transpose)(const float *src, idx rows, idx cols, idx src_ld, float *dst, idx dst_ld) {
    idx r = 0;
#if defined(__x86_64__) && VL == 16
    for (; r + 16 <= rows; r += 16) {
        idx c = 0;
        for (; c + 4 <= cols; c += 4) tall_square(src + r * src_ld + c, src_ld, dst + c * dst_ld + r, dst_ld);
        for (; c < cols; c++)
            for (idx i = 0; i < 16; i++) dst[c * dst_ld + r + i] = src[(r + i) * src_ld + c];
    }
#endif
    for (; r + 4 <= rows; r += 4) {
        idx c = 0;
        for (; c + 4 <= cols; c += 4) square(src + r * src_ld + c, src_ld, dst + c * dst_ld + r, dst_ld);
        for (; c < cols; c++)
            for (idx i = 0; i < 4; i++) dst[c * dst_ld + r + i] = src[(r + i) * src_ld + c];
    }
    for (; r < rows; r++)
        for (idx c = 0; c < cols; c++) dst[c * dst_ld + r] = src[r * src_ld + c];
}

/* Rows of n floats, each so many floats behind the one before: most are so short that a call for each would take longer. */
static void K(copy_rows)(const float *from, idx from_step, float *to, idx to_step, idx rows, idx n) {
    if (n == 1) {
        for (idx r = 0; r < rows; r++) to[r * to_step] = from[r * from_step];
        return;
    }
    for (idx r = 0; r < rows; r++, from += from_step, to += to_step) {
        idx i = 0;
#if defined(__aarch64__)
        for (; i + 4 * VL <= n; i += 4 * VL) {
            const vf a = load(from + i), b = load(from + i + VL), c = load(from + i + 2 * VL), d = load(from + i + 3 * VL);
            store(to + i, a);
            store(to + i + VL, b);
            store(to + i + 2 * VL, c);
            store(to + i + 3 * VL, d);
        }
#endif
        for (; i + VL <= n; i += VL) store(to + i, load(from + i));
#if WHOLE_ROWS
        if (i < n) store_some(to + i, load_some(from + i, n - i, 0), n - i);
#else
        for (; i + 4 <= n; i += 4) *(v4_any *)(to + i) = *(const v4_any *)(from + i);
        if (i < n && n >= 4) *(v4_any *)(to + n - 4) = *(const v4_any *)(from + n - 4); /* overlaps the one before */
        else
            for (; i < n; i++) to[i] = from[i];
#endif
    }
}

/* Rows of n floats, `row` apart, each number `step` behind the one before, side by side; VL floats behind them are written over. */
INLINE void K(lay_rows)(const float *x, idx row, idx step, idx rows, idx n, float *to) {
    idx r = 0;
    if (step > 1)
        for (; r < rows; r++, to += n)
            for (idx i = 0; i < n; i++) to[i] = x[r * row + i * step];
    else if (!step)
        for (; r < rows; r++, to += n) {
            const vf each = spread(x[r * row]);
            for (idx i = 0; i < n; i += VL) store(to + i, each);
        }
    else if (n > VL) K(copy_rows)(x, row, to, n, rows, n);
    else if (!row) {
        const vf all = load_some(x, n, 0);
        for (; r < rows; r++, to += n) store(to, all);
    } else {
        for (; r * row + VL <= (rows - 1) * row + n; r++, to += n) store(to, load(x + r * row)); /* nothing behind the last row is read */
        for (; r < rows; r++, to += n)
            for (idx i = 0; i < n; i++) to[i] = x[r * row + i];
    }
}

/* `count` floats of a view, from number `from` on, side by side; VL floats behind them are written over. */
static void K(lay)(const Stepped *v, idx from, idx count, float *to) {
    const int last = v->dims - 1;
    const idx n = v->size[last], step = v->step[last], row = last ? v->step[last - 1] : 0;
    idx at[MOST_DIMS], left = from / n, begun = from % n;
    const float *x = v->x;
    for (int d = last - 1; d >= 0; d--) at[d] = left % v->size[d], left /= v->size[d], x += at[d] * v->step[d];
    while (count > 0) {
        idx rows = count / n, some = rows * n;
        if (begun || !rows) { /* a part of a row */
            some = n - begun < count ? n - begun : count;
            K(lay_rows)(x + begun * step, 0, step, 1, some, to);
            begun = 0, rows = 1;
        } else {
            if (!last || rows > v->size[last - 1] - at[last - 1]) rows = last ? v->size[last - 1] - at[last - 1] : 1;
            some = rows * n;
            K(lay_rows)(x, row, step, rows, n, to);
        }
        to += some, count -= some;
        if (!last) continue;
        x += rows * row, at[last - 1] += rows;
        for (int d = last - 1; d > 0 && at[d] == v->size[d]; d--) x += v->step[d - 1] - at[d] * v->step[d], at[d] = 0, at[d - 1]++;
    }
}

/* Rows of n floats, each the last one first. */
static void K(reverse)(const float *src, float *dst, idx rows, idx n) {
    for (idx r = 0; r < rows; r++, src += n, dst += n) {
        const float *from = src + n;
        idx k = 0;
        for (; k + VL <= n; k += VL) {
            const vf v = load(from - k - VL);
#if VL == 4
            store(dst + k, __builtin_shufflevector(v, v, 3, 2, 1, 0));
#elif VL == 8
            store(dst + k, __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0));
#else
            store(dst + k, __builtin_shufflevector(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
#endif
        }
        for (; k < n; k++) dst[k] = from[-1 - k];
    }
}
