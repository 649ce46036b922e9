// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/Xdma.h"

namespace assasin {

namespace {

constexpr unsigned LIST = 0;                ///< number of the channels that fetch descriptor lists
constexpr unsigned BYPASS = 1;              ///< number of the channels whose descriptors come from the chip
constexpr uint32_t LOADER = Xdma::CHANNELS; ///< tag of the loader's writes

constexpr uint32_t COMMON_MASK = 0x000F000F; ///< a bit a channel

/// What registers of three do with a write: set all, set bits, clear bits.
uint32_t merge(uint32_t old, uint32_t value, unsigned way, uint32_t mask) {
    switch (way) {
    case 0:
        return value & mask;
    case 1:
        return old | (value & mask);
    default:
        return old & ~value;
    }
}

} // namespace

Xdma::Xdma(const PcieParams &pcie, HostMemory &host, PciFunction &function)
    : function_(function), link_(pcie), h2c_{{{LIST, DmaChannel::Source::LIST, link_, host, writer_},
                                              {BYPASS, DmaChannel::Source::BYPASS, link_, host, writer_}}},
      c2h_{{{LIST, DmaChannel::Source::LIST, link_, host, reader_},
            {BYPASS, DmaChannel::Source::BYPASS, link_, host, reader_}}},
      interrupts_(function) {
}

DmaChannel *Xdma::channel(uint32_t target, uint32_t number) {
    if (number >= CHANNELS) {
        return nullptr;
    }
    return target == 0 ? static_cast<DmaChannel *>(&h2c_[number]) : &c2h_[number];
}

uint32_t Xdma::readConfiguration(uint32_t offset) const {
    switch (offset) {
    case 0x00:
        return 0x1FC30006;
    case 0x04:
        return 0; // bus, device, function: the remote protocol does not tell
    case 0x08:
        return function_.maxPayload();
    case 0x0C:
        return function_.maxReadRequest();
    case 0x10:
        return 0xFF01;
    case 0x14:
        return function_.msixEnabled() ? 2 : 0;
    case 0x18:
        return 0; // 64-bit datapath
    case 0x1C:
        return pcieControl_;
    case 0x40:
        return 0x00000055; // AXI master: payload of 4096 at most
    case 0x44:
        return 0x00000055;
    case 0x60:
        return writeFlush_;
    default:
        return 0;
    }
}

uint32_t Xdma::readCommon(uint32_t offset) const {
    switch (offset) {
    case 0x00:
        return 0x1FC60006;
    case 0x10:
    case 0x14:
    case 0x18:
        return halted_;
    case 0x20:
    case 0x24:
    case 0x28:
        return creditMode_;
    default:
        return 0;
    }
}

void Xdma::writeCommon(uint32_t offset, uint32_t value) {
    switch (offset) {
    case 0x10:
    case 0x14:
    case 0x18:
        halted_ = merge(halted_, value, (offset - 0x10) / 4, COMMON_MASK);
        break;
    case 0x20:
    case 0x24:
    case 0x28:
        creditMode_ = merge(creditMode_, value, (offset - 0x20) / 4, COMMON_MASK);
        break;
    default:
        return;
    }
    for (unsigned i = 0; i < CHANNELS; i++) {
        h2c_[i].fetcher().setHalted((halted_ >> i & 1) != 0);
        c2h_[i].fetcher().setHalted((halted_ >> (16 + i) & 1) != 0);
        h2c_[i].fetcher().setCreditMode((creditMode_ >> i & 1) != 0);
        c2h_[i].fetcher().setCreditMode((creditMode_ >> (16 + i) & 1) != 0);
    }
}

uint32_t Xdma::readRegister(uint32_t offset) {
    offset &= BOARD_BAR2_SIZE - 4;
    if (PciFunction::ownsBar2(offset)) {
        return function_.msixRead(offset);
    }
    const uint32_t target = offset >> 12;
    const uint32_t number = offset >> 8 & 0xF;
    const uint32_t reg = offset & 0xFF;
    switch (target) {
    case 0:
    case 1: {
        DmaChannel *const c = channel(target, number);
        const uint32_t value = c != nullptr ? c->read(reg) : 0;
        sampleEngines();
        return value;
    }
    case 2:
        return number == 0 ? interrupts_.read(reg) : 0;
    case 3:
        return readConfiguration(offset & 0xFFF);
    case 4:
    case 5: {
        DmaChannel *const c = channel(target - 4, number);
        return c != nullptr ? c->fetcher().read(reg) : 0;
    }
    case 6:
        return readCommon(offset & 0xFFF);
    default:
        return 0;
    }
}

void Xdma::writeRegister(uint32_t offset, uint32_t value) {
    offset &= BOARD_BAR2_SIZE - 4;
    if (PciFunction::ownsBar2(offset)) {
        function_.msixWrite(offset, value);
        return;
    }
    const uint32_t target = offset >> 12;
    const uint32_t number = offset >> 8 & 0xF;
    const uint32_t reg = offset & 0xFF;
    switch (target) {
    case 0:
    case 1:
        if (DmaChannel *const c = channel(target, number)) {
            c->write(reg, value);
        }
        break;
    case 2:
        if (number == 0) {
            interrupts_.write(reg, value);
        }
        break;
    case 3:
        if ((offset & 0xFFF) == 0x1C) {
            pcieControl_ = value & 1;
        } else if ((offset & 0xFFF) == 0x60) {
            writeFlush_ = value & 0x1F;
        }
        break;
    case 4:
    case 5:
        if (DmaChannel *const c = channel(target - 4, number)) {
            c->fetcher().write(reg, value);
        }
        break;
    case 6:
        writeCommon(offset & 0xFFF, value);
        break;
    default:
        break;
    }
    sampleEngines();
}

void Xdma::sampleEngines() {
    interrupts_.sampleChannels(uint32_t(h2c_[0].interrupt()) | uint32_t(h2c_[1].interrupt()) << 1 |
                               uint32_t(c2h_[0].interrupt()) << 2 | uint32_t(c2h_[1].interrupt()) << 3);
}

void Xdma::reset() {
    for (unsigned i = 0; i < CHANNELS; i++) {
        h2c_[i].reset();
        c2h_[i].reset();
    }
    interrupts_.reset();
    halted_ = 0;
    creditMode_ = 0;
    pcieControl_ = 1;
    writeFlush_ = 0;
}

void Xdma::load(uint32_t addr, const uint8_t *data, size_t size) {
    writer_.push(addr, data, size, LOADER);
}

void Xdma::drive() {
    writer_.drive(mem);
    reader_.drive(mem);
    h2c_[BYPASS].driveBypass(h2cBypass);
    c2h_[BYPASS].driveBypass(c2hBypass);
    irq.ack = interrupts_.ack();
    irq.msix = function_.msixEnabled();
    regs.awReady = !haveAddress_;
    regs.wReady = !haveData_;
    regs.bValid = answerWrite_;
    regs.bResp = AXI_OKAY;
    regs.arReady = !answerRead_;
    regs.rValid = answerRead_;
    regs.rData = readData_;
    regs.rResp = AXI_OKAY;
}

void Xdma::sample(uint64_t now) {
    AxiWriteMaster::Done written;
    if (writer_.sample(mem, written) && written.tag != LOADER) {
        h2c_[written.tag].written(written.resp);
    }
    h2c_[BYPASS].sampleBypass(h2cBypass);
    c2h_[BYPASS].sampleBypass(c2hBypass);
    AxiReadMaster::Done read;
    if (reader_.sample(mem, read)) {
        c2h_[read.tag].arrived(read, now);
    }
    // the chip's transfers have the first place in each cycle
    c2h_[BYPASS].step(now);
    c2h_[LIST].step(now);
    sampleEngines();
    interrupts_.sample(irq.req);
    h2c_[BYPASS].step(now);
    h2c_[LIST].step(now);
    sampleRegs();
}

void Xdma::sampleRegs() {
    if (answerWrite_ && regs.bReady) {
        answerWrite_ = false;
    }
    if (answerRead_ && regs.rReady) {
        answerRead_ = false;
    }
    if (regs.awValid && regs.awReady) {
        haveAddress_ = true;
        address_ = regs.awAddr;
    }
    if (regs.wValid && regs.wReady) {
        haveData_ = true;
        data_ = regs.wData;
    }
    if (haveAddress_ && haveData_ && !answerWrite_) {
        writeRegister(address_, data_);
        haveAddress_ = false;
        haveData_ = false;
        answerWrite_ = true;
    }
    if (regs.arValid && regs.arReady) {
        readData_ = readRegister(regs.arAddr);
        answerRead_ = true;
    }
}

bool Xdma::idle() const {
    return writer_.idle() && reader_.idle() && h2c_[0].idle() && h2c_[1].idle() && c2h_[0].idle() && c2h_[1].idle() &&
           interrupts_.idle() && !haveAddress_ && !haveData_ && !answerWrite_ && !answerRead_;
}

} // namespace assasin
