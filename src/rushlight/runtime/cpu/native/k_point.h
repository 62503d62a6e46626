/* Element by element: activations, arithmetic, and sums of long rows. */

/* exp by 2^n * e^r, |r| <= ln 2 / 2 (the minimax polynomial of Cephes' expf); about 1 ulp. */
INLINE vf exp_of(vf inside) {
#if defined(__aarch64__) && VL == 4
    /* n + 254 in the last bits of a large number: two halves of it, each with the 127 of an exponent, make 2^n */
    const vf large = TIMES_PLUS(spread(1.44269504088896341f), inside, 12582912.0f + 254.0f);
    const vf n = large - spread(12582912.0f + 254.0f);
#else
    const vf n = vnearest(inside * spread(1.44269504088896341f));
#endif
    const vf r = inside - n * spread(0.693359375f) - n * spread(-2.12194440e-4f);
    const vf s = r * r; /* pairs of coefficients: shorter chains than Horner's */
    const vf high = TIMES_PLUS(spread(1.9875691500e-4f), r, 1.3981999507e-3f);
    const vf middle = TIMES_PLUS(spread(8.3334519073e-3f), r, 4.1665795894e-2f);
    const vf low = TIMES_PLUS(spread(1.6666665459e-1f), r, 5.0000001201e-1f);
#if defined(__aarch64__) && VL == 4
    const vi half = (vi)large >> 1;
    const vf first = (vf)(half << 23), second = (vf)(((vi)large - half) << 23);
    return ((((high * s + middle) * s + low) * s + r) * first + first) * second;
#else
    return vscale(((high * s + middle) * s + low) * s + r + spread(1.0f), n);
#endif
}

INLINE vf vexp(vf x) { return exp_of(vwithin(spread(-104.0f), x, spread(89.0f))); } /* beyond: 0 and inf all the same */
INLINE vf vsigmoid(vf x) { return spread(1.0f) / (spread(1.0f) + vexp(-x)); }

#if defined(__x86_64__) && VL == 16
#include "k_tables.h"
#else
/* tanh: a polynomial up to 0.625 (Cephes' tanhf), 1 - 2 / (e^2x + 1) beyond; about 1 ulp. */
INLINE vf vtanh(vf x) {
    const vf a = vmin(spread(10.0f), vabs(x)), one = spread(1.0f), s = a * a; /* beyond: 1 all the same */
    vf p = spread(-5.70498872745e-3f);
    p = TIMES_PLUS(p, s, 2.06390887954e-2f);
    p = TIMES_PLUS(p, s, -5.37397155531e-2f);
    p = TIMES_PLUS(p, s, 1.33314422036e-1f);
    p = TIMES_PLUS(p, s, -3.33332819422e-1f);
    const vf near = p * s * a + a, far = one - spread(2.0f) / (vexp(a + a) + one);
    const vi sign = (vi)x & spread_i((int32_t)0x80000000);
    return (vf)((vi)pick(a < spread(0.625f), near, far) | sign);
}

/* log by its exponent and a polynomial around 1 (Cephes' logf); about 1 ulp. */
INLINE vf vlog(vf x) {
    const vi tiny = x < spread(1.17549435e-38f);
    const vf scaled = pick(tiny, x * spread(8388608.0f), x);
    const vi bits = (vi)scaled;
    vf e = as_float(((bits >> 23) & 0xff) - 126) - pick(tiny, spread(23.0f), spread(0.0f));
    vf m = (vf)((bits & 0x007fffff) | 0x3f000000); /* in [0.5, 1) */
    const vi low = m < spread(0.707106781186547524f);
    e = e - pick(low, spread(1.0f), spread(0.0f));
    m = pick(low, m + m, m) - spread(1.0f);
    const vf z = m * m;
    vf p = spread(7.0376836292e-2f);
    p = TIMES_PLUS(p, m, -1.1514610310e-1f);
    p = TIMES_PLUS(p, m, 1.1676998740e-1f);
    p = TIMES_PLUS(p, m, -1.2420140846e-1f);
    p = TIMES_PLUS(p, m, 1.4249322787e-1f);
    p = TIMES_PLUS(p, m, -1.6668057665e-1f);
    p = TIMES_PLUS(p, m, 2.0000714765e-1f);
    p = TIMES_PLUS(p, m, -2.4999993993e-1f);
    p = TIMES_PLUS(p, m, 3.3333331174e-1f);
    vf y = p * m * z + e * spread(-2.12194440e-4f) - z * spread(0.5f);
    y = m + y + e * spread(0.693359375f);
    y = pick(x == spread(0.0f), spread(-INFINITY), y);
    y = pick(x == spread(INFINITY), x, y);
    return pick((x < spread(0.0f)) | (x != x), spread(NAN), y);
}
#endif

/* sin, or cos one quarter further: what is left of x after whole quarters of a turn (pi / 2 in three parts, of which the first
 * two have few digits), and a polynomial for each kind of quarter (Cephes' sinf and cosf). For |x| <= WHOLE_TURNS. */
#define WHOLE_TURNS 8192.0f
INLINE vf vsin(vf x, int quarter) {
    const vf n = vnearest(x * spread(0.636619772367581343f));
    const vf r = ((x - n * spread(1.5703125f)) - n * spread(4.837512969970703125e-4f)) - n * spread(7.54978995489188216e-8f);
    const vf s = r * r;
    const vf odd = ((spread(-1.9515295891e-4f) * s + spread(8.3321608736e-3f)) * s + spread(-1.6666654611e-1f)) * s * r + r;
    const vf even = ((spread(2.443315711809948e-5f) * s + spread(-1.388731625493765e-3f)) * s + spread(4.166664568298827e-2f)) * s * s
                    - spread(0.5f) * s + spread(1.0f);
    const vi which = as_int(n) + quarter;
    const vi sign = (which & 2) << 30;
    return (vf)((vi)pick((which & 1) == 0, odd, even) ^ sign);
}

/* The normal distribution function: e^(-x^2 / 2) times a polynomial in t = 1 / (1 + 0.3 a), a = |x| / sqrt 2,
 * fitted to e^(a^2) erfc(a) / 2t with a relative error of 2e-8. `bell` is e^(-x^2 / 2). */
INLINE vf normal_of(vf x, vf bell) {
#if defined(__aarch64__) && VL == 4
    const vf t = spread(1.0f) / TIMES_PLUS(spread(0.212132034f), vabs(x), 1.0f); /* dividing takes any x */
#else
    const vf t = vinverse(spread(1.0f) + spread(0.212132034f) * vmin(spread(20.0f), vabs(x)));
#endif
    const vf s = t * t, q = s * s; /* pairs of coefficients, and pairs of pairs */
    const vf p01 = TIMES_PLUS(spread(0.0853454471f), t, 0.0845946744f);
    const vf p23 = TIMES_PLUS(spread(0.107090168f), t, 0.0742607564f);
    const vf p45 = TIMES_PLUS(spread(0.272481263f), t, -0.0464116223f);
    const vf p67 = TIMES_PLUS(spread(0.24214977f), t, -0.254884094f);
    const vf high = spread(-0.0646263659f) * q + (p67 * s + p45);
    const vf tail = (high * q + (p23 * s + p01)) * t * bell;
    return pick(x < spread(0.0f), tail, spread(1.0f) - tail);
}

#if defined(__aarch64__) && VL == 4
INLINE vf vbell(vf x) { return exp_of(vmax(spread(-104.0f), spread(-0.5f) * x * x)); } /* never above 0 */
#else
INLINE vf vbell(vf x) { return vexp(spread(-0.5f) * x * x); }
#endif
INLINE vf vnormal(vf x) { return normal_of(x, vbell(x)); }

/* The error function near 0, up to 1: a polynomial in x^2 (relative error 2e-9). */
INLINE vf erf_near(vf x) {
    const vf s = x * x;
    vf p = spread(7.875875051e-05f);
    p = TIMES_PLUS(p, s, -0.0008016864283f);
    p = TIMES_PLUS(p, s, 0.005189087423f);
    p = TIMES_PLUS(p, s, -0.02685421201f);
    p = TIMES_PLUS(p, s, 0.1128359472f);
    p = TIMES_PLUS(p, s, -0.3761262667f);
    p = TIMES_PLUS(p, s, 1.128379166f);
    return p * x;
}

#if defined(__aarch64__) && VL == 4
/* Beyond 1: 1 - 2^q, where q is a polynomial for log2(1 - erf), of which 1 leaves few digits (error 1e-9). */
INLINE vf verf(vf x) {
    const vf a = vmin(spread(4.0f), vabs(x)), one = spread(1.0f); /* beyond 4: 1 all the same */
    vf q = spread(2.677279781e-04f);
    q = TIMES_PLUS(q, a, -4.240969044e-03f);
    q = TIMES_PLUS(q, a, 3.145847198e-02f);
    q = TIMES_PLUS(q, a, -1.486515972e-01f);
    q = TIMES_PLUS(q, a, -9.207649115e-01f);
    q = TIMES_PLUS(q, a, -1.625975134e+00f);
    q = TIMES_PLUS(q, a, -5.102941148e-04f);
    const vf large = q + spread(12582912.0f + 127.0f), f = q - (large - spread(12582912.0f + 127.0f));
    vf p = spread(1.340725549e-03f);
    p = TIMES_PLUS(p, f, 9.671875301e-03f);
    p = TIMES_PLUS(p, f, 5.550308372e-02f);
    p = TIMES_PLUS(p, f, 2.402223462e-01f);
    p = TIMES_PLUS(p, f, 6.931472149e-01f);
    const vf power = (vf)((vi)large << 23), far = one - (p * f * power + power);
    const vi sign = (vi)x & spread_i((int32_t)0x80000000);
    return pick(a < one, erf_near(x), (vf)((vi)far | sign));
}
#else
/* Beyond 1: 1 - 2 (1 - normal(sqrt 2 |x|)). */
INLINE vf verf(vf x) {
    const vf a = vabs(x), s = x * x;
    const vf tail = normal_of(spread(-1.41421356237f) * a, vexp(-s));
    const vi sign = (vi)x & spread_i((int32_t)0x80000000);
    const vf far = (vf)((vi)(spread(1.0f) - (tail + tail)) | sign);
    return pick(a < spread(1.0f), erf_near(x), far);
}
#endif

/* log(1 + x): the rounding of 1 + x is put right by a quotient, so that tiny results keep their digits. */
INLINE vf vlog1p(vf x) {
    const vf one = spread(1.0f), w = one + x, y = vlog(w);
    const vf right = y * (x / (w - one));
    return pick((w == one) | (w == spread(INFINITY)), x, right);
}

/* e^x - 1: 2^n (e^r - 1) + (2^n - 1), exact near 0 where exp(x) - 1 would cancel. */
INLINE vf vexpm1(vf x) {
    const vf inside = vwithin(spread(-30.0f), x, spread(80.0f)); /* below: -1 all the same; above: exp(x) */
    const vf n = vnearest(inside * spread(1.44269504088896341f));
    const vf r = inside - n * spread(0.693359375f) - n * spread(-2.12194440e-4f);
    const vf s = r * r;
    const vf high = spread(1.9875691500e-4f) * r + spread(1.3981999507e-3f);
    const vf middle = spread(8.3334519073e-3f) * r + spread(4.1665795894e-2f);
    const vf low = spread(1.6666665459e-1f) * r + spread(5.0000001201e-1f);
    const vf scale = (vf)((as_int(n) + 127) << 23);
    const vf y = (((high * s + middle) * s + low) * s + r) * scale + (scale - spread(1.0f));
    return pick(x > spread(80.0f), vexp(x), pick((x != x) | (x == spread(0.0f)), x, y));
}

/* log(1 / (1 + e^-x)) */
INLINE vf vlogsigmoid(vf x) {
    const vf u = vexp(-vabs(x)), w = spread(1.0f) + u;
    const vf low = pick((x < spread(0.0f)) | (x != x), x, spread(0.0f));
    return low - (vlog(w) - ((w - spread(1.0f)) - u) / w);
}

/* sqrt(2 / pi) (x + 0.044715 x^3), inside gelu's tanh form. */
INLINE vf gelu_inner(vf x) { return spread(0.79788456080286536f) * (x + spread(0.044715f) * x * x * x); }

INLINE vf vgelu_slope(vf x) {
    const vf bell = vbell(x);
    return normal_of(x, bell) + x * bell * spread(0.39894228040143268f);
}

INLINE vf vgelu_tanh_slope(vf x) {
    const vf one = spread(1.0f), half = spread(0.5f), t = vtanh(gelu_inner(x));
    const vf slope = spread(0.79788456080286536f) * (one + spread(3 * 0.044715f) * x * x);
    return half * (one + t) + half * x * (one - t * t) * slope;
}

/* What is behind the point, with its sign; of infinity NaN. */
INLINE vf vfrac(vf x) {
#if defined(__aarch64__) && VL == 4
    return x - (vf)vrndq_f32((float32x4_t)x);
#else
    const vi sign = (vi)x & spread_i((int32_t)0x80000000);
    const vi fits = vabs(x) < spread(8388608.0f); /* larger ones are whole */
    const vf whole = pick(fits, as_float(as_int(pick(fits, x, spread(0.0f)))), x);
    return x - (vf)((vi)whole | sign);
#endif
}

/* erf's inverse y p(w), w = -log(1 - y^2): polynomials fitted for w up to 5 and for its root beyond, relative error 4e-9. */
INLINE vf verfinv(vf y) {
    static const float near[] = {4.149577397e-06f, -3.333980929e-05f, 2.515743549e-05f, 2.840751528e-04f, -8.364687384e-04f,
                                 -4.843499507e-04f, 8.525934498e-03f, -1.957419401e-02f, -2.610828076e-02f, 6.166007235e-01f,
                                 1.501409352e+00f};
    static const float far[] = {-1.605917000e-05f, 5.848770885e-05f, -3.747447768e-05f, -2.108935350e-04f, 7.658828582e-04f,
                                -1.554145371e-03f, 2.477487571e-03f, -3.798034709e-03f, 5.562173793e-03f, 9.359706500e-01f,
                                3.001526809e+00f};
    const vf one = spread(1.0f), w = -vlog((one - y) * (one + y));
    const vf u = w * spread(0.4f) - one, v = (vsqrt(w) - spread(3.168033989f)) * spread(1 / 0.9319660113f);
    vf p = spread(near[0]), q = spread(far[0]);
    UNROLL for (int k = 1; k < 11; k++) p = p * u + spread(near[k]), q = q * v + spread(far[k]);
    const vf tail = pick(vabs(y) == one, y * spread(INFINITY), y * q);
    return pick(w > spread(5.0f), tail, y * p); /* beyond 1 the logarithm is NaN, and so is p */
}

/* Apply `expr` of the vectors named in `loads` to n floats. */
#define EACH(loads, tail_loads, expr) EACH_BY(_Pragma("GCC unroll 4"), loads, tail_loads, expr)
#define EACH_BY(unroll, loads, tail_loads, expr) \
    idx i_ = 0; \
    unroll for (; i_ + VL <= n; i_ += VL) { \
        loads; \
        store(out + i_, (expr)); \
    } \
    if (i_ < n) { \
        const idx left_ = n - i_; \
        tail_loads; \
        store_some(out + i_, (expr), left_); \
    }
#define EACH1(expr) EACH(const vf x = load(xs + i_), const vf x = load_some(xs + i_, left_, 1.0f), expr)
#define EACH1_LEFT(expr) EACH_BY(, const vf x = load(xs + i_), const vf x = load_some(xs + i_, left_, 1.0f), expr)
/* Two vectors side by side, for functions whose chain of operations is long. */
#define EACH1_LONG(expr) \
    idx both_ = 0; \
    for (; both_ + 2 * VL <= n; both_ += 2 * VL) { \
        vf first_, second_; \
        { const vf x = load(xs + both_); first_ = (expr); } \
        { const vf x = load(xs + both_ + VL); second_ = (expr); } \
        store(out + both_, first_); \
        store(out + both_ + VL, second_); \
    } \
    xs += both_, out += both_, n -= both_; \
    EACH1_LEFT(expr)
#define EACH2(expr) EACH2_BY(_Pragma("GCC unroll 4"), expr)
#define EACH2_BY(unroll, expr) \
    EACH_BY(unroll, const vf x = load(xs + i_); const vf y = load(ys + i_), \
            const vf x = load_some(xs + i_, left_, 1.0f); const vf y = load_some(ys + i_, left_, 1.0f), expr)

#define EACH2_LONG(expr) \
    idx both_ = 0; \
    for (; both_ + 2 * VL <= n; both_ += 2 * VL) { \
        vf first_, second_; \
        { const vf x = load(xs + both_), y = load(ys + both_); first_ = (expr); } \
        { const vf x = load(xs + both_ + VL), y = load(ys + both_ + VL); second_ = (expr); } \
        store(out + both_, first_); \
        store(out + both_ + VL, second_); \
    } \
    xs += both_, ys += both_, out += both_, n -= both_; \
    EACH2_BY(, expr)

/* A NaN on either side is the answer, as in NumPy's maximum; NEON's instruction does just that. */
#if defined(__aarch64__) && VL == 4
INLINE vf nan_max(vf x, vf y) { return vmax(x, y); }
INLINE vf nan_min(vf x, vf y) { return vmin(x, y); }
#else
INLINE vf nan_max(vf x, vf y) { return pick((x > y) | (x != x), x, y); }
INLINE vf nan_min(vf x, vf y) { return pick((x < y) | (x != x), x, y); }
#endif

static void K(relu)(const float *xs, float *out, idx n) {
    EACH1(nan_max(x, spread(0.0f)))
}

/* 0 where y <= 0, else g: also where y is NaN. */
static void K(relu_grad)(const float *xs, const float *ys, float *out, idx n) {
    EACH2(pick(y <= spread(0.0f), spread(0.0f), x))
}

/* e^x - 1 for x <= 0, exact near 0 where exp(x) - 1 would cancel: 2^n (e^r - 1) + (2^n - 1). */
INLINE vf vexpm1_low(vf x) {
    const vf inside = vmax(x, spread(-30.0f)); /* beyond: -1 all the same */
    const vf n = vnearest(inside * spread(1.44269504088896341f));
    const vf r = inside - n * spread(0.693359375f) - n * spread(-2.12194440e-4f);
    vf p = spread(1.9875691500e-4f);
    p = p * r + spread(1.3981999507e-3f);
    p = p * r + spread(8.3334519073e-3f);
    p = p * r + spread(4.1665795894e-2f);
    p = p * r + spread(1.6666665459e-1f);
    p = p * r + spread(5.0000001201e-1f);
    const vf scale = (vf)((as_int(n) + 127) << 23);
    return pick(x != x, x, (p * r * r + r) * scale + (scale - spread(1.0f)));
}

/* log(1 + e^x): the rounding of 1 + u is put right, so that tiny results keep their digits. */
INLINE vf vsoftplus(vf x) {
    const vf u = vexp(-vabs(x)), w = spread(1.0f) + u;
    return nan_max(x, spread(0.0f)) + vlog(w) - ((w - spread(1.0f)) - u) / w;
}

INLINE vf vmish_slope(vf x) {
    const vf t = vtanh(vsoftplus(x)), one = spread(1.0f);
    return t + x * vsigmoid(x) * (one - t * t);
}

INLINE vf vlogit(vf x) { return vlog(x / (spread(1.0f) - x)); }

INLINE vf clip(vf x, vf low, vf high) { return nan_min(nan_max(x, low), high); }

static void K(few_turns)(int cosine, const float *xs, float *out, idx n) {
    if (cosine) { EACH1_LONG(vsin(x, 1)) }
    else { EACH1_LONG(vsin(x, 0)) }
}

/* sin or cos; among numbers too large for the quick way the C library's. */
static void K(turns)(int cosine, const float *x, float *out, idx n) {
    for (idx i = 0; i < n; i += 512) {
        const idx some = n - i < 512 ? n - i : 512;
        int large = 0;
        for (idx j = i; j < i + some; j++) large |= fabsf(x[j]) > WHOLE_TURNS;
        if (!large) K(few_turns)(cosine, x + i, out + i, some);
        else
            for (idx j = i; j < i + some; j++) out[j] = cosine ? cosf(x[j]) : sinf(x[j]);
    }
}

#if defined(__aarch64__)
static void K(angles)(int which, const float *xs, float *out, idx n);
static void K(atan2)(const float *ys, const float *xs, float *out, idx n);
#endif

static void K(unary)(int which, const float *xs, float *out, idx n) {
    switch (which) {
    CASES_U
    case U_CUBE: { EACH1(rounded(x * x) * x) break; }
    case U_SIN: K(turns)(0, xs, out, n); break;
    case U_COS: K(turns)(1, xs, out, n); break;
#if defined(__aarch64__)
    default: K(angles)(which, xs, out, n);
#endif
    }
}

static void K(binary)(int which, const float *xs, const float *ys, float *out, idx n) {
    switch (which) {
    CASES_B
    case B_COPYSIGN: { EACH2(pick(spread_i(0x7fffffff), x, y)) break; }
#if defined(__aarch64__)
    case B_ATAN2: K(atan2)(xs, ys, out, n); break;
#endif
    default: K(modulo)(which, xs, 1, ys, 1, out, n);
    }
}

static void K(binary_scalar)(int which, const float *xs, float value, float *out, idx n) {
    const vf y = spread(value);
    switch (which) {
    CASES_NUMBER
    case B_RSUB: { EACH1(y - x) break; }
    case B_RDIV: { EACH1(y / x) break; }
    case B_COPYSIGN: { EACH1(pick(spread_i(0x7fffffff), x, y)) break; }
    default:
        if (which & B_TURNED) K(modulo)(which - B_TURNED, &value, 0, xs, 1, out, n);
        else K(modulo)(which, xs, 1, &value, 0, out, n);
    }
}

/* xs: the gradient; ys: what the derivative is written in (the result of tanh and sigmoid). */
static void K(unary_grad)(int which, const float *xs, const float *ys, float *out, idx n) {
    switch (which) { CASES_G }
}

/* h: the parameters, in the order of the kernel's attributes. */
static void K(active)(int which, const float *h, const float *xs, float *out, idx n) {
    const vf a = spread(h[0]), b = spread(h[1]), c = spread(h[2]);
    switch (which) {
    CASES_A
    case A_LOGIT: { EACH1_LONG(vlogit(x)) break; }
    case A_LOGIT_WITHIN: { EACH1_LONG(vlogit(pick(x < a, a, nan_min(x, b)))) break; } /* the lower end is asked for first */
    }
}

/* xs: the gradient; ys: the input (hardtanh: the result). */
static void K(active_grad)(int which, const float *h, const float *xs, const float *ys, float *out, idx n) {
    const vf a = spread(h[0]), b = spread(h[1]), c = spread(h[2]);
    switch (which) {
    CASES_S
    case AG_LOGIT: { EACH2(pick((y >= a) & (y <= b), x / (y * (spread(1.0f) - y)), c)) break; }
    }
}

static void K(add_into)(float *out, const float *ys, idx n) {
    const float *xs = out;
    EACH2(x + y)
}

/* Four chains of at most 1024 vectors, then their sum: close to pairwise in error, and quick. */
static float K(sum)(const float *x, idx n) {
    double all = 0;
    idx i = 0;
    while (i + 4 * VL <= n) {
        const idx end = n - i > 4096 * VL ? i + 4096 * VL : n;
        vf s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (; i + 4 * VL <= end; i += 4 * VL) {
            s0 += load(x + i);
            s1 += load(x + i + VL);
            s2 += load(x + i + 2 * VL);
            s3 += load(x + i + 3 * VL);
        }
        all += (double)total((s0 + s1) + (s2 + s3));
    }
    float rest = 0;
    if (i) { /* behind a long row by vectors, or what is left would take longer than the row */
        vf s = {0};
        for (; i + VL <= n; i += VL) s += load(x + i);
        if (i < n) s += load_some(x + i, n - i, 0);
        rest = total(s);
    } else
        for (; i < n; i++) rest += x[i];
    return (float)(all + (double)rest);
}

/* Sums of n columns that lie beside each other, a few of them: as many vectors as columns begin with the first column again. */
INLINE void K(sum_few)(const int n, const float *x, idx rows, float *out) {
    const int vectors = n < 4 ? 2 * n : n;
    double all[FEW_SUMS] = {0};
    idx i = 0;
    while (i + vectors * VL <= rows * n) {
        const idx end = rows * n - i > 1024 * vectors * VL ? i + 1024 * vectors * VL : rows * n;
        vf s[FEW_SUMS] = {{0}};
        for (; i + vectors * VL <= end; i += vectors * VL)
            UNROLL for (int k = 0; k < vectors; k++) s[k] += load(x + i + k * VL);
        for (int k = 0; k < vectors * VL; k += n)
            for (int c = 0; c < n; c++) all[c] += (double)((const float *)s)[k + c];
    }
    for (; i < rows * n; i += n)
        for (int c = 0; c < n; c++) all[c] += (double)x[i + c];
    for (int c = 0; c < n; c++) out[c] = (float)all[c];
}

static void K(sum_columns)(idx n, const float *x, idx rows, float *out) {
    switch (n) {
    case 2: K(sum_few)(2, x, rows, out); break;
    case 3: K(sum_few)(3, x, rows, out); break;
    case 4: K(sum_few)(4, x, rows, out); break;
    case 5: K(sum_few)(5, x, rows, out); break;
    case 6: K(sum_few)(6, x, rows, out); break;
    case 7: K(sum_few)(7, x, rows, out); break;
    case 8: K(sum_few)(8, x, rows, out); break;
    }
}

/* The largest number of a row, or the smallest; NaN where there is one. */
static float K(extreme)(int low, const float *x, idx n) {
    float best = x[0];
    idx i = 0;
    if (n >= 2 * VL) {
        vf a = load(x), b = load(x + VL);
        for (i = 2 * VL; i + 2 * VL <= n; i += 2 * VL) {
            const vf c = load(x + i), d = load(x + i + VL);
            a = low ? nan_min(a, c) : nan_max(a, c);
            b = low ? nan_min(b, d) : nan_max(b, d);
        }
        a = low ? nan_min(a, b) : nan_max(a, b);
        best = a[0];
        for (int j = 1; j < VL && best == best; j++) best = a[j] != a[j] || (low ? a[j] < best : a[j] > best) ? a[j] : best;
    }
    for (; i < n && best == best; i++) best = x[i] != x[i] || (low ? x[i] < best : x[i] > best) ? x[i] : best;
    return best;
}
