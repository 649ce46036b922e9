/* SPDX-License-Identifier: BSD-3-Clause */
/* kmeans: one step of k-means clustering: assigns points to centroids and sums them up by cluster (struct kmeans_args).
 */
#include <analytics.h>
#include <assasin.h>

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
    int32_t point[KMEANS_MAX_DIMENSIONS];
    for (;;) {
        for (uint32_t i = 0; i < dimensions; i++) {
            uint32_t v = ASSASIN_LOAD_U32(0, end);
            if (v + KMEANS_MAX_VALUE > 2 * KMEANS_MAX_VALUE)
                ASSASIN_RETURN(ANALYTICS_BAD_VALUE);
            point[i] = (int32_t)v;
        }
        uint32_t least = UINT32_MAX, nearest = 0, k = 0;
        for (const int32_t *c = args->centroid; c != behind; k++) {
            uint32_t distance = 0; /* at most 8 x (2 x 8191)^2 < 2^31 */
            const int32_t *p = point, *const stop = c + dimensions;
            do {
                int32_t difference = *p++ - *c++;
                distance += (uint32_t)(difference * difference);
            } while (c != stop);
            if (distance < least) {
                least = distance;
                nearest = k;
            }
        }
        cluster[nearest].count++;
        cluster[nearest].inertia += least;
        for (uint32_t i = 0; i < dimensions; i++)
            cluster[nearest].sum[i] += point[i];
        if (task->streams_out == 2)
            ASSASIN_STORE_U8(1, nearest);
    }
end:
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
}
