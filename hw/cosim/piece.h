// SPDX-License-Identifier: BSD-3-Clause
// A piece of an offload on one tile (bench.h), as the firmware runs it: what it loads before RUN, input streams fed as
// fast as the tile takes them, output streams drained.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "elf_file.h"

namespace cosim {

constexpr uint32_t kPage = 4096, kPageLog2 = 12; ///< of streams
constexpr uint64_t kCyclesAByte = 2000;          ///< more than the slowest offload takes

inline std::vector<uint8_t> bytes_of_hex(const std::string &text) {
    std::vector<uint8_t> bytes;
    if (text.size() % 2 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        throw std::runtime_error("arguments '" + text + "' are not hexadecimal bytes");
    for (size_t i = 0; i < text.size(); i += 2)
        bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

inline std::vector<uint8_t> contents(const char *path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error(std::string("cannot read ") + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

using Streams = std::vector<std::vector<uint8_t>>;

/// What a program around a piece is told to run: `ELF ARGUMENTS_HEX|- OUTPUT_STREAMS OPTION INPUT...`, where OPTION is
/// the program's own. Throws std::exception with a message where a word cannot be understood.
struct PieceCommand {
    static constexpr int kOption = 4, kFewest = 6; ///< the word of OPTION; how many words there are at least

    PieceCommand(int argc, char **argv)
        : elf(ElfFile::read(argv[1])), outputs(static_cast<unsigned>(std::stoul(argv[3]))) {
        if (const std::string hex = argv[2]; hex != "-")
            arguments = bytes_of_hex(hex);
        for (int i = kOption + 1; i < argc; i++) {
            inputs.push_back(contents(argv[i]));
            bytes_in += inputs.back().size();
        }
        if (inputs.size() > SCOMP_MAX_STREAMS || outputs > SCOMP_MAX_STREAMS)
            throw std::runtime_error("more than " + std::to_string(SCOMP_MAX_STREAMS) + " streams");
    }

    ElfFile elf;
    unsigned outputs;
    std::vector<uint8_t> arguments;
    Streams inputs;
    size_t bytes_in = 0; ///< of all inputs
};

inline unsigned log2_up(size_t n) {
    unsigned bits = 0;
    while (size_t{1} << bits < n)
        bits++;
    return bits;
}

/// What the firmware does before RUN: partition, segments, arguments, task.
inline void load_piece(Bench &b, const ElfFile &elf, std::vector<uint8_t> arguments, const Streams &inputs,
                       unsigned outputs) {
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
    b.write(CORE_CTRL, 1u << CORE_CTRL_CLEAR_SHIFT);
}

/// Streams of a piece that runs.
class Piece {
  public:
    /// Nothing arrives before cycle `first` of the bench.
    Piece(Bench &bench, const Streams &data, unsigned output_streams, uint64_t first = 0)
        : b(bench), inputs(data), begun(data.size()), drained(output_streams), first_cycle(first) {
    }

    /// Feeds and drains until the program stops; whether it did so by itself.
    bool run() {
        uint64_t bytes = 0;
        for (const auto &input : inputs)
            bytes += input.size();
        const uint64_t limit = std::max(b.cycle, first_cycle) + 100000 + bytes * kCyclesAByte;
        while (b.cycle < limit) {
            for (unsigned s = 0; s < inputs.size() && b.cycle >= first_cycle; s++)
                feed(s);
            b.run(8);
            if (b.top.io_event)
                drain();
            if (!b.top.io_running || b.state() != CORE_STATE_RUNNING)
                return b.state() == CORE_STATE_EXITED;
        }
        return false;
    }

    /// What the output streams hold, when the program has stopped.
    Streams outputs() {
        Streams found(drained.size());
        for (unsigned t = 0; t < drained.size(); t++) {
            const uint32_t all = b.read(CORE_OHEAD + 4 * t);
            found[t].resize(all);
            while (drained[t] < all) {
                wait_space();
                push(t, std::min(kPage, all - drained[t]));
            }
        }
        while (b.read(CORE_DRAIN_STATE) >> CORE_DRAIN_STATE_DONE_SHIFT != (pushed & CORE_DRAIN_STATE_DONE_MASK))
            b.run(8);
        for (const OutPacket &p : b.sent) {
            const uint32_t at = p.addr - ASSASIN_DRAM_BASE, t = at >> 24;
            std::copy(p.bytes.begin(), p.bytes.end(), found.at(t).begin() + (at & 0xffffff));
        }
        return found;
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
            if ((ready >> t & 1) && space())
                push(t, kPage);
        }
    }
    bool space() {
        return b.read(CORE_DRAIN_STATE) >> CORE_DRAIN_STATE_SPACE_SHIFT & CORE_DRAIN_STATE_SPACE_MASK;
    }
    void wait_space() {
        while (!space())
            b.run(8);
    }
    void push(unsigned t, uint32_t bytes) {
        b.write(CORE_DRAIN_POS, drained[t]);
        b.write(CORE_DRAIN_DST, ASSASIN_DRAM_BASE + (t << 24) + drained[t]);
        b.write(CORE_DRAIN_PUSH, bytes | t << CORE_DRAIN_PUSH_STREAM_ID_SHIFT);
        drained[t] += bytes;
        pushed++;
    }

    Bench &b;
    const Streams &inputs;
    std::vector<uint32_t> begun;   ///< pages sent, a stream
    std::vector<uint32_t> drained; ///< bytes, a stream
    uint64_t first_cycle;
    uint32_t ends = 0, pushed = 0;
};

} // namespace cosim
