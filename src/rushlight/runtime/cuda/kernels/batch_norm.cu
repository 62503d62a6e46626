// Batch normalisation, alone or joined with the add and the relu behind it, and its derivative. LAST:
// channels lie innermost (rows x C); otherwise planes of `inner` numbers, C of them an image. VW numbers are
// moved at once; `inner` (or C, when LAST) is a multiple of it.
#ifndef VW
#define VW 1
#endif
#ifndef LAST
#define LAST 0
#endif
#ifndef ACROSS
#define ACROSS 1
#endif
#ifndef NW
#define NW T
#endif
#ifndef NS
#define NS A
#endif
// IX counts elements: unsigned while they fit, because 64-bit divisions cost more than the arithmetic.
#ifndef IX
#define IX i64
#endif
#define BLOCK 512  // threads of a block that adds up, 256 of one that goes over the elements
#define HELD (LAST ? VW : 1)            // channels of a thread
#define WIDTH (LAST ? ACROSS * VW : 1)  // channels of a block
#define PAIRS (2 * WIDTH)               // two sums each
#define FEW (PAIRS * sizeof(A) < 16 ? 1 : (int)(16 / sizeof(A)))  // sums read at once
typedef Vec<T, VW> Row;

// Results as they are stored; bfloat16 two at a time.
template <class E, int N> __device__ __forceinline__ void round_to(Vec<E, N>& to, const A* v) {
#pragma unroll
    for (int k = 0; k < N; k++) to.v[k] = dn(v[k]);
}
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void round_to(Vec<bf16_t, 8>& to, const float* v) {
    unsigned* pairs = (unsigned*)&to;
#pragma unroll
    for (int k = 0; k < 4; k++)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pairs[k]) : "f"(v[2 * k + 1]), "f"(v[2 * k]));
}
#endif

// Whether relu passes its gradient on where its input is `v`: not at what is stored as 0 or less.
template <class E> struct Least { static __device__ A half() { return (A)0; } };
template <> struct Least<bf16_t> { static __device__ A half() { return (A)__int_as_float(0x00008000); } };
template <> struct Least<half_t> { static __device__ A half() { return (A)__int_as_float(0x33000000); } };
__device__ __forceinline__ bool passes(A v) { return !(v <= Least<T>::half()); }

// What follows the normalisation: nothing, relu, or the sum with another array and then relu.
enum { PLAIN, RELU, ADD_RELU };

// -- where a thread reads ---------------------------------------------------------------------------
// It meets VW numbers at a time, always of the same channels. Sums are taken from the end of memory to its
// beginning, and the next pass goes forward: each finds what the one before left in the cache.

struct Walk {
    i64 first, step, count;
    int c, C, inner;
    __device__ __forceinline__ Walk(int C_, int inner_, i64 images, int threads) : C(C_), inner(inner_) {
        if (LAST) {
            const int down = threads / ACROSS;
            c = (blockIdx.x * ACROSS + threadIdx.x % ACROSS) * VW;
            first = blockIdx.y * (i64)down + threadIdx.x / ACROSS;
            step = gridDim.y * (i64)down;
            count = images;
        } else {
            c = blockIdx.x;
            first = blockIdx.y * (i64)threads + threadIdx.x;
            step = gridDim.y * (i64)threads;
            count = images * (inner / VW);
        }
    }
    __device__ __forceinline__ bool live() const { return c < C; }
    __device__ __forceinline__ i64 turns() const {
        return live() && first < count ? (count - first + step - 1) / step : 0;
    }
    __device__ __forceinline__ i64 at(i64 turn) const {
        i64 j = first + turn * step;
        if (LAST) return j * C + c;
        const IX steps = inner / VW, n = (IX)j / steps;
        return ((i64)n * C + c) * inner + (i64)((IX)j - n * steps) * VW;
    }
};

// -- sums over a block, then over all blocks of the same channels -------------------------------------

// Into total[2 * channel] and total[2 * channel + 1], always in the same order.
__device__ __forceinline__ void over_block(A* s, A* q, A* hold, A* total) {
    const int me = threadIdx.x;
    if (!LAST) {
        A a = block_sum(s[0], hold), b = block_sum(q[0], hold);
        if (me == 0) total[0] = a, total[1] = b;
    } else {
#pragma unroll
        for (int k = 0; k < HELD; k++)
#pragma unroll
            for (int d = ACROSS; d < 32; d <<= 1) {
                s[k] += __shfl_xor_sync(0xffffffffu, s[k], d);
                q[k] += __shfl_xor_sync(0xffffffffu, q[k], d);
            }
        if (me % 32 < ACROSS) {
            A* mine = hold + (me / 32) * PAIRS + me % 32 * HELD * 2;
#pragma unroll
            for (int k = 0; k < HELD; k++) mine[2 * k] = s[k], mine[2 * k + 1] = q[k];
        }
        __syncthreads();
        for (int v = me; v < PAIRS; v += BLOCK) {
            A sum = (A)0;
            for (int w = 0; w < BLOCK / 32; w++) sum += hold[w * PAIRS + v];
            total[v] = sum;
        }
    }
    __syncthreads();
}

// True in the one block of a column that has the sums over all of them in `total`.
__device__ __forceinline__ bool over_grid(A* parts, unsigned* counters, A* hold, A* total) {
    const int splits = gridDim.y, me = threadIdx.x;
    if (splits == 1) return true;
    A* mine = parts + (i64)blockIdx.x * splits * PAIRS;
    for (int v = me; v < PAIRS; v += BLOCK) mine[(i64)blockIdx.y * PAIRS + v] = total[v];
    if (!last_block(counters + blockIdx.x, splits)) return false;
    const int v = me % (PAIRS / FEW) * FEW, lane = me / (PAIRS / FEW), lanes = BLOCK / (PAIRS / FEW);
    Vec<A, FEW> sums;
#pragma unroll
    for (int i = 0; i < FEW; i++) sums.v[i] = (A)0;
#pragma unroll 8
    for (int k = lane; k < splits; k += lanes) {
        const Vec<A, FEW> part = *(const Vec<A, FEW>*)(mine + (i64)k * PAIRS + v);
#pragma unroll
        for (int i = 0; i < FEW; i++) sums.v[i] += part.v[i];
    }
    *(Vec<A, FEW>*)(hold + lane * PAIRS + v) = sums;
    __syncthreads();
    const int used = lanes < splits ? lanes : splits;
    for (int w = me; w < PAIRS; w += BLOCK) {
        A sum = (A)0;
        for (int k = 0; k < used; k++) sum += hold[k * PAIRS + w];
        total[w] = sum;
    }
    __syncthreads();
    return true;
}

#define ROOM                                                                    \
    __shared__ __align__(16) A hold[BLOCK / 32 * PAIRS > BLOCK * FEW ? BLOCK / 32 * PAIRS : BLOCK * FEW]; \
    __shared__ A total[PAIRS];
#define CHANNELS_OF_BLOCK                                                   \
    for (int i = threadIdx.x, c = blockIdx.x * WIDTH + i; i < WIDTH && c < C; \
         i += BLOCK, c += BLOCK)

// -- statistics ---------------------------------------------------------------------------------------

// Running statistics learn from those of a batch; either may be missing.
template <class E>
__device__ __forceinline__ void learn(E* means, E* variances, int c, A mean, A invstd, double momentum,
                                      double eps, double bessel) {
    if (means) means[c] = Down<E>::of(up(means[c]) * (A)(1 - momentum) + mean * (A)momentum);
    if (variances) {
        double s = invstd;
        A var = (A)((1.0 / (s * s) - eps) * bessel);
        variances[c] = Down<E>::of(up(variances[c]) * (A)(1 - momentum) + var * (A)momentum);
    }
}

KERNEL(running)(T* means, T* variances, const A* mean, const A* invstd, int C,
                double momentum, double eps, double bessel) {
    depend();
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < C) learn(means, variances, c, mean[c], invstd[c], momentum, eps, bessel);
}

// Sums of (x - pivot) and of its square, the pivot being the channel's first number. `means`, `variances`
// and the count of batches may be missing.
BOUNDED_KERNEL(statistics, BLOCK, 2)(const T* x, A* parts, unsigned* counters, A* mean, A* invstd, A* means,
                                     A* variances, i64* batches, int C, int inner, i64 images, i64 n, double eps,
                                     double momentum, double bessel) {
    depend();
    ROOM
    const Walk walk(C, inner, images, BLOCK);
    A s[HELD], q[HELD], pivot[HELD];
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        s[k] = q[k] = (A)0;
        pivot[k] = walk.live() ? up(x[LAST ? walk.c + k : (i64)walk.c * inner]) : (A)0;
    }
    const int DEEP = 4;
    for (i64 t = walk.turns() - 1; t >= 0; t -= DEEP) {
        Row v[DEEP];
#pragma unroll
        for (int u = 0; u < DEEP; u++)
            if (t >= u) v[u] = *(const Row*)(x + walk.at(t - u));
#pragma unroll
        for (int u = 0; u < DEEP; u++)
            if (t >= u) {
#pragma unroll
                for (int k = 0; k < VW; k++) {
                    const int j = LAST ? k : 0;
                    A d = up(v[u].v[k]) - pivot[j];
                    s[j] += d;
                    q[j] += d * d;
                }
            }
    }
    over_block(s, q, hold, total);
    if (!over_grid(parts, counters, hold, total)) return;
    CHANNELS_OF_BLOCK {
        A shift = total[2 * i] / (A)n;
        A var = total[2 * i + 1] / (A)n - shift * shift;
        if (var < (A)0) var = (A)0;
        const A middle = up(x[LAST ? c : (i64)c * inner]) + shift;
        const A inverse = (A)(1.0 / sqrt((double)var + eps));
        mean[c] = middle;
        invstd[c] = inverse;
        learn(means, variances, c, middle, inverse, momentum, eps, bessel);
        if (batches && c == 0) *batches += 1;
    }
}

// -- y = (x - mean) * scale + shift ---------------------------------------------------------------------

// SPREAD: the statistics are a variance rather than 1 / standard deviation (evaluation mode).
template <bool SPREAD> struct Affine {
    A mean[HELD], scale[HELD], shift[HELD];
    __device__ __forceinline__ void load(int c, const NW* w, const NW* b, const NS* m, const NS* spread,
                                         double eps) {
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            mean[k] = up(m[c + k]);
            A v = up(spread[c + k]);
            if (SPREAD) v = (A)1 / sqrt(v + (A)eps);
            scale[k] = w ? v * up(w[c + k]) : v;
            shift[k] = b ? up(b[c + k]) : (A)0;
        }
    }
    __device__ __forceinline__ A of(T x, int j) const { return fma(up(x) - mean[j], scale[j], shift[j]); }
};

// Rounded where a single kernel would have stored it, so that joined ones agree with those to the bit.
template <int NEXT> __device__ __forceinline__ A after(A y, T other) {
    if (NEXT == ADD_RELU) y = up(dn(y)) + up(other);
    return NEXT == PLAIN || y > (A)0 || y != y ? y : (A)0;
}

__device__ __forceinline__ int channel(IX at, int C, int inner) { return (int)(at / inner % C); }

// Planes are gone through in one line, whatever block a channel belongs to; rows by columns of channels.
template <bool SPREAD, int NEXT>
__device__ __forceinline__ void normalise(const T* x, const NW* w, const NW* b, const NS* mean,
                                          const NS* spread, const T* other, T* y, int C, int inner,
                                          i64 images, double eps) {
    Affine<SPREAD> f;
    const int DEEP = NEXT == ADD_RELU ? 2 : 4;
    if (LAST) {
        const Walk walk(C, inner, images, 256);
        const i64 turns = walk.turns();
        if (turns) f.load(walk.c, w, b, mean, spread, eps);
        for (i64 t = 0; t < turns; t += DEEP) {
            Row v[DEEP], o[DEEP];
#pragma unroll
            for (int u = 0; u < DEEP; u++)
                if (t + u < turns) {
                    v[u] = *(const Row*)(x + walk.at(t + u));
                    if (NEXT == ADD_RELU) o[u] = *(const Row*)(other + walk.at(t + u));
                }
#pragma unroll
            for (int u = 0; u < DEEP; u++)
                if (t + u < turns) {
                    A out[VW];
#pragma unroll
                    for (int k = 0; k < VW; k++)
                        out[k] = after<NEXT>(f.of(v[u].v[k], LAST ? k : 0), o[u].v[k]);
                    round_to(v[u], out);
                    *(Row*)(y + walk.at(t + u)) = v[u];
                }
        }
        return;
    }
    const IX step = (IX)gridDim.x * blockDim.x * VW, count = (IX)(images * C * inner);
    for (IX at = ((IX)blockIdx.x * blockDim.x + threadIdx.x) * VW; at < count; at += step) {
        Row v = *(const Row*)(x + at), o = v;
        if (NEXT == ADD_RELU) o = *(const Row*)(other + at);
        f.load(channel(at, C, inner), w, b, mean, spread, eps);
        A out[VW];
#pragma unroll
        for (int k = 0; k < VW; k++) out[k] = after<NEXT>(f.of(v.v[k], 0), o.v[k]);
        round_to(v, out);
        *(Row*)(y + at) = v;
    }
}

#define APPLY(name, SPREAD, NEXT)                                                                        \
    BOUNDED_KERNEL(name, 256, 4)(const T* x, const NW* w, const NW* b, const NS* mean, const NS* spread, \
                                 const T* other, T* y, int C, int inner, i64 images, double eps) {       \
        depend();                                                                                        \
        normalise<SPREAD, NEXT>(x, w, b, mean, spread, other, y, C, inner, images, eps);                 \
    }
APPLY(apply, false, PLAIN)
APPLY(apply_relu, false, RELU)
APPLY(apply_add_relu, false, ADD_RELU)
APPLY(apply_eval, true, PLAIN)
APPLY(apply_eval_relu, true, RELU)
APPLY(apply_eval_add_relu, true, ADD_RELU)

// -- derivative -----------------------------------------------------------------------------------------

// The gradient that reaches the normalisation. RELU: where the output, computed again, is not <= 0.
// ADD_RELU: the sum of one or two gradients where the output `y` is not <= 0, kept for the other summand.
template <int NEXT> __device__ __forceinline__ A before(T g, T x, const Affine<false>& f, int j) {
    return NEXT != RELU || passes(f.of(x, j)) ? up(g) : (A)0;
}

// Sums of g and of g * (x - mean); the last block makes the weights' gradients, in their type NW, and
// keeps both as (2, C) for the rest of the derivative.
template <int NEXT>
__device__ __forceinline__ void grad_sums(const T* g, const T* more, const T* y, const T* x, const NW* w,
                                          const NW* b, const A* mean, const A* invstd, T* kept, A* parts,
                                          unsigned* counters, A* totals, NW* gw, NW* gb, int C, int inner,
                                          i64 images) {
    ROOM
    const Walk walk(C, inner, images, BLOCK);
    Affine<false> f;
    A s[HELD], q[HELD];
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        s[k] = q[k] = (A)0;
        f.mean[k] = f.scale[k] = f.shift[k] = (A)0;
    }
    const i64 turns = walk.turns();
    if (turns) f.load(walk.c, w, b, (const NS*)mean, (const NS*)invstd, 0.0);
    const int DEEP = NEXT == ADD_RELU ? 1 : 2;
    for (i64 t = turns - 1; t >= 0; t -= DEEP) {
        Row xv[DEEP], gv[DEEP];
#pragma unroll
        for (int u = 0; u < DEEP; u++)
            if (t >= u) {
                xv[u] = *(const Row*)(x + walk.at(t - u));
                gv[u] = *(const Row*)(g + walk.at(t - u));
            }
        if (NEXT == ADD_RELU) {
            const i64 at = walk.at(t);
            A out[VW];
            Row yv = *(const Row*)(y + at), mv = yv;
            if (more) mv = *(const Row*)(more + at);
#pragma unroll
            for (int k = 0; k < VW; k++) {
                A sum = more ? up(gv[0].v[k]) + up(mv.v[k]) : up(gv[0].v[k]);
                out[k] = up(yv.v[k]) <= (A)0 ? (A)0 : sum;
            }
            round_to(gv[0], out);
            *(Row*)(kept + at) = gv[0];
        }
#pragma unroll
        for (int u = 0; u < DEEP; u++)
            if (t >= u) {
#pragma unroll
                for (int k = 0; k < VW; k++) {
                    const int j = LAST ? k : 0;
                    A e = before<NEXT>(gv[u].v[k], xv[u].v[k], f, j);
                    s[j] += e;
                    q[j] += e * (up(xv[u].v[k]) - f.mean[j]);
                }
            }
    }
    over_block(s, q, hold, total);
    if (!over_grid(parts, counters, hold, total)) return;
    CHANNELS_OF_BLOCK {
        A sum = total[2 * i], product = total[2 * i + 1] * invstd[c];
        totals[c] = sum;
        totals[C + c] = product;
        gb[c] = Down<NW>::of(sum);
        gw[c] = Down<NW>::of(product);
    }
}

#define GRAD_SUMS(name, NEXT)                                                                                   \
    BOUNDED_KERNEL(name, BLOCK, 2)(const T* g, const T* more, const T* y, const T* x, const NW* w, const NW* b, \
                                   const A* mean, const A* invstd, T* kept, A* parts, unsigned* counters,       \
                                   A* totals, NW* gw, NW* gb, int C, int inner, i64 images) {                   \
        depend();                                                                                               \
        grad_sums<NEXT>(g, more, y, x, w, b, mean, invstd, kept, parts, counters, totals, gw, gb, C, inner,     \
                        images);                                                                                \
    }
GRAD_SUMS(grad_sums_plain, PLAIN)
GRAD_SUMS(grad_sums_relu, RELU)
GRAD_SUMS(grad_sums_add_relu, ADD_RELU)

struct Slope {
    A level[HELD], tilt[HELD];
    __device__ __forceinline__ void load(int c, int C, const A* invstd, const A* totals, A inverse_n) {
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            level[k] = totals[c + k] * inverse_n;
            tilt[k] = totals[C + c + k] * inverse_n * invstd[c + k];
        }
    }
    __device__ __forceinline__ A of(A g, T x, const Affine<false>& f, int j) const {
        return (g - level[j] - (up(x) - f.mean[j]) * tilt[j]) * f.scale[j];
    }
};

template <int NEXT>
__device__ __forceinline__ void slopes(const T* g, const T* x, const NW* w, const NW* b, const A* mean,
                                       const A* invstd, const A* totals, T* gx, int C, int inner,
                                       i64 images, double inverse_n) {
    Affine<false> f;
    Slope slope;
    if (LAST) {
        const int DEEP = 2;
        const Walk walk(C, inner, images, 256);
        const i64 turns = walk.turns();
        if (turns) {
            f.load(walk.c, w, b, (const NS*)mean, (const NS*)invstd, 0.0);
            slope.load(walk.c, C, invstd, totals, (A)inverse_n);
        }
        for (i64 t = 0; t < turns; t += DEEP) {
            Row v[DEEP], e[DEEP];
#pragma unroll
            for (int u = 0; u < DEEP; u++)
                if (t + u < turns) {
                    v[u] = *(const Row*)(x + walk.at(t + u));
                    e[u] = *(const Row*)(g + walk.at(t + u));
                }
#pragma unroll
            for (int u = 0; u < DEEP; u++)
                if (t + u < turns) {
                    A out[VW];
#pragma unroll
                    for (int k = 0; k < VW; k++) {
                        const int j = LAST ? k : 0;
                        out[k] = slope.of(before<NEXT>(e[u].v[k], v[u].v[k], f, j), v[u].v[k], f, j);
                    }
                    round_to(v[u], out);
                    *(Row*)(gx + walk.at(t + u)) = v[u];
                }
        }
        return;
    }
    const IX step = (IX)gridDim.x * blockDim.x * VW, count = (IX)(images * C * inner);
    for (IX at = ((IX)blockIdx.x * blockDim.x + threadIdx.x) * VW; at < count; at += step) {
        Row v = *(const Row*)(x + at), e = *(const Row*)(g + at);
        const int c = channel(at, C, inner);
        f.load(c, w, b, (const NS*)mean, (const NS*)invstd, 0.0);
        slope.load(c, C, invstd, totals, (A)inverse_n);
        A out[VW];
#pragma unroll
        for (int k = 0; k < VW; k++) out[k] = slope.of(before<NEXT>(e.v[k], v.v[k], f, 0), v.v[k], f, 0);
        round_to(v, out);
        *(Row*)(gx + at) = v;
    }
}

#define SLOPES(name, NEXT)                                                                                         \
    BOUNDED_KERNEL(name, 256, 3)(const T* g, const T* x, const NW* w, const NW* b, const A* mean, const A* invstd, \
                                 const A* totals, T* gx, int C, int inner, i64 images, double inverse_n) {         \
        depend();                                                                                                  \
        slopes<NEXT>(g, x, w, b, mean, invstd, totals, gx, C, inner, images, inverse_n);                           \
    }
SLOPES(slopes_plain, PLAIN)
SLOPES(slopes_relu, RELU)
