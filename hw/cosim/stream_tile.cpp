// SPDX-License-Identifier: BSD-3-Clause
// Runs an offload on one tile, its input streams fed through the tile's port as fast as it takes them, and counts
// cycles. Usage: stream_tile ELF ARGUMENTS_HEX|- OUTPUT_STREAMS DELAY INPUT...
// Nothing arrives in the first DELAY cycles. Prints a line {"outputs": ["HEX", ...], "bytes_in", "running",
// "counters"}: what the output streams hold, cycles from the start to the end, and the vector unit's counters in these.
// Exit code 1: the program does not end, or not by itself, or with a code other than 0; 2: wrong arguments.
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "counters.h"
#include "piece.h"

using namespace cosim;

int main(int argc, char **argv) {
    if (argc < 6) {
        std::fprintf(stderr, "usage: stream_tile ELF ARGUMENTS_HEX|- OUTPUT_STREAMS DELAY INPUT...\n");
        return 2;
    }
    try {
        const ElfFile elf = ElfFile::read(argv[1]);
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
        load_piece(b, elf, std::strcmp(argv[2], "-") ? bytes_of_hex(argv[2]) : std::vector<uint8_t>(), inputs, outputs);
        b.start(elf.entry);
        Piece piece(b, inputs, outputs, b.cycle + std::stoull(argv[4]));
        if (!piece.run() || b.read(CORE_EXIT_CODE))
            throw std::runtime_error("the program has not ended well: status " + std::to_string(b.read(CORE_STATUS)) +
                                     ", PC " + std::to_string(b.read(CORE_PC)) + ", exit code " +
                                     std::to_string(b.read(CORE_EXIT_CODE)));
        std::printf("{\"bytes_in\": %zu, \"outputs\": [", bytes_in);
        bool first = true;
        for (const auto &output : piece.outputs()) {
            std::printf("%s\"", first ? "" : ", ");
            first = false;
            for (const uint8_t byte : output)
                std::printf("%02x", byte);
            std::printf("\"");
        }
        std::printf("]");
        print_counters(b);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "stream_tile: %s\n", e.what());
        return 1;
    }
}
