/* Running taps over images, for results and for the input's gradient. */
#ifndef RL_STRIPS_H
#define RL_STRIPS_H

#include "conv.h"

typedef struct {
    const Loops *loops;
    Taps taps;          /* of one strip of rows */
    idx width;          /* results of a row */
    idx per_row;        /* vectors of a row */
    int flat;           /* rows are too narrow for vectors: they run on over the gaps between the rows */
    int partial;        /* rows are shorter than a vector, and the rest of one is not stored */
    float *scratch;     /* flat: results with gaps, one per image that is worked on at once and per part */
    idx flat_floats;    /* of one channel of a strip */
    idx together;       /* images worked on at once: small ones do not fill the registers alone */
    idx *lists;         /* of vectors, one per part */
    idx count;          /* vectors of a strip */
    idx strip, strips;  /* rows of a strip; strips of a plane of results */
    idx planes, rows;   /* depth and height of the results */
    idx from_plane, from_row, to_plane, to_row;
    const float *packed;
    size_t packed_group;
    idx groups, group_channels;
    /* the source */
    const float *x;
    idx x_stride[5], size[3];
    Planes buffer;
    idx channel;        /* floats from one channel to the next where taps read */
    int direct;         /* taps read x itself */
    float *bufs;        /* one buffer per image or per part */
    idx buf_floats, base; /* base: where the first result's tap 0 lies */
    const float *bias;
    float *out;
    idx out_image, out_channel;
    idx n, channels;
    const idx *range;   /* per row of results: its first tap and the one after its last; NULL: all taps */
} Conv;

/* How vectors lie; false when most of them would be wasted. */
int conv_form(Conv *v, idx width, idx rows, idx row);
/* Vectors that cover `rows` rows of `width` results. */
idx conv_count(const Conv *v, idx width, idx rows);
/* How many vectors a strip has, whose rows have `width` results. */
void conv_vectors(Conv *v, idx width);
/* How many images are worked on at once where `vectors` are beside each other, and there are `images`. */
idx conv_together(const Conv *v, idx vectors, idx images);
/* How many rows are worked on at once. */
void conv_strip_size(Conv *v, idx rows, idx floats_per_row);
/* All images, to v->out; -1 without memory. */
int conv_compute(Conv *v, double flops);
/* Of the packed weights of a group. */
size_t packed_floats(const Loops *loops, idx outs, idx taps);
/* Of all groups. */
void pack_weights(const Conv *v, const float *w, idx group, idx o_stride, const idx *place, float *packed);

#endif
