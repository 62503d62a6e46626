/* Strips of rows, of all images, shared out to threads; loops in k_conv.h. */
#include "strips.h"

idx conv_count(const Conv *v, idx width, idx rows) {
    const idx lanes = v->loops->lanes;
    if (!v->flat) return rows * ((width + lanes - 1) / lanes);
    return (rows * v->from_row - (v->from_row - width) + lanes - 1) / lanes;
}

static idx vectors_of(const Conv *v, idx rows) { return conv_count(v, v->width, rows); }

/* -- vectors ---------------------------------------------------------------------------------------- */

/* Where vectors over `rows` rows of some images begin and go to. */
typedef struct {
    idx rows, images; /* of the lists, or 0 */
    idx *from, *to, *some;
} Lists;

static void list_one(Lists *l, idx at, idx from, idx to, idx some) {
    l->from[at] = from, l->to[at] = to, l->some[at] = some;
}

/* Rows that run on: the last vector overlaps the one before, so that nothing is read behind the last row. */
static void list_flat(const Conv *v, idx rows, idx images, idx from_image, Lists *l) {
    const idx lanes = v->loops->lanes, floats = (rows - 1) * v->from_row + v->width, count = vectors_of(v, rows);
    for (idx n = 0, i = 0; n < images; n++)
        for (idx q = 0; q < count; q++, i++) {
            const idx at = (q + 1) * lanes > floats && floats >= lanes ? floats - lanes : q * lanes;
            list_one(l, i, n * from_image + at, n * v->taps.outs * v->flat_floats + at, lanes);
        }
}

/* Row by row: the last vector overlaps the one before, or is a part of one. */
static void list_rows(const Conv *v, idx rows, idx images, idx from_image, Lists *l) {
    const idx lanes = v->loops->lanes, width = v->width;
    for (idx y = 0, i = 0; y < rows; y++)
        for (idx n = 0; n < images; n++)
            for (idx q = 0; q < v->per_row; q++, i++) {
                const idx at = (q + 1) * lanes <= width || v->partial ? q * lanes : width - lanes;
                const idx some = width - at < lanes ? width - at : lanes;
                list_one(l, i, n * from_image + y * v->from_row + at, n * v->out_image + y * v->to_row + at, some);
            }
}

static void list_vectors(const Conv *v, idx rows, idx images, Lists *l) {
    const idx from_image = v->direct ? v->x_stride[0] : v->buf_floats;
    if (l->rows == rows && l->images == images) return;
    l->rows = rows, l->images = images;
    if (v->flat) list_flat(v, rows, images, from_image, l);
    else list_rows(v, rows, images, from_image, l);
}

/* -- strips ----------------------------------------------------------------------------------------- */

/* A part of the work: some images, the buffers of which begin at `buf`. */
typedef struct {
    idx image, images, part;
    const float *buf;
    Lists lists;
} Share;

static Share share_of(const Conv *v, idx part) {
    const idx most = v->count * v->together;
    idx *list = v->lists + part * 3 * most;
    return (Share){.part = part, .lists = {.from = list, .to = list + most, .some = list + 2 * most}};
}

/* Results from the scratch buffer, where they lie with gaps, to their places. */
static void close_gaps(const Conv *v, idx outs, idx rows, const float *from_image, float *out) {
    for (idx o = 0; o < outs; o++)
        RL->copy_rows(from_image + o * v->flat_floats, v->from_row, out + o * v->out_channel, v->to_row, rows, v->width);
}

/* Rows [y, y + rows) of the images' plane z and group g, which have the same taps. */
static void conv_rows(const Conv *v, Share *s, idx g, idx z, idx y, idx rows) {
    Taps t = v->taps;
    float *out = v->out + s->image * v->out_image + g * t.outs * v->out_channel + z * v->to_plane + y * v->to_row;
    float *scratch = v->flat ? v->scratch + s->part * v->together * t.outs * v->flat_floats : NULL;
    t.all = t.taps;
    if (v->range) {
        t.first = v->range[2 * y];
        t.taps = v->range[2 * y + 1] - t.first;
        t.tap += t.first;
    }
    if (!t.taps) {
        for (idx n = 0; n < s->images; n++)
            for (idx o = 0; o < t.outs; o++)
                for (idx i = 0; i < rows; i++)
                    memset(out + n * v->out_image + o * v->out_channel + i * v->to_row, 0, (size_t)v->width * 4);
        return;
    }
    list_vectors(v, rows, s->images, &s->lists);
    t.vectors = vectors_of(v, rows) * s->images;
    t.from = s->lists.from, t.to = s->lists.to, t.some = v->partial ? s->lists.some : NULL;
    v->loops->conv_run(&t, s->buf + v->base + g * v->group_channels * v->channel + z * v->from_plane + y * v->from_row,
                       v->packed + g * v->packed_group, v->bias ? v->bias + g * t.outs : NULL,
                       v->flat ? scratch : out, v->flat ? v->flat_floats : v->out_channel);
    for (idx n = 0; v->flat && n < s->images; n++)
        close_gaps(v, t.outs, rows, scratch + n * t.outs * v->flat_floats, out + n * v->out_image);
}

static void conv_strip(const Conv *v, Share *s, idx strip) {
    const idx z = strip / v->strips, y0 = strip % v->strips * v->strip;
    const idx end = v->rows - y0 < v->strip ? v->rows : y0 + v->strip, *range = v->range;
    for (idx g = 0; g < v->groups; g++)
        for (idx y = y0, next; y < end; y = next) {
            next = range ? y + 1 : end;
            while (next < end && range[2 * next] == range[2 * y] && range[2 * next + 1] == range[2 * y + 1]) next++;
            conv_rows(v, s, g, z, y, next - y);
        }
}

static void conv_images(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    float *bufs = v->direct ? NULL : v->bufs + i * v->together * v->buf_floats;
    const idx first = share(v->n, i, parts), last = share(v->n, i + 1, parts);
    Share s = share_of(v, i);
    for (idx n = first; n < last; n += s.images) {
        s.image = n, s.images = last - n < v->together ? last - n : v->together;
        s.buf = v->direct ? v->x + n * v->x_stride[0] : bufs;
        for (idx k = 0; k < s.images && !v->direct; k++)
            fill_image(&v->buffer, v->x + (n + k) * v->x_stride[0], v->size, v->x_stride + 1, v->channels, n == first,
                       bufs + k * v->buf_floats);
        for (idx j = 0; j < v->planes * v->strips; j++) conv_strip(v, &s, j);
    }
}

static void conv_strips(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    const idx strips = v->planes * v->strips, all = v->n * strips;
    Share s = share_of(v, i);
    s.images = 1;
    for (idx j = share(all, i, parts); j < share(all, i + 1, parts); j++) {
        s.image = j / strips;
        s.buf = v->direct ? v->x + s.image * v->x_stride[0] : v->bufs + s.image * v->buf_floats;
        conv_strip(v, &s, j % strips);
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
    v->partial = RL->whole_rows && width < RL->lanes && rows <= flat;
    v->flat = !v->partial && (!fit || 6 * flat < 5 * rows * ((width + fit->lanes - 1) / fit->lanes));
    v->loops = v->flat || v->partial ? RL : fit;
    return !(v->flat || v->partial) || 4 * rows * width >= (v->partial ? rows : flat) * RL->lanes;
}

void conv_vectors(Conv *v, idx width) {
    v->width = width;
    v->per_row = (width + v->loops->lanes - 1) / v->loops->lanes;
    v->count = vectors_of(v, v->strip);
    v->flat_floats = v->count * v->loops->lanes;
}

#define STRIP_FLOATS 65536 /* inputs of a strip: they stay in the second cache for all output channels */

void conv_strip_size(Conv *v, idx rows, idx floats_per_row) {
    idx most = STRIP_FLOATS / (floats_per_row ? floats_per_row : 1);
    if (most < 4) most = 4;
    v->rows = rows;
    v->strips = (rows + most - 1) / most;
    v->strip = (rows + v->strips - 1) / v->strips;
}

#define FULL_TILES 3 /* of vectors, from which on the last one, which is not full, does not matter */
#define MOST_TOGETHER 8

idx conv_together(const Conv *v, idx vectors, idx images) {
    const idx wanted = FULL_TILES * v->loops->conv_places(v->taps.outs), floats = v->channels * v->buffer.channel;
    idx together = (wanted + vectors - 1) / vectors;
    if (together > MOST_TOGETHER) together = MOST_TOGETHER;
    if (together * floats > STRIP_FLOATS) together = STRIP_FLOATS / floats;
    if (together > images) together = images;
    return together < 1 ? 1 : together;
}

/* Compute all images; `flops` of the whole. Results are written to v->out. */
int conv_compute(Conv *v, double flops) {
    if (v->n * v->planes * v->rows * v->width * v->taps.outs == 0) return 0; /* no results, no scratch memory */
    const double ns = flops / FLOPS_PER_NS;
    const idx parts = threads_parts(ns, v->n * v->planes * v->strips);
    const int by_image = v->n % parts == 0 || v->n >= 4 * parts;
    const idx beside = v->range ? conv_count(v, v->width, 1) : v->count;
    v->together = by_image ? conv_together(v, beside, (v->n + parts - 1) / parts) : 1;
    v->buf_floats = v->channels * v->buffer.channel + SLACK;
    const size_t bytes = v->direct ? 0 : (size_t)(v->buf_floats * (by_image ? parts * v->together : v->n)) * 4;
    const size_t scratch_bytes = v->flat ? (size_t)(parts * v->together * v->taps.outs * v->flat_floats) * 4 : 0;
    v->lists = table_take((size_t)(parts * 3 * v->count * v->together) * sizeof(idx));
    v->bufs = bytes ? memory_take(bytes) : NULL;
    v->scratch = scratch_bytes ? memory_take(scratch_bytes) : NULL;
    const int status = v->lists && (v->bufs || !bytes) && (v->scratch || !scratch_bytes) ? 0 : -1;
    if (status == 0 && by_image) {
        run_parts(conv_images, v, parts, ns);
    } else if (status == 0) {
        if (!v->direct) run_parts(conv_fills, v, v->n < parts ? v->n : parts, ns);
        run_parts(conv_strips, v, parts, ns);
    }
    if (v->bufs) memory_give(v->bufs, bytes);
    if (v->scratch) memory_give(v->scratch, scratch_bytes);
    table_give(v->lists);
    return status;
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

typedef struct {
    Conv v;
    const float *w;
    idx group, o_stride;
    const idx *place;
    float *packed;
} Packing;

static void pack_part(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Packing *p = what;
    const Conv *v = &p->v;
    const int64_t begin = conversion_begin();
    for (idx i = 0; i < v->groups; i++)
        v->loops->conv_pack(p->w + i * p->group, v->taps.outs, p->o_stride, v->taps.taps, p->place,
                            p->packed + (size_t)i * v->packed_group);
    conversion_end(WEIGHT_PACKED, begin, v->packed_group * (size_t)v->groups * 4);
}

/* The weights of all groups, `group` floats apart, in the order in which the taps want them. */
void pack_weights(const Conv *v, const float *w, idx group, idx o_stride, const idx *place, float *packed) {
    Packing p = {*v, w, group, o_stride, place, packed};
    run_once(pack_part, &p, (double)(v->packed_group * (size_t)v->groups));
}
