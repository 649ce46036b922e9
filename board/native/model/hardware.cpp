// SPDX-License-Identifier: BSD-3-Clause
#include "model/hardware.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include <sys/mman.h>

#include "model/internal.h"

namespace model {

namespace {

constexpr uint32_t kDramBytes = ASSASIN_DRAM_SIZE, kDramPage = 4096;

} // namespace

Hardware *current = nullptr;

Hardware::Hardware(Nand &n, uint32_t coreCount, uint32_t seed)
    : rng(seed), nand(n), dramTouched(kDramBytes / kDramPage), cores(coreCount) {
    void *memory =
        mmap(nullptr, kDramBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::runtime_error("cannot reserve memory for the drive's DRAM");
    }
    dram = static_cast<uint8_t *>(memory);
    for (Core &k : cores) {
        coreClear(k);
    }
}

Hardware::~Hardware() {
    /* Without tearInFlight() before: as if it had never begun. */
    nand.cut(Tear::NotBegun);
    munmap(dram, kDramBytes);
}

void Hardware::addSlot(const Slot &slot) {
    slots++;
    cores.emplace_back();
    Core &k = cores.back();
    k.kernelId = slot.id;
    k.function = slot.function;
    k.inputs = slot.inputs;
    for (Core &each : cores) {
        coreClear(each); /* they may have moved */
    }
}

uint8_t *Hardware::dramPage(uint32_t addr) const {
    uint32_t page = (addr & (kDramBytes - 1)) / kDramPage;
    if (!dramTouched[page]) {
        /* Power-on contents are arbitrary: firmware may not count on zeros. */
        std::memset(dram + size_t{page} * kDramPage, 0xa5, kDramPage);
        dramTouched[page] = true;
    }
    return dram + size_t{page} * kDramPage;
}

uint8_t *Hardware::dramMemory(uint32_t addr, uint32_t bytes) const {
    for (uint32_t at = 0; at < bytes; at += kDramPage) {
        dramPage(addr + at);
    }
    return dram + (addr & (kDramBytes - 1));
}

uint32_t Hardware::dramRead(uint32_t addr) const {
    uint32_t v;
    std::memcpy(&v, dramPage(addr) + (addr & (kDramPage - 4)), 4);
    return v;
}

void Hardware::dramWrite(uint32_t addr, uint32_t v) {
    std::memcpy(dramPage(addr) + (addr & (kDramPage - 4)), &v, 4);
}

void Hardware::dramCopyOut(uint32_t addr, uint8_t *dst, uint32_t n) const {
    while (n > 0) {
        uint32_t k = std::min(n, kDramPage - (addr & (kDramPage - 1)));
        std::memcpy(dst, dramPage(addr) + (addr & (kDramPage - 1)), k);
        addr += k, dst += k, n -= k;
    }
}

bool Hardware::cached(uint32_t addr) const {
    return addr >= cacheFirst && addr < cacheEnd &&
           cacheLines[addr / kCacheLine % kCacheLines].addr == addr / kCacheLine * kCacheLine;
}

bool Hardware::cacheLoad(uint32_t addr) {
    if (addr < cacheFirst || addr >= cacheEnd) {
        return false;
    }
    CacheLine &line = cacheLines[addr / kCacheLine % kCacheLines];
    const bool hit = cached(addr);
    if (!hit) {
        line = {addr / kCacheLine * kCacheLine, false};
    } else if (line.stale) {
        violation("load of " + hex(addr) +
                  " finds a cached line that something else has written: SYS.CACHE_FLUSH is missing");
    }
    return hit;
}

void Hardware::cacheForeign(uint32_t addr, uint32_t n) {
    for (CacheLine &line : cacheLines) {
        line.stale |= line.addr < addr + n && line.addr + kCacheLine > addr;
    }
}

void Hardware::dramCopyIn(uint32_t addr, const uint8_t *src, uint32_t n) {
    cacheForeign(addr, n);
    while (n > 0) {
        uint32_t k = std::min(n, kDramPage - (addr & (kDramPage - 1)));
        std::memcpy(dramPage(addr) + (addr & (kDramPage - 1)), src, k);
        addr += k, src += k, n -= k;
    }
}

void Hardware::devRead(uint32_t addr, uint8_t *dst, uint32_t n) {
    if (addr & kDramBit) {
        dramCopyOut(addr, dst, n);
    } else {
        std::memcpy(dst, reinterpret_cast<const void *>(tcmBase + addr), n);
    }
}

void Hardware::devWrite(uint32_t addr, const uint8_t *src, uint32_t n) {
    if (addr & kDramBit) {
        const bool buffer = addr >= tcmFirst && addr + n <= tcmEnd;
        if (addr < dramEnd && addr + n > dramFirst && !buffer) {
            violation("DMA to DRAM " + hex(addr) + ", which SYS.DRAM_CLOSED_FIRST and SYS.DRAM_CLOSED_END close");
        }
        dramCopyIn(addr, src, n);
    } else if (addr < tcmFirst || addr + n > tcmEnd) {
        violation("DMA to TCM " + hex(addr) + ", which SYS.TCM_WRITE_FIRST and SYS.TCM_WRITE_END close");
    } else {
        std::memcpy(reinterpret_cast<void *>(tcmBase + addr), src, n);
    }
}

void Hardware::advance(uint64_t cycles) {
    uint64_t target = now + cycles;
    while (!events.empty() && events.top().at <= target) {
        now = std::max(now, events.top().at);
        if (now >= cutAt) {
            throw PowerCut{};
        }
        auto run = std::move(const_cast<Event &>(events.top()).run);
        events.pop();
        run();
    }
    now = std::max(now, target);
    if (now >= cutAt) {
        throw PowerCut{};
    }
}

void Hardware::wfi() {
    if (interrupt()) {
        idleWfi = 0;
        return;
    }
    uint64_t next = std::min(nextEvent(), timerAt());
    if (next == UINT64_MAX) {
        idleWfi++;
        return;
    }
    idleWfi = 0;
    advance(next - std::min(now, next));
}

void Hardware::halt() {
    violation("firmware panic: " + console);
}

uint32_t Hardware::eventLevel() const {
    uint32_t e = 0;
    e |= (now >= mtimecmp) << SYS_EVENT_TIMER_SHIFT;
    e |= static_cast<uint32_t>(entryWaits()) << SYS_EVENT_SQE_SHIFT;
    e |= static_cast<uint32_t>(controllerEvent()) << SYS_EVENT_CTRL_SHIFT;
    e |= (hdmaEvent != 0) << SYS_EVENT_HDMA_SHIFT;
    for (uint32_t c = 0; c < nand.geo.channels; c++) {
        e |= static_cast<uint32_t>(!ch[c].cpl.empty()) << SYS_EVENT_FLASH_SHIFT;
    }
    for (const Core &k : cores) {
        e |= ((coreEvent(k) & k.eventEnable) != 0) << SYS_EVENT_CORE_SHIFT;
    }
    return e;
}

bool Hardware::flashIdle() const {
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

bool Hardware::interrupt() const {
    return (eventLevel() & eventEnable) != 0;
}

bool Hardware::quiet() const {
    return !interrupt() && events.empty() && timerAt() == UINT64_MAX;
}

uint32_t Hardware::read(uint32_t addr) {
    noteStack();
    if ((addr & 3) != 0) {
        violation("misaligned read of " + hex(addr));
    }
    if (addr & kDramBit) {
        access(cacheLoad(addr) ? 4 : 40);
        return dramRead(addr);
    }
    access(8);
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
        return xdmaRead(addr - ASSASIN_XDMA_BASE);
    }
    violation("read of unmapped " + hex(addr));
}

void Hardware::write(uint32_t addr, uint32_t v) {
    noteStack();
    if ((addr & 3) != 0) {
        violation("misaligned write of " + hex(addr));
    }
    if (addr & kDramBit) {
        access(10);
        dramWrite(addr, v);
        return;
    }
    access(3);
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
        xdmaWrite(addr - ASSASIN_XDMA_BASE, v);
        return;
    }
    violation("write of unmapped " + hex(addr));
}

/* ---- SYS ---- */

uint32_t Hardware::sysRead(uint32_t r) {
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
    case SYS_TRAP_PC:
        return trapPc;
    case SYS_TRAP:
        return trap;
    default:
        violation("read of SYS+" + hex(r));
    }
}

void Hardware::sysWrite(uint32_t r, uint32_t v) {
    switch (r) {
    case SYS_MTIMECMP_LO:
        mtimecmp = (mtimecmp >> 32 << 32) | v;
        break;
    case SYS_MTIMECMP_HI:
        mtimecmp = (mtimecmp & 0xffffffffu) | static_cast<uint64_t>(v) << 32;
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
    case SYS_DRAM_CLOSED_FIRST:
        dramFirst = v;
        break;
    case SYS_DRAM_CLOSED_END:
        dramEnd = v;
        break;
    case SYS_TRAP_PC:
        trapPc = v;
        break;
    case SYS_TRAP:
        trap = v;
        break;
    case SYS_CACHE_FIRST:
        cacheFirst = v;
        break;
    case SYS_CACHE_END:
        cacheEnd = v;
        break;
    case SYS_CACHE_FLUSH:
        cacheLines.fill({});
        break;
    case SYS_CONSOLE_TX:
        console.push_back(static_cast<char>(v));
        break;
    default:
        violation("write of SYS+" + hex(r));
    }
}

/* ---- HDMA ---- */

uint32_t Hardware::hdmaRead(uint32_t r) {
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
    case HDMA_PARITY_DONE:
        return parityDone;
    default:
        violation("read of HDMA+" + hex(r));
    }
}

void Hardware::transfer(bool toHost, uint32_t len) {
    uint32_t &queued = toHost ? c2hQueued : h2cQueued;
    if (queued == 16 || len == 0) {
        violation("host DMA queue overflow or empty transfer");
    }
    queued++;
    uint64_t addr = hostLo | static_cast<uint64_t>(hostHi) << 32;
    uint32_t device = dev;
    uint64_t &free = toHost ? c2hFree : h2cFree;
    free = std::max(now + 100, free) + len / 8 + (regular ? 0 : rng() % 64);
    at(free - now, [this, toHost, addr, device, len] {
        if (!hostTransfer(addr, device, len, toHost)) {
            dmaErrors++;
            hdmaEvent |= HDMA_EVENT_ERROR_MASK << HDMA_EVENT_ERROR_SHIFT;
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

void Hardware::copy(uint32_t src, uint32_t dst, uint32_t pos, uint32_t len) {
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

void Hardware::parity(uint32_t address, bool store) {
    if (parityQueued == 32 || (address & 63) != 0) {
        violation("parity: queue overflow or alignment");
    }
    parityQueued++;
    parityFree = std::max(now + 50, parityFree) + parityHeld.size() / 8;
    at(parityFree - now, [this, address, store] {
        uint32_t bytes = static_cast<uint32_t>(parityHeld.size());
        if (store) {
            dramCopyIn(address, parityHeld.data(), bytes);
            std::fill(parityHeld.begin(), parityHeld.end(), 0);
            parityDone++;
            hdmaEvent |= HDMA_EVENT_PARITY_MASK << HDMA_EVENT_PARITY_SHIFT;
        } else {
            std::vector<uint8_t> page(bytes);
            dramCopyOut(address, page.data(), bytes);
            std::transform(page.begin(), page.end(), parityHeld.begin(), parityHeld.begin(), std::bit_xor<>());
        }
        parityQueued--;
    });
}

void Hardware::hdmaWrite(uint32_t r, uint32_t v) {
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
    case HDMA_PARITY_LOAD:
        parity(v, false);
        break;
    case HDMA_PARITY_STORE:
        parity(v, true);
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

void Hardware::coreClear(Core &k) {
    uint32_t ring = 0x10000u >> k.sLog2;
    k.generation++;
    std::fill(k.isb.begin(), k.isb.end(), 0);
    std::fill(k.osb.begin(), k.osb.end(), 0);
    for (uint32_t s = 0; s < k.in.size(); s++) {
        bool is = s < 1u << k.sLog2;
        k.in[s] = Core::In{};
        k.out[s] = Core::Out{};
        if (is) {
            k.in[s].ring = std::span(k.isb).subspan(s * ring, ring);
            k.out[s].ring = std::span(k.osb).subspan(s * ring, ring);
        }
        k.out[s].tail = ring;
    }
    k.drains.clear();
    k.drainsDone = 0;
    k.cycles = k.instret = k.waitIn = k.waitOut = k.waitMem = k.l1Misses = k.l2Misses = k.prefetches = 0;
}

uint32_t Hardware::outReady(const Core &k) const {
    uint32_t v = 0;
    for (uint32_t s = 0; s < 1u << k.sLog2; s++) {
        v |= static_cast<uint32_t>(k.out[s].head - k.out[s].covered >= 1u << k.pageLog2) << s;
    }
    return v;
}

uint32_t Hardware::coreEvent(const Core &k) const {
    return k.eventStopped | k.eventDrained << 1 | static_cast<uint32_t>(outReady(k) != 0) << 2;
}

uint32_t Hardware::coreRead(uint32_t c, uint32_t r) {
    Core &k = cores[c];
    uint32_t i = (r & 0x1f) / 4;
    auto low = [&k](uint64_t counter) {
        k.counterHigh = static_cast<uint32_t>(counter >> 32);
        return static_cast<uint32_t>(counter);
    };
    if (r >= CORE_IHEAD && r < CORE_IHEAD + 32) {
        return k.in[i].head;
    }
    if (r >= CORE_OHEAD && r < CORE_OHEAD + 32) {
        return k.out[i].head;
    }
    switch (r) {
    case CORE_STATUS:
        return k.state | k.waiting | k.cause << 8;
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
        return low(k.cycles);
    case CORE_INSTRET_LO:
        return low(k.instret);
    case CORE_WAIT_IN_CYCLES_LO:
        return low(k.waitIn);
    case CORE_WAIT_OUT_CYCLES_LO:
        return low(k.waitOut);
    case CORE_WAIT_MEM_CYCLES_LO:
        return low(k.waitMem);
    case CORE_L1_MISSES_LO:
        return low(k.l1Misses);
    case CORE_L2_MISSES_LO:
        return low(k.l2Misses);
    case CORE_PREFETCHES_LO:
        return low(k.prefetches);
    case CORE_CYCLES_HI:
    case CORE_INSTRET_HI:
    case CORE_WAIT_IN_CYCLES_HI:
    case CORE_WAIT_OUT_CYCLES_HI:
    case CORE_WAIT_MEM_CYCLES_HI:
    case CORE_L1_MISSES_HI:
    case CORE_L2_MISSES_HI:
    case CORE_PREFETCHES_HI:
        return k.counterHigh;
    default:
        // No core of this board has a vector unit that counts.
        if (r >= CORE_VECTOR_ISSUED_LO && r <= CORE_VECTOR_PACK_BEATS_HI) {
            return 0;
        }
        violation("read of CORE+" + hex(r));
    }
}

void Hardware::coreWrite(uint32_t c, uint32_t r, uint32_t v) {
    Core &k = cores[c];
    if (r >= CORE_IEND && r < CORE_IEND + 32) {
        k.in[(r - CORE_IEND) / 4].end = v;
        return;
    }
    switch (r) {
    case CORE_CTRL:
        if ((v & 1) && !(k.ctrl & 1)) {
            k.state = CORE_STATE_RUNNING;
            k.ctrl = 1;
            coreStart(c);
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

void Hardware::drainStart(uint32_t c) {
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
        for (size_t done = 0; done < data.size();) {
            size_t from = (d.pos + done) % o.ring.size();
            size_t bytes = std::min(data.size() - done, o.ring.size() - from);
            std::memcpy(&data[done], &o.ring[from], bytes);
            done += bytes;
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

void Hardware::deliver(uint32_t c, uint32_t s, uint32_t pos, const uint8_t *data, uint32_t n, bool) {
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
    for (uint32_t done = 0; done < n;) {
        size_t to = (pos + done) % in.ring.size();
        uint32_t bytes = std::min(n - done, static_cast<uint32_t>(in.ring.size() - to));
        std::memcpy(&in.ring[to], data + done, bytes);
        done += bytes;
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

void Hardware::slotWrite(uint32_t n, uint32_t r, uint32_t v) {
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

void Hardware::coreSchedule(uint32_t c, uint32_t delay) {
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

void Hardware::coreStop(uint32_t c, uint32_t state) {
    cores[c].state = state;
    cores[c].eventStopped = 1;
}

uint32_t Hardware::dmaAddress(const volatile void *p) {
    uintptr_t a = reinterpret_cast<uintptr_t>(p);
    if (tcmBase == 0) {
        tcmBase = a & ~uintptr_t{0xffffff};
        if ((a & 0xffffff) < 0x800000) {
            tcmBase -= 0x800000;
        }
    }
    uintptr_t off = a - tcmBase;
    if (off >= 0x20000000) {
        violation("TCM address out of the window");
    }
    return static_cast<uint32_t>(off);
}

} // namespace model

extern "C" {
uint32_t model_read(uint32_t addr) {
    return model::current->read(addr);
}
void model_write(uint32_t addr, uint32_t value) {
    model::current->write(addr, value);
}
uint32_t model_cached(uint32_t addr) {
    return model::current->cached(addr) ? 1 : 0;
}

void model_spend(uint32_t cycles) {
    model::current->spend(cycles);
}
void model_tcm(void *memory) {
    model::current->tcmBase = reinterpret_cast<uintptr_t>(memory);
}
void *model_dram(uint32_t addr, uint32_t bytes) {
    return model::current->dramMemory(addr, bytes);
}
uint32_t model_interrupt() {
    return model::current->interrupt() ? 1 : 0;
}
void model_wfi() {
    model::current->wfi();
}
uint32_t model_cycle() {
    return model::current->cycle();
}
uint32_t model_dma_addr(const volatile void *p) {
    return model::current->dmaAddress(p);
}
[[noreturn]] void model_halt() {
    model::current->halt();
    __builtin_unreachable();
}
}
