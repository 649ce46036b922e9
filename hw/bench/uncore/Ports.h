// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace uncorebench {

/// One beat as XbarBeat.scala has it.
struct Beat {
    uint64_t data = 0;
    bool last = false;
    uint8_t dst = 0;
    uint32_t addr = 0;
    uint8_t bytes = 0;
    bool toStream = false;
    uint8_t stream = 0;
    bool mark = false;
};

/// The Verilated signals of a port on which packets enter or leave the design.
struct BeatPort {
    uint8_t *ready, *valid;
    uint64_t *data;
    uint8_t *last, *dst;
    uint32_t *addr;
    uint8_t *bytes, *toStream, *stream, *mark;

    /// Puts `beat` on the wires.
    void put(const Beat &beat) const {
        *data = beat.data;
        *last = beat.last;
        *dst = beat.dst;
        *addr = beat.addr;
        *bytes = beat.bytes;
        *toStream = beat.toStream;
        *stream = beat.stream;
        *mark = beat.mark;
    }

    /// What is on the wires.
    Beat get() const {
        return {*data, *last != 0, *dst, *addr, *bytes, *toStream != 0, *stream, *mark != 0};
    }
};

/// The Verilated signals of a register bus towards a core or a channel.
struct RegPort {
    uint8_t *ready, *valid;
    uint16_t *addr;
    uint8_t *write;
    uint32_t *wdata;
    uint8_t *respValid;
    uint32_t *respData;
};

/// The Verilated signals of a channel's `fetch` port.
struct FetchPort {
    uint8_t *ready, *valid;
    uint32_t *addr;
    uint16_t *bytes;
};

} // namespace uncorebench
