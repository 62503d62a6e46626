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

#define LANES64(i) for (idx i = 0; i < 64; i++) /* short loops one after the other: compilers make vectors of each */

/* The natural logarithm of normal positive doubles to 1e-11 of it, also beside 1. */
static void K(long_logs)(const double *x, double *out) {
    uint64_t bits[64], high[64];
    double m[64], e[64];
    memcpy(bits, x, sizeof bits);
    LANES64(i) high[i] = (bits[i] >> 52) | 0x4330000000000000u; /* 2^52 and the exponent */
    LANES64(i) bits[i] = (bits[i] & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    memcpy(m, bits, sizeof m);
    memcpy(e, high, sizeof e);
    LANES64(i) {
        const double large = m[i] > 1.4142135623730951 ? 1.0 : 0.0, near = m[i] - 0.5 * large * m[i];
        const double s = (near - 1.0) / (near + 1.0), q = s * s;
        const double series = 1.0 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11 + q * (1.0 / 13 + q * (1.0 / 15)))))));
        out[i] = (e[i] - 0x1p52 - 1023.0 + large) * 0.69314718055994531 + 2.0 * s * series;
    }
}

/* Up to GAMMA_FAR as the product of the numbers one apart above its place between 1/2 and 3/2, and the series there. */
static void K(log_gamma)(const float *xs, float *out, idx n) {
    for (idx from = 0; from < n; from += 64) {
        float x[64], r[64];
        double v[64], d[64], product[64], of[64], t[64], sum[64], logs[64];
        const idx m = n - from < 64 ? n - from : 64;
        LANES64(i) x[i] = 1.0f;
        memcpy(x, xs + from, (size_t)m * 4);
        LANES64(i) x[i] = x[i] > 0.0f ? x[i] : 1.0f;
        LANES64(i) v[i] = (double)x[i];
        memcpy(d, v, sizeof d);
        LANES64(i) product[i] = 1.0;
        for (int k = 0; k < 7; k++)
            LANES64(i) {
                const double up = d[i] > 1.5 ? 1.0 : 0.0;
                d[i] -= up;
                product[i] *= 1.0 + up * (d[i] - 1.0);
            }
        LANES64(i) of[i] = v[i] < 0.5 ? v[i] : product[i];
        LANES64(i) of[i] = v[i] < GAMMA_FAR ? of[i] : v[i];
        LANES64(i) t[i] = v[i] < 0.5 ? v[i] : d[i] - 1.0;
        LANES64(i) t[i] = v[i] < GAMMA_FAR ? t[i] : 0.0;
        K(long_logs)(of, logs);
        LANES64(i) sum[i] = K(gamma_terms)[GAMMA_TERMS - 1];
        for (int k = GAMMA_TERMS - 2; k >= 0; k--) {
            const double term = K(gamma_terms)[k];
            LANES64(i) sum[i] = sum[i] * t[i] + term;
        }
        LANES64(i) {
            const double part = 1.0 / v[i], q = part * part, sign = v[i] < 0.5 ? -1.0 : 1.0;
            const double series = part * (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * (1.0 / 1680))));
            const double far = (v[i] - 0.5) * logs[i] - v[i] + 0.91893853320467274 + series;
            d[i] = far, sum[i] = sum[i] * t[i] + sign * logs[i];
        }
        LANES64(i) sum[i] = v[i] < GAMMA_FAR ? sum[i] : d[i];
        LANES64(i) r[i] = (float)sum[i];
        memcpy(out + from, r, (size_t)m * 4);
    }
}
