// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "pciproxy/protocol.h"

namespace assasin {

/// The board's PCI function: 256-byte configuration space with PM, MSI-X and PCI Express capabilities, BAR decoding,
/// MSI-X table and PBA, INTx level. It decides when a message leaves; how it reaches the visitor is the hooks'
/// business.
class PciFunction {
  public:
    /// Sends one MSI-X message.
    std::function<void(uint64_t address, uint32_t data)> onMessage;
    /// INTA changes its level.
    std::function<void(bool level)> onIntx;
    /// Bus mastering switched on or off.
    std::function<void(bool enabled)> onBusMaster;

    PciFunction();

    /// Reads `size` (1, 2, 4) bytes at `offset`; beyond the 256 bytes all ones.
    uint32_t configRead(uint32_t offset, unsigned size) const;

    /// Writes under the per-bit write mask and lets the change take effect.
    void configWrite(uint32_t offset, uint32_t value, unsigned size);

    /// Back to the power-on state: COMMAND 0, BARs 0, MSI-X disabled, every vector masked, nothing pending.
    void reset();

    /// The same for a visitor that comes: the upper halves of the BARs stay 0 until reset(). QEMU's remote-PCI device
    /// sizes each half as a BAR of its own before it resets the device, and would make another BAR of a half that can
    /// be written.
    void powerOn();

    /// A function level reset was asked for since the last call. The caller resets function and device.
    bool takeResetRequest();

    /// Device Control's maximum payload and maximum read request, 128 << n bytes.
    uint32_t maxPayload() const;
    uint32_t maxReadRequest() const;

    /// Which BAR decodes bus address `address`, and the offset inside; -1 when none does, memory space is disabled, or
    /// the function is in D3hot.
    int decode(uint64_t address, uint32_t &offset) const;

    /// True when `offset` of BAR2 belongs to the MSI-X table or PBA.
    static bool ownsBar2(uint32_t offset) {
        return (offset >= BOARD_MSIX_TABLE && offset < BOARD_MSIX_TABLE + 16 * BOARD_MSIX_VECTORS) ||
               (offset >= BOARD_MSIX_PBA && offset < BOARD_MSIX_PBA + (BOARD_MSIX_VECTORS + 7) / 8);
    }

    /// Aligned 32-bit access to the MSI-X table or PBA at `offset` of BAR2.
    uint32_t msixRead(uint32_t offset) const;
    void msixWrite(uint32_t offset, uint32_t value);

    bool msixEnabled() const;
    /// INTx may be asserted: MSI-X is off.
    bool intxEnabled() const {
        return !msixEnabled();
    }

    /// Signals MSI-X vector `vector` (out of range: ignored): a message, or its pending bit while masked.
    void raise(unsigned vector);

    /// What the device wants INTA to be; COMMAND's INTx disable bit gates it.
    void setIntx(bool level);

    /// INTA is asserted.
    bool intxAsserted() const {
        return intxLevel_;
    }

    uint64_t messages() const {
        return messages_;
    }

  private:
    struct Vector {
        std::array<uint32_t, 4> word{0, 0, 0, 1}; ///< address low, address high, data, control ([0] mask)
        bool pending = false;
    };

    template <typename T> void put(uint32_t offset, T value);
    template <typename T> void writable(uint32_t offset, T mask);
    uint16_t word(uint32_t offset) const {
        return uint16_t(config_[offset] | config_[offset + 1] << 8);
    }
    uint8_t addCapability(uint8_t id, uint8_t offset);
    void update();
    bool poweredDown() const;

    std::array<uint8_t, 256> config_{};
    std::array<uint8_t, 256> mask_{};
    std::array<uint8_t, 256> powerOn_{};
    std::array<Vector, BOARD_MSIX_VECTORS> vectors_;
    uint8_t lastCapability_ = 0x34 - 1; ///< the byte at +1 links the next capability
    bool intxWanted_ = false;
    bool intxLevel_ = false;
    bool busMaster_ = false;
    bool resetAsked_ = false;
    uint64_t messages_ = 0;
};

} // namespace assasin
