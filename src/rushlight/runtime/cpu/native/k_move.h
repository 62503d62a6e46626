/* Moving floats: transposition by small squares held in registers. */

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
