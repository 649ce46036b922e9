// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/DescriptorFetcher.h"

#include <algorithm>

namespace assasin {

namespace {

constexpr uint32_t MAGIC = 0xAD4B;
constexpr uint32_t MAX_ADJACENT = 0x3F;
constexpr uint32_t MAX_CREDITS = 0x3FF;
constexpr uint32_t MAX_LENGTH = (1u << 28) - 1;
constexpr uint32_t BOUNDARY = 4096;

} // namespace

uint32_t DescriptorFetcher::read(uint32_t offset) const {
    switch (offset) {
    case 0x00:
        return 0x1FC40006u | target_ << 16 | number_ << 8;
    case 0x80:
        return uint32_t(address_);
    case 0x84:
        return uint32_t(address_ >> 32);
    case 0x88:
        return adjacent_;
    case 0x8C:
        return credits_;
    default:
        return 0;
    }
}

void DescriptorFetcher::write(uint32_t offset, uint32_t value) {
    switch (offset) {
    case 0x80:
        address_ = (address_ & ~uint64_t(0xFFFFFFFF)) | value;
        break;
    case 0x84:
        address_ = (address_ & 0xFFFFFFFF) | uint64_t(value) << 32;
        break;
    case 0x88:
        adjacent_ = value & MAX_ADJACENT;
        break;
    case 0x8C:
        if (creditMode_) {
            credits_ = std::min(credits_ + (value & MAX_CREDITS), MAX_CREDITS);
        }
        break;
    default:
        break;
    }
}

void DescriptorFetcher::setCreditMode(bool on) {
    creditMode_ = on;
    if (!on) {
        credits_ = 0;
    }
}

void DescriptorFetcher::start() {
    active_ = true;
    end_ = End::NONE;
    next_ = address_;
    nextAdjacent_ = adjacent_;
    reading_ = false;
    fetched_.clear();
}

void DescriptorFetcher::finish(End end) {
    active_ = false;
    end_ = end;
    reading_ = false;
    fetched_.clear();
}

void DescriptorFetcher::stop() {
    finish(End::NONE);
    credits_ = 0;
}

void DescriptorFetcher::reset() {
    stop();
    address_ = 0;
    adjacent_ = 0;
    halted_ = false;
    creditMode_ = false;
}

void DescriptorFetcher::step(uint64_t now) {
    if (!active_) {
        return;
    }
    if (reading_) {
        if (now < arrival_) {
            return;
        }
        reading_ = false;
        for (uint32_t i = 0; i < readCount_; i++) {
            Raw raw;
            if (!host_.read(next_ + uint64_t(i) * DESCRIPTOR_BYTES, raw.data(), DESCRIPTOR_BYTES)) {
                if (fetched_.empty()) {
                    finish(End::UNSUPPORTED_REQUEST);
                }
                return; // what arrived before goes on; the rest is asked for again and fails then
            }
            fetched_.push_back(raw);
        }
    } else if (fetched_.empty() && mayRead()) {
        readCount_ =
            std::max(1u, std::min(nextAdjacent_ + 1, uint32_t(BOUNDARY - next_ % BOUNDARY) / DESCRIPTOR_BYTES));
        if (creditMode_) {
            readCount_ = std::min(readCount_, credits_);
            credits_ -= readCount_;
        }
        arrival_ = link_.fromHost.charge(now + link_.params.readLatency, uint64_t(readCount_) * DESCRIPTOR_BYTES);
        reading_ = true;
    }
}

bool DescriptorFetcher::take(DmaDescriptor &descriptor) {
    if (fetched_.empty()) {
        return false;
    }
    const Raw raw = fetched_.front();
    fetched_.pop_front();
    if (raw[0] >> 16 != MAGIC) {
        finish(End::BAD_MAGIC);
        return false;
    }
    descriptor.control = uint8_t(raw[0]);
    descriptor.len = raw[1] & MAX_LENGTH;
    descriptor.src = uint64_t(raw[3]) << 32 | raw[2];
    descriptor.dst = uint64_t(raw[5]) << 32 | raw[4];
    next_ = uint64_t(raw[7]) << 32 | raw[6];
    nextAdjacent_ = raw[0] >> 8 & MAX_ADJACENT;
    if ((descriptor.control & DmaDescriptor::STOP) != 0) {
        finish(End::STOP);
    }
    return true;
}

} // namespace assasin
