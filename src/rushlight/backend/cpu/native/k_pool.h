/* Pooling over 2 x 2 windows, the common case; other windows are plain loops in bind_pool.c. */

/* Rows of h x w floats, `row` apart, to h/2 x w/2 maxima and their places; a NaN wins, the last one. */
static void K(max_2x2)(const float *x, idx h, idx w, idx row, float *y, int64_t *index) {
    const idx wide = w / 2;
    for (idx i = 0; i < h / 2; i++) {
        const float *restrict a = x + 2 * i * row, *restrict b = a + row;
        const int32_t at = (int32_t)(2 * i * w);
        float *restrict to = y + i * wide;
        int64_t *restrict where = index + i * wide;
        for (idx j = 0; j < wide; j++) {
            const float v0 = a[2 * j], v1 = a[2 * j + 1], v2 = b[2 * j], v3 = b[2 * j + 1];
            float best = v0;
            int32_t step = 0;
            step = v1 > best || v1 != v1 ? 1 : step;
            best = v1 > best || v1 != v1 ? v1 : best;
            step = v2 > best || v2 != v2 ? (int32_t)w : step;
            best = v2 > best || v2 != v2 ? v2 : best;
            step = v3 > best || v3 != v3 ? (int32_t)w + 1 : step;
            best = v3 > best || v3 != v3 ? v3 : best;
            to[j] = best;
            where[j] = at + (int32_t)(2 * j) + step;
        }
    }
}
