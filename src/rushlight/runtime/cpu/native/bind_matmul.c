/* mm, bmm, linear and addmm in their three transposed forms: shares of one product, or of a batch. */
#include "arrays.h"

typedef struct {
    Gemm gemm;
    idx down, across; /* the result is cut into down x across shares */
    idx batch;
    const idx *a_at, *b_at; /* of each product of a batch */
    float *scratch;
    idx scratch_floats;
} Product;

static void product_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Product *p = what;
    Gemm g = p->gemm;
    /* Cuts fall on multiples of 24, which whole tiles of every instruction set divide well. */
    const idx rows = (g.m + 23) / 24, cols = (g.n + 23) / 24;
    const idx r = i / p->across, c = i % p->across;
    const idx i0 = share(rows, r, p->down) * 24, j0 = share(cols, c, p->across) * 24;
    idx i1 = share(rows, r + 1, p->down) * 24, j1 = share(cols, c + 1, p->across) * 24;
    i1 = i1 < g.m ? i1 : g.m;
    j1 = j1 < g.n ? j1 : g.n;
    if (i0 >= i1 || j0 >= j1) return;
    g.a += i0 * g.a_row;
    g.b += j0 * g.b_col;
    g.c += i0 * g.ldc + j0;
    if (g.bias) g.bias += j0;
    g.m = i1 - i0;
    g.n = j1 - j0;
    RL->gemm(&g, p->scratch + i * p->scratch_floats);
}

static void batch_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Product *p = what;
    for (idx n = share(p->batch, i, parts); n < share(p->batch, i + 1, parts); n++) {
        Gemm g = p->gemm;
        g.a += p->a_at[n];
        g.b += p->b_at[n];
        g.c += n * g.m * g.n;
        RL->gemm(&g, p->scratch + i * p->scratch_floats);
    }
}

/* The cut that packs least: every share packs its rows of A and its columns of B. */
static void cut(Product *p, idx parts) {
    idx best = -1;
    for (idx down = 1; down <= parts; down++) {
        if (parts % down) continue;
        const idx across = parts / down;
        const idx cost = p->gemm.m / down + p->gemm.n / across;
        const int possible = down <= (p->gemm.m + 23) / 24 && across <= (p->gemm.n + 23) / 24;
        if (possible && (best < 0 || cost < best)) {
            best = cost;
            p->down = down;
            p->across = across;
        }
    }
    if (best < 0) p->down = p->across = 1;
}

static int multiply(Product *p) {
    const double ns = 2.0 * (double)p->gemm.m * (double)p->gemm.n * (double)p->gemm.k *
                      (double)(p->batch ? p->batch : 1) / FLOPS_PER_NS;
    idx parts = threads_parts(ns, p->batch ? p->batch : 1 << 20);
    if (!p->batch) {
        cut(p, parts);
        parts = p->down * p->across;
    }
    p->scratch_floats = (idx)(RL->gemm_scratch(&p->gemm) / 4 + 16) / 16 * 16;
    const size_t bytes = (size_t)(parts * p->scratch_floats) * 4;
    p->scratch = memory_take(bytes);
    if (!p->scratch) return -1;
    run_parts(p->batch ? batch_part : product_part, p, parts, ns);
    memory_give(p->scratch, bytes);
    return 0;
}

int product_of(const Gemm *g) {
    Product p = {.gemm = *g};
    return multiply(&p);
}

int products_of(const Gemm *g, idx batch, idx b_step) {
    Product p = {.gemm = *g, .batch = batch};
    idx *at = table_take((size_t)(2 * batch) * sizeof(idx));
    if (!at) return -1;
    for (idx n = 0; n < batch; n++) at[n] = 0, at[batch + n] = n * b_step;
    p.a_at = at, p.b_at = at + batch;
    const int status = multiply(&p);
    table_give(at);
    return status;
}

static int whole_strides(PyArrayObject *a) {
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (PyArray_STRIDE(a, i) % 4) return 0;
    return 1;
}

/* x (m, k) times y (k, n), where `flip` says which is given transposed. */
static int gemm_of(Gemm *g, PyArrayObject *x, PyArrayObject *y, int flip_x, int flip_y) {
    const int nx = PyArray_NDIM(x), ny = PyArray_NDIM(y);
    const int row = flip_x ? nx - 1 : nx - 2, col = flip_y ? ny - 2 : ny - 1;
    const int x_in = 2 * nx - 3 - row, y_in = 2 * ny - 3 - col;
    if (!whole_strides(x) || !whole_strides(y)) return 0;
    *g = (Gemm){.m = PyArray_DIM(x, row), .n = PyArray_DIM(y, col), .k = PyArray_DIM(x, x_in),
                .a = DATA(x), .b = DATA(y)};
    g->a_row = PyArray_STRIDE(x, row) / 4;
    g->a_col = PyArray_STRIDE(x, x_in) / 4;
    g->b_row = PyArray_STRIDE(y, y_in) / 4;
    g->b_col = PyArray_STRIDE(y, col) / 4;
    g->ldc = g->n;
    /* Along a dim of one number the step says nothing: the one that products like best. */
    if (g->n == 1) g->b_col = 1;
    if (g->m == 1) g->a_row = g->k;
    if (g->k == 1) g->a_col = 1, g->b_row = g->n;
    return g->m > 0 && g->n > 0 && g->k > 0 && PyArray_DIM(y, y_in) == g->k;
}

enum { FLIP_X = 1, FLIP_Y = 2 };

static void product2(Call *c) {
    Product p = {.batch = 0};
    PyArrayObject *x = strided(c, 0), *y = strided(c, 1);
    if (c->ends || !need(c, PyArray_NDIM(x) == 2 && PyArray_NDIM(y) == 2 && gemm_of(&p.gemm, x, y, c->which & FLIP_X, c->which & FLIP_Y))) return;
    const npy_intp shape[2] = {p.gemm.m, p.gemm.n};
    p.gemm.c = new_floats(c, 2, shape);
    if (!c->ends && multiply(&p) < 0) fail(c);
}

/* -- batches ---------------------------------------------------------------------------------------- */

/* Broadcast the leading dims; offsets of every product of the batch, or NULL. */
static idx *batch_places(PyArrayObject *x, PyArrayObject *y, npy_intp *shape, int lead, idx batch) {
    idx *at = table_take((size_t)(2 * batch) * sizeof(idx));
    if (!at) return NULL;
    PyArrayObject *both[2] = {x, y};
    for (int which = 0; which < 2; which++) {
        PyArrayObject *a = both[which];
        const int missing = lead - (PyArray_NDIM(a) - 2);
        idx i[DIMS] = {0}, place = 0;
        for (idx n = 0; n < batch; n++) { /* the next one, without divisions */
            at[which * batch + n] = place;
            for (int d = lead - 1; d >= 0; d--) {
                const int stays = d < missing || PyArray_DIM(a, d - missing) == 1;
                const idx step = stays ? 0 : PyArray_STRIDE(a, d - missing) / 4;
                place += step;
                if (++i[d] < shape[d]) break;
                place -= i[d] * step, i[d] = 0;
            }
        }
    }
    return at;
}

static int batch_shape(PyArrayObject *x, PyArrayObject *y, npy_intp *shape, int lead) {
    for (int d = 0; d < lead; d++) {
        const int dx = d - (lead - (PyArray_NDIM(x) - 2)), dy = d - (lead - (PyArray_NDIM(y) - 2));
        const idx a = dx < 0 ? 1 : PyArray_DIM(x, dx), b = dy < 0 ? 1 : PyArray_DIM(y, dy);
        if (a != b && a != 1 && b != 1) return 0;
        shape[d] = a == 1 ? b : a;
    }
    return 1;
}

static void product_batch(Call *c) {
    Product p = {.batch = 1};
    npy_intp shape[DIMS];
    PyArrayObject *x = strided(c, 0), *y = strided(c, 1);
    if (c->ends) return;
    const int nx = PyArray_NDIM(x), ny = PyArray_NDIM(y), ndim = nx > ny ? nx : ny;
    if (!need(c, nx >= 2 && ny >= 2 && ndim <= DIMS && gemm_of(&p.gemm, x, y, c->which & FLIP_X, c->which & FLIP_Y))) return;
    if (!need(c, batch_shape(x, y, shape, ndim - 2))) return;
    for (int d = 0; d < ndim - 2; d++) p.batch *= shape[d];
    if (!need(c, p.batch > 0)) return;
    shape[ndim - 2] = p.gemm.m, shape[ndim - 1] = p.gemm.n;
    idx *at = batch_places(x, y, shape, ndim - 2, p.batch);
    if (!at) fail(c);
    p.a_at = at, p.b_at = at + p.batch, p.gemm.c = new_floats(c, ndim, shape);
    if (!c->ends && p.batch == 1) { /* one large product is shared out better */
        p.gemm.a += p.a_at[0], p.gemm.b += p.b_at[0];
        p.batch = 0;
    }
    if (!c->ends && multiply(&p) < 0) fail(c);
    table_give(at);
}

/* -- linear ----------------------------------------------------------------------------------------- */

static void linear(Call *c) {
    PyArrayObject *x = strided(c, 0), *w = strided(c, 1);
    if (c->ends) return;
    const int ndim = PyArray_NDIM(x);
    if (!need(c, ndim >= 1 && ndim <= DIMS && PyArray_NDIM(w) == 2 && whole_strides(w))) return;
    if (!need(c, ndim == 2 ? whole_strides(x) : PyArray_IS_C_CONTIGUOUS(x))) return;
    npy_intp shape[DIMS];
    idx rows = 1;
    for (int i = 0; i < ndim - 1; i++) rows *= shape[i] = PyArray_DIM(x, i);
    const idx k = PyArray_DIM(w, 1), n = shape[ndim - 1] = PyArray_DIM(w, 0);
    if (!need(c, rows > 0 && k > 0 && n > 0 && PyArray_DIM(x, ndim - 1) == k)) return;
    Product p = {.gemm = {.m = rows, .n = n, .k = k, .a = DATA(x), .b = DATA(w), .bias = maybe_floats(c, 2, n),
                          .a_row = ndim == 2 ? PyArray_STRIDE(x, 0) / 4 : k, .a_col = ndim == 2 ? PyArray_STRIDE(x, 1) / 4 : 1,
                          .b_row = PyArray_STRIDE(w, 1) / 4, .b_col = PyArray_STRIDE(w, 0) / 4, .ldc = n}};
    p.gemm.c = new_floats(c, ndim, shape);
    if (!c->ends && multiply(&p) < 0) fail(c);
}

#if defined(__aarch64__) /* elsewhere NumPy's product, and what oneDNN makes of it */
/* b + x y, where b is a row for all or a number for each; other factors are NumPy's. */
static void addmm(Call *c) {
    double beta, alpha;
    if (attr_double(c->attrs, "beta", &beta) < 0 || attr_double(c->attrs, "alpha", &alpha) < 0) {
        PyErr_Clear(); /* complex ones */
        refuse(c);
    }
    Product p = {.batch = 0};
    PyArrayObject *b = strided(c, 0), *x = strided(c, 1), *y = strided(c, 2);
    if (c->ends || !need(c, beta == 1 && alpha == 1 && PyArray_NDIM(b) == 2 && PyArray_NDIM(x) == 2 && PyArray_NDIM(y) == 2)) return;
    if (!need(c, gemm_of(&p.gemm, x, y, 0, 0))) return;
    const npy_intp shape[2] = {p.gemm.m, p.gemm.n};
    const int row = PyArray_STRIDE(b, 0) == 0 && PyArray_STRIDE(b, 1) == 4;
    if (!need(c, PyArray_CompareLists(PyArray_DIMS(b), shape, 2) && (row || PyArray_IS_C_CONTIGUOUS(b)))) return;
    if (!(p.gemm.c = new_floats(c, 2, shape))) return;
    if (row) p.gemm.bias = DATA(b);
    else memcpy(p.gemm.c, DATA(b), (size_t)(p.gemm.m * p.gemm.n) * 4), p.gemm.add = 1;
    if (multiply(&p) < 0) fail(c);
}
#endif

#define PRODUCT(name, bind, number) BOUND(name, bind, .which = number, .repeats = 1)
const Entry matmul_entries[] = {
#if defined(__aarch64__)
    BOUND("addmm", addmm),
#endif
    PRODUCT("mm", product2, 0), PRODUCT("mm_nt", product2, FLIP_Y), PRODUCT("mm_tn", product2, FLIP_X), PRODUCT("bmm", product_batch, 0),
    PRODUCT("bmm_nt", product_batch, FLIP_Y), PRODUCT("bmm_tn", product_batch, FLIP_X), PRODUCT("linear", linear, 0), {NULL},
};
