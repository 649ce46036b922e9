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
        load_piece(b, elf, bytes_of_hex(arguments == "-" ? "" : arguments), inputs, outputs);
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
