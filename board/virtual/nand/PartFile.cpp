// SPDX-License-Identifier: BSD-3-Clause
#include "PartFile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <toml++/toml.h>

namespace assasin {

namespace {

/** The items of one part file, with errors that name the file and the item. */
class Items {
  public:
    Items(const toml::table &root, const std::string &path) : root_(root), path_(path) {
    }

    [[noreturn]] void fail(const std::string &item, const std::string &why) const {
        throw std::runtime_error("part file " + path_ + ": " + item + ": " + why);
    }

    std::string string(const char *section, const char *key, size_t maxChars) const {
        auto value = root_[section][key].value<std::string>();
        if (!value)
            fail(label(section, key), "missing or not a string");
        if (value->empty() || value->size() > maxChars)
            fail(label(section, key),
                 "has " + std::to_string(value->size()) + " characters, choose 1 to " + std::to_string(maxChars));
        return *value;
    }

    /** Hands every key of an optional section to `set` as text, which throws for what is wrong. */
    void each(const char *section, const std::function<void(const std::string &, const std::string &)> &set) const {
        const toml::table *table = root_[section].as_table();
        if (!table)
            return;
        for (const auto &[key, node] : *table) {
            std::string value;
            if (auto flag = node.value_exact<bool>())
                value = *flag ? "true" : "false";
            else if (auto whole = node.value_exact<int64_t>())
                value = std::to_string(*whole);
            else if (auto number = node.value_exact<double>())
                value = toText(*number);
            else if (auto string = node.value_exact<std::string>())
                value = *string;
            try {
                set(std::string(key.str()), value);
            } catch (const std::runtime_error &error) {
                throw std::runtime_error("part file " + path_ + ": [" + section + "] " + error.what());
            }
        }
    }

    uint64_t number(const char *section, const char *key, uint64_t low, uint64_t high) const {
        auto value = root_[section][key].value<int64_t>();
        if (!value)
            fail(label(section, key), "missing or not a whole number");
        if (*value < 0 || static_cast<uint64_t>(*value) < low || static_cast<uint64_t>(*value) > high)
            fail(label(section, key),
                 "is " + std::to_string(*value) + ", choose " + std::to_string(low) + " to " + std::to_string(high));
        return static_cast<uint64_t>(*value);
    }

    unsigned powerOfTwo(const char *section, const char *key, uint64_t low, uint64_t high) const {
        uint64_t value = number(section, key, low, high);
        if (value & (value - 1))
            fail(label(section, key), "is " + std::to_string(value) + ", choose a power of two");
        return static_cast<unsigned>(value);
    }

    bool boolean(const char *section, const char *key, bool otherwise) const {
        auto node = root_[section][key];
        if (!node)
            return otherwise;
        auto value = node.value_exact<bool>();
        if (!value)
            fail(label(section, key), "choose true or false");
        return *value;
    }

    std::vector<uint8_t> bytes(const char *section, const char *key, size_t count) const {
        return bytes(label(section, key), root_[section][key].as_array(), count);
    }

    /** A list of pairs of bytes, empty when it is not there. */
    std::vector<std::pair<uint8_t, uint8_t>> pairs(const char *section, const char *key) const {
        std::vector<std::pair<uint8_t, uint8_t>> out;
        auto node = root_[section][key];
        if (node && !node.is_array())
            fail(label(section, key), "choose a list of pairs of bytes");
        if (const toml::array *list = node.as_array()) {
            for (const auto &element : *list) {
                const std::vector<uint8_t> pair = bytes(label(section, key), element.as_array(), 2);
                out.emplace_back(pair[0], pair[1]);
            }
        }
        return out;
    }

  private:
    std::vector<uint8_t> bytes(const std::string &item, const toml::array *list, size_t count) const {
        if (!list || list->size() != count)
            fail(item, "choose a list of " + std::to_string(count) + " bytes");
        std::vector<uint8_t> out;
        for (const auto &element : *list) {
            auto value = element.value<int64_t>();
            if (!value || *value < 0 || *value > 255)
                fail(item, "holds something that is not a byte");
            out.push_back(static_cast<uint8_t>(*value));
        }
        return out;
    }

    static std::string toText(double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.17g", value);
        return text;
    }
    static std::string label(const char *section, const char *key) {
        return std::string(section) + "." + key;
    }

    const toml::table &root_;
    const std::string &path_;
};

/** Bits that tell `count` things apart: the logarithm of a power of two. */
unsigned log2of(unsigned count) {
    unsigned bits = 0;
    while ((1u << bits) < count)
        bits++;
    return bits;
}

} // namespace

unsigned NandGeometry::pageBits() const {
    return log2of(pagesPerBlock);
}
unsigned NandGeometry::planeBits() const {
    return log2of(planes);
}
unsigned NandGeometry::lunShift() const {
    return log2of(pagesPerBlock) + log2of(blocksPerLun());
}

bool NandGeometry::operator==(const NandGeometry &other) const {
    return luns == other.luns && planes == other.planes && blocksPerPlane == other.blocksPerPlane &&
           pagesPerBlock == other.pagesPerBlock && pageBytes == other.pageBytes && spareBytes == other.spareBytes;
}

std::string NandGeometry::text() const {
    return std::to_string(luns) + " LUNs x " + std::to_string(planes) + " planes x " + std::to_string(blocksPerPlane) +
           " blocks x " + std::to_string(pagesPerBlock) + " pages of " + std::to_string(pageBytes) + "+" +
           std::to_string(spareBytes) + " bytes";
}

PartFile PartFile::load(const std::string &path) {
    toml::table root;
    try {
        root = toml::parse_file(path);
    } catch (const toml::parse_error &error) {
        throw std::runtime_error("part file " + path + ": " + std::string(error.description()) + " (line " +
                                 std::to_string(error.source().begin.line) + ")");
    }
    Items items(root, path);
    PartFile part;
    part.name = items.string("part", "name", 20);
    part.manufacturer = items.string("part", "manufacturer", 12);
    part.id = items.bytes("part", "id", 8);

    NandGeometry &g = part.geometry;
    g.luns = items.powerOfTwo("geometry", "luns", 1, 8);
    g.planes = items.powerOfTwo("geometry", "planes", 1, 8);
    g.blocksPerPlane = static_cast<unsigned>(items.number("geometry", "blocks_per_plane", 1, 65536));
    g.pagesPerBlock = items.powerOfTwo("geometry", "pages_per_block", 1, 4096);
    g.pageBytes = items.powerOfTwo("geometry", "page_bytes", 512, 16384);
    g.spareBytes = static_cast<unsigned>(items.number("geometry", "spare_bytes", 8, 8192));
    if (g.spareBytes % 4)
        items.fail("geometry.spare_bytes", "is " + std::to_string(g.spareBytes) + ", choose a multiple of 4");
    if (g.lunShift() + log2of(g.luns) > 24)
        items.fail("geometry", g.text() + " needs " + std::to_string(g.lunShift() + log2of(g.luns)) +
                                   " row address bits, three address cycles carry 24");
    part.bitsPerCell = static_cast<unsigned>(items.number("geometry", "bits_per_cell", 1, 5));

    auto microseconds = [&](const char *key) { return items.number("array", key, 1, 65535) * 1000; };
    part.array.tR = microseconds("tR");
    part.array.tPROG = microseconds("tPROG");
    part.array.tBERS = microseconds("tBERS");
    part.array.tRST = microseconds("tRST");
    part.array.tFEAT = microseconds("tFEAT");
    part.cacheCommands = items.boolean("array", "cache_commands", false);

    auto nanoseconds = [&](const char *key) { return static_cast<unsigned>(items.number("nvddr2", key, 1, 4095)); };
    part.timingMode = static_cast<unsigned>(items.number("nvddr2", "timing_mode", 0, 8));
    part.timingBlock = items.boolean("nvddr2", "timing_block", true);
    part.features = items.pairs("nvddr2", "features");
    part.differential = items.boolean("nvddr2", "differential", true);
    part.externalVref = items.boolean("nvddr2", "external_vref", false);
    part.nvddr2.beatPs = static_cast<unsigned>(items.number("nvddr2", "beat_ps", 500, 65535));
    part.nvddr2.tWC = nanoseconds("tWC");
    part.nvddr2.tCS = nanoseconds("tCS");
    part.nvddr2.tWB = nanoseconds("tWB");
    part.nvddr2.tRR = nanoseconds("tRR");
    part.nvddr2.tRPRE = nanoseconds("tRPRE");
    part.nvddr2.tPST = nanoseconds("tPST");
    part.nvddr2.tWHR = nanoseconds("tWHR");
    part.nvddr2.tADL = nanoseconds("tADL");
    part.nvddr2.tCCS = nanoseconds("tCCS");

    items.each("reliability",
               [&](const std::string &key, const std::string &value) { part.reliability.set(key, value); });
    return part;
}

uint16_t PartFile::crc16(const uint8_t *data, size_t bytes) {
    uint16_t crc = 0x4F4E;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= static_cast<uint16_t>(data[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = static_cast<uint16_t>(crc & 0x8000 ? crc << 1 ^ 0x8005 : crc << 1);
    }
    return crc;
}

std::array<uint8_t, PartFile::kParameterPageBytes> PartFile::parameterPage() const {
    std::array<uint8_t, kParameterPageBytes> page{};
    auto put = [&](unsigned at, unsigned bytes, uint64_t value) {
        for (unsigned i = 0; i < bytes; i++)
            page[at + i] = static_cast<uint8_t>(value >> 8 * i);
    };
    auto text = [&](unsigned at, unsigned bytes, const std::string &value) {
        for (unsigned i = 0; i < bytes; i++)
            page[at + i] = static_cast<uint8_t>(i < value.size() ? value[i] : ' ');
    };
    text(0, 4, "ONFI");
    put(4, 2, 0x03FE); // ONFI 1.0 to 4.0
    put(6, 2,
        0x0400 | (geometry.planes > 1 ? 0x48 : 0) | (geometry.luns > 1 ? 2 : 0)); // NV-DDR2, multi-plane, multi-LUN
    put(8, 2, cacheCommands ? 0x004F : 0x004C); // cache program and read; features, status and change column enhanced
    put(14, 1, kParameterPageCopies);
    text(32, 12, manufacturer);
    text(44, 20, name);
    put(64, 1, id[0]);
    put(80, 4, geometry.pageBytes);
    put(84, 2, geometry.spareBytes);
    put(92, 4, geometry.pagesPerBlock);
    put(96, 4, geometry.blocksPerLun());
    put(100, 1, geometry.luns);
    put(101, 1, 0x23);
    put(102, 1, bitsPerCell);
    put(103, 2, static_cast<uint64_t>(std::ceil(2 * reliability.factoryBad * geometry.blocksPerLun())));
    put(107, 1, 1); // the first block of a target comes good
    put(110, 1, 1);
    put(113, 1, geometry.planeBits());
    put(129, 2, 0x3F);
    put(133, 2, array.tPROG / 1000);
    put(135, 2, array.tBERS / 1000);
    put(137, 2, array.tR / 1000);
    put(139, 2, nvddr2.tCCS);
    put(142, 1, (2u << std::min(timingMode, 7u)) - 1);
    put(154, 2, nvddr2.tADL);
    put(158, 1, (differential ? 0x18 : 0) | (externalVref ? 0x20 : 0)); // DQS_c, RE_c; VREFQ for 200 MT/s and more
    put(162, 1, timingMode >= 8 ? 1 : 0);
    if (timingBlock) {
        put(164, 2, 0xA551);
        put(166, 2, nvddr2.tWC);
        put(168, 2, nvddr2.tCS);
        put(170, 2, nvddr2.tWB);
        put(172, 2, nvddr2.tRR);
        put(174, 2, nvddr2.tRPRE);
        put(176, 2, nvddr2.tPST);
        put(178, 2, nvddr2.tWHR);
        put(180, 2, nvddr2.tADL);
        put(182, 2, nvddr2.tCCS);
        put(184, 2, nvddr2.beatPs);
        put(186, 1, timingMode);
        put(187, 1, reliability.retryLevels);
        put(188, 1, reliability.pairing == NandPairing::Dist3);
    }
    if (!timingBlock && reliability.retryLevels > 0) {
        put(164, 2, 1); // as Micron's parts have it
        put(180, 1, reliability.retryLevels);
    }
    put(254, 2, crc16(page.data(), 254));
    return page;
}

NandBusTimes PartFile::sdr(unsigned mode) {
    struct Row {
        unsigned cycle, tCS, tWB, tRR, tWHR;
    };
    static constexpr Row kRows[6] = {{100, 70, 200, 40, 120}, {50, 35, 100, 20, 80}, {35, 25, 100, 20, 80},
                                     {30, 25, 100, 20, 80},   {25, 20, 100, 20, 80}, {20, 15, 100, 20, 80}};
    const Row &row = kRows[std::min(mode, 5u)];
    NandBusTimes times;
    times.tWC = row.cycle;
    times.tCS = row.tCS;
    times.tWB = row.tWB;
    times.tRR = row.tRR;
    times.tWHR = row.tWHR;
    times.tADL = 400;
    times.tCCS = 500;
    times.beatPs = row.cycle * 1000;
    return times;
}

} // namespace assasin
