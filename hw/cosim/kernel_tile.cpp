// SPDX-License-Identifier: BSD-3-Clause
// Runs a program of a core on one tile, as often as asked, with what it works on in the scratchpad, and counts cycles.
// Usage: kernel_tile ELF. Reads commands from standard input, a line each, addresses and lengths in decimal:
//   load ADDRESS HEX       puts bytes into the scratchpad; ADDRESS is a multiple of 8
//   run CYCLES [warm]      runs the program from its entry; prints {"state", "code", "cycles", "instructions", "pc",
//                          "running", "counters"}
//   trace INSTRUCTIONS     prints the last so many instructions of the run, each as {"cycle", "pc", "word"}
//   read ADDRESS BYTES     prints what is in the scratchpad as {"bytes": "HEX"}; both are multiples of 4
// state: of the core at the end, RUNNING where it takes more than CYCLES. cycles: between the first and the last
// instruction that retires. running: cycles from the start to the end; counters: of the vector unit in these (hw/regs/
// core.toml), all 0 where there is none. Exit code 2: a command or the program cannot be understood.
//
// With TILE_DRAM the tile is one of Baseline or Prefetch: what is called scratchpad above lies in DRAM behind caches,
// which a program finds empty; warm: in L2, as far as it fits. Such a run also prints "dram_bytes", read and written
// while it lasts. A read must follow the run directly, or other reads behind it.
#include <algorithm>
#include <cinttypes>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "bench.h"
#include "counters.h"
#include "elf_file.h"
#include "rv_asm.h"

using namespace cosim;
using namespace rv;

namespace {

constexpr uint32_t kSpad = ASSASIN_CORE_SPAD_BASE, kSpadBytes = ASSASIN_CORE_SPAD_SIZE;
/// Where the code lies that reads the scratchpad: at the end of the instruction memory.
#ifdef TILE_DRAM
constexpr uint32_t kReaderBytes = 2048;
#else
constexpr uint32_t kReaderBytes = 64;
#endif
constexpr uint32_t kReader = ASSASIN_CORE_IMEM_SIZE - kReaderBytes;
constexpr unsigned kAddress = 5, kEnd = 6, kWord = 7; ///< its registers

/// What a `read` asks for.
struct Place {
    uint32_t address, bytes;
};

std::vector<uint8_t> from_hex(const std::string &text) {
    if (text.size() % 2 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
        throw std::runtime_error("not bytes in hexadecimal: " + text.substr(0, 40));
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i < text.size(); i += 2)
        bytes.push_back(static_cast<uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
    return bytes;
}

/// Offset in the scratchpad of `bytes` bytes from `address` on.
uint32_t offset(uint32_t address, size_t bytes, uint32_t multiple) {
    if (address < kSpad || address - kSpad > kSpadBytes || bytes > kSpadBytes - (address - kSpad) || address % multiple)
        throw std::runtime_error("not in the scratchpad, or not aligned: " + std::to_string(address));
    return address - kSpad;
}

void load(Bench &b, uint32_t base, std::vector<uint8_t> bytes) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    if (!bytes.empty())
        b.load(base, bytes.data(), bytes.size());
}

void load_program(Bench &b, const ElfFile &elf) {
    for (const ElfSegment &s : elf.segments) {
        if (s.address >= kSpad)
            load(b, ASSASIN_XB_SPAD_BASE + offset(s.address, s.size, 1), s.bytes);
        else if (s.address + s.size <= kReader)
            load(b, ASSASIN_XB_IMEM_BASE + s.address, s.bytes);
        else
            throw std::runtime_error("the program leaves no room for the one that reads the results");
    }
}

void print_run(unsigned state, uint32_t code, uint64_t cycles, uint64_t instructions, uint32_t pc) {
    std::printf("{\"state\": %u, \"code\": %u, \"cycles\": %" PRIu64 ", \"instructions\": %" PRIu64 ", \"pc\": %u",
                state, code, cycles, instructions, pc);
}

void print_bytes(const std::vector<uint8_t> &bytes) {
    std::printf("{\"bytes\": \"");
    for (const uint8_t byte : bytes)
        std::printf("%02x", byte);
    std::printf("\"}\n");
}

/// Where the cycles of a loop go: when each of its instructions passed the commit point.
void trace(const Bench &b, uint64_t instructions) {
    const size_t all = b.commits.size(), first = all - std::min<uint64_t>(all, instructions);
    for (size_t i = first; i < all; i++)
        std::printf("{\"cycle\": %" PRIu64 ", \"pc\": %u, \"word\": %u}\n", b.commits[i].cycle, b.commits[i].pc,
                    b.commits[i].insn);
}

void li(std::vector<Word> &code, unsigned rd, uint32_t value) {
    const int32_t low = static_cast<int32_t>(value << 20) >> 20;
    code.push_back(lui(rd, value - static_cast<uint32_t>(low)));
    code.push_back(addi(rd, rd, low));
}

/// Code that loads a word every `step` bytes. The host cannot read a tile's memory, but the trace tells what is loaded.
void loads(std::vector<Word> &code, Place place, int32_t step) {
    li(code, kAddress, place.address);
    li(code, kEnd, place.address + place.bytes);
    const size_t loop = code.size();
    code.push_back(beq(kAddress, kEnd, 16));
    code.push_back(lw(kWord, kAddress, 0));
    code.push_back(addi(kAddress, kAddress, step));
    code.push_back(jal(0, 4 * (static_cast<int>(loop) - static_cast<int>(code.size()))));
}

/// What the words are that such code has loaded.
template <class Iterator> std::vector<uint8_t> loaded(Iterator first, Iterator last) {
    std::vector<uint8_t> bytes;
    for (; first != last; ++first)
        if (!first->trap && first->wen && first->rd == kWord)
            for (unsigned k = 0; k < 4; k++)
                bytes.push_back(static_cast<uint8_t>(first->wdata >> 8 * k));
    return bytes;
}

void load_code(Bench &b, const std::vector<Word> &code) {
    if (code.size() * 4 > kReaderBytes)
        throw std::runtime_error("more results than there is room for code that reads them");
    b.load(ASSASIN_XB_IMEM_BASE + kReader, code.data(), code.size() * 4);
}

Place place(uint64_t address, uint64_t bytes) {
    offset(static_cast<uint32_t>(address), bytes, 4);
    if (bytes % 4)
        throw std::runtime_error("not whole words: " + std::to_string(bytes));
    return {static_cast<uint32_t>(address), static_cast<uint32_t>(bytes)};
}

#ifdef TILE_DRAM

/// Starts lose what is in the caches. So the program's results are read before it ends: its ECALL traps to code that
/// loads them. Returns what each place holds.
std::vector<std::vector<uint8_t>> run(Bench &b, uint32_t entry, uint64_t cycles, bool warm,
                                      const std::vector<Place> &places) {
    constexpr unsigned kMtvec = 0x305, kExitCode = 10, kEcallCause = 11;
    std::vector<Word> before, after;
    if (warm)
        loads(before, {kSpad, kSpadBytes}, 64);
    const uint32_t handler = kReader + 4 * (static_cast<uint32_t>(before.size()) + 6);
    li(before, kAddress, handler);
    before.push_back(csrw(kMtvec, kAddress));
    li(before, kAddress, entry);
    before.push_back(jalr(0, kAddress, 0));
    after.push_back(addi(kExitCode, kExitCode, 0));
    for (const Place &p : places)
        loads(after, p, 4);
    after.push_back(csrw(kMtvec, 0));
    after.push_back(ecall);
    before.insert(before.end(), after.begin(), after.end());
    load_code(b, before);

    b.commits.clear();
    b.start(kReader);
    const auto until = [&](uint64_t limit, auto found) {
        for (; limit && (b.commits.empty() || !found(b.commits.back())); limit--)
            b.tick();
        return limit != 0;
    };
    if (!until(1000000, [&](const Commit &c) { return c.pc == entry; }))
        throw std::runtime_error("the program does not start");
    const size_t first = b.commits.size() - 1;
    const uint64_t traffic = b.dram.read_bytes + b.dram.written_bytes;
    const bool stopped = until(cycles, [](const Commit &c) { return c.trap; });
    const uint64_t moved = b.dram.read_bytes + b.dram.written_bytes - traffic;
    const Commit end = b.commits.back();
    const size_t last = b.commits.size();
    const bool ended = stopped && end.cause == kEcallCause;
    if (ended && !b.wait_stop(100000 + 1000ull * kSpadBytes))
        throw std::runtime_error("the code that reads the results does not end");
    const unsigned state = ended ? CORE_STATE_EXITED : stopped ? CORE_STATE_TRAPPED : CORE_STATE_RUNNING;
    print_run(state, ended ? b.commits[last].wdata : 0, end.cycle - b.commits[first].cycle, last - first - stopped,
              end.pc);
    std::printf(", \"dram_bytes\": %" PRIu64 "}\n", moved);
    const std::vector<uint8_t> all = loaded(b.commits.begin() + static_cast<std::ptrdiff_t>(last), b.commits.end());
    std::vector<std::vector<uint8_t>> found;
    size_t at = 0;
    for (const Place &p : places) {
        const size_t from = std::min(at, all.size()), to = std::min(at + p.bytes, all.size());
        found.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(from),
                           all.begin() + static_cast<std::ptrdiff_t>(to));
        at += p.bytes;
    }
    b.write(CORE_CTRL, 0);
    b.run(2);
    return found;
}

#else

void run(Bench &b, uint32_t entry, uint64_t cycles) {
    b.commits.clear();
    b.write(CORE_CTRL, 1u << CORE_CTRL_CLEAR_SHIFT);
    b.start(entry);
    const bool stopped = b.wait_stop(cycles);
    uint64_t instructions = 0;
    for (const Commit &c : b.commits)
        instructions += !c.trap;
    const uint64_t taken = b.commits.empty() ? 0 : b.commits.back().cycle - b.commits.front().cycle;
    print_run(stopped ? b.state() : CORE_STATE_RUNNING, b.read(CORE_EXIT_CODE), taken, instructions,
              b.commits.empty() ? entry : b.commits.back().pc);
    print_counters(b);
    b.write(CORE_CTRL, 0);
    b.run(2);
}

void read(Bench &b, Place place) {
    std::vector<Word> code;
    loads(code, place, 4);
    code.push_back(ecall);
    load_code(b, code);
    b.commits.clear();
    b.start(kReader);
    if (!b.wait_stop(10000 + 100ull * place.bytes) || b.state() != CORE_STATE_EXITED)
        throw std::runtime_error("the program that reads the results does not end");
    print_bytes(loaded(b.commits.begin(), b.commits.end()));
    b.write(CORE_CTRL, 0);
    b.run(2);
}

#endif

/// A line of standard input.
struct Command {
    std::string name, text;
    uint64_t first = 0;

    explicit Command(const std::string &line) : line_(line) {
        std::istringstream words(line);
        words >> name >> first;
        ok_ = static_cast<bool>(words);
        words >> text;
    }
    bool is(const char *which) const {
        return ok_ && name == which;
    }
    uint64_t second() const {
        if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
            fail();
        return std::stoull(text);
    }
    [[noreturn]] void fail() const {
        throw std::runtime_error("not a command: " + line_.substr(0, 60));
    }

  private:
    std::string line_;
    bool ok_ = false;
};

void load(Bench &b, const ElfFile &elf, const Command &c) {
    std::vector<uint8_t> data = from_hex(c.text);
    const uint32_t at = offset(static_cast<uint32_t>(c.first), data.size(), 8);
    for (const ElfSegment &s : elf.segments)
        if (s.address >= kSpad && s.address - kSpad < at + data.size() && at < s.address - kSpad + s.size)
            throw std::runtime_error("data of the program lies there: " + std::to_string(c.first));
    load(b, ASSASIN_XB_SPAD_BASE + at, std::move(data));
}

void execute(Bench &b, const ElfFile &elf, const std::vector<Command> &commands) {
    for (size_t i = 0; i < commands.size(); i++) {
        const Command &c = commands[i];
        if (c.is("load") && !c.text.empty()) {
            load(b, elf, c);
        } else if (c.is("run")) {
#ifdef TILE_DRAM
            if (!c.text.empty() && c.text != "warm")
                c.fail();
            std::vector<Place> places;
            for (; i + 1 < commands.size() && commands[i + 1].is("read"); i++)
                places.push_back(place(commands[i + 1].first, commands[i + 1].second()));
            for (const auto &bytes : run(b, elf.entry, c.first, c.text == "warm", places))
                print_bytes(bytes);
#else
            if (!c.text.empty())
                c.fail();
            run(b, elf.entry, c.first);
        } else if (c.is("read")) {
            read(b, place(c.first, c.second()));
#endif
        } else if (c.is("trace")) {
            trace(b, c.first);
        } else {
            c.fail();
        }
        std::fflush(stdout);
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s ELF <COMMANDS\n", argv[0]);
        return 2;
    }
    try {
        const ElfFile elf = ElfFile::read(argv[1]);
        Bench b(1);
#ifdef TILE_DRAM
        // The DRAM of board/virtual/profiles/paper.toml, with nobody else on it.
        b.dram.hesitation = b.dram.jitter = 0;
        b.dram.read_latency = 60;
        b.dram.write_latency = 20;
#endif
        b.write(CORE_CTRL, 0);
        load_program(b, elf);
        std::vector<Command> commands;
        for (std::string line; std::getline(std::cin, line);)
            commands.emplace_back(line);
        execute(b, elf, commands);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "kernel_tile: %s\n", e.what());
        return 2;
    }
}
