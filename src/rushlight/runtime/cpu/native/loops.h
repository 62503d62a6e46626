/* All loops of one instruction set, and the table of them. Included by the isa_*.c files. */
#include "codes.h"
#include "simd.h"
#include "table.h"

#include "k_move.h"
#include "k_half.h"
#include "k_gemm.h"
#include "k_conv.h"
#include "k_weight.h"
#include "k_depth.h"
#include "k_pool.h"
#include "k_modulo.h"
#include "k_gamma.h"
#include "k_point.h"
#if defined(__aarch64__)
#include "k_angles.h"
#endif
#include "k_active.h"
#include "k_loss.h"
#include "k_three.h"
#include "k_sample.h"
#include "k_softmax.h"
#include "k_norm.h"
#include "k_update.h"
#include "k_recurrent.h"
#include "k_random.h"
#include "k_linear.h"

const Loops K(loops) = {
    .name = ISA_NAME,
    .lanes = VL,
    .gemm = K(gemm),
    .gemm_scratch = K(gemm_scratch),
    .transpose = K(transpose),
    .copy_rows = K(copy_rows),
    .reverse = K(reverse),
    .widen = K(widen),
    .narrow = K(narrow),
    .conv_block = K(conv_block),
    .conv_places = K(conv_places),
    .conv_pack = K(conv_pack),
    .conv_run = K(conv_run),
    .whole_rows = WHOLE_ROWS,
    .corr_run = K(corr_run),
    .outer_width = K(outer_width),
    .outer_run = K(outer_run),
    .depth = K(depth),
    .depth_spread = K(depth_spread),
    .depth_weight = K(depth_weight),
    .max_2x2 = K(max_2x2),
#if defined(__x86_64__) && VL == 16
    .spread_2x2 = K(spread_2x2),
#endif
    .max_row = K(max_row),
    .add_row = K(add_row),
    .relu = K(relu),
    .relu_grad = K(relu_grad),
    .unary = K(unary),
    .binary = K(binary),
    .binary_scalar = K(binary_scalar),
    .whole_divide = K(whole_divide),
    .log_gamma = K(log_gamma),
    .unary_grad = K(unary_grad),
    .active = K(active),
    .active_grad = K(active_grad),
    .sum = K(sum),
    .extreme = K(extreme),
    .add_into = K(add_into),
    .three = K(three),
    .lerp_by = K(lerp_by),
    .mix_rows = K(mix_rows),
    .mix_places = K(mix_places),
    .sample_axis = K(sample_axis),
    .sample_join = K(sample_join),
    .loss = K(loss),
    .loss_grad = K(loss_grad),
    .softmax = K(softmax),
    .softmax_sums = K(softmax_sums),
    .softmax_again = K(softmax_again),
    .softmax_grad = K(softmax_grad),
    .softmax_columns = K(softmax_columns),
    .softmax_columns_grad = K(softmax_columns_grad),
    .moments = K(moments),
    .affine = K(affine),
    .column_moments = K(column_moments),
    .column_affine = K(column_affine),
    .column_sums = K(column_sums),
    .column_back = K(column_back),
    .norm_sums = K(norm_sums),
    .norm_back = K(norm_back),
    .layer_norm = K(layer_norm),
    .layer_norm_grad = K(layer_norm_grad),
    .rms_norm = K(rms_norm),
    .rms_norm_grad = K(rms_norm_grad),
    .sgd = K(sgd),
    .adam = K(adam),
    .rmsprop = K(rmsprop),
    .adagrad = K(adagrad),
    .twist = K(twist),
    .temper = K(temper),
    .fractions = K(fractions),
    .below = K(below),
    .lstm_cell = K(lstm_cell),
    .lstm_cell_grad = K(lstm_cell_grad),
    .gru_cell = K(gru_cell),
    .gru_cell_grad = K(gru_cell_grad),
    .solve_panel_f = K(solve_panel_f),
    .solve_panel_d = K(solve_panel_d),
    .solve_column_f = K(solve_column_f),
    .solve_column_d = K(solve_column_d),
    .cholesky_f = K(cholesky_f),
    .cholesky_d = K(cholesky_d),
};
