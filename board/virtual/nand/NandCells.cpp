// SPDX-License-Identifier: BSD-3-Clause
#include "NandCells.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace assasin {

namespace {

/** splitmix64: a hash in which every bit of the input changes every bit of the output. */
uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

double toUnit(uint64_t hash) {
    return static_cast<double>(hash >> 11) * 0x1p-53;
}

/** Normal distribution, from two hashes. */
double toNormal(uint64_t one, uint64_t two) {
    return std::sqrt(-2 * std::log(toUnit(one) + 0x1p-54)) * std::cos(6.283185307179586 * toUnit(two));
}

/**
 * Number of events where `mean` are expected. Of one `hash` it never falls while the mean rises, so that a cell that is
 * in error stays so when the rate grows.
 */
uint64_t poisson(double mean, uint64_t hash) {
    if (mean <= 0)
        return 0;
    if (mean > 60) {
        const double count = mean + std::sqrt(mean) * toNormal(hash, mix(hash));
        return count > 0 ? static_cast<uint64_t>(count + 0.5) : 0;
    }
    double term = std::exp(-mean), below = term;
    const double u = toUnit(hash);
    uint64_t count = 0;
    while (u > below && count < 500) {
        count++;
        term *= mean / static_cast<double>(count);
        below += term;
    }
    return count;
}

/** A word in which each bit is 1 with probability `sixteenths` / 16. */
uint64_t dense(std::mt19937_64 &random, unsigned sixteenths) {
    if (sixteenths >= 16)
        return ~uint64_t(0);
    uint64_t word = 0;
    for (unsigned bit = 0; bit < 4; bit++)
        word = sixteenths >> bit & 1 ? word | random() : word & random();
    return word;
}

/** Sets the bits of raw[from, to) with that density. */
void lift(std::mt19937_64 &random, uint8_t *raw, unsigned from, unsigned to, unsigned sixteenths) {
    for (unsigned i = from; i < to; i += 8) {
        const uint64_t word = dense(random, sixteenths);
        for (unsigned k = 0; k < 8 && i + k < to; k++)
            raw[i + k] |= static_cast<uint8_t>(word >> 8 * k);
    }
}

const char *nameOf(NandCut how) {
    static const char *const kNames[] = {"not begun",    "done",      "weak",
                                         "nearly blank", "half done", "done in some columns"};
    return kNames[static_cast<unsigned>(how)];
}

constexpr double kMostErrors = 0.45;
constexpr double kDisturbReads = 100000, kRetentionHours = 1000;
constexpr double kWeakReads = 1000, kWeakHours = 24;

} // namespace

NandCells::NandCells(NandImage &image, const PartFile &part, NandFaults &faults)
    : image_(image), geometry_(part.geometry), reliability_(part.reliability), faults_(faults),
      random_(mix(part.reliability.seed)) {
    cutAll();
}

std::string NandCells::text(const NandAddress &at) const {
    return "channel " + std::to_string(at.channel) + " way " + std::to_string(at.way) + " LUN " +
           std::to_string(at.lun) + " block " + std::to_string(at.block);
}

uint64_t NandCells::fixed(const NandAddress &at, uint64_t what) const {
    const uint64_t place =
        (uint64_t(at.channel) << 8 | at.way << 4 | at.lun) << 40 | uint64_t(at.block) << 16 | at.page;
    return mix(mix(image_.medium().seed ^ what) ^ place);
}

double NandCells::uniform() {
    return toUnit(random_());
}

bool NandCells::happens(double probability) {
    return probability > 0 && uniform() < probability;
}

// ---------------------------------------------------------------- state of a block

double NandCells::wearOf(const NandImage::Block &block) const {
    return (block.eraseCount + reliability_.wear) / reliability_.endurance;
}

namespace {

/** What grows with wear is a tenth of its figure on a fresh block and all of it at the part's endurance. */
double share(double wear) {
    return 0.1 + 0.9 * wear * wear;
}

} // namespace

bool NandCells::factoryBad(const NandAddress &at) const {
    const double bad = image_.medium().factoryBad;
    // Of every part the first block of a target is guaranteed.
    const bool first = at.lun == 0 && at.block == 0;
    return bad > 0 && !first && toUnit(fixed({at.channel, at.way, at.lun, at.block, 0}, 1)) < bad;
}

bool NandCells::wornOut(const NandAddress &at, const NandImage::Block &block) const {
    if (block.flags & NandImage::kWornOut)
        return true;
    const double life = reliability_.life * (1 + toUnit(fixed({at.channel, at.way, at.lun, at.block, 0}, 2)));
    return reliability_.life > 0 && block.eraseCount + reliability_.wear >= life;
}

unsigned NandCells::bestLevel(const NandAddress &at) const {
    if (reliability_.retryLevels < 2)
        return 0;
    return 1 +
           static_cast<unsigned>(fixed({at.channel, at.way, at.lun, at.block, 0}, 3) % (reliability_.retryLevels - 1));
}

double NandCells::errorRate(const NandAddress &at, unsigned retryLevel) const {
    const Reliability &r = reliability_;
    const NandImage::Block &block = image_.block(blockOf(at));
    const NandImage::Page page = image_.page(blockOf(at), at.page);
    const double wear = wearOf(block);
    double rate = r.rber + r.wearRber * wear * wear;
    if (page.state == NandImage::kErased) {
        rate = (rate + r.disturbRber * share(wear) * block.reads / kDisturbReads) * r.erasedShare;
        return std::min(rate, kMostErrors);
    }
    const double reads = block.reads - page.reads, hours = image_.medium().hours - page.hours;
    rate += share(wear) * (r.disturbRber * reads / kDisturbReads + r.retentionRber * hours / kRetentionHours);
    if (page.state == NandImage::kWeak) {
        const double gone = std::min(1.0, reads / kWeakReads + hours / kWeakHours);
        rate += r.weakRber * gone * gone * gone;
    }
    if (rate == 0)
        return 0;
    if (r.pageSpread > 0)
        rate *= std::exp(r.pageSpread * toNormal(fixed(at, 4), fixed(at, 5)));
    if (retryLevel != 0 && r.retryLevels > 1) {
        const unsigned best = bestLevel(at);
        const unsigned distance = retryLevel > best ? retryLevel - best : best - retryLevel;
        rate *= distance == 0 ? r.retryGain : distance == 1 ? (1 + r.retryGain) / 2 : 1.5;
    }
    return std::min(rate, kMostErrors);
}

// ---------------------------------------------------------------- reads

uint64_t NandCells::flip(uint8_t *raw, uint64_t count, uint64_t sequence) {
    const uint64_t bits = 8 * uint64_t(geometry_.rawPageBytes());
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t bit = mix(sequence + i) % bits;
        raw[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    }
    return count;
}

uint64_t NandCells::read(const NandAddress &at, uint8_t *raw, unsigned retryLevel) {
    const unsigned bytes = geometry_.rawPageBytes();
    const std::optional<DeadDie> death = dead(at.channel, at.way, at.lun);
    image_.die(at.channel, at.way, at.lun).operations++;
    if (death) {
        std::memset(raw, 0xFF, bytes);
        if (*death == DeadDie::Fail)
            for (unsigned i = 0; i < bytes; i++)
                raw[i] = static_cast<uint8_t>(random_());
        return 8 * uint64_t(bytes);
    }
    const NandImage::BlockId id = blockOf(at);
    image_.read(id, at.page, raw);
    if (factoryBad(at)) {
        if (at.page == 0 || at.page == geometry_.pagesPerBlock - 1)
            raw[0] = raw[geometry_.pageBytes] = 0;
        return 0;
    }
    uint64_t errors = 0;
    const double rate = errorRate(at, retryLevel);
    if (rate > 0) {
        // Positions follow from the place and from how often the block was erased: a re-read meets the same weak cells.
        const uint64_t cells = mix(fixed(at, 6) ^ image_.eraseCount(id));
        // Some positions come twice, which undoes the error: so many more are drawn.
        const double expected = -4.0 * bytes * std::log1p(-2 * rate);
        errors = flip(raw, poisson(expected * (1 - reliability_.randomShare), mix(cells)), cells);
        errors += flip(raw, poisson(expected * reliability_.randomShare, random_()), random_());
        damage_.bitErrors += errors;
    }
    NandImage::Block &block = image_.block(id);
    if (block.nextPage)
        block.reads++;
    faults_.onRead(at, raw, bytes);
    return errors;
}

// ---------------------------------------------------------------- programs and erases

NandCells::Obstacle NandCells::obstacle(const NandAddress &at) const {
    const NandImage::BlockId id = blockOf(at);
    const NandImage::Block &block = image_.block(id);
    if (at.page >= block.nextPage)
        return Obstacle::None;
    if (block.flags & NandImage::kHalfErased)
        return Obstacle::Damaged;
    const uint32_t state = image_.page(id, at.page).state;
    for (unsigned page = at.page; page < block.nextPage; page++)
        if (image_.page(id, page).state != NandImage::kTorn)
            return state == NandImage::kErased ? Obstacle::Order : Obstacle::Programmed;
    return Obstacle::Damaged;
}

void NandCells::journal(const NandAddress &at, uint32_t kind) {
    NandImage::Die &die = image_.die(at.channel, at.way, at.lun);
    if ((die.rows != 0 && die.kind != kind) || die.rows == NandImage::kMaxPlanes)
        throw std::logic_error("NandCells: " + text(at) + ": the die is working on something else");
    die.kind = kind;
    die.row[die.rows] = at.block * geometry_.pagesPerBlock + at.page;
    die.rows++;
}

void NandCells::journalDone(const NandAddress &at) {
    NandImage::Die &die = image_.die(at.channel, at.way, at.lun);
    uint32_t *const end = die.row + die.rows;
    uint32_t *const row = std::find(die.row, end, at.block * geometry_.pagesPerBlock + at.page);
    if (row == end)
        throw std::logic_error("NandCells: " + text(at) + ": an operation ends that has not begun");
    *row = end[-1];
    die.rows--;
    die.operations++;
}

void NandCells::beginProgram(const NandAddress &at, const uint8_t *raw) {
    const NandImage::BlockId id = blockOf(at);
    if (at.page < image_.nextPage(id)) {
        // On cells that hold charge already; only a page that is damaged gets here.
        std::vector<uint8_t> both(geometry_.rawPageBytes());
        image_.read(id, at.page, both.data());
        for (unsigned i = 0; i < both.size(); i++)
            both[i] &= raw[i];
        image_.rewrite(id, at.page, both.data());
        image_.pageState(id, at.page) = {NandImage::kTorn, image_.block(id).reads, hours()};
    } else {
        image_.prepare(id, at.page, raw);
    }
    journal(at, NandImage::Die::kProgram);
}

bool NandCells::endProgram(const NandAddress &at) {
    const NandImage::BlockId id = blockOf(at);
    const NandImage::Block &block = image_.block(id);
    const bool dies = dead(at.channel, at.way, at.lun).has_value(), bad = factoryBad(at);
    const bool damaged = at.page < block.nextPage;
    const bool fails = dies || bad || wornOut(at, block) || happens(reliability_.programFail * share(wearOf(block))) ||
                       (damaged && happens(0.5)) || faults_.programFails(at);
    if (fails)
        damage_.programFailures++;
    if (damaged) {
        if (!fails)
            image_.pageState(id, at.page).state = NandImage::kWeak;
    } else if (!fails) {
        settle(at, block.flags & (NandImage::kHalfErased | NandImage::kWeaklyErased) ? NandCut::Weak : NandCut::Done);
    } else if (!dies && !bad && reliability_.tearing) {
        static const NandCut kKinds[] = {NandCut::Blank, NandCut::Half, NandCut::Columns};
        settle(at, kKinds[random_() % 3]);
    }
    journalDone(at);
    return !fails;
}

void NandCells::settle(const NandAddress &at, NandCut how) {
    if (how == NandCut::NotBegun)
        return;
    const NandImage::BlockId id = blockOf(at);
    if (how == NandCut::Done || how == NandCut::Weak) {
        if (how == NandCut::Weak) {
            const int lower = reliability_.lowerPage(at.page, geometry_.pagesPerBlock);
            if (lower >= 0 && image_.page(id, static_cast<unsigned>(lower)).state == NandImage::kProgrammed)
                image_.pageState(id, static_cast<unsigned>(lower)).state = NandImage::kWeak;
            image_.pageState(id, at.page).state = NandImage::kWeak;
        }
        image_.commit(id, at.page);
        return;
    }
    std::vector<uint8_t> raw(geometry_.rawPageBytes());
    image_.prepared(id, at.page, raw.data());
    const unsigned bytes = static_cast<unsigned>(raw.size());
    if (how == NandCut::Half) {
        lift(random_, raw.data(), 0, bytes, 1 + static_cast<unsigned>(random_() % 14));
    } else if (how == NandCut::Columns) {
        bool whole = random_() % 2;
        for (unsigned from = 0; from < bytes; whole = !whole) {
            const unsigned to = std::min(bytes, from + 64 * (1 + static_cast<unsigned>(random_() % 64)));
            if (!whole)
                lift(random_, raw.data(), from, to, random_() % 2 ? 16 : 8);
            from = to;
        }
    } else {
        std::vector<uint8_t> sent(bytes, 0xFF);
        sent.swap(raw);
        for (unsigned left = static_cast<unsigned>(random_() % 40); left > 0; left--) {
            const unsigned byte = static_cast<unsigned>(random_() % bytes);
            raw[byte] &= static_cast<uint8_t>(sent[byte] | ~(1u << random_() % 8));
        }
    }
    image_.prepare(id, at.page, raw.data());
    image_.pageState(id, at.page).state = NandImage::kTorn;
    image_.commit(id, at.page);
    spoilLower(at);
}

void NandCells::spoilLower(const NandAddress &at) {
    const NandImage::BlockId id = blockOf(at);
    const int lower = reliability_.lowerPage(at.page, geometry_.pagesPerBlock);
    if (lower < 0 || image_.page(id, static_cast<unsigned>(lower)).state == NandImage::kErased)
        return;
    std::vector<uint8_t> raw(geometry_.rawPageBytes());
    image_.read(id, static_cast<unsigned>(lower), raw.data());
    const uint64_t errors = raw.size() * 8 / (4 + random_() % 28);
    flip(raw.data(), errors, random_());
    image_.rewrite(id, static_cast<unsigned>(lower), raw.data());
}

void NandCells::beginErase(const NandAddress &at) {
    journal({at.channel, at.way, at.lun, at.block, 0}, NandImage::Die::kErase);
}

bool NandCells::endErase(const NandAddress &where) {
    const NandAddress at{where.channel, where.way, where.lun, where.block, 0};
    NandImage::Block &block = image_.block(blockOf(at));
    const bool dies = dead(at.channel, at.way, at.lun).has_value(), bad = factoryBad(at);
    bool fails = dies || bad || wornOut(at, block);
    if (!fails && happens(reliability_.eraseFail * share(wearOf(block)))) {
        fails = true;
        // Some recover, some never do.
        if (happens(0.5))
            block.flags |= NandImage::kWornOut;
    }
    fails = fails || faults_.eraseFails(at);
    if (fails)
        damage_.eraseFailures++;
    if (!fails)
        settleErase(at, NandCut::Done);
    else if (!dies && !bad && reliability_.tearing && happens(0.5))
        settleErase(at, NandCut::Half);
    journalDone(at);
    return !fails;
}

void NandCells::settleErase(const NandAddress &at, NandCut how) {
    const NandImage::BlockId id = blockOf(at);
    NandImage::Block &block = image_.block(id);
    if (how == NandCut::NotBegun)
        return;
    if (how == NandCut::Done || how == NandCut::Weak || block.nextPage == 0) {
        image_.erase(id);
        if (how != NandCut::Done)
            block.flags |= NandImage::kWeaklyErased;
        return;
    }
    std::vector<uint8_t> raw(geometry_.rawPageBytes());
    for (unsigned page = 0; page < block.nextPage; page++) {
        image_.read(id, page, raw.data());
        lift(random_, raw.data(), 0, static_cast<unsigned>(raw.size()), static_cast<unsigned>(random_() % 17));
        image_.rewrite(id, page, raw.data());
    }
    block.flags |= NandImage::kHalfErased;
}

void NandCells::cut(unsigned channel, unsigned way, unsigned lun) {
    NandImage::Die &die = image_.die(channel, way, lun);
    if (die.rows == 0)
        return;
    static const NandCut kKinds[] = {NandCut::NotBegun, NandCut::Done, NandCut::Weak,
                                     NandCut::Blank,    NandCut::Half, NandCut::Columns};
    const bool alive = !dead(channel, way, lun);
    while (die.rows > 0) {
        const uint32_t row = die.row[die.rows - 1];
        const NandAddress at{channel, way, lun, row / geometry_.pagesPerBlock, row % geometry_.pagesPerBlock};
        const bool program = die.kind == NandImage::Die::kProgram;
        // The outcome follows from the seed and the die's history, not from what the host has read.
        random_.seed(mix(fixed(at, 7) ^ mix(die.operations ^ reliability_.seed)));
        NandCut how = cutAs.value_or(kKinds[random_() % 6]);
        if (!reliability_.tearing || !alive || factoryBad(at) || wornOut(at, image_.block(blockOf(at))))
            how = NandCut::NotBegun;
        // A program of a damaged page has changed it already.
        if (program && at.page >= image_.nextPage(blockOf(at)))
            settle(at, how);
        else if (!program)
            settleErase(at, how);
        damage_.cut++;
        cuts.push_back(text(at) + (program ? " page " + std::to_string(at.page) + ": program " : ": erase ") +
                       nameOf(how));
        die.rows--;
        die.operations++;
    }
}

void NandCells::cutAll() {
    for (unsigned channel = 0; channel < image_.channels(); channel++)
        for (unsigned way = 0; way < image_.ways(); way++)
            for (unsigned lun = 0; lun < geometry_.luns; lun++)
                cut(channel, way, lun);
}

} // namespace assasin
