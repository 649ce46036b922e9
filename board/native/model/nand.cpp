/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/nand.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

namespace model {

namespace {

uint32_t log2of(uint32_t v) {
    uint32_t n = 0;
    while ((1u << n) < v) {
        n++;
    }
    return n;
}

std::string text(const assasin::NandAddress &at) {
    char s[96];
    snprintf(s, sizeof s, "page %u of block %u, channel %u, way %u, LUN %u", at.page, at.block, at.channel, at.way,
             at.lun);
    return s;
}

assasin::PartFile partOf(const Geometry &g) {
    assasin::PartFile part;
    part.name = "MODEL";
    part.geometry = {g.luns, g.planes, g.blocks, g.pages, g.pageBytes, g.spare};
    part.reliability.tearing = true;
    part.reliability.factoryBad = g.factoryBad;
    part.reliability.seed = g.chance;
    return part;
}

} // namespace

Nand::Medium::Medium(const assasin::PartFile &p, uint32_t channels, uint32_t ways, const std::string &path)
    : part(p), image(path, part, channels, ways), cells(image, part, aimed) {
}

Nand::Nand(const assasin::PartFile &part, uint32_t channels, uint32_t ways, const std::string &path)
    : medium_(std::make_unique<Medium>(part, channels, ways, path)) {
    const assasin::NandGeometry &g = part.geometry;
    geo = {channels, ways, g.luns, g.planes, g.blocksPerPlane, g.pagesPerBlock, g.pageBytes, g.spareBytes};
    geo.timingBlock = part.timingBlock;
    geo.modes = (2u << part.timingMode) - 1;
    geo.differential = part.differential;
    geo.externalVref = part.externalVref;
}

Nand::Medium &Nand::medium() const {
    if (!medium_) {
        medium_ = std::make_unique<Medium>(partOf(geo), geo.channels, geo.ways, "");
    }
    return *medium_;
}

Nand::Nand(const Nand &other)
    : geo(other.geo), ecc(other.ecc), phyMargin(other.phyMargin), answers(other.answers), programs(other.programs),
      erases(other.erases), format(other.format), mixed_(other.mixed_) {
    const assasin::NandImage &from = other.medium().image;
    Medium &m = medium();
    m.cells.reliability() = other.medium().cells.reliability();
    m.image.medium() = from.medium();
    std::vector<uint8_t> raw(rawPageBytes());
    for (unsigned channel = 0; channel < geo.channels; channel++) {
        for (unsigned way = 0; way < geo.ways; way++) {
            for (unsigned lun = 0; lun < geo.luns; lun++) {
                m.image.die(channel, way, lun) = from.die(channel, way, lun);
                for (unsigned block = 0; block < geo.blocks * geo.planes; block++) {
                    assasin::NandImage::BlockId id{channel, way, lun, block};
                    const assasin::NandImage::Block &source = from.block(id);
                    for (unsigned page = 0; page < source.nextPage; page++) {
                        from.read(id, page, raw.data());
                        m.image.program(id, page, raw.data());
                        m.image.pageState(id, page) = from.page(id, page);
                    }
                    assasin::NandImage::Block &copy = m.image.block(id);
                    copy.eraseCount = source.eraseCount;
                    copy.reads = source.reads;
                    copy.flags = source.flags;
                }
            }
        }
    }
}

uint32_t Nand::sectorBits() const {
    return geo.pageBytes >= 16384 ? 2 : geo.pageBytes >= 8192 ? 1 : 0;
}
uint32_t Nand::pageBits() const {
    return log2of(geo.pages) + sectorBits();
}
uint32_t Nand::lunShift() const {
    return pageBits() + log2of(geo.planes * geo.blocks);
}
uint32_t Nand::rowBits() const {
    return lunShift() + log2of(geo.luns);
}

bool Nand::has(uint32_t sector) const {
    uint32_t block = (sector & ((1u << lunShift()) - 1)) >> pageBits();
    return sector >> rowBits() == 0 && block < geo.blocks * geo.planes;
}

assasin::NandCells &Nand::cells() {
    return medium().cells;
}

assasin::NandAddress Nand::address(uint32_t key) const {
    uint32_t sector = key & 0xffffff;
    return {key >> 28, key >> 24 & 15, sector >> lunShift(), (sector & ((1u << lunShift()) - 1)) >> pageBits(),
            (sector & ((1u << pageBits()) - 1)) >> sectorBits()};
}

Nand::PageRegister Nand::readPage(uint32_t key, uint32_t retryLevel) {
    PageRegister page{std::vector<uint8_t>(rawPageBytes()), false};
    page.exact = cells().read(address(key), page.raw.data(), retryLevel) == 0;
    reads++;
    return page;
}

void Nand::setWhole(uint32_t key, uint32_t t) {
    Whole &w = whole_[blockKey(key)];
    if (w.t != t || w.sectors.empty()) {
        w.t = t;
        w.sectors.assign(size_t{1} << pageBits(), false);
    }
    w.sectors[key - blockKey(key)] = true;
}

assasin::Sector Nand::decode(uint32_t key, const PageRegister &page, const assasin::SectorCodec &codec,
                             const assasin::SectorCodec::Setting &setting, std::optional<uint32_t> expected,
                             uint32_t erasedLimit) {
    using assasin::SectorCodec;
    uint32_t sector = key & ((1u << sectorBits()) - 1);
    const uint8_t *raw = page.raw.data() + sector * codec.sectorBytes();
    auto w = whole_.find(blockKey(key));
    if (page.exact && w != whole_.end() && w->second.t == codec.t() && w->second.sectors[key - blockKey(key)]) {
        /* Messages alone are a sector of the codec without a code. More zero bits than allowed in them are too many in
         * the sector as well. */
        std::array<uint8_t, SectorCodec::kCodewords * SectorCodec::kMessageBytes> messages;
        for (unsigned c = 0; c < SectorCodec::kCodewords; c++) {
            std::memcpy(&messages[c * SectorCodec::kMessageBytes],
                        raw + c * (SectorCodec::kMessageBytes + codec.parityBytes()), SectorCodec::kMessageBytes);
        }
        assasin::Sector s = Nand::codec(0).decode(key & 0xffffff, setting, messages.data(), expected, erasedLimit);
        if (s.status != assasin::SectorStatus::Erased) {
            return s;
        }
    }
    auto block = page.exact ? beyond_.find(blockKey(key)) : beyond_.end();
    if (block != beyond_.end()) {
        auto b = block->second.find(key);
        if (b != block->second.end() && b->second.t == codec.t() && b->second.erasedLimit == erasedLimit &&
            b->second.setting.seed == setting.seed && b->second.setting.layout == setting.layout) {
            return b->second.sector;
        }
    }
    assasin::Sector s = codec.decode(key & 0xffffff, setting, raw, expected, erasedLimit);
    if (page.exact && s.status == assasin::SectorStatus::Uncorrectable) {
        beyond_[blockKey(key)][key] = {codec.t(), erasedLimit, setting, s};
    }
    if (page.exact && s.status != assasin::SectorStatus::Erased && s.bits() == 0 && s.failed() == 0) {
        setWhole(key, codec.t());
    }
    return s;
}

bool Nand::beginProgram(uint32_t key, const std::vector<uint8_t> &raw, bool root) {
    using Obstacle = assasin::NandCells::Obstacle;
    assasin::NandAddress at = address(key);
    Medium &m = medium();
    Obstacle obstacle = m.cells.obstacle(at);
    if (m.image.block({at.channel, at.way, at.lun, at.block}).flags & assasin::NandImage::kHalfErased) {
        throw Violation("program of " + text(at) + ": the block's last erase did not get through");
    }
    /* Root records are read back, so they may try a page that looks blank: whether it takes them is a matter of luck.
     */
    if (obstacle == Obstacle::Programmed || (obstacle == Obstacle::Damaged && !root)) {
        throw Violation("program of " + text(at) + ", which is not erased");
    }
    if (obstacle == Obstacle::Order) {
        throw Violation("program of " + text(at) + " out of order");
    }
    if (obstacle != Obstacle::None) {
        dropWhole(key);
    }
    m.cells.beginProgram(at, raw.data());
    return obstacle == Obstacle::None;
}

bool Nand::endProgram(uint32_t key, bool fail) {
    Medium &m = medium();
    m.aimed.fail = fail;
    bool done = m.cells.endProgram(address(key));
    pagePrograms++;
    if (!done) {
        dropWhole(key); /* it may have taken pages along that share its cells */
    }
    m.aimed.fail = false;
    return done;
}

void Nand::beginErase(uint32_t key) {
    dropWhole(key);
    mixed_.erase(blockKey(key));
    cells().beginErase(address(key));
}

bool Nand::endErase(uint32_t key, bool fail) {
    Medium &m = medium();
    m.aimed.fail = fail;
    bool done = m.cells.endErase(address(key));
    m.aimed.fail = false;
    erases += done;
    return done;
}

void Nand::cut(std::optional<Tear> as) {
    Medium &m = medium();
    /* Only what is under way changes. */
    for (unsigned channel = 0; channel < geo.channels; channel++) {
        for (unsigned way = 0; way < geo.ways; way++) {
            for (unsigned lun = 0; lun < geo.luns; lun++) {
                const assasin::NandImage::Die &die = m.image.die(channel, way, lun);
                for (unsigned i = 0; i < die.rows; i++) {
                    dropWhole(channel << 28 | way << 24 | lun << lunShift() | die.row[i] / geo.pages << pageBits());
                }
            }
        }
    }
    m.cells.cutAs = as;
    m.cells.cutAll();
    m.cells.cutAs.reset();
}

const assasin::SectorCodec &Nand::codec(uint32_t t) {
    static std::map<uint32_t, assasin::SectorCodec> all;
    return all.try_emplace(t, t).first->second;
}

std::optional<Page> Nand::decode(uint32_t key, const uint8_t *raw) const {
    const assasin::SectorCodec &c = codec(format.t);
    uint32_t sector = key & ((1u << sectorBits()) - 1);
    assasin::Sector s = c.decode(key & 0xffffff, format.setting, raw + sector * c.sectorBytes());
    if (s.status != assasin::SectorStatus::Ok) {
        return std::nullopt;
    }
    return Page{{s.data.begin(), s.data.end()}, s.oob0, s.oob1};
}

std::map<uint32_t, Page> Nand::pages() const {
    std::map<uint32_t, Page> all;
    const assasin::NandImage &image = medium().image;
    std::vector<uint8_t> raw(rawPageBytes());
    for (unsigned channel = 0; channel < geo.channels; channel++) {
        for (unsigned way = 0; way < geo.ways; way++) {
            for (unsigned lun = 0; lun < geo.luns; lun++) {
                for (unsigned block = 0; block < geo.blocks * geo.planes; block++) {
                    assasin::NandImage::BlockId id{channel, way, lun, block};
                    for (unsigned page = 0; page < image.nextPage(id); page++) {
                        image.read(id, page, raw.data());
                        uint32_t key =
                            channel << 28 | way << 24 | lun << lunShift() | block << pageBits() | page << sectorBits();
                        for (uint32_t s = 0; s < 1u << sectorBits(); s++) {
                            if (auto whole = decode(key | s, raw.data())) {
                                all[key | s] = std::move(*whole);
                            }
                        }
                    }
                }
            }
        }
    }
    return all;
}

bool Nand::readable(uint32_t key) const {
    assasin::NandAddress at = address(key);
    Medium &m = medium();
    auto &block = m.image.block({at.channel, at.way, at.lun, at.block});
    auto &die = m.image.die(at.channel, at.way, at.lun);
    const auto reads = block.reads;
    const auto operations = die.operations;
    /* The medium is as it was, what it draws by chance too. */
    assasin::NandCells cells = m.cells;
    bool all = true;
    /* Some of a page's errors change from read to read. */
    for (unsigned i = 0; i < 3 && all; i++) {
        std::vector<uint8_t> raw(rawPageBytes());
        cells.read(at, raw.data(), cells.bestLevel(at));
        all = decode(key, raw.data()).has_value();
    }
    block.reads = reads;
    die.operations = operations;
    return all;
}

Page Nand::page(uint32_t key) const {
    assasin::NandAddress at = address(key);
    std::vector<uint8_t> raw(rawPageBytes());
    medium().image.read({at.channel, at.way, at.lun, at.block}, at.page, raw.data());
    auto whole = decode(key, raw.data());
    if (!whole) {
        throw std::runtime_error("no whole sector in " + text(at));
    }
    return *whole;
}

void Nand::put(uint32_t key, const Page &page) {
    assasin::NandAddress at = address(key);
    assasin::NandImage::BlockId id{at.channel, at.way, at.lun, at.block};
    std::vector<uint8_t> raw(rawPageBytes());
    medium().image.read(id, at.page, raw.data());
    const assasin::SectorCodec &c = codec(format.t);
    uint32_t sector = key & ((1u << sectorBits()) - 1);
    c.encode(key & 0xffffff, format.setting, page.data.data(), page.oob0, page.oob1,
             raw.data() + sector * c.sectorBytes());
    medium().image.rewrite(id, at.page, raw.data());
    dropWhole(key);
}

} // namespace model
