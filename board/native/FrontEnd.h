// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>

namespace assasin {

/// What the front end needs of the board around it.
struct FrontEndPorts {
    /// Calls `what` when `delay` cycles have passed.
    std::function<void(uint64_t delay, std::function<void()> what)> after;
    /// Cycles until the card-to-host transfers that the firmware has pushed are with the host.
    std::function<uint64_t()> toHostBusy;
    /// Host memory. False: nobody answers at the address.
    std::function<bool(uint64_t address, void *data, size_t bytes)> readHost;
    std::function<bool(uint64_t address, const void *data, size_t bytes)> writeHost;
    /// Copies the submission entry at this offset of the controller memory buffer.
    std::function<void(uint32_t offset, void *entry)> readBuffer;
    /// The XDMA IP reports an error of the front end's own transfers: of a fetch, else of a post.
    std::function<void(bool fetch)> failed;
};

/// The NVMe front end as hw/src/main/scala/assasin/nvme has it: the host's register file, queues, submission entries
/// fetched from and completions posted to host memory, interrupts; and the firmware's registers for them.
class FrontEnd {
  public:
    static constexpr unsigned PAIRS = 9;
    static constexpr uint32_t BUFFER_BYTES = 0x200000;

    /// @param readLatency cycles until a submission entry is there, `writeLatency` until a completion is
    FrontEnd(FrontEndPorts ports, uint32_t readLatency, uint32_t writeLatency);

    /// Word at `offset` of the host's register file (below 0x8000).
    uint32_t hostRead(uint32_t offset) const;
    /// Writes the bytes of it that `strobe` has.
    void hostWrite(uint32_t offset, uint32_t value, uint8_t strobe = 0xF);

    /// The firmware's registers (hw/regs/nvme.toml). Throws model::Violation for what the firmware may not do.
    uint32_t read(uint32_t r);
    void write(uint32_t r, uint32_t v);

    /// SYS.EVENT: a submission entry waits; NVME.EVENT is not 0.
    bool entryWaits() const {
        return !staged_.empty();
    }
    bool event() const {
        return event_ != 0;
    }

    /// The user interrupts that the chip requests of the XDMA IP. `msix`: MSI-X is enabled.
    uint16_t interrupts(bool msix);
    /// The IP has taken requests over.
    void acknowledge(uint16_t taken, bool msix) {
        request_ = msix ? request_ & ~taken : 0;
    }

  private:
    struct Sq {
        bool exists = false;
        uint64_t base = 0;
        uint32_t size = 0, cqid = 0;
        uint32_t head = 0, tail = 0; ///< next entry to ask for, last doorbell
        uint32_t done = 0;           ///< what completions tell as head
    };
    struct Cq {
        bool exists = false, phase = true, interrupts = false;
        uint64_t base = 0;
        uint32_t size = 0, vector = 0, head = 0, tail = 0;
        bool shown = false; ///< an entry that the host has not taken is in its memory
    };
    struct Entry {
        uint32_t queue;
        std::array<uint32_t, 16> dword;
    };
    struct Fetch {
        uint32_t queue;
        uint64_t address;
        bool dead = false;
    };
    struct Completion {
        uint32_t dw0, dw1, cid, sqid, status;
    };

    static uint32_t merged(uint32_t old, uint32_t value, uint8_t strobe);
    void controllerReset();
    void doorbell(uint32_t index, uint32_t value, bool whole);
    void fetch();
    void arrive();
    void push(uint32_t status);
    void post(const Completion &c);
    void drop();
    void endSession();

    const FrontEndPorts ports_;
    const uint32_t readLatency_, writeLatency_;

    // Registers of the host
    uint64_t cap_ = 0x00000830ff0100ff, asq_ = 0, acq_ = 0, bufferBase_ = 0;
    uint32_t cc_ = 0, csts_ = 0, aqa_ = 0, mask_ = 0;
    bool subsystemReset_ = false, bufferShown_ = false, bufferPlaced_ = false;

    // Firmware's side
    uint32_t event_ = 0, badDoorbell_ = 0, qsel_ = 0, dw0_ = 0, dw1_ = 0, cqeId_ = 0;
    bool stale_ = false;   ///< RDY may not rise before the firmware has seen that CC was written
    bool ending_ = false;  ///< the host reads RDY as 1 though CC.EN is 0
    bool fwEnded_ = false; ///< the firmware's transfers of that session have ended

    std::array<Sq, PAIRS> sqs_;
    std::array<Cq, PAIRS> cqs_;
    unsigned lastFetch_ = 0;
    uint64_t session_ = 0;        ///< what began in an older one has no effect
    std::deque<Entry> staged_;    ///< fetched, for the firmware
    std::deque<Fetch> coming_;    ///< asked for
    std::deque<Completion> full_; ///< wait for room in their completion queue
    unsigned cqeUsed_ = 0;        ///< completions pushed and not with the host yet
    uint64_t fetchTime_ = 0, postTime_ = 0;
    uint32_t timeHigh_ = 0;

    uint16_t waiting_ = 0, request_ = 0; ///< MSI-X
};

} // namespace assasin
