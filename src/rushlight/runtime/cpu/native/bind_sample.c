/* Images read at given places (grid_sample), and the gradients of both. */
#include "arrays.h"
#include "codes.h"

#define BLOCK SAMPLE_BLOCK
#define MOST_TAPS 16 /* two cubics; three lines have eight */

typedef struct {
    int mode, padding, align, dims, taps; /* taps: of one axis */
    idx n, c, size[3], plane, places;     /* places: of an image of the result */
    const float *x, *grid, *g;
    float *out, *gx, *to_grid;
    idx share_c; /* channels of a part of gx */
} Sample;

/* What a block of places reads: per axis, and all of them together. */
typedef struct {
    int32_t axis_at[3][4 * BLOCK], at[MOST_TAPS * BLOCK], row_at[MOST_TAPS * BLOCK];
    float axis_w[3][4 * BLOCK], axis_dw[3][4 * BLOCK], w[MOST_TAPS * BLOCK], row_w[MOST_TAPS * BLOCK];
    int taps;
} Tables;

/* Tap a of one side with tap b of the next axis, for all of them; the order is that of the taps' numbers. */
static void join_axes(const Sample *s, Tables *t, int axis, const float *weights, idx m) {
    const idx size = s->size[axis];
    memcpy(t->row_at, t->at, sizeof t->at);
    memcpy(t->row_w, t->w, sizeof t->w);
    for (int a = 0; a < t->taps; a++)
        for (int b = 0; b < s->taps; b++) {
            const idx to = (a * s->taps + b) * m;
            RL->sample_join(t->row_at + a * m, t->row_w + a * m, t->axis_at[axis] + b * m, weights + b * m, size, m, s->dims > 2,
                            t->at + to, t->w + to);
        }
    t->taps *= s->taps;
}

/* The taps of all axes as one list, with the derivatives of axis `by` in place of its weights (-1: of none). */
static void join_all(const Sample *s, Tables *t, int by, idx m) {
    const size_t count = (size_t)(s->taps * m);
    memcpy(t->at, t->axis_at[0], count * 4);
    memcpy(t->w, by == 0 ? t->axis_dw[0] : t->axis_w[0], count * 4);
    t->taps = s->taps;
    for (int d = 1; d < s->dims; d++) join_axes(s, t, d, by == d ? t->axis_dw[d] : t->axis_w[d], m);
}

/* Whether a place of a block is outside: where none is, nobody has to look for it again in every channel. */
static int skip_of(const Tables *t, idx m) {
    int32_t any = 0;
    for (idx j = 0; j < t->taps * m; j++) any |= t->at[j];
    return any < 0 ? SKIP_OUTSIDE : SKIP_NONE;
}

/* In the grid x comes first, in the input it is the last dim. */
static void look(const Sample *s, Tables *t, idx image, idx first, idx m) {
    const float *grid = s->grid + (image * s->places + first) * s->dims;
    for (int d = 0; d < s->dims; d++)
        RL->sample_axis(s->mode, s->padding, s->align, grid + s->dims - 1 - d, s->dims, s->size[d], m, t->axis_at[d],
                        t->axis_w[d], t->axis_dw[d]);
}

static idx blocks_of(const Sample *s) { return (s->places + BLOCK - 1) / BLOCK; }

static void read_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Sample *s = what;
    const idx blocks = blocks_of(s);
    Tables t;
    for (idx k = share(s->n * blocks, i, parts); k < share(s->n * blocks, i + 1, parts); k++) {
        const idx image = k / blocks, first = k % blocks * BLOCK;
        const idx m = s->places - first < BLOCK ? s->places - first : BLOCK;
        look(s, &t, image, first, m);
        join_all(s, &t, -1, m);
        const int skip = skip_of(&t, m);
        for (idx c = image * s->c; c < (image + 1) * s->c; c++)
            RL->mix_places(s->x + c * s->plane, t.at, t.w, t.taps, skip, s->out + c * s->places + first, m);
    }
}

/* Every gradient goes to the pixels that its place read. */
static void spread_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Sample *s = what;
    const idx shares = (s->c + s->share_c - 1) / s->share_c;
    Tables t;
    for (idx k = share(s->n * shares, i, parts); k < share(s->n * shares, i + 1, parts); k++) {
        const idx image = k / shares, low = k % shares * s->share_c;
        const idx high = low + s->share_c < s->c ? low + s->share_c : s->c;
        memset(s->gx + (image * s->c + low) * s->plane, 0, (size_t)((high - low) * s->plane) * 4);
        for (idx first = 0; first < s->places; first += BLOCK) {
            const idx m = s->places - first < BLOCK ? s->places - first : BLOCK;
            look(s, &t, image, first, m);
            join_all(s, &t, -1, m);
            for (idx c = image * s->c + low; c < image * s->c + high; c++) {
                const float *g = s->g + c * s->places + first;
                float *to = s->gx + c * s->plane;
                for (int tap = 0; tap < t.taps; tap++) {
                    const int32_t *at = t.at + tap * m;
                    const float *w = t.w + tap * m;
                    for (idx j = 0; j < m; j++)
                        if (at[j] >= 0) to[at[j]] += w[j] * g[j];
                }
            }
        }
    }
}

/* What each tap's weight is worth, summed over the channels; then by the weights' derivatives along each axis. */
static void slope_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Sample *s = what;
    const idx blocks = blocks_of(s);
    Tables t;
    float worth[MOST_TAPS * BLOCK], term[BLOCK];
    for (idx k = share(s->n * blocks, i, parts); k < share(s->n * blocks, i + 1, parts); k++) {
        const idx image = k / blocks, first = k % blocks * BLOCK;
        const idx m = s->places - first < BLOCK ? s->places - first : BLOCK;
        look(s, &t, image, first, m);
        join_all(s, &t, -1, m);
        memset(worth, 0, sizeof worth);
        const int skip = skip_of(&t, m);
        for (idx c = image * s->c; c < (image + 1) * s->c; c++)
            for (int tap = 0; tap < t.taps; tap++) {
                RL->mix_places(s->x + c * s->plane, t.at + tap * m, s->g + c * s->places + first, 1, skip, term, m);
                RL->add_into(worth + tap * m, term, m);
            }
        for (int d = 0; d < s->dims; d++) {
            float *to = s->to_grid + (image * s->places + first) * s->dims + s->dims - 1 - d;
            join_all(s, &t, d, m);
            for (idx j = 0; j < m; j++) {
                float sum = 0;
                for (int tap = 0; tap < t.taps; tap++)
                    sum += t.w[tap * m + j] * worth[tap * m + j];
                to[j * s->dims] = sum;
            }
        }
    }
}

/* Which of three words an attribute is; a refusal for another one. */
static int word_of(Call *c, const char *name, const char *const *words) {
    PyObject *found = attr_of(c, name);
    for (int k = 0; found && k < 3; k++)
        if (PyUnicode_CompareWithASCIIString(found, words[k]) == 0) return k;
    return refuse(c), 0;
}

/* Fills in what arguments `first` and the next one and the attributes say; whether the call goes on. */
static int sample_of(Call *c, Sample *s, int first) {
    s->mode = word_of(c, "mode", (const char *const[]){"bilinear", "nearest", "bicubic"});
    s->padding = word_of(c, "padding", (const char *const[]){"zeros", "border", "reflection"});
    s->align = flag_of(c, "align");
    PyArrayObject *x = floats(c, first), *grid = floats(c, first + 1);
    if (c->ends) return 0;
    s->dims = PyArray_NDIM(x) - 2;
    if (!need(c, s->dims >= 2 && s->dims <= 3 && (s->mode != S_CUBIC || s->dims == 2) && PyArray_NDIM(grid) == s->dims + 2) ||
        !need(c, PyArray_DIM(grid, s->dims + 1) == s->dims && PyArray_SIZE(x) && PyArray_SIZE(grid) && PyArray_DIM(grid, 0) == PyArray_DIM(x, 0)))
        return 0;
    s->taps = s->mode == S_NEAREST ? 1 : s->mode == S_CUBIC ? 4 : 2;
    s->n = PyArray_DIM(x, 0), s->c = PyArray_DIM(x, 1), s->plane = s->places = 1;
    for (int d = 0; d < s->dims; d++) {
        s->size[d] = PyArray_DIM(x, 2 + d);
        s->plane *= s->size[d];
        s->places *= PyArray_DIM(grid, 1 + d);
    }
    s->x = DATA(x), s->grid = DATA(grid);
    if (first) s->g = some_floats(c, 0, s->n * s->c * s->places);
    return need(c, s->plane < INT32_MAX);
}

static double sample_ns(const Sample *s) {
    double taps = 1;
    for (int d = 0; d < s->dims; d++) taps *= s->taps;
    return (double)(s->n * s->places) * (10.0 + 0.5 * taps * (double)s->c);
}

static void grid_sample(Call *c) {
    Sample s;
    if (!sample_of(c, &s, 0)) return;
    npy_intp shape[5] = {s.n, s.c};
    for (int d = 0; d < s.dims; d++) shape[2 + d] = PyArray_DIM(ARRAY(c->args[1]), 1 + d);
    if ((s.out = new_floats(c, s.dims + 2, shape))) run_shared(read_part, &s, s.n * blocks_of(&s), sample_ns(&s));
}

static void grid_sample_grad_input(Call *c) {
    Sample s;
    if (!sample_of(c, &s, 1) || !(s.gx = new_like(c, ARRAY(c->args[1])))) return;
    s.share_c = s.n > 3 ? s.c : (s.c + 3) / 4; /* a share looks its places up again */
    run_shared(spread_part, &s, s.n * ((s.c + s.share_c - 1) / s.share_c), 2 * sample_ns(&s));
}

static void grid_sample_grad_grid(Call *c) {
    Sample s;
    if (sample_of(c, &s, 1) && (s.to_grid = new_like(c, ARRAY(c->args[2])))) run_shared(slope_part, &s, s.n * blocks_of(&s), sample_ns(&s));
}

const Entry sample_entries[] = {
    BOUND("grid_sample", grid_sample, .copies = COPIES), BOUND("grid_sample_grad_input", grid_sample_grad_input, .copies = COPIES),
    BOUND("grid_sample_grad_grid", grid_sample_grad_grid, .copies = COPIES), {NULL},
};
