/* Words of an mt19937 (Matsumoto and Nishimura, 1998), and the numbers that are made of them. */

#define TWIST_WORDS 624
#define TWIST_AHEAD 397

INLINE uint32_t twisted(uint32_t first, uint32_t second, uint32_t far) {
    const uint32_t y = (first & 0x80000000u) | (second & 0x7fffffffu);
    return far ^ (y >> 1) ^ (-(y & 1u) & 0x9908b0dfu);
}

/* The next 624 words of the state. In loops without a branch: the compiler makes vectors of them. */
static void K(twist)(uint32_t *key) {
    idx i = 0;
    for (; i < TWIST_WORDS - TWIST_AHEAD; i++) key[i] = twisted(key[i], key[i + 1], key[i + TWIST_AHEAD]);
    for (; i < TWIST_WORDS - 1; i++) key[i] = twisted(key[i], key[i + 1], key[i + TWIST_AHEAD - TWIST_WORDS]);
    key[i] = twisted(key[i], key[0], key[TWIST_AHEAD - 1]);
}

static void K(temper)(const uint32_t *restrict key, uint32_t *restrict out, idx n) {
    for (idx i = 0; i < n; i++) {
        uint32_t y = key[i];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        out[i] = y ^ (y >> 18);
    }
}

/* The low 24 bits of a word, as a fraction. */
static void K(fractions)(const uint32_t *restrict words, float *restrict out, idx n) {
    for (idx i = 0; i < n; i++) out[i] = (float)(int32_t)(words[i] & 0xffffffu) * 0x1p-24f;
}

/* 1 where the low 53 bits of a pair, the high word first, are below a limit of two words; else 0. */
static void K(below)(const uint32_t *restrict words, float *restrict out, idx n, uint32_t high, uint32_t low) {
    for (idx i = 0; i < n; i++) {
        const uint32_t a = words[2 * i] & 0x1fffffu, b = words[2 * i + 1];
        out[i] = (float)((a < high) | ((a == high) & (b < low)));
    }
}

/* a * b + c, rounded once whatever the processor has. */
INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

/* A logarithm of (0, 1], by Cephes' polynomial for single precision (Moshier): x = m 2^e with m around 1. */
INLINE float log_of(float x) {
    union { float f; int32_t i; } part = {x};
    const int32_t power = (part.i >> 23) - 126;
    part.i = (part.i & 0x007fffff) | 0x3f000000; /* of [1/2, 1) */
    const int low = part.f < 0.707106781186547524f;
    const float e = (float)(power - low), m = low ? part.f + (part.f - 1.0f) : part.f - 1.0f, square = m * m;
    float y = fused(7.0376836292e-2f, m, -1.1514610310e-1f);
    y = fused(y, m, 1.1676998740e-1f);
    y = fused(y, m, -1.2420140846e-1f);
    y = fused(y, m, 1.4249322787e-1f);
    y = fused(y, m, -1.6668057665e-1f);
    y = fused(y, m, 2.0000714765e-1f);
    y = fused(y, m, -2.4999993993e-1f);
    y = fused(y, m, 3.3333331174e-1f) * m;
    y = fused(-0.5f, square, fused(y, square, e * -2.12194440e-4f));
    return fused(e, 0.693359375f, m + y); /* ln 2 in two parts */
}

/* Sine and cosine of an angle of [0, 2 pi], by Cephes' polynomials; pi / 4 is taken off in three parts. */
INLINE void angle_of(float x, float *sine, float *cosine) {
    const int32_t octant = ((int32_t)(x * 1.27323954473516f) + 1) & ~1;
    const float times = (float)octant;
    x = fused(times, -0.78515625f, x);
    x = fused(times, -2.4187564849853515625e-4f, x);
    x = fused(times, -3.77489497744594108e-8f, x);
    const float z = x * x;
    float c = fused(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = fused(fused(c, z, 4.166664568298827e-2f) * z, z, -0.5f * z) + 1.0f;
    float s = fused(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = fused(fused(s, z, -1.6666654611e-1f) * z, x, x);
    const int turned = (octant & 2) != 0;
    const float over = turned ? c : s, along = turned ? s : c;
    *sine = octant & 4 ? -over : over;
    *cosine = (octant - 2) & 4 ? along : -along;
}

/* Blocks of 16 numbers of [0, 1), eight radii and eight angles, become normal numbers (Box and Muller, 1958) in the arithmetic of
 * PyTorch's kernel for AVX2: which products and sums are rounded together is part of the numbers. */
static void K(normals)(float *u, idx blocks) {
    for (idx b = 0; b < blocks; b++, u += 16)
        for (int i = 0; i < 8; i++) {
            const float radius = sqrtf(-2.0f * log_of(1.0f - u[i]));
            float sine, cosine;
            angle_of(u[8 + i] * 6.283185307179586f, &sine, &cosine);
            u[i] = radius * cosine, u[8 + i] = radius * sine;
        }
}

static void K(scaled_f)(float *x, idx n, float scale, float shift) {
    for (idx i = 0; i < n; i++) x[i] = __builtin_fmaf(x[i], scale, shift);
}

static void K(scaled_d)(double *x, idx n, double scale, double shift) {
    for (idx i = 0; i < n; i++) x[i] = __builtin_fma(x[i], scale, shift);
}
