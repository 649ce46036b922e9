// SPDX-License-Identifier: BSD-3-Clause
#include "NativeDrive.h"

#include <algorithm>
#include <cstring>

#include "model/internal.h"
#include "nand/NandTiming.h"

#include "assasin_contract.h"

namespace assasin {

namespace {

constexpr uint32_t CONTROL_BASE = ASSASIN_CTRL_BASE, CONTROL_BYTES = 0x1000;
constexpr uint32_t BUFFER_BAR = 0x200000; ///< controller memory buffer
constexpr uint32_t CHIP_ID = 0x41535331;
constexpr uint32_t H2C_STATUS_CLEARING = 0x144; ///< of the bypass channel
constexpr uint64_t XDMA_CYCLES = 4096;          ///< before sockets are looked at again
constexpr uint64_t SLICE = 2048;                ///< instructions that a core runs at a time

/// What a sector takes on the bus, and operations of the array with their commands.
model::Times timesOf(const PartFile &part, double nsPerCycle) {
    const NandTiming timing(part, nsPerCycle);
    const NandCycles bus = timing.nvddr2();
    const unsigned sectors = std::max(1u, part.geometry.pageBytes / 4096);
    const auto cycles = [&](uint64_t ns) { return uint32_t(timing.cycles(ns)); };
    model::Times t;
    t.bus = bus.tCS + bus.tRPRE + part.geometry.rawPageBytes() / sectors * bus.beat + bus.tPST;
    t.read = bus.tCS + 7 * bus.tWC + bus.tWB + cycles(part.array.tR) + bus.tRR;
    t.program = 7 * bus.tWC + bus.tWB + cycles(part.array.tPROG) + bus.tWHR;
    t.erase = 5 * bus.tWC + bus.tWB + cycles(part.array.tBERS) + bus.tWHR;
    return t;
}

} // namespace

FrontEndPorts NativeDrive::ports() {
    FrontEndPorts p;
    p.after = [this](uint64_t delay, std::function<void()> what) { at(delay, std::move(what)); };
    p.toHostBusy = [this] { return c2hFree > now ? c2hFree - now : 0; };
    p.readHost = [this](uint64_t address, void *data, size_t bytes) { return host_.read(address, data, bytes); };
    p.writeHost = [this](uint64_t address, const void *data, size_t bytes) {
        return host_.write(address, data, bytes);
    };
    p.readBuffer = [this](uint32_t offset, void *entry) {
        dramCopyOut(ASSASIN_DRAM_CMB_BASE + offset, static_cast<uint8_t *>(entry), 64);
    };
    p.failed = [this](bool fetch) {
        // What is written to nowhere is dropped: only reads are answered with an error.
        if (fetch) {
            fetchFailed_ = true;
            hdmaEvent |= HDMA_EVENT_ERROR_MASK << HDMA_EVENT_ERROR_SHIFT;
        }
    };
    return p;
}

NativeDrive::NativeDrive(model::Nand &n, const PartFile &part, const Configuration &config, const Profile &profile,
                         HostMemory &host, PciFunction &function)
    : Hardware(n, config.cores, 1), part_(part), config_(config), host_(host), function_(function),
      xdma_(profile.pcie, host, function), axi_([this](uint32_t address) -> uint8_t * {
          return address & model::kDramBit ? dramPage(address) + (address & 0xFF8) : nullptr;
      }),
      frontEnd_(ports(), profile.pcie.readLatency, profile.pcie.writeLatency) {
    regular = true;
    times = timesOf(part, profile.nsPerCycle);
    arch = config.arch();
    channelLocal = config.channelLocal;
}

void NativeDrive::wfi() {
    if (!awake()) {
        const uint64_t from = now;
        idle();
        asleepCycles += now - from;
    }
}

void NativeDrive::halt() {
    model::violation("the firmware has stopped: see the console");
}

// ---------------------------------------------------------------- the host's registers

uint32_t NativeDrive::bar0Read(uint32_t offset) {
    if (offset < CONTROL_BASE) {
        return frontEnd_.hostRead(offset);
    }
    if (offset >= BUFFER_BAR) {
        return dramRead(ASSASIN_DRAM_CMB_BASE + offset - BUFFER_BAR);
    }
    switch (offset - CONTROL_BASE) {
    case CTRL_ID:
        return CHIP_ID;
    case CTRL_BOOT_ARG:
        return bootArg;
    case CTRL_CONSOLE_TX: {
        if (console.empty()) {
            return 0;
        }
        const uint32_t character = uint8_t(console.front());
        console.erase(0, 1);
        return 1u << 31 | character;
    }
    case CTRL_FW_STATE:
        return (awake() ? 0u : 1u) | (trap & 1) << 1 | (trap & 0xff00);
    case CTRL_FW_PC:
        return trapPc;
    case CTRL_CONFIG:
        return config_.cores | config_.channels << 8 | config_.ways << 16 | 1u << 24;
    case CTRL_CYCLES_LO:
        return uint32_t(now);
    case CTRL_CYCLES_HI:
        return uint32_t(now >> 32);
    default:
        return 0;
    }
}

void NativeDrive::bar0Write(uint32_t offset, uint32_t value, uint8_t strobe) {
    if (offset < CONTROL_BASE) {
        frontEnd_.hostWrite(offset, value, strobe);
    } else if (offset >= BUFFER_BAR) {
        const uint32_t address = ASSASIN_DRAM_CMB_BASE + offset - BUFFER_BAR;
        uint8_t *const word = dramPage(address) + (address & 0xFFC);
        for (unsigned i = 0; i < 4; i++) {
            if (strobe >> i & 1) {
                word[i] = uint8_t(value >> (8 * i));
            }
        }
    }
}

// ---------------------------------------------------------------- XDMA

void NativeDrive::serveXdma() {
    for (uint64_t left = XDMA_CYCLES; left > 0; left--) {
        const bool msix = function_.msixEnabled();
        const uint16_t request = frontEnd_.interrupts(msix);
        if (request == xdma_.irq.req && xdma_.idle()) {
            return;
        }
        xdma_.drive();
        axi_.drive(xdma_.mem);
        frontEnd_.acknowledge(xdma_.irq.ack, msix);
        xdma_.irq.req = frontEnd_.interrupts(msix);
        axi_.sample(xdma_.mem);
        xdma_.sample(xdmaCycle_++);
    }
}

uint32_t NativeDrive::xdmaRead(uint32_t r) {
    if (r == H2C_STATUS_CLEARING && fetchFailed_) {
        fetchFailed_ = false;
        return DmaChannel::STATUS_READ_UR;
    }
    return xdma_.readRegister(r);
}

void NativeDrive::xdmaWrite(uint32_t r, uint32_t v) {
    xdma_.writeRegister(r, v);
}

bool NativeDrive::hostTransfer(uint64_t addr, uint32_t device, uint32_t len, bool toHost) {
    (toHost ? c2hBytes_ : h2cBytes_) += len;
    bool answered = true;
    for (uint32_t done = 0; done < len;) {
        const uint32_t here = device + done;
        const uint32_t bytes = std::min(len - done, 4096 - (here & 4095));
        if (here & model::kDramBit) {
            uint8_t *const data = dramPage(here) + (here & 4095);
            if (toHost) {
                host_.write(addr + done, data, bytes);
            } else {
                answered &= host_.read(addr + done, data, bytes);
            }
        } else {
            uint8_t data[4096];
            if (toHost) {
                devRead(here, data, bytes);
                host_.write(addr + done, data, bytes);
            } else {
                answered &= host_.read(addr + done, data, bytes);
                devWrite(here, data, bytes);
            }
        }
        done += bytes;
    }
    fetchFailed_ |= !answered;
    return answered;
}

// ---------------------------------------------------------------- packages

std::vector<uint8_t> NativeDrive::paramPage() const {
    const auto page = part_.parameterPage();
    return {page.begin(), page.end()};
}

uint32_t NativeDrive::readId(uint32_t address) const {
    uint32_t v;
    if (address == 0x20) {
        std::memcpy(&v, "ONFI", 4);
        return v;
    }
    uint8_t id[4] = {};
    std::copy_n(part_.id.begin(), std::min<size_t>(part_.id.size(), 4), id);
    std::memcpy(&v, id, 4);
    return v;
}

// ---------------------------------------------------------------- cores

void NativeDrive::coreStart(uint32_t c) {
    model::Core &k = cores[c];
    Program &p = programs_[c];
    p.iss = {};
    p.iss.imem = k.imem.data();
    p.iss.spad = k.spad.data();
    p.iss.isb = k.isb.data();
    p.iss.osb = k.osb.data();
    p.iss.streams = 1u << k.sLog2;
    p.iss.ring = ISS_BUFFER >> k.sLog2;
    p.iss.extended = config_.extended;
    p.iss.pc = k.entry;
    p.iss.sgrain = 1;
    p.waitsSince = 0;
    k.waiting = 0;
}

void NativeDrive::coreStep(uint32_t c) {
    model::Core &k = cores[c];
    Program &p = programs_[c];
    if (p.waitsSince != 0) {
        (p.iss.waits_output ? k.waitOut : k.waitIn) += now - p.waitsSince;
        k.cycles += now - p.waitsSince;
        p.waitsSince = 0;
        k.waiting = 0;
    }
    for (uint32_t s = 0; s < p.iss.streams; s++) {
        p.iss.ihead[s] = k.in[s].head;
        p.iss.itail[s] = k.in[s].tail;
        p.iss.iend[s] = k.in[s].end;
        p.iss.ended[s] = k.in[s].endValid;
        p.iss.ohead[s] = k.out[s].head;
        p.iss.olimit[s] = k.out[s].tail;
    }
    const uint64_t cycles = p.iss.cycles, instructions = p.iss.instructions;
    const iss_status status = iss_core_run(&p.iss, SLICE);
    const uint64_t took = p.iss.cycles - cycles;
    for (uint32_t s = 0; s < p.iss.streams; s++) {
        k.in[s].head = p.iss.ihead[s];
        k.out[s].head = p.iss.ohead[s];
    }
    k.cycles += took;
    k.instret += p.iss.instructions - instructions;
    k.pc = p.iss.pc;
    switch (status) {
    case ISS_EXITED:
        k.exitCode = p.iss.exit_code;
        coreStop(c, CORE_STATE_EXITED);
        break;
    case ISS_TRAPPED:
        k.cause = p.iss.cause;
        k.tval = p.iss.tval;
        coreStop(c, CORE_STATE_TRAPPED);
        break;
    case ISS_HUNG:
        coreStop(c, CORE_STATE_HUNG);
        break;
    case ISS_SLEEPS: // no core does
    case ISS_LIMIT:
        coreSchedule(c, uint32_t(std::max<uint64_t>(took, 1)));
        break;
    case ISS_WAITS:
        if (took > 0) {
            // What comes while it computes it finds when it is through.
            coreSchedule(c, uint32_t(took));
            break;
        }
        p.waitsSince = now;
        k.waiting = (p.iss.waits_output ? 1u << CORE_STATUS_WAIT_OUT_SHIFT : 1u << CORE_STATUS_WAIT_IN_SHIFT) |
                    p.iss.waits_for << CORE_STATUS_STREAM_ID_SHIFT;
        break;
    }
    retryRoom();
}

} // namespace assasin
