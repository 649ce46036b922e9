/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The hardware as the firmware's tests see it: a host that gives and takes commands without registers and queues in
 * memory, host memory, and cores that do one of some simple things.
 *
 * Everything illegal that firmware can do to the hardware (FIFO overflow, program of a page not erased, a copy into a
 * full ring...) throws Violation.
 */
#pragma once

#include "model/hardware.h"

namespace model {

struct Completion {
    uint16_t cid, sqid;
    uint16_t status; /**< SCT and SC */
    bool dnr;
    uint32_t dw0, dw1;
    bool more;
};

/** What a function does on a model core; chosen by the first word of its code. */
enum Kernel : uint32_t {
    kCount = 0x1001, /**< counts bytes of all streams, emits two words a stream (bytes, sum) at the end */
    kCopy,           /**< copies stream 0 to output 0 */
    kMerge,          /**< one word from each stream in turn, emits their sum; ends with stream 0 */
    kLoop,           /**< never ends, reads nothing */
    kTrap,           /**< traps after 5,000 bytes */
    kExit7,          /**< exits with 7 at once */
    kHang,           /**< reads to the end, no epilogue */
    kEcho,   /**< emits task block, arguments, 64 bytes at SCOMP_SPAD_DATA and 64 at the end of the scratchpad's first
                half */
    kExpand, /**< emits every byte eight times */
    kSlow,   /**< kCount at 1/16 of the speed */
    kStop,   /**< exits with 0 after 5,000 bytes */
    kSkew,   /**< reads stream 0 to its end, then stream 1, ... */
    kWeave,  /**< takes a byte of every stream that has not ended in turn; the n-th goes to output n mod outputs, plus
                the  first byte of the arguments */
    kFan,    /**< copies stream 0 to all outputs */
    kStall,  /**< takes 5,000 bytes and then never ends */
    kDump,   /**< emits the whole scratchpad, and fills it with 5Eh */
    kPace,   /**< kCount that takes from its streams in proportion to their lengths */
    kLurch, /**< kCount that takes two pages of each stream, then the rest of the last one, of the one before it, ... */
};

class Device : public Hardware {
  public:
    Device(Nand &nand, uint32_t cores, uint32_t seed);
    ~Device() override;

    static constexpr uint64_t kHostBase = 0x100000000ull;
    std::span<uint8_t> host; /**< zeros at first; only what is used takes memory */
    void hostWriteCc(uint32_t cc);
    void hostWriteAdmin(uint64_t asq, uint64_t acq, uint32_t aqa);
    /** A submission entry cannot be fetched: XDMA reports an error while the firmware moves nothing. */
    void queueGone();
    /** The magic to NSSR. */
    void hostNssr();
    uint32_t hostCsts() const;
    /** CAP as a host reads it: of the chip's reset, then as the firmware wrote it. */
    uint32_t capLo = 0xff0100ff, capHi = 0x830;
    /** When CAP last changed to more than a shorter CAP.TO: a host that has read it before goes by what was not so. */
    uint64_t capPromised = 0;
    /** A submission entry, fetched when its queue exists. */
    void submit(uint32_t sqid, const std::array<uint32_t, 16> &sqe);
    std::deque<Completion> completions;
    void badDoorbell(uint32_t v);
    std::function<void(uint64_t addr, uint32_t len, bool toHost)> onDma;
    uint32_t cqeStall = 0; /**< reads of CQE_SPACE that still answer 0 */

    void wfi() override;
    /** Time in which nobody does anything. */
    void pass(uint64_t cycles) {
        advance(cycles);
    }

  private:
    uint32_t nvmeRead(uint32_t r) override;
    void nvmeWrite(uint32_t r, uint32_t v) override;
    bool entryWaits() const override {
        return !staged.empty();
    }
    bool controllerEvent() const override {
        return nvEvent != 0;
    }
    uint32_t xdmaRead(uint32_t r) override;
    void xdmaWrite(uint32_t, uint32_t) override {
    }
    bool hostTransfer(uint64_t addr, uint32_t device, uint32_t len, bool toHost) override;
    void coreStep(uint32_t c) override;
    void coreStart(uint32_t c) override {
        functions[c] = {};
    }

    struct Queue {
        bool sq = false, cq = false;
        uint32_t cqid = 0;
        std::deque<std::array<uint32_t, 16>> waiting;
    };
    std::array<Queue, 9> q;
    std::deque<std::pair<uint32_t, std::array<uint32_t, 16>>> staged;
    uint32_t nvEvent = 0, cc = 0, csts = 0, aqa = 0, badDb = 0, qsel = 0, dw0 = 0, dw1 = 0, cqeId = 0;
    uint64_t asq = 0, acq = 0;
    uint32_t cqeUsed = 0;
    bool ending = false;    /**< the host reads RDY as 1 with CC.EN = 0 */
    bool resetDone = false; /**< the firmware's transfers of the session before have ended */
    void hostTouched(const char *how);
    void fetch();
    bool fetchFailed = false;

    /** How far a core is in what it does. */
    struct Function {
        uint64_t consumed = 0;
        uint32_t turn = 0;
        bool begun = false; /**< kLurch: it has two pages of each stream */
        uint32_t acc = 0;
        std::array<uint64_t, 8> count{}, sum{};
        bool epilogue = false;
        std::deque<uint8_t> emit;
    };
    std::array<Function, 16> functions;
};

} // namespace model
