/* The seam between bindings and loops: what a loop is told, and the table of loops per instruction set. */
#ifndef RL_TABLE_H
#define RL_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef ptrdiff_t idx;

/* Numbers of an array as another shape shows them: outermost dim first, steps in floats, 0 where it is stretched. */
#define MOST_DIMS 8 /* DIMS of arrays.h */
typedef struct {
    const float *x;
    int dims;
    idx size[MOST_DIMS], step[MOST_DIMS];
} Stepped;

/* C[m][n] (row stride ldc) = A B, added to what C holds when `add`; element (i, k) of A is at
 * a[i * a_row + k * a_col]. `bias` (n floats, or NULL) is added to every row. */
#define MOST_ROWS_HERE 96 /* of A: a B of two vectors' width (2 * lanes floats from row to row) is not packed again */
typedef struct {
    idx m, n, k;
    const float *a, *b, *bias;
    float *c;
    idx a_row, a_col, b_row, b_col, ldc;
    int add;
} Gemm;

/* A Fourier transform of n complex numbers: by steps, or, of a size that has a large prime in it, by chirps and an inner one. */
#define MOST_RADIX 48
#define FFT_STEPS 48
typedef struct Fft {
    idx n, room; /* room: complex numbers of each of two blocks in which it works */
    int steps, radix[FFT_STEPS];
    const void *turns[FFT_STEPS], *roots[FFT_STEPS]; /* of each step, pairs of the type */
    const struct Fft *inner;
    const void *chirp, *filter;
    const void *halves; /* of a transform of 2n real numbers */
} Fft;

/* As many lines as a vector has lanes, or fewer: the lanes behind the last one read it once more. */
enum { FFT_COMPLEX, FFT_TO_HALF, FFT_FROM_HALF, FFT_BACK }; /* the last: complex, too, as a kernel says it */
#define MOST_LANES 16
typedef struct {
    const Fft *fft; /* of half the size for an even number of reals */
    int kind, back, lanes;
    idx n, from_step, to_step; /* steps in numbers of the type, of which a complex one has two */
    char *from[MOST_LANES], *to[MOST_LANES];
    void *a, *b;
    const void *turn; /* what the results are multiplied by, pairs for the lanes, those of the next result turn_step pairs behind; or NULL */
    idx turn_step;
} Lines;

#define FEW_SUMS 8

/* A convolution brought to its simplest form: out[o][q] = sum_k w[k][o] * buf[tap[k] + q].
 * Vectors of VL neighbouring results start at `from[v]` in the buffer and go to `to[v]`. */
typedef struct {
    idx taps;            /* products per result: channels times kernel places */
    idx first, all;      /* where they begin among all for which weights are packed */
    const idx *tap;      /* where each reads, relative to the result's place */
    idx outs;            /* output channels of the group */
    idx vectors;
    const idx *from, *to;
    const idx *some;     /* the floats of each vector that are results; NULL: all, as where `whole_rows` is not so */
} Taps;

/* Rows of gradients against rows of input, for the weight's gradient. */
typedef struct {
    idx taps;
    const idx *tap;
    idx outs, rows, width; /* width: places of a row; for dots a multiple of VL, unless `whole_rows` */
    const idx *x_row;      /* where each row of results starts in the buffer */
    idx g_row, g_out;      /* strides of the gradient's rows and channels */
    idx images, x_image, g_image;
} Corr;

/* A depthwise convolution of images [place][channel], whose places are `x_step` and `y_step` floats apart. */
typedef struct {
    idx in[3], out[3], k[3], s[3], p[3], d[3];
    idx x_step, y_step;
} Depth;

typedef struct {
    const char *name;
    int lanes;
    /* k_gemm.h */
    void (*gemm)(const Gemm *, float *scratch);
    size_t (*gemm_scratch)(const Gemm *);
    /* k_move.h: dst[c * dst_ld + r] = src[r * src_ld + c] */
    void (*transpose)(const float *src, idx rows, idx cols, idx src_ld, float *dst, idx dst_ld);
    /* rows of n floats, each so many floats behind the one before */
    void (*copy_rows)(const float *from, idx from_step, float *to, idx to_step, idx rows, idx n);
    void (*lay)(const Stepped *, idx from, idx count, float *to); /* of a view side by side; LAID_OVER floats behind are written over */
    void (*reverse)(const float *src, float *dst, idx rows, idx n); /* of each row the last one first */
    /* k_half.h: bits of float16 or bfloat16 (codes.h) */
    void (*widen)(int half, const uint16_t *x, float *y, idx n);
    void (*narrow)(int half, const float *x, uint16_t *y, idx n);
    /* k_conv.h */
    idx (*conv_block)(idx outs);
    idx (*conv_places)(idx outs);
    void (*conv_pack)(const float *w, idx outs, idx o_stride, idx taps, const idx *place, float *packed);
    void (*conv_run)(const Taps *, const float *buf, const float *packed, const float *bias, float *out,
                     idx out_stride);
    /* k_weight.h */
    int whole_rows; /* whether rows may end within a vector */
    void (*corr_run)(const Corr *, const float *buf, const float *g, float *gw, int first);
    idx (*outer_width)(idx outs); /* channels of a panel */
    void (*outer_run)(const Corr *, const float *buf, const float *g, float *sums, int first);
    /* k_depth.h: one image of as many channels as there are lanes */
    void (*depth)(const Depth *, const float *x, const float *w, const float *bias, float *y);
    void (*depth_spread)(const Depth *, const float *g, const float *w, float *x);
    void (*depth_weight)(const Depth *, const float *x, const float *g, float *sums);
    /* k_pool.h */
    void (*max_2x2)(const float *x, idx h, idx w, idx row, float *y, int64_t *index);
    int (*spread_2x2)(const float *g, const int64_t *index, idx h, idx w, float *to); /* or NULL */
    void (*max_row)(const float *x, idx n, idx step, int32_t at, float *best, int32_t *index);
    void (*add_row)(const float *x, idx n, idx step, float *sums);
    /* k_point.h: f over n floats; y may be x */
    void (*relu)(const float *x, float *y, idx n);
    void (*relu_grad)(const float *g, const float *y, float *out, idx n);
    void (*unary)(int which, const float *x, float *y, idx n);
    void (*binary)(int which, const float *x, const float *y, float *out, idx n);
    void (*binary_scalar)(int which, const float *x, float y, float *out, idx n);
    /* k_modulo.h, k_gamma.h: whole numbers, a step of 0 for one again and again; numbers above 0 */
    void (*whole_divide)(int which, const int64_t *x, idx x_step, const int64_t *y, idx y_step, int64_t *out, idx n);
    void (*log_gamma)(const float *x, float *out, idx n);
    void (*unary_grad)(int which, const float *g, const float *x, float *out, idx n);
    void (*active)(int which, const float *h, const float *x, float *y, idx n);
    void (*active_grad)(int which, const float *h, const float *g, const float *x, float *out, idx n);
    float (*sum)(const float *x, idx n);
    void (*sum_columns)(idx n, const float *x, idx rows, float *out); /* of rows of n, from 2 to FEW_SUMS */
    float (*extreme)(int low, const float *x, idx n); /* n > 0 */
    void (*add_into)(float *y, const float *x, idx n);
    /* k_loss.h: `by`: what slopes are multiplied with */
    void (*loss)(int which, float beta, const float *x, const float *y, float *out, idx n);
    void (*loss_grad)(int which, float beta, float by, const float *x, const float *y, float *out, idx n);
    /* k_three.h */
    void (*three)(int which, const float *x, const float *y, const float *z, float value, float *out, idx n);
    void (*lerp_by)(const float *x, const float *y, float weight, int from_end, float *out, idx n);
    void (*mix_rows)(const float *x, const idx *row, const float *weight, idx taps, int skip, float *out, idx n);
    void (*mix_places)(const float *x, const int32_t *at, const float *weight, idx taps, int skip, float *out, idx n);
    /* k_sample.h */
    void (*sample_axis)(int mode, int padding, int align, const float *grid, idx step, idx size, idx n, int32_t *at, float *w,
                        float *dw);
    void (*sample_join)(const int32_t *a, const float *wa, const int32_t *b, const float *wb, idx size, idx n, int drop,
                        int32_t *at, float *w);
    /* k_softmax.h: rows of n */
    void (*softmax)(const float *x, float *y, idx rows, idx n, int log, float *tops, float *sums);
    void (*softmax_sums)(const float *x, idx n, float *both);
    void (*softmax_again)(const float *x, float *out, idx n, const float *both, float g);
    void (*softmax_grad)(const float *g, const float *y, float *out, idx rows, idx n, int log);
    /* over the rows of [n][step], for some columns */
    void (*softmax_columns)(const float *x, float *y, idx n, idx step, idx columns, int log);
    void (*softmax_columns_grad)(const float *g, const float *y, float *out, idx n, idx step, idx columns, int log);
    /* k_norm.h */
    void (*moments)(const float *x, idx n, double *sum, double *square, float shift);
    void (*affine)(const float *x, float *y, idx n, float scale, float shift);
    /* over the rows of [rows][step], for some columns; the first row is subtracted before squares are taken */
    void (*column_moments)(const float *x, idx rows, idx step, idx columns, double *sum, double *square);
    void (*column_affine)(const float *x, float *y, idx rows, idx step, idx columns, const float *scale, const float *shift);
    void (*column_sums)(const float *g, const float *x, idx rows, idx step, idx columns, const float *mean, double *sg,
                        double *sgx);
    void (*column_back)(const float *g, const float *x, float *out, idx rows, idx step, idx columns, const float *abc,
                        const float *mean);
    void (*norm_sums)(const float *g, const float *x, idx n, float mean, double *sg, double *sgx);
    void (*norm_back)(const float *g, const float *x, float *out, idx n, float a, float b, float c);
    void (*layer_norm)(const float *x, const float *w, const float *b, float *y, float *mean, float *rstd,
                       idx rows, idx n, float eps);
    void (*layer_norm_grad)(const float *g, const float *x, const float *w, const float *mean,
                            const float *rstd, float *gx, float *gw, float *gb, idx rows, idx n);
    void (*rms_norm)(const float *x, const float *w, float *y, float *rstd, idx rows, idx n, float eps);
    void (*rms_norm_grad)(const float *g, const float *x, const float *w, const float *rstd, float *gx, float *gw,
                          idx rows, idx n);
    /* k_update.h */
    void (*sgd)(float *p, const float *g, float *buf, idx n, const float *h, int flags);
    void (*adam)(float *p, const float *g, float *m, float *v, float *top, idx n, const float *h, int flags);
    void (*rmsprop)(float *p, const float *g, float *v, float *mean, float *b, idx n, const float *h, int flags);
    void (*adagrad)(float *p, const float *g, float *v, idx n, const float *h, int flags);
    /* k_random.h */
    void (*twist)(uint32_t *key);
    void (*temper)(const uint32_t *key, uint32_t *out, idx n);
    void (*fractions)(const uint32_t *words, float *out, idx n);
    void (*below)(const uint32_t *words, float *out, idx n, uint32_t high, uint32_t low);
    void (*normals)(float *u, idx blocks);
    void (*scaled_f)(float *x, idx n, float scale, float shift);
    void (*scaled_d)(double *x, idx n, double scale, double shift);
    /* k_recurrent.h: gates of `rows` rows */
    void (*lstm_cell)(const float *z, const float *c_before, float *gates, float *c, float *h, idx hidden);
    void (*lstm_cell_grad)(const float *gates, const float *c_before, const float *to_h, float *to_c,
                           float *d, idx hidden);
    void (*gru_cell)(const float *xw, const float *z, float *gates, float *inner, float *h, idx hidden);
    void (*gru_cell_grad)(const float *gates, const float *h_before, const float *inner, float *to_h,
                          float *d, float *e, idx hidden);
    /* k_linear.h: rows of a panel are `across` vectors, columns lie for themselves */
    void (*solve_panel_f)(idx n, const float *a, idx a_row, idx a_col, int unit, float *x, idx x_row, int across);
    void (*solve_panel_d)(idx n, const double *a, idx a_row, idx a_col, int unit, double *x, idx x_row, int across);
    void (*solve_column_f)(idx n, const float *a, idx step, int by_rows, int upper, int unit, float *x);
    void (*solve_column_d)(idx n, const double *a, idx step, int by_rows, int upper, int unit, double *x);
    /* k_fft.h */
    void (*fft_f)(const Lines *);
    void (*fft_d)(const Lines *);
    int (*cholesky_f)(idx n, float *u, idx step);
    int (*cholesky_d)(idx n, double *u, idx step);
} Loops;

extern const Loops *RL; /* the best for this machine */
#define FLOPS_PER_NS (7.5 * RL->lanes) /* of one thread, about */
const Loops *loops_for_width(idx width); /* the widest whose vectors fit into `width` floats, or NULL */

#endif
