/* Strips of rows, of all images, shared out to threads; loops in k_conv.h. */
#include "strips.h"

idx conv_count(const Conv *v, idx width, idx rows) {
    const idx lanes = v->loops->lanes;
    if (!v->flat) return rows * ((width + lanes - 1) / lanes);
    return (rows * v->from_row - (v->from_row - width) + lanes - 1) / lanes;
}

static idx vectors_of(const Conv *v, idx rows) { return conv_count(v, v->width, rows); }

/* Rows [y, y + rows) of an image's plane z and group g, which have the same taps. */
static void conv_rows(const Conv *v, idx image, idx g, idx z, idx y, idx rows, const float *buf, float *scratch) {
    Taps t = v->taps;
    float *out = v->out + image * v->out_image + g * t.outs * v->out_channel + z * v->to_plane + y * v->to_row;
    t.all = t.taps;
    t.vectors = vectors_of(v, rows);
    if (v->range) {
        t.first = v->range[2 * y];
        t.taps = v->range[2 * y + 1] - t.first;
        t.tap += t.first;
    }
    if (t.taps) {
        v->loops->conv_run(&t, buf + v->base + g * v->group_channels * v->channel + z * v->from_plane + y * v->from_row,
                           v->packed + g * v->packed_group, v->bias ? v->bias + g * t.outs : NULL,
                           v->flat ? scratch : out, v->flat ? v->flat_floats : v->out_channel);
        if (!v->flat) return;
    }
    for (idx o = 0; o < t.outs; o++) {
        const float *from = scratch + o * v->flat_floats;
        float *to = out + o * v->out_channel;
        for (idx i = 0; i < rows; i++, from += v->from_row, to += v->to_row)
            if (t.taps) row_copy(to, from, v->width);
            else memset(to, 0, (size_t)v->width * 4);
    }
}

/* Strip `strip` of an image, by part `part`. */
static void conv_strip(const Conv *v, idx image, idx strip, const float *buf, idx part) {
    const idx z = strip / v->strips, y0 = strip % v->strips * v->strip;
    const idx end = v->rows - y0 < v->strip ? v->rows : y0 + v->strip, *range = v->range;
    float *scratch = v->flat ? v->scratch + part * v->taps.outs * v->flat_floats : NULL;
    for (idx g = 0; g < v->groups; g++)
        for (idx y = y0, next; y < end; y = next) {
            next = range ? y + 1 : end;
            while (next < end && range[2 * next] == range[2 * y] && range[2 * next + 1] == range[2 * y + 1]) next++;
            conv_rows(v, image, g, z, y, next - y, buf, scratch);
        }
}

static void conv_images(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    float *buf = v->direct ? NULL : v->bufs + i * v->buf_floats;
    for (idx n = share(v->n, i, parts); n < share(v->n, i + 1, parts); n++) {
        const float *x = v->x + n * v->x_stride[0];
        if (!v->direct)
            fill_image(&v->buffer, x, v->size, v->x_stride + 1, v->channels, n == share(v->n, i, parts), buf);
        for (idx s = 0; s < v->planes * v->strips; s++) conv_strip(v, n, s, v->direct ? x : buf, i);
    }
}

static void conv_strips(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    const idx strips = v->planes * v->strips, all = v->n * strips;
    for (idx j = share(all, i, parts); j < share(all, i + 1, parts); j++) {
        const idx n = j / strips;
        conv_strip(v, n, j % strips, v->direct ? v->x + n * v->x_stride[0] : v->bufs + n * v->buf_floats, i);
    }
}

static void conv_fills(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    for (idx n = share(v->n, i, parts); n < share(v->n, i + 1, parts); n++)
        fill_image(&v->buffer, v->x + n * v->x_stride[0], v->size, v->x_stride + 1, v->channels, 1,
                   v->bufs + n * v->buf_floats);
}

/* How vectors lie over `rows` rows of `width` results, whose inputs are `row` apart: the way that takes fewer
 * of them. False when most of a vector would be wasted either way. */
int conv_form(Conv *v, idx width, idx rows, idx row) {
    const Loops *fit = loops_for_width(width);
    const idx flat = (rows * row - (row - width) + RL->lanes - 1) / RL->lanes;
    v->flat = !fit || 6 * flat < 5 * rows * ((width + fit->lanes - 1) / fit->lanes);
    v->loops = v->flat ? RL : fit;
    return !v->flat || 4 * rows * width >= flat * RL->lanes;
}

/* Lists of vectors for a strip of rows of `width` results; the last vector of a row overlaps the one
 * before, so that nothing is read or written beyond the row. */
int conv_vectors(Conv *v, idx width) {
    const idx lanes = v->loops->lanes;
    v->width = width;
    v->per_row = (width + lanes - 1) / lanes;
    const idx count = vectors_of(v, v->strip);
    v->flat_floats = count * lanes;
    idx *list = PyMem_RawMalloc((size_t)(2 * count) * sizeof(idx));
    if (!list) return -1;
    for (idx i = 0; v->flat && i < count; i++) list[i] = list[count + i] = i * lanes;
    for (idx y = 0; !v->flat && y < v->strip; y++)
        for (idx q = 0; q < v->per_row; q++) {
            const idx at = (q + 1) * lanes <= width ? q * lanes : width - lanes;
            list[y * v->per_row + q] = y * v->from_row + at;
            list[count + y * v->per_row + q] = y * v->to_row + at;
        }
    v->taps.from = list;
    v->taps.to = list + count;
    return 0;
}

#define STRIP_FLOATS 65536 /* inputs of a strip: they stay in the second cache for all output channels */

void conv_strip_size(Conv *v, idx rows, idx floats_per_row) {
    idx most = STRIP_FLOATS / (floats_per_row ? floats_per_row : 1);
    if (most < 4) most = 4;
    v->rows = rows;
    v->strips = (rows + most - 1) / most;
    v->strip = (rows + v->strips - 1) / v->strips;
}

/* Compute all images; `flops` of the whole. Results are written to v->out. */
int conv_compute(Conv *v, double flops) {
    if (v->n * v->planes * v->rows * v->width * v->taps.outs == 0) return 0; /* no results, no scratch memory */
    const double ns = flops / FLOPS_PER_NS;
    const idx parts = threads_parts(ns, v->n * v->planes * v->strips);
    const int by_image = v->n % parts == 0 || v->n >= 4 * parts;
    v->buf_floats = v->channels * v->buffer.channel + SLACK;
    const size_t bytes = v->direct ? 0 : (size_t)(v->buf_floats * (by_image ? parts : v->n)) * 4;
    const size_t scratch_bytes = v->flat ? (size_t)(parts * v->taps.outs * v->flat_floats) * 4 : 0;
    if (bytes && !(v->bufs = memory_take(bytes))) return -1;
    if (scratch_bytes && !(v->scratch = memory_take(scratch_bytes))) {
        if (bytes) memory_give(v->bufs, bytes);
        return -1;
    }
    if (by_image) {
        run_parts(conv_images, v, parts, ns);
    } else {
        if (!v->direct) run_parts(conv_fills, v, v->n < parts ? v->n : parts, ns);
        run_parts(conv_strips, v, parts, ns);
    }
    if (bytes) memory_give(v->bufs, bytes);
    if (scratch_bytes) memory_give(v->scratch, scratch_bytes);
    return 0;
}

size_t packed_floats(const Loops *loops, idx outs, idx taps) {
    idx width = 0;
    for (idx o = 0; o < outs;) {
        const idx block = loops->conv_block(outs - o);
        width += block;
        o += block < outs - o ? block : outs - o;
    }
    return (size_t)(width * taps);
}

/* The weights of all groups, `group` floats apart, in the order in which the taps want them. */
void pack_weights(const Conv *v, const float *w, idx group, idx o_stride, const idx *place, float *packed) {
    const int64_t begin = conversion_begin();
    for (idx i = 0; i < v->groups; i++)
        v->loops->conv_pack(w + i * group, v->taps.outs, o_stride, v->taps.taps, place,
                            packed + (size_t)i * v->packed_group);
    conversion_end(WEIGHT_PACKED, begin, v->packed_group * (size_t)v->groups * 4);
}
