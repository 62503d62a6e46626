/* conv_grad_input: phases of strided gradients, each a convolution of its own. */
#include "strips.h"

/* The input's gradient, phase by phase: element i of the padded input, i = q * s + r, gets w[k] * gy[o]
 * for o * s + k * d = i, that is from taps with k * d % s == r, at o = q - (k * d - r) / s. Every phase
 * is a convolution of stride 1 over gy. */
typedef struct {
    idx r[3], lo[3], count[3]; /* the phase, its first q inside the input, how many q */
} Phase;

static int phase_of(const Geo *g, const idx *r, Phase *p) {
    int any = 1;
    for (int i = 0; i < 3; i++) {
        p->r[i] = r[i];
        const idx before = g->p[i] - r[i];
        p->lo[i] = before > 0 ? (before + g->s[i] - 1) / g->s[i] : 0;
        const idx end = g->in[i] - 1 + before;
        p->count[i] = end < 0 ? 0 : end / g->s[i] - p->lo[i] + 1;
        any = any && p->count[i] > 0;
    }
    return any;
}

/* Where each place of the kernel reads, for the first channel; -1 where it belongs to another phase. */
static void backward_places(const Geo *g, const Planes *b, const idx *reach, const Phase *p, idx *where) {
    idx at[3];
    for (idx z = 0; z < g->k[0]; z++)
        for (idx y = 0; y < g->k[1]; y++)
            for (idx x = 0; x < g->k[2]; x++) {
                idx place = 0;
                int mine = 1;
                at[0] = z * g->d[0], at[1] = y * g->d[1], at[2] = x * g->d[2];
                for (int d = 0; d < 3; d++) {
                    mine = mine && at[d] % g->s[d] == p->r[d];
                    place = place * b->size[d] + reach[d] - (at[d] - p->r[d]) / g->s[d];
                }
                *where++ = mine ? place : -1;
            }
}

/* Taps of a phase for one group, and their places in the weight; returns how many. `where` has room for the kernel, twice. */
static idx backward_taps(const Geo *g, const Planes *b, const idx *reach, const Phase *p, int by_rows, idx *tap,
                         idx *place, idx *where) {
    const idx outs = g->o / g->groups, channels = g->c / g->groups, kernel = volume(g->k);
    const idx places = by_rows ? g->k[2] : kernel;
    idx found = 0, *mine = where + kernel;
    backward_places(g, b, reach, p, where);
    for (idx first = 0; first < kernel; first += places) { /* channel by channel, or row by row of the kernel */
        idx count = 0;
        for (idx j = first; j < first + places; j++)
            if (where[j] >= 0) mine[count++] = j;
        for (idx o = 0; o < outs; o++, found += count)
            for (idx i = 0; i < count; i++) {
                tap[found + i] = o * b->channel + where[mine[i]];
                place[found + i] = o * channels * kernel + mine[i];
            }
    }
    return found;
}

/* Which rows of the kernel meet gradients in every row of results: near the border the others meet zeros only. False
 * when there is little to gain, or several planes. range: the first, and the one after the last. */
static int backward_ranges(const Geo *g, const Phase *p, idx *range) {
    idx met = 0, all = 0;
    for (idx row = 0; row < p->count[1]; row++) {
        idx first = 0, last = 0, which = 0;
        for (idx y = 0; y < g->k[1]; y++) {
            if (y * g->d[1] % g->s[1] != p->r[1]) continue;
            const idx from = p->lo[1] + row - (y * g->d[1] - p->r[1]) / g->s[1]; /* the gradient's row */
            which++;
            if (from >= g->out[1]) first = which;
            if (from >= 0) last = which;
        }
        range[2 * row] = first;
        range[2 * row + 1] = last > first ? last : first;
        met += range[2 * row + 1] - range[2 * row];
        all += which;
    }
    return g->k[0] == 1 && met * 20 < all * 19;
}

/* Whether fewer taps near the border are worth it: rows that have the same taps are worked on together, those of some
 * images, and a few of them do not fill the registers. */
static int ranges_pay(const Conv *v, const Geo *g, const Phase *p, const idx *range) {
    const idx at_once = v->loops->conv_places(g->c / g->groups), rows = p->count[1];
    const idx alone = conv_together(v, conv_count(v, p->count[2], 1), g->n);
    const idx together = conv_together(v, conv_count(v, p->count[2], rows), g->n);
    idx cost = 0, whole = 0, all = 0; /* for as many images as either way takes */
    for (idx y = 0; y < g->k[1]; y++) all += y * g->d[1] % g->s[1] == p->r[1];
    for (idx y = 0, next; y < rows; y = next) {
        for (next = y + 1; next < rows && range[2 * next] == range[2 * y] && range[2 * next + 1] == range[2 * y + 1];) next++;
        const idx vectors = conv_count(v, p->count[2], next - y) * alone;
        cost += (vectors + at_once - 1) / at_once * (range[2 * y + 1] - range[2 * y]);
    }
    whole = (conv_count(v, p->count[2], rows) * together + at_once - 1) / at_once * all;
    return cost * together * 20 < whole * alone * 19;
}

/* A phase's results, [n][channel][q], back to their places in the gradient. */
typedef struct {
    Geo g;
    Phase p;
    const float *from;
    float *to;
} Spread;

static void spread_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Spread *t = what;
    const Geo *g = &t->g;
    const idx *count = t->p.count, planes = g->n * g->c;
    for (idx c = share(planes, i, parts); c < share(planes, i + 1, parts); c++)
        for (idx z = 0; z < count[0]; z++)
            for (idx y = 0; y < count[1]; y++) {
                const idx at_z = (t->p.lo[0] + z) * g->s[0] + t->p.r[0] - g->p[0];
                const idx at_y = (t->p.lo[1] + y) * g->s[1] + t->p.r[1] - g->p[1];
                const idx at_x = t->p.lo[2] * g->s[2] + t->p.r[2] - g->p[2];
                float *to = t->to + ((c * g->in[0] + at_z) * g->in[1] + at_y) * g->in[2] + at_x;
                const float *from = t->from ? t->from + ((c * count[0] + z) * count[1] + y) * count[2] : NULL;
                for (idx x = 0; x < count[2]; x++) to[x * g->s[2]] = from ? from[x] : 0.0f;
            }
}

static int backward_phase(const Geo *g, Conv v, const Phase *p, const idx *reach, PyArrayObject *w, float *gx,
                          int strided) {
    const idx channels = g->c / g->groups, kernel = volume(g->k), most = g->o / g->groups * kernel;
    const idx results = g->n * g->c * volume(p->count);
    idx *tap = table_take((size_t)(2 * (most + p->count[1] + kernel)) * sizeof(idx));
    if (!tap) return -1;
    idx *range = tap + 2 * most;
    v.taps.outs = channels;
    const int by_rows = backward_ranges(g, p, range) && ranges_pay(&v, g, p, range);
    const idx taps = backward_taps(g, &v.buffer, reach, p, by_rows, tap, tap + most, range + 2 * p->count[1]);
    Spread sp = {*g, *p, NULL, gx};
    float *found = NULL, *packed = NULL;
    const size_t found_bytes = strided ? (size_t)results * 4 : 0;
    int status = -1;
    if (taps == 0) { /* no tap of the kernel meets this phase */
        run_once(spread_part, &sp, (double)results);
        table_give(tap);
        return 0;
    }
    v.taps.taps = taps, v.taps.tap = tap;
    if (by_rows) { /* from rows of the kernel to taps */
        idx rows = 0;
        for (idx y = 0; y < g->k[1]; y++) rows += y * g->d[1] % g->s[1] == p->r[1];
        for (idx i = 0; i < 2 * p->count[1]; i++) range[i] *= taps / rows;
        v.range = range;
    }
    v.to_row = p->count[2], v.to_plane = p->count[1] * p->count[2];
    v.planes = p->count[0];
    v.out_channel = volume(p->count), v.out_image = g->c * v.out_channel;
    v.base = (p->lo[0] * v.buffer.size[1] + p->lo[1]) * v.buffer.size[2] + p->lo[2];
    conv_strip_size(&v, p->count[1], g->o / g->groups * v.buffer.size[2]);
    v.packed_group = packed_floats(v.loops, channels, taps);
    const size_t packed_bytes = v.packed_group * (size_t)g->groups * 4;
    packed = memory_take(packed_bytes);
    if (strided) found = memory_take(found_bytes);
    v.out = strided ? found : gx;
    if (packed && (found || !strided)) {
        conv_vectors(&v, p->count[2]);
        pack_weights(&v, DATA(w), g->o / g->groups * channels * kernel, kernel, tap + most, packed);
        v.packed = packed;
        status = conv_compute(&v, 2.0 * (double)(results * taps));
    }
    if (status == 0 && strided) {
        sp.from = found;
        const int64_t begin = conversion_begin();
        run_parts(spread_part, &sp, threads_parts((double)results, g->n * g->c), (double)results);
        conversion_end(PHASES_MERGED, begin, found_bytes);
    }
    if (packed) memory_give(packed, packed_bytes);
    if (found) memory_give(found, found_bytes);
    table_give(tap);
    return status;
}

static int conv_backward(const Geo *g, Conv *v, PyArrayObject *gy, PyArrayObject *w, float *gx) {
    idx reach[3], after[3], one[3] = {1, 1, 1};
    const idx phases = volume(g->s);
    strides_of(gy, v->x_stride);
    for (int i = 0; i < 3; i++) {
        const idx last = (g->in[i] - 1 + g->p[i]) / g->s[i];
        reach[i] = (g->k[i] - 1) * g->d[i] / g->s[i];
        after[i] = last + 1 - g->out[i]; /* may be negative: gradients that meet padding only */
        v->size[i] = g->out[i];
    }
    planes_for(&v->buffer, g->out, reach, after, one);
    v->channel = v->buffer.channel;
    v->from_plane = v->buffer.size[1] * v->buffer.size[2], v->from_row = v->buffer.size[2];
    v->groups = g->groups, v->group_channels = g->o / g->groups, v->channels = g->o, v->n = g->n;
    v->x = DATA(gy);
    for (idx i = 0; i < phases; i++) {
        const idx r[3] = {i / (g->s[1] * g->s[2]), i / g->s[2] % g->s[1], i % g->s[2]};
        Phase p;
        if (phase_of(g, r, &p) && backward_phase(g, *v, &p, reach, w, gx, phases > 1) < 0) return -1;
    }
    return 0;
}

/* The narrowest row of results that any phase has: vectors must fit into it. */
static idx narrowest(const Geo *g) {
    idx least = g->in[2];
    for (idx r = 0; r < g->s[2]; r++) {
        const idx at[3] = {0, 0, r};
        Phase p;
        phase_of(g, at, &p);
        if (p.count[2] > 0 && p.count[2] < least) least = p.count[2];
    }
    return least;
}

typedef struct {
    const float *x;
    idx n;
} Numbers;

/* Whether some are not finite: the zeros around gy, times an infinite weight, would be NaN. */
static int some_infinite(const void *what) {
    const Numbers *numbers = what;
    int32_t bad = 0;
    for (idx i = 0; i < numbers->n; i++) {
        int32_t bits;
        memcpy(&bits, numbers->x + i, 4);
        bad |= (bits & 0x7f800000) == 0x7f800000;
    }
    return bad;
}

static void input_one(Call *c, const Geo *g, const npy_intp *shape, int last) {
    PyArrayObject *gx = new_images(c, g, shape, last), *gy = aside(c, readable(c->args[0])), *w = aside(c, readable(c->args[1]));
    if (!c->ends && one_place_input(g, gy, w, gx, last) < 0) fail(c);
}

static void input_depth(Call *c, const Geo *g, const npy_intp *shape, int last) {
    const int as_is = last && g->o == g->c;
    PyArrayObject *gx = new_images(c, g, shape, as_is), *w = aside(c, array_plain(c->args[1]));
    PyArrayObject *gy = aside(c, as_is ? ARRAY(Py_NewRef(c->args[0])) : array_plain(c->args[0]));
    if (!c->ends && depthwise_input(g, DATA(gy), DATA(w), DATA(gx), as_is) < 0) fail(c);
    if (!c->ends && last && !as_is) answer(c, array_turned(gx));
}

static void conv_grad_input(Call *c) {
    Geo g;
    idx shape[5];
    if (!conv_args(c)) return;
    PyArrayObject *gy = ARRAY(c->args[0]), *w = ARRAY(c->args[1]);
    const int ndim = PyArray_NDIM(gy), last = is_channels_last(gy);
    if (!dims_of(c, "x_shape", shape, ndim) || !geometry(c, &g, shape, PyArray_DIMS(w))) return;
    for (int i = 0; i < ndim; i++) need(c, shape[i] > 0); /* output_padding may make room for more outputs than there are */
    if (c->ends) return;
    for (int i = 2; i < ndim; i++) g.out[3 - ndim + i] = PyArray_DIM(gy, i);
    Conv v = {.n = 0};
    const idx row = (g.k[2] - 1) * g.d[2] / g.s[2] + (g.in[2] - 1 + g.p[2]) / g.s[2] + 1;
    if (is_one_place(&g)) input_one(c, &g, shape, last);
    else if (is_depthwise(&g, 0)) input_depth(c, &g, shape, last);
    else if (need(c, conv_form(&v, narrowest(&g), (g.in[1] + g.s[1] - 1) / g.s[1], row)) && (w = aside(c, array_plain(c->args[1])))) {
        const Numbers weights = {DATA(w), PyArray_SIZE(w)};
        if (!need(c, !run_check(some_infinite, &weights))) return;
        PyArrayObject *gx = new_images(c, &g, shape, 0);
        gy = aside(c, readable(c->args[0]));
        if (!c->ends && conv_backward(&g, &v, gy, w, DATA(gx)) < 0) fail(c);
        if (!c->ends && last) answer(c, array_turned(gx));
    }
}

const Entry input_entries[] = {BOUND("conv_grad_input", conv_grad_input, .repeats = 1), {NULL}};
