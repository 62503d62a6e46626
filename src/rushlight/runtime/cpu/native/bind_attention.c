/* attention and attention_grad: a block of queries at a time, so that scores stay in the cache and are never stored. */
#include "arrays.h"
#include "codes.h"

#define BLOCK 64 /* queries */

/* A (batch, heads, rows, columns) array by its strides in floats. */
typedef struct {
    const float *data;
    idx batch, head, row, col;
} View;

typedef struct {
    View q, k, v, g;
    const float *stats_in;
    float *out, *stats, *gq, *gk, *gv;
    idx heads, pairs; /* pairs: batch times heads */
    idx queries, keys, width, depth; /* width: of queries and keys; depth: of values */
    int causal;
    float scale;
    const char *mask; /* truth values or floats, by strides in elements; NULL: none */
    int mask_adds;
    idx mask_step[4];
    float *room; /* for every part: scores, their gradients, and what products need */
    idx room_floats;
} Attention;

static View view_of(Call *c, int i, idx *shape) {
    PyArrayObject *a = strided(c, i);
    if (!a || !need(c, PyArray_NDIM(a) == 4)) return (View){NULL};
    for (int d = 0; d < 4; d++) {
        need(c, PyArray_STRIDE(a, d) % 4 == 0);
        shape[d] = PyArray_DIM(a, d);
    }
    return (View){DATA(a), PyArray_STRIDE(a, 0) / 4, PyArray_STRIDE(a, 1) / 4, PyArray_STRIDE(a, 2) / 4, PyArray_STRIDE(a, 3) / 4};
}

static const float *at(const View *v, const Attention *a, idx pair, idx row) {
    return v->data + pair / a->heads * v->batch + pair % a->heads * v->head + row * v->row;
}

/* How many keys the queries from `first` on may look at together. */
static idx reach(const Attention *a, idx first, idx rows) {
    return a->causal && first + rows < a->keys ? first + rows : a->keys;
}

/* How many of them query `i` may look at. */
static idx sight(const Attention *a, idx i, idx keys) { return a->causal && i + 1 < keys ? i + 1 : keys; }

/* -inf where a query may not look, or what the mask adds. */
static void hide(const Attention *a, idx pair, idx first, idx rows, idx keys, float *scores) {
    const idx begin = pair / a->heads * a->mask_step[0] + pair % a->heads * a->mask_step[1], step = a->mask_step[3];
    for (idx r = 0; r < rows; r++, scores += keys) {
        const idx from = begin + (first + r) * a->mask_step[2];
        const float *adds = (const float *)a->mask + from;
        const char *seen = a->mask + from;
        if (a->mask_adds && step == 1) RL->add_into(scores, adds, keys);
        else if (a->mask_adds)
            for (idx j = 0; j < keys; j++) scores[j] += adds[j * step];
        else
            for (idx j = 0; j < keys; j++) scores[j] = seen[j * step] ? scores[j] : -INFINITY;
    }
}

/* scores (rows, keys) = queries keys^T scale. */
static void make_scores(const Attention *a, idx pair, idx first, idx rows, idx keys, float *scores, float *scratch) {
    const Gemm g = {.m = rows, .n = keys, .k = a->width, .a = at(&a->q, a, pair, first), .b = at(&a->k, a, pair, 0),
                    .c = scores, .a_row = a->q.row, .a_col = a->q.col, .b_row = a->k.col, .b_col = a->k.row,
                    .ldc = keys};
    RL->gemm(&g, scratch);
    RL->binary_scalar(B_MUL, scores, a->scale, scores, rows * keys);
    if (a->mask) hide(a, pair, first, rows, keys, scores);
}

static void forward_block(const Attention *a, idx pair, idx first, float *scores, float *scratch) {
    const idx rows = a->queries - first < BLOCK ? a->queries - first : BLOCK, keys = reach(a, first, rows);
    make_scores(a, pair, first, rows, keys, scores, scratch);
    for (idx r = 0; r < rows; r++) {
        float *row = scores + r * keys, top, sum;
        const idx seen = sight(a, first + r, keys);
        RL->softmax(row, row, 1, seen, 0, &top, &sum);
        const int nothing = top == -INFINITY; /* a query that may look nowhere gets zeros */
        if (nothing) memset(row, 0, (size_t)seen * 4);
        memset(row + seen, 0, (size_t)(keys - seen) * 4);
        a->stats[pair * a->queries + first + r] = nothing ? -INFINITY : top + logf(sum);
    }
    const Gemm g = {.m = rows, .n = a->depth, .k = keys, .a = scores, .b = at(&a->v, a, pair, 0),
                    .c = a->out + (pair * a->queries + first) * a->depth, .a_row = keys, .a_col = 1,
                    .b_row = a->v.row, .b_col = a->v.col, .ldc = a->depth};
    RL->gemm(&g, scratch);
}

static void forward_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Attention *a = what;
    const idx blocks = (a->queries + BLOCK - 1) / BLOCK, all = a->pairs * blocks;
    float *scores = a->room + i * a->room_floats;
    for (idx n = share(all, i, parts); n < share(all, i + 1, parts); n++)
        forward_block(a, n / blocks, n % blocks * BLOCK, scores, scores + BLOCK * a->keys);
}

/* The weights again, from the scores and the logarithms of their sums. */
static void make_weights(const Attention *a, idx pair, idx first, idx rows, idx keys, float *scores) {
    for (idx r = 0; r < rows; r++) {
        float *row = scores + r * keys;
        const float both[2] = {a->stats_in[pair * a->queries + first + r], 1.0f};
        const idx seen = both[0] == -INFINITY ? 0 : sight(a, first + r, keys);
        RL->softmax_again(row, row, seen, both, 1.0f);
        memset(row + seen, 0, (size_t)(keys - seen) * 4);
    }
}

static void backward_block(const Attention *a, idx pair, idx first, float *weights, float *slopes, float *scratch) {
    const idx rows = a->queries - first < BLOCK ? a->queries - first : BLOCK, keys = reach(a, first, rows);
    const float *g = at(&a->g, a, pair, first);
    make_scores(a, pair, first, rows, keys, weights, scratch);
    make_weights(a, pair, first, rows, keys, weights);
    const Gemm to_v = {.m = keys, .n = a->depth, .k = rows, .a = weights, .b = g,
                       .c = a->gv + pair * a->keys * a->depth, .a_row = 1, .a_col = keys, .b_row = a->g.row,
                       .b_col = a->g.col, .ldc = a->depth, .add = 1};
    RL->gemm(&to_v, scratch);
    const Gemm to_weights = {.m = rows, .n = keys, .k = a->depth, .a = g, .b = at(&a->v, a, pair, 0), .c = slopes,
                             .a_row = a->g.row, .a_col = a->g.col, .b_row = a->v.col, .b_col = a->v.row, .ldc = keys};
    RL->gemm(&to_weights, scratch);
    RL->softmax_grad(slopes, weights, slopes, rows, keys, 0);
    RL->binary_scalar(B_MUL, slopes, a->scale, slopes, rows * keys);
    const Gemm to_q = {.m = rows, .n = a->width, .k = keys, .a = slopes, .b = at(&a->k, a, pair, 0),
                       .c = a->gq + (pair * a->queries + first) * a->width, .a_row = keys, .a_col = 1,
                       .b_row = a->k.row, .b_col = a->k.col, .ldc = a->width};
    RL->gemm(&to_q, scratch);
    const Gemm to_k = {.m = keys, .n = a->width, .k = rows, .a = slopes, .b = at(&a->q, a, pair, first),
                       .c = a->gk + pair * a->keys * a->width, .a_row = 1, .a_col = keys, .b_row = a->q.row,
                       .b_col = a->q.col, .ldc = a->width, .add = 1};
    RL->gemm(&to_k, scratch);
}

static void backward_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Attention *a = what;
    float *weights = a->room + i * a->room_floats, *slopes = weights + BLOCK * a->keys;
    for (idx pair = share(a->pairs, i, parts); pair < share(a->pairs, i + 1, parts); pair++) {
        memset(a->gk + pair * a->keys * a->width, 0, (size_t)(a->keys * a->width) * 4);
        memset(a->gv + pair * a->keys * a->depth, 0, (size_t)(a->keys * a->depth) * 4);
        for (idx first = 0; first < a->queries; first += BLOCK)
            backward_block(a, pair, first, weights, slopes, slopes + BLOCK * a->keys);
    }
}

/* A mask that is stretched to (batch, heads, queries, keys). */
static void take_mask(Call *c, Attention *a, int i, idx batch) {
    PyArrayObject *m = array_at(c, i);
    if (!m || !need(c, PyArray_NDIM(m) <= 4)) return;
    const idx full[4] = {batch, a->heads, a->queries, a->keys};
    const int lead = 4 - PyArray_NDIM(m), bytes = (int)PyArray_ITEMSIZE(m);
    a->mask_adds = is_float((PyObject *)m);
    need(c, a->mask_adds || PyArray_TYPE(m) == NPY_BOOL);
    for (int d = 0; d < 4; d++) {
        a->mask_step[d] = 0;
        if (d < lead || PyArray_DIM(m, d - lead) == 1) continue;
        need(c, PyArray_DIM(m, d - lead) == full[d] && PyArray_STRIDE(m, d - lead) % bytes == 0);
        a->mask_step[d] = PyArray_STRIDE(m, d - lead) / bytes;
    }
    a->mask = PyArray_BYTES(m);
}

/* Queries, keys and values, from argument `first` on; whether the call goes on. `which` of the entry: there is a mask behind them. */
static int take(Call *c, Attention *a, int first) {
    idx q[4], k[4], v[4];
    a->causal = c->which ? 0 : flag_of(c, "causal");
    a->scale = (float)double_of(c, "scale");
    a->q = view_of(c, first, q), a->k = view_of(c, first + 1, k), a->v = view_of(c, first + 2, v);
    if (c->ends) return 0;
    a->heads = q[1], a->pairs = q[0] * q[1], a->queries = q[2], a->width = q[3], a->keys = k[2], a->depth = v[3];
    for (int d = 0; d < 2; d++) need(c, q[d] == k[d] && q[d] == v[d]);
    if (c->which) take_mask(c, a, first + 3, q[0]);
    return need(c, k[3] == a->width && v[2] == a->keys && a->pairs && a->queries && a->keys && a->width && a->depth);
}

/* Room for every part: blocks of scores, and the most that any of the products asks for. */
static void take_room(Call *c, Attention *a, idx parts, idx blocks) {
    const idx m = a->keys > BLOCK ? a->keys : BLOCK, wide = a->width > a->depth ? a->width : a->depth;
    const Gemm most[3] = {{.m = BLOCK, .n = a->keys, .k = wide}, {.m = BLOCK, .n = wide, .k = a->keys},
                          {.m = m, .n = wide, .k = BLOCK}};
    size_t bytes = 0;
    for (int i = 0; i < 3; i++) {
        const size_t one = RL->gemm_scratch(&most[i]);
        bytes = one > bytes ? one : bytes;
    }
    a->room_floats = blocks * BLOCK * a->keys + (idx)(bytes / 4 + 32);
    a->room_floats = (a->room_floats + 15) / 16 * 16;
    a->room = room(c, (size_t)(parts * a->room_floats) * 4);
}

/* About how long it takes: two products a pair forward, five backward. */
static double duration(const Attention *a, double products) {
    return products * (double)a->pairs * (double)a->queries * (double)a->keys * (double)(a->width + a->depth) *
           (a->causal ? 0.6 : 1.0) / FLOPS_PER_NS;
}

static void forward(Call *c) {
    Attention a = {0};
    if (!take(c, &a, 0)) return;
    const npy_intp *dims = PyArray_DIMS(ARRAY(c->args[0]));
    const npy_intp shape[4] = {dims[0], dims[1], a.queries, a.depth}, one[4] = {dims[0], dims[1], a.queries, 1};
    const double ns = duration(&a, 2.0);
    const idx parts = threads_parts(ns, a.pairs * ((a.queries + BLOCK - 1) / BLOCK));
    take_room(c, &a, parts, 1);
    a.out = new_floats(c, 4, shape), a.stats = new_floats(c, 4, one);
    if (!c->ends) run_parts(forward_part, &a, parts, ns);
}

/* gy, q, k, v, (mask,) out, stats -> gq, gk, gv */
static void backward(Call *c) {
    Attention a = {0};
    idx g[4];
    if (!take(c, &a, 1)) return;
    const npy_intp *dims = PyArray_DIMS(ARRAY(c->args[1]));
    a.g = view_of(c, 0, g), a.stats_in = some_floats(c, 5 + c->which, a.pairs * a.queries);
    if (c->ends || !need(c, g[0] == dims[0] && g[1] == dims[1] && g[2] == a.queries && g[3] == a.depth)) return;
    const double ns = duration(&a, 5.0);
    const idx parts = threads_parts(ns, a.pairs);
    take_room(c, &a, parts, 2);
    a.gq = new_like(c, ARRAY(c->args[1])), a.gk = new_like(c, ARRAY(c->args[2])), a.gv = new_like(c, ARRAY(c->args[3]));
    if (!c->ends) run_parts(backward_part, &a, parts, ns);
}

const Entry attention_entries[] = {
    BOUND("attention", forward, .repeats = 1), BOUND("attention_grad", backward, .repeats = 1),
    BOUND("seen_attention", forward, .which = 1, .repeats = 1), BOUND("seen_attention_grad", backward, .which = 1, .repeats = 1), {NULL},
};
