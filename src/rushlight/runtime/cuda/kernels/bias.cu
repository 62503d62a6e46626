// Adds a bias per channel in place; `inner` numbers of a channel lie side by side.
extern "C" __global__ void add_bias(T* y, const T* bias, i64 count, int channels, int inner) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x)
        y[i] = dn(up(y[i]) + up(bias[i / inner % channels]));
}
