// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/Interrupts.h"

namespace assasin {

uint32_t XdmaInterrupts::read(uint32_t offset) const {
    switch (offset) {
    case 0x00:
        return 0x1FC20006;
    case 0x04:
    case 0x08:
    case 0x0C:
        return userEnable_;
    case 0x10:
    case 0x14:
    case 0x18:
        return channelEnable_;
    case 0x40:
        return userRequest_ & userEnable_;
    case 0x44:
        return channelRequest_ & channelEnable_;
    case 0x48:
        return userRequest_;
    case 0x4C:
        return channelRequest_;
    default:
        if (offset >= 0x80 && offset < 0x90) {
            return userVector_[(offset - 0x80) / 4];
        }
        if (offset >= 0xA0 && offset < 0xA8) {
            return channelVector_[(offset - 0xA0) / 4];
        }
        return 0;
    }
}

void XdmaInterrupts::write(uint32_t offset, uint32_t value) {
    const uint32_t users = (1u << USER_INTERRUPTS) - 1;
    const uint32_t channels = (1u << CHANNELS) - 1;
    switch (offset) {
    case 0x04:
        userEnable_ = value & users;
        break;
    case 0x08:
        userEnable_ |= value & users;
        break;
    case 0x0C:
        userEnable_ &= ~value;
        break;
    case 0x10:
        channelEnable_ = value & channels;
        break;
    case 0x14:
        channelEnable_ |= value & channels;
        break;
    case 0x18:
        channelEnable_ &= ~value;
        break;
    default:
        if (offset >= 0x80 && offset < 0x90) {
            userVector_[(offset - 0x80) / 4] = value & 0x1F1F1F1F;
        } else if (offset >= 0xA0 && offset < 0xA8) {
            channelVector_[(offset - 0xA0) / 4] = value & 0x1F1F1F1F;
        }
        break;
    }
}

void XdmaInterrupts::reset() {
    channelEnable_ = 0;
    channelVector_.fill(0);
}

void XdmaInterrupts::sampleChannels(uint32_t channelRequest) {
    channelRequest_ = channelRequest;
    const uint32_t active = channelRequest & channelEnable_;
    if (active == channelTaken_) {
        return;
    }
    if (function_.msixEnabled()) {
        for (unsigned i = 0; i < CHANNELS; i++) {
            if ((active & ~channelTaken_) >> i & 1) {
                function_.raise(vectorOf(channelVector_, i));
            }
        }
    } else {
        function_.setIntx(taken_ != 0 || active != 0);
    }
    channelTaken_ = active;
}

void XdmaInterrupts::sample(uint16_t userRequest) {
    userRequest_ = userRequest;
    acked_ = ack_ != 0;
    const uint16_t active = uint16_t(userRequest & userEnable_);
    if (active == taken_) {
        ack_ = 0;
        return;
    }
    uint16_t ack = 0;
    if (function_.msixEnabled()) {
        for (unsigned i = 0; i < USER_INTERRUPTS; i++) {
            if ((active & ~taken_) >> i & 1) {
                function_.raise(vectorOf(userVector_, i));
                ack = uint16_t(ack | 1u << i);
            }
        }
    } else {
        ack = active ^ taken_;
        function_.setIntx(active != 0 || channelTaken_ != 0);
    }
    taken_ = active;
    ack_ = ack;
}

} // namespace assasin
