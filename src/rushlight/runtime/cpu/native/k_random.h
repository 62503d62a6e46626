/* Words of an mt19937 (Matsumoto and Nishimura, 1998), and the numbers that are made of them. */

#define TWIST_WORDS 624
#define TWIST_AHEAD 397

INLINE uint32_t twisted(uint32_t first, uint32_t second, uint32_t far) {
    const uint32_t y = (first & 0x80000000u) | (second & 0x7fffffffu);
    return far ^ (y >> 1) ^ (-(y & 1u) & 0x9908b0dfu);
}

/* The next 624 words of the state. In loops without a branch: the compiler makes vectors of them. */
static void K(twist)(uint32_t *key) {
    idx i = 0;
    for (; i < TWIST_WORDS - TWIST_AHEAD; i++) key[i] = twisted(key[i], key[i + 1], key[i + TWIST_AHEAD]);
    for (; i < TWIST_WORDS - 1; i++) key[i] = twisted(key[i], key[i + 1], key[i + TWIST_AHEAD - TWIST_WORDS]);
    key[i] = twisted(key[i], key[0], key[TWIST_AHEAD - 1]);
}

static void K(temper)(const uint32_t *restrict key, uint32_t *restrict out, idx n) {
    for (idx i = 0; i < n; i++) {
        uint32_t y = key[i];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        out[i] = y ^ (y >> 18);
    }
}

/* The low 24 bits of a word, as a fraction. */
static void K(fractions)(const uint32_t *restrict words, float *restrict out, idx n) {
    for (idx i = 0; i < n; i++) out[i] = (float)(int32_t)(words[i] & 0xffffffu) * 0x1p-24f;
}

/* 1 where the low 53 bits of a pair, the high word first, are below a limit of two words; else 0. */
static void K(below)(const uint32_t *restrict words, float *restrict out, idx n, uint32_t high, uint32_t low) {
    for (idx i = 0; i < n; i++) {
        const uint32_t a = words[2 * i] & 0x1fffffu, b = words[2 * i + 1];
        out[i] = (float)((a < high) | ((a == high) & (b < low)));
    }
}
