/* Angles, hyperbolic functions, and powers and logarithms of 2 and 10, where NumPy has no vectors for them (NEON): in
 * doubles, two at a time, with polynomials whose relative error is below 1e-9, so that hardly more than the last rounding
 * is lost. Elsewhere NumPy's own stand. */

typedef double vd __attribute__((vector_size(16)));
typedef int64_t vdi __attribute__((vector_size(16)));

INLINE vd all(double x) { return (vd){x, x}; }
INLINE vd choose(vdi mask, vd a, vd b) { return (vd)((mask & (vdi)a) | (~mask & (vdi)b)); }
INLINE vd d_abs(vd x) { return (vd)vabsq_f64((float64x2_t)x); }
INLINE vd d_min(vd x, vd y) { return (vd)vminq_f64((float64x2_t)x, (float64x2_t)y); }
INLINE vd d_max(vd x, vd y) { return (vd)vmaxq_f64((float64x2_t)x, (float64x2_t)y); }
INLINE vd d_sqrt(vd x) { return (vd)vsqrtq_f64((float64x2_t)x); }
INLINE vd d_nearest(vd x) { return (vd)vrndnq_f64((float64x2_t)x); }
INLINE vdi d_whole(vd x) { return (vdi)vcvtq_s64_f64((float64x2_t)x); }
INLINE vd with_sign(vd x, vd of) { return choose((vdi){INT64_MIN, INT64_MIN}, of, x); } /* x >= 0 */
INLINE vd power_of_2(vdi n) { return (vd)((n + 1023) << 52); }

INLINE vd low_doubles(vf x) { return (vd)vcvt_f64_f32(vget_low_f32((float32x4_t)x)); }
INLINE vd high_doubles(vf x) { return (vd)vcvt_high_f64_f32((float32x4_t)x); }
INLINE vf as_floats(vd a, vd b) { return (vf)vcvt_high_f32_f64(vcvt_f32_f64((float64x2_t)a), (float64x2_t)b); }
#define IN_DOUBLES(f) as_floats(f(low_doubles(x)), f(high_doubles(x)))

#define HALF_TURN 3.14159265358979323846

/* sin(r) / cos(r), or -cos(r) / sin(r) in every second quarter of a turn. */
INLINE vd d_tan(vd x) {
    const vd n = d_nearest(x * all(2 / HALF_TURN));
    const vd r = (x - n * all(HALF_TURN / 2)) - n * all(6.123233995736766036e-17), z = r * r;
    vd s = all(2.7183024351929714e-06), c = all(-2.7167873128940533e-07);
    s = s * z + all(-0.00019839333892356057);
    s = s * z + all(0.0083333293829753099);
    s = s * z + all(-0.16666666641601552);
    s = s * z * r + r;
    c = c * z + all(2.4798842663764032e-05);
    c = c * z + all(-0.0013888879926141173);
    c = c * z + all(0.041666666533516465);
    c = c * z + all(-0.49999999999269795);
    c = c * z + all(1.0);
    const vdi odd = (d_whole(n) & 1) != 0;
    return choose(odd, -c, s) / choose(odd, s, c);
}

/* |x| up to 1/2 by a polynomial, beyond it by half of the angle's rest to a quarter turn. */
INLINE vd asin_of(vd a, vdi *far) {
    *far = a > all(0.5);
    const vd z = choose(*far, (all(1.0) - a) * all(0.5), a * a), s = choose(*far, d_sqrt(z), a);
    vd p = all(0.034692812400237479);
    p = p * z + all(0.0074692432720782284);
    p = p * z + all(0.024618330295684842);
    p = p * z + all(0.030110256703307775);
    p = p * z + all(0.044660163357572204);
    p = p * z + all(0.074999481561074);
    p = p * z + all(0.16666667189849127);
    return p * z * s + s; /* beyond 1 the root is NaN */
}

INLINE vd d_asin(vd x) {
    vdi far;
    const vd y = asin_of(d_abs(x), &far);
    return with_sign(choose(far, all(HALF_TURN / 2) - (y + y), y), x);
}

INLINE vd d_acos(vd x) {
    vdi far;
    const vd y = asin_of(d_abs(x), &far), signed_ = with_sign(y, x);
    const vd outer = choose(x < all(0.0), all(HALF_TURN) - (y + y), y + y);
    return choose(far, outer, all(HALF_TURN / 2) - signed_);
}

/* atan(small / large), both at least 0: up to tan(pi / 8) as it is, beyond it turned by an eighth. */
INLINE vd atan_of(vd small, vd large) {
    const vdi turned = small > large * all(0.41421356237309503);
    const vd t = choose(turned, small - large, small) / choose(turned, small + large, large), z = t * t;
    vd p = all(0.047481718359138426);
    p = p * z + all(-0.084783575945255166);
    p = p * z + all(0.11045085080284642);
    p = p * z + all(-0.14282041408388288);
    p = p * z + all(0.1999990516398914);
    p = p * z + all(-0.33333332514352099);
    return choose(turned, all(HALF_TURN / 4), all(0.0)) + (p * z * t + t);
}

/* For any two, zeros and infinities among them: large numbers that no float reaches stand for these. */
INLINE vd d_atan2(vd y, vd x) {
    const vd a = d_min(d_abs(y), all(1e200)), b = d_min(d_abs(x), all(1e200));
    const vd angle = atan_of(d_min(a, b), d_max(d_max(a, b), all(1e-300)));
    const vd upright = choose(a > b, all(HALF_TURN / 2) - angle, angle);
    const vdi left = (vdi)x < 0; /* -0 too */
    const vd whole = choose(left, all(HALF_TURN) - upright, upright);
    return with_sign(whole, y);
}

INLINE vd d_atan(vd x) { return d_atan2(x, all(1.0)); }

INLINE vd d_exp(vd x) {
    const vd n = d_nearest(x * all(1.4426950408889634)), r = x - n * all(0.69314718055994531);
    vd p = all(0.0013836834976606103);
    p = p * r + all(0.0083748172796227482);
    p = p * r + all(0.041668225847159131);
    p = p * r + all(0.16666420152523401);
    p = p * r + all(0.49999992078218292);
    p = p * r + all(1.0000000363269521);
    p = p * r + all(1.0000000005542946);
    return p * power_of_2(d_whole(n));
}

INLINE vd d_cosh(vd x) { /* beyond 100: infinite, as a float */
    const vd e = d_exp(d_min(d_abs(x), all(100.0)));
    return all(0.5) * (e + all(1.0) / e);
}

INLINE vd d_sinh(vd x) {
    const vd a = d_min(d_abs(x), all(100.0)), e = d_exp(a), z = a * a;
    vd p = all(2.8174398286457338e-06); /* up to 1 */
    p = p * z + all(0.00019836066209241105);
    p = p * z + all(0.0083333505983090254);
    p = p * z + all(0.16666666488713361);
    return with_sign(choose(a < all(1.0), p * z * a + a, all(0.5) * (e - all(1.0) / e)), x);
}

/* Half the logarithm of (1 + a) / (1 - a) = 2^e m, by s = (m - 1) / (m + 1); a itself is s up to 1/3. */
INLINE vd d_atanh(vd x) {
    const vd one = all(1.0), a = d_abs(x), above = one + a, below = one - a;
    const vdi far = a >= all(1.0 / 3.0), e = far & (1023 - (((vdi)below >> 52) & 0x7ff));
    const vd scaled = below * power_of_2(e), s = choose(far, above - scaled, a + a) / (above + scaled), z = s * s;
    vd p = all(0.12150471917632354);
    p = p * z + all(0.10713827524421987);
    p = p * z + all(0.14308442551106595);
    p = p * z + all(0.19999438864648705);
    p = p * z + all(0.33333337811096259);
    const vd y = __builtin_convertvector(e, vd) * all(0.34657359027997264) + (p * z * s + s);
    return with_sign(choose(a < one, y, choose(a == one, all(INFINITY), all(NAN))), x);
}

/* log2(x): 2^e m with m between the roots of 1/2 and 2, of which log2 is 2 / ln 2 (s + s^3 / 3 ...). */
INLINE vd d_log2(vd x) {
    const vdi e = ((vdi)x - (vdi)all(0.70710678118654752)) >> 52;
    const vd m = (vd)((vdi)x - (e << 52)), s = (m - all(1.0)) / (m + all(1.0)), z = s * s;
    vd p = all(0.14936159465114532);
    p = p * z + all(0.19988760643304537);
    p = p * z + all(0.33333388265340086);
    const vd y = (p * z * s + s) * all(2.8853900817779268) + __builtin_convertvector(e, vd);
    const vd special = choose(x == all(0.0), all(-INFINITY), choose(x == all(INFINITY), x, all(NAN)));
    return choose((x > all(0.0)) & (x < all(INFINITY)), y, special);
}

INLINE vd d_log10(vd x) { return d_log2(x) * all(0.30102999566398120); }

/* 2^x: 2^n 2^f, |f| <= 1/2; as vexp. */
INLINE vf vexp2(vf x) {
    const vf inside = vwithin(spread(-151.0f), x, spread(129.0f)), large = inside + spread(12582912.0f + 254.0f);
    const vf f = inside - (large - spread(12582912.0f + 254.0f));
    vf p = spread(1.547589818e-04f);
    p = TIMES_PLUS(p, f, 1.340028311e-03f);
    p = TIMES_PLUS(p, f, 9.618005410e-03f);
    p = TIMES_PLUS(p, f, 5.550327743e-02f);
    p = TIMES_PLUS(p, f, 2.402265133e-01f);
    p = TIMES_PLUS(p, f, 6.931472063e-01f);
    const vi half = (vi)large >> 1;
    return TIMES_PLUS(p, f, 1.0f) * (vf)(half << 23) * (vf)(((vi)large - half) << 23);
}

static void K(few_tangents)(const float *xs, float *out, idx n) { EACH1_LEFT(IN_DOUBLES(d_tan)) }

/* Among numbers too large for the quick way the C library's. */
static void K(tangents)(const float *x, float *out, idx n) {
    for (idx i = 0; i < n; i += 512) {
        const idx some = n - i < 512 ? n - i : 512;
        int large = 0;
        for (idx j = i; j < i + some; j++) large |= !(fabsf(x[j]) <= WHOLE_TURNS);
        if (!large) K(few_tangents)(x + i, out + i, some);
        else
            for (idx j = i; j < i + some; j++) out[j] = tanf(x[j]);
    }
}

static void K(angles)(int which, const float *xs, float *out, idx n) {
    switch (which) {
    case U_TAN: K(tangents)(xs, out, n); break;
    case U_ASIN: { EACH1_LEFT(IN_DOUBLES(d_asin)) break; }
    case U_ACOS: { EACH1_LEFT(IN_DOUBLES(d_acos)) break; }
    case U_ATAN: { EACH1_LEFT(IN_DOUBLES(d_atan)) break; }
    case U_SINH: { EACH1_LEFT(IN_DOUBLES(d_sinh)) break; }
    case U_COSH: { EACH1_LEFT(IN_DOUBLES(d_cosh)) break; }
    case U_ATANH: { EACH1_LEFT(IN_DOUBLES(d_atanh)) break; }
    case U_EXP2: { EACH1_LONG(vexp2(x)) break; }
    case U_LOG2: { EACH1_LEFT(IN_DOUBLES(d_log2)) break; }
    case U_LOG10: { EACH1_LEFT(IN_DOUBLES(d_log10)) break; }
    }
}

static void K(atan2)(const float *ys, const float *xs, float *out, idx n) {
    EACH2_BY(, as_floats(d_atan2(low_doubles(y), low_doubles(x)), d_atan2(high_doubles(y), high_doubles(x))))
}
