/* Moving floats: transposition by small squares held in registers. */

static void K(transpose)(const float *src, idx rows, idx cols, idx src_ld, float *dst, idx dst_ld) {
    idx r = 0;
#if defined(__aarch64__)
    for (; r + 4 <= rows; r += 4) {
        idx c = 0;
        for (; c + 4 <= cols; c += 4) {
            const float *q = src + r * src_ld + c;
            const float32x4_t r0 = vld1q_f32(q), r1 = vld1q_f32(q + src_ld);
            const float32x4_t r2 = vld1q_f32(q + 2 * src_ld), r3 = vld1q_f32(q + 3 * src_ld);
            const float64x2_t a = (float64x2_t)vtrn1q_f32(r0, r1), b = (float64x2_t)vtrn2q_f32(r0, r1);
            const float64x2_t d = (float64x2_t)vtrn1q_f32(r2, r3), e = (float64x2_t)vtrn2q_f32(r2, r3);
            float *o = dst + c * dst_ld + r;
            vst1q_f32(o, (float32x4_t)vtrn1q_f64(a, d));
            vst1q_f32(o + dst_ld, (float32x4_t)vtrn1q_f64(b, e));
            vst1q_f32(o + 2 * dst_ld, (float32x4_t)vtrn2q_f64(a, d));
            vst1q_f32(o + 3 * dst_ld, (float32x4_t)vtrn2q_f64(b, e));
        }
        for (; c < cols; c++)
            for (idx i = 0; i < 4; i++) dst[c * dst_ld + r + i] = src[(r + i) * src_ld + c];
    }
#endif
    for (; r + 8 <= rows; r += 8) /* eight rows at a time fill half a cache line of the result */
        for (idx c = 0; c < cols; c++)
            for (idx i = 0; i < 8; i++) dst[c * dst_ld + r + i] = src[(r + i) * src_ld + c];
    for (; r < rows; r++)
        for (idx c = 0; c < cols; c++) dst[c * dst_ld + r] = src[r * src_ld + c];
}
