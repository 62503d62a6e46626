/* Losses of pairs of numbers, and their slopes by the first: the cases are printed from the ops' records. */

INLINE vf vsign(vf d) { /* 0 for NaN */
    const vf one = spread(1.0f), zero = spread(0.0f);
    return pick(d > zero, one, zero) - pick(d < zero, one, zero);
}

/* max(x, 0) - x y + log(1 + e^-|x|): the rounding of 1 + u is put right, so that tiny losses keep their digits. */
INLINE vf vlogits_loss(vf x, vf y) {
    const vf u = vexp(-vabs(x)), w = spread(1.0f) + u;
    const vf log1p = vlog(w) - ((w - spread(1.0f)) - u) / w;
    return nan_max(x, spread(0.0f)) - rounded(x * y) + log1p;
}

static void K(loss)(int which, float beta, const float *xs, const float *ys, float *out, idx n) {
    const vf a = spread(beta), half = spread(0.5f * beta), steep = spread((float)(0.5 / (double)beta));
    switch (which) { CASES_L }
}

/* The slope times `by`. */
static void K(loss_grad)(int which, float beta, float by, const float *xs, const float *ys, float *out, idx n) {
    const vf a = spread(beta), g = spread(by);
    switch (which) { CASES_T }
}
