// Gradients divided by the factor of a GradScaler; one that is not finite raises the flag.
// Before this file stand the prelude and S, the element type.

extern "C" __global__ void __launch_bounds__(256) unscale(
    i64 n, S* g, float* found, const float* __restrict__ inverse
) {
    depend();
    typedef Wide<S>::type C;
    const C by = (C)*inverse;
    const i64 step = (i64)gridDim.x * blockDim.x;
    bool bad = false;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        C v = widen(g[i]);
        bad = bad || !isfinite(v);
        g[i] = narrow(To<S>(), v * by);
    }
    if (bad) *found = 1.0f;  // whoever writes, writes the same
}
