// SPDX-License-Identifier: BSD-3-Clause
#include "FlashBench.h"

#include "VFlashChannel___024root.h"

#include <algorithm>
#include <cstring>

namespace flashbench {

/** Lets a test exchange the faults while the model runs. */
struct FlashBench::Forward : assasin::NandFaults {
    explicit Forward(FlashBench &bench) : bench(bench) {
    }
    bool programFails(const assasin::NandAddress &a) override {
        return bench.faults->programFails(a);
    }
    bool eraseFails(const assasin::NandAddress &a) override {
        return bench.faults->eraseFails(a);
    }
    void onRead(const assasin::NandAddress &a, uint8_t *raw, unsigned n) override {
        bench.faults->onRead(a, raw, n);
    }
    uint64_t extraBusy(unsigned channel, unsigned way) override {
        return bench.faults->extraBusy(channel, way);
    }
    FlashBench &bench;
};

FlashBench::FlashBench(const assasin::PartFile &partFile, uint64_t seed, double nsPerCycle, unsigned phyLatency,
                       const std::string &imagePath)
    : rings(kCores, std::vector<StreamRing>(kStreams)), part(partFile), timing(part, nsPerCycle, kPhyBytes),
      image(std::make_unique<assasin::NandImage>(imagePath, part, 1, kWays)), top(std::make_unique<VFlashChannel>()),
      random(seed), forward_(std::make_unique<Forward>(*this)), dram_(16u << 20) {
    cells = std::make_unique<assasin::NandCells>(*image, part, *forward_);
    nand = std::make_unique<assasin::NandChannel>(assasin::NandSetup{part, timing, *cells}, 0, kWays, phyLatency);
    restart();
}

void FlashBench::restart() {
    now = 0;
    top->io_number = kNumber;
    top->reset = 1;
    top->clock = 0;
    for (int i = 0; i < 4; i++)
        tick();
    top->reset = 0;
    tick();
}

void FlashBench::Pins::drive(VFlashChannel &channel) const {
    channel.reset = reset;
    channel.io_regs_req_valid = regValid;
    channel.io_regs_req_bits_write = regWrite;
    channel.io_regs_req_bits_addr = regAddr;
    channel.io_regs_req_bits_wdata = regData;
    channel.io_phy_dqInValid = dqInValidBefore;
    channel.io_phy_dqIn = dqInBefore;
    channel.io_phy_rbN = rbNBefore;
    channel.io_number = kNumber;
    channel.io_out_ready = 1;
    channel.io_fetch_ready = 1;
}

void FlashBench::showRoom() {
    // roomPage of docs/architecture.md, kept as bytes by Verilator: io_room_<core>_<stream>
    auto show = [&](unsigned core, unsigned stream) {
        const StreamRing &ring = rings[core][stream];
        return static_cast<uint8_t>(ring.head + ring.pages);
    };
#define ROOM(c, s) top->io_room_##c##_##s = show(c, s);
#define ROOMS(c)   ROOM(c, 0) ROOM(c, 1) ROOM(c, 2) ROOM(c, 3) ROOM(c, 4) ROOM(c, 5) ROOM(c, 6) ROOM(c, 7)
#if FLASH_LOCAL
#undef ROOM
#define ROOM(c, s) top->io_room_##c##_##s = show(kNumber, s);
    ROOMS(0)
#else
    ROOMS(0)
    ROOMS(1)
#endif
#if FLASH_CORES == 8
    ROOMS(2) ROOMS(3) ROOMS(4) ROOMS(5) ROOMS(6) ROOMS(7)
#elif FLASH_CORES != 2
#error "FLASH_CORES: choose 2 or 8"
#endif
}

void FlashBench::tick() {
    if (eachTick)
        eachTick();
    showRoom();
    // A beat that was offered stays offered until it is taken; so may `ready` change every cycle.
    top->io_out_ready = chance(outReadyPercent);
    top->io_fetch_ready = chance(fetchReadyPercent);
    feed();
    top->clock = 0;
    top->eval();
    if (skipSleep && top->io_asleep && top->io_phy_rbN == phy.rbN && !top->reset && !top->io_regs_req_valid &&
        nand->nextEvent() != assasin::kNoEvent && nand->nextEvent() > now + 1) {
        // The clock stands still up to the next event of the packages, which happens with the clock stopped.
        slept += nand->nextEvent() - now - 1;
        now = nand->nextEvent() - 1;
    }
    bool outFires = top->io_out_valid && top->io_out_ready;
    if (inPacket_ && !top->io_out_valid)
        throw BenchError("packet offered before all of it was there");
    if (outFires)
        takeBeat();
    if (top->io_fetch_valid && top->io_fetch_ready) {
        if (top->io_fetch_bits_addr % 64)
            throw BenchError("fetch address is not 64-byte aligned");
        feeds_.push_back({top->io_fetch_bits_addr, top->io_fetch_bits_bytes, 0, now + 1 + below(60)});
    }
    // The pins are no clock's: they change up to the edge, after everything inside has settled.
    top->io_phy_dqInValid = phy.dqInValid;
    // Between beats the bus carries whatever it likes.
    top->io_phy_dqIn = phy.dqInValid ? phy.dqIn : 0xA5;
    top->io_phy_rbN = phy.rbN;
    top->io_phy_margin = phy.margin;
    Pins pins;
    if (recorder) {
        pins.reset = top->reset;
        pins.regValid = top->io_regs_req_valid;
        pins.regWrite = top->io_regs_req_bits_write;
        pins.regAddr = top->io_regs_req_bits_addr;
        pins.regData = top->io_regs_req_bits_wdata;
        pins.dqInValidBefore = top->io_phy_dqInValid;
        pins.dqInBefore = top->io_phy_dqIn;
        pins.rbNBefore = top->io_phy_rbN;
    }
    top->clock = 1;
    top->eval();
    now++;
    sum();
    phy.ceN = top->io_phy_ceN;
    phy.cle = top->io_phy_cle;
    phy.ale = top->io_phy_ale;
    phy.we = top->io_phy_we;
    phy.dqOutValid = top->io_phy_dqOutValid;
    phy.dqOut = top->io_phy_dqOut;
    phy.re = top->io_phy_re;
    phy.wpN = top->io_phy_wpN && !writeProtect;
    nand->cycle(now, phy);
    if (recorder) {
        pins.phy = phy;
        recorder->push_back(pins);
    }
}

/** Adds what this cycle shows to the digest: data only where it counts. */
void FlashBench::sum() {
    auto add = [this](uint64_t value) { digest = (digest ^ value) * 0x100000001b3u; };
    const VFlashChannel &t = *top;
    add(t.io_phy_ceN | t.io_phy_cle << 16 | t.io_phy_ale << 17 | t.io_phy_we << 18 | t.io_phy_re << 19 |
        t.io_phy_dqOutValid << 20 | t.io_pending << 21 | t.io_asleep << 22 | t.io_regs_resp_valid << 23 |
        t.io_out_valid << 24 | t.io_fetch_valid << 25);
    if (t.io_phy_we || t.io_phy_dqOutValid)
        add(t.io_phy_dqOut);
    if (t.io_regs_resp_valid)
        add(t.io_regs_resp_bits);
    if (t.io_out_valid) {
        add(t.io_out_bits_data);
        add(uint64_t(t.io_out_bits_addr) << 32 | t.io_out_bits_bytes << 16 | t.io_out_bits_dst << 8 |
            t.io_out_bits_stream << 4 | t.io_out_bits_last << 2 | t.io_out_bits_toStream << 1 | t.io_out_bits_mark);
    }
    if (t.io_fetch_valid)
        add(uint64_t(t.io_fetch_bits_addr) << 16 | t.io_fetch_bits_bytes);
}

void FlashBench::takeBeat() {
    if (!inPacket_) {
        packet_ = Packet{};
        packet_.dst = top->io_out_bits_dst;
        packet_.addr = top->io_out_bits_addr;
        packet_.bytes = top->io_out_bits_bytes;
        packet_.toStream = top->io_out_bits_toStream;
        packet_.stream = top->io_out_bits_stream;
        packet_.mark = top->io_out_bits_mark;
        if (packet_.bytes < 1 || packet_.bytes > 64)
            throw BenchError("packet of " + std::to_string(packet_.bytes) + " bytes");
        if (packet_.addr % 64)
            throw BenchError("packet address " + std::to_string(packet_.addr) + " is not 64-byte aligned");
        inPacket_ = true;
    } else if (packet_.dst != top->io_out_bits_dst || packet_.addr != top->io_out_bits_addr ||
               packet_.bytes != top->io_out_bits_bytes || packet_.toStream != top->io_out_bits_toStream ||
               packet_.stream != top->io_out_bits_stream || packet_.mark != top->io_out_bits_mark) {
        throw BenchError("packet fields changed inside a packet");
    }
    for (unsigned i = 0; i < 8; i++)
        packet_.data.push_back(static_cast<uint8_t>(top->io_out_bits_data >> 8 * i));
    bool lastDue = packet_.data.size() >= packet_.bytes;
    if (lastDue != static_cast<bool>(top->io_out_bits_last))
        throw BenchError("`last` is not on the last beat of the packet");
    if (lastDue)
        deliver();
}

void FlashBench::deliver() {
    inPacket_ = false;
    packets++;
    packet_.data.resize(packet_.bytes);
    if (!packet_.toStream) {
        if (packet_.dst != kDramPort)
            throw BenchError("page data for DRAM goes to port " + std::to_string(packet_.dst));
        if (packet_.mark)
            throw BenchError("mark on a packet to DRAM");
        fillDram(packet_.addr, packet_.data);
        return;
    }
    if (packet_.dst >= kCores)
        throw BenchError("stream data goes to port " + std::to_string(packet_.dst));
    StreamRing &ring = rings[packet_.dst][packet_.stream];
    uint32_t page = packet_.addr / kSector;
    if (page - ring.head >= ring.pages)
        throw BenchError("page " + std::to_string(page) + " sent without room: " + std::to_string(ring.head) +
                         " consumed, ring of " + std::to_string(ring.pages));
    std::vector<uint8_t> &data = ring.filling[page];
    uint32_t at = packet_.addr % kSector;
    if (at != data.size())
        throw BenchError("stream packet at " + std::to_string(at) + " of the page, " + std::to_string(data.size()) +
                         " expected");
    data.insert(data.end(), packet_.data.begin(), packet_.data.end());
    if (packet_.mark) {
        ring.complete[page] = data;
        ring.filling.erase(page);
    }
}

void FlashBench::feed() {
    top->io_in_valid = 0;
    if (feeds_.empty() || now < feeds_.front().notBefore || !chance(80))
        return;
    Feed &f = feeds_.front();
    unsigned bytes = std::min(64u, f.bytes - f.offset);
    unsigned beats = (bytes + 7) / 8;
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= static_cast<uint64_t>(dram_[f.addr - kDramBase + f.offset + feedBeat_ * 8 + i]) << 8 * i;
    top->io_in_valid = 1;
    top->io_in_bits_data = word;
    top->io_in_bits_last = feedBeat_ == beats - 1;
    top->io_in_bits_addr = f.offset;
    top->io_in_bits_bytes = bytes;
    top->io_in_bits_mark = f.offset + bytes == f.bytes && top->io_in_bits_last;
    // The channel always takes it.
    if (++feedBeat_ == beats) {
        feedBeat_ = 0;
        f.offset += bytes;
        if (f.offset == f.bytes)
            feeds_.pop_front();
    }
}

uint32_t FlashBench::readReg(uint32_t offset) {
    top->io_regs_req_valid = 1;
    top->io_regs_req_bits_write = 0;
    top->io_regs_req_bits_addr = offset;
    tick();
    top->io_regs_req_valid = 0;
    if (!top->io_regs_resp_valid)
        throw BenchError("no register response");
    uint32_t value = top->io_regs_resp_bits;
    tick();
    return value;
}

void FlashBench::writeReg(uint32_t offset, uint32_t value) {
    top->io_regs_req_valid = 1;
    top->io_regs_req_bits_write = 1;
    top->io_regs_req_bits_addr = offset;
    top->io_regs_req_bits_wdata = value;
    tick();
    top->io_regs_req_valid = 0;
    if (!top->io_regs_resp_valid)
        throw BenchError("no register response");
    tick();
}

unsigned FlashBench::space(unsigned way, unsigned lun) {
    writeReg(FLASH_W0, way << FLASH_W0_WAY_SHIFT);
    return readReg(FLASH_SPACE) >> (lun ? FLASH_SPACE_LUN1_SHIFT : FLASH_SPACE_LUN0_SHIFT) & 0xFF;
}

void FlashBench::push(const Descriptor &d) {
    writeReg(FLASH_W0, d.op << FLASH_W0_OP_SHIFT | d.way << FLASH_W0_WAY_SHIFT |
                           unsigned(d.stream) << FLASH_W0_STREAM_SHIFT | unsigned(d.check) << FLASH_W0_CHECK_SHIFT |
                           unsigned(d.fresh) << FLASH_W0_FRESH_SHIFT | d.core << FLASH_W0_CORE_SHIFT |
                           d.streamId << FLASH_W0_STREAM_ID_SHIFT | unsigned(d.tail) << FLASH_W0_TAIL_SHIFT |
                           d.tag << FLASH_W0_TAG_SHIFT);
    writeReg(FLASH_W1, d.w1);
    writeReg(FLASH_W2, d.w2);
    if (d.op == FLASH_OP_PROGRAM || d.op == FLASH_OP_READ_RAW || d.check) {
        writeReg(FLASH_OOB0, d.oob0);
        writeReg(FLASH_OOB1, d.oob1);
    }
    writeReg(FLASH_W3, d.bytes | d.confirm << FLASH_W3_CONFIRM_SHIFT);
}

bool FlashBench::pop(Completion &c) {
    if (!top->io_pending)
        return false;
    uint32_t word = readReg(FLASH_CPL);
    if (!(word >> FLASH_CPL_VALID_SHIFT & 1))
        throw BenchError("pending without a completion");
    c.tag = word >> FLASH_CPL_TAG_SHIFT & FLASH_CPL_TAG_MASK;
    c.status = word >> FLASH_CPL_STATUS_SHIFT & FLASH_CPL_STATUS_MASK;
    c.way = word >> FLASH_CPL_WAY_SHIFT & FLASH_CPL_WAY_MASK;
    c.errors = word >> FLASH_CPL_ERRORS_SHIFT & FLASH_CPL_ERRORS_MASK;
    uint32_t code = readReg(FLASH_CPL_CODE);
    c.bits = code >> FLASH_CPL_CODE_BITS_SHIFT & FLASH_CPL_CODE_BITS_MASK;
    c.failed = code >> FLASH_CPL_CODE_FAILED_SHIFT & FLASH_CPL_CODE_FAILED_MASK;
    c.data0 = readReg(FLASH_CPL_DATA);
    c.data1 = readReg(FLASH_CPL_DATA1);
    c.cycle = now;
    writeReg(FLASH_CPL_POP, 1);
    return true;
}

Completion FlashBench::wait(uint64_t limit) {
    Completion c;
    uint64_t end = now + limit;
    while (!pop(c)) {
        if (now >= end)
            throw BenchError("no completion within " + std::to_string(limit) + " cycles");
        tick();
    }
    return c;
}

Completion FlashBench::execute(const Descriptor &d) {
    push(d);
    Completion c = wait();
    if (c.tag != d.tag || c.way != d.way)
        throw BenchError("completion of another descriptor");
    return c;
}

void FlashBench::setTiming(const assasin::NandCycles &t) {
    writeReg(FLASH_TIMING0, t.tWC << FLASH_TIMING0_TWC_SHIFT | t.tCS << FLASH_TIMING0_TCS_SHIFT |
                                t.tRPRE << FLASH_TIMING0_TRPRE_SHIFT | t.tPST << FLASH_TIMING0_TPST_SHIFT);
    writeReg(FLASH_TIMING1,
             t.tWB << FLASH_TIMING1_TWB_SHIFT | t.tRR << FLASH_TIMING1_TRR_SHIFT | t.tWHR << FLASH_TIMING1_TWHR_SHIFT);
    writeReg(FLASH_TIMING2, t.tADL << FLASH_TIMING2_TADL_SHIFT | t.tCCS << FLASH_TIMING2_TCCS_SHIFT);
    writeReg(FLASH_DATA_RATE, t.beat);
}

void FlashBench::setSteps() {
    static const uint32_t steps[] = FLASH_DEFAULT_STEPS;
    static const uint32_t phases[16] = FLASH_DEFAULT_PHASES;
    for (unsigned i = 0; i < FLASH_DEFAULT_STEP_COUNT; i++)
        writeReg(FLASH_STEPS + 4 * i, steps[i]);
    for (unsigned i = 0; i < 16; i++)
        writeReg(FLASH_PHASES + 4 * i, phases[i]);
}

void FlashBench::setCode(unsigned n) {
    uint32_t info = readReg(FLASH_CODE_INFO + 4 * n);
    codec = std::make_unique<assasin::SectorCodec>(info & FLASH_CODE_INFO_T_MASK, kPhyBytes);
    if ((info >> FLASH_CODE_INFO_PARITY_SHIFT & FLASH_CODE_INFO_PARITY_MASK) != codec->parityBytes())
        throw BenchError("CODE_INFO " + std::to_string(n) + " says " + std::to_string(info >> 8) +
                         " parity bytes, the codec has " + std::to_string(codec->parityBytes()));
    writeReg(FLASH_CODE, n);
    for (unsigned i = 0; readReg(FLASH_CODE) >> FLASH_CODE_BUSY_SHIFT; i++)
        if (i > 10000)
            throw BenchError("the code's table is not done");
}

unsigned FlashBench::strongest() {
    unsigned best = 0;
    for (unsigned n = 1; n < 8; n++) {
        uint32_t info = readReg(FLASH_CODE_INFO + 4 * n);
        if (info && (4 * (1028 + (info >> FLASH_CODE_INFO_PARITY_SHIFT)) << sectorLog2) <= part.geometry.rawPageBytes())
            best = n;
    }
    return best;
}

std::vector<uint8_t> FlashBench::raw(unsigned way, unsigned lun, unsigned block, unsigned page) const {
    std::vector<uint8_t> bytes(part.geometry.rawPageBytes(), 0xFF);
    image->read({0, way, lun, block}, page, bytes.data());
    return bytes;
}

std::vector<uint8_t> pattern(uint64_t key, unsigned bytes) {
    std::mt19937_64 generator(key);
    std::vector<uint8_t> data(bytes);
    for (uint8_t &byte : data)
        byte = static_cast<uint8_t>(generator());
    return data;
}

void FlashBench::put(unsigned way, unsigned lun, unsigned block, unsigned page, uint32_t key) {
    std::vector<uint8_t> bytes(part.geometry.rawPageBytes(), 0xFF);
    for (unsigned s = 0; s < sectors(); s++)
        codec->encode(sector(lun, block, page, s), setting, pattern(key + s).data(), key, s,
                      &bytes[s * codec->sectorBytes()]);
    image->program({0, way, lun, block}, page, bytes.data());
}

void FlashBench::setGeometry(unsigned log2, unsigned sectorLog2_, bool oneLun) {
    sectorLog2 = sectorLog2_;
    unsigned lunBits = 0;
    while (!oneLun && (1u << lunBits) < part.geometry.luns)
        lunBits++;
    unsigned planeBits = 0;
    while ((1u << planeBits) < part.geometry.planes)
        planeBits++;
    writeReg(FLASH_PLANES, part.geometry.pageBits() << FLASH_PLANES_SHIFT_SHIFT | planeBits << FLASH_PLANES_BITS_SHIFT);
    writeReg(FLASH_GEOMETRY, log2 << FLASH_GEOMETRY_PAGE_LOG2_SHIFT | sectorLog2 << FLASH_GEOMETRY_SECTOR_LOG2_SHIFT |
                                 part.geometry.spareBytes << FLASH_GEOMETRY_SPARE_SHIFT |
                                 part.geometry.lunShift() << FLASH_GEOMETRY_LUN_SHIFT_SHIFT |
                                 lunBits << FLASH_GEOMETRY_LUN_BITS_SHIFT);
}

void FlashBench::setWaits() {
    auto units = [&](uint64_t ns) { return static_cast<uint32_t>((timing.cycles(ns) + 255) / 256); };
    writeReg(FLASH_WAIT0, units(part.array.tR) << FLASH_WAIT0_READ_SHIFT | units(part.array.tPROG)
                                                                               << FLASH_WAIT0_PROGRAM_SHIFT);
    writeReg(FLASH_WAIT1, units(part.array.tBERS) << FLASH_WAIT1_ERASE_SHIFT | 4u << FLASH_WAIT1_AGAIN_SHIFT);
}

void FlashBench::boot() {
    setSteps();
    Descriptor d;
    for (unsigned way = 0; way < kWays; way++) {
        d.op = FLASH_OP_RESET;
        d.way = way;
        if (execute(d).status != FLASH_STATUS_OK)
            throw BenchError("RESET failed");
        d.op = FLASH_OP_SET_FEATURE;
        d.w1 = 0x02;
        d.w2 = configuration;
        if (configuration != 0 && execute(d).status != FLASH_STATUS_OK)
            throw BenchError("SET_FEATURE failed");
        d.w1 = 0x01;
        d.w2 = 0x20 | part.timingMode;
        if (execute(d).status != FLASH_STATUS_OK)
            throw BenchError("SET_FEATURE failed");
    }
    setTiming(timing.nvddr2());
    unsigned log2 = 0;
    while ((1u << log2) < part.geometry.pageBytes)
        log2++;
    setGeometry(log2, log2 - 12);
    setWaits();
    setCode(strongest());
    writeReg(FLASH_SEED, setting.seed);
    writeReg(FLASH_LAYOUT, setting.layout);
}

uint32_t FlashBench::row(unsigned lun, unsigned block, unsigned page) const {
    return lun << part.geometry.lunShift() | block << part.geometry.pageBits() | page;
}

std::vector<uint8_t> FlashBench::dram(uint32_t address, unsigned bytes) const {
    auto from = dram_.begin() + (address - kDramBase);
    return std::vector<uint8_t>(from, from + bytes);
}

void FlashBench::fillDram(uint32_t address, const std::vector<uint8_t> &data) {
    if (address < kDramBase || address - kDramBase + data.size() > dram_.size())
        throw BenchError("DRAM address " + std::to_string(address) + " is not there");
    std::copy(data.begin(), data.end(), dram_.begin() + (address - kDramBase));
}

unsigned FlashBench::formula() const {
    assasin::NandCycles t = timing.nvddr2();
    return t.tCS + 7 * t.tWC + t.tCS + t.tRPRE + codec->sectorBytes() / kPhyBytes * t.beat + t.tPST;
}

} // namespace flashbench
