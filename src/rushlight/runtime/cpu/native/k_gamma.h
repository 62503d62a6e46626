/* The logarithm of gamma for numbers above 0, in doubles, 64 at a time. */

/* lgamma(1 + t) for |t| <= 1/2: Euler's constant and zeta(k) / k by turns of sign; what is left out is below 1e-9 of it. */
static const double K(gamma_terms)[] = {
    -0.57721566490153287, 0.82246703342410876,   -0.40068563438653132, 0.27058080842778459,   -0.20738555102867426,
    0.16955717699740805,  -0.14404989676884614,  0.12550966952474302,  -0.11133426586956473,  0.10009945751278182,
    -0.090954017145829041, 0.08335384054610899,  -0.076932516411352181, 0.07143294629536133,  -0.066668705882420465,
    0.062500955141213024, -0.058823978658684564, 0.055555767627403614, -0.052631679379616644, 0.050000047698101693,
    -0.047619070330142219, 0.045454556293204669, -0.043478266053040261, 0.041666669150341208, -0.040000001192140137,
    0.038461539034675189, -0.037037037312989324,
};
#define GAMMA_TERMS 27
#define GAMMA_FAR 8.5 /* from here on Stirling's series */

/* The natural logarithm of normal positive doubles to 1e-11 of it, also beside 1. */
static void K(long_logs)(const double *x, double *out) {
    for (idx i = 0; i < 64; i++) {
        union { double value; uint64_t bits; } m = {x[i]}, e;
        e.bits = (m.bits >> 52) | 0x4330000000000000u; /* 2^52 and the exponent */
        m.bits = (m.bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
        const double high = m.value > 1.4142135623730951 ? 1.0 : 0.0, near = m.value > 1.4142135623730951 ? 0.5 * m.value : m.value;
        const double s = (near - 1.0) / (near + 1.0), q = s * s;
        const double series = 1.0 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11 + q * (1.0 / 13 + q * (1.0 / 15)))))));
        out[i] = (e.value - 0x1p52 - 1023.0 + high) * 0.69314718055994531 + 2.0 * s * series;
    }
}

/* Up to GAMMA_FAR as the product of the numbers one apart above its place between 1/2 and 3/2, and the series there. */
static void K(log_gamma)(const float *xs, float *out, idx n) {
    for (idx from = 0; from < n; from += 64) {
        float x[64], r[64];
        double of[64], t[64], logs[64];
        const idx m = n - from < 64 ? n - from : 64;
        for (idx i = 0; i < 64; i++) x[i] = 1.0f;
        memcpy(x, xs + from, (size_t)m * 4);
        for (idx i = 0; i < 64; i++) {
            const double v = x[i] > 0.0f ? (double)x[i] : 1.0;
            double d = v, product = 1.0;
            for (int k = 0; k < 7; k++) {
                const double up = d > 1.5 ? 1.0 : 0.0;
                d -= up;
                product *= up > 0.0 ? d : 1.0;
            }
            of[i] = v < 0.5 || v >= GAMMA_FAR ? v : product;
            t[i] = v >= GAMMA_FAR ? 0.0 : v < 0.5 ? v : d - 1.0;
        }
        K(long_logs)(of, logs);
        for (idx i = 0; i < 64; i++) {
            const double v = x[i] > 0.0f ? (double)x[i] : 1.0, part = 1.0 / v, q = part * part;
            double sum = K(gamma_terms)[GAMMA_TERMS - 1];
            for (int k = GAMMA_TERMS - 2; k >= 0; k--) sum = sum * t[i] + K(gamma_terms)[k];
            const double close = sum * t[i] + (v < 0.5 ? -logs[i] : logs[i]);
            const double series = part * (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * (1.0 / 1680))));
            const double far = (v - 0.5) * logs[i] - v + 0.91893853320467274 + series;
            r[i] = (float)(v < GAMMA_FAR ? close : far);
        }
        memcpy(out + from, r, (size_t)m * 4);
    }
}
