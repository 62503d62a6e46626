// One step of a recurrent layer beside its product: all gates of one number of the state by one thread, forward and
// backward. `z` is the state times its weights; rows are `hidden` wide, gates lie side by side in a row.
__device__ __forceinline__ A sigmoid(A v) { return (A)1 / ((A)1 + exp(-v)); }
__device__ __forceinline__ A at(const T* p, i64 i) { return p ? (A)up(p[i]) : (A)0; }

KERNEL(lstm_step)(const T* xw, const T* z, const T* h_in, const T* c_in, T* gates, T* out, T* h_before, T* c_before,
                  T* h, T* c, i64 count, int hidden) {
    depend();
    for (i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x; k < count; k += (i64)gridDim.x * blockDim.x) {
        const i64 g = k / hidden * 4 * hidden + k % hidden;
        const A i = sigmoid(at(xw, g) + at(z, g));
        const A f = sigmoid(at(xw, g + hidden) + at(z, g + hidden));
        const A n = tanh(at(xw, g + 2 * hidden) + at(z, g + 2 * hidden));
        const A o = sigmoid(at(xw, g + 3 * hidden) + at(z, g + 3 * hidden));
        const A before = at(c_in, k), now = f * before + i * n;
        h_before[k] = h_in[k];
        c_before[k] = c_in[k];
        gates[g] = dn(i);
        gates[g + hidden] = dn(f);
        gates[g + 2 * hidden] = dn(n);
        gates[g + 3 * hidden] = dn(o);
        c[k] = dn(now);
        out[k] = h[k] = dn(o * tanh(now));
    }
}

// gh and gc arrive from the step behind, gout from outside; d are the gradients of the gates, gc_out goes to the step in front.
KERNEL(lstm_step_grad)(const T* gates, const T* before, const T* gh, const T* gc, const T* gout, T* d, T* gc_out,
                       i64 count, int hidden) {
    depend();
    for (i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x; k < count; k += (i64)gridDim.x * blockDim.x) {
        const i64 g = k / hidden * 4 * hidden + k % hidden;
        const A i = at(gates, g), f = at(gates, g + hidden), n = at(gates, g + 2 * hidden);
        const A o = at(gates, g + 3 * hidden), b = at(before, k), t = tanh(f * b + i * n);
        const A to_h = at(gh, k) + at(gout, k), to_c = at(gc, k) + to_h * o * (1 - t * t);
        d[g] = dn(to_c * n * i * (1 - i));
        d[g + hidden] = dn(to_c * b * f * (1 - f));
        d[g + 2 * hidden] = dn(to_c * i * (1 - n * n));
        d[g + 3 * hidden] = dn(to_h * t * o * (1 - o));
        gc_out[k] = dn(to_c * f);
    }
}

KERNEL(gru_step)(const T* xw, const T* z, const T* bias, const T* h_in, T* gates, T* out, T* h_before, T* inner, T* h,
                 i64 count, int hidden) {
    depend();
    for (i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x; k < count; k += (i64)gridDim.x * blockDim.x) {
        const int j = k % hidden;
        const i64 g = k / hidden * 3 * hidden + j;
        const A r = sigmoid(at(xw, g) + at(z, g) + at(bias, j));
        const A u = sigmoid(at(xw, g + hidden) + at(z, g + hidden) + at(bias, j + hidden));
        const A in = at(z, g + 2 * hidden) + at(bias, j + 2 * hidden);
        const A n = tanh(at(xw, g + 2 * hidden) + r * in), before = at(h_in, k);
        h_before[k] = h_in[k];
        gates[g] = dn(r);
        gates[g + hidden] = dn(u);
        gates[g + 2 * hidden] = dn(n);
        inner[k] = dn(in);
        out[k] = h[k] = dn(n + u * (before - n));
    }
}

// The gradient of the state has two parts: `gh`, through the product, and `keep`, past it; keep_out is the second one for
// the step in front. d goes to the inputs' gates, e to the state's.
KERNEL(gru_step_grad)(const T* gates, const T* before, const T* inner, const T* gh, const T* keep, const T* gout, T* d,
                      T* e, T* keep_out, i64 count, int hidden) {
    depend();
    for (i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x; k < count; k += (i64)gridDim.x * blockDim.x) {
        const i64 g = k / hidden * 3 * hidden + k % hidden;
        const A r = at(gates, g), u = at(gates, g + hidden), n = at(gates, g + 2 * hidden);
        const A to_h = at(gh, k) + at(keep, k) + at(gout, k), to_n = to_h * (1 - u) * (1 - n * n);
        const A to_r = to_n * at(inner, k) * r * (1 - r), to_u = to_h * (at(before, k) - n) * u * (1 - u);
        d[g] = e[g] = dn(to_r);
        d[g + hidden] = e[g + hidden] = dn(to_u);
        d[g + 2 * hidden] = dn(to_n);
        e[g + 2 * hidden] = dn(to_n * r);
        keep_out[k] = dn(to_h * u);
    }
}

// Both parts together, for the state that the layer began with.
KERNEL(gru_start_grad)(const T* gh, const T* keep, T* out, i64 count, int hidden) {
    depend();
    for (i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x; k < count; k += (i64)gridDim.x * blockDim.x)
        out[k] = dn(at(gh, k) + at(keep, k));
}

KERNEL(rnn_step)(const T* xw, const T* z, const T* h_in, T* out, T* h_before, T* h, i64 count, int relu) {
    depend();
    for (i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x; k < count; k += (i64)gridDim.x * blockDim.x) {
        const A v = at(xw, k) + at(z, k);
        h_before[k] = h_in[k];
        out[k] = h[k] = dn(relu ? (v > 0 || v != v ? v : (A)0) : tanh(v));
    }
}

KERNEL(rnn_step_grad)(const T* y, const T* gh, const T* gout, T* d, i64 count, int relu) {
    depend();
    for (i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x; k < count; k += (i64)gridDim.x * blockDim.x) {
        const A v = at(y, k), g = at(gh, k) + at(gout, k);
        d[k] = dn(!relu ? g * (1 - v * v) : v <= 0 ? (A)0 : g);
    }
}
