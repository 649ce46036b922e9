// SPDX-License-Identifier: BSD-3-Clause
/* The program behind `assasin bench ftl`: one load on the native drive, and what it cost, as a line of JSON. */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "bench/processor.h"
#include "tests/harness.h"

namespace {

using harness::Buffer;
using harness::Drive;
using harness::Sqe;

struct BadInput : std::runtime_error {
    using std::runtime_error::runtime_error;
};

constexpr uint32_t kBlockBytes = 4096;
/** Commands in flight of the loads that are not about latency, and blocks of a command that fills. */
constexpr uint32_t kDepth = 32;

struct Options {
    model::Geometry geometry;
    model::Times times;
    double span = 1;                   /**< share of the capacity that the load works on */
    double hotWrites = 0, hotSpan = 0; /**< share of the writes that goes to this share of the blocks; 0: uniform */
    double settle = 3, measure = 2;    /**< times the span, before and during the measurement */
    double reads = 0;                  /**< share of reads among the measured commands */
    uint32_t depth = kDepth, seed = 1;
    uint32_t blocks = 32;  /**< of a command, where commands follow each other */
    uint32_t count = 2048; /**< blocks that these take */
    bool random = false;   /**< they do not follow each other */
    uint32_t parity = 0;   /**< flags of the format that say whether it has parity; 0: by its dies */
    uint32_t maps = 32;    /**< pages of the map of the drive that is mounted */
    std::string profile;   /**< where to leave what each instruction took */
};

/** What has reached the medium, by superblock; of offloads' outputs there are none. */
class Medium {
  public:
    uint64_t data = 0, metadata = 0; /**< sectors programmed */

    /** A sector, with its first metadata word. */
    void programmed(uint32_t key, uint32_t superblock, uint32_t word) {
        if (word >= 0x80000000) {
            metadata++;
            return;
        }
        data++;
        of_[superblock].held++;
        at_[word] = {key, superblock};
    }
    /** A block. */
    void erased(uint32_t superblock) {
        of_[superblock].erases++;
        of_[superblock].held = 0;
    }
    /** Sectors of the superblocks that are full, `each` sectors, and hold the newest version of some block. */
    uint64_t closed(uint64_t each) const {
        std::set<uint32_t> live;
        for (const auto &[lba, place] : at_) {
            live.insert(place.second);
        }
        uint64_t sum = 0;
        for (uint32_t superblock : live) {
            sum += of_.at(superblock).held == each ? each : 0;
        }
        return sum;
    }
    /** Erases of the superblocks that have held data, which have that many blocks. */
    std::string erases(uint32_t blocks) const {
        uint64_t least = UINT64_MAX, most = 0, sum = 0, count = 0;
        for (const auto &[superblock, s] : of_) {
            if (s.held > 0) {
                uint64_t n = s.erases / blocks;
                least = std::min(least, n), most = std::max(most, n), sum += n, count++;
            }
        }
        double mean = count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
        return "\"erases_least\": " + std::to_string(count == 0 ? 0 : least) +
               ", \"erases_most\": " + std::to_string(most) + ", \"erases_mean\": " + std::to_string(mean);
    }

  private:
    struct Superblock {
        uint64_t held = 0, erases = 0;
    };
    std::map<uint32_t, Superblock> of_;
    std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> at_; /**< block of the drive: key, superblock */
};

class Load {
  public:
    explicit Load(const Options &options)
        : o(options), nand(o.geometry), d(nand, 1, o.seed, 0, {}, o.times, {}, UINT64_MAX, {0, o.parity}), rng(o.seed) {
        /* Everything takes exactly its time. */
        d.dev.regular = true;
        d.start(1);
        span = static_cast<uint32_t>(d.capacity() * o.span);
        hot = static_cast<uint32_t>(span * o.hotSpan);
        if (span < 64) {
            throw BadInput("a drive of " + std::to_string(d.capacity()) + " blocks is too small for this load");
        }
        d.dev.faults.programOf = [this](uint32_t key, uint32_t word) {
            medium.programmed(key, superblockOf(key), word);
            return false;
        };
        d.dev.faults.eraseOf = [this](uint32_t key) {
            medium.erased(superblockOf(key));
            return false;
        };
        source = d.buffer(32 * kBlockBytes);
        target = d.buffer(kBlockBytes);
    }

    void fill() {
        Sqe s = Drive::sqe(0x01, 1);
        Drive::setPrp(s, source);
        for (uint32_t lba = 0; lba < span; lba += 32) {
            s[10] = lba;
            s[12] = std::min(32u, span - lba) - 1;
            expect(d.exec(1, s).status);
        }
    }

    /** `count` commands with `depth` in flight, a share of them reads; tells `ended` how long each took. */
    void commands(uint64_t count, double reads, uint32_t depth, const std::function<void(bool read, uint64_t)> &ended) {
        struct Flying {
            uint16_t cid;
            bool read;
            uint64_t since;
        };
        std::vector<Flying> flying;
        uint64_t issued = 0;
        while (issued < count || !flying.empty()) {
            for (; issued < count && flying.size() < depth; issued++) {
                bool read = chance(reads);
                Sqe s = Drive::sqe(read ? 0x02 : 0x01, 1);
                Drive::setPrp(s, read ? target : source);
                s[10] = place(read);
                flying.push_back({d.submit(1, s), read, d.dev.now});
            }
            d.run([&] { return d.completed() > 0; });
            std::erase_if(flying, [&](const Flying &f) {
                auto c = d.take(1, f.cid);
                if (!c) {
                    return false;
                }
                expect(c->status);
                if (ended) {
                    ended(f.read, d.dev.now - f.since);
                }
                return true;
            });
        }
    }
    void commands(double times, double reads, uint32_t depth,
                  const std::function<void(bool read, uint64_t)> &ended = {}) {
        commands(static_cast<uint64_t>(times * span), reads, depth, ended);
    }

    /** `o.count` blocks by commands of `o.blocks`, one behind the other, with `o.depth` in flight. */
    void row(bool reads) {
        std::vector<uint16_t> flying;
        uint32_t lba = 0;
        while (lba < o.count || !flying.empty()) {
            for (; lba < o.count && flying.size() < o.depth; lba += o.blocks) {
                Sqe s = Drive::sqe(reads ? 0x02 : 0x01, 1);
                Drive::setPrp(s, source);
                s[10] = o.random ? static_cast<uint32_t>(rng() % (o.count / o.blocks)) * o.blocks : lba;
                s[12] = o.blocks - 1;
                flying.push_back(d.submit(1, s));
            }
            d.run([&] { return d.completed() > 0; });
            std::erase_if(flying, [&](uint16_t cid) {
                auto c = d.take(1, cid);
                if (c) {
                    expect(c->status);
                }
                return c.has_value();
            });
        }
    }

    uint32_t units() const {
        const model::Geometry &g = o.geometry;
        return g.channels * g.ways * g.luns * g.planes;
    }

    const Options &o;
    model::Nand nand;
    Drive d;
    Medium medium;
    uint32_t span = 0;

  private:
    std::mt19937 rng;
    uint32_t hot = 0;
    Buffer source{}, target{};

    bool chance(double share) {
        return static_cast<double>(rng()) < share * 4294967296.0;
    }
    uint32_t place(bool read) {
        if (hot == 0 || read) {
            return static_cast<uint32_t>(rng() % span);
        }
        return chance(o.hotWrites) ? static_cast<uint32_t>(rng() % hot)
                                   : hot + static_cast<uint32_t>(rng() % (span - hot));
    }
    uint32_t superblockOf(uint32_t key) const {
        return nand.address(key).block / o.geometry.planes;
    }
    static void expect(uint16_t status) {
        if (status != harness::kOk) {
            throw std::runtime_error("a command ended with status " + std::to_string(status));
        }
    }
};

void amplification(const Options &o) {
    Load load(o);
    load.fill();
    load.commands(o.settle, 0, o.depth);
    const Medium &m = load.medium;
    uint64_t data = m.data, metadata = m.metadata;
    load.commands(o.measure, 0, o.depth);
    auto written = static_cast<double>(static_cast<uint64_t>(o.measure * load.span));
    uint32_t each = load.units() * o.geometry.pages * (o.geometry.pageBytes / kBlockBytes);
    printf("{\"blocks\": %u, \"superblock_sectors\": %u, \"closed_sectors\": %llu, \"data\": %.5f, \"metadata\": %.5f, "
           "%s}\n",
           load.span, each, static_cast<unsigned long long>(m.closed(each)),
           static_cast<double>(m.data - data) / written, static_cast<double>(m.metadata - metadata) / written,
           m.erases(load.units()).c_str());
}

/** Latencies in cycles at the shares of commands that the percentiles and a plot of them need. */
std::string latencies(std::vector<uint64_t> &all) {
    std::sort(all.begin(), all.end());
    std::string text = "[";
    for (double share : {0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999,
                         0.99995, 1.0}) {
        auto at = static_cast<size_t>(share * static_cast<double>(all.size()));
        char row[64];
        snprintf(row, sizeof row, "%s[%.5f, %llu]", text.size() > 1 ? ", " : "", share,
                 static_cast<unsigned long long>(all.empty() ? 0 : all[std::min(at, all.size() - 1)]));
        text += row;
    }
    return text + "]";
}

void latency(const Options &o) {
    Load load(o);
    load.fill();
    load.commands(o.settle, 0, kDepth);
    uint64_t data = load.medium.data;
    std::vector<uint64_t> reads, writes;
    uint64_t begin = load.d.dev.now;
    load.commands(o.measure, o.reads, o.depth,
                  [&](bool read, uint64_t cycles) { (read ? reads : writes).push_back(cycles); });
    uint64_t cycles = load.d.dev.now - begin;
    auto written = static_cast<double>(writes.size());
    size_t n = reads.size();
    std::string ofReads = latencies(reads), ofWrites = latencies(writes);
    printf("{\"blocks\": %u, \"reads\": %zu, \"writes\": %.0f, \"cycles\": %llu, \"data\": %.5f, \"read\": %s, "
           "\"write\": %s}\n",
           load.span, n, written, static_cast<unsigned long long>(cycles),
           written > 0 ? static_cast<double>(load.medium.data - data) / written : 0, ofReads.c_str(), ofWrites.c_str());
}

/** What the simulated processor has spent. */
class Spent {
  public:
    explicit Spent(Drive &d)
        : reset(function<fw_cycles_reset_fn>(d, "fw_cycles_reset")),
          total(function<fw_cycles_total_fn>(d, "fw_cycles_total")),
          functions(function<fw_cycles_functions_fn>(d, "fw_cycles_functions")),
          instructions(function<fw_cycles_instructions_fn>(d, "fw_cycles_instructions")) {
    }

    fw_cycles_reset_fn *reset;

    /** Prints it by function, everything divided by `by`. The drive has taken `drive` cycles. */
    void print(double by, uint64_t drive) const {
        fw_cycles all = total();
        printf("{\"cycles\": %.1f, \"instructions\": %.1f, \"register_loads\": %.2f, \"register_stores\": %.2f, "
               "\"dram_loads\": %.2f, \"dram_stores\": %.2f, \"drive_cycles\": %.1f, \"functions\": [",
               static_cast<double>(all.cycles) / by, static_cast<double>(all.instructions) / by,
               static_cast<double>(all.registerLoads) / by, static_cast<double>(all.registerStores) / by,
               static_cast<double>(all.dramLoads) / by, static_cast<double>(all.dramStores) / by,
               static_cast<double>(drive) / by);
        struct Rows {
            double by;
            bool any = false;
        } rows{by};
        functions(
            [](void *arg, const char *name, uint64_t cycles, uint64_t calls) {
                auto &r = *static_cast<Rows *>(arg);
                printf("%s[\"%s\", %.2f, %.3f]", r.any ? ", " : "", name, static_cast<double>(cycles) / r.by,
                       static_cast<double>(calls) / r.by);
                r.any = true;
            },
            &rows);
        printf("]}\n");
    }

    /** Writes the cycles that each instruction took to the file `path`. An empty `path` means that nothing is written.
     */
    void profile(const std::string &path) const {
        if (path.empty()) {
            return;
        }
        FILE *out = fopen(path.c_str(), "w");
        if (out == nullptr) {
            throw BadInput("--profile " + path + ": cannot be written");
        }
        instructions(
            [](void *to, uint32_t pc, uint64_t cycles, uint64_t runs) {
                fprintf(static_cast<FILE *>(to), "%05x %llu %llu\n", pc, static_cast<unsigned long long>(cycles),
                        static_cast<unsigned long long>(runs));
            },
            out);
        fclose(out);
    }

  private:
    fw_cycles_total_fn *total;
    fw_cycles_functions_fn *functions;
    fw_cycles_instructions_fn *instructions;

    template <typename F> static F *function(Drive &d, const char *name) {
        auto *f = reinterpret_cast<F *>(d.symbol(name));
        if (f == nullptr) {
            throw BadInput("ASSASIN_FW_SO has to name assasin-fw-cycles.so");
        }
        return f;
    }
};

/** What writes and reads of blocks in a row cost the firmware's processor, by function. */
void cycles(const Options &o) {
    Load load(o);
    Spent spent(load.d);
    if (o.blocks > 32 || o.count > load.span || o.count % o.blocks != 0) {
        throw BadInput("cycles: commands have up to 32 blocks, and together at most those of the drive");
    }
    /* The first time opens superblocks and makes pages of the map. */
    load.row(false);
    bool reads = o.reads > 0;
    uint64_t begin = load.d.dev.now;
    spent.reset();
    load.row(reads);
    spent.profile(o.profile);
    spent.print(o.count, load.d.dev.now - begin);
}

/**
 * What a mount costs the firmware's processor, by function: of a drive of `o.maps` pages of the map, behind a loss of
 * power with `o.count` random writes to these since the last checkpoint; 0: behind a shutdown.
 */
void mount(const Options &o) {
    constexpr uint32_t kEntries = 1024;
    model::Nand nand(o.geometry);
    auto start = [&] {
        auto d = std::make_unique<Drive>(nand, 1, o.seed, 0, std::vector<model::Slot>{}, o.times, model::Faults{},
                                         UINT64_MAX, harness::Loaded{0, o.parity});
        /* Everything takes exactly its time. */
        d->dev.regular = true;
        return d;
    };
    auto write = [&](Drive &d, uint32_t count, const std::function<uint32_t(uint32_t)> &place) {
        std::vector<uint16_t> flying;
        Buffer source = d.buffer(kBlockBytes);
        for (uint32_t n = 0; n < count || !flying.empty();) {
            for (; n < count && flying.size() < o.depth; n++) {
                Sqe s = Drive::sqe(0x01, 1);
                Drive::setPrp(s, source);
                s[10] = place(n);
                flying.push_back(d.submit(1, s));
            }
            d.run([&] { return d.completed() > 0; });
            std::erase_if(flying, [&](uint16_t cid) { return d.take(1, cid).has_value(); });
        }
    };
    {
        auto d = start();
        d->start(1);
        if (o.maps == 0 || o.maps > d->capacity() / kEntries) {
            throw BadInput("mount: the drive has up to " + std::to_string(d->capacity() / kEntries) + " map pages");
        }
        write(*d, o.maps, [&](uint32_t n) { return n * kEntries; });
        d->shutdown();
    }
    if (o.count > 0) {
        std::mt19937 rng(o.seed);
        auto d = start();
        d->start(1);
        write(*d, o.count,
              [&](uint32_t n) { return o.random ? static_cast<uint32_t>(rng() % (o.maps * kEntries)) : n; });
        d->dev.tearAs = model::Tear::Half;
        d->dev.cutAt = d->dev.now;
        try {
            d->settle();
        } catch (const model::PowerCut &) {
            d->dev.tearInFlight();
        }
    }
    auto d = start();
    Spent spent(*d);
    spent.profile(o.profile);
    fputs(d->dev.console.c_str(), stderr);
    spent.print(1, d->dev.now);
}

std::vector<double> numbers(const std::string &name, const std::string &text, char between, size_t count) {
    std::vector<double> all;
    size_t at = 0;
    while (at <= text.size()) {
        size_t end = std::min(text.find(between, at), text.size());
        std::string word = text.substr(at, end - at);
        char *rest = nullptr;
        double v = strtod(word.c_str(), &rest);
        if (word.empty() || *rest != 0 || !(v >= 0 && v < 4e9)) {
            throw BadInput(name + " " + text + ": '" + word + "' is not a number from 0 to 4,000,000,000");
        }
        all.push_back(v);
        at = end + 1;
    }
    if (all.size() != count) {
        throw BadInput(name + " " + text + ": takes " + std::to_string(count) + " numbers with '" + between +
                       "' between");
    }
    return all;
}

double share(const std::string &name, double v) {
    if (v > 1) {
        throw BadInput(name + " " + std::to_string(v) + ": a share is at most 1");
    }
    return v;
}

Options parse(int argc, char **argv) {
    Options o;
    for (int i = 2; i < argc; i++) {
        std::string name = argv[i];
        if (i + 1 >= argc) {
            throw BadInput(name + " takes a value");
        }
        std::string value = argv[++i];
        auto one = [&] { return numbers(name, value, ',', 1)[0]; };
        auto whole = [&](double v) { return static_cast<uint32_t>(v); };
        if (name == "--geometry") {
            /* channels, ways, LUNs, planes, blocks of a plane, pages */
            auto n = numbers(name, value, 'x', 6);
            for (double v : n) {
                if (v < 1) {
                    throw BadInput(name + " " + value + ": each is at least 1");
                }
            }
            o.geometry.channels = whole(n[0]), o.geometry.ways = whole(n[1]), o.geometry.luns = whole(n[2]);
            o.geometry.planes = whole(n[3]), o.geometry.blocks = whole(n[4]), o.geometry.pages = whole(n[5]);
        } else if (name == "--times") {
            /* read, program, erase, bus, cycles */
            auto n = numbers(name, value, ',', 4);
            o.times = {whole(n[0]), whole(n[1]), whole(n[2]), whole(n[3])};
        } else if (name == "--span") {
            o.span = share(name, one());
        } else if (name == "--hot") {
            auto n = numbers(name, value, ',', 2);
            o.hotWrites = share(name, n[0]), o.hotSpan = share(name, n[1]);
        } else if (name == "--settle") {
            o.settle = one();
        } else if (name == "--measure") {
            o.measure = one();
        } else if (name == "--reads") {
            o.reads = share(name, one());
        } else if (name == "--depth") {
            o.depth = std::clamp(whole(one()), 1u, 60u);
        } else if (name == "--blocks") {
            o.blocks = std::max(whole(one()), 1u);
        } else if (name == "--count") {
            o.count = whole(one());
        } else if (name == "--random") {
            o.random = one() != 0;
        } else if (name == "--maps") {
            o.maps = whole(one());
        } else if (name == "--profile") {
            o.profile = value;
        } else if (name == "--parity") {
            o.parity = one() != 0 ? IDENTITY_FLAG_PARITY_ON : IDENTITY_FLAG_PARITY_OFF;
        } else if (name == "--seed") {
            o.seed = whole(one());
        } else {
            throw BadInput("unknown option " + name);
        }
    }
    return o;
}

} // namespace

int main(int argc, char **argv) {
    try {
        std::string what = argc > 1 ? argv[1] : "";
        if (what == "amplification") {
            amplification(parse(argc, argv));
        } else if (what == "latency") {
            latency(parse(argc, argv));
        } else if (what == "cycles") {
            cycles(parse(argc, argv));
        } else if (what == "mount") {
            mount(parse(argc, argv));
        } else {
            throw BadInput("usage: assasin-ftl-bench amplification|latency|cycles|mount [--OPTION VALUE]...");
        }
        return 0;
    } catch (const std::exception &e) {
        fprintf(stderr, "assasin-ftl-bench: %s\n", e.what());
        return 2;
    }
}
