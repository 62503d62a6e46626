/* Losses of pairs of numbers, and their slopes by the first. */

INLINE vf vsign(vf d) { /* 0 for NaN */
    const vf one = spread(1.0f), zero = spread(0.0f);
    return pick(d > zero, one, zero) - pick(d < zero, one, zero);
}

/* max(x, 0) - x y + log(1 + e^-|x|): the rounding of 1 + u is put right, so that tiny losses keep their digits. */
INLINE vf logits_loss(vf x, vf y) {
    const vf u = vexp(-vabs(x)), w = spread(1.0f) + u;
    const vf log1p = vlog(w) - ((w - spread(1.0f)) - u) / w;
    return nan_max(x, spread(0.0f)) - rounded(x * y) + log1p;
}

static void K(loss)(int which, float beta, const float *xs, const float *ys, float *out, idx n) {
    const vf b = spread(beta), half = spread(0.5f * beta), steep = spread((float)(0.5 / (double)beta));
    switch (which) {
    case L_SQUARE: { EACH2((x - y) * (x - y)) break; }
    case L_ABS: { EACH2(vabs(x - y)) break; }
    case L_SMOOTH: { EACH2(pick(vabs(x - y) < b, steep * vabs(x - y) * vabs(x - y), vabs(x - y) - half)) break; }
    case L_HUBER: {
        EACH2(pick(vabs(x - y) <= b, spread(0.5f) * vabs(x - y) * vabs(x - y), b * (vabs(x - y) - half)))
        break;
    }
    case L_LOGITS: { EACH2_LONG(logits_loss(x, y)) break; }
    }
}

/* The slope times `by`. */
static void K(loss_grad)(int which, float beta, float by, const float *xs, const float *ys, float *out, idx n) {
    const vf b = spread(beta), g = spread(by), one = spread(1.0f);
    switch (which) {
    case L_SQUARE: { EACH2((x - y) * spread(2.0f) * g) break; }
    case L_ABS: { EACH2(vsign(x - y) * g) break; }
    case L_SMOOTH: { EACH2(clip((x - y) / b, -one, one) * g) break; }
    case L_HUBER: { EACH2(clip(x - y, -b, b) * g) break; }
    case L_LOGITS: { EACH2_LONG((vsigmoid(x) - y) * g) break; }
    }
}
