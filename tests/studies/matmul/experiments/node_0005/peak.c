/* The most floating-point operations a second that one core attains: independent multiply-adds in registers.
 *
 * Twelve vector accumulators hide the latency of the operation. GCC turns `x * m + d` on vectors into fused
 * multiply-adds where the processor has them. Prints "peak_gflops: value", the best of several repetitions.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#if defined(__AVX512F__)
enum { BYTES = 64 };
#elif defined(__AVX__)
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif
typedef double vector __attribute__((vector_size(BYTES)));
enum { LANES = BYTES / sizeof(double), CHAINS = 12, STEPS = 2000000, REPETITIONS = 12 };

/* Processor time of this thread: other programs on the machine do not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
    vector x[CHAINS];
    double best = 1e30, check = 0.0;
    for (int r = 0; r < REPETITIONS; r++) {
        for (int i = 0; i < CHAINS; i++)
            x[i] = (vector){0} + (1.0 + 0.01 * i);
        volatile double factor = 0.999999, addend = 1e-6; /* unknown to the compiler */
        const vector m = (vector){0} + factor, d = (vector){0} + addend;
        double start = now();
        for (long s = 0; s < STEPS; s++) {
            x[0] = x[0] * m + d;   x[1] = x[1] * m + d;   x[2] = x[2] * m + d;
            x[3] = x[3] * m + d;   x[4] = x[4] * m + d;   x[5] = x[5] * m + d;
            x[6] = x[6] * m + d;   x[7] = x[7] * m + d;   x[8] = x[8] * m + d;
            x[9] = x[9] * m + d;   x[10] = x[10] * m + d; x[11] = x[11] * m + d;
        }
        double seconds = now() - start;
        if (seconds < best)
            best = seconds;
        for (int i = 0; i < CHAINS; i++)
            for (int l = 0; l < LANES; l++)
                check += x[i][l];
    }
    printf("peak_gflops: %.4f\n", 2.0 * LANES * CHAINS * (double)STEPS / best * 1e-9);
    fprintf(stderr, "check: %g\n", check); /* keeps the work from being optimised away */
    return 0;
}
