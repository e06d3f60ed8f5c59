/*
 * UCB under a fixed delay, eight runs side by side: what one core does with its vector registers.
 *
 *   lanes HORIZON DELAY RUNS SEED < means
 *
 * The task is that of task.json, as in ucb.c. Each of eight lanes plays a run of its own; all of
 * them do the same thing at the same time, so that no branch depends on the data. An arm's index
 * is computed when its feedback arrives and kept, in [arm][lane]. Three builds:
 *   AVX-512   one register of eight doubles;
 *   AVX2      two registers of four;
 *   PORTABLE  plain loops over the lanes, for the compiler to do with what it can.
 * The number of arms is fixed at compile time (-DARMS=20), as a C programmer would.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef ARMS
#define ARMS 20
#endif
#define LANES 8
#define CHECKPOINTS 100

typedef double reals[LANES] __attribute__((aligned(64)));
typedef uint64_t wholes[LANES] __attribute__((aligned(64)));
typedef uint32_t shorts[LANES] __attribute__((aligned(32)));

/* What all runs share. */
typedef struct {
    uint64_t threshold[ARMS]; /* reward 1 when a 53-bit draw is below it */
    double gap[ARMS];
    double *radius; /* radius[n] = sqrt(2 / max(n, 1)), n = 0..horizon */
    shorts *ring;   /* the feedback in flight: arm << 1 | reward */
    long horizon, delay;
} game;

/* Where eight runs are. */
typedef struct {
    reals index[ARMS];
    wholes seen[ARMS]; /* n << 32 | S */
    wholes a, b, c, d; /* xoshiro256+ */
} table;

/* ---- the largest index of each lane, the first of equals ---- */

#if defined(__AVX512F__) && defined(__AVX512DQ__) && !defined(PORTABLE) && !defined(AVX2)
#include <immintrin.h>
#define WIDE
#define VARIANT "avx512 lanes"

static inline void leaders(const table *t, shorts arm) {
    __m512d best = _mm512_load_pd(t->index[0]);
    __m512i at = _mm512_setzero_si512();
    for (int i = 1; i < ARMS; i++) {
        __m512d x = _mm512_load_pd(t->index[i]);
        __mmask8 above = _mm512_cmp_pd_mask(x, best, _CMP_GT_OQ);
        best = _mm512_max_pd(x, best);
        at = _mm512_mask_mov_epi64(at, above, _mm512_set1_epi64(i));
    }
    _mm256_store_si256((__m256i *)arm, _mm512_cvtepi64_epi32(at));
}

#elif defined(__AVX2__) && !defined(PORTABLE)
#include <immintrin.h>
#define VARIANT "avx2 lanes"

static inline void leaders(const table *t, shorts arm) {
    for (int half = 0; half < LANES; half += 4) {
        __m256d best = _mm256_load_pd(t->index[0] + half);
        __m256d at = _mm256_setzero_pd();
        for (int i = 1; i < ARMS; i++) {
            __m256d x = _mm256_load_pd(t->index[i] + half);
            __m256d above = _mm256_cmp_pd(x, best, _CMP_GT_OQ);
            best = _mm256_max_pd(x, best);
            at = _mm256_blendv_pd(at, _mm256_set1_pd((double)i), above);
        }
        _mm_store_si128((__m128i *)(arm + half), _mm256_cvtpd_epi32(at));
    }
}

#else
#define VARIANT "portable lanes"

static inline void leaders(const table *t, shorts arm) {
    reals best;
    wholes at = {0};
    memcpy(best, t->index[0], sizeof best);
    for (int i = 1; i < ARMS; i++)
        for (int l = 0; l < LANES; l++) {
            int above = t->index[i][l] > best[l];
            best[l] = above ? t->index[i][l] : best[l];
            at[l] = above ? (uint64_t)i : at[l];
        }
    for (int l = 0; l < LANES; l++) arm[l] = (uint32_t)at[l];
}
#endif

/* ---- random bits: xoshiro256+, seeded by splitmix64 ---- */

static uint64_t split(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void open_streams(table *t, uint64_t seed, uint64_t first) {
    for (int l = 0; l < LANES; l++) {
        uint64_t state = seed;
        state = split(&state) ^ (first + (uint64_t)l);
        state = split(&state);
        t->a[l] = split(&state);
        t->b[l] = split(&state);
        t->c[l] = split(&state);
        t->d[l] = split(&state);
    }
}

static inline void draw53(table *t, wholes word) {
    for (int l = 0; l < LANES; l++) {
        uint64_t shifted = t->b[l] << 17;
        word[l] = (t->a[l] + t->d[l]) >> 11;
        t->c[l] ^= t->a[l];
        t->d[l] ^= t->b[l];
        t->b[l] ^= t->c[l];
        t->a[l] ^= t->d[l];
        t->c[l] ^= shifted;
        t->d[l] = t->d[l] << 45 | t->d[l] >> 19;
    }
}

/* ---- eight runs ---- */

/* Take in the feedback of one round: each lane's arm gets its index anew. Numbers are gathered by
   the vector unit where it has that, and scattered one by one, which is faster than all at once. */
#ifdef WIDE
static inline void answer(table *t, const double *radius, const shorts feedback) {
    const __m512i one = _mm512_set1_epi64(1), lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i entry = _mm512_cvtepu32_epi64(_mm256_load_si256((const __m256i *)feedback));
    __m512i cell = _mm512_add_epi64(_mm512_slli_epi64(_mm512_srli_epi64(entry, 1), 3), lane);
    __m512i more = _mm512_or_si512(_mm512_and_si512(entry, one), _mm512_slli_epi64(one, 32));
    __m512i seen = _mm512_add_epi64(_mm512_i64gather_epi64(cell, t->seen, 8), more);
    __m512i n = _mm512_srli_epi64(seen, 32);
    __m512i sum = _mm512_and_si512(seen, _mm512_set1_epi64(UINT32_MAX));
    __m512d mean = _mm512_div_pd(_mm512_cvtepi64_pd(sum), _mm512_cvtepi64_pd(n));
    __m512d index = _mm512_add_pd(mean, _mm512_i64gather_pd(n, radius, 8));
    wholes counts;
    reals value;
    _mm512_store_si512(counts, seen);
    _mm512_store_pd(value, index);
    for (int l = 0; l < LANES; l++) t->seen[feedback[l] >> 1][l] = counts[l];
    for (int l = 0; l < LANES; l++) t->index[feedback[l] >> 1][l] = value[l];
}
#else
static inline void answer(table *t, const double *radius, const shorts feedback) {
    reals n, sum, bonus;
    wholes seen;
    for (int l = 0; l < LANES; l++) {
        uint64_t *cell = &t->seen[feedback[l] >> 1][l];
        seen[l] = *cell += UINT64_C(1) << 32 | (feedback[l] & 1);
    }
    for (int l = 0; l < LANES; l++) bonus[l] = radius[seen[l] >> 32];
    for (int l = 0; l < LANES; l++) {
        n[l] = (double)(int32_t)(seen[l] >> 32);
        sum[l] = (double)(int32_t)seen[l];
    }
    for (int l = 0; l < LANES; l++) n[l] = sum[l] / n[l] + bonus[l];
    for (int l = 0; l < LANES; l++) t->index[feedback[l] >> 1][l] = n[l];
}
#endif

/* Adds the regrets at each checkpoint to curve; the regrets at the horizon. */
static void play(const game *g, uint64_t seed, uint64_t first, double *curve, reals regret) {
    table t;
    memset(&t, 0, sizeof t);
    memset(regret, 0, sizeof(reals));
    open_streams(&t, seed, first);
    for (int i = 0; i < ARMS; i++)
        for (int l = 0; l < LANES; l++) t.index[i][l] = g->radius[0];
    const long delay = g->delay;
    long slot = 0, round = 0;
    for (int point = 1; point <= CHECKPOINTS; point++) {
        long stop = g->horizon * point / CHECKPOINTS;
        for (; round < stop; round++) {
            uint32_t *here = g->ring[slot];
            if (round > delay) answer(&t, g->radius, here);
            shorts arm;
            if (round < ARMS)
                for (int l = 0; l < LANES; l++) arm[l] = (uint32_t)round;
            else
                leaders(&t, arm);
            wholes word, below;
            draw53(&t, word);
            for (int l = 0; l < LANES; l++) below[l] = g->threshold[arm[l]];
            for (int l = 0; l < LANES; l++) here[l] = arm[l] << 1 | (word[l] < below[l]);
            for (int l = 0; l < LANES; l++) regret[l] += g->gap[arm[l]];
            if (++slot > delay) slot = 0;
        }
        for (int l = 0; l < LANES; l++) curve[point - 1] += regret[l];
    }
}

/* ---- the program ---- */

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(const char *message) {
    fprintf(stderr, "lanes: %s\nusage: lanes HORIZON DELAY RUNS SEED < means\n", message);
    exit(2);
}

static game set_up(long horizon, long delay) {
    game g = {.horizon = horizon, .delay = delay};
    double mean[ARMS], best = 0.0;
    for (int i = 0; i < ARMS; i++) {
        if (scanf("%lf", &mean[i]) != 1 || !(mean[i] >= 0.0 && mean[i] <= 1.0))
            fail("standard input must hold one mean in [0, 1] for each arm");
        if (mean[i] > best) best = mean[i];
    }
    for (int i = 0; i < ARMS; i++) {
        g.gap[i] = best - mean[i];
        g.threshold[i] = (uint64_t)ldexp(mean[i], 53);
    }
    g.radius = malloc((size_t)(horizon + 1) * sizeof *g.radius);
    g.ring = aligned_alloc(64, ((size_t)(delay + 1) * sizeof *g.ring + 63) / 64 * 64);
    if (!g.radius || !g.ring) fail("out of memory");
    for (long n = 0; n <= horizon; n++) g.radius[n] = sqrt(2.0 / (double)(n > 0 ? n : 1));
    return g;
}

int main(int argc, char **argv) {
    if (argc != 5) fail("four arguments are needed");
    long horizon = atol(argv[1]), delay = atol(argv[2]), runs = atol(argv[3]);
    uint64_t seed = strtoull(argv[4], NULL, 10);
    if (horizon < 1 || horizon > INT32_MAX || delay < 0 || runs < 2) fail("HORIZON >= 1, DELAY >= 0, RUNS >= 2");

    double begin = cpu_seconds();
    game g = set_up(horizon, delay);
    double curve[CHECKPOINTS] = {0}, sum = 0.0, squares = 0.0;
    runs = (runs + LANES - 1) / LANES * LANES;
    for (long run = 0; run < runs; run += LANES) {
        reals regret;
        play(&g, seed, (uint64_t)run, curve, regret);
        for (int l = 0; l < LANES; l++) {
            sum += regret[l];
            squares += regret[l] * regret[l];
        }
    }
    double cpu = cpu_seconds() - begin;

    double mean = sum / (double)runs;
    double variance = fmax(0.0, squares - sum * mean) / (double)(runs - 1);
    printf("{\"variant\": \"%s\", \"cpu_s\": %.9f, \"ns_per_round\": %.4f, \"mean_regret\": %.6f, "
           "\"stderr\": %.6f, \"halfway_regret\": %.6f}\n",
           VARIANT, cpu, 1e9 * cpu / ((double)horizon * (double)runs), mean,
           sqrt(variance / (double)runs), curve[CHECKPOINTS / 2 - 1] / (double)runs);
    free(g.radius);
    free(g.ring);
    return 0;
}
