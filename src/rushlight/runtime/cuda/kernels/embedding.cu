// Rows of a table by number, and the sums of gradients over the places a row was used.
#ifndef LABEL
#define LABEL i64
#endif

KERNEL(embedding)(const T* table, const LABEL* index, T* out, i64 count, int width,
                  i64 rows) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
        i64 place = i / width, row = (i64)index[place];
        // A row that does not exist gives NaN: a check on the host would wait for the GPU.
        out[i] = row >= 0 && row < rows ? table[row * width + (i - place * width)]
                                        : dn(infinity() - infinity());
    }
}

// The gradient of a table: for every row the sum over the places that used it, in the order of the places, so that
// the bits are the same every time. Places are counted by row, listed by row in any order, and put in order by
// whoever adds them up: one block for rows of few places, several warps for each 32 columns of the others.
#define FEW 64         // places that one block puts in order by comparing each with each
#define WINDOW 65536   // places whose order is found at once, by a bit for each
#define WARPS 16
#define AHEAD 4        // rows that are read before the first is added

__device__ __forceinline__ bool counts_for(i64 row, i64 rows, i64 padding) {
    return row >= 0 && row < rows && row != padding;
}

KERNEL(embedding_counts)(const LABEL* index, int* counts, i64 places, i64 rows, i64 padding) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < places; i += (i64)gridDim.x * blockDim.x) {
        i64 row = (i64)index[i];
        if (counts_for(row, rows, padding)) atomicAdd(counts + row, 1);
    }
}

// Where the list of every row begins, and which rows have many places; their number comes first in `many`. Lists lie in
// any order: a block takes room for those of its rows at `used`.
KERNEL(embedding_starts)(const int* counts, int* starts, int* many, int* used, i64 rows) {
    depend();
    __shared__ int sums[256], begin;
    for (i64 first = blockIdx.x * (i64)blockDim.x; first < rows; first += (i64)gridDim.x * blockDim.x) {
        const i64 r = first + threadIdx.x;
        const int own = r < rows ? counts[r] : 0;
        sums[threadIdx.x] = own;
        __syncthreads();
        for (unsigned step = 1; step < blockDim.x; step *= 2) {
            const int before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
            __syncthreads();
            sums[threadIdx.x] += before;
            __syncthreads();
        }
        if (threadIdx.x == blockDim.x - 1) begin = atomicAdd(used, sums[threadIdx.x]);
        __syncthreads();
        if (r < rows) starts[r] = begin + sums[threadIdx.x] - own;
        if (own > FEW) many[1 + atomicAdd(many, 1)] = (int)r;
        __syncthreads();
    }
}

// `ends` holds the starts before, and the ends afterwards.
KERNEL(embedding_lists)(const LABEL* index, int* ends, int* list, i64 places, i64 rows, i64 padding) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < places; i += (i64)gridDim.x * blockDim.x) {
        i64 row = (i64)index[i];
        if (counts_for(row, rows, padding)) list[atomicAdd(ends + row, 1)] = (int)i;
    }
}

// A warp for a row of few places, by packs of VW columns. Another gradient of the table, `base`, may be added.
#ifndef VW
#define VW 1
#endif
#ifndef NB
#define NB T
#endif
KERNEL(embedding_few)(const T* g, const int* counts, const int* ends, const int* list, const NB* __restrict__ base,
                      T* __restrict__ out, int width, i64 rows, int by_count) {
    depend();
    __shared__ int order[8][FEW];
    const int lane = threadIdx.x % 32, teams = blockDim.x / 32;
    int* const sorted = order[threadIdx.x / 32];
    const i64 step = (i64)gridDim.x * teams;
    i64 row = blockIdx.x * (i64)teams + threadIdx.x / 32;
    int next = row < rows ? counts[row] : 0;
    for (; row < rows; row += step) {
        const int n = next;
        next = row + step < rows ? counts[row + step] : 0;
        if (n > FEW) continue;
        if (n) {
            const int* own = list + (ends[row] - n);
            __syncwarp();
            for (int t = lane; t < n; t += 32) {
                int place = own[t], rank = 0;
                for (int u = 0; u < n; u++) rank += own[u] < place;
                sorted[rank] = place;
            }
            __syncwarp();
        }
        for (int c = lane * VW; c < width; c += 32 * VW) {
            A total[VW];
#pragma unroll
            for (int j = 0; j < VW; j++) total[j] = (A)0;
            for (int k = 0; k < n; k += AHEAD) {
                Vec<T, VW> some[AHEAD];
#pragma unroll
                for (int u = 0; u < AHEAD; u++)
                    some[u] = *(const Vec<T, VW>*)(g + (i64)sorted[k + u < n ? k + u : k] * width + c);
#pragma unroll
                for (int u = 0; u < AHEAD; u++)
                    if (k + u < n)
#pragma unroll
                        for (int j = 0; j < VW; j++) total[j] += up(some[u].v[j]);
            }
            Vec<T, VW> made;
            Vec<NB, VW> more;
            if (base) more = *(const Vec<NB, VW>*)(base + row * width + c);
#pragma unroll
            for (int j = 0; j < VW; j++) {
                made.v[j] = dn(by_count && n ? total[j] / (A)n : total[j]);
                if (base) made.v[j] = dn(up(more.v[j]) + up(made.v[j]));
            }
            *(Vec<T, VW>*)(out + row * width + c) = made;
        }
    }
}

// Tables of few rows: a block has a part of the places and 32 columns, and each of its warps a table of these columns in
// shared memory, to which it adds its own places one after another. parts: splits, rows, width; counts by split and row
// stand behind them where means are asked for.
KERNEL(embedding_small)(const T* g, const LABEL* index, A* parts, int* counts, i64 places, int width, int rows,
                        i64 padding) {
    depend();
    extern __shared__ __align__(16) char room[];
    A* const tables = (A*)room;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const int c = blockIdx.x * 32 + lane;
    const i64 teams = (i64)gridDim.y * warps, each = (places + teams - 1) / teams;
    const i64 from = (blockIdx.y * (i64)warps + warp) * each, end = from + each < places ? from + each : places;
    A* const own = tables + (i64)warp * rows * 32;
    for (int r = 0; r < rows; r++) own[r * 32 + lane] = (A)0;
    __syncwarp();
    constexpr int SOME = 8;  // places that are read before the first is added
    for (i64 first = from; first < end; first += 32) {
        // Every lane knows the row of one place.
        const i64 mine = first + lane;
        i64 row = mine < end ? (i64)index[mine] : -1;
        if (!counts_for(row, rows, padding)) row = -1;
        const int count = (int)(end - first < 32 ? end - first : 32);
        for (int k = 0; k < count; k += SOME) {
            A read[SOME];
            int to[SOME];
#pragma unroll
            for (int u = 0; u < SOME; u++) {
                const int at = k + u < 32 ? k + u : 31;
                to[u] = __shfl_sync(0xffffffffu, (int)row, at);
                if (k + u >= count) to[u] = -1;
                read[u] = to[u] >= 0 && c < width ? up(g[(first + at) * width + c]) : (A)0;
            }
#pragma unroll
            for (int u = 0; u < SOME; u++)
                if (to[u] >= 0) own[to[u] * 32 + lane] += read[u];
        }
        if (counts && blockIdx.x == 0 && row >= 0) atomicAdd(counts + row, 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < rows * 32; i += blockDim.x) {
        const int r = i / 32, column = blockIdx.x * 32 + i % 32;
        A total = tables[i];
        for (int k = 1; k < warps; k++) total += tables[(i64)k * rows * 32 + i];
        if (column < width) parts[((i64)blockIdx.y * rows + r) * width + column] = total;
    }
}

KERNEL(embedding_small_sum)(const A* parts, const int* counts, T* out, int splits, i64 count, int width) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        A total = parts[i];
#pragma unroll 8
        for (int k = 1; k < splits; k++) total += parts[k * count + i];
        const int n = counts ? counts[i / width] : 0;
        out[i] = dn(n ? total / (A)n : total);
    }
}

KERNEL(embedding_many)(const T* g, const int* counts, const int* ends, const int* list, const int* many,
                       const NB* base, T* out, i64 places, int width, int by_count) {
    depend();
    __shared__ unsigned bits[WINDOW / 32];
    __shared__ A parts[WARPS][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, c = blockIdx.y * 32 + lane;
    for (int h = blockIdx.x; h < many[0]; h += gridDim.x) {
        int row = many[1 + h], n = counts[row];
        const int* own = list + (ends[row] - n);
        A total = (A)0;
        for (i64 from = 0; from < places; from += WINDOW) {
            int words = (int)((places - from < WINDOW ? places - from : WINDOW) + 31) / 32;
            __syncthreads();
            for (int w = threadIdx.x; w < words; w += blockDim.x) bits[w] = 0;
            __syncthreads();
            for (int k = threadIdx.x; k < n; k += blockDim.x) {
                i64 at = own[k] - from;
                if (at >= 0 && at < WINDOW) atomicOr(bits + at / 32, 1u << (at % 32));
            }
            __syncthreads();
            if (c >= width) continue;
            int each = (words + WARPS - 1) / WARPS, last = (warp + 1) * each < words ? (warp + 1) * each : words;
            const T* place[AHEAD];
            int held = 0;
            for (int w = warp * each; w < last; w++)
                for (unsigned left = bits[w]; left; left &= left - 1) {
                    place[held++] = g + (from + w * 32 + __ffs((int)left) - 1) * width + c;
                    if (held < AHEAD) continue;
                    A read[AHEAD];
                    for (int k = 0; k < AHEAD; k++) read[k] = up(*place[k]);
                    for (int k = 0; k < AHEAD; k++) total += read[k];
                    held = 0;
                }
            for (int k = 0; k < held; k++) total += up(*place[k]);
        }
        parts[warp][lane] = total;
        __syncthreads();
        if (warp == 0 && c < width) {
            for (int w = 1; w < WARPS; w++) total += parts[w][lane];
            T made = dn(by_count ? total / (A)n : total);
            if (base) made = dn(up(base[(i64)row * width + c]) + up(made));
            out[(i64)row * width + c] = made;
        }
        __syncthreads();
    }
}
