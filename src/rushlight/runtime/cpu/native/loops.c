/* The loops of one instruction set: setup.py compiles this file once for each set (LOOPS_AVX512, LOOPS_AVX2, or neither) and each of
 * its parts (LOOPS_IMAGES, LOOPS_PRODUCTS, LOOPS_NUMBERS), so that cores share the work. */
/* The system's headers come first: the pragma is for our functions only. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(LOOPS_AVX512)
#define VL 16
#define ISA avx512
#define ISA_NAME "AVX512"
#define TARGET "avx512f,avx512dq,avx512vl,fma"
#elif defined(LOOPS_AVX2)
#define VL 8
#define ISA avx2
#define ISA_NAME "AVX2"
#define TARGET "avx2,fma,f16c"
#else /* what every machine of this architecture has */
#define VL 4
#define ISA base
#if defined(__aarch64__)
#define ISA_NAME "NEON"
#elif defined(__x86_64__)
#define ISA_NAME "SSE2"
#else
#define ISA_NAME "plain C"
#endif
#endif

#if defined(TARGET)
#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define PRAGMA_OF(...) PRAGMA(__VA_ARGS__)
#if defined(__clang__)
PRAGMA_OF(clang attribute push(__attribute__((target(TARGET))), apply_to = function))
#else
PRAGMA_OF(GCC target(TARGET))
#endif
#endif

#include "codes.h"
#include "simd.h"
#include "table.h"

#define HAS(name) to->name = K(name);

#if defined(LOOPS_IMAGES) /* those of narrower sets too: `loops_for_width` */
#include "k_move.h"
#include "k_conv.h"
#include "k_depth.h"

void K(images)(Loops *to) {
    to->name = ISA_NAME;
    to->lanes = VL;
    to->whole_rows = WHOLE_ROWS;
    HAS(transpose) HAS(copy_rows) HAS(lay) HAS(reverse)
    HAS(conv_block) HAS(conv_places) HAS(conv_pack) HAS(conv_run)
    HAS(depth) HAS(depth_spread) HAS(depth_weight)
}
#endif

#if defined(LOOPS_PRODUCTS)
#include "k_half.h"
#include "k_gemm.h"
#include "k_weight.h"
#include "k_pool.h"
#include "k_sample.h"
#include "k_random.h"
#include "k_linear.h"
#include "k_fft.h"

void K(products)(Loops *to) {
    HAS(widen) HAS(narrow)
    HAS(gemm) HAS(gemm_scratch)
    HAS(corr_run) HAS(outer_width) HAS(outer_run)
    HAS(max_2x2) HAS(max_row) HAS(add_row)
#if defined(__x86_64__) && VL == 16
    HAS(spread_2x2)
#endif
    HAS(sample_axis) HAS(sample_join)
    HAS(twist) HAS(temper) HAS(fractions) HAS(below) HAS(normals) HAS(scaled_f) HAS(scaled_d)
    HAS(solve_panel_f) HAS(solve_panel_d) HAS(solve_column_f) HAS(solve_column_d) HAS(cholesky_f) HAS(cholesky_d)
    HAS(fft_f) HAS(fft_d)
}
#endif

#if defined(LOOPS_NUMBERS)
#include "k_modulo.h"
#include "k_gamma.h"
#include "k_point.h"
#if defined(__aarch64__)
#include "k_angles.h"
#endif
#include "k_loss.h"
#include "k_three.h"
#include "k_softmax.h"
#include "k_norm.h"
#include "k_update.h"
#include "k_recurrent.h"

void K(numbers)(Loops *to) {
    HAS(relu) HAS(relu_grad) HAS(unary) HAS(unary_grad) HAS(binary) HAS(binary_scalar) HAS(active) HAS(active_grad)
    HAS(whole_divide) HAS(log_gamma)
    HAS(sum) HAS(sum_columns) HAS(extreme) HAS(add_into)
    HAS(three) HAS(lerp_by) HAS(mix_rows) HAS(mix_places)
    HAS(loss) HAS(loss_grad)
    HAS(softmax) HAS(softmax_sums) HAS(softmax_again) HAS(softmax_grad) HAS(softmax_columns) HAS(softmax_columns_grad)
    HAS(moments) HAS(affine) HAS(norm_sums) HAS(norm_back)
    HAS(column_moments) HAS(column_affine) HAS(column_sums) HAS(column_back)
    HAS(layer_norm) HAS(layer_norm_grad) HAS(rms_norm) HAS(rms_norm_grad)
    HAS(sgd) HAS(adam) HAS(rmsprop) HAS(adagrad)
    HAS(lstm_cell) HAS(lstm_cell_grad) HAS(gru_cell) HAS(gru_cell_grad)
}
#endif

#if defined(TARGET) && defined(__clang__)
#pragma clang attribute pop
#endif
