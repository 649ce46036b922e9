// SPDX-License-Identifier: BSD-3-Clause
#include "sim/Profile.h"

#include <filesystem>
#include <sstream>
#include <stdexcept>

#include <toml++/toml.h>

namespace assasin {

namespace {

/// Typed, range-checked access to one profile file.
class Reader {
  public:
    explicit Reader(const std::string &path) : path_(path) {
        try {
            table_ = toml::parse_file(path);
        } catch (const toml::parse_error &e) {
            std::ostringstream where;
            where << e.source().begin;
            throw std::runtime_error("profile " + path + ": " + std::string(e.description()) + " (" + where.str() +
                                     ")");
        }
    }

    double number(const char *section, const char *key, double least, double most) const {
        const auto value = table_[section][key].value<double>();
        if (!value) {
            throw std::runtime_error(name(section, key) + " is missing or not a number");
        }
        if (!(*value >= least && *value <= most)) {
            std::ostringstream text;
            text << name(section, key) << " = " << *value << ": must lie in " << least << " to " << most;
            throw std::runtime_error(text.str());
        }
        return *value;
    }

    double number(const char *section, const char *key, double least, double most, double otherwise) const {
        return table_[section][key] ? number(section, key, least, most) : otherwise;
    }

    std::string text(const char *section, const char *key) const {
        const auto value = table_[section][key].value<std::string>();
        if (!value || value->empty()) {
            throw std::runtime_error(name(section, key) + " is missing or not a string");
        }
        return *value;
    }

    std::string name(const char *section, const char *key) const {
        return "profile " + path_ + ": [" + section + "] " + key;
    }

  private:
    std::string path_;
    toml::table table_;
};

bool powerOfTwo(uint64_t v) {
    return v != 0 && (v & (v - 1)) == 0;
}

} // namespace

Profile loadProfile(const std::string &path) {
    const Reader in(path);
    const std::filesystem::path file(path);
    Profile p;
    p.name = file.stem().string();
    p.nsPerCycle = in.number("clock", "ns_per_cycle", 0.1, 1000);
    p.partFile =
        (file.parent_path() / ".." / "parts" / (in.text("nand", "part") + ".toml")).lexically_normal().string();
    p.dram.size = uint64_t(in.number("dram", "bytes", 1 << 20, 2147483648.0));
    if (!powerOfTwo(p.dram.size)) {
        throw std::runtime_error(in.name("dram", "bytes") + " = " + std::to_string(p.dram.size) +
                                 ": must be a power of two");
    }
    p.dram.bytesPerCycle = in.number("dram", "bytes_per_cycle", 0.01, 64);
    p.dram.readLatency = uint32_t(in.number("dram", "latency_cycles", 1, 100000));
    p.dram.writeLatency = uint32_t(in.number("dram", "write_latency_cycles", 1, 100000, p.dram.readLatency));
    p.pcie.bytesPerCycle = in.number("pcie", "bytes_per_cycle", 0.01, 64);
    p.pcie.writeLatency = uint32_t(in.number("pcie", "latency_cycles", 1, 1000000));
    p.pcie.readLatency = 2 * p.pcie.writeLatency; // request up, data down
    p.pcie.maxReadRequest = uint32_t(in.number("pcie", "max_read_request", 128, 4096, 512));
    p.pcie.maxPayload = uint32_t(in.number("pcie", "max_payload", 128, 2048, 256));
    if (!powerOfTwo(p.pcie.maxReadRequest) || !powerOfTwo(p.pcie.maxPayload)) {
        throw std::runtime_error("profile " + path + ": [pcie] max_read_request and max_payload must be powers of two");
    }
    return p;
}

} // namespace assasin
