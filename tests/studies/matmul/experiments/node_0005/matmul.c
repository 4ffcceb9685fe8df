/* C = A * B for square matrices of doubles, in tiles, timed and checked.
 *
 * Settings at compile time:
 *   -DTILE=n      edge of a tile (8 to 128)
 *   -DORDER=ijk   order of the three inner loops: ijk (a dot product at a time) or ikj (a row at a time)
 *   -DUNROLL=n    copies of the innermost statement (1, 2, 4 or 8)
 *   -DSIZE=n      edge of the matrices
 *
 * Prints one "name: value" a line: GFlops/s (best repetition), seconds (all repetitions) and max_abs_err, the
 * largest difference from a plain triple loop, computed separately on the same random numbers.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef TILE
#define TILE 8
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#ifndef SIZE
#define SIZE 384
#endif
#ifndef ORDER
#define ORDER ijk
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define KERNEL JOIN(tile_, ORDER)

enum { MAX_REPETITIONS = 50 };
static const double ENOUGH_SECONDS = 0.3;

/* Processor time of this thread: other programs on the machine do not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
    int from, to;
} range;

static range tile_at(int start, int n)
{
    range r = {start, start + TILE < n ? start + TILE : n};
    return r;
}

/* One tile of C, an element at a time. */
static inline void tile_ijk(int n, const double *a, const double *b, double *c, range ri, range rj, range rk)
{
    for (int i = ri.from; i < ri.to; i++)
        for (int j = rj.from; j < rj.to; j++) {
            double sum[UNROLL] = {0};
            int k = rk.from;
            for (; k + UNROLL <= rk.to; k += UNROLL)
                for (int u = 0; u < UNROLL; u++)
                    sum[u] += a[i * n + k + u] * b[(k + u) * n + j];
            for (; k < rk.to; k++)
                sum[0] += a[i * n + k] * b[k * n + j];
            for (int u = 0; u < UNROLL; u++)
                c[i * n + j] += sum[u];
        }
}

/* One tile of C, a row at a time: the innermost loop runs along rows of B and C. */
static inline void tile_ikj(int n, const double *a, const double *b, double *c, range ri, range rj, range rk)
{
    for (int i = ri.from; i < ri.to; i++)
        for (int k = rk.from; k < rk.to; k++) {
            const double factor = a[i * n + k];
            const double *restrict row = b + k * n;
            double *restrict out = c + i * n;
            int j = rj.from;
            for (; j + UNROLL <= rj.to; j += UNROLL)
                for (int u = 0; u < UNROLL; u++)
                    out[j + u] += factor * row[j + u];
            for (; j < rj.to; j++)
                out[j] += factor * row[j];
        }
}

static void multiply(int n, const double *a, const double *b, double *c)
{
    for (int i = 0; i < n * n; i++)
        c[i] = 0.0;
    for (int i = 0; i < n; i += TILE)
        for (int k = 0; k < n; k += TILE)
            for (int j = 0; j < n; j += TILE)
                KERNEL(n, a, b, c, tile_at(i, n), tile_at(j, n), tile_at(k, n));
}

/* The reference: the definition, with sums in long double. Only every eighth row, to save time. */
static double largest_error(int n, const double *a, const double *b, const double *c)
{
    double worst = 0.0;
    for (int i = 0; i < n; i += 8)
        for (int j = 0; j < n; j++) {
            long double sum = 0.0L;
            for (int k = 0; k < n; k++)
                sum += (long double)a[i * n + k] * b[k * n + j];
            double error = fabs((double)(sum - c[i * n + j]));
            if (!(error <= worst)) /* also true for NaN */
                worst = error;
        }
    return worst;
}

static void fill(double *m, int n, unsigned long long state)
{
    for (int i = 0; i < n * n; i++) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        m[i] = (double)(state >> 11) / 9007199254740992.0 - 0.5;
    }
}

int main(void)
{
    const int n = SIZE;
    const size_t bytes = (size_t)n * n * sizeof(double);
    double *a = aligned_alloc(64, bytes), *b = aligned_alloc(64, bytes), *c = aligned_alloc(64, bytes);
    if (!a || !b || !c) {
        fprintf(stderr, "matmul: out of memory\n");
        return 1;
    }
    fill(a, n, 1);
    fill(b, n, 2);

    double best = INFINITY, total = 0.0;
    for (int r = 0; r < MAX_REPETITIONS && (r < 2 || total < ENOUGH_SECONDS); r++) {
        double start = now();
        multiply(n, a, b, c);
        double seconds = now() - start;
        total += seconds;
        if (seconds < best)
            best = seconds;
    }
    printf("GFlops/s: %.4f\n", 2.0 * n * n * n / best * 1e-9);
    printf("seconds: %.4f\n", total);
    printf("max_abs_err: %.3e\n", largest_error(n, a, b, c));
    free(a);
    free(b);
    free(c);
    return 0;
}
