/* Remainders and whole quotients, and lengths: in doubles, 64 numbers at a time. */

/* `which` of two rows, each as it is or one number again and again. x - q y is exact while the quotient has less than
 * 29 bits: it differs from a whole number by 2^-24 at least, and q y fits into a double. Beyond that libm is asked. */
static void K(modulo)(int which, const float *xs, idx x_step, const float *ys, idx y_step, float *out, idx n) {
    for (idx from = 0; from < n; from += 64) {
        float x[64], y[64], r[64];
        const idx m = n - from < 64 ? n - from : 64;
        int odd = 0;
        for (idx i = 0; i < 64; i++) x[i] = y[i] = 1.0f;
        if (x_step) memcpy(x, xs + from, (size_t)m * 4);
        else
            for (idx i = 0; i < 64; i++) x[i] = *xs;
        if (y_step) memcpy(y, ys + from, (size_t)m * 4);
        else
            for (idx i = 0; i < 64; i++) y[i] = *ys;
        if (which == B_COPYSIGN) {
            for (idx i = 0; i < 64; i++) r[i] = copysignf(x[i], y[i]);
            memcpy(out + from, r, (size_t)m * 4);
            continue;
        }
        if (which == B_HYPOT) {
            for (idx i = 0; i < 64; i++) {
                const double a = x[i], b = y[i];
                r[i] = (float)sqrt(a * a + b * b);
                odd |= !(fabsf(r[i]) < INFINITY);
            }
            for (idx i = 0; odd && i < m; i++) r[i] = hypotf(x[i], y[i]);
            memcpy(out + from, r, (size_t)m * 4);
            continue;
        }
        for (idx i = 0; i < 64; i++) {
            const double a = x[i], b = y[i], q = trunc(a / b);
            r[i] = copysignf((float)(a - q * b), x[i]);
            odd |= !(fabs(q) < 0x1p29) | !(fabsf(y[i]) < INFINITY);
        }
        for (idx i = 0; odd && i < m; i++) r[i] = fmodf(x[i], y[i]);
        if (which == B_REMAINDER)
            for (idx i = 0; i < 64; i++) r[i] = ((r[i] != 0) & ((y[i] < 0) != (r[i] < 0))) ? r[i] + y[i] : r[i];
        if (which == B_FLOOR_DIV)
            for (idx i = 0; i < 64; i++) {
                const float off = ((r[i] != 0) & ((y[i] < 0) != (r[i] < 0))) ? 1.0f : 0.0f;
                const float q = (x[i] - r[i]) / y[i] - off, low = floorf(q), near = q - low > 0.5f ? low + 1.0f : low;
                const float exact = x[i] / y[i];
                r[i] = y[i] == 0 ? exact : q != 0 ? near : copysignf(0.0f, exact);
            }
        memcpy(out + from, r, (size_t)m * 4);
    }
}

/* One whole number by another, which is not 0. */
INLINE int64_t whole_part(int which, int64_t x, int64_t b) {
    int64_t q = 0, left = 0;
    if (b == -1) q = (int64_t)-(uint64_t)x; /* the least number has no positive one */
    else if (b) q = x / b, left = x % b;
    const int off = left != 0 && (left < 0) != (b < 0);
    return which == B_FMOD ? left : which == B_REMAINDER ? left + (off ? b : 0) : q - off;
}

#if defined(__aarch64__) /* dividing small whole numbers is quick there */
static void K(whole_divide)(int which, const int64_t *xs, idx x_step, const int64_t *ys, idx y_step, int64_t *out, idx n) {
    if (which == B_FMOD) for (idx i = 0; i < n; i++) out[i] = whole_part(B_FMOD, xs[i * x_step], ys[i * y_step]);
    else if (which == B_REMAINDER) for (idx i = 0; i < n; i++) out[i] = whole_part(B_REMAINDER, xs[i * x_step], ys[i * y_step]);
    else for (idx i = 0; i < n; i++) out[i] = whole_part(B_FLOOR_DIV, xs[i * x_step], ys[i * y_step]);
}
#else
/* Whole numbers: while both have less than 32 bits their quotient as a double is exact enough to be cut off. */
static void K(whole_divide)(int which, const int64_t *xs, idx x_step, const int64_t *ys, idx y_step, int64_t *out, idx n) {
    for (idx from = 0; from < n; from += 64) {
        int64_t x[64], y[64], beyond = 0;
        int32_t r[64];
        const idx m = n - from < 64 ? n - from : 64;
        for (idx i = 0; i < 64; i++) x[i] = y[i] = 1;
        if (x_step) memcpy(x, xs + from, (size_t)m * 8);
        else
            for (idx i = 0; i < m; i++) x[i] = *xs;
        if (y_step) memcpy(y, ys + from, (size_t)m * 8);
        else
            for (idx i = 0; i < m; i++) y[i] = *ys;
        for (idx i = 0; i < 64; i++) /* from -2^31 + 1 to 2^31 - 1, and not divided by 0 */
            beyond |= ((uint64_t)(x[i] + 0x7fffffff) > 0xfffffffe) | ((uint64_t)(y[i] + 0x7fffffff) > 0xfffffffe) | (y[i] == 0);
        if (beyond) {
            for (idx i = 0; i < m; i++) out[from + i] = whole_part(which, x[i], y[i]);
            continue;
        }
        for (idx i = 0; i < 64; i++) {
            const double a = (int32_t)x[i], b = (int32_t)y[i], q = trunc(a / b), left = a - q * b;
            const int off = (left != 0) & ((left < 0) != (b < 0));
            const double found = which == B_FMOD ? left : which == B_REMAINDER ? left + (off ? b : 0.0) : q - (off ? 1.0 : 0.0);
            r[i] = (int32_t)found;
        }
        for (idx i = 0; i < m; i++) out[from + i] = r[i];
    }
}
#endif
