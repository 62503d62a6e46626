// Philox 4x32-10 with seed and counter in device memory: state = {seed, counter, blocks done}.
// A kernel reads the counter first; the block that ends last moves it on for the next kernel.
// PRELUDE

struct State { u64 seed, counter; unsigned done, pad; };

template <int ROUNDS = 10> __device__ __forceinline__ uint4 philox(u64 seed, u64 counter, u64 stream) {
    unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
    uint4 c = make_uint4((unsigned)counter, (unsigned)(counter >> 32), (unsigned)stream,
                         (unsigned)(stream >> 32));
    #pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

__device__ __forceinline__ void finish(State* s, u64 counter, u64 by) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicInc(&s->done, gridDim.x - 1) == gridDim.x - 1) s->counter = counter + by;
    }
}

// Uniform numbers of [0, 1) as torch's CPU makes them: 24 or 53 random bits.
__device__ __forceinline__ float unit(unsigned w) { return (w >> 8) * 5.9604644775390625e-8f; }
__device__ __forceinline__ double unit(unsigned a, unsigned b) {
    return (((u64)a << 32 | b) >> 11) * 1.1102230246251565e-16;
}

typedef Wide<S>::type C;
struct Four { C v[4]; };

template <class R> struct Units;
template <> struct Units<float> {
    static __device__ __forceinline__ void make(u64 seed, u64 at, u64 i, float* u) {
        uint4 w = philox(seed, at, i);
        u[0] = unit(w.x); u[1] = unit(w.y); u[2] = unit(w.z); u[3] = unit(w.w);
    }
};
template <> struct Units<double> {
    static __device__ __forceinline__ void make(u64 seed, u64 at, u64 i, double* u) {
        uint4 w = philox(seed, at, i), z = philox(seed, at + 1, i);
        u[0] = unit(w.x, w.y); u[1] = unit(w.z, w.w); u[2] = unit(z.x, z.y); u[3] = unit(z.z, z.w);
    }
};

template <class R> __device__ __forceinline__ void gauss(R* u) {
    #pragma unroll
    for (int k = 0; k < 4; k += 2) {
        R radius = sqrt(R(-2) * log(R(1) - u[k])), angle = R(6.28318530717958647692) * u[k + 1];
        u[k] = radius * cos(angle);
        u[k + 1] = radius * sin(angle);
    }
}

#define DRAW(name, body) \
    BOUNDED_KERNEL(name, 256)(u64 n, S* out, State* s, double a, double b, const S* p) { \
        depend();                                                                        \
        const u64 seed = s->seed, counter = s->counter; \
        const u64 step = (u64)gridDim.x * blockDim.x; \
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i * 4 < n; i += step) { \
            C u[4]; \
            Units<C>::make(seed, counter, i, u); \
            body \
            _Pragma("unroll") for (int k = 0; k < 4; k++) \
                if (i * 4 + k < n) out[i * 4 + k] = narrow(To<S>(), u[k]); \
        } \
        finish(s, counter, 2); \
    }
#define EACH(text) _Pragma("unroll") for (int k = 0; k < 4; k++) u[k] = text;

#ifdef FLOATING
DRAW(uniform, EACH(u[k] * (C)(b - a) + (C)a)
     _Pragma("unroll") for (int k = 0; k < 4; k++)
         if (widen(narrow(To<S>(), u[k])) >= (C)b) u[k] = (C)a;)
DRAW(normal, gauss(u); EACH(u[k] * (C)b + (C)a))
DRAW(log_normal, gauss(u); EACH(exp(u[k] * (C)b + (C)a)))
DRAW(exponential, EACH(-log1p(-u[k]) * (C)(1 / a)))
DRAW(geometric, EACH(ceil(log(C(1) - u[k]) * (C)(1 / log1p(-a)))) EACH(u[k] < 1 ? C(1) : u[k]))
DRAW(cauchy, EACH((C)a + (C)b * tan(C(3.14159265358979323846) * (u[k] - C(0.5)))))
DRAW(bernoulli_of, EACH(i * 4 + k < n ? C(u[k] < widen(p[i * 4 + k])) : C(0)))
#endif

// 1 (or the number b) with probability a, 0 otherwise, in any dtype.
BOUNDED_KERNEL(bernoulli, 256)(u64 n, S* out, State* s, double a, double b, const S* p) {
    depend();
    const u64 seed = s->seed, counter = s->counter;
    const u64 step = (u64)gridDim.x * blockDim.x;
    const S yes = narrow(To<S>(), (C)b), no = narrow(To<S>(), (C)0);
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i * 4 < n; i += step) {
        float u[4];
        Units<float>::make(seed, counter, i, u);
        #pragma unroll
        for (int k = 0; k < 4; k++)
            if (i * 4 + k < n) out[i * 4 + k] = u[k] < a ? yes : no;
    }
    finish(s, counter, 1);
}

// Integers low + (word mod span); a span of 0 takes all 64 bits as they are.
BOUNDED_KERNEL(integers, 256)(u64 n, S* out, State* s, i64 low, u64 span) {
    depend();
    const u64 seed = s->seed, counter = s->counter;
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i * 2 < n; i += step) {
        uint4 w = philox(seed, counter, i);
        u64 v[2] = {(u64)w.x << 32 | w.y, (u64)w.z << 32 | w.w};
        #pragma unroll
        for (int k = 0; k < 2; k++)
            if (i * 2 + k < n) out[i * 2 + k] = narrow(To<S>(), span ? (i64)(v[k] % span) + low : (i64)v[k]);
    }
    finish(s, counter, 1);
}

#ifdef FLOATING
// One place of each row, drawn with its weights: clocks that ring at random times, and the first one wins (Efraimidis and
// Spirakis, 2006). Bits of `bad`: 1 for a weight that is negative, infinite or no number, 2 for a row of zeros.
BOUNDED_KERNEL(first_to_ring, 256)(const S* weights, i64* out, State* s, unsigned* bad, i64 rows, i64 columns) {
    depend();
    __shared__ C held[256];
    __shared__ i64 places[256];
    const u64 seed = s->seed, counter = s->counter;
    const i64 fours = (columns + 3) / 4;
    const int me = threadIdx.x;
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        C best = -1;
        i64 at = 0;
        for (i64 q = me; q < fours; q += blockDim.x) {
            C u[4];
            Units<C>::make(seed, counter, row * fours + q, u);
            for (int k = 0; k < 4 && q * 4 + k < columns; k++) {
                const C w = widen(weights[row * columns + q * 4 + k]);
                if (!(w >= 0 && w - w == 0)) atomicOr(bad, 1u);
                const C rate = w > 0 ? w / -log1p(-u[k]) : C(-1);
                if (rate > best) best = rate, at = q * 4 + k;
            }
        }
        held[me] = best;
        places[me] = at;
        for (int half = blockDim.x / 2; half; half >>= 1) {
            __syncthreads();
            if (me < half && held[me + half] > held[me]) held[me] = held[me + half], places[me] = places[me + half];
        }
        if (me == 0) {
            if (held[0] < 0) atomicOr(bad, 2u);
            out[row] = places[0];
        }
        __syncthreads();
    }
    finish(s, counter, 2);
}

__device__ __forceinline__ double next_unit(u64 seed, u64 counter, u64 i, unsigned& used) {
    uint4 w = philox(seed, counter + 1 + used++, i);
    return unit(w.x, w.y);
}

// Counts with mean p[i]; Knuth's product below 10, Hoermann's transformed rejection (PTRS, 1993) above.
BOUNDED_KERNEL(poisson, 256)(u64 n, S* out, State* s, double a, double b, const S* p) {
    depend();
    const u64 seed = s->seed, counter = s->counter;
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        unsigned used = 0;
        double rate = widen(p[i]), count = 0;
        if (rate > 0 && rate < 10) {
            double product = 1, floor_ = exp(-rate);
            while ((product *= next_unit(seed, counter, i, used)) > floor_) count += 1;
        } else if (rate >= 10) {
            double bb = 0.931 + 2.53 * sqrt(rate), aa = -0.059 + 0.02483 * bb;
            double inv = log(1.1239 + 1.1328 / (bb - 3.4)), vr = 0.9277 - 3.6224 / (bb - 2);
            while (true) {
                double u = next_unit(seed, counter, i, used) - 0.5;
                double v = next_unit(seed, counter, i, used), us = 0.5 - fabs(u);
                double k = floor((2 * aa / us + bb) * u + rate + 0.43);
                count = k;
                if (us >= 0.07 && v <= vr) break;
                if (k < 0 || (us < 0.013 && v > us)) continue;
                double bound = k * log(rate) - rate - lgamma(k + 1);
                if (log(v) + inv - log(aa / (us * us) + bb) <= bound) break;
            }
        }
        out[i] = narrow(To<S>(), (C)count);
    }
    finish(s, counter, 4096);
}

// Standard gamma numbers of shape p[i] (Marsaglia and Tsang 2000).
BOUNDED_KERNEL(gamma_of, 256)(u64 n, S* out, State* s, double a, double b, const S* p) {
    depend();
    const u64 seed = s->seed, counter = s->counter;
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        unsigned used = 0;
        double alpha = widen(p[i]), scale = 1, value = 0;
        if (alpha > 0) {
            if (alpha < 1) {
                scale = pow(1 - next_unit(seed, counter, i, used), 1 / alpha);
                alpha += 1;
            }
            double d = alpha - 1.0 / 3, c = 1 / sqrt(9 * d);
            while (true) {
                double u1 = next_unit(seed, counter, i, used), u2 = next_unit(seed, counter, i, used);
                double x = sqrt(-2 * log(1 - u1)) * cos(6.28318530717958647692 * u2);
                double y = 1 + c * x;
                if (y <= 0) continue;
                double v = y * y * y, u = 1 - next_unit(seed, counter, i, used);
                if (u < 1 - 0.0331 * x * x * x * x || log(u) < 0.5 * x * x + d * (1 - v + log(v))) {
                    value = scale * d * v;
                    break;
                }
            }
        }
        out[i] = narrow(To<S>(), (C)(value < a ? a : value));
    }
    finish(s, counter, 4096);
}
#endif
