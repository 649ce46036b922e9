// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/DmaChannel.h"

namespace assasin {

namespace {

constexpr unsigned STS_DONE = 1u << 3; ///< of the channel status port: a descriptor is done

} // namespace

DmaChannel::DmaChannel(unsigned target, const PcieParams &pcie, HostMemory &host)
    : pcie_(pcie), host_(host), link_(pcie.bytesPerCycle), target_(target) {
}

uint32_t DmaChannel::read(uint32_t offset) {
    const uint32_t status = status_ | (unfinished_ > 0 ? uint32_t(STATUS_BUSY) : 0);
    switch (offset) {
    case 0x00:
        return 0x1FC00006u | target_ << 16;
    case 0x04:
    case 0x08:
    case 0x0C:
        return control_;
    case 0x40:
        return status;
    case 0x44: // read to clear
        status_ = 0;
        return status;
    case 0x48:
        return completed_;
    case 0x4C:
        return 0x00010140; // any address, any length, 64 address bits
    case 0x88:
        return uint32_t(writeback_);
    case 0x8C:
        return uint32_t(writeback_ >> 32);
    case 0x90:
    case 0x94:
    case 0x98:
        return interruptMask_;
    default:
        return 0;
    }
}

void DmaChannel::write(uint32_t offset, uint32_t value) {
    switch (offset) {
    case 0x04:
        setControl(value);
        break;
    case 0x08:
        setControl(control_ | value);
        break;
    case 0x0C:
        setControl(control_ & ~value);
        break;
    case 0x40: // write 1 to clear
        status_ &= ~value;
        break;
    case 0x88:
        writeback_ = (writeback_ & ~uint64_t(0xFFFFFFFF)) | value;
        break;
    case 0x8C:
        writeback_ = (writeback_ & 0xFFFFFFFF) | uint64_t(value) << 32;
        break;
    case 0x90:
        interruptMask_ = value;
        break;
    case 0x94:
        interruptMask_ |= value;
        break;
    case 0x98:
        interruptMask_ &= ~value;
        break;
    default:
        break;
    }
}

void DmaChannel::setControl(uint32_t value) {
    if ((value & ~control_ & CONTROL_RUN) != 0) {
        completed_ = 0;
        status_ &= ~uint32_t(STATUS_STOPPED | STATUS_COMPLETED | STATUS_IDLE_STOPPED);
    }
    control_ = value;
}

void DmaChannel::driveBypass(BypassWires &wires) const {
    wires.ready = (control_ & CONTROL_RUN) != 0 && queue_.size() < QUEUE_DEPTH;
    wires.sts = uint8_t((control_ & CONTROL_RUN) << 6 | (pulses_ > 0 ? STS_DONE : 0) | (unfinished_ > 0 ? 1u : 0));
}

void DmaChannel::sampleBypass(const BypassWires &wires) {
    if ((wires.sts & STS_DONE) != 0) {
        pulses_--;
    }
    if (wires.load && wires.ready) {
        descriptors_++;
        unfinished_++;
        if (wires.len == 0) {
            flag(STATUS_INVALID_LENGTH);
        }
        queue_.push_back({wires.srcAddr, wires.dstAddr, wires.len});
    }
}

void DmaChannel::finish() {
    unfinished_--;
    pulses_++;
    completed_++;
    status_ |= STATUS_COMPLETED;
    if ((control_ & CONTROL_WRITEBACK) != 0) {
        host_.storeWord(writeback_, completed_);
    }
}

} // namespace assasin
