// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/model.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>

#include "model/internal.h"

namespace model {

Device::Device(Nand &n, uint32_t coreCount, uint32_t seed) : Hardware(n, coreCount, seed) {
    constexpr size_t kHostBytes = 96u << 20;
    void *memory =
        mmap(nullptr, kHostBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::runtime_error("cannot reserve memory for the host");
    }
    host = {static_cast<uint8_t *>(memory), kHostBytes};
    nand.cells().reliability().seed = seed;
}

Device::~Device() {
    munmap(host.data(), host.size());
}

void Device::wfi() {
    Hardware::wfi();
    if (idleWfi > 100) {
        violation("firmware sleeps for ever; console:\n" + console);
    }
}

/* ---- host memory ---- */

bool Device::hostTransfer(uint64_t addr, uint32_t device, uint32_t len, bool toHost) {
    hostTouched(toHost ? "transfer to the host" : "transfer from the host");
    if (onDma) {
        onDma(addr, len, toHost);
    }
    if (addr < kHostBase || addr + len > kHostBase + host.size()) {
        return false;
    }
    if (toHost) {
        devRead(device, &host[addr - kHostBase], len);
    } else {
        devWrite(device, &host[addr - kHostBase], len);
    }
    return true;
}

uint32_t Device::xdmaRead(uint32_t r) {
    /* Only the status of the host-to-card channel that reading clears: an address that nobody answers at. */
    bool status = r == 0x144 && fetchFailed;
    fetchFailed = fetchFailed && !status;
    return status ? 1u << 9 : 0;
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
        if ((v & 0xffffff) != (capLo & 0xffffff) || v >> 24 > capLo >> 24) {
            capPromised = now;
        }
        capLo = v;
        break;
    case NVME_CAP_HI:
        if (v != capHi) {
            capPromised = now;
        }
        capHi = v;
        break;
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

/* ---- what cores compute ---- */

void Device::coreStep(uint32_t c) {
    Core &k = cores[c];
    Function &f = functions[c];
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
            f.emit.push_back(static_cast<uint8_t>(v >> (8 * i)));
        }
    };
    auto flushEmit = [&] {
        while (!f.emit.empty() && outRoom(0) > 0) {
            store(0, f.emit.front());
            f.emit.pop_front();
            work++;
        }
        return f.emit.empty();
    };
    bool done = false;
    switch (kernel) {
    case kCount:
    case kSlow:
    case kHang:
    case kPace:
    case kLurch:
    case kSkew: {
        uint32_t quantum = kernel == kSlow ? 128 : kQuantum;
        bool all = true, even = true;
        /* kPace: bytes of a stream that this turn ends at; kLurch: at first. */
        auto until = [&](uint32_t s) -> uint64_t {
            uint64_t longest = *std::max_element(task.bytes, task.bytes + streams);
            return kernel == kLurch ? (f.begun ? UINT64_MAX : 8192)
                   : kernel == kPace && longest > 0
                       ? std::min<uint64_t>(task.bytes[s], task.bytes[s] * (f.turn + 1ull) * kQuantum / longest)
                       : UINT64_MAX;
        };
        for (uint32_t i = 0; i < streams; i++) {
            uint32_t s = kernel == kLurch ? streams - 1 - i : i;
            for (uint32_t n = 0; n < quantum && available(s) > 0 && f.count[s] < until(s); n++) {
                f.sum[s] += byte(s);
                f.count[s]++;
                k.in[s].head++;
                work++;
            }
            all &= atEnd(s);
            even &= atEnd(s) || f.count[s] >= until(s);
            if ((kernel == kSkew || (kernel == kLurch && f.begun)) && !atEnd(s)) {
                break;
            }
        }
        f.turn += even && kernel == kPace;
        f.begun |= even;
        if (all && kernel == kHang) {
            coreStop(c, CORE_STATE_HUNG);
            break;
        }
        if (all && !f.epilogue) {
            f.epilogue = true;
            for (uint32_t s = 0; s < streams; s++) {
                emitWord(static_cast<uint32_t>(f.count[s]));
                emitWord(static_cast<uint32_t>(f.sum[s]));
            }
        }
        done = flushEmit() && f.epilogue;
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
            uint32_t s = f.turn;
            if (available(s) < 4) {
                done = k.in[s].endValid && k.in[s].end - k.in[s].head < 4;
                break;
            }
            uint32_t v = 0;
            for (uint32_t i = 0; i < 4; i++) {
                v |= static_cast<uint32_t>(byte(s)) << (8 * i);
                k.in[s].head++;
            }
            f.acc += v;
            work += 4;
            if (++f.turn == streams) {
                f.turn = 0;
                emitWord(f.acc);
                f.acc = 0;
            }
        }
        break;
    case kWeave: {
        uint32_t outs = std::max(task.streams_out, 1u);
        while (work < kQuantum) {
            uint32_t ended = 0;
            while (ended < streams && atEnd(f.turn % streams)) {
                f.turn++;
                ended++;
            }
            if (ended == streams) {
                done = true;
                break;
            }
            uint32_t in = f.turn % streams;
            uint32_t to = static_cast<uint32_t>(f.consumed % outs);
            if (available(in) == 0 || (task.streams_out > 0 && outRoom(to) == 0)) {
                break;
            }
            if (task.streams_out > 0) {
                store(to, static_cast<uint8_t>(byte(in) + (task.args_bytes > 0 ? k.spad[SCOMP_SPAD_ARGS] : 0)));
            }
            k.in[in].head++;
            f.turn++;
            f.consumed++;
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
        if (!f.epilogue) {
            f.epilogue = true;
            f.emit.assign(k.spad.begin(), k.spad.end());
            std::fill(k.spad.begin() + SCOMP_SPAD_ARGS, k.spad.end(), 0x5e);
        }
        done = flushEmit();
        break;
    case kTrap:
    case kStall:
    case kStop:
        while (available(0) > 0 && f.consumed < 5000) {
            k.in[0].head++;
            f.consumed++;
            work++;
        }
        if (f.consumed == 5000 && kernel == kStop) {
            done = true;
        } else if (f.consumed == 5000 && kernel == kTrap) {
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
        if (!f.epilogue) {
            f.epilogue = true;
            auto add = [&](uint32_t off, uint32_t n) { f.emit.insert(f.emit.end(), &k.spad[off], &k.spad[off] + n); };
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
            f.emit.insert(f.emit.end(), 8, byte(0));
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
    /* A counter that a report mixes up with another shows. */
    k.waitMem = k.cycles / 2;
    k.l1Misses = k.cycles / 3;
    k.l2Misses = k.cycles / 4;
    k.prefetches = k.cycles / 5;
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
