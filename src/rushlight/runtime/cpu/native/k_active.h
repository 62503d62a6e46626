/* Activations with parameters, and their slopes. */

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

/* h: the parameters, in the order of the kernel's attributes. */
static void K(active)(int which, const float *h, const float *xs, float *out, idx n) {
    const vf zero = spread(0.0f), a = spread(h[0]), b = spread(h[1]), c = spread(h[2]);
    switch (which) {
    case A_LEAKY: { EACH1(pick(x > zero, x, x * a)) break; }
    case A_CLIP: { EACH1(clip(x, a, b)) break; }
    case A_HARDSIGMOID: { EACH1(clip(x + spread(3.0f), zero, spread(6.0f)) / spread(6.0f)) break; }
    case A_HARDSWISH: { EACH1(x * clip(x + spread(3.0f), zero, spread(6.0f)) / spread(6.0f)) break; }
    case A_ELU: { EACH1_LONG(pick(x > zero, x * b, vexpm1_low(nan_min(x, zero) * c) * (a * b))) break; }
    case A_SOFTPLUS: { EACH1_LONG(pick(x * a > b, x, vsoftplus(x * a) / a)) break; }
    case A_MISH: { EACH1_LONG(x * vtanh(vsoftplus(x))) break; }
    case A_SOFTSHRINK: { EACH1(pick(x > a, x - a, pick(x < -a, x + a, x * zero))) break; }
    case A_HARDSHRINK: { EACH1(pick((x >= -a) & (x <= a), zero, x)) break; }
    case A_THRESHOLD: { EACH1(pick(x <= a, b, x)) break; }
    case A_NUMBERS: { EACH1(pick(x != x, a, pick(x == spread(INFINITY), b, pick(x == spread(-INFINITY), c, x)))) break; }
    case A_LOGIT: { EACH1_LONG(vlogit(x)) break; }
    case A_LOGIT_WITHIN: { EACH1_LONG(vlogit(pick(x < a, a, nan_min(x, b)))) break; } /* the lower end is asked for first */
    }
}

/* xs: the gradient; ys: the input (hardtanh: the result). */
static void K(active_grad)(int which, const float *h, const float *xs, const float *ys, float *out, idx n) {
    const vf zero = spread(0.0f), three = spread(3.0f);
    const vf a = spread(h[0]), b = spread(h[1]), c = spread(h[2]);
    switch (which) {
    case A_LEAKY: { EACH2(pick(y > zero, x, x * a)) break; }
    case A_CLIP: { EACH2(pick((y > a) & (y < b), x, zero)) break; }
    case A_CLAMP: { EACH2(pick((y >= a) & (y <= b), x, zero)) break; }
    case A_HARDSIGMOID: { EACH2(pick((y > -three) & (y < three), x / spread(6.0f), zero)) break; }
    case A_HARDSWISH: { EACH2(pick(y <= -three, zero, pick(y >= three, x, x * (y / three + spread(0.5f))))) break; }
    case A_ELU: { EACH2(x * pick(y > zero, b, vexp(nan_min(y, zero) * c) * (c * a * b))) break; }
    case A_SOFTPLUS: { EACH2(pick(y * a > b, x, x * vsigmoid(y * a))) break; }
    case A_MISH: { EACH2(x * vmish_slope(y)) break; }
    case A_HARDSHRINK: { EACH2(pick((y < -a) | (y > a), x, zero)) break; }
    case A_LOGIT: { EACH2(pick((y >= a) & (y <= b), x / (y * (spread(1.0f) - y)), c)) break; }
    }
}
