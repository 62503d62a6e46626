/* Convolutions of one channel per group: blocks of channels side by side, in the order [place][channel], for k_depth.h. */
#include "conv.h"

#define MOST_FLOATS 131072 /* of a block of an image: more would leave the second cache between its passes */

typedef struct {
    const Loops *loops;
    Depth t;
    idx n, channels, times; /* times: results of a channel */
    idx lanes, blocks, taps, places_in, places_out;
    const float *from, *by;  /* what is read: the image or the results' gradient; the other one for weights */
    float *to;
    int last;                /* all arrays lie with channels last */
    float *packed, *bias, *sums;
    idx sums_of;             /* how many sums of the weight's gradient: one per image, or one */
    float *scratch;
    idx scratch_floats;
} Depths;

/* Whether these loops are the better ones: vectors along wide rows need no turning, if nothing is left out. */
int is_depthwise(const Geo *g, int last) {
    if (g->groups != g->c || g->c < 4 || g->o < g->c || volume(g->out) <= 0 || volume(g->k) == 1) return 0;
    if (!last && volume(g->s) == 1 && g->out[2] >= 2 * RL->lanes) return 0;
    const idx lanes = loops_for_width(g->c)->lanes, most = volume(g->in) > volume(g->out) ? volume(g->in) : volume(g->out);
    return most * lanes <= MOST_FLOATS;
}

/* -- blocks of channels -------------------------------------------------------------------------------- */

/* Channels of a block, `apart` planes apart, as [place][channel]; where they lie so already, there. */
static const float *block_of(const Depths *v, const float *image, idx c, idx all, idx apart, idx places, float *room, idx *step) {
    const idx here = v->channels - c < v->lanes ? v->channels - c : v->lanes;
    *step = v->lanes;
    if (v->last && here == v->lanes) {
        *step = all;
        return image + c;
    }
    if (here < v->lanes) memset(room, 0, (size_t)(places * v->lanes) * 4);
    if (v->last)
        for (idx p = 0; p < places; p++) memcpy(room + p * v->lanes, image + p * all + c, (size_t)here * 4);
    else v->loops->transpose(image + c * apart * places, here, places, apart * places, room, v->lanes);
    return room;
}

/* Back again from the room. */
static void block_back(const Depths *v, const float *room, float *image, idx c, idx all, idx apart, idx places) {
    const idx here = v->channels - c < v->lanes ? v->channels - c : v->lanes;
    if (v->last)
        for (idx p = 0; p < places; p++) memcpy(image + p * all + c, room + p * v->lanes, (size_t)here * 4);
    else v->loops->transpose(room, places, here, v->lanes, image + c * apart * places, apart * places);
}

/* Where results of a block are written: the room, or the array itself. */
static float *block_to(const Depths *v, float *image, idx c, idx all, float *room, idx *step) {
    const int there = v->last && v->channels - c >= v->lanes;
    *step = there ? all : v->lanes;
    return there ? image + c : room;
}

/* -- shares -------------------------------------------------------------------------------------------- */

static void depth_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Depths *v = what;
    const idx all = v->n * v->blocks, outs = v->channels * v->times;
    float *room = v->scratch + i * v->scratch_floats, *second = room + v->places_in * v->lanes;
    Depth t = v->t;
    for (idx j = share(all, i, parts); j < share(all, i + 1, parts); j++) {
        const idx n = j / v->blocks, b = j % v->blocks, c = b * v->lanes;
        const float *x = block_of(v, v->from + n * v->channels * v->places_in, c, v->channels, 1, v->places_in, room, &t.x_step);
        for (idx m = 0; m < v->times; m++) {
            float *image = v->to + n * outs * v->places_out + m * v->places_out;
            float *y = block_to(v, image, c, outs, second, &t.y_step);
            const idx at = m * v->blocks + b;
            v->loops->depth(&t, x, v->packed + at * v->taps * v->lanes, v->bias ? v->bias + at * v->lanes : NULL, y);
            if (y == second) block_back(v, y, image, c, outs, v->times, v->places_out);
        }
    }
}

static void depth_input_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Depths *v = what;
    const idx all = v->n * v->blocks, outs = v->channels * v->times;
    float *room = v->scratch + i * v->scratch_floats, *second = room + v->places_in * v->lanes;
    Depth t = v->t;
    for (idx j = share(all, i, parts); j < share(all, i + 1, parts); j++) {
        const idx n = j / v->blocks, b = j % v->blocks, c = b * v->lanes;
        float *image = v->to + n * v->channels * v->places_in;
        memset(room, 0, (size_t)(v->places_in * v->lanes) * 4);
        t.x_step = v->lanes;
        for (idx m = 0; m < v->times; m++) {
            const float *g = block_of(v, v->from + n * outs * v->places_out + m * v->places_out, c, outs, v->times,
                                      v->places_out, second, &t.y_step);
            v->loops->depth_spread(&t, g, v->packed + (m * v->blocks + b) * v->taps * v->lanes, room);
        }
        block_back(v, room, image, c, v->channels, 1, v->places_in);
    }
}

/* What image n gives to the sums of block b. */
static void weight_block(const Depths *v, idx n, idx b, float *room, float *to, int first) {
    const idx outs = v->channels * v->times, c = b * v->lanes, size = v->taps * v->lanes;
    float *second = room + v->places_in * v->lanes;
    Depth t = v->t;
    const float *x = block_of(v, v->by + n * v->channels * v->places_in, c, v->channels, 1, v->places_in, room, &t.x_step);
    for (idx m = 0; m < v->times; m++) {
        const float *g = block_of(v, v->from + n * outs * v->places_out + m * v->places_out, c, outs, v->times,
                                  v->places_out, second, &t.y_step);
        float *sums = to + (m * v->blocks + b) * size;
        if (first) memset(sums, 0, (size_t)size * 4);
        v->loops->depth_weight(&t, x, g, sums);
    }
}

/* Every image has sums of its own, which are added in their order afterwards; or a block takes all images, in their order. */
static void depth_weight_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Depths *v = what;
    const idx all = v->sums_of * v->blocks, size = v->times * v->blocks * v->lanes * v->taps;
    float *room = v->scratch + i * v->scratch_floats;
    for (idx j = share(all, i, parts); j < share(all, i + 1, parts); j++) {
        const idx n = j / v->blocks, b = j % v->blocks;
        if (v->sums_of == v->n) weight_block(v, n, b, room, v->sums + n * size, 1);
        else
            for (idx k = 0; k < v->n; k++) weight_block(v, k, b, room, v->sums, k == 0);
    }
}

/* -- the three ----------------------------------------------------------------------------------------- */

static void depths_of(Depths *v, const Geo *g, int last) {
    *v = (Depths){.loops = loops_for_width(g->c), .n = g->n, .channels = g->c, .times = g->o / g->c, .taps = volume(g->k),
                  .places_in = volume(g->in), .places_out = volume(g->out), .last = last};
    for (int i = 0; i < 3; i++) {
        v->t.in[i] = g->in[i], v->t.out[i] = g->out[i], v->t.k[i] = g->k[i];
        v->t.s[i] = g->s[i], v->t.p[i] = g->p[i], v->t.d[i] = g->d[i];
    }
    v->lanes = v->loops->lanes;
    v->blocks = (v->channels + v->lanes - 1) / v->lanes;
    v->scratch_floats = (v->places_in + v->places_out) * v->lanes;
}

/* w (channel, time, tap) as [time][block][tap][channel]. */
static void depth_pack(const Depths *v, const float *w, float *to, idx taps) {
    for (idx m = 0; m < v->times; m++)
        for (idx c = 0; c < v->channels; c += v->lanes, to += taps * v->lanes) {
            const idx here = v->channels - c < v->lanes ? v->channels - c : v->lanes;
            if (here < v->lanes) memset(to, 0, (size_t)(taps * v->lanes) * 4);
            v->loops->transpose(w + (c * v->times + m) * taps, here, taps, v->times * taps, to, v->lanes);
        }
}

/* And back. */
static void depth_unpack(const Depths *v, const float *from, float *w) {
    for (idx m = 0; m < v->times; m++)
        for (idx c = 0; c < v->channels; c += v->lanes, from += v->taps * v->lanes) {
            const idx here = v->channels - c < v->lanes ? v->channels - c : v->lanes;
            v->loops->transpose(from, v->taps, here, v->lanes, w + (c * v->times + m) * v->taps, v->times * v->taps);
        }
}

static void swap(float *a, float *b, idx n) {
    for (idx i = 0; i < n; i++) {
        const float kept = a[i];
        a[i] = b[i], b[i] = kept;
    }
}

/* What comes before the parts, and behind them. */
typedef struct {
    Depths v;
    const float *w, *bias;
    float *gw;
    idx rows;
    int flipped;
} Around;

static void depth_before(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Around *a = what;
    const Depths *v = &a->v;
    if (a->w) depth_pack(v, a->w, v->packed, v->taps);
    for (idx i = 0; a->flipped && i < v->blocks; i++)
        for (idx k = 0; k < v->taps / 2; k++)
            swap(v->packed + (i * v->taps + k) * v->lanes, v->packed + ((i + 1) * v->taps - 1 - k) * v->lanes, v->lanes);
    if (a->bias) depth_pack(v, a->bias, v->bias, 1);
}

static void depth_behind(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Around *a = what;
    const Depths *v = &a->v;
    const idx floats = a->rows * v->taps;
    for (idx n = 1; n < v->sums_of; n++) RL->add_into(v->sums, v->sums + n * floats, floats);
    depth_unpack(v, v->sums, a->gw);
}

static int depth_run(Depths *v, Part part, const float *w, const float *bias, float *gw, int flipped) {
    v->sums_of = v->blocks >= 8 ? 1 : v->n;
    const idx rows = v->times * v->blocks * v->lanes, sums = gw ? v->sums_of * rows * v->taps : 0;
    const double ns = 4.0 * (double)(v->n * rows) * (double)(v->places_out * v->taps + v->places_in) / (4.0 * (double)v->lanes);
    const idx parts = threads_parts(ns, (gw ? v->sums_of : v->n) * v->blocks), kept = rows * (v->taps + 1) + sums;
    const size_t bytes = (size_t)(kept + parts * v->scratch_floats) * 4;
    float *memory = memory_take(bytes);
    if (!memory) return -1;
    v->packed = memory, v->sums = memory + rows * (v->taps + 1), v->scratch = memory + kept;
    v->bias = bias ? memory + rows * v->taps : NULL;
    Around around = {*v, w, bias, gw, rows, flipped};
    if (w || bias) run_once(depth_before, &around, (double)(rows * v->taps));
    run_parts(part, v, parts, ns);
    if (gw) run_once(depth_behind, &around, (double)(v->sums_of * rows * v->taps));
    memory_give(memory, bytes);
    return 0;
}

int depthwise(const Geo *g, const float *x, const float *w, const float *bias, float *y, int last) {
    Depths v;
    depths_of(&v, g, last);
    v.from = x, v.to = y;
    return depth_run(&v, depth_part, w, bias, NULL, 0);
}

int depthwise_input(const Geo *g, const float *gy, const float *w, float *gx, int last) {
    Depths v;
    Geo turned = *g;
    const int plain = volume(g->s) == 1 && g->o == g->c; /* then it is a convolution too, with the taps in reverse */
    for (int i = 0; plain && i < 3; i++) {
        turned.in[i] = g->out[i], turned.out[i] = g->in[i];
        turned.p[i] = g->d[i] * (g->k[i] - 1) - g->p[i];
    }
    depths_of(&v, &turned, last);
    v.from = gy, v.to = gx;
    return depth_run(&v, plain ? depth_part : depth_input_part, w, NULL, NULL, plain);
}

int depthwise_weight(const Geo *g, const float *gy, const float *x, float *gw, int last) {
    Depths v;
    depths_of(&v, g, last);
    v.from = gy, v.by = x;
    return depth_run(&v, depth_weight_part, NULL, NULL, gw, 0);
}
