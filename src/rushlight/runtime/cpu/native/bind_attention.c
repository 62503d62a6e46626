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

static int view_of(View *v, PyObject *o, idx *shape) {
    if (!is_float(o) || PyArray_NDIM(ARRAY(o)) != 4) return 0;
    PyArrayObject *a = ARRAY(o);
    for (int d = 0; d < 4; d++) {
        if (PyArray_STRIDE(a, d) % 4) return 0;
        shape[d] = PyArray_DIM(a, d);
    }
    *v = (View){DATA(a), PyArray_STRIDE(a, 0) / 4, PyArray_STRIDE(a, 1) / 4, PyArray_STRIDE(a, 2) / 4,
                PyArray_STRIDE(a, 3) / 4};
    return 1;
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
static int take_mask(Attention *a, PyObject *o, idx batch) {
    if (!PyArray_CheckExact(o) || PyArray_NDIM(ARRAY(o)) > 4) return 0;
    PyArrayObject *m = ARRAY(o);
    const idx full[4] = {batch, a->heads, a->queries, a->keys};
    const int lead = 4 - PyArray_NDIM(m), bytes = (int)PyArray_ITEMSIZE(m);
    a->mask_adds = is_float(o);
    if (!a->mask_adds && PyArray_TYPE(m) != NPY_BOOL) return 0;
    for (int d = 0; d < 4; d++) {
        a->mask_step[d] = 0;
        if (d < lead || PyArray_DIM(m, d - lead) == 1) continue;
        if (PyArray_DIM(m, d - lead) != full[d] || PyArray_STRIDE(m, d - lead) % bytes) return 0;
        a->mask_step[d] = PyArray_STRIDE(m, d - lead) / bytes;
    }
    a->mask = PyArray_BYTES(m);
    return 1;
}

/* Queries, keys and values, if they are what is computed with here: 1, 0, or -1 with an exception. */
static int take(Attention *a, PyObject *const *qkv, PyObject *attrs, int masked) {
    idx q[4], k[4], v[4];
    double scale;
    a->causal = masked ? 0 : attr_flag(attrs, "causal");
    if (a->causal < 0 || attr_double(attrs, "scale", &scale) < 0) return -1;
    a->scale = (float)scale;
    if (!view_of(&a->q, qkv[0], q) || !view_of(&a->k, qkv[1], k) || !view_of(&a->v, qkv[2], v)) return 0;
    a->heads = q[1], a->pairs = q[0] * q[1], a->queries = q[2], a->width = q[3], a->keys = k[2], a->depth = v[3];
    for (int d = 0; d < 2; d++)
        if (q[d] != k[d] || q[d] != v[d]) return 0;
    if (masked && !take_mask(a, qkv[3], q[0])) return 0;
    return k[3] == a->width && v[2] == a->keys && a->pairs && a->queries && a->keys && a->width && a->depth;
}

/* Room for every part: blocks of scores, and the most that any of the products asks for. */
static int take_room(Attention *a, idx parts, idx blocks) {
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
    a->room = memory_take((size_t)(parts * a->room_floats) * 4);
    return a->room != NULL;
}

/* About how long it takes: two products a pair forward, five backward. */
static double duration(const Attention *a, double products) {
    return products * (double)a->pairs * (double)a->queries * (double)a->keys * (double)(a->width + a->depth) *
           (a->causal ? 0.6 : 1.0) / FLOPS_PER_NS;
}

static PyObject *forward(PyObject *const *args, PyObject *attrs, int masked) {
    Attention a = {0};
    const int fits = take(&a, args, attrs, masked);
    if (fits <= 0) return fits ? NULL : REFUSE;
    const npy_intp *dims = PyArray_DIMS(ARRAY(args[0]));
    const npy_intp shape[4] = {dims[0], dims[1], a.queries, a.depth}, one[4] = {dims[0], dims[1], a.queries, 1};
    const double ns = duration(&a, 2.0);
    const idx parts = threads_parts(ns, a.pairs * ((a.queries + BLOCK - 1) / BLOCK));
    if (!take_room(&a, parts, 1)) return PyErr_NoMemory();
    PyArrayObject *out = array_new(4, shape, NPY_FLOAT32), *stats = array_new(4, one, NPY_FLOAT32);
    if (out && stats) {
        a.out = DATA(out), a.stats = DATA(stats);
        run_parts(forward_part, &a, parts, ns);
    }
    memory_give(a.room, (size_t)(parts * a.room_floats) * 4);
    if (out && stats) return Py_BuildValue("NN", out, stats);
    Py_XDECREF(out);
    Py_XDECREF(stats);
    return NULL;
}

/* gy, q, k, v, (mask,) out, stats -> gq, gk, gv */
static PyObject *backward(PyObject *const *args, PyObject *attrs, int masked) {
    Attention a = {0};
    idx g[4];
    PyObject *const stats = args[5 + masked];
    const int fits = take(&a, args + 1, attrs, masked);
    if (fits <= 0) return fits ? NULL : REFUSE;
    if (!view_of(&a.g, args[0], g) || g[2] != a.queries || g[3] != a.depth || !is_plain(stats)) return REFUSE;
    const npy_intp *dims = PyArray_DIMS(ARRAY(args[1]));
    if (g[0] != dims[0] || g[1] != dims[1] || PyArray_SIZE(ARRAY(stats)) != a.pairs * a.queries) return REFUSE;
    a.stats_in = DATA(ARRAY(stats));
    const double ns = duration(&a, 5.0);
    const idx parts = threads_parts(ns, a.pairs);
    if (!take_room(&a, parts, 2)) return PyErr_NoMemory();
    PyArrayObject *made[3] = {NULL, NULL, NULL};
    int ready = 1;
    for (int i = 0; i < 3 && ready; i++)
        ready = (made[i] = array_new(4, PyArray_DIMS(ARRAY(args[1 + i])), NPY_FLOAT32)) != NULL;
    if (ready) {
        a.gq = DATA(made[0]), a.gk = DATA(made[1]), a.gv = DATA(made[2]);
        run_parts(backward_part, &a, parts, ns);
    }
    memory_give(a.room, (size_t)(parts * a.room_floats) * 4);
    if (ready) return Py_BuildValue("NNN", made[0], made[1], made[2]);
    for (int i = 0; i < 3; i++) Py_XDECREF(made[i]);
    return NULL;
}

#define EITHER(name, body, masked) \
    static PyObject *name(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return body(a, attrs, masked); }
EITHER(attention, forward, 0)
EITHER(attention_grad, backward, 0)
EITHER(seen_attention, forward, 1)
EITHER(seen_attention_grad, backward, 1)

const Entry attention_entries[] = {
    {"attention", attention, .repeats = 1}, {"attention_grad", attention_grad, .repeats = 1}, {"seen_attention", seen_attention, .repeats = 1},
    {"seen_attention_grad", seen_attention_grad, .repeats = 1}, {NULL, NULL},
};
