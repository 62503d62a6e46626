/* Optimisers' updates in one pass over parameter, gradient and states. DECAYS says that the weight decay is
   not zero: a parameter that is infinite must not become NaN by a decay of zero. */

#define BY_VECTORS(vector, rest) \
    idx i = 0; \
    for (; i + VL <= n; i += VL) { vector } \
    if (i < n) { const idx left = n - i; rest }

/* h: lr, weight decay, momentum, 1 - dampening */
INLINE void sgd_vector(vf *p, vf g, vf *b, int has_buffer, vf lr, vf decay, vf momentum, vf keep, int flags) {
    if (flags & MAXIMIZE) g = -g;
    if (flags & DECAYS) g = g + decay * *p;
    if (has_buffer) {
        *b = flags & FIRST ? g : without_tiny(*b) * momentum + keep * g;
        g = flags & NESTEROV ? g + momentum * *b : *b;
    }
    *p = *p - lr * g;
}

static void K(sgd)(float *p, const float *g, float *b, idx n, const float *h, int flags) {
    const vf lr = spread(h[0]), decay = spread(h[1]), momentum = spread(h[2]), keep = spread(h[3]);
    vf u, w = {0};
    if (!b) {
        BY_VECTORS(u = load(p + i); sgd_vector(&u, load(g + i), &w, 0, lr, decay, momentum, keep, flags);
                   store(p + i, u);,
                   u = load_some(p + i, left, 0);
                   sgd_vector(&u, load_some(g + i, left, 0), &w, 0, lr, decay, momentum, keep, flags);
                   store_some(p + i, u, left);)
        return;
    }
    BY_VECTORS(u = load(p + i); w = load(b + i);
               sgd_vector(&u, load(g + i), &w, 1, lr, decay, momentum, keep, flags); store(p + i, u);
               store(b + i, w);,
               u = load_some(p + i, left, 0); w = load_some(b + i, left, 0);
               sgd_vector(&u, load_some(g + i, left, 0), &w, 1, lr, decay, momentum, keep, flags);
               store_some(p + i, u, left); store_some(b + i, w, left);)
}

/* PyTorch's lerp: from the nearer end, which decides what an infinite gradient leaves. */
INLINE vf toward(vf from, vf to, float weight) {
    return weight < 0.5f ? from + spread(weight) * (to - from) : to - spread(1.0f - weight) * (to - from);
}

/* h: 1 - lr * decay (decoupled), decay, 1 - beta1, beta2, 1 - beta2, lr / c1, 1 / c2, eps */
INLINE void adam_vector(vf *p, vf g, vf *m, vf *v, vf *top, int has_top, const float *h, int flags) {
    if (flags & DECOUPLED) *p = *p * spread(h[0]);
    if (flags & MAXIMIZE) g = -g;
    if (flags & DECAYS && !(flags & DECOUPLED)) g = g + spread(h[1]) * *p;
    *m = toward(without_tiny(*m), g, h[2]);
    *v = *v * spread(h[3]) + (spread(h[4]) * g) * g;
    vf most = *v;
    if (has_top) most = *top = nan_max(*top, *v);
    *p = *p - spread(h[5]) * *m / (vsqrt(most) * spread(h[6]) + spread(h[7]));
}

static void K(adam)(float *p, const float *g, float *m, float *v, float *top, idx n, const float *h, int flags) {
    vf a, b, c, d = {0};
    if (top) {
        BY_VECTORS(a = load(p + i); b = load(m + i); c = load(v + i); d = load(top + i);
                   adam_vector(&a, load(g + i), &b, &c, &d, 1, h, flags); store(p + i, a);
                   store(m + i, b); store(v + i, c); store(top + i, d);,
                   a = load_some(p + i, left, 0); b = load_some(m + i, left, 0);
                   c = load_some(v + i, left, 0); d = load_some(top + i, left, 0);
                   adam_vector(&a, load_some(g + i, left, 0), &b, &c, &d, 1, h, flags);
                   store_some(p + i, a, left); store_some(m + i, b, left); store_some(v + i, c, left);
                   store_some(top + i, d, left);)
        return;
    }
    BY_VECTORS(a = load(p + i); b = load(m + i); c = load(v + i);
               adam_vector(&a, load(g + i), &b, &c, &d, 0, h, flags); store(p + i, a); store(m + i, b);
               store(v + i, c);,
               a = load_some(p + i, left, 0); b = load_some(m + i, left, 0); c = load_some(v + i, left, 0);
               adam_vector(&a, load_some(g + i, left, 0), &b, &c, &d, 0, h, flags);
               store_some(p + i, a, left); store_some(m + i, b, left); store_some(v + i, c, left);)
}

/* h: lr, decay, alpha, 1 - alpha, eps, momentum; mean and b may be NULL (not centred, no momentum) */
static void K(rmsprop)(float *p, const float *g, float *v, float *mean, float *b, idx n, const float *h, int flags) {
    for (idx i = 0; i < n; i += VL) {
        const idx left = n - i;
        vf u = GET(p + i), d = GET(g + i);
        if (flags & MAXIMIZE) d = -d;
        if (flags & DECAYS) d = d + spread(h[1]) * u;
        vf scale = GET(v + i) * spread(h[2]) + spread(h[3]) * d * d;
        PUT(v + i, scale);
        if (mean) {
            const vf m = toward(GET(mean + i), d, h[3]);
            PUT(mean + i, m);
            scale = scale - m * m;
        }
        vf step = d / (vsqrt(scale) + spread(h[4]));
        if (b) {
            step = without_tiny(GET(b + i)) * spread(h[5]) + step;
            PUT(b + i, step);
        }
        PUT(p + i, u - spread(h[0]) * step);
    }
}

/* h: lr, decay, eps */
static void K(adagrad)(float *p, const float *g, float *v, idx n, const float *h, int flags) {
    for (idx i = 0; i < n; i += VL) {
        const idx left = n - i;
        vf u = GET(p + i), d = GET(g + i);
        if (flags & MAXIMIZE) d = -d;
        if (flags & DECAYS) d = d + spread(h[1]) * u;
        const vf sum = GET(v + i) + d * d;
        PUT(v + i, sum);
        PUT(p + i, u - spread(h[0]) * d / (vsqrt(sum) + spread(h[2])));
    }
}
