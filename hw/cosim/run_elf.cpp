// SPDX-License-Identifier: BSD-3-Clause
// Runs a bare-metal rv32 program on the pipeline. See README.md; started by hw/cosim/run-elf.
// Usage: run_elf FILE FOLDER [--signature OUT] [--max-cycles N] [--lockstep] [--slow SEED] [--extensions] [--vector]
// [--vlen BITS] [--dlen BITS] [--falsify N]. Which of the designs it is, --extensions, --vector, --vlen and --dlen only
// say again: it is compiled for one.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "assasin_contract.h"
#include "lockstep.h"
#include "sparse_memory.h"
#ifdef CORE_VECTOR
#include "vector_memory.h"
#endif

using namespace cosim;

namespace {

#ifdef CORE_VECTOR
using ProgramBench = VectorBench;
#else
using ProgramBench = CoreBench;
#endif

/// Process exit codes.
enum Exit { kPass = 0, kFail = 1, kUsage = 2, kMismatch = 3, kTimeout = 4 };

struct Options {
    std::string file, folder, signature;
    uint64_t max_cycles = 100000000;
    bool lockstep = false, slow = false, extensions = false, vector = false, sized = false;
    uint64_t falsify = ~uint64_t{0}; ///< instruction that is compared with one bit wrong
    uint64_t seed = 1;
};

struct Stop {
    bool stopped = false;
    uint32_t code = 0; ///< 0 = pass
};

/// Host side of the HTIF protocol that test programs speak at `tohost` and `fromhost`, and the interrupt at `meip`.
class Host : public SparseMemory {
  public:
    explicit Host(const ElfFile &elf) : SparseMemory(elf) {
        tohost = symbol(elf, "tohost");
        fromhost = symbol(elf, "fromhost");
        meip = symbol(elf, "meip");
        // A symbol may lie outside the segments.
        for (const uint64_t at : {tohost, fromhost, meip})
            if (at != kAbsent)
                add(static_cast<uint32_t>(at));
    }

    static bool has(const ElfFile &elf, const char *name) {
        return elf.symbols.count(name) != 0;
    }

    bool write(uint32_t addr, uint32_t data, unsigned lanes) override {
        if (!store(addr, data, lanes))
            return false;
        const uint32_t aligned = addr & ~3u;
        if (tohost != kAbsent && aligned - static_cast<uint32_t>(tohost) < 8 && pause == 0)
            pause = kPatience;
        if (aligned == meip)
            irq = word(aligned) != 0;
        return true;
    }

    /// One cycle passes.
    void tick() {
        // The two halves of `tohost` are written one after the other, in either order.
        if (pause == 0 || --pause != 0)
            return;
        const uint32_t at = static_cast<uint32_t>(tohost);
        const uint32_t low = word(at), high = word(at + 4);
        store(at, 0, 15);
        store(at + 4, 0, 15);
        const unsigned device = high >> 24, command = high >> 16 & 0xff;
        if (device == 1 && command == 1)
            std::putchar(static_cast<int>(low & 0xff));
        else if (low & 1)
            stop = {true, low >> 1};
        else if (low != 0)
            system_call(low);
    }

    Stop stop;
    bool irq = false;

  private:
    static constexpr uint64_t kAbsent = ~uint64_t{0};
    static constexpr unsigned kPatience = 32; ///< cycles

    static uint64_t symbol(const ElfFile &elf, const char *name) {
        const auto found = elf.symbols.find(name);
        return found == elf.symbols.end() ? kAbsent : found->second;
    }

    // Eight 64-bit words: number, then arguments; the result replaces the number. Only write() to the console exists.
    void system_call(uint32_t at) {
        constexpr uint32_t kWrite = 64, kExit = 93;
        uint32_t result = static_cast<uint32_t>(-38); // ENOSYS
        if (word(at) == kExit) {
            stop = {true, word(at + 8)};
        } else if (word(at) == kWrite) {
            result = word(at + 24);
            for (uint32_t i = 0; i < result; i++) {
                const uint32_t byte = word(at + 16) + i;
                std::putchar(static_cast<int>(word(byte) >> 8 * (byte & 3) & 0xff));
            }
        }
        store(at, result, 15);
        store(at + 4, static_cast<int32_t>(result) < 0 ? ~0u : 0, 15);
        if (fromhost != kAbsent)
            store(static_cast<uint32_t>(fromhost), 1, 15);
    }

    uint64_t tohost, fromhost, meip;
    unsigned pause = 0;
};

void write_signature(const std::string &path, const ElfFile &elf, const Host &host) {
    if (!Host::has(elf, "begin_signature") || !Host::has(elf, "end_signature"))
        throw std::runtime_error("no begin_signature and end_signature in the program: nothing to write to " + path);
    FILE *out = std::fopen(path.c_str(), "w");
    if (!out)
        throw std::runtime_error(path + ": cannot be written");
    for (uint32_t at = elf.symbols.at("begin_signature"); at < elf.symbols.at("end_signature"); at += 4)
        std::fprintf(out, "%08x\n", host.word(at));
    if (std::fclose(out) != 0)
        throw std::runtime_error(path + ": cannot be written");
}

SpikeOptions reference(const Options &options, const ElfFile &elf, const Host &host) {
    SpikeOptions spike;
    spike.isa = options.extensions ? kExtendedIsa : kBaseIsa;
    spike.elf = options.file;
    spike.entry = elf.entry;
    spike.errors = options.folder + "/run_elf.spike";
    for (const uint32_t base : host.bases()) {
        // Spike's own devices (debug, boot ROM, CLINT, PLIC, UART) lie there.
        if (base < 0x11000000)
            throw std::runtime_error(
                "--lockstep needs a program linked at or above 0x11000000; this one has memory at " +
                std::to_string(base));
        spike.memory.push_back({base, SparseMemory::kBlockBytes});
    }
    return spike;
}

int run(const Options &options) {
    const ElfFile elf = ElfFile::read(options.file);
    Host host(elf);
    std::unique_ptr<Spike> spike;
    if (options.lockstep)
        spike.reset(new Spike(reference(options, elf, host)));
    ProgramBench bench(options.seed, host, elf.entry);
    bench.fast = !options.slow;
    const uint64_t begin = bench.cycle;

    uint64_t retired = 0;
    Exit result = kTimeout;
    while (bench.cycle - begin < options.max_cycles) {
        bench.irq = host.irq;
        bench.tick();
        host.tick();
        bool same_as_reference = true;
        for (; !bench.commits.empty(); bench.commits.pop_front()) {
            Commit ours = bench.commits.front();
            if (ours.trap)
                continue;
            if (retired == options.falsify)
                ours.insn ^= 1u << 31;
            SpikeCommit theirs{};
            if (spike && !spike->next(theirs)) {
                std::printf("reference ended after %" PRIu64 " instructions, before pc %08x\n", retired, ours.pc);
                same_as_reference = false;
            } else if (spike && !same(ours, theirs, options.seed, retired)) {
                same_as_reference = false;
            }
            if (!same_as_reference)
                break;
            retired++;
        }
        if (!same_as_reference) {
            result = kMismatch;
            break;
        }
        if (host.stop.stopped) {
            result = host.stop.code == 0 ? kPass : kFail;
            break;
        }
        if (bench.top.io_status_state == CORE_STATE_EXITED || bench.top.io_status_state == CORE_STATE_TRAPPED) {
            host.stop = {true, bench.top.io_status_exitCode};
            if (bench.top.io_status_state == CORE_STATE_EXITED && host.stop.code == 0) {
                result = kPass;
            } else {
                std::printf("stopped by a trap while mtvec is 0: mcause 0x%02x, pc 0x%08x, mtval 0x%08x\n",
                            bench.top.io_status_cause, bench.top.io_status_pc, bench.top.io_status_tval);
                result = kFail;
            }
            break;
        }
    }
    std::fflush(stdout);

    if (result == kPass)
        std::printf("PASS");
    else if (result == kFail)
        std::printf("FAIL: test %u", host.stop.code);
    else if (result == kMismatch)
        std::printf("FAIL: differs from the reference");
    else
        std::printf("FAIL: no end within %" PRIu64 " cycles, pc 0x%08x; see --max-cycles", options.max_cycles,
                    bench.top.io_status_pc);
    std::printf("\ncycles %" PRIu64 ", instret %" PRIu64 "\n", bench.cycle - begin, retired);
    if (bench.overlaps) {
        std::printf("FAIL: %u data accesses break the rules of the port\n", bench.overlaps);
        result = kFail;
    }
    if (!options.signature.empty())
        write_signature(options.signature, elf, host);
    return result;
}

uint64_t number(const char *option, const char *text) {
    char *end;
    const uint64_t value = text ? std::strtoull(text, &end, 0) : 0;
    if (!text || *text == '\0' || *text == '-' || *end != '\0')
        throw std::invalid_argument(std::string(option) + " needs a number, not '" + (text ? text : "") + "'");
    return value;
}

Options parse(int argc, char **argv) {
    Options options;
    std::vector<std::string> names;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const char *next = i + 1 < argc ? argv[i + 1] : nullptr;
        if (word == "--lockstep") {
            options.lockstep = true;
        } else if (word == "--extensions") {
            options.extensions = true;
        } else if (word == "--vector") {
            options.vector = true;
        } else if (word == "--vlen" || word == "--dlen") {
            options.sized = true;
            number(word.c_str(), next);
            i++;
        } else if (word == "--signature") {
            if (!next)
                throw std::invalid_argument("--signature needs a file name");
            options.signature = next;
            i++;
        } else if (word == "--max-cycles") {
            options.max_cycles = number("--max-cycles", next);
            i++;
        } else if (word == "--falsify") {
            options.falsify = number("--falsify", next);
            i++;
        } else if (word == "--slow") {
            options.slow = true;
            options.seed = number("--slow", next);
            i++;
        } else if (word.size() > 1 && word[0] == '-') {
            throw std::invalid_argument("option '" + word + "' is unknown");
        } else {
            names.push_back(word);
        }
    }
    if (names.size() != 2)
        throw std::invalid_argument("one program, please");
    if (options.vector && options.lockstep)
        throw std::invalid_argument("--lockstep compares no vector registers: leave it out, or --vector");
    if (options.sized && !options.vector)
        throw std::invalid_argument("--vlen and --dlen need --vector");
    options.file = names[0];
    options.folder = names[1];
    return options;
}

} // namespace

int main(int argc, char **argv) {
    try {
        return run(parse(argc, argv));
    } catch (const std::invalid_argument &e) {
        std::fprintf(stderr,
                     "run-elf: %s\nusage: run-elf FILE [--signature OUT] [--max-cycles N] [--lockstep] [--slow SEED] "
                     "[--extensions] [--vector] [--vlen BITS] [--dlen BITS] [--falsify N]\n",
                     e.what());
    } catch (const std::exception &e) {
        std::fprintf(stderr, "run-elf: %s\n", e.what());
    }
    return kUsage;
}
