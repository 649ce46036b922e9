// SPDX-License-Identifier: BSD-3-Clause
#include "FrontEnd.h"

#include <cstring>
#include <utility>

#include "model/internal.h"

#include "assasin_contract.h"

namespace assasin {

namespace {

constexpr unsigned SQE_SLOTS = 16, CQE_SLOTS = 8;
constexpr uint32_t VERSION = 0x00010400;
constexpr uint32_t SUBSYSTEM_RESET = 0x4E564D65;
constexpr uint32_t BUFFER_LOCATION = 0x200000 / 4096 << 12;               // CMBLOC
constexpr uint32_t BUFFER_SIZE = FrontEnd::BUFFER_BYTES / 4096 << 12 | 1; // CMBSZ: submission queues

uint32_t low(uint64_t v) {
    return uint32_t(v);
}
uint32_t high(uint64_t v) {
    return uint32_t(v >> 32);
}
void setLow(uint64_t &reg, uint32_t v) {
    reg = reg >> 32 << 32 | v;
}
void setHigh(uint64_t &reg, uint32_t v) {
    reg = uint32_t(reg) | uint64_t(v) << 32;
}
uint32_t next(uint32_t entry, uint32_t size) {
    return entry == size ? 0 : entry + 1;
}
/// Entries from `from` up to `to`, modulo the queue's size.
uint32_t distance(uint32_t from, uint32_t to, uint32_t size) {
    return to >= from ? to - from : to + size + 1 - from;
}
constexpr uint32_t eventBit(uint32_t shift) {
    return 1u << shift;
}

} // namespace

FrontEnd::FrontEnd(FrontEndPorts ports, uint32_t readLatency, uint32_t writeLatency)
    : ports_(std::move(ports)), readLatency_(readLatency), writeLatency_(writeLatency) {
}

// ---------------------------------------------------------------- the host's registers

uint32_t FrontEnd::merged(uint32_t old, uint32_t value, uint8_t strobe) {
    uint32_t mask = 0;
    for (unsigned i = 0; i < 4; i++) {
        mask |= strobe >> i & 1 ? 0xFFu << (8 * i) : 0;
    }
    return (old & ~mask) | (value & mask);
}

uint32_t FrontEnd::hostRead(uint32_t offset) const {
    const bool wraps = bufferPlaced_ && bufferBase_ > UINT64_MAX - (BUFFER_BYTES - 1);
    switch (offset) {
    case 0x00:
        return low(cap_);
    case 0x04:
        return high(cap_) | 1u << 25; // CMBS
    case 0x08:
        return VERSION;
    case 0x0C:
    case 0x10:
        return mask_;
    case 0x14:
        return cc_;
    case 0x1C:
        return (csts_ & ~1u) | (cc_ & 1 ? csts_ & 1 : uint32_t(ending_)) | uint32_t(subsystemReset_) << 4;
    case 0x24:
        return aqa_;
    case 0x28:
        return low(asq_);
    case 0x2C:
        return high(asq_);
    case 0x30:
        return low(acq_);
    case 0x34:
        return high(acq_);
    case 0x38:
        return bufferShown_ ? BUFFER_LOCATION : 0;
    case 0x3C:
        return bufferShown_ ? BUFFER_SIZE : 0;
    case 0x50:
        return low(bufferBase_) | uint32_t(bufferPlaced_) << 1 | uint32_t(bufferShown_);
    case 0x54:
        return high(bufferBase_);
    case 0x58:
        return wraps;
    default:
        return 0;
    }
}

void FrontEnd::hostWrite(uint32_t offset, uint32_t value, uint8_t strobe) {
    if (offset >= 0x1000) {
        doorbell((offset - 0x1000) / 4, value, strobe == 0xF);
        return;
    }
    const uint32_t page = ~0xFFFu;
    const uint32_t fresh = merged(0, value, strobe);
    switch (offset) {
    case 0x0C:
        mask_ |= fresh;
        break;
    case 0x10:
        mask_ &= ~fresh;
        break;
    case 0x14: {
        const uint32_t old = cc_;
        cc_ = merged(cc_, value, strobe);
        event_ |= eventBit(NVME_EVENT_CC_SHIFT);
        if ((old & 1) && !(cc_ & 1)) {
            controllerReset();
        }
        break;
    }
    case 0x1C:
        if (fresh >> 4 & 1) {
            subsystemReset_ = false;
        }
        break;
    case 0x20:
        if (fresh == SUBSYSTEM_RESET) {
            const bool enabled = cc_ & 1;
            cc_ = aqa_ = mask_ = 0;
            asq_ = acq_ = bufferBase_ = 0;
            bufferShown_ = bufferPlaced_ = false;
            subsystemReset_ = true;
            event_ |= eventBit(NVME_EVENT_NSSR_SHIFT);
            if (enabled) {
                controllerReset();
            }
        }
        break;
    case 0x24:
        aqa_ = merged(aqa_, value, strobe) & 0x0FFF0FFF;
        break;
    case 0x28:
        setLow(asq_, merged(low(asq_), value, strobe) & page);
        break;
    case 0x2C:
        setHigh(asq_, merged(high(asq_), value, strobe));
        break;
    case 0x30:
        setLow(acq_, merged(low(acq_), value, strobe) & page);
        break;
    case 0x34:
        setHigh(acq_, merged(high(acq_), value, strobe));
        break;
    case 0x50: {
        const uint32_t v = merged(hostRead(0x50), value, strobe);
        bufferShown_ = v & 1;
        bufferPlaced_ = v >> 1 & 1;
        setLow(bufferBase_, v & page);
        break;
    }
    case 0x54:
        setHigh(bufferBase_, merged(high(bufferBase_), value, strobe));
        break;
    default:
        break;
    }
}

void FrontEnd::controllerReset() {
    if (csts_ & 1) {
        ending_ = true;
        fwEnded_ = false;
    }
    csts_ &= ~1u;
    stale_ = true;
    for (Sq &q : sqs_) {
        q.exists = false;
    }
    for (Cq &q : cqs_) {
        q.exists = q.shown = false;
    }
    staged_.clear();
    for (Fetch &f : coming_) {
        f.dead = true;
    }
    cqeUsed_ -= unsigned(full_.size());
    full_.clear();
    session_++;
    waiting_ = 0;
    endSession();
}

void FrontEnd::endSession() {
    if (fwEnded_ && coming_.empty() && cqeUsed_ == 0) {
        ending_ = false;
    }
}

void FrontEnd::doorbell(uint32_t index, uint32_t value, bool whole) {
    const bool completion = index & 1;
    const unsigned n = index / 2;
    bool ok = whole && n < PAIRS && value < 0x10000;
    if (ok && completion) {
        const Cq &q = cqs_[n];
        ok = q.exists && value <= q.size && distance(value, q.tail, q.size) <= distance(q.head, q.tail, q.size);
    } else if (ok) {
        ok = sqs_[n].exists && value <= sqs_[n].size;
    }
    if (!ok) {
        badDoorbell_ = value << 16 | (index & 0xFFFF);
        event_ |= eventBit(NVME_EVENT_BAD_DOORBELL_SHIFT);
        return;
    }
    if (!completion) {
        sqs_[n].tail = value;
        fetch();
        return;
    }
    cqs_[n].head = value;
    cqs_[n].shown = cqs_[n].shown && value != cqs_[n].tail;
    std::deque<Completion> again;
    again.swap(full_);
    for (const Completion &c : again) {
        post(c);
    }
}

// ---------------------------------------------------------------- submission entries

void FrontEnd::fetch() {
    while (staged_.size() + coming_.size() < SQE_SLOTS) {
        unsigned n = lastFetch_;
        bool found = false;
        for (unsigned i = 0; i < PAIRS && !found; i++) {
            n = (n + 1) % PAIRS;
            found = sqs_[n].exists && sqs_[n].head != sqs_[n].tail;
        }
        if (!found) {
            return;
        }
        Sq &q = sqs_[n];
        lastFetch_ = n;
        coming_.push_back({n, q.base + uint64_t(q.head) * 64});
        q.head = next(q.head, q.size);
        ports_.after(readLatency_, [this] { arrive(); });
        fetchTime_ += readLatency_;
    }
}

void FrontEnd::arrive() {
    const Fetch f = coming_.front();
    coming_.pop_front();
    Entry entry{f.queue, {}};
    const uint64_t offset = f.address - bufferBase_;
    const bool wraps = bufferBase_ > UINT64_MAX - (BUFFER_BYTES - 1);
    bool here = true;
    if (bufferPlaced_ && !wraps && offset < BUFFER_BYTES) {
        ports_.readBuffer(uint32_t(offset), entry.dword.data());
    } else if (!f.dead) {
        here = ports_.readHost(f.address, entry.dword.data(), 64);
    }
    if (!here) {
        ports_.failed(true);
    } else if (!f.dead) {
        Sq &q = sqs_[f.queue];
        q.done = next(q.done, q.size);
        staged_.push_back(entry);
    }
    endSession();
    fetch();
}

// ---------------------------------------------------------------- completions

void FrontEnd::push(uint32_t status) {
    if (cqeUsed_ == CQE_SLOTS) {
        model::violation("completion pushed without space");
    }
    cqeUsed_++;
    post({dw0_, dw1_, F(NVME_CQE_ID, CID, cqeId_), F(NVME_CQE_ID, SQID, cqeId_), status & 0x7FFF});
}

void FrontEnd::drop() {
    event_ |= eventBit(NVME_EVENT_DROPPED_CQE_SHIFT);
    cqeUsed_--;
    endSession();
}

/// Takes a place in the completion queue and has the entry written, behind the transfers pushed before it.
void FrontEnd::post(const Completion &c) {
    const bool known = c.sqid < PAIRS && sqs_[c.sqid].exists && sqs_[c.sqid].cqid < PAIRS;
    if (!known || !cqs_[sqs_[c.sqid].cqid].exists) {
        drop();
        return;
    }
    const uint32_t n = sqs_[c.sqid].cqid;
    Cq &q = cqs_[n];
    if (next(q.tail, q.size) == q.head) {
        full_.push_back(c);
        return;
    }
    const std::array<uint32_t, 4> entry{c.dw0, c.dw1, sqs_[c.sqid].done | c.sqid << 16,
                                        c.cid | uint32_t(q.phase) << 16 | c.status << 17};
    const uint64_t address = q.base + uint64_t(q.tail) * 16;
    q.phase = q.tail == q.size ? !q.phase : q.phase;
    q.tail = next(q.tail, q.size);
    const uint64_t delay = ports_.toHostBusy() + writeLatency_;
    postTime_ += delay;
    ports_.after(delay, [this, entry, address, n, session = session_] {
        cqeUsed_--;
        if (!ports_.writeHost(address, entry.data(), sizeof entry)) {
            ports_.failed(false);
        }
        if (session == session_) {
            Cq &its = cqs_[n];
            if (its.exists && its.interrupts) {
                its.shown = its.head != its.tail;
                waiting_ = uint16_t(waiting_ | 1u << its.vector);
            }
        }
        endSession();
    });
}

uint16_t FrontEnd::interrupts(bool msix) {
    if (msix) {
        const uint16_t go = waiting_ & ~mask_ & ~request_;
        waiting_ = uint16_t(waiting_ & ~go);
        request_ = uint16_t(request_ | go);
        return request_;
    }
    waiting_ = request_ = 0;
    bool unread = false;
    for (const Cq &q : cqs_) {
        unread |= q.exists && q.shown;
    }
    return unread && !(mask_ & 1);
}

// ---------------------------------------------------------------- the firmware's registers

uint32_t FrontEnd::read(uint32_t r) {
    if (r >= NVME_SQE && r < NVME_SQE + 64) {
        if (staged_.empty()) {
            model::violation("read of SQE with none waiting");
        }
        return staged_.front().dword[(r - NVME_SQE) / 4];
    }
    const unsigned n = qsel_ < PAIRS ? qsel_ : 0;
    switch (r) {
    case NVME_EVENT:
        return event_;
    case NVME_CC:
        return cc_;
    case NVME_CSTS:
        return csts_;
    case NVME_AQA:
        return aqa_;
    case NVME_ASQ_LO:
        return low(asq_);
    case NVME_ASQ_HI:
        return high(asq_);
    case NVME_ACQ_LO:
        return low(acq_);
    case NVME_ACQ_HI:
        return high(acq_);
    case NVME_CAP_LO:
        return low(cap_);
    case NVME_CAP_HI:
        return high(cap_);
    case NVME_BAD_DB:
        return badDoorbell_;
    case NVME_QSEL:
        return qsel_;
    case NVME_SQ_BASE_LO:
        return low(sqs_[n].base);
    case NVME_SQ_BASE_HI:
        return high(sqs_[n].base);
    case NVME_SQ_CFG:
        return uint32_t(sqs_[n].exists) << 31 | sqs_[n].cqid << 16 | sqs_[n].size;
    case NVME_SQ_STATE:
        return sqs_[n].tail << 16 | sqs_[n].head;
    case NVME_CQ_BASE_LO:
        return low(cqs_[n].base);
    case NVME_CQ_BASE_HI:
        return high(cqs_[n].base);
    case NVME_CQ_CFG:
        return uint32_t(cqs_[n].exists) << 31 | uint32_t(cqs_[n].interrupts) << 20 | cqs_[n].vector << 16 |
               cqs_[n].size;
    case NVME_CQ_STATE:
        return cqs_[n].tail << 16 | cqs_[n].head;
    case NVME_SQE_STATUS:
        return staged_.empty() ? 0 : 1u << 31 | uint32_t(staged_.size()) << 8 | staged_.front().queue;
    case NVME_CQE_SPACE:
        return CQE_SLOTS - cqeUsed_;
    case NVME_FETCH_TIME_LO:
        timeHigh_ = high(fetchTime_);
        return low(fetchTime_);
    case NVME_POST_TIME_LO:
        timeHigh_ = high(postTime_);
        return low(postTime_);
    case NVME_FETCH_TIME_HI:
    case NVME_POST_TIME_HI:
        return timeHigh_;
    default:
        model::violation("read of NVME+" + model::hex(r));
    }
}

void FrontEnd::write(uint32_t r, uint32_t v) {
    if (qsel_ >= PAIRS && r >= NVME_SQ_BASE_LO && r <= NVME_CQ_STATE) {
        model::violation("a queue's register with QSEL " + std::to_string(qsel_));
    }
    const unsigned n = qsel_ < PAIRS ? qsel_ : 0;
    Sq &sq = sqs_[n];
    Cq &cq = cqs_[n];
    switch (r) {
    case NVME_EVENT:
        event_ &= ~v;
        stale_ = stale_ && !(v & eventBit(NVME_EVENT_CC_SHIFT));
        break;
    case NVME_CSTS:
        csts_ = (v & ~1u) | (v & 1 & uint32_t(!stale_ || (csts_ & 1)));
        break;
    case NVME_RESET_DONE:
        fwEnded_ = true;
        endSession();
        break;
    case NVME_CAP_LO:
        setLow(cap_, v);
        break;
    case NVME_CAP_HI:
        setHigh(cap_, v);
        break;
    case NVME_QSEL:
        qsel_ = v & 0xFF;
        break;
    case NVME_SQ_BASE_LO:
        setLow(sq.base, v);
        break;
    case NVME_SQ_BASE_HI:
        setHigh(sq.base, v);
        break;
    case NVME_SQ_CFG:
        sq.size = v & 0xFFFF;
        sq.cqid = F(NVME_SQ_CFG, CQID, v);
        sq.exists = v >> 31;
        sq.head = sq.tail = sq.done = 0;
        for (Fetch &f : coming_) {
            f.dead |= f.queue == n;
        }
        break;
    case NVME_CQ_BASE_LO:
        setLow(cq.base, v);
        break;
    case NVME_CQ_BASE_HI:
        setHigh(cq.base, v);
        break;
    case NVME_CQ_CFG: {
        cq.size = v & 0xFFFF;
        cq.vector = F(NVME_CQ_CFG, VECTOR, v);
        cq.interrupts = F(NVME_CQ_CFG, IEN, v);
        cq.exists = v >> 31;
        cq.head = cq.tail = 0;
        cq.phase = true;
        cq.shown = false;
        std::deque<Completion> again;
        again.swap(full_);
        for (const Completion &c : again) {
            post(c);
        }
        break;
    }
    case NVME_SQE_POP:
        if (staged_.empty()) {
            model::violation("SQE_POP with none waiting");
        }
        staged_.pop_front();
        fetch();
        break;
    case NVME_CQE_DW0:
        dw0_ = v;
        break;
    case NVME_CQE_DW1:
        dw1_ = v;
        break;
    case NVME_CQE_ID:
        cqeId_ = v;
        break;
    case NVME_CQE_PUSH:
        push(v);
        break;
    default:
        model::violation("write of NVME+" + model::hex(r));
    }
}

} // namespace assasin
