/* Fourier transforms over any dims of arrays of any steps: dim after dim, as many lines at a time as a vector has lanes. */
#include <math.h>
#include <stdlib.h>

#include "arrays.h"

/* -- plans: what depends on the size and the type alone, kept for the next call ------------------------------------- */

typedef struct Plan {
    Fft fft;
    int type, users;
    size_t bytes;
    void *block[2 * FFT_STEPS + 8];
    int blocks;
    struct Plan *inner, *row, *column; /* row, column: of a long line, a square of about as many columns as rows */
    void *corner;                      /* what stands between both, [row's n][column's n] */
    struct Plan *next;
} Plan;

#define PLANS_BYTES ((size_t)48 << 20) /* that are kept, and the last one */
static Plan *plans; /* the last one used first; the GIL guards them */

/* exp(-2 pi i k / n): whole numbers bring the angle into an eighth of a turn. */
static void root(idx k, idx n, double *c, double *s) {
    idx a = 8 * (k % n);
    const int below = a > 4 * n;
    if (below) a = 8 * n - a;
    const int left = a > 2 * n;
    if (left) a = 4 * n - a;
    const int steep = a > n;
    if (steep) a = 2 * n - a;
    const double angle = 2.0 * 3.14159265358979323846 * (double)a / (8.0 * (double)n), x = cos(angle), y = sin(angle);
    *c = steep ? y : x, *s = steep ? x : y;
    if (left) *c = -*c;
    if (!below) *s = -*s;
}

static void *block_of(Plan *p, idx pairs) {
    const size_t bytes = (size_t)pairs * (p->type == NPY_FLOAT32 ? 8 : 16);
    void *found = malloc(bytes ? bytes : 1);
    if (found) p->block[p->blocks++] = found, p->bytes += bytes;
    return found;
}

static void set_pair(const Plan *p, void *block, idx i, double c, double s) {
    if (p->type == NPY_FLOAT32) ((float *)block)[2 * i] = (float)c, ((float *)block)[2 * i + 1] = (float)s;
    else ((double *)block)[2 * i] = c, ((double *)block)[2 * i + 1] = s;
}

/* `count` roots: number i is that of k = i * by. */
static void *roots_of(Plan *p, idx count, idx n) {
    void *found = block_of(p, count);
    double c, s;
    for (idx i = 0; found && i < count; i++) root(i, n, &c, &s), set_pair(p, found, i, c, s);
    return found;
}

static void plan_free(Plan *p) {
    for (int i = 0; i < p->blocks; i++) free(p->block[i]);
    if (p->inner) p->inner->users--;
    if (p->row) p->row->users--, p->column->users--;
    free(p);
}

static Plan *plan_for(idx n, int type);

/* The radices of n, or how many of them are too large for a step. */
static int radices(idx n, int *radix) {
    int count = 0, twos = 0;
    while (n % 2 == 0) n /= 2, twos++;
    for (; twos >= 5 || twos == 3; twos -= 3) radix[count++] = 8;
    for (; twos >= 2; twos -= 2) radix[count++] = 4;
    if (twos) radix[count++] = 2;
    for (int r = 3; r < MOST_RADIX; r += 2)
        for (; n % r == 0; n /= r) radix[count++] = r;
    return n == 1 ? count : -1;
}

static int by_steps(Plan *p) {
    idx left = p->fft.n, made = 1;
    double c, s;
    for (int i = 0; i < p->fft.steps; i++) {
        const int r = p->fft.radix[i];
        left /= r;
        void *turns = block_of(p, left * (r - 1)), *roots = roots_of(p, r, r);
        if (!turns || !roots) return -1;
        for (idx at = 0; at < left; at++)
            for (int k = 1; k < r; k++) root(at * k, left * r, &c, &s), set_pair(p, turns, at * (r - 1) + k - 1, c, s);
        for (int k = 0; k < r; k++) root(k, r, &c, &s), set_pair(p, roots, k, c, -s);
        p->fft.turns[i] = turns, p->fft.roots[i] = roots;
        made *= r;
    }
    return 0;
}

/* n = 2 inner + ...: the smallest size without large primes in which nothing meets what goes round. */
static idx inner_size(idx n) {
    idx best = 1;
    while (best < 2 * n - 1) best *= 2;
    for (idx fives = 1; fives < best; fives *= 5)
        for (idx threes = fives; threes < best; threes *= 3) {
            idx m = threes;
            while (m < 2 * n - 1) m *= 2;
            if (m < best) best = m;
        }
    return best;
}

static int by_chirps(Plan *p) {
    const idx n = p->fft.n, m = inner_size(n);
    Plan *const exact = plan_for(m, NPY_FLOAT64);
    if (!exact) return -1;
    exact->users++;
    p->inner = plan_for(m, p->type);
    if (p->inner) p->inner->users++;
    void *chirp = block_of(p, n), *filter = block_of(p, m);
    const idx lanes = RL->lanes / 2, width = exact->fft.room * 2 * lanes;
    double *const a = calloc((size_t)(2 * width + 4 * m), sizeof *a), *const line = a ? a + 2 * width : NULL, c, s;
    if (p->inner && chirp && filter && a) {
        for (idx k = 0; k < n; k++) {
            root((idx)((unsigned __int128)k * (unsigned __int128)k % (unsigned __int128)(2 * n)), 2 * n, &c, &s);
            set_pair(p, chirp, k, c, s);
            line[2 * k] = c / (double)m, line[2 * k + 1] = -s / (double)m;
            if (k) line[2 * (m - k)] = line[2 * k], line[2 * (m - k) + 1] = line[2 * k + 1];
        }
        Lines l = {.fft = &exact->fft, .kind = FFT_COMPLEX, .lanes = 1, .n = m, .from_step = 2, .to_step = 2, .a = a, .b = a + width};
        for (int i = 0; i < MOST_LANES; i++) l.from[i] = (char *)line, l.to[i] = (char *)(line + 2 * m);
        RL->fft_d(&l);
        for (idx k = 0; k < m; k++) set_pair(p, filter, k, line[2 * (m + k)], line[2 * (m + k) + 1]);
    }
    exact->users--;
    if (!a || !p->inner || !chirp || !filter) return free(a), -1;
    free(a);
    p->fft.inner = &p->inner->fft, p->fft.chirp = chirp, p->fft.filter = filter, p->fft.room = p->inner->fft.room;
    return 0;
}

/* Those that nobody uses, the oldest first, until the others are few. */
static void plans_dropped(void) {
    for (;;) {
        size_t all = 0;
        Plan **last = NULL;
        for (Plan **at = &plans; *at; at = &(*at)->next) {
            all += (*at)->bytes;
            if (!(*at)->users && *at != plans) last = at;
        }
        if (all <= PLANS_BYTES || !last) return;
        Plan *const p = *last;
        *last = p->next;
        plan_free(p);
    }
}

/* NULL without memory. */
static Plan *plan_for(idx n, int type) {
    for (Plan **at = &plans; *at; at = &(*at)->next)
        if ((*at)->fft.n == n && (*at)->type == type) {
            Plan *const p = *at;
            *at = p->next, p->next = plans;
            return plans = p;
        }
    Plan *const p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->type = type, p->fft.n = p->fft.room = n;
    p->fft.steps = radices(n, p->fft.radix);
    if (p->fft.steps < 0 ? by_chirps(p) : by_steps(p)) return plan_free(p), NULL;
    p->next = plans, plans = p;
    return p;
}

/* What a transform of 2n reals asks for, too. */
static int plan_halves(Plan *p) {
    if (!p->fft.halves) p->fft.halves = roots_of(p, p->fft.n / 2 + 1, 2 * p->fft.n);
    return p->fft.halves ? 0 : -1;
}

/* -- one dim ---------------------------------------------------------------------------------------------- */

typedef struct {
    Lines lines; /* but for its lanes and blocks */
    int type, dims;
    char *from, *to;
    idx size[DIMS], from_outer[DIMS], to_outer[DIMS]; /* of the other dims, in bytes; lanes go along the last one */
    idx count, row, row_blocks, blocks; /* lines in all and, where blocks do not go on with the next row, in a row */
    char *scratch;
    size_t each; /* bytes of a part's scratch */
} Dim;

static void dim_part(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Dim *d = what;
    const idx most = RL->lanes * 4 / (d->type == NPY_FLOAT32 ? 4 : 8);
    Lines l = d->lines;
    l.a = d->scratch + (size_t)part * 2 * d->each, l.b = (char *)l.a + d->each;
    for (idx i = share(d->blocks, part, parts); i < share(d->blocks, part + 1, parts); i++) {
        const idx row = i / d->row_blocks, at = i % d->row_blocks;
        idx first = row * d->row + share(d->row, at, d->row_blocks), end = row * d->row + share(d->row, at + 1, d->row_blocks);
        l.lanes = (int)(end - first);
        idx place[DIMS], left = first, from = 0, to = 0;
        for (int k = d->dims - 1; k >= 0; k--) {
            place[k] = left % d->size[k], left /= d->size[k];
            from += place[k] * d->from_outer[k], to += place[k] * d->to_outer[k];
        }
        for (int lane = 0; lane < l.lanes; lane++) {
            l.from[lane] = d->from + from, l.to[lane] = d->to + to;
            for (int k = d->dims - 1; k >= 0; k--) {
                from += d->from_outer[k], to += d->to_outer[k];
                if (++place[k] < d->size[k]) break;
                from -= place[k] * d->from_outer[k], to -= place[k] * d->to_outer[k], place[k] = 0;
            }
        }
        for (idx lane = l.lanes; lane < most; lane++) l.from[lane] = l.from[l.lanes - 1];
        if (l.turn) l.turn = (const char *)d->lines.turn + first * (d->type == NPY_FLOAT32 ? 8 : 16);
        (d->type == NPY_FLOAT32 ? RL->fft_f : RL->fft_d)(&l);
    }
}

static void run_dim(Call *c, Dim *d) {
    const idx size = d->type == NPY_FLOAT32 ? 4 : 8, most = RL->lanes * 4 / size;
    const Lines *l = &d->lines;
    if (c->ends) return;
    if (!d->dims) d->size[0] = d->dims = 1, d->from_outer[0] = d->to_outer[0] = 0;
    d->count = 1;
    for (int k = 0; k < d->dims; k++) d->count *= d->size[k];
    const idx inner = d->size[d->dims - 1];
    const idx from_pair = l->kind == FFT_TO_HALF ? 1 : 2, to_pair = l->kind == FFT_FROM_HALF ? 1 : 2;
    const int whole = l->from_step == from_pair && l->to_step == to_pair;
    d->row = whole || 2 * inner < most ? d->count : inner;
    d->row_blocks = (d->row + most - 1) / most;
    d->blocks = d->count / d->row * d->row_blocks;
    const idx rows = (l->fft->room > l->n / 2 + 1 ? l->fft->room : l->n / 2 + 1) + 1;
    d->each = (size_t)(rows * 2 * most * size);
    const double ns = (double)(d->blocks * l->fft->room * (l->fft->inner ? 2 : 1)) * (8.0 + 2.0 * log2((double)l->fft->room));
    const idx parts = threads_parts(ns, d->blocks);
    if (!(d->scratch = memory_take((size_t)parts * 2 * d->each))) {
        fail(c);
        return;
    }
    run_parts(dim_part, d, parts, ns);
    memory_give(d->scratch, (size_t)parts * 2 * d->each);
}

/* -- long lines, or so few that lanes would be empty: each a square whose columns and then rows are lines --------------- */

#define LONG_LINE 16384
#define SHORT_LINE 256

static int square_plan(Plan *p) {
    const idx n = p->fft.n;
    idx rows = 1;
    if (p->row) return 1;
    if (p->fft.inner || n < SHORT_LINE) return 0;
    for (idx r = (idx)sqrt((double)n) + 1; r > 1; r--)
        if (n % r == 0) {
            rows = r;
            break;
        }
    if (rows < RL->lanes / 2) return 0;
    Plan *const row = plan_for(rows, p->type), *const column = plan_for(n / rows, p->type);
    if (!row || !column || !(p->corner = block_of(p, n + MOST_LANES))) return -1;
    double c, s;
    for (idx i = 0; i < rows; i++)
        for (idx k = 0; k < n / rows; k++) root(i * k, n, &c, &s), set_pair(p, p->corner, i * (n / rows) + k, c, s);
    p->row = row, p->column = column;
    row->users++, column->users++;
    return 1;
}

static void run_square(Call *c, const Dim *d, Plan *p) {
    const Lines *l = &d->lines;
    const idx size = d->type == NPY_FLOAT32 ? 4 : 8, rows = p->row->fft.n, columns = p->column->fft.n, pair = 2 * size;
    char *const between = memory_take((size_t)(l->n * pair));
    if (!between) fail(c);
    idx place[DIMS] = {0}, from = 0, to = 0, lines = 1;
    for (int k = 0; k < d->dims; k++) lines *= d->size[k];
    for (idx i = 0; i < lines && !c->ends; i++) {
        Dim down = {.type = d->type, .dims = 1, .from = d->from + from, .to = between, .lines = *l};
        down.size[0] = columns, down.from_outer[0] = l->from_step * size, down.to_outer[0] = pair;
        down.lines.fft = &p->row->fft, down.lines.n = rows, down.lines.from_step = l->from_step * columns, down.lines.to_step = 2 * columns;
        down.lines.turn = p->corner, down.lines.turn_step = columns;
        run_dim(c, &down);
        Dim across = {.type = d->type, .dims = 1, .from = between, .to = d->to + to, .lines = *l};
        across.size[0] = rows, across.from_outer[0] = columns * pair, across.to_outer[0] = l->to_step * size;
        across.lines.fft = &p->column->fft, across.lines.n = columns, across.lines.from_step = 2, across.lines.to_step = l->to_step * rows;
        run_dim(c, &across);
        for (int k = d->dims - 1; k >= 0; k--) {
            from += d->from_outer[k], to += d->to_outer[k];
            if (++place[k] < d->size[k]) break;
            from -= place[k] * d->from_outer[k], to -= place[k] * d->to_outer[k], place[k] = 0;
        }
    }
    if (between) memory_give(between, (size_t)(l->n * pair));
}

/* -- arrays ------------------------------------------------------------------------------------------------- */

typedef struct {
    int type, ndim, back;
    idx shape[DIMS], from_step[DIMS], to_step[DIMS]; /* in bytes */
    char *from, *to;
} Shown;

/* One dim of x to y; n: its numbers in the real one of both, or in each. */
static void transform_dim(Call *c, const Shown *o, int dim, int kind, idx n) {
    const idx size = o->type == NPY_FLOAT32 ? 4 : 8;
    Dim d = {.type = o->type, .from = o->from, .to = o->to};
    for (int k = 0; k < o->ndim; k++) {
        if (k == dim || o->shape[k] == 1) continue;
        int at = d.dims++;
        for (; at && d.from_outer[at - 1] < o->from_step[k]; at--)
            d.size[at] = d.size[at - 1], d.from_outer[at] = d.from_outer[at - 1], d.to_outer[at] = d.to_outer[at - 1];
        d.size[at] = o->shape[k], d.from_outer[at] = o->from_step[k], d.to_outer[at] = o->to_step[k];
    }
    idx lines = 1;
    for (int k = 0; k < d.dims; k++) lines *= d.size[k];
    d.lines = (Lines){.kind = kind, .back = o->back, .n = n, .from_step = o->from_step[dim] / size, .to_step = o->to_step[dim] / size};
    Plan *const p = plan_for(kind == FFT_COMPLEX || n % 2 ? n : n / 2, o->type);
    if (!p || (kind != FFT_COMPLEX && plan_halves(p))) {
        fail(c);
        return;
    }
    p->users++;
    d.lines.fft = &p->fft;
    const int square = kind == FFT_COMPLEX && (n > LONG_LINE || 4 * lines * size <= RL->lanes * 4) ? square_plan(p) : 0;
    if (square < 0) fail(c);
    else if (square) run_square(c, &d, p);
    else run_dim(c, &d);
    p->users--;
    plans_dropped();
}

/* A result that lies in memory as PyTorch's: what is not transformed outside, by its steps, the last `last` dims inside. */
static PyArrayObject *lying(PyArrayObject *x, const npy_intp *shape, const idx *dims, int count, int last, int type) {
    const int ndim = PyArray_NDIM(x);
    int order[DIMS], made = 0, used[DIMS] = {0};
    npy_intp steps[DIMS], step = type == NPY_FLOAT32 ? 4 : type == NPY_COMPLEX128 ? 16 : 8;
    for (int i = 0; i < count; i++) used[dims[i]] = i < count - last ? 1 : 2;
    for (int kind = 0; kind < 2; kind++)
        for (int begin = made, d = 0; d < ndim; d++) {
            if (used[d] != kind) continue;
            int at = made++;
            for (; at > begin && PyArray_STRIDE(x, order[at - 1]) < PyArray_STRIDE(x, d); at--) order[at] = order[at - 1];
            order[at] = d;
        }
    for (int i = count - last; i < count; i++) order[made++] = (int)dims[i];
    for (int i = ndim - 1; i >= 0; i--) steps[order[i]] = step, step *= shape[order[i]];
    return array_laid(ndim, shape, steps, type);
}

static void fft(Call *c) {
    const int kind = c->which == FFT_BACK ? FFT_COMPLEX : c->which;
    PyArrayObject *x = behaved(c, 0);
    idx dims[DIMS];
    const int count = ints_of(c, "dims", dims);
    if (c->ends || !need(c, count > 0 && PyArray_NDIM(x) <= DIMS && PyArray_SIZE(x) > 0)) return;
    const int given_type = PyArray_TYPE(x), is_complex = given_type == NPY_COMPLEX64 || given_type == NPY_COMPLEX128;
    const int small = given_type == NPY_COMPLEX64 || given_type == NPY_FLOAT32;
    if (!need(c, is_complex ? kind != FFT_TO_HALF : kind == FFT_TO_HALF && (small || given_type == NPY_FLOAT64))) return;
    Shown o = {.type = small ? NPY_FLOAT32 : NPY_FLOAT64, .ndim = PyArray_NDIM(x), .back = c->which == FFT_BACK || kind == FFT_FROM_HALF, .from = PyArray_BYTES(x)};
    npy_intp shape[DIMS];
    unsigned seen = 0;
    for (int i = 0; i < count; i++) {
        if (!need(c, dims[i] >= 0 && dims[i] < o.ndim && !(seen >> dims[i] & 1))) return;
        seen |= 1u << dims[i];
    }
    for (int d = 0; d < o.ndim; d++) {
        o.shape[d] = shape[d] = PyArray_DIM(x, d), o.from_step[d] = PyArray_STRIDE(x, d);
        if (!need(c, o.from_step[d] % (small ? 4 : 8) == 0)) return;
    }
    const idx last = dims[count - 1], n = kind == FFT_FROM_HALF ? idx_of(c, "n") : shape[last];
    if (kind == FFT_TO_HALF) shape[last] = n / 2 + 1;
    if (kind == FFT_FROM_HALF && need(c, n > 0 && shape[last] == n / 2 + 1)) shape[last] = n;
    const int result = kind == FFT_FROM_HALF ? o.type : small ? NPY_COMPLEX64 : NPY_COMPLEX128;
    PyArrayObject *out = c->ends ? NULL : lying(x, shape, dims, count, kind != FFT_COMPLEX, result);
    if (c->ends || !new_made(c, out)) return;
    char *between = NULL;
    size_t bytes = 0;
    const int whole = kind == FFT_COMPLEX ? count : count - 1; /* dims of complex numbers */
    if (kind == FFT_FROM_HALF && whole) { /* the others come first, in memory of their own */
        idx step = small ? 8 : 16;
        for (int d = o.ndim - 1; d >= 0; d--) o.to_step[d] = step, step *= o.shape[d];
        if (!(between = memory_take(bytes = (size_t)step))) {
            fail(c);
            return;
        }
        o.to = between;
    } else {
        o.to = PyArray_BYTES(out);
        for (int d = 0; d < o.ndim; d++) o.to_step[d] = PyArray_STRIDE(out, d);
    }
    if (kind == FFT_TO_HALF) {
        transform_dim(c, &o, (int)last, kind, n);
        o.from = o.to, o.shape[last] = shape[last];
        for (int d = 0; d < o.ndim; d++) o.from_step[d] = o.to_step[d];
    }
    for (int i = whole - 1; i >= 0; i--) {
        transform_dim(c, &o, (int)dims[i], FFT_COMPLEX, o.shape[dims[i]]);
        o.from = o.to;
        for (int d = 0; d < o.ndim; d++) o.from_step[d] = o.to_step[d];
    }
    if (kind == FFT_FROM_HALF) {
        o.to = PyArray_BYTES(out);
        for (int d = 0; d < o.ndim; d++) o.to_step[d] = PyArray_STRIDE(out, d);
        transform_dim(c, &o, (int)last, kind, n);
    }
    if (between) memory_give(between, bytes);
}

const Entry fft_entries[] = {
    BOUND("fft_forward", fft, .which = FFT_COMPLEX), BOUND("fft_backward", fft, .which = FFT_BACK),
    BOUND("fft_real", fft, .which = FFT_TO_HALF), BOUND("fft_to_real", fft, .which = FFT_FROM_HALF), {NULL},
};
