// Dropout behind random.cu: numbers are zero or scaled by what Philox draws at the key {seed, counter}. The way back
// draws the same again, so nothing but the key is kept. Seven rounds pass every test that ten do (Salmon et al. 2011).

__device__ __forceinline__ void drop(u64 n, const S* x, S* y, u64 seed, u64 counter, float keep, C scale) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    const bool whole = !((sizeof(S) * 4 - 1) & ((u64)x | (u64)y));
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i * 4 < n; i += step) {
        const uint4 w = philox<7>(seed, counter, i);
        const float u[4] = {unit(w.x), unit(w.y), unit(w.z), unit(w.w)};
        if (whole && i * 4 + 4 <= n) {
            Pack<S, 4> v = ((const Pack<S, 4>*)x)[i];
            #pragma unroll
            for (int k = 0; k < 4; k++) v.v[k] = narrow(To<S>(), u[k] < keep ? widen(v.v[k]) * scale : C(0));
            ((Pack<S, 4>*)y)[i] = v;
        } else {
            for (u64 k = i * 4; k < n && k < i * 4 + 4; k++)
                y[k] = narrow(To<S>(), u[k - i * 4] < keep ? widen(x[k]) * scale : C(0));
        }
    }
}

BOUNDED_KERNEL(dropout, 256)(u64 n, const S* x, S* y, State* s, u64* key, double keep, double scale) {
    depend();
    const u64 seed = s->seed, counter = s->counter;
    drop(n, x, y, seed, counter, (float)keep, (C)scale);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        key[0] = seed;
        key[1] = counter;
    }
    finish(s, counter, 1);
}

BOUNDED_KERNEL(dropout_again, 256)(u64 n, const S* g, S* gx, const u64* key, double keep, double scale) {
    depend();
    drop(n, g, gx, key[0], key[1], (float)keep, (C)scale);
}

// A seed for kernels that draw by themselves: one draw of the stream, so that no two of them overlap.
BOUNDED_KERNEL(draw_key, 256)(u64, State* s, u64* key) {
    depend();
    const u64 seed = s->seed, counter = s->counter;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        const uint4 w = philox<10>(seed, counter, 0);
        key[0] = ((u64)w.x << 32 | w.y) >> 1;
        key[1] = 0;
    }
    finish(s, counter, 1);
}
