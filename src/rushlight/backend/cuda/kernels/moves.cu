// Copies and fills that do not look at what the bytes mean.
typedef unsigned long long u64;
typedef long long i64;

template <int N> struct Bytes;
template <> struct Bytes<1> { typedef unsigned char type; };
template <> struct Bytes<2> { typedef unsigned short type; };
template <> struct Bytes<4> { typedef unsigned type; };
template <> struct Bytes<8> { typedef u64 type; };
template <> struct Bytes<16> { typedef ulonglong2 type; };

// The 16-byte pattern (lo, hi) over n bytes; `out` is aligned to 16, the tail is written by bytes.
extern "C" __global__ void __launch_bounds__(256) fill(u64 n, unsigned char* out, u64 lo, u64 hi) {
    const u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u64 step = (u64)gridDim.x * blockDim.x;
    const u64 whole = n / 16;
    for (u64 i = at; i < whole; i += step) ((ulonglong2*)out)[i] = make_ulonglong2(lo, hi);
    for (u64 i = whole * 16 + at; i < n; i += step) {
        unsigned j = i % 16;
        out[i] = (unsigned char)((j < 8 ? lo >> (8 * j) : hi >> (8 * (j - 8))) & 255);
    }
}

// Axis `rows` of the input has stride 1, axis `cols` of the output has; the rest is a batch.
struct Batch { i64 size[6]; i64 from[6]; i64 to[6]; };

template <class B>
__device__ void transpose(
    B* __restrict__ out, const B* __restrict__ in, int rows, int cols, i64 in_step, i64 out_step,
    int batches, Batch g
) {
    __shared__ B tile[32][33];
    for (int b = blockIdx.z; b < batches; b += gridDim.z) {
        i64 rest = b, from = 0, to = 0;
        #pragma unroll
        for (int d = 5; d >= 0; d--) {
            i64 q = rest / g.size[d], r = rest - q * g.size[d];
            rest = q;
            from += r * g.from[d];
            to += r * g.to[d];
        }
        const int r0 = blockIdx.y * 32, c0 = blockIdx.x * 32;
        #pragma unroll
        for (int k = 0; k < 32; k += 8) {
            int r = r0 + threadIdx.x, c = c0 + threadIdx.y + k;
            if (r < rows && c < cols) tile[threadIdx.y + k][threadIdx.x] = in[from + r + c * in_step];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 32; k += 8) {
            int r = r0 + threadIdx.y + k, c = c0 + threadIdx.x;
            if (r < rows && c < cols) out[to + r * out_step + c] = tile[threadIdx.x][threadIdx.y + k];
        }
        __syncthreads();
    }
}

#define TRANSPOSE(n) \
    extern "C" __global__ void __launch_bounds__(256) transpose##n( \
        Bytes<n>::type* out, const Bytes<n>::type* in, int rows, int cols, i64 in_step, \
        i64 out_step, int batches, Batch g) { \
        transpose<Bytes<n>::type>(out, in, rows, cols, in_step, out_step, batches, g); \
    }
TRANSPOSE(1) TRANSPOSE(2) TRANSPOSE(4) TRANSPOSE(8) TRANSPOSE(16)
