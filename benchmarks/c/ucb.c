/*
 * UCB under a fixed delay, one run at a time: what one core does with one stream.
 *
 *   ucb HORIZON DELAY RUNS SEED < means
 *
 * The task is that of task.json: Bernoulli arms, each arm once in index order, then the arm of
 * the largest S / max(n, 1) + sqrt(2 / max(n, 1)), ties to the lowest index. The feedback of
 * round s counts from round s + DELAY + 1 on. Prints one JSON object.
 *
 * An arm's index is computed when its feedback arrives and kept. Two builds differ in how they
 * find the largest one:
 *   AVX-512   all indices stay in three registers; no branch depends on the data, so that the
 *             processor overlaps the rounds (nothing but feedback links one round to the next);
 *   PORTABLE  the leader is remembered; it is looked for again only when its own index falls.
 *             Plain C, also what is built where there is no AVX-512.
 * The number of arms is fixed at compile time (-DARMS=20), as a C programmer would.
 *
 * With -DLAW=UNIFORM, LATE or LATER the delays are random instead: 0 to 2 DELAY, all alike; or 0
 * after a failure and, after a success, 2 DELAY or geometric with that mean. Feedback then waits in a
 * wheel: one word for each round to come, a byte for each answer.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef ARMS
#define ARMS 20
#endif
#define LANES 24 /* three registers of eight doubles; lanes without an arm hold -infinity */
#define CHECKPOINTS 100

_Static_assert(ARMS >= 1 && ARMS <= LANES, "ARMS must be between 1 and 24");

/* What all runs share. */
typedef struct {
    uint64_t threshold[ARMS]; /* reward 1 when a 53-bit draw is below it */
    double gap[ARMS];
    double *radius; /* radius[n] = sqrt(2 / max(n, 1)), n = 0..horizon */
    uint32_t *ring; /* the feedback in flight: arm << 1 | reward */
    long horizon, delay;
} game;

/* ---- random bits: xoshiro256+, seeded by splitmix64 ---- */

typedef struct {
    uint64_t a, b, c, d;
} stream;

static uint64_t split(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static stream open_stream(uint64_t seed, uint64_t run) {
    uint64_t state = seed;
    state = split(&state) ^ run;
    state = split(&state);
    stream s;
    s.a = split(&state);
    s.b = split(&state);
    s.c = split(&state);
    s.d = split(&state);
    return s;
}

static inline uint64_t draw53(stream *s) {
    uint64_t result = s->a + s->d, shifted = s->b << 17;
    s->c ^= s->a;
    s->d ^= s->b;
    s->b ^= s->c;
    s->a ^= s->d;
    s->c ^= shifted;
    s->d = s->d << 45 | s->d >> 19;
    return result >> 11;
}

/* ---- the cached indices: start, put, leader ---- */

#if defined(__AVX512F__) && !defined(PORTABLE)
#include <immintrin.h>
#define VARIANT "avx512"

typedef struct {
    __m512d low, mid, high;
} indices;

static inline indices start(double value) {
    double lane[LANES];
    for (int i = 0; i < LANES; i++) lane[i] = i < ARMS ? value : -INFINITY;
    return (indices){_mm512_loadu_pd(lane), _mm512_loadu_pd(lane + 8), _mm512_loadu_pd(lane + 16)};
}

static inline void put(indices *x, int arm, double value) {
    __m512d spread = _mm512_set1_pd(value);
    uint32_t bit = UINT32_C(1) << arm;
    x->low = _mm512_mask_mov_pd(x->low, (__mmask8)bit, spread);
    x->mid = _mm512_mask_mov_pd(x->mid, (__mmask8)(bit >> 8), spread);
    x->high = _mm512_mask_mov_pd(x->high, (__mmask8)(bit >> 16), spread);
}

static inline int leader(const indices *x) {
    __m512d top = _mm512_max_pd(_mm512_max_pd(x->low, x->mid), x->high);
    top = _mm512_set1_pd(_mm512_reduce_max_pd(top));
    uint32_t low = _mm512_cmp_pd_mask(x->low, top, _CMP_EQ_OQ);
    uint32_t mid = _mm512_cmp_pd_mask(x->mid, top, _CMP_EQ_OQ);
    uint32_t high = _mm512_cmp_pd_mask(x->high, top, _CMP_EQ_OQ);
    return __builtin_ctz(low | mid << 8 | high << 16);
}

#else
#define VARIANT "portable"

typedef struct {
    double lane[LANES];
    double top;
    int best;
} indices;

static inline indices start(double value) {
    indices x = {.top = value, .best = 0};
    for (int i = 0; i < LANES; i++) x.lane[i] = i < ARMS ? value : -INFINITY;
    return x;
}

/* Eight partial maxima first, so that the compiler vectorises; then the first lane that has it. */
static inline void scan(indices *x) {
    double part[8];
    for (int j = 0; j < 8; j++) part[j] = x->lane[j];
    for (int i = 8; i < LANES; i += 8)
        for (int j = 0; j < 8; j++) part[j] = x->lane[i + j] > part[j] ? x->lane[i + j] : part[j];
    double top = part[0];
    for (int j = 1; j < 8; j++) top = part[j] > top ? part[j] : top;
    int best = 0;
    while (x->lane[best] != top) best++;
    x->top = top;
    x->best = best;
}

static inline void put(indices *x, int arm, double value) {
    x->lane[arm] = value;
    if (arm == x->best) {
        if (value >= x->top)
            x->top = value;
        else
            scan(x);
    } else if (value > x->top || (value == x->top && arm < x->best)) {
        x->top = value;
        x->best = arm;
    }
}

static inline int leader(const indices *x) { return x->best; }
#endif

/* ---- one run ---- */

#ifdef LAW
#define UNIFORM 1
#define LATE 2
#define LATER 3
#define QUANTILES (1 << 16)

static long wheel_size = 1; /* a power of two above every delay */
static uint64_t *wheel;
static int32_t quantile[QUANTILES]; /* of the geometric law: quicker than a logarithm, and as good here */

static void set_up_wheel(const game *g) {
    double stay = log1p(-1.0 / (1.0 + 2.0 * (double)g->delay));
    for (int i = 0; i < QUANTILES; i++) quantile[i] = (int32_t)(log((i + 0.5) / QUANTILES) / stay);
    long longest = quantile[0] > 2 * g->delay ? quantile[0] : 2 * g->delay;
    while (wheel_size <= longest) wheel_size *= 2;
    wheel = malloc((size_t)wheel_size * sizeof *wheel);
}

static inline long delay_of(const game *g, stream *bits, uint32_t reward) {
    if (LAW == UNIFORM) return (long)(((draw53(bits) >> 21) * (uint64_t)(2 * g->delay + 1)) >> 32);
    if (!reward) return 0;
    return LAW == LATE ? 2 * g->delay : quantile[draw53(bits) >> 37];
}

/* Adds the regret at each checkpoint to curve and returns the regret at the horizon. */
static double play(const game *g, stream bits, double *curve) {
    uint64_t seen[ARMS] = {0}; /* n << 32 | S */
    indices index = start(g->radius[0]);
    const double *radius = g->radius;
    const long mask = wheel_size - 1;
    double regret = 0.0;
    for (long i = 0; i < wheel_size; i++) wheel[i] = 0;
    for (long round = 0, point = 1; point <= CHECKPOINTS; point++) {
        long stop = g->horizon * point / CHECKPOINTS;
        for (; round < stop; round++) {
            uint32_t arm = round < ARMS ? (uint32_t)round : (uint32_t)leader(&index);
            uint32_t reward = draw53(&bits) < g->threshold[arm];
            uint64_t *box = &wheel[(round + delay_of(g, &bits, reward)) & mask];
            while (*box >> 56) box = box == wheel + mask ? wheel : box + 1; /* full, once in a million: a round later */
            *box = *box << 8 | 0x80 | arm << 1 | reward;
            uint64_t due = wheel[round & mask];
            wheel[round & mask] = 0;
            for (; due; due >>= 8) {
                uint32_t answered = due >> 1 & 63;
                uint64_t s = seen[answered] + (UINT64_C(1) << 32 | (due & 1));
                seen[answered] = s;
                uint32_t n = (uint32_t)(s >> 32);
                put(&index, (int)answered, (double)(uint32_t)s / (double)n + radius[n]);
            }
            regret += g->gap[arm];
        }
        curve[point - 1] += regret;
    }
    return regret;
}

#else
static void set_up_wheel(const game *g) { (void)g; }

/* Adds the regret at each checkpoint to curve and returns the regret at the horizon. */
static double play(const game *g, stream bits, double *curve) {
    uint64_t seen[ARMS] = {0}; /* n << 32 | S */
    indices index = start(g->radius[0]);
    const double *radius = g->radius;
    uint32_t *ring = g->ring;
    const long delay = g->delay;
    double regret = 0.0;
    long slot = 0, round = 0;
    for (int point = 1; point <= CHECKPOINTS; point++) {
        long stop = g->horizon * point / CHECKPOINTS;
        for (; round < stop; round++) {
            if (round > delay) {
                uint32_t feedback = ring[slot];
                uint32_t arm = feedback >> 1;
                uint64_t s = seen[arm] + (UINT64_C(1) << 32 | (feedback & 1));
                seen[arm] = s;
                uint32_t n = (uint32_t)(s >> 32);
                put(&index, (int)arm, (double)(uint32_t)s / (double)n + radius[n]);
            }
            int arm = round < ARMS ? (int)round : leader(&index);
            uint32_t reward = draw53(&bits) < g->threshold[arm];
            ring[slot] = (uint32_t)arm << 1 | reward;
            if (++slot > delay) slot = 0;
            regret += g->gap[arm];
        }
        curve[point - 1] += regret;
    }
    return regret;
}
#endif

/* ---- the program ---- */

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(const char *message) {
    fprintf(stderr, "ucb: %s\nusage: ucb HORIZON DELAY RUNS SEED < means\n", message);
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
    g.ring = malloc((size_t)(delay + 1) * sizeof *g.ring);
    if (!g.radius || !g.ring) fail("out of memory");
    for (long n = 0; n <= horizon; n++) g.radius[n] = sqrt(2.0 / (double)(n > 0 ? n : 1));
    return g;
}

int main(int argc, char **argv) {
    if (argc != 5) fail("four arguments are needed");
    long horizon = atol(argv[1]), delay = atol(argv[2]), runs = atol(argv[3]);
    uint64_t seed = strtoull(argv[4], NULL, 10);
    if (horizon < 1 || delay < 0 || runs < 2) fail("HORIZON >= 1, DELAY >= 0, RUNS >= 2");

    double begin = cpu_seconds();
    game g = set_up(horizon, delay);
    set_up_wheel(&g);
    double curve[CHECKPOINTS] = {0}, sum = 0.0, squares = 0.0;
    for (long run = 0; run < runs; run++) {
        double regret = play(&g, open_stream(seed, (uint64_t)run), curve);
        sum += regret;
        squares += regret * regret;
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
