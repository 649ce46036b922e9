// SPDX-License-Identifier: BSD-3-Clause
// The chip's counters as they are in the model. Their registers are out of a host's reach: the firmware alone has the
// register bus.

#include "VAssasinSoc.h"
#include "VAssasinSoc___024root.h"

#include "sim/ForEach.h"
#include "sim/Soc.h"

namespace assasin {

namespace {

// StreamCoreRegs makes a WideCounter for each register in the order of ChipCounters::Tile; Chisel names the first one
// without a number. scripts/test power compares all of them with what the firmware reads. ASSASIN_DRIVE is where a top
// has the drive (scripts/build-board).
template <typename First, typename... Rest> void copy(uint64_t *to, First first, Rest... rest) {
    *to = first;
    if constexpr (sizeof...(rest) != 0) {
        copy(to + 1, rest...);
    }
}

} // namespace

void Soc::read(ChipCounters &counters) const {
    const VAssasinSoc___024root &r = *top_->rootp;
#define IN_DRIVE(DRIVE, PART) DRIVE##__DOT__##PART
#define DRIVE(TOP, PART)      r.IN_DRIVE(TOP, PART)
    counters.firmwareSleep = DRIVE(ASSASIN_DRIVE, uncore__DOT__system__DOT__sleep);
#define TILE_COUNTER(TILE, K) DRIVE(ASSASIN_DRIVE, TILE##__DOT__regs__DOT__counted_counter##K##__DOT__count)
#define READ_TILE(TO, TILE)                                                                                            \
    copy(counters.tile[TO], TILE_COUNTER(TILE, ), TILE_COUNTER(TILE, _1), TILE_COUNTER(TILE, _2),                      \
         TILE_COUNTER(TILE, _3), TILE_COUNTER(TILE, _4), TILE_COUNTER(TILE, _5), TILE_COUNTER(TILE, _6),               \
         TILE_COUNTER(TILE, _7));
#define READ_CORE(N) READ_TILE(N, core##N)
    FOR_EACH_CORE(READ_CORE)
#define READ_SLOT(N) READ_TILE(CORES + N, slot##N)
    FOR_EACH_SLOT(READ_SLOT)
#define READ_CHANNEL(N)                                                                                                \
    copy(counters.channel[N], DRIVE(ASSASIN_DRIVE, channel##N##__DOT__counters__DOT__counts_busBusy),                  \
         DRIVE(ASSASIN_DRIVE, channel##N##__DOT__counters__DOT__counts_dataBytes));
    FOR_EACH_CHANNEL(READ_CHANNEL)
}

} // namespace assasin
