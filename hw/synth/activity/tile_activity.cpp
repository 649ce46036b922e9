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

#include "piece.h"

using namespace cosim;

int main(int argc, char **argv) {
    if (argc < PieceCommand::kFewest) {
        std::fprintf(stderr, "usage: tile_activity ELF ARGUMENTS_HEX|- OUTPUT_STREAMS SAIF INPUT...\n");
        return 2;
    }
    try {
        Verilated::traceEverOn(true);
        const PieceCommand command(argc, argv);
        Bench b(1);
        b.keep_commits = false;
        load_piece(b, command.elf, command.arguments, command.inputs, command.outputs);
        b.top.record(argv[PieceCommand::kOption]);
        const uint64_t before = b.cycle;
        b.start(command.elf.entry);
        const bool ended = Piece(b, command.inputs, command.outputs).run();
        const uint64_t cycles = b.cycle - before;
        b.top.stop();
        if (!ended)
            throw std::runtime_error("the program has not exited by itself after " + std::to_string(cycles) +
                                     " cycles: status " + std::to_string(b.read(CORE_STATUS)) + ", PC " +
                                     std::to_string(b.read(CORE_PC)));
        if (const uint32_t code = b.read(CORE_EXIT_CODE))
            throw std::runtime_error("the program ended with exit code " + std::to_string(code));
        uint64_t bytes_out = 0;
        for (unsigned t = 0; t < command.outputs; t++)
            bytes_out += b.read(CORE_OHEAD + 4 * t);
        std::printf("{\"cycles\": %" PRIu64 ", \"bytes_in\": %zu, \"bytes_out\": %" PRIu64 "}\n", cycles,
                    command.bytes_in, bytes_out);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "tile_activity: %s\n", e.what());
        return 1;
    }
    return 0;
}
