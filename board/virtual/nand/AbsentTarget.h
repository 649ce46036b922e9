// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace assasin {

/**
 * A chip enable that no package is connected to: nothing drives the bus. In SDR the PHY takes what it finds when RE
 * rises, all ones of the pull-ups; in NV-DDR2 it waits for DQS, which never toggles, and no beat comes. Which of the
 * two it expects it learns, as with a package, from RESET and SET FEATURES 01h as they pass.
 */
class AbsentTarget {
  public:
    /** Chip enable goes low or high: the data interface changes between selections. */
    void select() {
        strobes_ = strobesNext_;
    }
    void command(uint8_t byte) {
        step_ = byte == 0xEF ? Step::Address : Step::None;
        if (byte == 0xFF)
            strobesNext_ = false;
    }
    void address(uint8_t byte) {
        step_ = step_ == Step::Address && byte == 0x01 ? Step::Data : Step::None;
    }
    void dataIn(uint32_t beat) {
        if (step_ == Step::Data)
            strobesNext_ = (beat >> 4 & 3) == 2;
        step_ = Step::None;
    }
    /** What the PHY makes of a beat that is asked for: none where it waits for DQS. */
    std::optional<uint32_t> dataOut() const {
        return strobes_ ? std::nullopt : std::optional<uint32_t>(0xFFu);
    }

  private:
    enum class Step { None, Address, Data }; ///< of SET FEATURES 01h
    Step step_ = Step::None;
    bool strobes_ = false, strobesNext_ = false;
};

} // namespace assasin
