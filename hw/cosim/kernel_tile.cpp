// SPDX-License-Identifier: BSD-3-Clause
// Runs a program of a core on one tile, as often as asked, with what it works on in the scratchpad, and counts cycles.
// Usage: kernel_tile ELF. Reads commands from standard input, a line each, addresses and lengths in decimal:
//   load ADDRESS HEX       puts bytes into the scratchpad; ADDRESS is a multiple of 8
//   run CYCLES             runs the program from its entry; prints {"state", "code", "cycles", "instructions", "pc"}
//   trace INSTRUCTIONS     prints the last so many instructions of the run, each as {"cycle", "pc", "word"}
//   read ADDRESS BYTES     prints what is in the scratchpad as {"bytes": "HEX"}; both are multiples of 4
// state: of the core at the end, RUNNING where it takes more than CYCLES. cycles: between the first and the last
// instruction that retires. Exit code 2: a command or the program cannot be understood.
#include <algorithm>
#include <cinttypes>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "bench.h"
#include "elf_file.h"
#include "rv_asm.h"

using namespace cosim;
using namespace rv;

namespace {

constexpr uint32_t kSpad = ASSASIN_CORE_SPAD_BASE, kSpadBytes = ASSASIN_CORE_SPAD_SIZE;
/// Where the program lies that reads the scratchpad: at the end of the instruction memory.
constexpr uint32_t kReaderBytes = 64, kReader = ASSASIN_CORE_IMEM_SIZE - kReaderBytes;
constexpr unsigned kAddress = 10, kEnd = 11, kWord = 12; ///< its registers

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

void run(Bench &b, uint32_t entry, uint64_t cycles) {
    b.commits.clear();
    b.start(entry);
    const bool stopped = b.wait_stop(cycles);
    uint64_t instructions = 0;
    for (const Commit &c : b.commits)
        instructions += !c.trap;
    const uint64_t taken = b.commits.empty() ? 0 : b.commits.back().cycle - b.commits.front().cycle;
    std::printf("{\"state\": %u, \"code\": %u, \"cycles\": %" PRIu64 ", \"instructions\": %" PRIu64 ", \"pc\": %u}\n",
                stopped ? b.state() : CORE_STATE_RUNNING, b.read(CORE_EXIT_CODE), taken, instructions,
                b.commits.empty() ? entry : b.commits.back().pc);
    b.write(CORE_CTRL, 0);
    b.run(2);
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

/// The host cannot read the scratchpad. A program loads its words, and the trace tells them.
void read(Bench &b, uint32_t address, uint32_t bytes) {
    offset(address, bytes, 4);
    if (bytes % 4)
        throw std::runtime_error("not whole words: " + std::to_string(bytes));
    std::vector<Word> code;
    li(code, kAddress, address);
    li(code, kEnd, address + bytes);
    const size_t loop = code.size();
    code.push_back(beq(kAddress, kEnd, 16));
    code.push_back(lw(kWord, kAddress, 0));
    code.push_back(addi(kAddress, kAddress, 4));
    code.push_back(jal(0, 4 * (static_cast<int>(loop) - static_cast<int>(code.size()))));
    code.push_back(ecall);
    b.load(ASSASIN_XB_IMEM_BASE + kReader, code.data(), code.size() * 4);
    b.commits.clear();
    b.start(kReader);
    if (!b.wait_stop(10000 + 100ull * bytes) || b.state() != CORE_STATE_EXITED)
        throw std::runtime_error("the program that reads the results does not end");
    std::printf("{\"bytes\": \"");
    for (const Commit &c : b.commits)
        if (c.wen && c.rd == kWord)
            for (unsigned k = 0; k < 4; k++)
                std::printf("%02x", c.wdata >> 8 * k & 0xff);
    std::printf("\"}\n");
    b.write(CORE_CTRL, 0);
    b.run(2);
}

void command(Bench &b, const ElfFile &elf, const std::string &line) {
    std::istringstream words(line);
    std::string name, bytes;
    uint64_t first = 0, second = 0;
    words >> name >> first;
    if (words && name == "load" && words >> bytes) {
        std::vector<uint8_t> data = from_hex(bytes);
        const uint32_t at = offset(static_cast<uint32_t>(first), data.size(), 8);
        for (const ElfSegment &s : elf.segments)
            if (s.address >= kSpad && s.address - kSpad < at + data.size() && at < s.address - kSpad + s.size)
                throw std::runtime_error("data of the program lies there: " + std::to_string(first));
        load(b, ASSASIN_XB_SPAD_BASE + at, std::move(data));
    } else if (words && name == "run") {
        run(b, elf.entry, first);
    } else if (words && name == "trace") {
        trace(b, first);
    } else if (words && name == "read" && words >> second) {
        read(b, static_cast<uint32_t>(first), static_cast<uint32_t>(second));
    } else {
        throw std::runtime_error("not a command: " + line.substr(0, 60));
    }
    std::fflush(stdout);
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
        b.write(CORE_CTRL, 0);
        load_program(b, elf);
        for (std::string line; std::getline(std::cin, line);)
            command(b, elf, line);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "kernel_tile: %s\n", e.what());
        return 2;
    }
}
