// SPDX-License-Identifier: BSD-3-Clause
#include "SectorBench.h"

#include <algorithm>
#include <cstdio>

namespace sectorbench {

using assasin::SectorStatus;

std::string text(const Completion &c) {
    char line[160];
    std::snprintf(line, sizeof line, "tag %u status %u way %u data %016llx sector %d errors %u bits %u failed %x",
                  c.tag, c.status, c.way, static_cast<unsigned long long>(c.data), c.sector, c.errors, c.bits,
                  c.failed);
    return line;
}

SectorBench::SectorBench(uint64_t seed, unsigned strength) : random(seed), top(std::make_unique<VSectorPath>()) {
    top->reset = 1;
    for (int i = 0; i < 3; i++) {
        top->clock = 0;
        top->eval();
        top->clock = 1;
        top->eval();
    }
    top->reset = 0;
    setCode(strength);
}

SectorBench::~SectorBench() = default;

void SectorBench::fail(const std::string &what) const {
    throw BenchError("cycle " + std::to_string(now) + ": " + what);
}

void SectorBench::setCode(unsigned strength) {
    codec_ = std::make_unique<assasin::SectorCodec>(strength ? strengths().at(strength - 1) : 0, kPhyBytes);
    top->io_config_strength = strength;
    top->io_config_parityBytes = codec_->parityBytes();
    top->io_config_sectorBytes = codec_->sectorBytes();
    top->io_code = 1;
    tick();
    top->io_code = 0;
    for (unsigned i = 0; top->io_building; i++) {
        if (i > 10000)
            fail("the table is never built");
        tick();
    }
}

Bytes SectorBench::randomBytes(unsigned n) {
    Bytes b(n);
    for (uint8_t &byte : b)
        byte = static_cast<uint8_t>(random());
    return b;
}

Bytes SectorBench::encode(uint32_t address, const Bytes &data, uint32_t oob0, uint32_t oob1) const {
    Bytes whole = data, raw(codec_->sectorBytes());
    whole.resize(kSector, 0xFF);
    codec_->encode(address, setting, whole.data(), oob0, oob1, raw.data());
    return raw;
}

void SectorBench::push(Phase phase) {
    phase.tag = nextTag_;
    nextTag_ = (nextTag_ + 1) & 0xFFF;
    phase.expected.completion.tag = phase.tag;
    phase.expected.completion.way = phase.read.way;
    phase.expected.read = phase.read;
    phases_.push_back(std::move(phase));
}

void SectorBench::read(const Read &r) {
    Phase p;
    p.main = p.sector = true;
    p.read = r;
    if (r.check)
        p.read.oob0 = *r.check;
    p.bytes = r.raw;
    Completion &c = p.expected.completion;
    assasin::Sector s = codec_->decode(r.address, setting, r.raw.data(), r.check, erasedLimit);
    c.sector = true;
    uint32_t data0 = s.oob0, data1 = s.status == SectorStatus::Ok ? s.oob1 : p.read.oob0;
    c.errors = s.mostErrors();
    c.bits = s.bits();
    c.failed = s.failed();
    switch (s.status) {
    case SectorStatus::Ok:
        c.status = FLASH_STATUS_OK;
        break;
    case SectorStatus::Erased:
        c.status = FLASH_STATUS_ERASED;
        break;
    case SectorStatus::Uncorrectable:
        c.status = FLASH_STATUS_UNCORRECTABLE;
        break;
    case SectorStatus::Mismatch:
        c.status = FLASH_STATUS_MISMATCH;
        break;
    case SectorStatus::Foreign:
        c.status = FLASH_STATUS_FOREIGN;
        break;
    case SectorStatus::Misdirected:
        c.status = FLASH_STATUS_MISDIRECTED;
        break;
    }
    if (r.drop) {
        c.status = FLASH_STATUS_DROPPED;
        data0 = r.to;
        data1 = p.read.oob0;
        c.errors = c.bits = c.failed = 0;
    }
    c.data = static_cast<uint64_t>(data1) << 32 | data0;
    if (c.status == FLASH_STATUS_OK)
        p.expected.data.assign(s.data.begin(), s.data.begin() + r.bytes);
    push(p);
}

void SectorBench::readRaw(unsigned way, const Bytes &data, uint32_t to, bool wide) {
    Phase p;
    p.main = true;
    p.narrow = !wide;
    p.read.way = way;
    p.read.bytes = static_cast<unsigned>(data.size());
    p.read.to = to;
    p.bytes = data;
    while (p.bytes.size() % 8)
        p.bytes.push_back(static_cast<uint8_t>(random()));
    p.expected.data = data;
    push(p);
}

void SectorBench::answer(unsigned way, const Bytes &data, bool check, unsigned failMask) {
    Phase p;
    p.narrow = true;
    p.check = check;
    p.failMask = failMask;
    p.read.way = way;
    p.bytes = data;
    for (unsigned i = 0; i < data.size(); i++)
        p.expected.completion.data |= static_cast<uint64_t>(data[i]) << 8 * i;
    if (check && !(data[0] & 0x80))
        p.expected.completion.status = FLASH_STATUS_PROTECTED;
    else if (check && (data[0] & failMask))
        p.expected.completion.status = FLASH_STATUS_FAIL;
    push(p);
}

void SectorBench::program(const Program &p) {
    programs_.push_back(p);
}

/** What the sequencer does: transfer or send at the start of a phase, then beats. */
void SectorBench::bus() {
    top->io_transfer_valid = 0;
    top->io_send_valid = 0;
    top->io_asked = 0;
    top->io_take = 0;
    top->io_sent = 0;
    if (wait_) {
        wait_--;
        return;
    }
    if (state_ == State::Post) {
        state_ = State::Idle;
        busy_ = false;
        if (sends_)
            programmed.push_back(sent_);
        else
            phases_.pop_front();
    }
    if (state_ == State::Idle) {
        bool in = !waiting_.empty() && (phases_.empty() || chance(50));
        if (in) {
            top->io_send_valid = 1;
            top->io_send_bits = waiting_.front().way;
            sent_.clear();
            waiting_.pop_front();
            state_ = State::In;
            sends_ = busy_ = true;
            wait_ = 1 + below(select + 6);
            return;
        }
        if (phases_.empty() || !top->io_transferReady)
            return;
        const Phase &p = phases_.front();
        top->io_transfer_valid = 1;
        top->io_transfer_bits_way = p.read.way;
        top->io_transfer_bits_tag = p.tag;
        top->io_transfer_bits_main = p.main;
        top->io_transfer_bits_sector = p.sector;
        top->io_transfer_bits_narrow = p.narrow;
        top->io_transfer_bits_check = p.check;
        top->io_transfer_bits_failMask = p.failMask;
        top->io_transfer_bits_address = p.read.address;
        top->io_transfer_bits_beats = p.bytes.size() / (p.narrow ? 1 : kPhyBytes);
        top->io_transfer_bits_bytes = p.read.bytes;
        top->io_transfer_bits_core = p.read.core;
        top->io_transfer_bits_stream = p.read.stream;
        top->io_transfer_bits_tail = p.read.tail;
        top->io_transfer_bits_toStream = p.read.toStream;
        top->io_transfer_bits_drop = p.read.drop;
        top->io_transfer_bits_addr = p.read.to;
        top->io_transfer_bits_verify = p.read.check.has_value();
        top->io_transfer_bits_expected = p.read.oob0;
        (p.main ? expected_ : answers_).push_back(p.expected);
        state_ = State::Out;
        sends_ = false;
        busy_ = true;
        next_ = 0;
        wait_ = select + preamble - 1;
        return;
    }
    if (chance(beatGap))
        return;
    if (state_ == State::Out) {
        const Phase &p = phases_.front();
        if (p.main && !top->io_room) {
            stalled++;
            return;
        }
        unsigned n = p.narrow ? 1 : kPhyBytes;
        uint32_t beat = static_cast<uint32_t>(random());
        for (unsigned i = 0; i < n; i++)
            beat = (beat & ~(0xFFu << 8 * i)) | static_cast<uint32_t>(p.bytes[next_ + i]) << 8 * i;
        next_ += n;
        top->io_asked = p.main ? n : 0;
        arriving_.emplace_back(now + 1 + latency, beat);
        if (next_ == p.bytes.size()) {
            state_ = State::Post;
            wait_ = post;
        }
        return;
    }
    if (sent_.empty() && !top->io_sending)
        return;
    for (unsigned i = 0; i < kPhyBytes; i++)
        sent_.push_back(static_cast<uint8_t>(top->io_beat >> 8 * i));
    top->io_take = 1;
    if (sent_.size() == codec_->sectorBytes()) {
        top->io_sent = 1;
        state_ = State::Post;
        wait_ = post;
    }
}

void SectorBench::feedData() {
    top->io_in_valid = 0;
    if (feeds_.empty() || now < feeds_.front().notBefore || !chance(feed))
        return;
    Feed &f = feeds_.front();
    unsigned bytes = std::min<unsigned>(64, static_cast<unsigned>(f.data.size()) - f.at), beats = (bytes + 7) / 8;
    uint64_t word = random();
    for (unsigned i = 0; i < 8 && feedBeat_ * 8 + i < bytes; i++) {
        word &= ~(0xFFull << 8 * i);
        word |= static_cast<uint64_t>(f.data[f.at + feedBeat_ * 8 + i]) << 8 * i;
    }
    top->io_in_valid = 1;
    top->io_in_bits_data = word;
    top->io_in_bits_last = feedBeat_ == beats - 1;
    top->io_in_bits_addr = f.at;
    top->io_in_bits_bytes = bytes;
    if (++feedBeat_ < beats)
        return;
    feedBeat_ = 0;
    f.at += bytes;
    if (f.at == f.data.size())
        feeds_.pop_front();
}

/** Adds what this cycle shows to the digest: data only where it counts. */
void SectorBench::sum() {
    auto add = [this](uint64_t value) { digest = (digest ^ value) * 0x100000001b3u; };
    const VSectorPath &t = *top;
    add(t.io_transferReady | t.io_room << 1 | t.io_free << 2 | t.io_building << 3 | t.io_quiet << 4 |
        t.io_sending << 5 | t.io_out_valid << 6 | t.io_completion_valid << 7 | t.io_fetch_valid << 8 |
        t.io_ready_valid << 9 | t.io_unfinished << 16);
    if (t.io_out_valid) {
        add(t.io_out_bits_data);
        add(t.io_out_bits_last | t.io_out_bits_toStream << 1 | t.io_out_bits_mark << 2 | t.io_out_bits_bytes << 3 |
            t.io_out_bits_dst << 10 | t.io_out_bits_stream << 16);
        add(t.io_out_bits_addr);
    }
    if (t.io_completion_valid) {
        add(t.io_completion_bits_data);
        add(t.io_completion_bits_tag | t.io_completion_bits_way << 12 | t.io_completion_bits_status << 16);
        add(t.io_completion_bits_sector | t.io_completion_bits_errors << 1 | t.io_completion_bits_bits << 8 |
            t.io_completion_bits_failed << 18);
    }
    if (t.io_sending)
        add(t.io_beat);
    if (t.io_fetch_valid)
        add(uint64_t(t.io_fetch_bits_addr) << 16 | t.io_fetch_bits_bytes);
    if (t.io_ready_valid)
        add(t.io_ready_bits);
}

void SectorBench::tick() {
    top->io_config_seed = setting.seed;
    top->io_config_layout = setting.layout;
    top->io_config_erasedLimit = erasedLimit;
    top->clock = 0;
    top->eval();
    bus();
    feedData();
    top->io_start_valid = 0;
    if (!programs_.empty() && top->io_free) {
        Program p = programs_.front();
        programs_.pop_front();
        top->io_start_valid = 1;
        top->io_start_bits_way = p.way;
        top->io_start_bits_address = p.address;
        top->io_start_bits_bytes = p.data.size();
        top->io_start_bits_oob = static_cast<uint64_t>(p.oob1) << 32 | p.oob0;
        top->io_start_bits_arg = static_cast<uint32_t>(random()) & ~63u;
        fetching_.push_back(p);
    }
    top->io_dqInLost = 0;
    top->io_dqInValid = !arriving_.empty() && arriving_.front().first == now;
    top->io_dqIn = static_cast<uint32_t>(random()) & (kPhyBytes == 4 ? ~0u : (1u << 8 * (kPhyBytes % 4)) - 1);
    if (top->io_dqInValid) {
        top->io_dqIn = arriving_.front().second & (kPhyBytes == 4 ? ~0u : (1u << 8 * (kPhyBytes % 4)) - 1);
        arriving_.pop_front();
        lastBeat = now;
    }
    top->io_out_ready = chance(outReady);
    top->io_completion_ready = chance(completionReady);
    top->io_fetch_ready = chance(fetchReady);
    top->eval();
    sum();
    if (inPacket_ && !top->io_out_valid)
        fail("a packet is offered before all of it is there");
    if (top->io_out_valid && top->io_out_ready)
        takeBeat();
    if (top->io_completion_valid && top->io_completion_ready)
        takeCompletion();
    if (top->io_fetch_valid && top->io_fetch_ready) {
        if (fetching_.empty() || top->io_fetch_bits_addr != top->io_start_bits_arg ||
            top->io_fetch_bits_bytes != fetching_.back().data.size())
            fail("another fetch than asked for");
        feeds_.push_back({fetching_.back().data, 0, now + 1 + below(60)});
    }
    if (top->io_ready_valid) {
        if (fetching_.empty() || top->io_ready_bits != fetching_.front().way || !feeds_.empty())
            fail("ready for another way, or too early");
        waiting_.push_back(fetching_.front());
        fetching_.pop_front();
    }
    top->clock = 1;
    top->eval();
    now++;
}

void SectorBench::bareBeat() {
    constexpr unsigned kHead = 12; // cycles of a phase before its first beat
    if (bare_.empty()) {
        bare_ = encode(5, randomBytes(kSector), 1, 2);
        top->io_transfer_bits_main = top->io_transfer_bits_sector = 1;
        top->io_transfer_bits_narrow = top->io_transfer_bits_drop = top->io_transfer_bits_verify = 0;
        top->io_transfer_bits_address = 5;
        top->io_transfer_bits_beats = bare_.size() / kPhyBytes;
        top->io_transfer_bits_bytes = kSector;
        top->io_out_ready = top->io_completion_ready = 1;
    }
    top->io_transfer_valid = bareAt_ == 0;
    top->io_dqInValid = bareAt_ >= kHead;
    top->io_asked = top->io_dqInValid ? kPhyBytes : 0;
    if (top->io_dqInValid) {
        const unsigned at = (bareAt_ - kHead) * kPhyBytes;
        uint32_t beat = 0;
        for (unsigned i = 0; i < kPhyBytes; i++)
            beat |= static_cast<uint32_t>(bare_[at + i]) << 8 * i;
        top->io_dqIn = beat;
        if (at + kPhyBytes == bare_.size()) {
            bareAt_ = 0;
            return;
        }
    }
    bareAt_++;
}

void SectorBench::takeBeat() {
    // The completion of the transfer before may still wait.
    unsigned at = 0;
    while (at < expected_.size() && expected_[at].delivered == expected_[at].data.size())
        at++;
    if (at == expected_.size() || at > 1)
        fail("data that nobody asked for");
    Expected &e = expected_[at];
    const Read &r = e.read;
    const unsigned left = static_cast<unsigned>(e.data.size()) - e.delivered;
    if (!inPacket_) {
        inPacket_ = true;
        beat_ = 0;
        packetAddr_ = top->io_out_bits_addr;
        if (packetAddr_ != r.to + e.delivered)
            fail("packet for another address");
        const bool mark = r.toStream && r.tail && left <= 64;
        if (top->io_out_bits_bytes != std::min(64u, left) || top->io_out_bits_toStream != r.toStream ||
            top->io_out_bits_dst != (r.toStream ? r.core : kDramPort) ||
            (r.toStream && top->io_out_bits_stream != r.stream) || top->io_out_bits_mark != mark)
            fail("packet fields");
    } else if (packetAddr_ != top->io_out_bits_addr) {
        fail("fields change inside a packet");
    }
    const unsigned n = std::min(8u, left);
    for (unsigned i = 0; i < n; i++) {
        if (static_cast<uint8_t>(top->io_out_bits_data >> 8 * i) != e.data[e.delivered + i])
            fail("byte " + std::to_string(e.delivered + i) + " of tag " + std::to_string(e.completion.tag) +
                 " differs");
    }
    e.delivered += n;
    const bool last = ++beat_ == 8 || e.delivered == e.data.size();
    if (top->io_out_bits_last != last)
        fail("`last` is not on the last beat of the packet");
    if (last)
        inPacket_ = false;
}

void SectorBench::takeCompletion() {
    Completion c;
    c.tag = top->io_completion_bits_tag;
    c.status = top->io_completion_bits_status;
    c.way = top->io_completion_bits_way;
    c.data = top->io_completion_bits_data;
    c.sector = top->io_completion_bits_sector;
    c.errors = top->io_completion_bits_errors;
    c.bits = top->io_completion_bits_bits;
    c.failed = top->io_completion_bits_failed;
    std::deque<Expected> &from = !answers_.empty() && answers_.front().completion.tag == c.tag ? answers_ : expected_;
    if (from.empty())
        fail("a completion that nobody waits for: " + text(c));
    Expected e = from.front();
    if (!(top->io_unfinished >> c.way & 1))
        fail("way " + std::to_string(c.way) + " counts as finished before its completion");
    // The metadata of a sector that is not whole is what happens to be there.
    if (c.status == e.completion.status &&
        (c.status == FLASH_STATUS_UNCORRECTABLE || c.status == FLASH_STATUS_MISMATCH))
        c.data = (c.data & ~0xFFFFFFFFull) | (e.completion.data & 0xFFFFFFFF);
    if (!(c == e.completion))
        fail("completion: " + text(c) + "\n   expected: " + text(e.completion));
    if (e.delivered != e.data.size())
        fail("completed before its data was delivered: " + text(c));
    from.pop_front();
    lastComplete = now;
    completions++;
}

void SectorBench::drain(uint64_t limit) {
    const uint64_t end = now + limit;
    while (pendingWork() || !fetching_.empty() || !waiting_.empty()) {
        if (now > end)
            fail("not done after " + std::to_string(limit) + " cycles: " + std::to_string(phases_.size()) +
                 " phases, " + std::to_string(expected_.size()) + " sectors, " + std::to_string(answers_.size()) +
                 " answers, " + std::to_string(programs_.size()) + " programs");
        tick();
    }
    for (unsigned i = 0; i < 4; i++)
        tick();
    if (!top->io_quiet)
        fail("not quiet when all is done");
    if (top->io_unfinished)
        fail("unfinished ways when all is done");
}

} // namespace sectorbench
