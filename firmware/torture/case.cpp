// SPDX-License-Identifier: BSD-3-Clause
#include "torture/case.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace torture {

namespace {

constexpr std::array kKinds = {"read",    "write",  "trim",  "zeroes", "flush",
                               "offload", "format", "reset", "wait",   "idle"};
constexpr std::array kEnds = {"idle", "off"};

using Item = std::pair<const char *, uint32_t Part::*>;
constexpr Item kPart[] = {
    {"channels", &Part::channels}, {"ways", &Part::ways},       {"luns", &Part::luns},      {"planes", &Part::planes},
    {"blocks", &Part::blocks},     {"pages", &Part::pages},     {"page", &Part::pageBytes}, {"spare", &Part::spare},
    {"read", &Part::read},         {"program", &Part::program}, {"erase", &Part::erase},    {"bus", &Part::bus},
    {"parity", &Part::parity},
};

/** A number in [low, high]. */
uint32_t between(std::mt19937_64 &rng, uint32_t low, uint32_t high) {
    return low + static_cast<uint32_t>(rng() % (high - low + 1));
}

bool oneIn(std::mt19937_64 &rng, uint32_t n) {
    return rng() % n == 0;
}

template <class T, size_t N> T pick(std::mt19937_64 &rng, const T (&of)[N]) {
    return of[rng() % N];
}

} // namespace

std::string Case::text() const {
    std::ostringstream s;
    s << "seed " << seed << "\npart";
    for (const auto &[name, field] : kPart) {
        s << ' ' << name << '=' << part.*field;
    }
    s << "\nmedia " << media << '\n' << (room ? "rules room\n" : "");
    for (const Life &life : lives) {
        s << "life seed=" << life.seed << " depth=" << life.depth << " hours=" << life.hours
          << (life.dead > 0 ? " dead=" + std::to_string(life.dead) : "") << " end=" << kEnds[life.end];
        if (life.cut != UINT64_MAX) {
            s << " cut=" << life.cut;
        }
        s << '\n';
        for (const Command &c : life.commands) {
            s << "  " << kKinds[c.kind];
            if (c.kind <= Command::Zeroes || c.kind == Command::Offload) {
                s << ' ' << c.lba << ' ' << c.blocks << (c.fua ? " fua" : "");
            } else if (c.kind == Command::Format || c.kind == Command::Idle) {
                s << ' ' << c.blocks;
            }
            s << '\n';
        }
    }
    return s.str();
}

Case Case::parse(const std::string &text) {
    Case c;
    std::istringstream lines(text);
    std::string line;
    unsigned at = 0;
    while (std::getline(lines, line)) {
        at++;
        auto refuse = [&](const std::string &why) -> BadInput {
            return BadInput("line " + std::to_string(at) + " (" + line + "): " + why);
        };
        auto number = [&](const std::string &word) -> uint64_t {
            if (word.empty() || word.size() > 20 || word.find_first_not_of("0123456789") != std::string::npos) {
                throw refuse("'" + word + "' is no number");
            }
            return std::stoull(word);
        };
        std::istringstream words(line);
        std::vector<std::string> w{std::istream_iterator<std::string>(words), {}};
        if (w.empty() || w[0][0] == '#') {
            continue;
        }
        auto settings = [&](auto set) {
            for (size_t i = 1; i < w.size(); i++) {
                size_t equals = w[i].find('=');
                if (equals == std::string::npos || !set(w[i].substr(0, equals), w[i].substr(equals + 1))) {
                    throw refuse("'" + w[i] + "' is no setting of a " + w[0]);
                }
            }
        };
        if (w[0] == "seed" && w.size() == 2) {
            c.seed = number(w[1]);
        } else if (w[0] == "part") {
            settings([&](const std::string &name, const std::string &value) {
                for (const auto &[item, field] : kPart) {
                    if (name == item) {
                        c.part.*field = static_cast<uint32_t>(number(value));
                        return true;
                    }
                }
                return false;
            });
        } else if (w[0] == "media" && w.size() <= 2) {
            c.media = w.size() == 2 ? w[1] : "";
        } else if (line == "rules room") {
            c.room = true;
        } else if (w[0] == "life") {
            Life life;
            settings([&](const std::string &name, const std::string &value) {
                if (name == "end") {
                    auto end = std::find(kEnds.begin(), kEnds.end(), value);
                    life.end = static_cast<Life::End>(end - kEnds.begin());
                    return end != kEnds.end();
                }
                uint64_t v = number(value);
                if (name == "cut") {
                    life.cut = v;
                } else if (name == "seed") {
                    life.seed = static_cast<uint32_t>(v);
                } else if (name == "depth" && v > 0 && v <= 64) {
                    life.depth = static_cast<uint32_t>(v);
                } else if (name == "hours") {
                    life.hours = static_cast<uint32_t>(v);
                } else if (name == "dead") {
                    life.dead = static_cast<uint32_t>(v);
                } else {
                    return false;
                }
                return true;
            });
            c.lives.push_back(life);
        } else if (auto kind = std::find(kKinds.begin(), kKinds.end(), w[0]);
                   kind != kKinds.end() && !c.lives.empty()) {
            Command k;
            k.kind = static_cast<Command::Kind>(kind - kKinds.begin());
            size_t numbers = k.kind <= Command::Zeroes || k.kind == Command::Offload ? 2
                             : k.kind == Command::Format || k.kind == Command::Idle  ? 1
                                                                                     : 0;
            k.fua = w.size() == numbers + 2 && w.back() == "fua";
            if (w.size() != numbers + 1 + (k.fua ? 1 : 0)) {
                throw refuse("takes " + std::to_string(numbers) + " numbers");
            }
            if (numbers == 2) {
                k.lba = static_cast<uint32_t>(number(w[1]));
            }
            if (numbers > 0) {
                k.blocks = static_cast<uint32_t>(number(w[numbers]));
            }
            if (numbers == 2 && (k.blocks == 0 || k.blocks > 64 || k.lba > 65536)) {
                throw refuse("1 to 64 blocks from block 65536 at most");
            }
            c.lives.back().commands.push_back(k);
        } else {
            throw refuse("a line is a seed, a part, media, rules, a life or, behind a life, one of its commands");
        }
    }
    if (c.lives.empty()) {
        throw BadInput("no life in it");
    }
    return c;
}

Case Case::load(const std::string &path) {
    std::ifstream file(path);
    std::stringstream text;
    if (!file || !(text << file.rdbuf())) {
        throw BadInput(path + ": cannot be read");
    }
    try {
        return parse(text.str());
    } catch (const BadInput &e) {
        throw BadInput(path + ": " + e.what());
    }
}

void Case::save(const std::string &path) const {
    std::ofstream file(path);
    file << "# SPDX-License-Identifier: BSD-3-Clause\n" << text();
    if (!file.flush()) {
        throw BadInput(path + ": cannot be written");
    }
}

uint64_t Case::commands() const {
    uint64_t n = 0;
    for (const Life &life : lives) {
        n += life.commands.size();
    }
    return n;
}

uint64_t sectorsOf(const Part &p) {
    return uint64_t{p.channels} * p.ways * p.luns * p.planes * p.blocks * p.pages * (p.pageBytes / 4096);
}

Life fillingLife(const Case &c, std::mt19937_64 &rng) {
    Life life;
    life.seed = static_cast<uint32_t>(rng());
    life.depth = 8;
    /* What is beyond the capacity is left out when it runs. */
    for (uint32_t lba = 0; lba < sectorsOf(c.part); lba += 32) {
        life.commands.push_back({Command::Write, lba, 32, false});
    }
    life.end = pick(rng, {Life::Idle, Life::Off});
    return life;
}

uint32_t Case::end() const {
    uint32_t n = 0;
    for (const Life &life : lives) {
        for (const Command &k : life.commands) {
            n = std::max(n, k.lba + k.blocks);
        }
    }
    return n;
}

Command randomCommand(const Shape &shape, std::mt19937_64 &rng) {
    Command k;
    k.blocks = oneIn(rng, 6) ? between(rng, 1, 32) : oneIn(rng, 3) ? shape.sectors : between(rng, 1, 4);
    k.blocks = std::min(k.blocks, shape.blocks);
    k.lba = between(rng, 0, shape.blocks - k.blocks);
    k.fua = oneIn(rng, 8);
    uint32_t roll = between(rng, 0, 99);
    if (roll < shape.writes) {
        k.kind = Command::Write;
        return k;
    }
    if (roll < shape.writes + shape.flushes) {
        return {Command::Flush, 0, 0, false};
    }
    if (roll < 97) {
        k.kind = pick(rng, {Command::Read, Command::Trim, Command::Zeroes});
        k.fua = k.fua && k.kind == Command::Zeroes;
        return k;
    }
    if (shape.formats && oneIn(rng, 4)) {
        return {Command::Format, 0, oneIn(rng, 2) ? 1u : 0u, false};
    }
    if (shape.resets && oneIn(rng, 2)) {
        return {Command::Reset, 0, 0, false};
    }
    if (shape.offloads) {
        uint32_t n = between(rng, 2, shape.offloadBlocks);
        return {Command::Offload, shape.offloadBase + between(rng, 0, shape.offloadBlocks - n), n, false};
    }
    if (oneIn(rng, 4)) {
        return {Command::Idle, 0, between(rng, 1, 400), false};
    }
    return {Command::Wait, 0, 0, false};
}

Life generateLife(const Case &c, std::mt19937_64 &rng, const Mix &mix, uint32_t commands) {
    Life life;
    life.seed = static_cast<uint32_t>(rng());
    life.depth = pick(rng, {1u, 2u, 4u, 8u, 16u, 32u});
    if (mix.age && oneIn(rng, 3)) {
        life.hours = between(rng, 1, 48);
    }
    Shape shape;
    /* Some lives keep to few blocks, so that superblocks become free. */
    auto all = static_cast<uint32_t>(sectorsOf(c.part));
    shape.blocks = c.full() ? pick(rng, {64u, all / 4, all}) : pick(rng, {8u, 24u, 64u, kHostBlocks});
    shape.writes = c.full() ? 90 : between(rng, 40, 90);
    shape.flushes = pick(rng, {0u, 2u, 10u});
    shape.formats = !c.full() && oneIn(rng, 6);
    shape.resets = oneIn(rng, 4);
    shape.offloads = mix.offloads && oneIn(rng, 3);
    shape.offloadBase = kOffloadBase;
    shape.offloadBlocks = kOffloadBlocks;
    shape.sectors = c.part.pageBytes / 4096;
    while (life.commands.size() < commands) {
        Command k = randomCommand(shape, rng);
        if (k.kind <= Command::Zeroes && k.lba + k.blocks > kHostBlocks) {
            /* Offloads have theirs to themselves. */
            k.lba = std::max(k.lba, kHostBlocks) + kOffloadBase + kOffloadBlocks - kHostBlocks;
        }
        life.commands.push_back(k);
    }
    life.end = pick(rng, {Life::Idle, Life::Idle, Life::Off});
    return life;
}

Case generate(uint64_t seed, const Mix &mix) {
    std::mt19937_64 rng(seed * 0x9e3779b97f4a7c15ull + 1);
    Case c;
    c.seed = seed;
    c.room = mix.room;
    Part &p = c.part;
    bool large = oneIn(rng, 4);
    p.channels = between(rng, 1, 2);
    p.ways = p.channels == 1 ? 2 : between(rng, 1, 2);
    p.luns = oneIn(rng, 4) ? 2 : 1;
    p.planes = oneIn(rng, 4) ? 2 : 1;
    p.pages = large ? pick(rng, {8u, 16u}) : pick(rng, {16u, 32u});
    p.blocks = between(rng, 14, 24);
    if (large) {
        p.pageBytes = 16384;
        p.spare = 2208;
    }
    /* Planes are programmed together where that takes longer than the data of the channel's other pages. */
    p.program = p.planes > 1 ? 20000 * p.pageBytes / 4096 : 3000;
    bool full = oneIn(rng, 3);
    if (full) {
        /* Small enough to be written over again and again. */
        p.pages = large ? 8 : 16;
        while (p.blocks > 14 && sectorsOf(p) > 1000) {
            p.blocks--;
        }
    }
    if (!full && oneIn(rng, 4)) {
        /* Superblocks that are long enough for summaries of the log. */
        p.pages = large ? 64 : 128;
        p.blocks = 14;
    }
    /* Room for what cases use, with its log. */
    while (sectorsOf(p) < (full ? 600 : 1800)) {
        p.blocks += 4;
    }
    c.media = "tearing=true,seed=" + std::to_string(between(rng, 1, 1000000));
    /* Drawn apart, so that all else of a seed stays as it is. */
    std::mt19937_64 own(seed * 0x9e3779b97f4a7c15ull + 2);
    if (mix.pairs || (mix.media && oneIn(own, 5))) {
        c.media += ",pairing=dist3";
        /* Their log takes more superblocks. */
        p.blocks += 4;
    }
    if (mix.media && oneIn(rng, 6)) {
        c.media += ",rber=" + std::string(large ? "5e-4" : "1e-4");
    }
    if (mix.media && (oneIn(rng, 5) || mix.faults)) {
        c.media += ",factory-bad=" + std::string(pick(rng, {"0.01", "0.05", "0.1"}));
    }
    if (mix.media && (oneIn(rng, 5) || mix.faults)) {
        c.media += ",program-fail=" + std::string(pick(rng, {"0.001", "0.005", "0.02"})) +
                   ",erase-fail=" + pick(rng, {"0.01", "0.05"}) + ",wear=" + std::to_string(between(rng, 0, 2000));
    }
    if (full) {
        c.lives.push_back(fillingLife(c, rng));
    }
    uint32_t lives = between(rng, 4, 10);
    for (uint32_t i = 0; i < lives; i++) {
        c.lives.push_back(generateLife(c, rng, mix, between(rng, 10, 120)));
    }
    uint32_t dies = p.channels * p.ways * p.luns;
    if (dies >= 3) {
        p.parity = oneIn(rng, 2) ? 1 : 0;
    }
    if (p.parity != 0 && mix.faults && mix.media && oneIn(rng, 2)) {
        /* A die dies, and nothing is lost. Nothing else fails, and the stripes before it have ended: parity makes
         * good for one page of each. */
        c.media = "tearing=true,seed=" + std::to_string(between(rng, 1, 1000000)) + (mix.pairs ? ",pairing=dist3" : "");
        c.lives.front().end = Life::Off;
        c.lives[1].dead = between(rng, 1, dies);
    }
    return c;
}

} // namespace torture
