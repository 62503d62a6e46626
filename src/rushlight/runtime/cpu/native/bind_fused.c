/* Chains of pointwise kernels in one pass: a small program of steps, run block by block in the cache. */
#include "arrays.h"

#include "codes.h"

#define BLOCK 512     /* floats; a handful of blocks stay in the first level cache */
#define MOST_STEPS 24
#define MOST_INPUTS 8

enum { RELU, RELU_GRAD, UNARY, BINARY, SCALAR, GRAD };

/* One step as runtime/cpu/fused.py packs it. Operands: 0, 1, ... inputs; -1, -2, ... values of earlier steps. */
typedef struct {
    int32_t kind, which, a, b;
    float scalar;
} Step;

typedef struct {
    const Step *steps;
    idx count, n;
    const float *inputs[MOST_INPUTS];
    float *out;
} Chain;

static void chain_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Chain *c = what;
    float values[MOST_STEPS][BLOCK] __attribute__((aligned(64)));
    const idx blocks = (c->n + BLOCK - 1) / BLOCK;
    for (idx block = share(blocks, i, parts); block < share(blocks, i + 1, parts); block++) {
        const idx from = block * BLOCK, n = c->n - from < BLOCK ? c->n - from : BLOCK;
        for (idx s = 0; s < c->count; s++) {
            const Step *step = &c->steps[s];
            const float *a = step->a < 0 ? values[-1 - step->a] : c->inputs[step->a] + from;
            const float *b = step->b < 0 ? values[-1 - step->b] : c->inputs[step->b] + from;
            float *out = s == c->count - 1 ? c->out + from : values[s];
            switch (step->kind) {
            case RELU: RL->relu(a, out, n); break;
            case RELU_GRAD: RL->relu_grad(a, b, out, n); break;
            case UNARY: RL->unary(step->which, a, out, n); break;
            case BINARY: RL->binary(step->which, a, b, out, n); break;
            case SCALAR: RL->binary_scalar(step->which, a, step->scalar, out, n); break;
            case GRAD: RL->unary_grad(step->which, a, b, out, n); break;
            }
        }
    }
}

/* Whether every operand of every step exists: the packed steps come from Python. */
static int is_sound(const Step *steps, idx count, Py_ssize_t inputs) {
    for (idx s = 0; s < count; s++) {
        const Step *step = &steps[s];
        if (step->kind < RELU || step->kind > GRAD || step->which < 0) return 0;
        if (step->a >= inputs || step->b >= inputs || -step->a > s || -step->b > s) return 0;
    }
    return 1;
}

/* Whether two arrays have their numbers in the same order of memory. */
static int lies_as(PyArrayObject *a, PyArrayObject *b) {
    if (PyArray_NDIM(a) != PyArray_NDIM(b)) return 0;
    for (int d = 0; d < PyArray_NDIM(a); d++)
        if (PyArray_DIM(a, d) != PyArray_DIM(b, d) || (PyArray_DIM(a, d) != 1 && PyArray_STRIDE(a, d) != PyArray_STRIDE(b, d))) return 0;
    return 1;
}

static void fused(Call *c) {
    PyObject *code = attr_of(c, "code");
    PyArrayObject *like = strided(c, 0); /* NumPy's bodies answer scalars, which are no arrays */
    if (c->ends || !need(c, PyBytes_Check(code) && c->count <= MOST_INPUTS && is_filled(like))) return;
    Chain chain = {.steps = (const Step *)PyBytes_AS_STRING(code), .count = PyBytes_GET_SIZE(code) / (idx)sizeof(Step), .n = PyArray_SIZE(like)};
    if (!need(c, chain.count >= 1 && chain.count <= MOST_STEPS && is_sound(chain.steps, chain.count, c->count))) return;
    for (int i = 0; i < c->count; i++) {
        PyArrayObject *a = strided(c, i);
        if (!a || !need(c, lies_as(a, like))) return;
        chain.inputs[i] = DATA(a);
    }
    if ((chain.out = new_made(c, array_dense(like)))) run_shared(chain_part, &chain, chain.n / 4096 + 1, 0.3 * (double)chain.count * (double)chain.n);
}

const Entry fused_entries[] = {BOUND("fused", fused, .repeats = 1), {NULL}};

/* What a step may be, which is told to Python: (name, kind, which); names have their option behind them, and where a number stands. */
PyObject *m_codes(PyObject *module, PyObject *unused) {
    enum { U = UNARY, B = BINARY, G = GRAD };
    static const struct { const char *name; int kind, which; } codes[] = {
        POINT_CODES
        {"relu", RELU, 0}, {"relu_grad", RELU_GRAD, 0}, {"cube", UNARY, U_CUBE},
        {"number sub", SCALAR, B_RSUB}, {"number div", SCALAR, B_RDIV}, /* not as those above */
    };
    PyObject *found = PyDict_New();
    for (size_t i = 0; found && i < sizeof codes / sizeof *codes; i++) {
        PyObject *code = Py_BuildValue("ii", codes[i].kind, codes[i].which);
        if (!code || PyDict_SetItemString(found, codes[i].name, code) < 0) Py_CLEAR(found);
        Py_XDECREF(code);
    }
    return found;
}
