/* Convolutions: results stay in registers while all taps of all channels pass by.
 *
 * Nothing is unfolded: a tap is an offset into the (padded) image, so a vector of neighbouring results
 * reads a vector of neighbouring inputs. Strides and dilation are offsets too, after the binding has
 * sorted the image by phases; see bind_conv.c. */

/* Output channels in registers, and vectors of places beside them: 24 accumulators of 32 registers
 * (12 of 16 on AVX2). Fewer channels take more places, so that every weight read is used as often. */
#if VL == 8
#define PLACES(block) ((block) == 6 ? 2 : (block) == 4 ? 3 : (block) == 2 ? 6 : 8)
static const int conv_blocks[] = {6, 4, 2, 1};
#else
#define PLACES(block) ((block) == 8 ? 3 : (block) == 6 ? 4 : (block) == 4 ? 6 : 8)
static const int conv_blocks[] = {8, 6, 4, 2, 1};
#endif

/* The width of the next block when `outs` channels are left: the one that wastes least. */
static idx K(conv_block)(idx outs) {
    const int widest = conv_blocks[0];
    if (outs >= widest) return widest;
    idx best = widest;
    for (size_t i = 0; i < sizeof conv_blocks / sizeof *conv_blocks; i++)
        if (conv_blocks[i] >= outs) best = conv_blocks[i];
    return best;
}

/* Vectors of places that are worked on at once beside the first block of `outs` channels. */
static idx K(conv_places)(idx outs) { return PLACES(K(conv_block)(outs)); }

#define RUN 8 /* neighbours from which on weights are transposed in squares */

/* w[o * o_stride + place[k]] as packed[block][k][o in block], zeros where a block has no channel. */
static void K(conv_pack)(const float *w, idx outs, idx o_stride, idx taps, const idx *place, float *packed) {
    for (idx o = 0; o < outs;) {
        const idx block = K(conv_block)(outs - o);
        const idx here = outs - o < block ? outs - o : block;
        const float *from = w + o * o_stride;
        if (here < block) memset(packed, 0, (size_t)(taps * block) * 4);
        for (idx k = 0, end; k < taps; k = end) {
            for (end = k + 1; end < taps && place[end] == place[end - 1] + 1;) end++;
            if (end - k >= RUN) {
                K(transpose)(from + place[k], here, end - k, o_stride, packed + k * block, block);
                continue;
            }
            for (idx q = k; q < end; q++)
                for (idx i = 0; i < here; i++) packed[q * block + i] = from[i * o_stride + place[q]];
        }
        packed += taps * block;
        o += here;
    }
}
#undef RUN

/* Taps [k0, k1) of one tile; between chunks of taps the sums wait in `part`. */
INLINE void conv_tile(const Taps *t, const float *buf, const float *w, const float *bias, float *out,
                      idx out_stride, idx first, idx here, idx k0, idx k1, vf *part, const int block) {
    const int places = PLACES(block);
    vf acc[8][8];
    const float *at[8];
    UNROLL for (int j = 0; j < places; j++) {
        const idx v = first + j < t->vectors ? first + j : t->vectors - 1; /* the last ones twice */
        at[j] = buf + t->from[v];
    }
    UNROLL for (int i = 0; i < block; i++)
        UNROLL for (int j = 0; j < places; j++)
            acc[i][j] = k0 > 0 ? part[i * places + j] : bias ? spread(i < here ? bias[i] : 0.0f) : (vf){0};
    for (idx k = k0; k < k1; k++) {
        const idx tap = t->tap[k];
        vf x[8];
        UNROLL for (int j = 0; j < places; j++) x[j] = load(at[j] + tap);
#if defined(__aarch64__)
#define LANE(i, quad, lane) \
    UNROLL for (int j = 0; j < places; j++) \
        acc[i][j] = (vf)vfmaq_laneq_f32((float32x4_t)acc[i][j], (float32x4_t)x[j], quad, lane);
        if (block >= 4) {
            const float32x4_t lo = vld1q_f32(w);
            LANE(0, lo, 0) LANE(1, lo, 1) LANE(2, lo, 2) LANE(3, lo, 3)
            if (block == 8) {
                const float32x4_t hi = vld1q_f32(w + 4);
                LANE(4, hi, 0) LANE(5, hi, 1) LANE(6, hi, 2) LANE(7, hi, 3)
            } else if (block == 6) {
                const float32x4_t hi = vcombine_f32(vld1_f32(w + 4), vdup_n_f32(0));
                LANE(4, hi, 0) LANE(5, hi, 1)
            }
        } else
#undef LANE
#endif
            UNROLL for (int i = 0; i < block; i++) {
                const vf weight = spread(w[i]);
                UNROLL for (int j = 0; j < places; j++) acc[i][j] += weight * x[j];
            }
        w += block;
    }
    if (k1 < t->taps) {
        UNROLL for (int i = 0; i < block; i++)
            UNROLL for (int j = 0; j < places; j++) part[i * places + j] = acc[i][j];
        return;
    }
    const int partial = WHOLE_ROWS && t->some;
    UNROLL for (int j = 0; j < places; j++) {
        const idx v = first + j < t->vectors ? first + j : t->vectors - 1;
        float *to = out + t->to[v];
        if (partial) {
            UNROLL for (int i = 0; i < block; i++)
                if (i < here) store_some(to + i * out_stride, acc[i][j], t->some[v]);
            continue;
        }
        UNROLL for (int i = 0; i < block; i++)
            if (i < here) store(to + i * out_stride, acc[i][j]);
    }
}

/* Taps are worked off in chunks: their weights and inputs stay in the first cache for all places. The
 * sums wait on the stack meanwhile, if there are not too many. */
#define CHUNK 576
#define WAITING 4096 /* vectors */

#define CONV_BLOCK(block) \
    static __attribute__((noinline)) void K(conv_block_##block)( \
        const Taps *t, const float *buf, const float *w, const float *bias, float *out, \
        idx out_stride, idx here) { \
        const idx tile = PLACES(block) * block, tiles = (t->vectors + PLACES(block) - 1) / PLACES(block); \
        const idx chunks = tiles * tile <= WAITING ? (t->taps + CHUNK - 1) / CHUNK : 1; \
        const idx chunk = (t->taps + chunks - 1) / chunks; \
        vf waiting[chunks > 1 ? tiles * tile : 1]; \
        for (idx k = 0; k < t->taps; k += chunk) { \
            const idx end = k + chunk < t->taps ? k + chunk : t->taps; \
            for (idx i = 0; i < tiles; i++) \
                conv_tile(t, buf, w + k * block, bias, out, out_stride, i * PLACES(block), here, k, end, \
                          waiting + i * tile * (chunks > 1), block); \
        } \
    }
#if VL != 8
CONV_BLOCK(8)
#endif
CONV_BLOCK(6)
CONV_BLOCK(4)
CONV_BLOCK(2)
CONV_BLOCK(1)

static void K(conv_run)(const Taps *t, const float *buf, const float *packed, const float *bias, float *out,
                        idx out_stride) {
    for (idx o = 0; o < t->outs;) {
        const idx block = K(conv_block)(t->outs - o);
        const idx here = t->outs - o < block ? t->outs - o : block;
        float *to = out + o * out_stride;
        const float *b = bias ? bias + o : NULL, *w = packed + t->first * block;
        switch (block) {
#if VL != 8
        case 8: K(conv_block_8)(t, buf, w, b, to, out_stride, here); break;
#endif
        case 6: K(conv_block_6)(t, buf, w, b, to, out_stride, here); break;
        case 4: K(conv_block_4)(t, buf, w, b, to, out_stride, here); break;
        case 2: K(conv_block_2)(t, buf, w, b, to, out_stride, here); break;
        default: K(conv_block_1)(t, buf, w, b, to, out_stride, here); break;
        }
        packed += t->all * block;
        o += here;
    }
}
