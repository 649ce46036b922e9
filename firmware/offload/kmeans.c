/* SPDX-License-Identifier: BSD-3-Clause */
/* kmeans: one step of k-means clustering: assigns points to centroids and sums them up by cluster (struct kmeans_args).
 */
#include <analytics.h>
#include <assasin.h>
#include <repeat.h>

#define GET(i)                                                                                                         \
    uint32_t v##i = ASSASIN_LOAD_U32(0, end);                                                                          \
    if (v##i + KMEANS_MAX_VALUE > 2 * KMEANS_MAX_VALUE)                                                                \
        goto bad_value;
#define SQUARE(i)                                                                                                      \
    {                                                                                                                  \
        uint32_t difference = v##i - (uint32_t)c[i];                                                                   \
        distance += difference * difference;                                                                           \
    }
#define ADD(i) cluster[nearest].sum[i] += (int32_t)v##i;
/* A distance is at most 8 x (2 x 8191)^2 < 2^31. */
#define LOOP(n)                                                                                                        \
    case n:                                                                                                            \
        for (;;) {                                                                                                     \
            EACH##n(GET) uint32_t least = UINT32_MAX, nearest = 0, k = 0;                                              \
            for (const int32_t *c = args->centroid; c != behind; c += n, k++) {                                        \
                uint32_t distance = 0;                                                                                 \
                EACH##n(SQUARE) if (distance < least) {                                                                \
                    least = distance;                                                                                  \
                    nearest = k;                                                                                       \
                }                                                                                                      \
            }                                                                                                          \
            cluster[nearest].count++;                                                                                  \
            cluster[nearest].inertia += least;                                                                         \
            EACH##n(ADD) if (task->streams_out == 2) ASSASIN_STORE_U8(1, nearest);                                     \
        }

static struct {
    uint32_t count;
    uint64_t inertia;
    int64_t sum[KMEANS_MAX_DIMENSIONS];
} cluster[KMEANS_MAX_CLUSTERS];

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    ASSASIN_OUT(1);
    const struct scomp_task *task = assasin_task();
    const struct kmeans_args *args = assasin_args();
    if (task->args_bytes < sizeof *args || args->clusters - 1 >= KMEANS_MAX_CLUSTERS ||
        args->dimensions - 1 >= KMEANS_MAX_DIMENSIONS || task->streams_out - 1 > 1 ||
        task->args_bytes != sizeof *args + args->clusters * args->dimensions * sizeof(int32_t))
        ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    uint32_t dimensions = args->dimensions;
    const int32_t *const behind = args->centroid + args->clusters * dimensions;
    for (const int32_t *c = args->centroid; c != behind; c++)
        if ((uint32_t)*c + KMEANS_MAX_VALUE > 2 * KMEANS_MAX_VALUE)
            ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    switch (dimensions) {
        LOOP(1)
        LOOP(2)
        LOOP(3)
        LOOP(4)
        LOOP(5)
        LOOP(6)
        LOOP(7)
        LOOP(8)
    }
end:
    /* Behind the end the compiler must not know which of the loops it was. */
    ASSASIN_KEEP(args);
    if (ASSASIN_IN_END(0) % (4 * args->dimensions))
        ASSASIN_RETURN(ANALYTICS_TRUNCATED);
    for (uint32_t k = 0; k < args->clusters; k++) {
        ASSASIN_STORE_U32(0, cluster[k].count);
        ASSASIN_STORE_U32(0, cluster[k].inertia);
        ASSASIN_STORE_U32(0, cluster[k].inertia >> 32);
        for (uint32_t i = 0; i < args->dimensions; i++) {
            ASSASIN_STORE_U32(0, cluster[k].sum[i]);
            ASSASIN_STORE_U32(0, cluster[k].sum[i] >> 32);
        }
    }
    ASSASIN_RETURN(0);
bad_value:
    ASSASIN_RETURN(ANALYTICS_BAD_VALUE);
}
