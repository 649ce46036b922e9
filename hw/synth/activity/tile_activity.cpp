// SPDX-License-Identifier: BSD-3-Clause
// Runs an offload on one tile, with one input and one output stream of random data, and counts how often every signal
// toggles while the program runs.  Usage: tile_activity ELF ARGUMENTS_HEX BYTES SAIF
// Prints {"cycles": N, "bytes_in": N, "bytes_out": N}. Exit code 1: the program does not end, or not by itself.
#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <stdexcept>

#include "VStreamCore.h"
#include "verilated_saif_c.h"

namespace {

/// The model, with its signals recorded once a cycle: as zero-delay logic settles behind the clock edge.
class RecordedCore : public VStreamCore {
  public:
    void record(const char *path) {
        trace(&saif, 99);
        saif.open(path);
        recording = true;
    }
    void stop() {
        recording = false;
        saif.close();
    }
    void eval() {
        VStreamCore::eval();
        if (recording && clock)
            saif.dump(++time);
    }

  private:
    VerilatedSaifC saif;
    uint64_t time = 0;
    bool recording = false;
};

} // namespace

// The bench of the co-simulation drives whatever goes by that name.
#define VStreamCore RecordedCore
#include "bench.h"
#undef VStreamCore

#include "elf_file.h"

namespace {

using namespace cosim;

constexpr uint32_t kPage = 4096, kPageLog2 = 12;
constexpr uint64_t kCyclesAByte = 2000; // more than the slowest offload takes

std::vector<uint8_t> from_hex(const std::string &text) {
    std::vector<uint8_t> bytes;
    if (text.size() % 2 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        throw std::runtime_error("arguments '" + text + "' are not hexadecimal bytes");
    for (size_t i = 0; i < text.size(); i += 2)
        bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

// What the firmware does before RUN: segments, arguments, task.
void load_piece(Bench &b, const ElfFile &elf, std::vector<uint8_t> arguments, uint32_t bytes) {
    b.write(CORE_CTRL, 0);
    b.partition(0, kPageLog2);
    for (const ElfSegment &s : elf.segments) {
        std::vector<uint8_t> data = s.bytes;
        data.resize((data.size() + 7) / 8 * 8);
        if (data.empty())
            continue;
        const bool is_data = s.address >= ASSASIN_CORE_SPAD_BASE;
        b.load(is_data ? ASSASIN_XB_SPAD_BASE + (s.address - ASSASIN_CORE_SPAD_BASE)
                       : ASSASIN_XB_IMEM_BASE + (s.address - ASSASIN_CORE_IMEM_BASE),
               data.data(), data.size());
    }
    scomp_task task{};
    task.pieces = 1;
    task.args_bytes = static_cast<uint32_t>(arguments.size());
    task.streams_in = task.streams_out = 1;
    task.bytes[0] = bytes;
    arguments.resize((arguments.size() + 7) / 8 * 8);
    if (!arguments.empty())
        b.load(ASSASIN_XB_SPAD_BASE + SCOMP_SPAD_ARGS, arguments.data(), arguments.size());
    b.load(ASSASIN_XB_SPAD_BASE, &task, sizeof task);
}

class Piece {
  public:
    Piece(Bench &bench, uint32_t length) : b(bench), bytes(length) {}

    /// Feeds and drains until the program ends by itself.
    bool run() {
        const uint64_t limit = b.cycle + 100000 + bytes * kCyclesAByte;
        while (b.cycle < limit) {
            feed();
            b.run(8);
            if (b.top.io_event)
                drain_page();
            if (!b.top.io_running || b.state() != CORE_STATE_RUNNING)
                return b.state() == CORE_STATE_EXITED;
        }
        return false;
    }

    uint32_t drained = 0;

  private:
    void feed() {
        const uint32_t pages = (bytes + kPage - 1) / kPage;
        if (begun < pages && static_cast<uint8_t>(b.top.io_room_0 - begun - 1) < 128 && b.queue.size() < 2) {
            for (uint32_t at = begun * kPage; at < std::min(bytes, (begun + 1) * kPage); at += 64) {
                Packet packet;
                packet.addr = at;
                packet.to_stream = true;
                packet.bytes.resize(std::min(64u, bytes - at));
                for (auto &byte : packet.bytes)
                    byte = static_cast<uint8_t>(b.rng());
                packet.mark = at % kPage + 64 == kPage || at + 64 >= bytes;
                b.queue.push_back(packet);
            }
            begun++;
        }
        if (!ended && begun == pages) {
            b.write(CORE_IEND, bytes);
            b.write(CORE_IEND_VALID, 1);
            ended = true;
        }
    }
    void drain_page() {
        const uint32_t space = b.read(CORE_DRAIN_STATE) >> CORE_DRAIN_STATE_SPACE_SHIFT & CORE_DRAIN_STATE_SPACE_MASK;
        if (!(b.read(CORE_OUT_READY) & 1) || !space)
            return;
        b.write(CORE_DRAIN_POS, drained);
        b.write(CORE_DRAIN_DST, ASSASIN_DRAM_BASE + drained);
        b.write(CORE_DRAIN_PUSH, kPage);
        drained += kPage;
    }

    Bench &b;
    uint32_t bytes, begun = 0;
    bool ended = false;
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: tile_activity ELF ARGUMENTS_HEX BYTES SAIF\n");
        return 2;
    }
    try {
        Verilated::traceEverOn(true);
        const ElfFile elf = ElfFile::read(argv[1]);
        const auto bytes = static_cast<uint32_t>(std::stoul(argv[3]));
        Bench b(1);
        b.keep_commits = false;
        load_piece(b, elf, from_hex(argv[2]), bytes);
        b.write(CORE_CTRL, 2);
        b.top.record(argv[4]);
        const uint64_t before = b.cycle;
        b.start(elf.entry);
        Piece piece(b, bytes);
        const bool ended = piece.run();
        const uint64_t cycles = b.cycle - before;
        b.top.stop();
        if (!ended) {
            std::fprintf(stderr, "%s: the program has not exited after %" PRIu64 " cycles, status 0x%x\n", argv[1],
                         cycles, b.read(CORE_STATUS));
            return 1;
        }
        std::printf("{\"cycles\": %" PRIu64 ", \"bytes_in\": %u, \"bytes_out\": %u}\n", cycles, bytes,
                    b.read(CORE_OHEAD));
    } catch (const std::exception &e) {
        std::fprintf(stderr, "tile_activity: %s\n", e.what());
        return 1;
    }
    return 0;
}
