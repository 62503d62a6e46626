/* Convolutions whose kernel is one place: products of the weight with the numbers of every place, nothing is padded or unfolded. */
#include "conv.h"

#define INLINE static inline __attribute__((always_inline))

/* Places of an image from which its own product is worth packing the weight for; fewer are put side by side first. */
#define OWN_PRODUCT 48

int is_one_place(const Geo *g) {
    if (g->groups != 1) return 0;
    for (int i = 0; i < 3; i++)
        if (g->k[i] != 1 || g->p[i] || g->out[i] <= 0) return 0;
    return g->n > 0 && g->c > 0 && g->o > 0;
}

/* Whether a plane of (image, channel) lies along memory, place after place. */
static int is_flat(const idx *size, const idx *st) {
    return (size[2] == 1 || st[4] == 1) && (size[1] == 1 || st[3] == size[2]) &&
           (size[0] == 1 || st[2] == size[1] * size[2]);
}

/* Whether all channels of a place lie along memory, place after place, image after image. */
static int is_turned(idx n, idx channels, const idx *size, const idx *st) {
    const idx places = volume(size);
    return st[1] == 1 && (size[2] == 1 || st[4] == channels) && (size[1] == 1 || st[3] == channels * size[2]) &&
           (size[0] == 1 || st[2] == channels * size[1] * size[2]) && (n == 1 || st[0] == channels * places);
}

/* -- places side by side ------------------------------------------------------------------------------ */

/* Every `s`-th place of all images, between an array of any strides and rows [channel][image, place] or
 * [image, place][channel]. */
typedef struct {
    float *there;
    float *rows;
    idx n, channels, out[3], st[5]; /* st: strides in floats of the array's places that are met */
    int turned, back, flat;         /* back: from the rows into the array; flat: planes are copied whole */
} Beside;

/* Planes of channels [c0, c1) of an image that lie along memory, on both sides. */
INLINE void move_planes(const Beside *b, idx n, idx c0, idx c1, const idx each) {
    for (idx c = c0; c < c1; c++) {
        float *at = b->there + n * b->st[0] + c * b->st[1], *row = b->rows + (c * b->n + n) * each;
        memcpy(b->back ? at : row, b->back ? row : at, (size_t)each * 4);
    }
}

static void beside_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Beside *b = what;
    const idx each = volume(b->out), places = b->n * each;
    for (idx j = share(b->n * b->channels, i, parts), end = share(b->n * b->channels, i + 1, parts), next; b->flat && j < end;
         j = next) {
        const idx n = j / b->channels, c = j % b->channels, most = c + end - j;
        const idx last = most < b->channels ? most : b->channels;
        if (each == 4) move_planes(b, n, c, last, 4);
        else if (each == 16) move_planes(b, n, c, last, 16);
        else move_planes(b, n, c, last, each);
        next = j + last - c;
    }
    if (b->flat) return;
    const idx row_c = b->turned ? 1 : places, row_p = b->turned ? b->channels : 1;
    for (idx j = share(b->n * b->channels, i, parts); j < share(b->n * b->channels, i + 1, parts); j++) {
        const idx n = j / b->channels, c = j % b->channels;
        float *row = b->rows + c * row_c + n * each * row_p;
        for (idx z = 0; z < b->out[0]; z++)
            for (idx y = 0; y < b->out[1]; y++, row += b->out[2] * row_p) {
                float *at = b->there + n * b->st[0] + c * b->st[1] + z * b->st[2] + y * b->st[3];
                const idx step = b->st[4];
                if (b->back)
                    for (idx x = 0; x < b->out[2]; x++) at[x * step] = row[x * row_p];
                else
                    for (idx x = 0; x < b->out[2]; x++) row[x * row_p] = at[x * step];
            }
    }
}

static void beside(const float *there, const idx *stride, const idx *s, idx n, idx channels, const idx *out, int turned,
                   int back, float *rows) {
    Beside b = {.there = (float *)there, .rows = rows, .n = n, .channels = channels, .turned = turned, .back = back};
    memcpy(b.st, stride, sizeof b.st);
    for (int i = 0; i < 3; i++) b.out[i] = out[i], b.st[2 + i] *= s ? s[i] : 1;
    b.flat = !turned && is_flat(b.out, b.st);
    const double ns = (double)(n * channels * volume(out));
    run_parts(beside_part, &b, threads_parts(ns, n * channels), ns);
}

/* -- products ------------------------------------------------------------------------------------------ */

/* One side of the products, (image, channel, place): as it lies, or copied. */
typedef struct {
    float *data;
    float *copy;
    size_t bytes;
    idx image, channel, place; /* strides */
} Side;

/* form: 0 an image after the other [image][channel][place], 1 side by side [channel][image, place], 2 channels last. */
static int side_of(Side *s, int form, const float *x, const idx *st, const idx *size, const idx *step, idx n, idx channels,
                   const idx *out, int read) {
    const idx each = volume(out);
    const int whole = !step || step[0] * step[1] * step[2] == 1;
    *s = (Side){.data = (float *)x};
    s->image = form == 0 ? st[0] : form == 1 ? each : each * channels;
    s->channel = form == 0 ? st[1] : form == 1 ? n * each : 1;
    s->place = form == 2 ? channels : 1;
    if (whole && form == 0 && is_flat(size, st)) return 0;
    if (whole && form == 1 && n == 1 && is_flat(size, st)) {
        s->channel = st[1];
        return 0;
    }
    if (whole && form == 2 && is_turned(n, channels, size, st)) return 0;
    if (form == 0) s->image = channels * each, s->channel = each;
    s->bytes = (size_t)(n * channels * each) * 4;
    s->data = s->copy = memory_take(s->bytes);
    if (!s->copy) return -1;
    if (!read) return 0;
    if (form != 0) beside(x, st, step, n, channels, out, form == 2, 0, s->copy);
    else
        for (idx i = 0; i < n; i++)
            beside(x + i * st[0], st, step, 1, channels, out, 0, 0, s->copy + i * s->image);
    return 0;
}

static void side_done(Side *s) {
    if (s->copy) memory_give(s->copy, s->bytes);
}

static int form_of(idx n, const idx *out, int last) {
    return last ? 2 : n > 1 && volume(out) >= OWN_PRODUCT ? 0 : 1;
}

typedef struct {
    Side y;
    idx n, o, each;
    const float *bias;
} Begin;

/* The rows of y start at their bias. */
static void begin_rows(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Begin *b = what;
    for (idx i = 0; i < b->n; i++)
        for (idx j = 0; j < b->o; j++) {
            float *row = b->y.data + i * b->y.image + j * b->y.channel;
            for (idx p = 0; p < b->each; p++) row[p] = b->bias[j];
        }
}

typedef struct {
    void *to;
    size_t bytes;
} Zeros;

static void zero_part(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Zeros *z = what;
    memset(z->to, 0, z->bytes);
}

/* y = w x over all places; element (o, c) of w is at w[o * w_row + c * w_col]. */
static int multiply_places(const Side *x, const Side *y, int form, idx n, idx c, idx o, idx each, const float *w, idx w_row,
                           idx w_col, const float *bias) {
    if (form == 2) {
        const Gemm g = {.m = n * each, .n = o, .k = c, .a = x->data, .b = w, .c = y->data, .bias = bias,
                        .a_row = c, .a_col = 1, .b_row = w_col, .b_col = w_row, .ldc = o};
        return product_of(&g);
    }
    Begin begin = {*y, form ? 1 : n, o, form ? n * each : each, bias};
    if (bias) run_once(begin_rows, &begin, 0.2 * (double)(n * o * each));
    const Gemm g = {.m = o, .n = form ? n * each : each, .k = c, .a = w, .b = x->data, .c = y->data, .a_row = w_row,
                    .a_col = w_col, .b_row = x->channel, .b_col = 1, .ldc = y->channel, .add = bias != NULL};
    return form ? product_of(&g) : products_of(&g, n, x->image);
}

int one_place(const Geo *g, PyArrayObject *x, PyArrayObject *w, PyArrayObject *b, PyArrayObject *out, int last) {
    const int form = form_of(g->n, g->out, last);
    idx sx[5], so[5], sw[5];
    Side from, to = {.copy = NULL};
    strides_of(x, sx), strides_of(out, so), strides_of(w, sw);
    int status = side_of(&from, form, DATA(x), sx, g->in, g->s, g->n, g->c, g->out, 1);
    if (status == 0) status = side_of(&to, form, DATA(out), so, g->out, NULL, g->n, g->o, g->out, 0);
    if (status == 0)
        status = multiply_places(&from, &to, form, g->n, g->c, g->o, volume(g->out), DATA(w), sw[0], sw[1], b ? DATA(b) : NULL);
    if (status == 0 && to.copy) beside(DATA(out), so, NULL, g->n, g->o, g->out, form == 2, 1, to.copy);
    side_done(&from), side_done(&to);
    return status;
}

int one_place_input(const Geo *g, PyArrayObject *gy, PyArrayObject *w, PyArrayObject *gx, int last) {
    const int form = form_of(g->n, g->out, last), strided = volume(g->s) > 1;
    idx sg[5], sx[5], sw[5];
    Side from, to = {.copy = NULL};
    strides_of(gy, sg), strides_of(gx, sx), strides_of(w, sw);
    int status = side_of(&from, form, DATA(gy), sg, g->out, NULL, g->n, g->o, g->out, 1);
    if (status == 0) status = side_of(&to, form, DATA(gx), sx, g->in, g->s, g->n, g->c, g->out, 0);
    if (status == 0)
        status = multiply_places(&from, &to, form, g->n, g->o, g->c, volume(g->out), DATA(w), sw[1], sw[0], NULL);
    Zeros zeros = {DATA(gx), (size_t)PyArray_NBYTES(gx)};
    if (status == 0 && (strided || volume(g->out) < volume(g->in))) run_once(zero_part, &zeros, 0.05 * (double)zeros.bytes);
    for (idx i = 0; status == 0 && to.copy && i < (form ? 1 : g->n); i++)
        beside(DATA(gx) + i * sx[0], sx, g->s, form ? g->n : 1, g->c, g->out, form == 2, 1, to.copy + i * to.image);
    side_done(&from), side_done(&to);
    return status;
}

/* The weight's gradient, where an image has few places, or lies with channels last; gw is plain. */
int one_place_weight(const Geo *g, PyArrayObject *gy, PyArrayObject *x, PyArrayObject *gw, int last) {
    idx sg[5], sx[5];
    Side a, b = {.copy = NULL};
    const int form = last ? 2 : 1;
    strides_of(gy, sg), strides_of(x, sx);
    int status = side_of(&a, form, DATA(gy), sg, g->out, NULL, g->n, g->o, g->out, 1);
    if (status == 0) status = side_of(&b, form, DATA(x), sx, g->in, g->s, g->n, g->c, g->out, 1);
    const Gemm p = {.m = g->o, .n = g->c, .k = g->n * volume(g->out), .a = a.data, .b = b.data, .c = DATA(gw),
                    .a_row = a.channel, .a_col = a.place, .b_row = b.place, .b_col = b.channel, .ldc = g->c};
    if (status == 0) status = product_of(&p);
    side_done(&a), side_done(&b);
    return status;
}
