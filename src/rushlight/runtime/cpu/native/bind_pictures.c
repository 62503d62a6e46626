/* Pictures of bytes gathered, their channels in planes, and each byte replaced by its channel's number for it. */
#include "arrays.h"

#define BYTES 256 /* numbers in a channel's table */

typedef struct {
    const uint8_t *from;
    const char *table;
    const int64_t *at; /* which pictures; NULL: all, in order */
    char *out;
    idx pictures, count, channels, rows, width; /* rows of a picture; one where they follow each other without a gap */
    idx picture_step, channel_step, row_step, step;
    int bytes; /* of a number */
} Pictures;

/* Bytes that come in words: where two loads or stores are made in a cycle, and not more, a load for each byte is dear. */
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define EIGHT 8
#else
#define EIGHT 0
#endif
#define AT(words, b) ((words)[(b) / 8] >> 8 * ((b) % 8) & 255)

/* A row of one channel, and one of pixels of three that lie beside each other. */
#define ROW(type) \
    static void row_##type(const uint8_t *restrict from, idx step, const type *restrict table, type *restrict out, idx n) { \
        idx i = 0; \
        for (; EIGHT && step == 1 && i + 8 <= n; i += 8) { \
            uint64_t word[1]; \
            memcpy(word, from + i, sizeof word); \
            for (int j = 0; j < 8; j++) out[i + j] = table[AT(word, j)]; \
        } \
        for (; i < n; i++) out[i] = table[from[i * step]]; \
    } \
    static void pixels_##type(const uint8_t *restrict from, const type *restrict red, type *restrict r, type *restrict g, \
                              type *restrict b, idx n) { \
        const type *restrict green = red + BYTES, *restrict blue = green + BYTES; \
        idx i = 0; \
        for (; EIGHT && i + 8 <= n; i += 8) { \
            uint64_t words[3]; \
            memcpy(words, from + 3 * i, sizeof words); \
            for (int j = 0; j < 8; j++) r[i + j] = red[AT(words, 3 * j)]; \
            for (int j = 0; j < 8; j++) g[i + j] = green[AT(words, 3 * j + 1)]; \
            for (int j = 0; j < 8; j++) b[i + j] = blue[AT(words, 3 * j + 2)]; \
        } \
        for (; i < n; i++) { \
            r[i] = red[from[3 * i]]; \
            g[i] = green[from[3 * i + 1]]; \
            b[i] = blue[from[3 * i + 2]]; \
        } \
    } \
    static void rows_##type(const Pictures *p, const uint8_t *from, idx picture, idx row) { \
        const type *table = (const type *)p->table; \
        const idx plane = p->rows * p->width; \
        type *out = (type *)p->out + picture * p->channels * plane + row * p->width; \
        if (p->channels == 3 && p->step == 3 && p->channel_step == 1) { \
            pixels_##type(from, table, out, out + plane, out + 2 * plane, p->width); \
            return; \
        } \
        for (idx c = 0; c < p->channels; c++) \
            row_##type(from + c * p->channel_step, p->step, table + c * BYTES, out + c * plane, p->width); \
    }
ROW(uint8_t)
ROW(uint16_t)
ROW(uint32_t)
ROW(uint64_t)

static void pictures_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Pictures *p = what;
    const idx all = p->count * p->rows, end = share(all, i + 1, parts);
    for (idx k = share(all, i, parts); k < end; k++) {
        const idx picture = k / p->rows, row = k % p->rows;
        idx at = p->at ? p->at[picture] : picture;
        if (at < 0) at += p->pictures; /* counted from the end, as NumPy has it */
        const uint8_t *from = p->from + at * p->picture_step + row * p->row_step;
        if (p->bytes == 4) rows_uint32_t(p, from, picture, row);
        else if (p->bytes == 8) rows_uint64_t(p, from, picture, row);
        else if (p->bytes == 2) rows_uint16_t(p, from, picture, row);
        else rows_uint8_t(p, from, picture, row);
    }
}

/* Whether some picture is none: NumPy's body says so. */
static int is_missing(const void *what) {
    const Pictures *p = what;
    for (idx j = 0; p->at && j < p->count; j++)
        if (p->at[j] < -p->pictures || p->at[j] >= p->pictures) return 1;
    return 0;
}

/* (pictures (N, C, H, W) of bytes in any order of memory, table (C, 256), places or None) -> (n, C, H, W). */
static void pictures_by_table(Call *c) {
    PyArrayObject *x = array_at(c, 0), *table = any_type(c, 1);
    if (c->ends || !need(c, c->count == 3 && is_type((PyObject *)x, NPY_UINT8) && PyArray_NDIM(x) == 4 && PyArray_NDIM(table) == 2)) return;
    const int type = PyArray_TYPE(table), bytes = (int)PyArray_ITEMSIZE(table);
    if (!need(c, (PyTypeNum_ISNUMBER(type) || type == NPY_BOOL) && bytes <= 8 && PyArray_DIM(table, 0) == PyArray_DIM(x, 1) &&
                     PyArray_DIM(table, 1) == BYTES))
        return;
    npy_intp shape[4];
    memcpy(shape, PyArray_DIMS(x), sizeof shape);
    const npy_intp *steps = PyArray_STRIDES(x);
    Pictures p = {.from = PyArray_DATA(x), .table = PyArray_BYTES(table), .bytes = bytes};
    p.pictures = p.count = shape[0], p.channels = shape[1], p.rows = shape[2], p.width = shape[3];
    p.picture_step = steps[0], p.channel_step = steps[1], p.row_step = steps[2], p.step = steps[3];
    if (c->args[2] != Py_None) {
        PyArrayObject *at = typed(c, 2, NPY_INT64);
        if (!at || !need(c, PyArray_NDIM(at) == 1)) return;
        p.at = PyArray_DATA(at), p.count = shape[0] = PyArray_SIZE(at);
    }
    if (!need(c, !run_check(is_missing, &p)) || !(p.out = new_array(c, 4, shape, type))) return;
    if (p.row_step == p.step * p.width) p.width *= p.rows, p.rows = 1;
    run_shared(pictures_part, &p, p.count * p.rows, 0.5 * (double)PyArray_SIZE(c->result[0]));
}

const Entry picture_entries[] = {BOUND("pictures_by_table", pictures_by_table, .repeats = 1), {NULL}};
