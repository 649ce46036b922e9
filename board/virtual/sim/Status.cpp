// SPDX-License-Identifier: BSD-3-Clause
#include "sim/Status.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace assasin {

namespace {

std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", unsigned(c));
            out += code;
        } else {
            out += c;
        }
    }
    return out + "\"";
}

/// Builds one flat JSON object.
class Object {
  public:
    void add(const char *key, const std::string &value) {
        raw(key, quoted(value));
    }
    void add(const char *key, bool value) {
        raw(key, value ? "true" : "false");
    }
    void add(const char *key, uint64_t value) {
        raw(key, std::to_string(value));
    }
    void add(const char *key, double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.3f", value);
        raw(key, text);
    }
    void add(const char *key, const std::vector<std::string> &values) {
        std::string list;
        for (const std::string &value : values) {
            list += (list.empty() ? "" : ", ") + quoted(value);
        }
        raw(key, "[" + list + "]");
    }
    std::string text() const {
        return "{\n" + body_ + "\n}\n";
    }

  private:
    void raw(const char *key, const std::string &value) {
        body_ += (body_.empty() ? "  " : ",\n  ") + quoted(key) + ": " + value;
    }
    std::string body_;
};

} // namespace

std::string Status::json() const {
    Object o;
    o.add("state", state);
    o.add("message", message);
    o.add("config", config);
    o.add("cpu", cpu);
    o.add("profile", profile);
    o.add("profile_file", profileFile);
    o.add("part", part);
    o.add("image", image);
    o.add("firmware", firmware);
    o.add("socket", socket);
    o.add("ns_per_cycle", nsPerCycle);
    o.add("pid", uint64_t(pid));
    o.add("channels", uint64_t(channels));
    o.add("ways", uint64_t(ways));
    o.add("timebase", timebase);
    o.add("cycles", cycles);
    o.add("asleep_cycles", asleepCycles);
    o.add("host_seconds", hostSeconds);
    o.add("wait_seconds", waitSeconds);
    o.add("khz", khz);
    o.add("visited", visited);
    o.add("visitor_pid", uint64_t(visitorPid));
    o.add("visits", visits);
    o.add("dma_faults", dmaFaults);
    o.add("h2c_bytes", h2cBytes);
    o.add("c2h_bytes", c2hBytes);
    o.add("flash_read_bytes", flashReadBytes);
    o.add("flash_program_bytes", flashProgramBytes);
    o.add("nand_bit_errors", nandBitErrors);
    o.add("nand_program_failures", nandProgramFailures);
    o.add("nand_erase_failures", nandEraseFailures);
    o.add("nand_cut_operations", nandCutOperations);
    o.add("dram_read_bytes", dramReadBytes);
    o.add("dram_write_bytes", dramWriteBytes);
    o.add("interrupts", interrupts);
    o.add("firmware_trapped", firmwareTrapped);
    o.add("firmware_cause", uint64_t(firmwareCause));
    o.add("firmware_pc", uint64_t(firmwarePc));
    o.add("violations", uint64_t(violations));
    o.add("slots", slots);
    return o.text();
}

void replaceFile(const std::string &path, const std::string &text) {
    const std::string temporary = path + ".new";
    std::FILE *const file = std::fopen(temporary.c_str(), "we");
    bool ok = file != nullptr;
    if (ok) {
        ok = std::fwrite(text.data(), 1, text.size(), file) == text.size();
        ok = std::fclose(file) == 0 && ok;
    }
    if (!ok || std::rename(temporary.c_str(), path.c_str()) != 0) {
        throw std::runtime_error("cannot write '" + path + "': " + std::strerror(errno));
    }
}

} // namespace assasin
