/* float16 and bfloat16 as bits: widened exactly, rounded to the nearest with ties to even; every NaN becomes one. */

typedef uint16_t vh __attribute__((vector_size(VL * 2)));
typedef uint16_t vh_any __attribute__((vector_size(VL * 2), aligned(2), may_alias));

#if defined(__x86_64__) && VL == 16
INLINE vi wide_words(vh h) { return (vi)_mm512_cvtepu16_epi32((__m256i)h); }
INLINE vh low_words(vi v) { return (vh)_mm512_cvtepi32_epi16((__m512i)v); }
#else
INLINE vi wide_words(vh h) { return __builtin_convertvector(h, vi); }
INLINE vh low_words(vi v) { return __builtin_convertvector(v, vh); }
#endif
INLINE vf wide_bfloat(vh h) { return (vf)(wide_words(h) << 16); }
INLINE vh round_bfloat(vf v) {
    const vi u = (vi)v, up = u + 0x7fff + ((u >> 16) & 1);
    return low_words((vi)pick(v != v, (vf)((u & (int32_t)0x80000000) | 0x7fc00000), (vf)up) >> 16);
}

/* One NaN of either sign, as scalar conversions give. */
INLINE vf one_nan(vf v) { return pick(v != v, (vf)(((vi)v & (int32_t)0x80000000) | 0x7fc00000), v); }

#if defined(__aarch64__) && VL == 4
INLINE vf wide_half(vh h) { return (vf)vcvt_f32_f16((float16x4_t)h); }
INLINE vh round_half(vf v) { return (vh)vcvt_f16_f32((float32x4_t)one_nan(v)); }
#elif defined(__x86_64__) && VL == 16
INLINE vf wide_half(vh h) { return (vf)_mm512_cvtph_ps((__m256i)h); }
INLINE vh round_half(vf v) { return (vh)_mm512_cvtps_ph((__m512)one_nan(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#elif defined(__x86_64__) && VL == 8
INLINE vf wide_half(vh h) { return (vf)_mm256_cvtph_ps((__m128i)h); }
INLINE vh round_half(vf v) { return (vh)_mm256_cvtps_ph((__m256)one_nan(v), _MM_FROUND_TO_NEAREST_INT); }
#else
INLINE uint32_t float_bits(float v) {
    uint32_t u;
    memcpy(&u, &v, 4);
    return u;
}
INLINE float bits_float(uint32_t u) {
    float v;
    memcpy(&v, &u, 4);
    return v;
}

INLINE float wide_float16(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) return bits_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400) return bits_float(sign | ((rest << 13) + 0x38000000));
    return bits_float(sign | float_bits((float)rest * 0x1p-24f));
}

INLINE uint16_t round_float16(float v) {
    const uint32_t u = float_bits(v), rest = u & 0x7fffffff;
    const uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    if (rest > 0x7f800000) return sign | 0x7e00;
    if (rest >= 0x477ff000) return sign | 0x7c00; /* 65520 and more */
    if (rest >= 0x38800000) return sign | (uint16_t)((rest + 0xfff + (rest >> 13 & 1) - 0x38000000) >> 13);
    /* Below the smallest normal number: the last bit of 0.5 is worth as much as float16's. */
    return sign | (uint16_t)(float_bits(bits_float(rest) + 0.5f) - 0x3f000000);
}

INLINE vf wide_half(vh h) {
    vf v;
    for (int i = 0; i < VL; i++) v[i] = wide_float16(h[i]);
    return v;
}
INLINE vh round_half(vf v) {
    vh h;
    for (int i = 0; i < VL; i++) h[i] = round_float16(v[i]);
    return h;
}
#endif

#define CONVERT(from, to, from_type, to_type, one) \
    idx i = 0; \
    for (; i + VL <= n; i += VL) *(to_type *)(y + i) = one(*(const from_type *)(x + i)); \
    if (i < n) { \
        from rest[VL] = {0}; \
        to done[VL]; \
        memcpy(rest, x + i, (size_t)(n - i) * sizeof *x); \
        *(to_type *)done = one(*(const from_type *)rest); \
        memcpy(y + i, done, (size_t)(n - i) * sizeof *y); \
    }

static void K(widen)(int half, const uint16_t *x, float *y, idx n) {
    if (half == BFLOAT16) { CONVERT(uint16_t, float, vh_any, vf_any, wide_bfloat) }
    else { CONVERT(uint16_t, float, vh_any, vf_any, wide_half) }
}

#if defined(__aarch64__) && VL == 4
/* Eight at a time: what is rounded, and what stands for NaN, in words of 16 bits. */
INLINE uint16x8_t round_bfloats(const float *x) {
    const uint32x4_t a = vreinterpretq_u32_f32(vld1q_f32(x)), b = vreinterpretq_u32_f32(vld1q_f32(x + 4));
    const uint32x4_t half = vdupq_n_u32(0x7fff), one = vdupq_n_u32(1);
    const uint32x4_t up_a = vaddq_u32(vaddq_u32(a, half), vandq_u32(vshrq_n_u32(a, 16), one));
    const uint32x4_t up_b = vaddq_u32(vaddq_u32(b, half), vandq_u32(vshrq_n_u32(b, 16), one));
    const uint32x4_t same_a = vceqq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(a));
    const uint32x4_t same_b = vceqq_f32(vreinterpretq_f32_u32(b), vreinterpretq_f32_u32(b));
#define HIGH_WORDS(a, b) vuzp2q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b))
    const uint16x8_t nan = vorrq_u16(vandq_u16(HIGH_WORDS(a, b), vdupq_n_u16(0x8000)), vdupq_n_u16(0x7fc0));
    return vbslq_u16(HIGH_WORDS(same_a, same_b), HIGH_WORDS(up_a, up_b), nan);
#undef HIGH_WORDS
}
#endif

static void K(narrow)(int half, const float *x, uint16_t *y, idx n) {
#if defined(__aarch64__) && VL == 4
    for (; half == BFLOAT16 && n >= 8; x += 8, y += 8, n -= 8) vst1q_u16(y, round_bfloats(x));
#endif
    if (half == BFLOAT16) { CONVERT(float, uint16_t, vf_any, vh_any, round_bfloat) }
    else { CONVERT(float, uint16_t, vf_any, vh_any, round_half) }
}
