// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "AxiMemory.h"
#include "Configuration.h"
#include "FrontEnd.h"
#include "model/hardware.h"
#include "model/iss.h"
#include "pciproxy/HostMemory.h"
#include "pciproxy/PciFunction.h"
#include "sim/Profile.h"
#include "xdma/Xdma.h"

namespace assasin {

/// The chip as the firmware and the host see it: the hardware model with the NVMe front end, host memory behind the
/// door, the XDMA IP's registers, and cores that run their programs on the instruction-set simulator.
class NativeDrive : public model::Hardware {
  public:
    NativeDrive(model::Nand &nand, const PartFile &part, const Configuration &config, const Profile &profile,
                HostMemory &host, PciFunction &function);

    /// Called when the firmware sleeps and nothing enabled is there: lets time pass.
    std::function<void()> idle;

    /// Word of BAR0.
    uint32_t bar0Read(uint32_t offset);
    void bar0Write(uint32_t offset, uint32_t value, uint8_t strobe);

    /// Gives the XDMA IP the cycles that it wants, up to a number: interrupts, and the host's list channels.
    void serveXdma();
    bool xdmaBusy() const {
        return !xdma_.idle();
    }
    Xdma &xdma() {
        return xdma_;
    }

    /// When the next thing happens by itself, and when the firmware's timer is due; UINT64_MAX: never.
    uint64_t eventAt() const {
        return nextEvent();
    }
    uint64_t timer() const {
        return timerAt();
    }
    /// Time passes up to `then`, with what happens until there.
    void advanceTo(uint64_t then) {
        advance(then > now ? then - now : 0);
    }
    /// Something that the firmware has enabled is there.
    bool awake() const {
        return (eventLevel() & eventEnable) != 0;
    }

    uint64_t h2cBytes() const {
        return h2cBytes_ + xdma_.h2cBytes();
    }
    uint64_t c2hBytes() const {
        return c2hBytes_ + xdma_.c2hBytes();
    }
    uint64_t asleepCycles = 0;

    void wfi() override;
    [[noreturn]] void halt() override;

  private:
    uint32_t nvmeRead(uint32_t r) override {
        return frontEnd_.read(r);
    }
    void nvmeWrite(uint32_t r, uint32_t v) override {
        frontEnd_.write(r, v);
    }
    bool entryWaits() const override {
        return frontEnd_.entryWaits();
    }
    bool controllerEvent() const override {
        return frontEnd_.event();
    }
    uint32_t xdmaRead(uint32_t r) override;
    void xdmaWrite(uint32_t r, uint32_t v) override;
    bool hostTransfer(uint64_t addr, uint32_t device, uint32_t len, bool toHost) override;
    void coreStep(uint32_t c) override;
    void coreStart(uint32_t c) override;
    std::vector<uint8_t> paramPage() const override;
    uint32_t readId(uint32_t address) const override;

    FrontEndPorts ports();

    const PartFile &part_;
    const Configuration config_;
    HostMemory &host_;
    PciFunction &function_;
    Xdma xdma_;
    AxiMemory axi_;
    FrontEnd frontEnd_;
    uint64_t xdmaCycle_ = 0;
    bool fetchFailed_ = false;
    uint64_t h2cBytes_ = 0, c2hBytes_ = 0;

    /// A core's program, and since when it waits for a stream (0: it does not).
    struct Program {
        iss_core iss{};
        uint64_t waitsSince = 0;
    };
    std::array<Program, 16> programs_;
};

} // namespace assasin
