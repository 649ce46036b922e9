/* SPDX-License-Identifier: BSD-3-Clause */
/* pagerank: one step over an edge list, the vertices' state in the scratchpad (struct pagerank_args). */
#include <analytics.h>
#include <assasin.h>

static uint32_t gives[PAGERANK_MAX_VERTICES], gets[PAGERANK_MAX_VERTICES];

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_IN(1);
    ASSASIN_OUT(0);
    const struct pagerank_args *args = assasin_args();
    if (assasin_task()->args_bytes != sizeof *args || args->vertices - 1 >= PAGERANK_MAX_VERTICES ||
        assasin_task()->streams_in != 2)
        ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    uint32_t vertices = args->vertices;
    for (uint32_t v = 0; v < vertices; v++)
        gives[v] = ASSASIN_LOAD_U32(1, end);
    for (;;) {
        uint32_t source = ASSASIN_LOAD_U32(0, end), target = ASSASIN_LOAD_U32(0, end);
        if (source >= vertices || target >= vertices)
            ASSASIN_RETURN(ANALYTICS_BAD_VALUE);
        gets[target] += gives[source];
    }
end:
    /* Either the vertices were incomplete, or the edges are at an end. */
    if (ASSASIN_IN_HEAD(1) != 4 * args->vertices || ASSASIN_IN_END(0) % 8 || !ASSASIN_ENDS_AT(1, 4 * args->vertices))
        ASSASIN_RETURN(ANALYTICS_TRUNCATED);
    for (uint32_t v = 0; v < args->vertices; v++)
        ASSASIN_STORE_U32(0, gets[v]);
    ASSASIN_RETURN(0);
}
