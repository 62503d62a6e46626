/* Fourier transforms of floats and of doubles. */

#if defined(__x86_64__) && VL == 16
/* Sixteen numbers of sixteen lines as rows of lanes, or back. Whole lines of the cache are read: lines of memory that are a power
 * of two apart have the same few places in it. */
INLINE void turn_tall(__m512 *r) {
    __m512 t[16];
    UNROLL for (int i = 0; i < 8; i++) t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]), t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    UNROLL for (int i = 0; i < 16; i += 4)
        UNROLL for (int k = 0; k < 2; k++) {
            const __m512d a = (__m512d)t[i + k], b = (__m512d)t[i + 2 + k];
            r[i + 2 * k] = (__m512)_mm512_unpacklo_pd(a, b), r[i + 2 * k + 1] = (__m512)_mm512_unpackhi_pd(a, b);
        }
    UNROLL for (int i = 0; i < 16; i += 8)
        UNROLL for (int k = 0; k < 4; k++) {
            t[i + k] = _mm512_shuffle_f32x4(r[i + k], r[i + 4 + k], 0x88);
            t[i + 4 + k] = _mm512_shuffle_f32x4(r[i + k], r[i + 4 + k], 0xdd);
        }
    UNROLL for (int k = 0; k < 8; k++) {
        r[k] = _mm512_shuffle_f32x4(t[k], t[8 + k], 0x88);
        r[8 + k] = _mm512_shuffle_f32x4(t[k], t[8 + k], 0xdd);
    }
}

INLINE void take_tall(char *const *from, idx offset, float *to, idx to_step) {
    __m512 r[16];
    UNROLL for (int i = 0; i < 16; i++) r[i] = _mm512_loadu_ps((const float *)from[i] + offset);
    turn_tall(r);
    UNROLL for (int i = 0; i < 16; i++) _mm512_storeu_ps(to + i * to_step, r[i]);
}

INLINE void put_tall(const float *from, idx from_step, char *const *to, idx offset) {
    __m512 r[16];
    UNROLL for (int i = 0; i < 16; i++) r[i] = _mm512_loadu_ps(from + i * from_step);
    turn_tall(r);
    UNROLL for (int i = 0; i < 16; i++) _mm512_storeu_ps((float *)to[i] + offset, r[i]);
}
#endif

#define T float
#define vt vf
#define TL VL
#define L(name) RL_JOIN(RL_JOIN(name, f), ISA)
#include "k_fft_of.h"
#undef T
#undef vt
#undef TL
#undef L

#define T double
#define vt vd
#define TL (VL / 2)
#define L(name) RL_JOIN(RL_JOIN(name, d), ISA)
#include "k_fft_of.h"
#undef T
#undef vt
#undef TL
#undef L
