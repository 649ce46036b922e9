// SPDX-License-Identifier: BSD-3-Clause
#include "pciproxy/PciFunction.h"

#include <cstring>

namespace assasin {

namespace {

constexpr uint32_t CFG_STATUS = 0x06;
constexpr uint32_t CFG_PM_CONTROL = BOARD_CFG_CAP_PM + 0x04;
constexpr uint32_t CFG_PCIE_CONTROL = BOARD_CFG_CAP_PCIE + 0x08;
constexpr uint16_t POWER_STATE = 3; ///< D0 is 0, D3hot is 3
constexpr uint16_t PCIE_FUNCTION_RESET = 1u << 15;
constexpr uint32_t BAR_64_BIT = 4; ///< memory, not prefetchable
constexpr uint16_t COMMAND_MEMORY = 1u << 1;
constexpr uint16_t COMMAND_MASTER = 1u << 2;
constexpr uint16_t COMMAND_INTX_DISABLE = 1u << 10;
constexpr uint8_t STATUS_INTERRUPT = 1u << 3;
constexpr uint8_t STATUS_CAPABILITIES = 1u << 4;
constexpr uint16_t MSIX_ENABLE = 1u << 15;
constexpr uint16_t MSIX_FUNCTION_MASK = 1u << 14;

} // namespace

template <typename T> void PciFunction::put(uint32_t offset, T value) {
    std::memcpy(&config_[offset], &value, sizeof value);
}

template <typename T> void PciFunction::writable(uint32_t offset, T mask) {
    std::memcpy(&mask_[offset], &mask, sizeof mask);
}

uint8_t PciFunction::addCapability(uint8_t id, uint8_t offset) {
    config_[lastCapability_ + 1] = offset;
    config_[offset] = id;
    lastCapability_ = offset;
    return offset;
}

PciFunction::PciFunction() {
    put<uint16_t>(0x00, BOARD_PCI_VENDOR);
    put<uint16_t>(0x02, BOARD_PCI_DEVICE);
    writable<uint16_t>(BOARD_CFG_COMMAND, 0x0546); // memory, master, parity, SERR, INTx disable
    put<uint32_t>(0x08, BOARD_PCI_CLASS << 8);
    mask_[0x0C] = 0xFF; // cache line size
    put<uint32_t>(BOARD_CFG_BAR0, BAR_64_BIT);
    put<uint32_t>(BOARD_CFG_BAR2, BAR_64_BIT);
    writable<uint32_t>(BOARD_CFG_BAR0, ~(BOARD_BAR0_SIZE - 1));
    writable<uint32_t>(BOARD_CFG_BAR2, ~(BOARD_BAR2_SIZE - 1));
    put<uint16_t>(0x2C, BOARD_PCI_VENDOR);
    put<uint16_t>(0x2E, 0x0007);
    mask_[0x3C] = 0xFF; // interrupt line
    config_[0x3D] = 1;  // INTA
    config_[CFG_STATUS] = STATUS_CAPABILITIES;

    const uint8_t pm = addCapability(0x01, BOARD_CFG_CAP_PM);
    put<uint16_t>(pm + 2, 0x0003);      // version 3, D0 and D3hot only
    put<uint16_t>(pm + 4, 0x0008);      // no soft reset
    writable<uint16_t>(pm + 4, 0x0003); // power state

    const uint8_t msix = addCapability(0x11, BOARD_CFG_CAP_MSIX);
    put<uint16_t>(msix + 2, BOARD_MSIX_VECTORS - 1);
    writable<uint16_t>(msix + 2, MSIX_ENABLE | MSIX_FUNCTION_MASK);
    put<uint32_t>(msix + 4, BOARD_MSIX_TABLE | BOARD_BAR_XDMA);
    put<uint32_t>(msix + 8, BOARD_MSIX_PBA | BOARD_BAR_XDMA);

    const uint8_t pcie = addCapability(0x10, BOARD_CFG_CAP_PCIE);
    put<uint16_t>(pcie + 0x02, 0x0002); // version 2, endpoint
    // maximum payload 256, extended tags, role-based error reporting, function level reset
    put<uint32_t>(pcie + 0x04, 0x10008021);
    put<uint16_t>(pcie + 0x08, 0x2810);      // maximum read request 512
    writable<uint16_t>(pcie + 0x08, 0x7FFF); // the reset bit reads 0
    put<uint32_t>(pcie + 0x0C, 0x00400044);  // x4, 16 GT/s, no ASPM
    writable<uint16_t>(pcie + 0x10, 0x00CB); // ASPM (no effect), read completion boundary, clock, extended synch
    put<uint16_t>(pcie + 0x12, 0x1044);      // x4, 16 GT/s, slot clock
    put<uint32_t>(pcie + 0x2C, 0x0000001E);  // 2.5 to 16 GT/s
    put<uint16_t>(pcie + 0x30, 0x0004);      // target speed
    writable<uint16_t>(pcie + 0x30, 0x000F);
    powerOn_ = config_;
}

uint32_t PciFunction::configRead(uint32_t offset, unsigned size) const {
    uint32_t value = 0;
    for (unsigned i = 0; i < size && i < 4; i++) {
        const uint32_t at = offset + i;
        value |= uint32_t(at < config_.size() ? config_[at] : 0xFF) << (8 * i);
    }
    return value;
}

void PciFunction::configWrite(uint32_t offset, uint32_t value, unsigned size) {
    const uint8_t power = config_[CFG_PM_CONTROL] & POWER_STATE;
    for (unsigned i = 0; i < size && i < 4; i++) {
        const uint32_t at = offset + i;
        if (at < config_.size()) {
            const uint8_t byte = uint8_t(value >> (8 * i));
            config_[at] = uint8_t((config_[at] & ~mask_[at]) | (byte & mask_[at]));
            resetAsked_ |= at == CFG_PCIE_CONTROL + 1 && (byte & PCIE_FUNCTION_RESET >> 8) != 0;
        }
    }
    if (poweredDown() && (config_[CFG_PM_CONTROL] & POWER_STATE) != POWER_STATE) {
        config_[CFG_PM_CONTROL] = uint8_t((config_[CFG_PM_CONTROL] & ~POWER_STATE) | power); // there is no D1 nor D2
    }
    update();
}

bool PciFunction::poweredDown() const {
    return (config_[CFG_PM_CONTROL] & POWER_STATE) != 0;
}

bool PciFunction::takeResetRequest() {
    const bool asked = resetAsked_;
    resetAsked_ = false;
    return asked;
}

uint32_t PciFunction::maxPayload() const {
    return word(CFG_PCIE_CONTROL) >> 5 & 7;
}

uint32_t PciFunction::maxReadRequest() const {
    return word(CFG_PCIE_CONTROL) >> 12 & 7;
}

void PciFunction::reset() {
    config_ = powerOn_;
    for (const uint32_t bar : {BOARD_CFG_BAR0, BOARD_CFG_BAR2}) {
        writable<uint32_t>(bar + 4, ~0u);
    }
    vectors_.fill(Vector());
    update();
}

void PciFunction::powerOn() {
    reset();
    for (const uint32_t bar : {BOARD_CFG_BAR0, BOARD_CFG_BAR2}) {
        writable<uint32_t>(bar + 4, 0);
    }
}

int PciFunction::decode(uint64_t address, uint32_t &offset) const {
    if ((word(BOARD_CFG_COMMAND) & COMMAND_MEMORY) == 0 || poweredDown()) {
        return -1;
    }
    for (const int bar : {BOARD_BAR_XDMA, BOARD_BAR_NVME}) { // should they overlap, the smaller one is seen
        const uint32_t at = BOARD_CFG_BAR0 + 4 * uint32_t(bar);
        const uint64_t base = uint64_t(configRead(at + 4, 4)) << 32 | (configRead(at, 4) & ~0xFu);
        if (address >= base && address - base < (bar == BOARD_BAR_NVME ? BOARD_BAR0_SIZE : BOARD_BAR2_SIZE)) {
            offset = uint32_t(address - base);
            return bar;
        }
    }
    return -1;
}

bool PciFunction::msixEnabled() const {
    return (word(BOARD_CFG_CAP_MSIX + 2) & MSIX_ENABLE) != 0;
}

uint32_t PciFunction::msixRead(uint32_t offset) const {
    if (offset < BOARD_MSIX_PBA) {
        const uint32_t at = offset - BOARD_MSIX_TABLE;
        return vectors_[at / 16].word[at % 16 / 4];
    }
    uint32_t pending = 0;
    const uint32_t first = (offset - BOARD_MSIX_PBA) * 8;
    for (uint32_t v = first; v < first + 32 && v < BOARD_MSIX_VECTORS; v++) {
        pending |= uint32_t(vectors_[v].pending) << (v - first);
    }
    return pending;
}

void PciFunction::msixWrite(uint32_t offset, uint32_t value) {
    if (offset >= BOARD_MSIX_PBA) {
        return; // the PBA is read-only
    }
    const uint32_t at = offset - BOARD_MSIX_TABLE;
    vectors_[at / 16].word[at % 16 / 4] = value;
    update();
}

void PciFunction::raise(unsigned vector) {
    if (vector >= vectors_.size()) {
        return;
    }
    vectors_[vector].pending = true;
    update();
}

void PciFunction::setIntx(bool level) {
    if (level != intxWanted_) {
        intxWanted_ = level;
        update();
    }
}

void PciFunction::update() {
    const uint16_t command = word(BOARD_CFG_COMMAND);
    const bool master = (command & COMMAND_MASTER) != 0 && !poweredDown();
    if (master != busMaster_) {
        busMaster_ = master;
        if (onBusMaster) {
            onBusMaster(master);
        }
    }
    const uint16_t control = word(BOARD_CFG_CAP_MSIX + 2);
    if ((control & MSIX_ENABLE) != 0 && (control & MSIX_FUNCTION_MASK) == 0 && master) {
        for (Vector &v : vectors_) {
            if (v.pending && (v.word[3] & 1) == 0) {
                v.pending = false;
                messages_++;
                if (onMessage) {
                    onMessage(uint64_t(v.word[1]) << 32 | v.word[0], v.word[2]);
                }
            }
        }
    }
    const bool wanted = intxWanted_ && intxEnabled() && !poweredDown();
    config_[CFG_STATUS] = uint8_t((config_[CFG_STATUS] & ~STATUS_INTERRUPT) | (wanted ? STATUS_INTERRUPT : 0));
    const bool level = wanted && (command & COMMAND_INTX_DISABLE) == 0;
    if (level != intxLevel_) {
        intxLevel_ = level;
        if (onIntx) {
            onIntx(level);
        }
    }
}

} // namespace assasin
