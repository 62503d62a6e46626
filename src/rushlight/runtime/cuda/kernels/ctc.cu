// Connectionist temporal classification (Graves et al. 2006): one block walks through the frames of one sample, its
// threads stand for the states blank y1 blank ... yS blank, PER of them each. Sums of probabilities are of logarithms.
// Scores of the next frame are read while this one is computed. log_probs is (frames, samples, classes), alpha
// (frames, samples, states), labels (samples, width).
#ifndef PER
#define PER 1
#endif
#define LOW (-infinity())
typedef const i64* __restrict__ Places;

// log(exp(a) + exp(b) + exp(c)), of which all may be minus infinity.
__device__ __forceinline__ A log_sum(A a, A b, A c) {
    const A high = a > b ? (a > c ? a : c) : (b > c ? b : c);
    if (high == LOW) return high;
    return log(exp(a - high) + exp(b - high) + exp(c - high)) + high;
}
// The label of a state; out of range it is brought into it, as a check would wait for the GPU.
__device__ __forceinline__ i64 label_of(Places labels, int state, i64 blank, i64 classes) {
    const i64 label = state & 1 ? labels[state >> 1] : blank;
    return label < 0 ? 0 : label < classes ? label : classes - 1;
}
__device__ __forceinline__ int between(i64 v, int most) { return v < 0 ? 0 : v < most ? (int)v : most; }
// Whether a state may be entered from two before.
__device__ __forceinline__ bool jumps(Places labels, int state, i64 blank, i64 classes) {
    if (state < 2 || !(state & 1)) return false;
    const i64 own = label_of(labels, state, blank, classes);
    return own != blank && own != label_of(labels, state - 2, blank, classes);
}

KERNEL(ctc_alpha)(const T* __restrict__ log_probs, Places labels, Places inputs, Places targets,
                  T* __restrict__ loss, T* __restrict__ alpha, int frames, int samples, int classes, int width,
                  int blank) {
    depend();
    extern __shared__ __align__(16) A lines[];  // two lines of states, with two of minus infinity in front
    const int n = blockIdx.x, states = 2 * width + 1, line = states + 2;
    const int steps = between(inputs[n], frames), length = between(targets[n], width), used = 2 * length + 1;
    labels += (i64)n * width;
    i64 at[PER];
    bool jump[PER];
    A next[PER];
    for (int i = threadIdx.x; i < 2 * line; i += blockDim.x) lines[i] = LOW;
#pragma unroll
    for (int p = 0; p < PER; p++) {
        const int s = threadIdx.x + p * blockDim.x;
        at[p] = 0, jump[p] = false, next[p] = LOW;
        if (s < used) {
            at[p] = (i64)n * classes + label_of(labels, s, blank, classes);
            jump[p] = jumps(labels, s, blank, classes);
            if (steps) next[p] = up(log_probs[at[p]]);
        }
    }
    const i64 frame = (i64)samples * classes;
    for (int t = 0; t < frames; t++) {
        const A* before = lines + (t & 1 ? line : 0) + 2;
        A* after = lines + (t & 1 ? 0 : line) + 2;
        __syncthreads();
#pragma unroll
        for (int p = 0; p < PER; p++) {
            const int s = threadIdx.x + p * blockDim.x;
            if (s >= states) continue;
            A v = LOW;
            if (s < used && t < steps) {
                const A score = next[p];
                if (t + 1 < steps) next[p] = up(log_probs[(t + 1) * frame + at[p]]);
                if (t == 0) v = s < 2 ? score : LOW;
                else v = log_sum(before[s], before[s - 1], jump[p] ? before[s - 2] : LOW) + score;
                after[s] = v;
            }
            alpha[((i64)t * samples + n) * states + s] = dn(v);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        const A* last = lines + (steps & 1 ? line : 0) + 2;  // that of frame steps - 1
        A total = length ? log_sum(last[2 * length], last[2 * length - 1], LOW) : last[0];
        if (!steps) total = length ? LOW : (A)0;
        loss[n] = dn(-total);
    }
}

// beta, and with it how likely each state is in each frame: exp(alpha + beta - score + loss), in alpha's shape.
// `next_same` (samples, width) makes chains of equal labels: where a label comes next, or -1; the first of a chain has
// -3 less that, which tells it from the others. The blank has none.
KERNEL(ctc_beta)(const T* __restrict__ log_probs, Places labels, Places inputs, Places targets,
                 const T* __restrict__ loss, const T* __restrict__ alpha, A* __restrict__ shares,
                 int* __restrict__ next_same, int frames, int samples, int classes, int width, int blank) {
    depend();
    extern __shared__ __align__(16) A lines[];  // two lines of states, with two of minus infinity behind
    const int n = blockIdx.x, states = 2 * width + 1, line = states + 2;
    const int steps = between(inputs[n], frames), length = between(targets[n], width), used = 2 * length + 1;
    labels += (i64)n * width;
    const A total = up(loss[n]);
    i64 at[PER];
    bool jump[PER];
    A next[PER], ours[PER];
    for (int i = threadIdx.x; i < 2 * line; i += blockDim.x) lines[i] = LOW;
    const i64 frame = (i64)samples * classes, row = (i64)samples * states;
#pragma unroll
    for (int p = 0; p < PER; p++) {
        const int s = threadIdx.x + p * blockDim.x;
        at[p] = 0, jump[p] = false, next[p] = ours[p] = LOW;
        if (s < used) {
            at[p] = (i64)n * classes + label_of(labels, s, blank, classes);
            jump[p] = s + 2 < used && jumps(labels, s + 2, blank, classes);
            if (steps) {
                next[p] = up(log_probs[(steps - 1) * frame + at[p]]);
                ours[p] = up(alpha[(steps - 1) * row + (i64)n * states + s]);
            }
        }
    }
    for (int i = threadIdx.x; i < length; i += blockDim.x) {
        const i64 own = label_of(labels, 2 * i + 1, blank, classes);
        int later = i + 1, sooner = i - 1;
        while (later < length && label_of(labels, 2 * later + 1, blank, classes) != own) later++;
        while (sooner >= 0 && label_of(labels, 2 * sooner + 1, blank, classes) != own) sooner--;
        const int following = later < length ? later : -1;
        next_same[(i64)n * width + i] = own == blank ? -1 : sooner < 0 ? -3 - following : following;
    }
    for (int t = steps - 1; t >= 0; t--) {
        const A* later = lines + (t & 1 ? line : 0);
        A* now = lines + (t & 1 ? 0 : line);
        __syncthreads();
#pragma unroll
        for (int p = 0; p < PER; p++) {
            const int s = threadIdx.x + p * blockDim.x;
            if (s >= used) continue;
            const A score = next[p], forward = ours[p];
            if (t) {
                next[p] = up(log_probs[(t - 1) * frame + at[p]]);
                ours[p] = up(alpha[(t - 1) * row + (i64)n * states + s]);
            }
            A v;
            if (t == steps - 1) v = s >= used - 2 ? score : LOW;
            else v = log_sum(later[s], later[s + 1], jump[p] ? later[s + 2] : LOW) + score;
            now[s] = v;
            const A share = exp(forward + v - score + total);
            shares[t * row + (i64)n * states + s] = share < infinity() ? share : (A)0;
        }
    }
}

// The gradient of one frame of one sample: exp(log_probs) less the shares of the states with that label, by the same
// additions in the same order every time. It holds for log_probs that come out of a log_softmax, as PyTorch's.
KERNEL(ctc_grad)(const T* __restrict__ g, const T* __restrict__ log_probs, Places labels, Places inputs,
                 Places targets, const T* __restrict__ loss, const A* __restrict__ shares,
                 const int* __restrict__ next_same, T* gx, int frames, int samples, int classes, int width,
                 int blank) {
    depend();
    __shared__ A hold[32];
    const i64 row = blockIdx.x;
    const int t = (int)(row / samples), n = (int)(row - (i64)t * samples), states = 2 * width + 1;
    const int steps = between(inputs[n], frames), length = between(targets[n], width);
    const A total = up(loss[n]), given = up(g[n]);
    gx += row * classes;
    log_probs += row * classes;
    if (t >= steps || given == 0) {
        for (int c = threadIdx.x; c < classes; c += blockDim.x) gx[c] = dn((A)0);
        return;
    }
    const bool possible = total < infinity() && total > -infinity();
    const A scale = possible ? given : infinity() - infinity();
    labels += (i64)n * width;
    next_same += (i64)n * width;
    shares += row * states;
    A silent = 0;
    for (int s = threadIdx.x; s <= 2 * length; s += blockDim.x)
        if (!(s & 1) || label_of(labels, s, blank, classes) == blank) silent += shares[s];
    silent = block_sum(silent, hold);
    for (int c = threadIdx.x; c < classes; c += blockDim.x)
        gx[c] = dn((exp(up(log_probs[c])) - (c == blank ? silent : (A)0)) * scale);
    __syncthreads();
    for (int i = threadIdx.x; i < length; i += blockDim.x) {
        int following = next_same[i];
        if (following >= -1) continue;  // no first one
        A sum = shares[2 * i + 1];
        for (following = -3 - following; following >= 0; following = next_same[following]) sum += shares[2 * following + 1];
        const i64 c = label_of(labels, 2 * i + 1, blank, classes);
        gx[c] = dn((exp(up(log_probs[c])) - sum) * scale);
    }
}
