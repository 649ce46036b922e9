// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/model.h"

#include <algorithm>
#include <cstring>

#include "tests/model/internal.h"

namespace model {

Device *current = nullptr;

/* ---- device ---- */

Device::Device(Nand &n, uint32_t coreCount, uint32_t seed) : host(96u << 20), rng(seed), nand(n), cores(coreCount) {
    for (Core &k : cores) {
        coreClear(k);
    }
    nand.cells().reliability().seed = seed;
}

Device::~Device() {
    /* Without tearInFlight() before: as if it had never begun. */
    nand.cut(Tear::NotBegun);
}

void Device::addSlot(const Slot &slot) {
    slots++;
    cores.emplace_back();
    Core &k = cores.back();
    k.kernelId = slot.id;
    k.function = slot.function;
    k.inputs = slot.inputs;
    coreClear(k);
}

std::vector<uint8_t> &Device::dramPage(uint32_t addr) const {
    auto &p = dram[addr >> 12];
    if (p.empty()) {
        /* Power-on contents are arbitrary: firmware may not count on zeros. */
        p.assign(4096, 0xa5);
    }
    return p;
}

uint32_t Device::dramRead(uint32_t addr) const {
    uint32_t v;
    std::memcpy(&v, &dramPage(addr)[addr & 0xffc], 4);
    return v;
}

void Device::dramWrite(uint32_t addr, uint32_t v) {
    std::memcpy(&dramPage(addr)[addr & 0xffc], &v, 4);
}

void Device::dramCopyOut(uint32_t addr, uint8_t *dst, uint32_t n) const {
    while (n > 0) {
        uint32_t k = std::min(n, 4096 - (addr & 4095));
        std::memcpy(dst, &dramPage(addr)[addr & 4095], k);
        addr += k, dst += k, n -= k;
    }
}

void Device::dramCopyIn(uint32_t addr, const uint8_t *src, uint32_t n) {
    while (n > 0) {
        uint32_t k = std::min(n, 4096 - (addr & 4095));
        std::memcpy(&dramPage(addr)[addr & 4095], src, k);
        addr += k, src += k, n -= k;
    }
}

void Device::devRead(uint32_t addr, uint8_t *dst, uint32_t n) {
    if (addr & kDramBit) {
        dramCopyOut(addr, dst, n);
    } else {
        std::memcpy(dst, reinterpret_cast<const void *>(tcmBase + addr), n);
    }
}

void Device::devWrite(uint32_t addr, const uint8_t *src, uint32_t n) {
    if (addr & kDramBit) {
        dramCopyIn(addr, src, n);
    } else if (addr < tcmFirst || addr + n > tcmEnd) {
        violation("DMA to TCM " + hex(addr) + ", which SYS.TCM_WRITE_FIRST and SYS.TCM_WRITE_END close");
    } else {
        std::memcpy(reinterpret_cast<void *>(tcmBase + addr), src, n);
    }
}

void Device::runDue() {
    while (!events.empty() && events.top().at <= now) {
        auto run = events.top().run;
        events.pop();
        run();
    }
}

void Device::advance(uint64_t cycles) {
    uint64_t target = now + cycles;
    while (!events.empty() && events.top().at <= target) {
        now = std::max(now, events.top().at);
        if (now >= cutAt) {
            throw PowerCut{};
        }
        auto run = events.top().run;
        events.pop();
        run();
    }
    now = std::max(now, target);
    if (now >= cutAt) {
        throw PowerCut{};
    }
}

void Device::wfi() {
    if (eventLevel() & eventEnable) {
        idleWfi = 0;
        return;
    }
    if (events.empty()) {
        idleWfi++;
        return;
    }
    idleWfi = 0;
    advance(events.top().at - std::min(now, events.top().at));
}

uint32_t Device::eventLevel() const {
    uint32_t e = 0;
    e |= (now >= mtimecmp) << SYS_EVENT_TIMER_SHIFT;
    e |= static_cast<uint32_t>(!staged.empty()) << SYS_EVENT_SQE_SHIFT;
    e |= (nvEvent != 0) << SYS_EVENT_CTRL_SHIFT;
    e |= (hdmaEvent != 0) << SYS_EVENT_HDMA_SHIFT;
    for (uint32_t c = 0; c < nand.geo.channels; c++) {
        e |= static_cast<uint32_t>(!ch[c].cpl.empty()) << SYS_EVENT_FLASH_SHIFT;
    }
    for (const Core &k : cores) {
        e |= ((coreEvent(k) & k.eventEnable) != 0) << SYS_EVENT_CORE_SHIFT;
    }
    return e;
}

bool Device::flashIdle() const {
    for (uint32_t c = 0; c < nand.geo.channels; c++) {
        if (!ch[c].cpl.empty()) {
            return false;
        }
        for (const Way &w : ch[c].ways) {
            if (!w.fifo.empty()) {
                return false;
            }
        }
    }
    return true;
}

bool Device::quiet() const {
    return (eventLevel() & eventEnable) == 0 && events.empty();
}

uint32_t Device::read(uint32_t addr) {
    noteStack();
    if ((addr & 3) != 0) {
        violation("misaligned read of " + hex(addr));
    }
    if (addr & kDramBit) {
        advance(40);
        return dramRead(addr);
    }
    advance(8);
    if (addr >= ASSASIN_CORE_BASE && addr < ASSASIN_CORE_BASE + cores.size() * ASSASIN_CORE_STRIDE) {
        return coreRead((addr - ASSASIN_CORE_BASE) / ASSASIN_CORE_STRIDE, addr % ASSASIN_CORE_STRIDE);
    }
    if (addr >= ASSASIN_FLASH_BASE && addr < ASSASIN_FLASH_BASE + nand.geo.channels * ASSASIN_FLASH_STRIDE) {
        return flashRead((addr - ASSASIN_FLASH_BASE) / ASSASIN_FLASH_STRIDE, addr % ASSASIN_FLASH_STRIDE);
    }
    switch (addr & ~0xfffu) {
    case ASSASIN_SYS_BASE:
        return sysRead(addr & 0xfff);
    case ASSASIN_NVME_BASE:
        return nvmeRead(addr & 0xfff);
    case ASSASIN_HDMA_BASE:
        return hdmaRead(addr & 0xfff);
    default:
        break;
    }
    if (addr >= ASSASIN_XDMA_BASE && addr < ASSASIN_XDMA_BASE + ASSASIN_XDMA_SIZE) {
        /* Only the status of the host-to-card channel that reading clears: an address that nobody answers at. */
        bool status = addr - ASSASIN_XDMA_BASE == 0x144 && fetchFailed;
        fetchFailed = fetchFailed && !status;
        return status ? 1u << 9 : 0;
    }
    violation("read of unmapped " + hex(addr));
}

void Device::write(uint32_t addr, uint32_t v) {
    noteStack();
    if ((addr & 3) != 0) {
        violation("misaligned write of " + hex(addr));
    }
    if (addr & kDramBit) {
        advance(10);
        dramWrite(addr, v);
        return;
    }
    advance(3);
    if (addr >= ASSASIN_CORE_BASE && addr < ASSASIN_CORE_BASE + cores.size() * ASSASIN_CORE_STRIDE) {
        coreWrite((addr - ASSASIN_CORE_BASE) / ASSASIN_CORE_STRIDE, addr % ASSASIN_CORE_STRIDE, v);
        return;
    }
    if (addr >= ASSASIN_FLASH_BASE && addr < ASSASIN_FLASH_BASE + nand.geo.channels * ASSASIN_FLASH_STRIDE) {
        flashWrite((addr - ASSASIN_FLASH_BASE) / ASSASIN_FLASH_STRIDE, addr % ASSASIN_FLASH_STRIDE, v);
        return;
    }
    if (addr >= ASSASIN_SLOT_BASE && addr < ASSASIN_SLOT_BASE + slots * ASSASIN_SLOT_STRIDE) {
        slotWrite((addr - ASSASIN_SLOT_BASE) / ASSASIN_SLOT_STRIDE, addr % ASSASIN_SLOT_STRIDE, v);
        return;
    }
    switch (addr & ~0xfffu) {
    case ASSASIN_SYS_BASE:
        sysWrite(addr & 0xfff, v);
        return;
    case ASSASIN_NVME_BASE:
        nvmeWrite(addr & 0xfff, v);
        return;
    case ASSASIN_HDMA_BASE:
        hdmaWrite(addr & 0xfff, v);
        return;
    default:
        break;
    }
    if (addr >= ASSASIN_XDMA_BASE && addr < ASSASIN_XDMA_BASE + ASSASIN_XDMA_SIZE) {
        return;
    }
    violation("write of unmapped " + hex(addr));
}

/* ---- SYS ---- */

uint32_t Device::sysRead(uint32_t r) {
    if (r >= SYS_SLOT_ID && r < SYS_SLOT_ID + slots * 4) {
        return cores[cores.size() - slots + (r - SYS_SLOT_ID) / 4].kernelId;
    }
    switch (r) {
    case SYS_ID:
        return 0x31535341;
    case SYS_CONFIG:
        return (static_cast<uint32_t>(cores.size()) - slots) | nand.geo.channels << 8 | nand.geo.ways << 16 | 1u << 24;
    case SYS_CONFIG2:
        return 12 | static_cast<uint32_t>(channelLocal) << SYS_CONFIG2_CHANNEL_LOCAL_SHIFT |
               slots << SYS_CONFIG2_SLOTS_SHIFT;
    case SYS_ARCH:
        return arch;
    case SYS_MTIME_LO:
        mtimeHi = static_cast<uint32_t>(now >> 32);
        return static_cast<uint32_t>(now);
    case SYS_MTIME_HI:
        return mtimeHi;
    case SYS_MTIMECMP_LO:
        return static_cast<uint32_t>(mtimecmp);
    case SYS_MTIMECMP_HI:
        return static_cast<uint32_t>(mtimecmp >> 32);
    case SYS_EVENT:
        return eventLevel();
    case SYS_EVENT_ENABLE:
        return eventEnable;
    case SYS_FLASH_PENDING: {
        uint32_t v = 0;
        for (uint32_t c = 0; c < nand.geo.channels; c++) {
            v |= static_cast<uint32_t>(!ch[c].cpl.empty()) << c;
        }
        return v;
    }
    case SYS_CORE_PENDING: {
        uint32_t v = 0;
        for (size_t c = 0; c < cores.size(); c++) {
            v |= static_cast<uint32_t>((coreEvent(cores[c]) & cores[c].eventEnable) != 0) << c;
        }
        return v;
    }
    case SYS_CONSOLE_RX:
    case SYS_SLEEP_CYCLES_LO:
    case SYS_SLEEP_CYCLES_HI:
    case SYS_DRAM_READ_LO:
    case SYS_DRAM_READ_HI:
    case SYS_DRAM_WRITE_LO:
    case SYS_DRAM_WRITE_HI:
        return 0;
    case SYS_BOOT_ARG:
        return bootArg;
    default:
        violation("read of SYS+" + hex(r));
    }
}

void Device::armTimer() {
    /* High half all ones: not armed, or the firmware is between its writes. */
    if (mtimecmp >> 32 != UINT32_MAX && mtimecmp > now) {
        at(mtimecmp - now, [] {});
    }
}

void Device::sysWrite(uint32_t r, uint32_t v) {
    switch (r) {
    case SYS_MTIMECMP_LO:
        mtimecmp = (mtimecmp >> 32 << 32) | v;
        armTimer();
        break;
    case SYS_MTIMECMP_HI:
        mtimecmp = (mtimecmp & 0xffffffffu) | static_cast<uint64_t>(v) << 32;
        armTimer();
        break;
    case SYS_EVENT_ENABLE:
        eventEnable = v;
        break;
    case SYS_TCM_WRITE_FIRST:
        tcmFirst = v;
        break;
    case SYS_TCM_WRITE_END:
        tcmEnd = v;
        break;
    case SYS_CONSOLE_TX:
        console.push_back(static_cast<char>(v));
        break;
    default:
        violation("write of SYS+" + hex(r));
    }
}

/* ---- NVME ---- */

void Device::fetch() {
    for (uint32_t i = 0; i < 9; i++) {
        while (q[i].sq && !q[i].waiting.empty() && staged.size() < 16) {
            staged.push_back({i, q[i].waiting.front()});
            q[i].waiting.pop_front();
        }
    }
}

void Device::submit(uint32_t sqid, const std::array<uint32_t, 16> &sqe) {
    q[sqid].waiting.push_back(sqe);
    fetch();
}

void Device::hostWriteCc(uint32_t v) {
    if ((cc & 1) && !(v & 1)) {
        if (csts & 1) {
            ending = true;
            resetDone = false;
        }
        csts &= ~1u;
        for (Queue &k : q) {
            k.sq = k.cq = false;
            k.waiting.clear();
        }
    }
    cc = v;
    nvEvent |= NVME_EVENT_CC_MASK << NVME_EVENT_CC_SHIFT;
}

void Device::hostWriteAdmin(uint64_t sqBase, uint64_t cqBase, uint32_t sizes) {
    asq = sqBase;
    acq = cqBase;
    aqa = sizes;
}

uint32_t Device::hostCsts() const {
    return cc & 1 ? csts : (csts & ~1u) | static_cast<uint32_t>(ending);
}

/** Host memory is read or written: not while the host may take it that the drive leaves it alone. */
void Device::hostTouched(const char *how) {
    if ((hostCsts() & 1) == 0 && !(cc & 1)) {
        violation(std::string(how) + " with CC.EN and CSTS.RDY 0");
    }
    if ((csts >> 2 & 3) == 2) {
        violation(std::string(how) + " after the end of a shutdown was reported");
    }
}

void Device::queueGone() {
    fetchFailed = true;
    hdmaEvent |= HDMA_EVENT_ERROR_MASK << HDMA_EVENT_ERROR_SHIFT;
}

void Device::hostNssr() {
    hostWriteCc(0);
    nvEvent &= ~(NVME_EVENT_CC_MASK << NVME_EVENT_CC_SHIFT);
    asq = acq = aqa = 0;
    nvEvent |= NVME_EVENT_NSSR_MASK << NVME_EVENT_NSSR_SHIFT;
}

void Device::badDoorbell(uint32_t v) {
    badDb = v;
    nvEvent |= NVME_EVENT_BAD_DOORBELL_MASK << NVME_EVENT_BAD_DOORBELL_SHIFT;
}

uint32_t Device::nvmeRead(uint32_t r) {
    if (r >= NVME_SQE && r < NVME_SQE + 64) {
        if (staged.empty()) {
            violation("read of SQE with none waiting");
        }
        return staged.front().second[(r - NVME_SQE) / 4];
    }
    switch (r) {
    case NVME_EVENT:
        return nvEvent;
    case NVME_CC:
        return cc;
    case NVME_CSTS:
        return csts;
    case NVME_AQA:
        return aqa;
    case NVME_ASQ_LO:
        return static_cast<uint32_t>(asq);
    case NVME_ASQ_HI:
        return static_cast<uint32_t>(asq >> 32);
    case NVME_ACQ_LO:
        return static_cast<uint32_t>(acq);
    case NVME_ACQ_HI:
        return static_cast<uint32_t>(acq >> 32);
    case NVME_BAD_DB:
        return badDb;
    case NVME_SQE_STATUS:
        return staged.empty() ? 0 : 1u << 31 | static_cast<uint32_t>(staged.size()) << 8 | staged.front().first;
    case NVME_FETCH_TIME_LO:
    case NVME_FETCH_TIME_HI:
    case NVME_POST_TIME_LO:
    case NVME_POST_TIME_HI:
        return 0;
    case NVME_CQE_SPACE:
        if (cqeStall > 0) {
            cqeStall--;
            return 0;
        }
        return 8 - cqeUsed;
    default:
        violation("read of NVME+" + hex(r));
    }
}

void Device::nvmeWrite(uint32_t r, uint32_t v) {
    switch (r) {
    case NVME_EVENT:
        nvEvent &= ~v;
        break;
    case NVME_CSTS:
        csts = v;
        break;
    case NVME_RESET_DONE:
        if (h2cQueued + c2hQueued > 0) {
            violation("RESET_DONE with transfers under way");
        }
        resetDone = true;
        ending = ending && cqeUsed > 0;
        break;
    case NVME_CAP_LO:
        capLo = v;
        break;
    case NVME_CAP_HI:
    case NVME_SQ_BASE_LO:
    case NVME_SQ_BASE_HI:
    case NVME_CQ_BASE_LO:
    case NVME_CQ_BASE_HI:
        break;
    case NVME_QSEL:
        if (v > 8) {
            violation("QSEL " + std::to_string(v));
        }
        qsel = v;
        break;
    case NVME_SQ_CFG:
        q[qsel].sq = v >> 31;
        q[qsel].cqid = F(NVME_SQ_CFG, CQID, v);
        if (q[qsel].sq && !q[q[qsel].cqid].cq) {
            violation("submission queue on an absent completion queue");
        }
        fetch();
        break;
    case NVME_CQ_CFG:
        q[qsel].cq = v >> 31;
        break;
    case NVME_SQE_POP:
        if (staged.empty()) {
            violation("SQE_POP with none waiting");
        }
        staged.pop_front();
        fetch();
        break;
    case NVME_CQE_DW0:
        dw0 = v;
        break;
    case NVME_CQE_DW1:
        dw1 = v;
        break;
    case NVME_CQE_ID:
        cqeId = v;
        break;
    case NVME_CQE_PUSH: {
        if (cqeUsed == 8) {
            violation("completion pushed without space");
        }
        cqeUsed++;
        uint32_t sqid = F(NVME_CQE_ID, SQID, cqeId);
        Completion c{static_cast<uint16_t>(cqeId),
                     static_cast<uint16_t>(sqid),
                     static_cast<uint16_t>(v & 0x7ff),
                     (v & 0x4000) != 0,
                     dw0,
                     dw1,
                     (v & 0x2000) != 0};
        bool drop = sqid > 8 || !q[q[sqid].cqid].cq;
        at(jitter(200), [this, c, drop] {
            if (!drop) {
                hostTouched("completion");
            }
            cqeUsed--;
            ending = ending && (!resetDone || cqeUsed > 0);
            if (drop) {
                nvEvent |= NVME_EVENT_DROPPED_CQE_MASK << NVME_EVENT_DROPPED_CQE_SHIFT;
            } else {
                completions.push_back(c);
            }
        });
        break;
    }
    default:
        violation("write of NVME+" + hex(r));
    }
}

/* ---- HDMA ---- */

uint32_t Device::hdmaRead(uint32_t r) {
    switch (r) {
    case HDMA_EVENT:
        return hdmaEvent;
    case HDMA_H2C_DONE:
        return h2cDone;
    case HDMA_C2H_DONE:
        return c2hDone;
    case HDMA_COPY_DONE:
        return copyDone;
    case HDMA_FILL_BUSY:
        return now < fillUntil;
    default:
        violation("read of HDMA+" + hex(r));
    }
}

void Device::transfer(bool toHost, uint32_t len) {
    uint32_t &queued = toHost ? c2hQueued : h2cQueued;
    if (queued == 16 || len == 0) {
        violation("host DMA queue overflow or empty transfer");
    }
    queued++;
    uint64_t addr = hostLo | static_cast<uint64_t>(hostHi) << 32;
    uint32_t device = dev;
    uint64_t &free = toHost ? c2hFree : h2cFree;
    free = std::max(now + 100, free) + len / 8 + rng() % 64;
    at(free - now, [this, toHost, addr, device, len] {
        hostTouched(toHost ? "transfer to the host" : "transfer from the host");
        if (onDma) {
            onDma(addr, len, toHost);
        }
        if (addr < kHostBase || addr + len > kHostBase + host.size()) {
            dmaErrors++;
            hdmaEvent |= HDMA_EVENT_ERROR_MASK << HDMA_EVENT_ERROR_SHIFT;
        } else if (toHost) {
            devRead(device, &host[addr - kHostBase], len);
        } else {
            devWrite(device, &host[addr - kHostBase], len);
        }
        if (toHost) {
            c2hDone++, c2hQueued--;
            hdmaEvent |= HDMA_EVENT_C2H_MASK << HDMA_EVENT_C2H_SHIFT;
        } else {
            h2cDone++, h2cQueued--;
            hdmaEvent |= HDMA_EVENT_H2C_MASK << HDMA_EVENT_H2C_SHIFT;
        }
    });
}

void Device::copy(uint32_t src, uint32_t dst, uint32_t pos, uint32_t len) {
    if (copyQueued == 16 || len == 0 || len > 65536 || (src & 63) != 0) {
        violation("copy: queue overflow, length or alignment");
    }
    copyQueued++;
    copyFree = std::max(now + 50, copyFree) + len / 8;
    at(copyFree - now, [this, src, dst, pos, len] {
        std::vector<uint8_t> data(len);
        dramCopyOut(src, data.data(), len);
        uint32_t core = F(HDMA_COPY_DST, CORE, dst);
        if (core >= cores.size()) {
            violation("copy to absent core");
        }
        Core &k = cores[core];
        if (dst >> HDMA_COPY_DST_STREAM_SHIFT & 1) {
            deliver(core, F(HDMA_COPY_DST, STREAM_ID, dst), pos, data.data(), len, true);
        } else {
            uint32_t off = F(HDMA_COPY_DST, OFFSET, dst);
            if ((off & 7) != 0 || (k.ctrl & 1) || k.function != 0) {
                violation("copy to a running core, to a slot or misaligned");
            }
            if (off >= ASSASIN_XB_SPAD_BASE && off + len <= ASSASIN_XB_SPAD_BASE + 0x10000) {
                std::memcpy(&k.spad[off - ASSASIN_XB_SPAD_BASE], data.data(), len);
            } else if (off >= ASSASIN_XB_IMEM_BASE && off + len <= ASSASIN_XB_IMEM_BASE + 0x8000) {
                std::memcpy(&k.imem[off - ASSASIN_XB_IMEM_BASE], data.data(), len);
            } else if (off + len <= ASSASIN_XB_ISB_BASE + ASSASIN_XB_ISB_SIZE) {
                for (auto &in : k.in) {
                    if (in.tail != 0 || !in.lengths.empty()) {
                        violation("copy over pages that were delivered");
                    }
                    std::fill(in.ring.begin(), in.ring.end(), 0);
                }
            } else {
                violation("copy outside the core's memories");
            }
        }
        copyDone++, copyQueued--;
        hdmaEvent |= HDMA_EVENT_COPY_MASK << HDMA_EVENT_COPY_SHIFT;
    });
}

void Device::hdmaWrite(uint32_t r, uint32_t v) {
    switch (r) {
    case HDMA_HOST_LO:
        hostLo = v;
        break;
    case HDMA_HOST_HI:
        hostHi = v;
        break;
    case HDMA_DEV:
        dev = v;
        break;
    case HDMA_H2C_PUSH:
        transfer(false, v);
        break;
    case HDMA_C2H_PUSH:
        transfer(true, v);
        break;
    case HDMA_EVENT:
        hdmaEvent &= ~v;
        break;
    case HDMA_COPY_SRC:
        copySrc = v;
        break;
    case HDMA_COPY_DST:
        copyDst = v;
        break;
    case HDMA_COPY_POS:
        copyPos = v;
        break;
    case HDMA_COPY_PUSH:
        copy(copySrc, copyDst, copyPos, v);
        break;
    case HDMA_FILL_DST:
        fillDst = v;
        break;
    case HDMA_FILL_PUSH: {
        if (now < fillUntil || (v & 63) != 0 || (fillDst & 63) != 0) {
            violation("fill while busy or misaligned");
        }
        std::vector<uint8_t> zero(v);
        dramCopyIn(fillDst, zero.data(), v);
        fillUntil = now + v / 8;
        break;
    }
    default:
        violation("write of HDMA+" + hex(r));
    }
}

/* ---- CORE ---- */

void Device::coreClear(Core &k) {
    uint32_t ring = 0x10000u >> k.sLog2;
    k.generation++;
    for (auto &i : k.in) {
        i = Core::In{};
        i.ring.assign(ring, 0);
    }
    for (auto &o : k.out) {
        o = Core::Out{};
        o.ring.assign(ring, 0);
        o.tail = ring;
    }
    k.drains.clear();
    k.drainsDone = 0;
    k.cycles = k.instret = k.waitIn = k.waitOut = 0;
}

uint32_t Device::outReady(const Core &k) const {
    uint32_t v = 0;
    for (uint32_t s = 0; s < 1u << k.sLog2; s++) {
        v |= static_cast<uint32_t>(k.out[s].head - k.out[s].covered >= 1u << k.pageLog2) << s;
    }
    return v;
}

uint32_t Device::coreEvent(const Core &k) const {
    return k.eventStopped | k.eventDrained << 1 | static_cast<uint32_t>(outReady(k) != 0) << 2;
}

uint32_t Device::coreRead(uint32_t c, uint32_t r) {
    Core &k = cores[c];
    uint32_t i = (r & 0x1f) / 4;
    if (r >= CORE_IHEAD && r < CORE_IHEAD + 32) {
        return k.in[i].head;
    }
    if (r >= CORE_OHEAD && r < CORE_OHEAD + 32) {
        return k.out[i].head;
    }
    switch (r) {
    case CORE_STATUS:
        return k.state | k.cause << 8;
    case CORE_PC:
        return k.pc;
    case CORE_TVAL:
        return k.tval;
    case CORE_EXIT_CODE:
        return k.exitCode;
    case CORE_EVENT:
        return coreEvent(k);
    case CORE_OUT_READY:
        return outReady(k);
    case CORE_DRAIN_STATE:
        return static_cast<uint32_t>(4 - k.drains.size()) | k.drainsDone << 16;
    case CORE_IEND_VALID: {
        uint32_t v = 0;
        for (uint32_t s = 0; s < 8; s++) {
            v |= static_cast<uint32_t>(k.in[s].endValid) << s;
        }
        return v;
    }
    case CORE_CYCLES_LO:
        return static_cast<uint32_t>(k.cycles);
    case CORE_INSTRET_LO:
        return static_cast<uint32_t>(k.instret);
    case CORE_CYCLES_HI:
    case CORE_INSTRET_HI:
    case CORE_WAIT_IN_CYCLES_LO:
    case CORE_WAIT_IN_CYCLES_HI:
    case CORE_WAIT_OUT_CYCLES_LO:
    case CORE_WAIT_OUT_CYCLES_HI:
    case CORE_WAIT_MEM_CYCLES_HI:
    case CORE_L1_MISSES_HI:
    case CORE_L2_MISSES_HI:
    case CORE_PREFETCHES_HI:
        return 0;
    /* A counter that a report mixes up with another shows. */
    case CORE_WAIT_MEM_CYCLES_LO:
        return static_cast<uint32_t>(k.cycles) / 2;
    case CORE_L1_MISSES_LO:
        return static_cast<uint32_t>(k.cycles) / 3;
    case CORE_L2_MISSES_LO:
        return static_cast<uint32_t>(k.cycles) / 4;
    case CORE_PREFETCHES_LO:
        return static_cast<uint32_t>(k.cycles) / 5;
    default:
        violation("read of CORE+" + hex(r));
    }
}

void Device::coreWrite(uint32_t c, uint32_t r, uint32_t v) {
    Core &k = cores[c];
    if (r >= CORE_IEND && r < CORE_IEND + 32) {
        k.in[(r - CORE_IEND) / 4].end = v;
        return;
    }
    switch (r) {
    case CORE_CTRL:
        if ((v & 1) && !(k.ctrl & 1)) {
            k.state = CORE_STATE_RUNNING;
            k.consumed = 0;
            k.turn = k.acc = 0;
            k.count.fill(0);
            k.sum.fill(0);
            k.epilogue = false;
            k.emit.clear();
            k.ctrl = 1;
            if (k.function == 0) {
                coreSchedule(c, 10);
            }
        } else if (!(v & 1)) {
            k.state = CORE_STATE_IDLE;
            k.ctrl = 0;
            k.kernelRegs.fill(0);
            k.scalars.fill(0);
        }
        if (v & 2) {
            coreClear(k);
        }
        break;
    case CORE_ENTRY:
        k.entry = v;
        break;
    case CORE_EVENT:
        k.eventStopped &= ~v;
        k.eventDrained &= ~(v >> 1);
        break;
    case CORE_EVENT_ENABLE:
        k.eventEnable = v;
        break;
    case CORE_PARTITION:
        if (k.ctrl & 1) {
            violation("partition of a running core");
        }
        if (!k.drains.empty()) {
            violation("partition with drains under way");
        }
        k.partition = v;
        k.sLog2 = F(CORE_PARTITION, S_LOG2, v);
        k.pageLog2 = F(CORE_PARTITION, PAGE_LOG2, v);
        coreClear(k);
        break;
    case CORE_DRAIN_POS:
        k.drainPos = v;
        break;
    case CORE_DRAIN_DST:
        k.drainDst = v;
        break;
    case CORE_DRAIN_DST_POS:
        k.drainDstPos = v;
        break;
    case CORE_DRAIN_PUSH: {
        uint32_t len = F(CORE_DRAIN_PUSH, LEN, v);
        uint32_t s = F(CORE_DRAIN_PUSH, STREAM_ID, v);
        bool toCore = F(CORE_DRAIN_PUSH, TO_CORE, v);
        if (k.drains.size() == 4 || len == 0 || (k.drainPos & 7) != 0 || k.drainPos != k.out[s].covered ||
            k.out[s].head - k.drainPos < len) {
            violation("bad drain");
        }
        if (!toCore && ((k.drainDst & 63) != 0 || !(k.drainDst & kDramBit))) {
            violation("drain to a bad DRAM address " + hex(k.drainDst));
        }
        if (toCore &&
            (F(CORE_DRAIN_DST, STREAM, k.drainDst) == 0 || F(CORE_DRAIN_DST, CORE, k.drainDst) >= cores.size() ||
             F(CORE_DRAIN_DST, CORE, k.drainDst) == c || len > 1u << k.pageLog2 ||
             (k.drainDstPos & ((1u << k.pageLog2) - 1)) != 0)) {
            violation("bad drain to a core");
        }
        k.out[s].covered += len;
        k.drains.push_back({k.drainPos, k.drainDst, k.drainDstPos, len, s, toCore});
        if (k.drains.size() == 1) {
            drainStart(c);
        }
        break;
    }
    case CORE_IEND_VALID:
        for (uint32_t s = 0; s < 8; s++) {
            k.in[s].endValid = v >> s & 1;
        }
        coreSchedule(c, 1);
        break;
    default:
        violation("write of CORE+" + hex(r));
    }
}

void Device::drainStart(uint32_t c) {
    Core &k = cores[c];
    uint32_t generation = k.generation;
    at(jitter(20 + k.drains.front().len / 8), [this, c, generation] {
        Core &core = cores[c];
        if (core.generation != generation) {
            return;
        }
        Core::Drain d = core.drains.front();
        core.drains.pop_front();
        auto &o = core.out[d.stream];
        std::vector<uint8_t> data((d.len + 7) / 8 * 8);
        for (uint32_t i = 0; i < data.size(); i++) {
            data[i] = o.ring[(d.pos + i) % o.ring.size()];
        }
        if (d.toCore) {
            deliver(F(CORE_DRAIN_DST, CORE, d.dst), F(CORE_DRAIN_DST, STREAM_ID, d.dst), d.dstPos, data.data(), d.len,
                    true);
        } else {
            /* Whole beats: what lies behind the bytes asked for comes along. */
            dramCopyIn(d.dst, data.data(), static_cast<uint32_t>(data.size()));
        }
        o.tail += d.len;
        core.drainsDone = (core.drainsDone + 1) & 0xffff;
        core.eventDrained = 1;
        if (!core.drains.empty()) {
            drainStart(c);
        }
        coreSchedule(c, 1);
    });
}

void Device::deliver(uint32_t c, uint32_t s, uint32_t pos, const uint8_t *data, uint32_t n, bool) {
    Core &k = cores[c];
    auto &in = k.in[s];
    uint32_t page = 1u << k.pageLog2;
    uint32_t number = pos >> k.pageLog2;
    uint32_t pages = static_cast<uint32_t>(in.ring.size()) / page;
    uint32_t first = static_cast<uint32_t>(in.fullPages & 0xfffff);
    uint32_t headPage = in.head >> k.pageLog2;
    if (((number - headPage) & 0xfffff) >= pages) {
        violation("page delivered into a full ring");
    }
    if (in.lengths.count(number) || ((number - first) & 0xfffff) >= pages) {
        violation("page delivered twice");
    }
    for (uint32_t i = 0; i < n; i++) {
        in.ring[(pos + i) % in.ring.size()] = data[i];
    }
    in.lengths[number] = n;
    while (true) {
        auto it = in.lengths.find(static_cast<uint32_t>(in.fullPages & 0xfffff));
        if (it == in.lengths.end()) {
            break;
        }
        in.tail = (it->first << k.pageLog2) + it->second;
        in.fullPages++;
        in.lengths.erase(it);
    }
    coreSchedule(c, 1);
}

void Device::slotWrite(uint32_t n, uint32_t r, uint32_t v) {
    uint32_t c = static_cast<uint32_t>(cores.size()) - slots + n;
    Core &k = cores[c];
    if (k.kernelId == 0 || (k.ctrl & 1) == 0) {
        violation("access to a kernel in reset, or to none");
    }
    if (r < KERNEL_SCALAR) {
        k.kernelRegs[r / 4] = v;
    } else if ((r - KERNEL_SCALAR) % 8 == 0 && (r - KERNEL_SCALAR) / 8 < k.scalars.size()) {
        k.scalars[(r - KERNEL_SCALAR) / 8] = v;
    } else {
        violation("write of a kernel's register " + hex(r));
    }
    if (r == KERNEL_CTRL && (v & 1)) {
        if (k.kernelRegs[KERNEL_GIE / 4] != 1 || k.kernelRegs[KERNEL_IER / 4] != 1) {
            violation("kernel started without its interrupt");
        }
        scomp_task task{};
        task.streams_in = k.inputs;
        task.streams_out = 1;
        task.args_bytes = KERNEL_MAX_SCALARS * 4;
        std::memcpy(k.spad.data(), &task, sizeof task);
        std::memcpy(&k.spad[SCOMP_SPAD_ARGS], k.scalars.data(), sizeof k.scalars);
        coreSchedule(c, 10);
    }
}

void Device::coreSchedule(uint32_t c, uint32_t delay) {
    Core &k = cores[c];
    if (k.scheduled || k.state != CORE_STATE_RUNNING || (k.function != 0 && (k.kernelRegs[0] & 1) == 0)) {
        return;
    }
    k.scheduled = true;
    at(delay, [this, c] {
        cores[c].scheduled = false;
        if (cores[c].state == CORE_STATE_RUNNING) {
            coreStep(c);
        }
    });
}

void Device::coreStop(uint32_t c, uint32_t state) {
    cores[c].state = state;
    cores[c].eventStopped = 1;
}

void Device::coreStep(uint32_t c) {
    Core &k = cores[c];
    uint32_t kernel;
    if (k.function != 0) {
        kernel = k.function;
    } else {
        std::memcpy(&kernel, &k.imem[k.entry], 4);
    }
    scomp_task task;
    std::memcpy(&task, k.spad.data(), sizeof task);
    uint32_t streams = task.streams_in;
    uint32_t work = 0;
    constexpr uint32_t kQuantum = 2048;
    auto available = [&](uint32_t s) { return k.in[s].tail - k.in[s].head; };
    auto atEnd = [&](uint32_t s) { return k.in[s].endValid && k.in[s].head == k.in[s].end; };
    auto byte = [&](uint32_t s) { return k.in[s].ring[k.in[s].head % k.in[s].ring.size()]; };
    auto store = [&](uint32_t s, uint8_t v) {
        auto &o = k.out[s];
        o.ring[o.head % o.ring.size()] = v;
        o.head++;
    };
    auto outRoom = [&](uint32_t s) { return k.out[s].tail - k.out[s].head; };
    auto emitWord = [&](uint32_t v) {
        for (int i = 0; i < 4; i++) {
            k.emit.push_back(static_cast<uint8_t>(v >> (8 * i)));
        }
    };
    auto flushEmit = [&] {
        while (!k.emit.empty() && outRoom(0) > 0) {
            store(0, k.emit.front());
            k.emit.pop_front();
            work++;
        }
        return k.emit.empty();
    };
    bool done = false;
    switch (kernel) {
    case kCount:
    case kSlow:
    case kHang:
    case kSkew: {
        uint32_t quantum = kernel == kSlow ? 128 : kQuantum;
        bool all = true;
        for (uint32_t s = 0; s < streams; s++) {
            for (uint32_t n = 0; n < quantum && available(s) > 0; n++) {
                k.sum[s] += byte(s);
                k.count[s]++;
                k.in[s].head++;
                work++;
            }
            all &= atEnd(s);
            if (kernel == kSkew && !atEnd(s)) {
                break;
            }
        }
        if (all && kernel == kHang) {
            coreStop(c, CORE_STATE_HUNG);
            break;
        }
        if (all && !k.epilogue) {
            k.epilogue = true;
            for (uint32_t s = 0; s < streams; s++) {
                emitWord(static_cast<uint32_t>(k.count[s]));
                emitWord(static_cast<uint32_t>(k.sum[s]));
            }
        }
        done = flushEmit() && k.epilogue;
        if (kernel == kSlow) {
            work *= 16;
        }
        break;
    }
    case kCopy: {
        bool all = true;
        for (uint32_t s = 0; s < streams; s++) {
            for (uint32_t n = 0; n < 512 && available(s) > 0 && outRoom(s) > 0; n++) {
                store(s, byte(s));
                k.in[s].head++;
                work++;
            }
            all &= atEnd(s);
        }
        done = all;
        break;
    }
    case kMerge:
        while (work < kQuantum && flushEmit()) {
            uint32_t s = k.turn;
            if (available(s) < 4) {
                done = k.in[s].endValid && k.in[s].end - k.in[s].head < 4;
                break;
            }
            uint32_t v = 0;
            for (uint32_t i = 0; i < 4; i++) {
                v |= static_cast<uint32_t>(byte(s)) << (8 * i);
                k.in[s].head++;
            }
            k.acc += v;
            work += 4;
            if (++k.turn == streams) {
                k.turn = 0;
                emitWord(k.acc);
                k.acc = 0;
            }
        }
        break;
    case kWeave: {
        uint32_t outs = std::max(task.streams_out, 1u);
        while (work < kQuantum) {
            uint32_t ended = 0;
            while (ended < streams && atEnd(k.turn % streams)) {
                k.turn++;
                ended++;
            }
            if (ended == streams) {
                done = true;
                break;
            }
            uint32_t in = k.turn % streams;
            uint32_t to = static_cast<uint32_t>(k.consumed % outs);
            if (available(in) == 0 || (task.streams_out > 0 && outRoom(to) == 0)) {
                break;
            }
            if (task.streams_out > 0) {
                store(to, static_cast<uint8_t>(byte(in) + (task.args_bytes > 0 ? k.spad[SCOMP_SPAD_ARGS] : 0)));
            }
            k.in[in].head++;
            k.turn++;
            k.consumed++;
            work++;
        }
        break;
    }
    case kFan:
        while (work < kQuantum) {
            bool room = true;
            for (uint32_t s = 0; s < task.streams_out; s++) {
                room &= outRoom(s) > 0;
            }
            if (!room || available(0) == 0) {
                done = atEnd(0);
                break;
            }
            for (uint32_t s = 0; s < task.streams_out; s++) {
                store(s, byte(0));
            }
            k.in[0].head++;
            work++;
        }
        break;
    case kLoop:
        k.pc = k.entry + 4;
        break;
    case kDump:
        if (!k.epilogue) {
            k.epilogue = true;
            k.emit.assign(k.spad.begin(), k.spad.end());
            std::fill(k.spad.begin() + SCOMP_SPAD_ARGS, k.spad.end(), 0x5e);
        }
        done = flushEmit();
        break;
    case kTrap:
    case kStall:
    case kStop:
        while (available(0) > 0 && k.consumed < 5000) {
            k.in[0].head++;
            k.consumed++;
            work++;
        }
        if (k.consumed == 5000 && kernel == kStop) {
            done = true;
        } else if (k.consumed == 5000 && kernel == kTrap) {
            k.cause = ASSASIN_CAUSE_ILLEGAL_INSTRUCTION;
            k.pc = k.entry + 8;
            k.tval = 0xdeadbeef;
            coreStop(c, CORE_STATE_TRAPPED);
        }
        break;
    case kExit7:
        k.exitCode = 7;
        coreStop(c, CORE_STATE_EXITED);
        break;
    case kEcho:
        if (!k.epilogue) {
            k.epilogue = true;
            auto add = [&](uint32_t off, uint32_t n) { k.emit.insert(k.emit.end(), &k.spad[off], &k.spad[off] + n); };
            add(0, 64);
            add(SCOMP_SPAD_ARGS, task.args_bytes);
            add(SCOMP_SPAD_DATA, 64);
            add(0x8000 - 64, 64);
        }
        done = flushEmit();
        break;
    case kExpand:
        while (work < kQuantum && flushEmit()) {
            if (available(0) == 0) {
                done = atEnd(0);
                break;
            }
            k.emit.insert(k.emit.end(), 8, byte(0));
            k.in[0].head++;
            work++;
        }
        break;
    default:
        k.cause = ASSASIN_CAUSE_ILLEGAL_INSTRUCTION;
        k.pc = k.entry;
        k.tval = kernel;
        coreStop(c, CORE_STATE_TRAPPED);
        break;
    }
    k.cycles += work;
    k.instret += work;
    if (k.state != CORE_STATE_RUNNING) {
        retryRoom();
        return;
    }
    if (done) {
        k.exitCode = 0;
        coreStop(c, CORE_STATE_EXITED);
    } else if (work > 0) {
        coreSchedule(c, work);
    }
    retryRoom();
}

} // namespace model

extern "C" {
uint32_t model_read(uint32_t addr) {
    return model::current->read(addr);
}
void model_write(uint32_t addr, uint32_t value) {
    model::current->write(addr, value);
}
void model_wfi() {
    model::current->wfi();
    if (model::current->idleWfi > 100) {
        throw model::Violation("firmware sleeps for ever; console:\n" + model::current->console);
    }
}
uint32_t model_cycle() {
    return model::current->cycle();
}
uint32_t model_dma_addr(const volatile void *p) {
    uintptr_t a = reinterpret_cast<uintptr_t>(p);
    if (model::current->tcmBase == 0) {
        model::current->tcmBase = a & ~uintptr_t{0xffffff};
        if ((a & 0xffffff) < 0x800000) {
            model::current->tcmBase -= 0x800000;
        }
    }
    uintptr_t off = a - model::current->tcmBase;
    if (off >= 0x20000000) {
        throw model::Violation("TCM address out of the window");
    }
    return static_cast<uint32_t>(off);
}
[[noreturn]] void model_halt() {
    throw model::Violation("firmware panic: " + model::current->console);
}
}
