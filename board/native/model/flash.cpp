/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The flash channels of the native device: registers, descriptors, page registers and the codec.
 */
#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/hardware.h"
#include "model/internal.h"

namespace model {

namespace {

constexpr uint32_t kShortTime = 200;
constexpr uint32_t kTableTime = 2100; /* the encoder's table */
constexpr uint32_t kStuckTime = 1u << 24;
constexpr uint32_t kRootTag = 0xfffffffd; /* OOB word 0 of the FTL's root records */
/** The upper four bits of that of map pages. */
constexpr uint32_t kMapTag = 0xf;
constexpr uint32_t kSectorBytes = 4096;
constexpr uint32_t kRetryFeature = 0x89;
/* Status byte: not write protected and ready; with the last program's failure, with that of the one before. */
constexpr uint32_t kReady = 0xe0, kFail = 0x01, kFailBefore = 0x02;

uint16_t crc16(const uint8_t *p, size_t n) {
    uint32_t crc = 0x4f4e;
    for (size_t i = 0; i < n; i++) {
        for (int b = 7; b >= 0; b--) {
            uint32_t bit = ((crc >> 15) ^ (p[i] >> b)) & 1;
            crc = (crc << 1 ^ (bit ? 0x8005 : 0)) & 0xffff;
        }
    }
    return static_cast<uint16_t>(crc);
}

uint32_t statusOf(assasin::SectorStatus s) {
    switch (s) {
    case assasin::SectorStatus::Ok:
        return FLASH_STATUS_OK;
    case assasin::SectorStatus::Erased:
        return FLASH_STATUS_ERASED;
    case assasin::SectorStatus::Uncorrectable:
        return FLASH_STATUS_UNCORRECTABLE;
    case assasin::SectorStatus::Mismatch:
        return FLASH_STATUS_MISMATCH;
    case assasin::SectorStatus::Foreign:
        return FLASH_STATUS_FOREIGN;
    default:
        return FLASH_STATUS_MISDIRECTED;
    }
}

} // namespace

std::vector<uint8_t> Hardware::paramPage() const {
    std::vector<uint8_t> p(256, 0);
    auto put16 = [&](size_t at, uint32_t v) {
        p[at] = static_cast<uint8_t>(v), p[at + 1] = static_cast<uint8_t>(v >> 8);
    };
    auto put32 = [&](size_t at, uint32_t v) { put16(at, v), put16(at + 2, v >> 16); };
    std::memcpy(&p[0], "ONFI", 4);
    std::memset(&p[32], ' ', 32);
    std::memcpy(&p[44], "MODEL", 5);
    put16(6, nand.geo.multiPlane && nand.geo.planes > 1 ? 8 : 0);
    p[64] = nand.geo.maker;
    put32(80, nand.geo.pageBytes);
    put16(84, nand.geo.spare);
    put32(92, nand.geo.pages);
    put32(96, nand.geo.blocks * nand.geo.planes);
    p[100] = static_cast<uint8_t>(nand.geo.luns);
    p[101] = 0x23;
    bool paired = nand.cells().reliability().pairing != assasin::NandPairing::None;
    p[102] = paired ? 2 : 1;
    put16(103, static_cast<uint32_t>(std::ceil(2 * nand.geo.factoryBad * nand.geo.blocks * nand.geo.planes)));
    p[105] = nand.geo.endurance;
    p[113] = static_cast<uint8_t>(log2of(nand.geo.planes));
    /* tPROG, tBERS: microseconds, of a clock of 1 GHz unless BOOT_ARG says otherwise. */
    uint32_t mhz = F(SYS_BOOT_ARG, CLOCK_MHZ, bootArg) ? F(SYS_BOOT_ARG, CLOCK_MHZ, bootArg) : 1000;
    put16(133, (times.program + mhz - 1) / mhz);
    put16(135, (times.erase + mhz - 1) / mhz);
    put16(137, (times.read + mhz - 1) / mhz);
    p[142] = static_cast<uint8_t>(nand.geo.modes);
    p[158] = static_cast<uint8_t>((nand.geo.differential ? 0x18 : 0) | (nand.geo.externalVref ? 0x20 : 0));
    p[162] = static_cast<uint8_t>(nand.geo.modes >> 8);
    if (nand.geo.timingBlock) {
        put16(164, 0xa551);
        const uint16_t times[] = {25, 20, 100, 20, 30, 21, 80, 70, 300, 977};
        for (size_t i = 0; i < 10; i++) {
            put16(166 + 2 * i, times[i]);
        }
        p[186] = static_cast<uint8_t>(log2of(nand.geo.modes + 1) - 1);
        p[187] = nand.geo.readLevels;
        p[188] = paired;
    } else {
        put16(164, 1);
        p[180] = nand.geo.readLevels;
    }
    put16(254, crc16(p.data(), 254));
    return p;
}

uint32_t Hardware::readId(uint32_t address) const {
    return address == 0x20 ? 0x49464e4f : 0x3264a400 | nand.geo.maker;
}

uint32_t Hardware::codeInfo(uint32_t n) const {
    if (n == 0 || n > nand.ecc.size()) {
        return 0;
    }
    const assasin::SectorCodec &c = Nand::codec(nand.ecc[n - 1]);
    return c.t() << FLASH_CODE_INFO_T_SHIFT | c.parityBytes() << FLASH_CODE_INFO_PARITY_SHIFT;
}

const assasin::SectorCodec &Hardware::codecOf(const Channel &k) const {
    uint32_t n = F(FLASH_CODE, STRENGTH, k.code);
    return Nand::codec(n == 0 ? 0 : nand.ecc[n - 1]);
}

uint32_t Hardware::flashRead(uint32_t c, uint32_t r) {
    Channel &k = ch[c];
    if (r >= FLASH_CODE_INFO && r < FLASH_CODE_INFO + 32) {
        return codeInfo((r - FLASH_CODE_INFO) / 4);
    }
    const Channel::Cpl *front = k.cpl.empty() ? nullptr : &k.cpl.front();
    switch (r) {
    case FLASH_CPL:
        return front == nullptr
                   ? 0
                   : 1u << FLASH_CPL_VALID_SHIFT | front->errors << FLASH_CPL_ERRORS_SHIFT |
                         front->way << FLASH_CPL_WAY_SHIFT | front->status << FLASH_CPL_STATUS_SHIFT | front->tag;
    case FLASH_CPL_DATA:
        return front == nullptr ? 0 : front->d0;
    case FLASH_CPL_DATA1:
        return front == nullptr ? 0 : front->d1;
    case FLASH_CPL_CODE:
        return front == nullptr ? 0 : front->code;
    case FLASH_CODE:
        return k.code | static_cast<uint32_t>(now < k.codeReady) << FLASH_CODE_BUSY_SHIFT;
    case FLASH_GEOMETRY:
        return k.geometry;
    case FLASH_WAY_MAP0:
    case FLASH_WAY_MAP1:
        return k.wayMap[(r - FLASH_WAY_MAP0) / 4];
    case FLASH_LAYOUT:
        return k.setting.layout;
    case FLASH_SEED:
        return k.setting.seed;
    case FLASH_ERASED_LIMIT:
        return k.erasedLimit;
    case FLASH_SECTORS_READ:
        return k.sectorsRead;
    case FLASH_BITS_CORRECTED:
        return k.bitsCorrected;
    case FLASH_SECTORS_FAILED:
        return k.sectorsFailed;
    case FLASH_DISCARD:
        return k.discard;
    case FLASH_PHY_MARGIN:
        return nand.phyMargin;
    case FLASH_BUS_BUSY_LO:
        return static_cast<uint32_t>(k.busBusy);
    case FLASH_DATA_BYTES_LO:
        return static_cast<uint32_t>(k.dataBytes);
    case FLASH_BUS_BUSY_HI:
    case FLASH_DATA_BYTES_HI:
        return 0;
    default:
        violation("read of FLASH+" + hex(r));
    }
}

void Hardware::setGeometry(Channel &k, uint32_t v) {
    const Geometry &g = nand.geo;
    uint32_t page = 1u << F(FLASH_GEOMETRY, PAGE_LOG2, v), spare = F(FLASH_GEOMETRY, SPARE, v);
    if (page != g.pageBytes || spare != g.spare) {
        violation("GEOMETRY: pages of " + std::to_string(page) + "+" + std::to_string(spare) + " bytes");
    }
    if (F(FLASH_GEOMETRY, SECTOR_LOG2, v) != nand.sectorBits()) {
        violation("GEOMETRY: sectors of " + hex(v));
    }
    if (F(FLASH_GEOMETRY, LUN_SHIFT, v) + nand.sectorBits() != nand.lunShift() ||
        F(FLASH_GEOMETRY, LUN_BITS, v) != log2of(g.luns)) {
        violation("GEOMETRY: LUN bits of " + hex(v));
    }
    k.geometry = v;
}

void Hardware::flashWrite(uint32_t c, uint32_t r, uint32_t v) {
    Channel &k = ch[c];
    if (r >= FLASH_STEPS && r < FLASH_STEPS + 4 * k.steps.size()) {
        k.steps[(r - FLASH_STEPS) / 4] = v;
        return;
    }
    if (r >= FLASH_PHASES && r < FLASH_PHASES + 4 * k.phases.size()) {
        k.phases[(r - FLASH_PHASES) / 4] = v;
        return;
    }
    switch (r) {
    case FLASH_W0:
        k.w0 = v;
        break;
    case FLASH_W1:
        k.w1 = v;
        break;
    case FLASH_W2:
        k.w2 = v;
        break;
    case FLASH_W3: {
        uint32_t w = F(FLASH_W0, WAY, k.w0);
        if (w >= nand.geo.ways) {
            violation("descriptor for absent way " + std::to_string(w));
        }
        const Desc d{k.w0, k.w1, k.w2, F(FLASH_W3, BYTES, v), F(FLASH_W3, CONFIRM, v), k.oob0, k.oob1};
        const uint32_t die = dieOf(d);
        if (k.ways[die].fifo.size() == 8) {
            violation("way FIFO overflow");
        }
        k.ways[die].fifo.push_back(d);
        wayStart(c, die);
        break;
    }
    case FLASH_OOB0:
        k.oob0 = v;
        break;
    case FLASH_OOB1:
        k.oob1 = v;
        break;
    case FLASH_CPL_POP:
        if (k.cpl.empty()) {
            violation("CPL_POP with none waiting");
        }
        k.cpl.pop_front();
        break;
    case FLASH_GEOMETRY:
        setGeometry(k, v);
        break;
    case FLASH_CODE:
        if (v != 0 && (v >= 8 || codeInfo(v) == 0)) {
            violation("CODE " + hex(v) + ", which CODE_INFO does not have");
        }
        k.code = v;
        k.codeReady = now + kTableTime;
        break;
    case FLASH_LAYOUT:
        k.setting.layout = v;
        break;
    case FLASH_SEED:
        k.setting.seed = v;
        break;
    case FLASH_ERASED_LIMIT:
        k.erasedLimit = v & 0xffff;
        break;
    case FLASH_TIMING0:
        k.timing[0] = v;
        break;
    case FLASH_TIMING1:
        k.timing[1] = v;
        break;
    case FLASH_TIMING2:
        k.timing[2] = v;
        break;
    case FLASH_DATA_RATE:
        k.rate = v;
        break;
    case FLASH_WAIT0:
    case FLASH_WAIT1:
        break;
    case FLASH_PLANES:
        if (F(FLASH_PLANES, BITS, v) != log2of(nand.geo.planes) ||
            F(FLASH_PLANES, SHIFT, v) != log2of(nand.geo.pages)) {
            violation("PLANES " + hex(v));
        }
        break;
    case FLASH_WAY_MAP0:
    case FLASH_WAY_MAP1:
        setWayMap(c, (r - FLASH_WAY_MAP0) / 4, v);
        break;
    case FLASH_DISCARD:
        k.discard = v;
        retryRoom();
        break;
    default:
        violation("write of FLASH+" + hex(r));
    }
}

void Hardware::wayEnd(uint32_t c, uint32_t w, uint32_t status, uint32_t d0, uint32_t d1, uint32_t errors,
                      uint32_t code) {
    Way &way = ch[c].ways[w];
    ch[c].cpl.push_back({F(FLASH_W0, TAG, way.fifo.front().w0), status, w & 15, d0, d1, errors, code});
    way.fifo.pop_front();
    way.busy = false;
    wayStart(c, w ^ 16);
    wayStart(c, w);
}

namespace {

bool hasRow(uint32_t op) {
    return op == FLASH_OP_READ || op == FLASH_OP_READ_RAW || op == FLASH_OP_PROGRAM || op == FLASH_OP_ERASE ||
           op == FLASH_OP_READ_STATUS;
}

} // namespace

uint32_t Hardware::dieOf(const Desc &d) const {
    uint32_t way = F(FLASH_W0, WAY, d.w0);
    bool other = hasRow(F(FLASH_W0, OP, d.w0)) && nand.geo.luns > 1 && (d.w1 >> nand.lunShift() & 1);
    return other ? way + 16 : way;
}

void Hardware::setWayMap(uint32_t c, uint32_t word, uint32_t v) {
    Channel &k = ch[c];
    std::array<std::array<uint32_t, 3>, 16> packages{}; /* what a package keeps goes with its chip enable */
    for (uint32_t w = 0; w < 16; w++) {
        if (!k.ways[w].fifo.empty() || !k.ways[w + 16].fifo.empty()) {
            violation("WAY_MAP written while way " + std::to_string(w) + " has descriptors");
        }
        packages[enableOf(c, w)] = {k.ways[w].interface, k.ways[w].configuration, k.ways[w].retryLevel};
    }
    k.wayMap[word] = v;
    for (uint32_t w = 0; w < 16; w++) {
        k.ways[w].holds = k.ways[w + 16].holds = false;
        const auto &[interface, configuration, retryLevel] = packages[enableOf(c, w)];
        k.ways[w].interface = interface;
        k.ways[w].configuration = configuration;
        k.ways[w].retryLevel = retryLevel;
    }
}

bool Hardware::answersOtherwise(uint32_t c, uint32_t w) {
    Channel &k = ch[c];
    const Desc d = k.ways[w].fifo.front();
    uint32_t op = F(FLASH_W0, OP, d.w0), enable = enableOf(c, w);
    bool absent = nand.cells().absent(c, enable);
    auto found = nand.answers.find(c << 4 | enable);
    Answer answer = found == nand.answers.end() ? Answer::Package : found->second;
    if (!absent && answer == Answer::Package) {
        return false;
    }
    std::string what = "operation " + std::to_string(op) + " on chip enable " + std::to_string(enable) +
                       " of channel " + std::to_string(c);
    if (k.hung >> enable & 1) {
        violation(what + ", which is busy");
    }
    if (op == FLASH_OP_RESET) {
        bool busy = !absent && answer == Answer::Busy;
        k.hung |= static_cast<uint32_t>(busy) << enable;
        at(busy ? kStuckTime : jitter(kShortTime),
           [=, this] { wayEnd(c, w, busy ? FLASH_STATUS_TIMEOUT : FLASH_STATUS_OK, 0, 0); });
    } else if (op == FLASH_OP_READ_ID) {
        uint32_t id = absent                    ? 0xffffffff
                      : answer == Answer::Other ? readId(d.w1) ^ (d.w1 == 0 ? 0x100 : 0)
                                                : 0xff00a55a;
        at(jitter(kShortTime), [=, this] { wayEnd(c, w, FLASH_STATUS_OK, id, absent ? id : 0); });
    } else {
        violation(what + ", where no package of the drive is");
    }
    return true;
}

void Hardware::checkData(uint32_t c, uint32_t w) {
    const Channel &k = ch[c];
    const Desc &d = k.ways[w].fifo.front();
    const Way &package = k.ways[w & 15];
    if (!(package.interface & 0x20) || k.geometry == 0) {
        violation("data operation before the data interface and the geometry are set");
    }
    if (F(FLASH_PHY_MARGIN, DIFFERENTIAL, nand.phyMargin) && !(nand.geo.differential && (package.configuration & 2))) {
        violation("data operation while the package does not drive DQS_c: the PHY gets anything");
    }
    if (k.rate * 8 < F(FLASH_PHY_MARGIN, BYTE, nand.phyMargin)) {
        violation("a byte in " + std::to_string(k.rate) + " cycles: the PHY gets the next one");
    }
    if (now < k.codeReady) {
        violation("data operation while CODE is BUSY");
    }
    if ((codecOf(k).sectorBytes() << nand.sectorBits()) > nand.rawPageBytes()) {
        violation("the code's sectors do not fit into a page");
    }
    if (!nand.has(d.w1)) {
        violation("sector " + hex(d.w1) + " beyond the package");
    }
    nand.format = {codecOf(k).t(), k.setting};
}

void Hardware::wayStart(uint32_t c, uint32_t w) {
    Way &way = ch[c].ways[w];
    if (way.busy || way.fifo.empty()) {
        return;
    }
    const Desc d = way.fifo.front();
    uint32_t key = keyOf(c, w, d.w1);
    uint32_t op = F(FLASH_W0, OP, d.w0);
    /* What is for the whole way runs alone, and goes before the other LUN's next; a page that is being given to one LUN
     * keeps the way. Data that waits for room in its stream keeps nothing: the channel gives it up and reads it again.
     */
    Way &other = ch[c].ways[w ^ 16];
    bool given = other.loading || !other.planes.empty();
    bool between = way.loading || !way.planes.empty();
    bool wholeNext = !other.fifo.empty() && !hasRow(F(FLASH_W0, OP, other.fifo.front().w0));
    if (given || (!hasRow(op) && other.busy && !other.waitsRoom) || (wholeNext && !between)) {
        return;
    }
    if (!hasRow(op) && now < other.cacheUntil) {
        violation("operation " + std::to_string(op) + " behind a cache program of the other LUN");
    }
    way.busy = true;
    if (op == FLASH_OP_PROGRAM && !way.loading) {
        other.holds = false; /* 80h clears its page register */
    }
    if (op != FLASH_OP_PROGRAM && (way.loading || !way.planes.empty() || now < way.cacheUntil)) {
        violation("operation " + std::to_string(op) +
                  " between the programs of a page or of planes, or behind a cache "
                  "program");
    }
    if (op != FLASH_OP_READ) {
        way.holds = false;
    }
    if (answersOtherwise(c, w)) {
        return;
    }
    if (op == FLASH_OP_READ || op == FLASH_OP_READ_RAW || op == FLASH_OP_PROGRAM || op == FLASH_OP_ERASE) {
        checkData(c, w);
        assasin::NandAddress at = nand.address(key);
        if (nand.cells().dead(at.channel, at.way, at.lun) == assasin::DeadDie::Busy) {
            this->at(kStuckTime, [=, this] { wayEnd(c, w, FLASH_STATUS_TIMEOUT, 0, d.oob0); });
            return;
        }
    }
    switch (op) {
    case FLASH_OP_RESET:
        way.interface = way.configuration = way.retryLevel = 0;
        other.holds = false;
        at(jitter(kShortTime), [=, this] { wayEnd(c, w, 0, 0, 0); });
        break;
    case FLASH_OP_READ_ID:
        at(jitter(kShortTime), [=, this] { wayEnd(c, w, 0, readId(d.w1), 0); });
        break;
    case FLASH_OP_SET_FEATURE:
        if (d.w1 == 1 && (d.w2 & 0x30) == 0x20 && !(nand.geo.modes >> (d.w2 & 15) & 1)) {
            violation("NV-DDR2 mode " + std::to_string(d.w2 & 15) + ", which the part does not offer");
        }
        if (d.w1 == 1 && (d.w2 & 0x30) == 0x20 && (d.w2 & 15) >= 4 && nand.geo.externalVref &&
            !(way.configuration & 1)) {
            violation("200 MT/s or more without the external VREFQ, which the part needs for it");
        }
        if (d.w1 == 1) {
            way.interface = d.w2 & 255;
        } else if (d.w1 == 2) {
            way.configuration = d.w2 & 255;
        } else if (d.w1 == kRetryFeature) {
            way.retryLevel = d.w2 & 255;
        }
        at(jitter(kShortTime), [=, this] { wayEnd(c, w, 0, 0, 0); });
        break;
    case FLASH_OP_READ_STATUS:
        at(jitter(kShortTime), [=, this] {
            bool fail = nand.geo.luns > 1 && ch[c].ways[w].failed.count(planeOf(key)) != 0;
            wayEnd(c, w, FLASH_STATUS_OK, kReady | (fail ? kFail : 0), 0);
        });
        break;
    case FLASH_OP_PARAM_PAGE:
        at(jitter(kShortTime), [=, this] {
            auto p = paramPage();
            for (uint32_t i = 0; i < d.bytes; i++) {
                devWrite(d.w2 + i, &p[i % 256], 1);
            }
            wayEnd(c, w, 0, 0, 0);
        });
        break;
    case FLASH_OP_READ: {
        bool stream = F(FLASH_W0, STREAM, d.w0);
        if (d.bytes == 0 || d.bytes > kSectorBytes || (!stream && ((d.w2 & 63) != 0 || !(d.w2 & kDramBit))) ||
            (stream && (d.w2 % kSectorBytes) != 0)) {
            violation("bad READ descriptor: " + hex(d.w2) + " length " + std::to_string(d.bytes));
        }
        uint32_t page = key >> nand.sectorBits(), sector = key & ((1u << nand.sectorBits()) - 1);
        if (way.holds && way.page == page && sector >= way.nextSector && !F(FLASH_W0, FRESH, d.w0)) {
            at(1, [=, this] { wayData(c, w); });
        } else {
            at(jitter(times.read), [=, this] {
                Way &its = ch[c].ways[w];
                uint32_t read = misdirected.count(key) ? misdirected.at(key) : key;
                its.reg = nand.readPage(read, ch[c].ways[w & 15].retryLevel);
                its.reg.exact &= read == key;
                its.page = page;
                its.holds = true;
                wayData(c, w);
            });
        }
        way.nextSector = sector + 1;
        break;
    }
    case FLASH_OP_READ_RAW: {
        uint32_t column = d.oob0 & 0xffff;
        if (column + d.bytes > nand.rawPageBytes() || (d.w2 & 63) != 0 || !(d.w2 & kDramBit)) {
            violation("bad READ_RAW descriptor: column " + std::to_string(column) + ", " + std::to_string(d.bytes) +
                      " bytes to " + hex(d.w2));
        }
        at(jitter(times.read + times.bus), [=, this] {
            auto raw = nand.readPage(key, ch[c].ways[w & 15].retryLevel).raw;
            dramCopyIn(d.w2, raw.data() + column, d.bytes);
            wayEnd(c, w, 0, 0, 0);
        });
        break;
    }
    case FLASH_OP_PROGRAM:
        programStart(c, w, key);
        break;
    case FLASH_OP_ERASE:
        nand.beginErase(key);
        std::erase_if(way.failed, [&](uint32_t plane) { return plane >> 8 == planeOf(key) >> 8; });
        at(jitter(times.erase), [=, this] {
            bool fail = chance(faults.erase) || (faults.eraseOf && faults.eraseOf(key));
            bool done = nand.endErase(key, fail);
            wayEnd(c, w, done ? FLASH_STATUS_OK : FLASH_STATUS_FAIL, kReady | (done ? 0 : kFail), 0);
        });
        break;
    default:
        violation("flash operation " + std::to_string(op));
    }
}

void Hardware::programStart(uint32_t c, uint32_t w, uint32_t key) {
    Channel &k = ch[c];
    Way &way = k.ways[w];
    const Desc d = way.fifo.front();
    if ((d.w2 & 63) != 0 || !(d.w2 & kDramBit) || d.bytes != kSectorBytes) {
        violation("bad PROGRAM descriptor");
    }
    uint32_t sectors = 1u << nand.sectorBits(), sector = key & (sectors - 1), page = key >> nand.sectorBits();
    if (!way.loading) {
        way.loading = true;
        way.program = {page, false, {}, std::vector<uint8_t>(nand.rawPageBytes(), 0xff)};
        way.nextIn = 0;
    }
    if (way.program.page != page || sector != way.nextIn) {
        violation("program of sector " + hex(key) + " where sector " + std::to_string(way.nextIn) + " of page " +
                  hex(way.program.page) + " is next");
    }
    way.nextIn++;
    std::vector<uint8_t> data(kSectorBytes);
    dramCopyOut(d.w2, data.data(), kSectorBytes);
    const assasin::SectorCodec &codec = codecOf(k);
    codec.encode(d.w1 & 0xffffff, k.setting, data.data(), d.oob0, d.oob1,
                 way.program.raw.data() + sector * codec.sectorBytes());
    way.program.sectors.push_back({key, d.oob0});
    way.program.root |= d.oob0 == kRootTag;
    way.program.t = codec.t();
    /* What the descriptor names is the drive's until it completes. But a map page may change: nothing may use what the
     * medium holds then. */
    bool map = d.oob0 >> 28 == kMapTag && d.oob0 < kRootTag - 1;
    auto end = [=, this](uint32_t status, uint32_t d0) {
        std::vector<uint8_t> still(kSectorBytes);
        dramCopyOut(d.w2, still.data(), kSectorBytes);
        if (still != data && map) {
            nand.setMixed(key);
        } else if (still != data) {
            violation("the data of sector " + hex(key) + " changed before its program completed");
        }
        wayEnd(c, w, status, d0, 0);
    };
    if (d.confirm == FLASH_CONFIRM_MORE) {
        if (sector == sectors - 1) {
            violation("CONFIRM.MORE with the last sector of page " + hex(page));
        }
        at(jitter(times.bus), [=] { end(FLASH_STATUS_OK, kReady); });
        return;
    }
    way.loading = false;
    if (!way.planes.empty()) {
        assasin::NandAddress one = nand.address(way.planes[0].page << nand.sectorBits()), other = nand.address(key);
        bool same = one.page != other.page || one.lun != other.lun;
        for (const Program &p : way.planes) {
            same |= nand.address(p.page << nand.sectorBits()).block % nand.geo.planes == other.block % nand.geo.planes;
        }
        if (same) {
            violation("program of page " + hex(page) + " together with page " + hex(way.planes[0].page));
        }
    }
    way.planes.push_back(std::move(way.program));
    if (d.confirm == FLASH_CONFIRM_PLANE) {
        if (!nand.geo.multiPlane) {
            violation("CONFIRM.PLANE, which the part does not have");
        }
        at(jitter(times.bus), [=] { end(FLASH_STATUS_OK, kReady); });
        return;
    }
    auto program = [=, this] {
        Way &its = ch[c].ways[w];
        its.programming.swap(its.planes);
        for (Program &p : its.programming) {
            p.blank = nand.beginProgram(p.page << nand.sectorBits(), p.raw, p.root);
        }
        uint32_t before = its.cacheFailed ? kFailBefore : 0;
        its.cacheFailed = false;
        if (d.confirm == FLASH_CONFIRM_CACHE) {
            uint32_t time = jitter(times.program);
            its.cacheUntil = now + time;
            at(time, [=, this] { ch[c].ways[w].cacheFailed = !programEnd(c, w); });
            end(before ? FLASH_STATUS_FAIL : FLASH_STATUS_OK, kReady | before);
            return;
        }
        at(jitter(times.program), [=, this] {
            bool done = programEnd(c, w);
            /* 70h tells of all planes, 78h of that of the row. */
            if (nand.geo.luns > 1) {
                done = ch[c].ways[w].failed.count(planeOf(key)) == 0;
            }
            uint32_t fail = before | (done ? 0 : kFail);
            end(fail ? FLASH_STATUS_FAIL : FLASH_STATUS_OK, kReady | fail);
        });
    };
    if (d.confirm == FLASH_CONFIRM_CACHE || now < way.cacheUntil) {
        at(std::max<uint64_t>(times.bus, way.cacheUntil > now ? way.cacheUntil - now + 1 : 0), program);
    } else {
        program();
    }
}

uint32_t Hardware::planeOf(uint32_t key) const {
    assasin::NandAddress at = nand.address(key);
    return at.lun << 8 | at.block % nand.geo.planes;
}

bool Hardware::programEnd(uint32_t c, uint32_t w) {
    Way &way = ch[c].ways[w];
    bool done = true;
    for (const Program &p : way.programming) {
        bool fail = chance(faults.program);
        for (const auto &[key, oob0] : p.sectors) {
            fail |= faults.programOf && faults.programOf(key, oob0);
            nand.programs++;
        }
        uint32_t key = p.page << nand.sectorBits();
        bool held = nand.endProgram(key, fail);
        done &= held;
        if (&p == &way.programming.front()) {
            std::erase_if(way.failed, [&](uint32_t plane) { return plane >> 8 == planeOf(key) >> 8; });
        }
        if (!held) {
            way.failed.insert(planeOf(key));
        }
        for (const auto &[written, oob0] : p.sectors) {
            if (held && p.blank) {
                nand.setWhole(written, p.t);
            }
        }
    }
    way.programming.clear();
    return done;
}

bool Hardware::room(const Desc &d, uint32_t c) const {
    uint32_t core = F(FLASH_W0, CORE, d.w0);
    if (ch[c].discard >> core & 1) {
        return true;
    }
    const Core &k = cores[core];
    uint32_t s = F(FLASH_W0, STREAM_ID, d.w0);
    uint32_t pages = 0x10000u >> k.sLog2 >> k.pageLog2;
    uint32_t roomPage = (k.in[s].head >> k.pageLog2) + pages;
    uint32_t ahead = (roomPage - (d.w2 >> k.pageLog2)) & 255;
    return ahead >= 1 && ahead <= 128;
}

void Hardware::retryRoom() {
    for (uint32_t c = 0; c < nand.geo.channels; c++) {
        for (uint32_t w = 0; w < ch[c].ways.size(); w++) {
            if (ch[c].ways[w].waitsRoom && room(ch[c].ways[w].fifo.front(), c)) {
                ch[c].ways[w].waitsRoom = false;
                at(1, [=, this] { wayData(c, w); });
            }
        }
    }
}

void Hardware::wayData(uint32_t c, uint32_t w) {
    Way &way = ch[c].ways[w];
    const Desc d = way.fifo.front();
    bool stream = F(FLASH_W0, STREAM, d.w0);
    if (stream && F(FLASH_W0, CORE, d.w0) >= cores.size()) {
        violation("READ to absent core");
    }
    if (stream && channelLocal && F(FLASH_W0, CORE, d.w0) != c) {
        violation("READ of another channel's core");
    }
    if (stream && !room(d, c)) {
        way.waitsRoom = true;
        streamPagesHeld++;
        return;
    }
    Channel &k = ch[c];
    bool drop = stream && (k.discard >> F(FLASH_W0, CORE, d.w0) & 1);
    k.busFree = std::max(k.busFree, now) + times.bus;
    k.busBusy += times.bus;
    k.dataBytes += kSectorBytes;
    at(k.busFree - now, [=, this] {
        if (drop) {
            streamPagesDropped++;
            wayEnd(c, w, FLASH_STATUS_DROPPED, d.w2, d.oob0);
        } else {
            sectorEnd(c, w);
        }
    });
}

void Hardware::sectorEnd(uint32_t c, uint32_t w) {
    Channel &k = ch[c];
    const Desc d = k.ways[w].fifo.front();
    const assasin::SectorCodec &codec = codecOf(k);
    uint32_t key = keyOf(c, w, d.w1), sector = d.w1 & ((1u << nand.sectorBits()) - 1);
    Nand::PageRegister &reg = k.ways[w].reg;
    Nand::PageRegister spoilt;
    if (chance(faults.read) || (faults.readOf && faults.readOf(key))) {
        /* Far more than any code corrects, in each codeword. */
        spoilt.raw = reg.raw;
        for (uint32_t i = 0; i < codec.sectorBytes(); i++) {
            spoilt.raw[sector * codec.sectorBytes() + i] ^= static_cast<uint8_t>(rng() & rng() & rng());
        }
    }
    std::optional<uint32_t> expected;
    if (F(FLASH_W0, CHECK, d.w0)) {
        expected = d.oob0;
    }
    assasin::Sector s = nand.decode(key, spoilt.raw.empty() ? reg : spoilt, codec, k.setting, expected, k.erasedLimit);
    uint32_t status = statusOf(s.status);
    if (status == FLASH_STATUS_OK) {
        if (F(FLASH_W0, STREAM, d.w0)) {
            deliver(F(FLASH_W0, CORE, d.w0), F(FLASH_W0, STREAM_ID, d.w0), d.w2, s.data.data(), d.bytes, true);
        } else {
            dramCopyIn(d.w2, s.data.data(), d.bytes);
        }
        if (d.bytes == kSectorBytes && nand.mixed(key)) {
            violation("read of all of sector " + hex(key) + ", a map page that changed while it was programmed");
        }
    }
    if (status != FLASH_STATUS_ERASED) {
        k.sectorsRead++;
        k.bitsCorrected += s.bits();
        k.sectorsFailed += status == FLASH_STATUS_UNCORRECTABLE || status == FLASH_STATUS_MISMATCH;
    }
    wayEnd(c, w, status, s.oob0, status == FLASH_STATUS_OK ? s.oob1 : d.oob0, s.mostErrors(),
           s.bits() << FLASH_CPL_CODE_BITS_SHIFT | s.failed() << FLASH_CPL_CODE_FAILED_SHIFT);
}

void Hardware::tearInFlight() {
    nand.cut(tearAs);
}

} // namespace model
