/* Moving floats: transposition by small squares held in registers, rows turned round. */

static void K(transpose)(const float *src, idx rows, idx cols, idx src_ld, float *dst, idx dst_ld) {
    idx r = 0;
    for (; r + 4 <= rows; r += 4) {
        idx c = 0;
        for (; c + 4 <= cols; c += 4) square(src + r * src_ld + c, src_ld, dst + c * dst_ld + r, dst_ld);
        for (; c < cols; c++)
            for (idx i = 0; i < 4; i++) dst[c * dst_ld + r + i] = src[(r + i) * src_ld + c];
    }
    for (; r < rows; r++)
        for (idx c = 0; c < cols; c++) dst[c * dst_ld + r] = src[r * src_ld + c];
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
