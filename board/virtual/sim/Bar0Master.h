// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "sim/Axi.h"

namespace assasin {

/// AXI4-Lite master on the chip's BAR0 port: the XDMA IP's M_AXI_LITE. One access at a time, in the order asked for.
class Bar0Master {
  public:
    /// Reads the 32-bit word at `addr`; `done` gets it (all ones on a bus error).
    void read(uint32_t addr, std::function<void(uint32_t)> done) {
        queue_.push_back({addr, 0, 0, std::move(done)});
    }

    /// Writes the strobed bytes of the word at `addr`.
    void write(uint32_t addr, uint32_t data, uint8_t strobe, std::function<void(uint32_t)> done = nullptr) {
        queue_.push_back({addr, data, strobe, std::move(done)});
    }

    bool idle() const {
        return queue_.empty();
    }

    void drive(AxiLiteWires &wires) const {
        const bool active = !queue_.empty();
        const bool write = active && queue_.front().strobe != 0;
        wires.awValid = write && !addressSent_;
        wires.wValid = write && !dataSent_;
        wires.arValid = active && !write && !addressSent_;
        wires.bReady = write;
        wires.rReady = active && !write;
        if (active) {
            wires.awAddr = wires.arAddr = queue_.front().addr;
            wires.wData = queue_.front().data;
            wires.wStrb = queue_.front().strobe;
        }
    }

    void sample(const AxiLiteWires &wires) {
        if (queue_.empty()) {
            return;
        }
        if ((wires.awValid && wires.awReady) || (wires.arValid && wires.arReady)) {
            addressSent_ = true;
        }
        if (wires.wValid && wires.wReady) {
            dataSent_ = true;
        }
        if (wires.bValid && wires.bReady) {
            finish(0);
        } else if (wires.rValid && wires.rReady) {
            finish(wires.rResp == AXI_OKAY ? wires.rData : UINT32_MAX);
        }
    }

  private:
    struct Access {
        uint32_t addr;
        uint32_t data;
        uint8_t strobe; ///< 0: a read
        std::function<void(uint32_t)> done;
    };

    void finish(uint32_t value) {
        const auto done = std::move(queue_.front().done);
        queue_.pop_front();
        addressSent_ = dataSent_ = false;
        if (done) {
            done(value); // may ask for more
        }
    }

    std::deque<Access> queue_;
    bool addressSent_ = false;
    bool dataSent_ = false;
};

} // namespace assasin
