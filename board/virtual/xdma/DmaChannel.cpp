// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/DmaChannel.h"

namespace assasin {

namespace {

/// Bits of the channel status port.
enum : uint8_t {
    STS_BUSY = 1u << 0,
    STS_COMPLETED = 1u << 1,
    STS_STOPPED = 1u << 2,
    STS_DONE = 1u << 3, ///< pulses for each descriptor done
    STS_IRQ = 1u << 5,
    STS_RUN = 1u << 6,
};

constexpr uint32_t CONTROL_MASK = 0x0EFFFE7F;
constexpr uint32_t INTERRUPT_MASK = 0x00FFFE7E;
constexpr uint32_t WRITEBACK_ERROR = 1u << 31;
constexpr uint32_t WRITEBACK_COUNT = 0x00FFFFFF;

} // namespace

DmaChannel::DmaChannel(unsigned target, unsigned number, Source source, PcieLink &link, HostMemory &host)
    : link_(link), host_(host), target_(target), number_(number), source_(source),
      fetcher_(target, number, link, host) {
}

uint32_t DmaChannel::read(uint32_t offset) {
    const uint32_t status = status_ | (busy() ? uint32_t(STATUS_BUSY) : 0);
    switch (offset) {
    case 0x00:
        return 0x1FC00006u | target_ << 16 | number_ << 8;
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
        return monitor_.read(offset);
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
        interruptMask_ = value & INTERRUPT_MASK;
        break;
    case 0x94:
        interruptMask_ |= value & INTERRUPT_MASK;
        break;
    case 0x98:
        interruptMask_ &= ~value;
        break;
    default:
        monitor_.write(offset, value);
        break;
    }
}

void DmaChannel::setControl(uint32_t value) {
    value &= CONTROL_MASK;
    const uint32_t rise = value & ~control_ & CONTROL_RUN;
    const uint32_t fall = control_ & ~value & CONTROL_RUN;
    control_ = value;
    if (rise != 0) {
        completed_ = 0;
        status_ = 0;
        monitor_.started();
        if (source_ == Source::LIST) {
            if (busy()) {
                giveUp(); // of the run before, which was told to stop and has not ended yet
            }
            pending_ = 0;
            running_ = true;
            fetcher_.start();
        }
    }
    if (fall != 0 && source_ == Source::LIST && running_) {
        // the descriptor in work is finished, the others are not begun
        fetcher_.stop();
        const size_t begun = offset_ != 0 ? 1 : 0;
        while (queue_.size() > begun) {
            queue_.pop_back();
            inWork_.pop_back();
        }
        pending_ |= STATUS_IDLE_STOPPED;
    }
}

void DmaChannel::giveUp() {
    run_++;
    fetcher_.stop();
    queue_.clear();
    inWork_.clear();
    offset_ = 0;
}

void DmaChannel::reset() {
    if (source_ == Source::LIST) {
        giveUp();
        running_ = false;
        control_ = 0;
    }
    fetcher_.reset();
    monitor_.reset();
    status_ = 0;
    completed_ = 0;
    interruptMask_ = 0;
    writeback_ = 0;
    pending_ = 0;
}

void DmaChannel::driveBypass(BypassWires &wires) const {
    wires.ready = (control_ & CONTROL_RUN) != 0 && queue_.size() < QUEUE_DEPTH;
    wires.sts = uint8_t((inWork_.empty() ? 0 : STS_BUSY) | ((status_ & STATUS_COMPLETED) != 0 ? STS_COMPLETED : 0) |
                        ((status_ & STATUS_STOPPED) != 0 ? STS_STOPPED : 0) | (pulses_ > 0 ? STS_DONE : 0) |
                        (interrupt() ? STS_IRQ : 0) | ((control_ & CONTROL_RUN) != 0 ? STS_RUN : 0));
}

void DmaChannel::sampleBypass(const BypassWires &wires) {
    if ((wires.sts & STS_DONE) != 0) {
        pulses_--;
    }
    if (wires.load && wires.ready) {
        if (wires.len == 0) {
            log(STATUS_INVALID_LENGTH);
        }
        enqueue({wires.srcAddr, wires.dstAddr, wires.len, uint8_t(wires.ctl)});
    }
}

void DmaChannel::advance(uint64_t now) {
    if (busy()) {
        monitor_.cycle();
    }
    if (source_ == Source::BYPASS || !running_) {
        return;
    }
    fetcher_.step(now);
    DmaDescriptor d;
    while (queue_.size() < QUEUE_DEPTH && fetcher_.take(d)) {
        const uint64_t device = target_ == 0 ? d.dst : d.src;
        if (device + d.len > uint64_t(1) << 32) { // the chip's port has 32 address bits
            pending_ |= target_ == 0 ? STATUS_WRITE_DECODE : STATUS_READ_DECODE;
            fetcher_.stop();
            break;
        }
        enqueue(d);
    }
    if (fetcher_.end() == DescriptorFetcher::End::BAD_MAGIC) {
        pending_ |= STATUS_MAGIC;
    } else if (fetcher_.end() == DescriptorFetcher::End::UNSUPPORTED_REQUEST) {
        pending_ |= STATUS_LIST_UR;
    }
    if (!busy()) {
        running_ = false;
        log(pending_);
        if ((pending_ & STATUS_ERRORS) != 0) {
            control_ &= ~uint32_t(CONTROL_RUN);
            writeBack();
        }
        pending_ = 0;
    }
}

void DmaChannel::pieceDone(bool last, uint32_t error, uint32_t run) {
    if (run != run_) {
        return;
    }
    if (source_ == Source::LIST && (error & control_) != 0) {
        giveUp();
        pending_ |= error;
        return;
    }
    if (!last) {
        return;
    }
    const uint8_t control = inWork_.front();
    inWork_.pop_front();
    pulses_ += source_ == Source::BYPASS;
    completed_++;
    if ((control & DmaDescriptor::COMPLETED) != 0) {
        log(STATUS_COMPLETED);
        writeBack();
    }
    if ((control & DmaDescriptor::STOP) != 0) {
        log(STATUS_STOPPED);
        monitor_.stopped();
    }
}

void DmaChannel::writeBack() {
    if ((control_ & CONTROL_WRITEBACK) != 0) {
        const bool error = (status_ & STATUS_ERRORS) != 0;
        host_.storeWord(writeback_, (completed_ & WRITEBACK_COUNT) | (error ? WRITEBACK_ERROR : 0));
    }
}

} // namespace assasin
