// SPDX-License-Identifier: BSD-3-Clause
// Runs an offload on one tile, its input streams fed as fast as it takes them, and counts how often every signal
// toggles while the program runs.  Usage: tile_activity ELF ARGUMENTS_HEX|- OUTPUT_STREAMS SAIF INPUT... Prints
// {"cycles": N, "bytes_in": N, "bytes_out": N}. Exit code 1: the program does not end, or not by itself.
#include <algorithm>
#include <cinttypes>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

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

std::vector<uint8_t> contents(const char *path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error(std::string("cannot read ") + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

using Streams = std::vector<std::vector<uint8_t>>;

unsigned log2_up(size_t n) {
    unsigned bits = 0;
    while (size_t{1} << bits < n)
        bits++;
    return bits;
}

// What the firmware does before RUN: partition, segments, arguments, task.
void load_piece(Bench &b, const ElfFile &elf, std::vector<uint8_t> arguments, const Streams &inputs, unsigned outputs) {
    b.write(CORE_CTRL, 0);
    b.partition(log2_up(std::max<size_t>(inputs.size(), outputs)), kPageLog2);
    const auto load = [&](uint32_t base, std::vector<uint8_t> data) {
        data.resize((data.size() + 7) / 8 * 8);
        if (!data.empty())
            b.load(base, data.data(), data.size());
    };
    for (const ElfSegment &s : elf.segments) {
        const bool is_data = s.address >= ASSASIN_CORE_SPAD_BASE;
        load(is_data ? ASSASIN_XB_SPAD_BASE + (s.address - ASSASIN_CORE_SPAD_BASE)
                     : ASSASIN_XB_IMEM_BASE + (s.address - ASSASIN_CORE_IMEM_BASE),
             s.bytes);
    }
    scomp_task task{};
    task.pieces = 1;
    task.args_bytes = static_cast<uint32_t>(arguments.size());
    task.streams_in = static_cast<uint32_t>(inputs.size());
    task.streams_out = outputs;
    for (size_t i = 0; i < inputs.size(); i++)
        task.bytes[i] = static_cast<uint32_t>(inputs[i].size());
    load(ASSASIN_XB_SPAD_BASE + SCOMP_SPAD_ARGS, std::move(arguments));
    b.load(ASSASIN_XB_SPAD_BASE, &task, sizeof task);
    b.write(CORE_CTRL, CORE_CTRL_CLEAR_MASK);
}

/// Streams of a piece that runs.
class Piece {
  public:
    Piece(Bench &bench, const Streams &data, unsigned output_streams)
        : b(bench), inputs(data), begun(data.size()), drained(output_streams) {
    }

    /// Feeds and drains until the program stops; whether it did so by itself.
    bool run() {
        uint64_t bytes = 0;
        for (const auto &input : inputs)
            bytes += input.size();
        const uint64_t limit = b.cycle + 100000 + bytes * kCyclesAByte;
        while (b.cycle < limit) {
            for (unsigned s = 0; s < inputs.size(); s++)
                feed(s);
            b.run(8);
            if (b.top.io_event)
                drain();
            if (!b.top.io_running || b.state() != CORE_STATE_RUNNING)
                return b.state() == CORE_STATE_EXITED;
        }
        return false;
    }

  private:
    uint8_t room(unsigned s) const {
        const uint8_t rooms[] = {b.top.io_room_0, b.top.io_room_1, b.top.io_room_2, b.top.io_room_3,
                                 b.top.io_room_4, b.top.io_room_5, b.top.io_room_6, b.top.io_room_7};
        return rooms[s];
    }
    void feed(unsigned s) {
        const auto bytes = static_cast<uint32_t>(inputs[s].size());
        const uint32_t pages = (bytes + kPage - 1) / kPage;
        if (begun[s] == pages || b.queue.size() >= 2 || static_cast<uint8_t>(room(s) - begun[s] - 1) >= 128)
            return;
        for (uint32_t at = begun[s] * kPage; at < std::min(bytes, (begun[s] + 1) * kPage); at += 64) {
            Packet packet;
            packet.addr = at;
            packet.to_stream = true;
            packet.stream = s;
            packet.bytes.assign(&inputs[s][at], &inputs[s][at] + std::min(64u, bytes - at));
            packet.mark = at % kPage + 64 == kPage || at + 64 >= bytes;
            b.queue.push_back(packet);
        }
        if (++begun[s] == pages) {
            b.write(CORE_IEND + 4 * s, bytes);
            ends |= 1u << s;
            b.write(CORE_IEND_VALID, ends);
        }
    }
    void drain() {
        const uint32_t ready = b.read(CORE_OUT_READY);
        for (unsigned t = 0; t < drained.size(); t++) {
            const uint32_t state = b.read(CORE_DRAIN_STATE);
            if (!(ready >> t & 1) || !(state >> CORE_DRAIN_STATE_SPACE_SHIFT & CORE_DRAIN_STATE_SPACE_MASK))
                continue;
            b.write(CORE_DRAIN_POS, drained[t]);
            b.write(CORE_DRAIN_DST, ASSASIN_DRAM_BASE + (t << 24) + drained[t]);
            b.write(CORE_DRAIN_PUSH, kPage | t << CORE_DRAIN_PUSH_STREAM_ID_SHIFT);
            drained[t] += kPage;
        }
    }

    Bench &b;
    const Streams &inputs;
    std::vector<uint32_t> begun;   ///< pages sent, a stream
    std::vector<uint32_t> drained; ///< bytes, a stream
    uint32_t ends = 0;
};

} // namespace

int main(int argc, char **argv) {
    if (argc < 6) {
        std::fprintf(stderr, "usage: tile_activity ELF ARGUMENTS_HEX|- OUTPUT_STREAMS SAIF INPUT...\n");
        return 2;
    }
    try {
        Verilated::traceEverOn(true);
        const ElfFile elf = ElfFile::read(argv[1]);
        const std::string arguments = argv[2];
        const auto outputs = static_cast<unsigned>(std::stoul(argv[3]));
        Streams inputs;
        size_t bytes_in = 0;
        for (int i = 5; i < argc; i++) {
            inputs.push_back(contents(argv[i]));
            bytes_in += inputs.back().size();
        }
        if (inputs.size() > SCOMP_MAX_STREAMS || outputs > SCOMP_MAX_STREAMS)
            throw std::runtime_error("more than 8 streams");
        Bench b(1);
        b.keep_commits = false;
        load_piece(b, elf, from_hex(arguments == "-" ? "" : arguments), inputs, outputs);
        b.top.record(argv[4]);
        const uint64_t before = b.cycle;
        b.start(elf.entry);
        const bool ended = Piece(b, inputs, outputs).run();
        const uint64_t cycles = b.cycle - before;
        b.top.stop();
        if (!ended)
            throw std::runtime_error("the program has not exited by itself after " + std::to_string(cycles) +
                                     " cycles: status " + std::to_string(b.read(CORE_STATUS)) + ", PC " +
                                     std::to_string(b.read(CORE_PC)));
        if (const uint32_t code = b.read(CORE_EXIT_CODE))
            throw std::runtime_error("the program ended with exit code " + std::to_string(code));
        uint64_t bytes_out = 0;
        for (unsigned t = 0; t < outputs; t++)
            bytes_out += b.read(CORE_OHEAD + 4 * t);
        std::printf("{\"cycles\": %" PRIu64 ", \"bytes_in\": %zu, \"bytes_out\": %" PRIu64 "}\n", cycles, bytes_in,
                    bytes_out);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "tile_activity: %s\n", e.what());
        return 1;
    }
    return 0;
}
