// SPDX-License-Identifier: BSD-3-Clause
// Runs an offload on one tile, its input streams fed through the tile's port as fast as it takes them, and counts
// cycles. Usage: stream_tile ELF ARGUMENTS_HEX|- OUTPUT_STREAMS DELAY INPUT...
// Nothing arrives in the first DELAY cycles. Prints a line {"outputs": ["HEX", ...], "bytes_in", "running",
// "counters"}: what the output streams hold, cycles from the start to the end, and the vector unit's counters in these.
// Exit code 1: the program does not end, or not by itself, or with a code other than 0; 2: wrong arguments.
#include <cinttypes>
#include <cstdio>

#include "counters.h"
#include "piece.h"

using namespace cosim;

int main(int argc, char **argv) {
    if (argc < PieceCommand::kFewest) {
        std::fprintf(stderr, "usage: stream_tile ELF ARGUMENTS_HEX|- OUTPUT_STREAMS DELAY INPUT...\n");
        return 2;
    }
    try {
        const PieceCommand command(argc, argv);
        Bench b(1);
        b.keep_commits = false;
        load_piece(b, command.elf, command.arguments, command.inputs, command.outputs);
        b.start(command.elf.entry);
        Piece piece(b, command.inputs, command.outputs, b.cycle + std::stoull(argv[PieceCommand::kOption]));
        if (!piece.run() || b.read(CORE_EXIT_CODE))
            throw std::runtime_error("the program has not ended well: status " + std::to_string(b.read(CORE_STATUS)) +
                                     ", PC " + std::to_string(b.read(CORE_PC)) + ", exit code " +
                                     std::to_string(b.read(CORE_EXIT_CODE)));
        std::printf("{\"bytes_in\": %zu, \"outputs\": [", command.bytes_in);
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
