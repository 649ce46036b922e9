/* SPDX-License-Identifier: BSD-3-Clause */
/* Native back end: the stream semantics of docs/architecture.md on memory buffers. All of a stream counts as delivered.
 */
#include <assasin.h>
#include <setjmp.h>
#include <string.h>

static _Thread_local struct assasin_native_piece *piece;
static _Thread_local jmp_buf stop;

static _Noreturn void fault(const char *why) {
    piece->fault = why;
    longjmp(stop, 1);
}

static size_t width_of(uint32_t match) {
    return (size_t)1 << (match >> 12 & 3);
}

static uint32_t extend(uint32_t match, const uint8_t *p) {
    uint32_t v = 0;
    size_t width = width_of(match);
    for (size_t i = 0; i < width; i++)
        v |= (uint32_t)p[i] << (8 * i);
    bool is_unsigned = match >> 14 & 1;
    if (is_unsigned || width == 4)
        return v;
    return width == 1 ? (uint32_t)(int32_t)(int8_t)v : (uint32_t)(int32_t)(int16_t)v;
}

int assasin_native_run(struct assasin_native_piece *p) {
    piece = p;
    p->fault = NULL;
    for (unsigned s = 0; s < SCOMP_MAX_STREAMS; s++)
        p->in[s].position = p->out[s].position = 0;
    if (setjmp(stop))
        return -1;
    return compute();
}

bool assasin_native_load(uint32_t match, unsigned stream, uint32_t *value) {
    if (stream >= piece->task.streams_in)
        fault("load from a stream that the request does not have");
    struct assasin_native_stream *s = &piece->in[stream];
    if (s->bytes - s->position < width_of(match))
        return false;
    *value = extend(match, s->data + s->position);
    s->position += width_of(match);
    return true;
}

uint32_t assasin_native_take(uint32_t match, unsigned stream) {
    uint32_t value;
    if (!assasin_native_load(match, stream, &value))
        fault("took what the stream does not have");
    return value;
}

void assasin_native_store(uint32_t match, unsigned stream, uint32_t value) {
    if (stream >= piece->task.streams_out)
        fault("store to a stream that the request does not have");
    struct assasin_native_stream *s = &piece->out[stream];
    if (s->bytes - s->position < width_of(match))
        fault("output buffer of the native run is full");
    for (size_t i = 0; i < width_of(match); i++)
        s->data[s->position++] = (uint8_t)(value >> (8 * i));
}

uint32_t assasin_native_peek(uint32_t match, unsigned stream, uint32_t distance) {
    bool of_output = match >> 25 & 1;
    if (stream >= (of_output ? piece->task.streams_out : piece->task.streams_in))
        fault("peek into a stream that the request does not have");
    const struct assasin_native_stream *s = of_output ? &piece->out[stream] : &piece->in[stream];
    size_t pointer = of_output ? s->position : s->bytes;
    if (distance < width_of(match) || distance > pointer)
        fault("peek out of range");
    return extend(match, s->data + pointer - distance);
}

uint32_t assasin_native_csr(uint32_t number) {
    uint32_t stream = number & 7;
    if (stream >= ((number & ~7u) == ASSASIN_CSR_OHEAD ? piece->task.streams_out : piece->task.streams_in))
        fault("asked for a pointer of a stream that the request does not have");
    switch (number & ~7u) {
    case ASSASIN_CSR_IHEAD:
        return (uint32_t)piece->in[stream].position;
    case ASSASIN_CSR_ITAIL:
    case ASSASIN_CSR_IEND:
        return (uint32_t)piece->in[stream].bytes;
    case ASSASIN_CSR_OHEAD:
        return (uint32_t)piece->out[stream].position;
    default:
        fault("unknown CSR");
    }
}

const struct scomp_task *assasin_task(void) {
    return &piece->task;
}

const void *assasin_args(void) {
    return piece->args;
}
