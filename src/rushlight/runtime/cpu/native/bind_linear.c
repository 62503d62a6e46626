/* Linear systems and Cholesky's factor: matrices of any strides, for batches that broadcast. */
#include <math.h>

#include "arrays.h"

#define FEW_COLUMNS 4         /* that are solved one by one, where the matrix lies */
#define MOST_FACTORED 512     /* rows: from there on LAPACK's blocks are better */

typedef struct {
    int type;                   /* NPY_FLOAT32 or NPY_FLOAT64 */
    int upper, unit, both;      /* both: of a Cholesky factor, the triangle and then its transpose */
    idx n, k;
    const char *a, *b;
    char *x;                    /* x[matrix][column][row] */
    idx a_row, a_col, b_row, b_col; /* in numbers */
    int lead;
    idx shape[DIMS], a_step[DIMS], b_step[DIMS]; /* of the batch, in bytes */
    idx x_row, x_col, x_step;   /* in numbers: the result of one matrix */
    int failed;
} System;
enum { NO_RESULT = 1, NO_MEMORY }; /* of `failed` */

/* The strides of the last two dims, in numbers; 0 where they are no whole ones. */
static int matrix_strides(PyArrayObject *a, idx size, idx *row, idx *col) {
    const int ndim = PyArray_NDIM(a);
    for (int d = 0; d < ndim; d++)
        if (PyArray_STRIDE(a, d) % size) return 0;
    *row = PyArray_STRIDE(a, ndim - 2) / size;
    *col = PyArray_STRIDE(a, ndim - 1) / size;
    return 1;
}

/* Where matrix `m` of a batch begins, in bytes. */
static idx place(const System *s, const idx *step, idx m) {
    idx at = 0;
    for (int d = s->lead - 1; d >= 0; d--) {
        at += m % s->shape[d] * step[d];
        m /= s->shape[d];
    }
    return at;
}

/* One matrix of type T: columns one by one, or panels of many beside each other. */
#define SOLVE(name, T, column_loop, panel_loop, LANES) \
    static void name##_move(const T *from, idx row, idx col, T *to, idx to_row, idx to_col, idx rows, idx cols) { \
        for (idx i0 = 0; i0 < rows; i0 += 16) /* squares, since one of both may go across */ \
            for (idx c = 0; c < cols; c++) \
                for (idx i = i0; i < i0 + 16 && i < rows; i++) to[i * to_row + c * to_col] = from[i * row + c * col]; \
    } \
    static int name(const System *s, const T *a, idx a_row, idx a_col, int upper, const T *b, idx b_row, idx b_col, T *x) { \
        const idx n = s->n, k = s->k, x_row = s->x_row, x_col = s->x_col; \
        if (k <= FEW_COLUMNS && x_row == 1 && (a_col == 1 || a_row == 1)) { \
            for (idx c = 0; c < k; c++) { \
                T *to = x + c * x_col; \
                if (b != x) for (idx i = 0; i < n; i++) to[i] = b[i * b_row + c * b_col]; \
                RL->column_loop(n, a, a_col == 1 ? a_row : a_col, a_col == 1, upper, s->unit, to); \
            } \
            return 0; \
        } \
        const int across = k > LANES ? 2 : 1; \
        const idx wide = across * LANES; \
        const size_t bytes = (size_t)(n * wide) * sizeof(T); \
        T *panel = memory_take(bytes); \
        if (!panel) return -1; \
        const idx first = upper ? n - 1 : 0, turn = upper ? -1 : 1; \
        for (idx c0 = 0; c0 < k; c0 += wide) { \
            const idx width = k - c0 < wide ? k - c0 : wide; \
            if (width < wide) memset(panel, 0, bytes); \
            name##_move(b + c0 * b_col, b_row, b_col, panel, wide, 1, n, width); \
            RL->panel_loop(n, a + first * (a_row + a_col), turn * a_row, turn * a_col, s->unit, panel + first * wide, turn * wide, across); \
            name##_move(panel, wide, 1, x + c0 * x_col, x_row, x_col, n, width); \
        } \
        memory_give(panel, bytes); \
        return 0; \
    } \
    static int name##_matrix(const System *s, idx m) { \
        const T *a = (const T *)(s->a + place(s, s->a_step, m)), *b = (const T *)(s->b + place(s, s->b_step, m)); \
        T *x = (T *)s->x + m * s->x_step; \
        if (!s->both) return name(s, a, s->a_row, s->a_col, s->upper, b, s->b_row, s->b_col, x); \
        const idx row = s->upper ? s->a_col : s->a_row, col = s->upper ? s->a_row : s->a_col; \
        if (name(s, a, row, col, 0, b, s->b_row, s->b_col, x) < 0) return -1; \
        return name(s, a, col, row, 1, x, s->x_row, s->x_col, x); \
    }
SOLVE(solve_float, float, solve_column_f, solve_panel_f, RL->lanes)
SOLVE(solve_double, double, solve_column_d, solve_panel_d, (RL->lanes / 2))

static void system_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    System *s = what;
    idx count = 1;
    for (int d = 0; d < s->lead; d++) count *= s->shape[d];
    for (idx m = share(count, i, parts); m < share(count, i + 1, parts); m++)
        if ((s->type == NPY_FLOAT32 ? solve_float_matrix : solve_double_matrix)(s, m) < 0) s->failed = NO_MEMORY;
}

/* The batch of two arrays; 0 where they do not broadcast. */
static int batch_of(System *s, PyArrayObject *a, PyArrayObject *b) {
    const int na = PyArray_NDIM(a) - 2, nb = PyArray_NDIM(b) - 2;
    s->lead = na > nb ? na : nb;
    for (int d = 0; d < s->lead; d++) {
        const int da = d - (s->lead - na), db = d - (s->lead - nb);
        const idx sa = da < 0 ? 1 : PyArray_DIM(a, da), sb = db < 0 ? 1 : PyArray_DIM(b, db);
        if (sa != sb && sa != 1 && sb != 1) return 0;
        s->shape[d] = sa == 1 ? sb : sa;
        s->a_step[d] = sa == 1 ? 0 : PyArray_STRIDE(a, da);
        s->b_step[d] = sb == 1 ? 0 : PyArray_STRIDE(b, db);
    }
    return 1;
}

/* Matrices of one floating type: square ones `a`, and those `b` that have as many rows (of the left side: columns), or the same again. */
static int system_of(Call *c, System *s, int at, int other, int left) {
    PyArrayObject *a = array_at(c, at), *b = array_at(c, other);
    if (c->ends) return 0;
    s->type = PyArray_TYPE(a);
    const int na = PyArray_NDIM(a), nb = PyArray_NDIM(b);
    if (!need(c, (s->type == NPY_FLOAT32 || s->type == NPY_FLOAT64) && is_type((PyObject *)a, s->type) && is_type((PyObject *)b, s->type)) ||
        !need(c, na >= 2 && nb >= 2 && na <= DIMS && nb <= DIMS && PyArray_SIZE(a) && PyArray_SIZE(b)))
        return 0;
    s->n = PyArray_DIM(a, na - 1), s->k = PyArray_DIM(b, left ? nb - 1 : nb - 2);
    s->a = PyArray_DATA(a), s->b = PyArray_DATA(b);
    const idx size = PyArray_ITEMSIZE(a);
    return need(c, matrix_strides(a, size, &s->a_row, &s->a_col) && matrix_strides(b, size, &s->b_row, &s->b_col) &&
                       PyArray_DIM(a, na - 2) == s->n && PyArray_DIM(b, left ? nb - 2 : nb - 1) == s->n && batch_of(s, a, b));
}

/* Results of `rows` and `columns`, column by column; `ns`: how long one takes. */
static void system_run(Call *c, System *s, Part part, idx rows, idx columns, double ns) {
    npy_intp shape[DIMS];
    for (int d = 0; d < s->lead; d++) shape[d] = s->shape[d];
    shape[s->lead] = rows, shape[s->lead + 1] = columns;
    const idx count = PyArray_MultiplyList(shape, s->lead);
    if (!(s->x = (char *)new_made(c, array_columns(s->lead + 2, shape, s->type)))) return;
    run_shared(part, s, count, (double)count * ns);
    if (s->failed == NO_MEMORY) fail(c);
    need(c, !s->failed); /* LAPACK says which one has none */
}

static void solved(Call *c, System *s, int at, int other, int left) {
    if (!system_of(c, s, at, other, left)) return;
    const idx n = s->n, k = s->k;
    s->x_row = 1, s->x_col = n, s->x_step = n * k;
    if (!left) { /* X A = B: A^T X^T = B^T */
        const idx a_row = s->a_row, b_row = s->b_row;
        s->a_row = s->a_col, s->a_col = a_row, s->b_row = s->b_col, s->b_col = b_row;
        s->upper = !s->upper, s->x_row = k, s->x_col = 1;
    }
    system_run(c, s, system_part, left ? n : k, left ? k : n, (1 + s->both) * (double)n * (double)n * (1.0 + (double)k / FLOPS_PER_NS));
}

static void solve_triangular(Call *c) {
    System s = {.upper = flag_of(c, "upper"), .unit = flag_of(c, "unitriangular")};
    solved(c, &s, 0, 1, flag_of(c, "left"));
}

static void cholesky_solve(Call *c) {
    System s = {.both = 1, .upper = flag_of(c, "upper")};
    solved(c, &s, 1, 0, 1);
}

/* -- any square system: elimination with the largest number of a column -------------------------------------- */

#define MOST_ELIMINATED 64 /* rows: above, LAPACK's blocks are better */

/* a of [n][n] and b of [n][k] change places with what is computed; 0 where a matrix has no inverse. */
#define ELIMINATE(name, T, SIZE) \
    static int name(idx n, idx k, T *restrict a, T *restrict b) { \
        for (idx i = 0; i < n; i++) { \
            idx best = i; \
            for (idx r = i + 1; r < n; r++) \
                if (SIZE(a[r * n + i]) > SIZE(a[best * n + i])) best = r; \
            const T pivot = a[best * n + i]; \
            if (!(pivot != 0)) return 0; \
            if (best != i) { \
                for (idx c = i; c < n; c++) { \
                    const T held = a[i * n + c]; \
                    a[i * n + c] = a[best * n + c], a[best * n + c] = held; \
                } \
                for (idx c = 0; c < k; c++) { \
                    const T held = b[i * k + c]; \
                    b[i * k + c] = b[best * k + c], b[best * k + c] = held; \
                } \
            } \
            for (idx r = i + 1; r < n; r++) { \
                const T by = a[r * n + i] / pivot; \
                for (idx c = i + 1; c < n; c++) a[r * n + c] -= by * a[i * n + c]; \
                for (idx c = 0; c < k; c++) b[r * k + c] -= by * b[i * k + c]; \
            } \
        } \
        for (idx i = n - 1; i >= 0; i--) { \
            for (idx c = 0; c < k; c++) b[i * k + c] /= a[i * n + i]; \
            for (idx r = 0; r < i; r++) { \
                const T by = a[r * n + i]; \
                for (idx c = 0; c < k; c++) b[r * k + c] -= by * b[i * k + c]; \
            } \
        } \
        return 1; \
    } \
    static int name##_matrix(const System *s, idx m, T *a, T *b) { \
        const idx n = s->n, k = s->k; \
        const T *from = (const T *)(s->a + place(s, s->a_step, m)); \
        for (idx i = 0; i < n; i++) \
            for (idx c = 0; c < n; c++) a[i * n + c] = from[i * s->a_row + c * s->a_col]; \
        if (s->b) { \
            const T *right = (const T *)(s->b + place(s, s->b_step, m)); \
            for (idx i = 0; i < n; i++) \
                for (idx c = 0; c < k; c++) b[i * k + c] = right[i * s->b_row + c * s->b_col]; \
        } else { \
            memset(b, 0, (size_t)(n * n) * sizeof(T)); \
            for (idx i = 0; i < n; i++) b[i * n + i] = 1; \
        } \
        if (!name(n, k, a, b)) return 0; \
        T *x = (T *)s->x + m * n * k; \
        int none = 0; /* where there are NaN, LAPACK says how far they go */ \
        for (idx i = 0; i < n; i++) \
            for (idx c = 0; c < k; c++) { \
                x[c * n + i] = b[i * k + c]; \
                none |= b[i * k + c] != b[i * k + c]; \
            } \
        return !none; \
    }
ELIMINATE(eliminate_float, float, fabsf)
ELIMINATE(eliminate_double, double, fabs)

static void eliminate_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    System *s = what;
    const idx size = s->type == NPY_FLOAT32 ? 4 : 8;
    const size_t bytes = (size_t)(s->n * (s->n + s->k) * size);
    idx count = 1;
    for (int d = 0; d < s->lead; d++) count *= s->shape[d];
    char *held = memory_take(bytes);
    if (!held) {
        s->failed = NO_MEMORY;
        return;
    }
    char *b = held + s->n * s->n * size;
    for (idx m = share(count, i, parts); m < share(count, i + 1, parts) && !s->failed; m++)
        if (!(size == 4 ? eliminate_float_matrix(s, m, (float *)held, (float *)b) : eliminate_double_matrix(s, m, (double *)held, (double *)b)))
            s->failed = NO_RESULT;
    memory_give(held, bytes);
}

static void eliminated(Call *c, int other) {
    System s = {0};
    if (!system_of(c, &s, 0, other, 1) || !need(c, s.n <= MOST_ELIMINATED)) return;
    if (other == 0) s.b = NULL;
    system_run(c, &s, eliminate_part, s.n, s.k, (double)s.n * (double)s.n * (1.0 + 0.3 * (double)(s.n + s.k)));
}

static void solve(Call *c) { eliminated(c, 1); }
static void inverse(Call *c) { eliminated(c, 0); }

/* -- Cholesky's factor ------------------------------------------------------------------------------------ */

/* The lower triangle is read, and written column by column, which is the upper one of rows. */
#define FACTOR(name, T, loop) \
    static int name(const System *s, const T *a, T *x, T *u, idx step) { \
        const idx n = s->n; \
        for (idx i0 = 0; i0 < n; i0 += 16) \
            for (idx c0 = i0; c0 < n; c0 += 16) \
                for (idx i = i0; i < i0 + 16 && i < n; i++) \
                    for (idx c = c0 > i ? c0 : i; c < c0 + 16 && c < n; c++) u[i * step + c] = a[c * s->a_row + i * s->a_col]; \
        if (!RL->loop(n, u, step)) return 0; \
        for (idx i = 0; i < n; i++) { \
            memset(x + i * n, 0, (size_t)i * sizeof(T)); \
            memcpy(x + i * n + i, u + i * step + i, (size_t)(n - i) * sizeof(T)); \
        } \
        return 1; \
    }
FACTOR(factor_float, float, cholesky_f)
FACTOR(factor_double, double, cholesky_d)

static void factor_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    System *s = what;
    const idx size = s->type == NPY_FLOAT32 ? 4 : 8, step = (s->n + 63) / 32 * 32 + 16;
    const size_t bytes = (size_t)(step * (s->n + 5) * size);
    idx count = 1;
    for (int d = 0; d < s->lead; d++) count *= s->shape[d];
    char *u = memory_take(bytes);
    if (!u) {
        s->failed = NO_MEMORY;
        return;
    }
    memset(u, 0, bytes); /* what is computed with and not used shall be no slow number */
    for (idx m = share(count, i, parts); m < share(count, i + 1, parts) && !s->failed; m++) {
        const char *a = s->a + place(s, s->a_step, m);
        char *x = s->x + m * s->n * s->n * size;
        const int done = size == 4 ? factor_float(s, (const float *)a, (float *)x, (float *)u, step)
                                   : factor_double(s, (const double *)a, (double *)x, (double *)u, step);
        if (!done) s->failed = NO_RESULT;
    }
    memory_give(u, bytes);
}

static void cholesky(Call *c) {
    System s = {0};
    if (system_of(c, &s, 0, 0, 1) && need(c, s.n <= MOST_FACTORED))
        system_run(c, &s, factor_part, s.n, s.n, (double)s.n * (double)s.n * (1.0 + (double)s.n / 3 / FLOPS_PER_NS));
}

const Entry linear_entries[] = {
    BOUND("linalg_solve", solve), BOUND("linalg_inv", inverse), BOUND("linalg_solve_triangular", solve_triangular),
    BOUND("linalg_cholesky_solve", cholesky_solve), BOUND("linalg_cholesky", cholesky), {NULL},
};
