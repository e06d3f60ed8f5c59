/*
 * The other policies under a fixed delay, one run at a time: what one core does with one stream.
 *
 *   cc -O3 -march=native -std=gnu11 -DARMS=20 -DPOLICY=SE policies.c -o policies -lm
 *   policies HORIZON DELAY RUNS SEED < means
 *
 * The task is that of task.json, for the policies that ucb.c does not play; a build plays one of them.
 * The feedback of round s counts from round s + DELAY + 1 on. An arm has m pulls, n answers, their sum S:
 *   SE          sweep the active arms; after a sweep drop each whose upper bound S/n + sqrt(2c/n) is
 *               below the largest lower bound S/n - sqrt(2c/n), n at least 1;
 *   PSE         in phases l = 1, 2, ...: sweep the arms with n < 16c 4^l; when none is left, drop as SE does;
 *   OPSE        SE with the bounds (S + m - n)/m + sqrt(2c/m) and S/m - sqrt(2c/m);
 *   PATIENT     each arm once, then the largest S/m + sqrt(2 ln(2KT^3)/m) + 2/sqrt(m);
 *   OPTIMISTIC  each arm once, then the largest (S + m - n)/m + sqrt(2c/m);
 *   THOMPSON    the largest draw from Beta(1 + S, 1 + n - S).
 * Every round is played until one arm is left; the rest is arithmetic. Prints one JSON object.
 * A policy is a state and three functions that play calls: start, hear (an answer), choose.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SE 1
#define PSE 2
#define OPSE 3
#define PATIENT 4
#define OPTIMISTIC 5
#define THOMPSON 6
#ifndef POLICY
#define POLICY SE
#endif
#ifndef ARMS
#define ARMS 20
#endif
#define CHECKPOINTS 100
#define CONFIDENCE 1.0

_Static_assert(ARMS >= 2 && ARMS <= 32, "ARMS must be between 2 and 32");

/* What all runs share. */
typedef struct {
    uint64_t threshold[ARMS]; /* reward 1 when a 53-bit draw is below it */
    double gap[ARMS];
    double *table;  /* the policy's costly function of a count, 0..horizon + 1 */
    uint32_t *ring; /* the feedback in flight: arm << 1 | reward */
    long horizon, delay;
} game;

static double entry(double count, double horizon) {
    if (POLICY == THOMPSON) return 1.0 / sqrt(9.0 * (count - 1.0 / 3.0));
    if (POLICY == PATIENT) return sqrt(2.0 * (log(2.0 * ARMS) + 3.0 * log(horizon)) / count) + 2.0 / sqrt(count);
    return sqrt(2.0 * CONFIDENCE / count);
}

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

#if POLICY == SE || POLICY == PSE || POLICY == OPSE
/* ---- elimination ---- */

#define VARIANT (POLICY == SE ? "SE" : POLICY == PSE ? "PSE" : "OPSE")

typedef struct {
    const double *radius;
    uint32_t count[2 * ARMS]; /* answers: failures and successes, at arm << 1 | reward */
    int active[ARMS], sweep[ARMS];
    int left, swept, place; /* arms active, arms of this sweep, how many of these were pulled */
    uint32_t sweeps;        /* that are over; OPSE: each active arm was pulled as often */
    double need;            /* PSE: the answers that an arm must have in this phase */
} state;

static inline void start(state *x, const double *table, stream *bits) {
    (void)bits;
    *x = (state){.radius = table, .left = ARMS, .swept = ARMS, .need = 16.0 * CONFIDENCE * 4.0};
    for (int i = 0; i < ARMS; i++) x->active[i] = x->sweep[i] = i;
}

static inline void hear(state *x, uint32_t feedback) { x->count[feedback]++; }

static inline uint32_t answers(const state *x, int arm) { return x->count[2 * arm] + x->count[2 * arm + 1]; }
static inline double share(uint32_t part, uint32_t whole) { return (double)part / (double)(whole > 0 ? whole : 1); }

static inline double upper(const state *x, int arm) {
    uint32_t n = POLICY == OPSE ? x->sweeps : answers(x, arm);
    return share(POLICY == OPSE ? n - x->count[2 * arm] : x->count[2 * arm + 1], n) + x->radius[n];
}

/* Drop the active arms whose upper bound is below the largest lower bound. */
static inline void eliminate(state *x) {
    double bar = -INFINITY, lowest = INFINITY;
    uint32_t m = x->sweeps, best = 0, worst = 0;
    for (int i = 0; i < x->left; i++) {
        uint32_t bad = x->count[2 * x->active[i]], good = x->count[2 * x->active[i] + 1];
        if (POLICY == OPSE) { /* all have the same m: the bounds follow the counts */
            best = good > best ? good : best;
            worst = bad > worst ? bad : worst;
        } else {
            double mean = share(good, bad + good), r = x->radius[bad + good];
            bar = mean - r > bar ? mean - r : bar;
            lowest = mean + r < lowest ? mean + r : lowest;
        }
    }
    if (POLICY == OPSE) bar = share(best, m) - x->radius[m], lowest = share(m - worst, m) + x->radius[m];
    if (!(lowest < bar)) return;
    int kept = 0;
    for (int i = 0; i < x->left; i++)
        if (!(upper(x, x->active[i]) < bar)) x->active[kept++] = x->active[i];
    x->left = kept;
}

static inline void end_sweep(state *x) {
    x->place = 0;
    x->sweeps++;
    if (POLICY == PSE) {
        int kept = 0;
        for (int i = 0; i < x->swept; i++)
            if (answers(x, x->sweep[i]) < x->need) x->sweep[kept++] = x->sweep[i];
        x->swept = kept;
        if (kept > 0) return;
        x->need *= 4.0;
    }
    eliminate(x);
    if (x->swept == x->left) return; /* the same arms again */
    memcpy(x->sweep, x->active, sizeof x->sweep);
    x->swept = x->left;
}

/* The next arm of the sweep, or -1 where active[0] alone is left. */
static inline int choose(state *x) {
    if (x->place == x->swept) {
        end_sweep(x);
        if (x->left == 1) return -1;
    }
    return x->sweep[x->place++];
}

#elif POLICY == PATIENT || POLICY == OPTIMISTIC
/* ---- cached indices: an arm's is computed when it is pulled or answered ---- */

typedef struct {
    const double *bonus;
    uint32_t pulls[ARMS], count[ARMS]; /* m; successes (PATIENT) or failures (OPTIMISTIC), m - failures = S + m - n */
    uint64_t tree[64]; /* PATIENT */
    double index[ARMS], bar; /* OPTIMISTIC */
    int leader;
} state;

#if POLICY == PATIENT
#define VARIANT "PatientBandits"

/*
 * The leader falls with each pull, so that nearly every round has another one: a winner tree without
 * a branch. Node k has the larger key of nodes 2k and 2k + 1; the root is node 1, arm i is node 32 + i.
 * A key is an index from 2^-15 to 2^15 and, for ties, its arm: the bits of such numbers, less those of
 * 2^-15, fill 57 places, so that the arm fits in behind and keys compare as the indices do, exactly.
 */
static inline void put(state *x, int arm, double index) {
    uint64_t key, node = 32 + (uint64_t)arm;
    memcpy(&key, &index, sizeof key);
    key = (key - UINT64_C(0x3f00000000000000)) << 5 | (31 - (uint64_t)arm);
    x->tree[node] = key;
#pragma GCC unroll 5
    for (int level = 0; level < 5; level++) {
        uint64_t rival = x->tree[node ^ 1];
        key = rival > key ? rival : key;
        node >>= 1;
        x->tree[node] = key;
    }
}

static inline int leader(const state *x) { return 31 - (int)(x->tree[1] & 31); }

#else
#define VARIANT "Optimistic-UCB"

/* Find the largest index, the first of equals, and the second largest. */
static __attribute__((noinline)) void scan(state *x) {
    double top = x->index[0], bar = -INFINITY;
    int leader = 0;
    for (int i = 1; i < ARMS; i++) {
        double value = x->index[i], less = value > top ? top : value;
        leader = value > top ? i : leader;
        top = value > top ? value : top;
        bar = less > bar ? less : bar;
    }
    x->leader = leader;
    x->bar = bar;
}

/* The leader is remembered, with a bar that no other index is above. */
static inline void put(state *x, int arm, double index) {
    x->index[arm] = index;
    if (arm == x->leader ? index > x->bar : index < x->bar) return;
    if (arm == x->leader) {
        scan(x);
        return;
    }
    double ahead = x->index[x->leader];
    int leads = index > ahead || (index == ahead && arm < x->leader);
    x->bar = leads ? ahead : index;
    x->leader = leads ? arm : x->leader;
}

static inline int leader(const state *x) { return x->leader; }
#endif

static inline void start(state *x, const double *table, stream *bits) {
    (void)bits;
    *x = (state){.bonus = table, .bar = INFINITY};
    for (int i = 0; i < ARMS; i++)
        if (POLICY == PATIENT) put(x, i, 0x1p14); else x->index[i] = INFINITY;
}

static inline void rescore(state *x, int arm) {
    uint32_t m = x->pulls[arm], part = POLICY == PATIENT ? x->count[arm] : m - x->count[arm];
    put(x, arm, (double)part / (double)m + x->bonus[m]);
}

static inline void hear(state *x, uint32_t feedback) {
    if (POLICY == PATIENT && !(feedback & 1)) return; /* a failure changes nothing */
    x->count[feedback >> 1] += POLICY == PATIENT ? 1 : ~feedback & 1;
    rescore(x, (int)(feedback >> 1));
}

static inline int choose(state *x) {
    int arm = leader(x);
    x->pulls[arm]++;
    rescore(x, arm);
    return arm;
}

#elif POLICY == THOMPSON
/* ---- Beta draws from Gamma draws (Marsaglia and Tsang 2000), normals by inversion (Wichura 1988, AS 241) ---- */

#define VARIANT "Thompson"
#define WIDTH 8 /* streams side by side, in vectors that the compiler cuts to the machine's size */
#define SHAPES (2 * ARMS)
#define BATCH ((SHAPES + WIDTH - 1) / WIDTH * WIDTH)

typedef uint64_t words __attribute__((vector_size(8 * WIDTH)));
typedef double reals __attribute__((vector_size(8 * WIDTH)));

typedef struct {
    const double *table;
    uint32_t shape[BATCH];     /* 1 + answers, at arm << 1 | reward */
    double d[BATCH], c[BATCH]; /* for each shape: shape - 1/3, 1/sqrt(9d) */
    words wide[4];             /* WIDTH streams */
    stream bits;               /* one more, for what is drawn again */
} state;

static const double CENTRAL[2][8] = {{3.387132872796366608, 133.14166789178437745, 1971.5909503065514427,
    13731.693765509461125, 45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727},
    {1.0, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867,
    39307.89580009271061, 28729.085735721942674, 5226.495278852854561}};
static const double TAIL[2][8] = {{1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055,
    3.64784832476320460504, 1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833,
    7.7454501427834140764e-4}, {1.0, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455,
    0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4, 1.05075007164441684324e-9}};
static const double FAR[2][8] = {{6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358,
    0.29656057182850489123, 0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5,
    2.01033439929228813265e-7}, {1.0, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525,
    7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-15}};

static inline double polynomial(double r, const double p[8]) {
    double low = (p[0] + p[1] * r) + (p[2] + p[3] * r) * (r * r);
    double high = (p[4] + p[5] * r) + (p[6] + p[7] * r) * (r * r);
    return low + high * ((r * r) * (r * r));
}

static inline double ratio(double r, const double p[2][8]) { return polynomial(r, p[0]) / polynomial(r, p[1]); }
static inline int is_central(double u) { return fabs(u - 0.5) <= 0.425; }
static inline double central(double u) { return (u - 0.5) * ratio(0.180625 - (u - 0.5) * (u - 0.5), CENTRAL); }
static inline double outer(double u) {
    double r = sqrt(-log(u < 0.5 ? u : 1.0 - u));
    return copysign(r <= 5.0 ? ratio(r - 1.6, TAIL) : ratio(r - 5.0, FAR), u - 0.5);
}

/* Whether to accept d v^3: the test that needs no logarithm, and the one that decides. */
static inline double cube(double v) { return v * v * v; }
static inline int surely(double x, double v, double u) { return (v > 0.0) & (u < 1.0 - 0.0331 * (x * x) * (x * x)); }
static inline int after_all(double x, double v, double u, double d) {
    return v > 0.0 && log(u) < 0.5 * x * x + d * (1.0 - cube(v) + log(cube(v)));
}

static inline double uniform(stream *s) { return ((double)(int64_t)(draw53(s) >> 1) + 0.5) * 0x1p-52; }

static double gamma_draw(stream *s, double d, double c) {
    for (;;) {
        double p = uniform(s), u = uniform(s);
        double x = is_central(p) ? central(p) : outer(p), v = 1.0 + c * x;
        if (surely(x, v, u) || after_all(x, v, u, d)) return d * cube(v);
    }
}

static inline void uniforms(words *s, double *u) {
    for (int i = 0; i < BATCH; i += WIDTH) {
        words result = s[0] + s[3], shifted = s[1] << 17;
        s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3], s[2] ^= shifted;
        s[3] = s[3] << 45 | s[3] >> 19;
        reals some = (__builtin_convertvector(result >> 12, reals) + 0.5) * 0x1p-52;
        memcpy(u + i, &some, sizeof some);
    }
}

/* All shapes together, as if each draw were central and accepted; then, one by one, those that are not. */
static inline void gamma_draws(state *s, double *out) {
    double p[BATCH], u[BATCH], x[BATCH];
    int64_t good[BATCH];
    int rest[BATCH], others = 0;
    uniforms(s->wide, p);
    uniforms(s->wide, u);
    for (int i = 0; i < BATCH; i++) x[i] = central(p[i]);
    for (int i = 0; i < SHAPES; i++) rest[others] = i, others += !is_central(p[i]);
    for (int k = 0; k < others; k++) x[rest[k]] = outer(p[rest[k]]);
    for (int i = 0; i < BATCH; i++) {
        double v = 1.0 + s->c[i] * x[i];
        out[i] = s->d[i] * cube(v);
        good[i] = surely(x[i], v, u[i]);
    }
    others = 0;
    for (int i = 0; i < SHAPES; i++) rest[others] = i, others += !good[i];
    for (int k = 0; k < others; k++) {
        int i = rest[k];
        if (!after_all(x[i], 1.0 + s->c[i] * x[i], u[i], s->d[i])) out[i] = gamma_draw(&s->bits, s->d[i], s->c[i]);
    }
}

static inline void start(state *s, const double *table, stream *bits) {
    *s = (state){.table = table};
    for (int i = 0; i < BATCH; i++) s->shape[i] = 1, s->d[i] = 2.0 / 3.0, s->c[i] = table[1];
    uint64_t word[4 * WIDTH], seed = draw53(bits);
    for (int i = 0; i < 4 * WIDTH; i++) word[i] = split(&seed);
    memcpy(s->wide, word, sizeof word);
    s->bits = open_stream(seed, 0);
}

static inline void hear(state *s, uint32_t feedback) {
    s->d[feedback] += 1.0;
    s->c[feedback] = s->table[++s->shape[feedback]];
}

static inline int choose(state *s) {
    double draw[BATCH], mean[ARMS];
    gamma_draws(s, draw);
    for (int i = 0; i < ARMS; i++) mean[i] = draw[2 * i + 1] / (draw[2 * i] + draw[2 * i + 1]);
    int best = 0;
    for (int i = 1; i < ARMS; i++) best = mean[i] > mean[best] ? i : best;
    return best;
}
#endif

/* ---- one run ---- */

/* Adds the regret at each checkpoint to curve and returns the regret at the horizon. */
static double play(const game *g, stream bits, double *curve) {
    state x;
    start(&x, g->table, &bits);
    uint32_t *ring = g->ring;
    const long delay = g->delay;
    double regret = 0.0;
    long slot = 0, round = 0;
    for (int point = 1; point <= CHECKPOINTS; point++) {
        long stop = g->horizon * point / CHECKPOINTS;
        for (; round < stop; round++) {
            if (round > delay) hear(&x, ring[slot]);
            int arm = choose(&x);
#if POLICY == SE || POLICY == PSE || POLICY == OPSE
            if (arm < 0) {
                double each = g->gap[x.active[0]];
                for (; point <= CHECKPOINTS; point++)
                    curve[point - 1] += regret + each * (double)(g->horizon * point / CHECKPOINTS - round);
                return regret + each * (double)(g->horizon - round);
            }
#endif
            uint32_t reward = draw53(&bits) < g->threshold[arm];
            ring[slot] = (uint32_t)arm << 1 | reward;
            if (++slot > delay) slot = 0;
            regret += g->gap[arm];
        }
        curve[point - 1] += regret;
    }
    return regret;
}

/* ---- the program ---- */

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(const char *message) {
    fprintf(stderr, "policies: %s\nusage: policies HORIZON DELAY RUNS SEED < means\n", message);
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
    g.table = malloc((size_t)(horizon + 2) * sizeof *g.table);
    g.ring = malloc((size_t)(delay + 1) * sizeof *g.ring);
    if (!g.table || !g.ring) fail("out of memory");
    for (long n = 0; n <= horizon + 1; n++) g.table[n] = entry(n > 0 ? (double)n : 1.0, (double)horizon);
    return g;
}

int main(int argc, char **argv) {
    if (argc != 5) fail("four arguments are needed");
    long horizon = atol(argv[1]), delay = atol(argv[2]), runs = atol(argv[3]);
    uint64_t seed = strtoull(argv[4], NULL, 10);
    if (horizon < 1 || delay < 0 || runs < 2) fail("HORIZON >= 1, DELAY >= 0, RUNS >= 2");

    double begin = cpu_seconds();
    game g = set_up(horizon, delay);
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
    free(g.table);
    free(g.ring);
    return 0;
}
