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
BOUNDED_KERNEL(fill, 256)(u64 n, unsigned char* out, u64 lo, u64 hi) {
    depend();
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

template <class B, int TILE>
__device__ __forceinline__ void transpose(
    B* __restrict__ out, const B* __restrict__ in, int rows, int cols, i64 in_step, i64 out_step,
    int batches, const Batch& g
) {
    __shared__ B tile[TILE][TILE + 1];
    const int r0 = blockIdx.y * TILE, c0 = blockIdx.x * TILE;
    for (int b = blockIdx.z; b < batches; b += gridDim.z) {
        i64 from = 0, to = 0;
        if (batches > 1) {
            unsigned rest = b;
            for (int d = 5; d >= 0; d--) {
                unsigned q = rest / (unsigned)g.size[d], r = rest - q * (unsigned)g.size[d];
                rest = q;
                from += r * g.from[d];
                to += r * g.to[d];
            }
        }
        #pragma unroll
        for (int k = 0; k < TILE; k += 8) {
            #pragma unroll
            for (int j = 0; j < TILE; j += 32) {
                int r = r0 + threadIdx.x + j, c = c0 + threadIdx.y + k;
                if (r < rows && c < cols)
                    tile[threadIdx.y + k][threadIdx.x + j] = in[from + r + c * in_step];
            }
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; k += 8) {
            #pragma unroll
            for (int j = 0; j < TILE; j += 32) {
                int r = r0 + threadIdx.y + k, c = c0 + threadIdx.x + j;
                if (r < rows && c < cols)
                    out[to + r * out_step + c] = tile[threadIdx.x + j][threadIdx.y + k];
            }
        }
        __syncthreads();
    }
}

#define TRANSPOSE(n, tile)                                                                   \
    BOUNDED_KERNEL(transpose##n, 256)(                                                       \
        Bytes<n>::type* out, const Bytes<n>::type* in, int rows, int cols, i64 in_step,      \
        i64 out_step, int batches, Batch g) {                                                \
        depend();                                                                            \
        transpose<Bytes<n>::type, tile>(out, in, rows, cols, in_step, out_step, batches, g); \
    }
TRANSPOSE(1, 64) TRANSPOSE(2, 64) TRANSPOSE(4, 64) TRANSPOSE(8, 32) TRANSPOSE(16, 32)
