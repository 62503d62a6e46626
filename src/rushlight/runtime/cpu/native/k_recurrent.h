/* The gates of LSTM and GRU for one sequence at one time step; products are gemm's business. */

#define OVER_HIDDEN(body) \
    for (idx i = 0; i < hidden; i += VL) { \
        const idx left = hidden - i; \
        body \
    }

/* z: sums that enter the gates i f g o. */
static void K(lstm_cell)(const float *z, const float *c_before, float *gates, float *c, float *h, idx hidden) {
    OVER_HIDDEN(
        const vf in = vsigmoid(GET(z + i)); const vf forget = vsigmoid(GET(z + hidden + i));
        const vf g = vtanh(GET(z + 2 * hidden + i)); const vf o = vsigmoid(GET(z + 3 * hidden + i));
        const vf cell = forget * GET(c_before + i) + in * g;
        PUT(gates + i, in); PUT(gates + hidden + i, forget); PUT(gates + 2 * hidden + i, g);
        PUT(gates + 3 * hidden + i, o); PUT(c + i, cell); PUT(h + i, o * vtanh(cell));)
}

/* to_h: gradient of the output; to_c: of the cell, replaced by that of the cell before; d: of z. */
static void K(lstm_cell_grad)(const float *gates, const float *c_before, const float *to_h, float *to_c,
                              float *d, idx hidden) {
    const vf one = spread(1.0f);
    OVER_HIDDEN(
        const vf in = GET(gates + i); const vf forget = GET(gates + hidden + i);
        const vf g = GET(gates + 2 * hidden + i); const vf o = GET(gates + 3 * hidden + i);
        const vf before = GET(c_before + i); const vf t = vtanh(forget * before + in * g);
        const vf gh = GET(to_h + i); const vf gc = GET(to_c + i) + gh * o * (one - t * t);
        PUT(d + i, gc * g * in * (one - in)); PUT(d + hidden + i, gc * before * forget * (one - forget));
        PUT(d + 2 * hidden + i, gc * in * (one - g * g)); PUT(d + 3 * hidden + i, gh * t * o * (one - o));
        PUT(to_c + i, gc * forget);)
}

/* xw: the input's share of the gates r z n; z: the state's; h is changed in place. */
static void K(gru_cell)(const float *xw, const float *z, float *gates, float *inner, float *h, idx hidden) {
    OVER_HIDDEN(
        const vf r = vsigmoid(GET(xw + i) + GET(z + i));
        const vf u = vsigmoid(GET(xw + hidden + i) + GET(z + hidden + i));
        const vf state = GET(z + 2 * hidden + i); const vf g = vtanh(GET(xw + 2 * hidden + i) + r * state);
        PUT(gates + i, r); PUT(gates + hidden + i, u); PUT(gates + 2 * hidden + i, g); PUT(inner + i, state);
        PUT(h + i, g + u * (GET(h + i) - g));)
}

/* to_h: gradient of the new state, replaced by what passes straight to the old; d: of xw, e: of z. */
static void K(gru_cell_grad)(const float *gates, const float *h_before, const float *inner, float *to_h,
                             float *d, float *e, idx hidden) {
    const vf one = spread(1.0f);
    OVER_HIDDEN(
        const vf r = GET(gates + i); const vf u = GET(gates + hidden + i);
        const vf g = GET(gates + 2 * hidden + i); const vf gh = GET(to_h + i);
        const vf to_new = gh * (one - u) * (one - g * g);
        const vf to_r = to_new * GET(inner + i) * r * (one - r);
        const vf to_u = gh * (GET(h_before + i) - g) * u * (one - u);
        PUT(d + i, to_r); PUT(d + hidden + i, to_u); PUT(d + 2 * hidden + i, to_new); PUT(e + i, to_r);
        PUT(e + hidden + i, to_u); PUT(e + 2 * hidden + i, to_new * r); PUT(to_h + i, gh * u);)
}
