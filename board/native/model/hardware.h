/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Behavioural model of the drive's hardware at the level of the contract: registers, NAND array, cores.
 *
 * Time is a cycle count that register accesses and WFI move on. Everything illegal that firmware can do to the hardware
 * (FIFO overflow, program of a page not erased, a copy into a full ring...) throws Violation.
 */
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "assasin_contract.h"
#include "model/nand.h"

namespace model {

/** Power was cut at the armed time. */
struct PowerCut {};

/** Probabilities of injected faults, per operation. A read that fails brings more errors than the code corrects. */
struct Faults {
    double program = 0, erase = 0, read = 0;
    /** Operations that fail for certain: by the key of a sector or of a block's first, a program also by its sector's
     * first OOB word. */
    std::function<bool(uint32_t key, uint32_t oob0)> programOf;
    std::function<bool(uint32_t key)> eraseOf, readOf;
};

/** How long the packages take, cycles. */
struct Times {
    uint32_t read = 1500, program = 3000, erase = 6000, bus = 250;
};

struct Core {
    uint32_t ctrl = 0, entry = 0, eventStopped = 0, eventDrained = 0, eventEnable = 7, partition = 0;
    uint32_t state = CORE_STATE_IDLE, cause = 0, pc = 0, tval = 0, exitCode = 0;
    uint32_t sLog2 = 0, pageLog2 = 12;
    std::vector<uint8_t> isb = std::vector<uint8_t>(0x10000), osb = std::vector<uint8_t>(0x10000);
    struct In {
        std::span<uint8_t> ring; /**< of isb */
        std::vector<bool> mark;  /**< page slots that are full */
        uint32_t head = 0, tail = 0, end = 0;
        bool endValid = false;
        uint64_t fullPages = 0;               /**< pages delivered in order */
        std::map<uint32_t, uint32_t> lengths; /**< page number -> bytes, arrived and not in order yet */
    };
    struct Out {
        std::span<uint8_t> ring; /**< of osb */
        uint32_t head = 0, tail = 0, covered = 0;
    };
    std::array<In, 8> in;
    std::array<Out, 8> out;
    uint32_t drainPos = 0, drainDst = 0, drainDstPos = 0;
    struct Drain {
        uint32_t pos, dst, dstPos, len, stream;
        bool toCore;
    };
    std::deque<Drain> drains;
    uint32_t drainsDone = 0;
    /* Power-on contents are arbitrary. */
    std::vector<uint8_t> imem = std::vector<uint8_t>(0x8000, 0xa5), spad = std::vector<uint8_t>(0x10000, 0xa5);
    uint64_t cycles = 0, instret = 0, waitIn = 0, waitOut = 0, waitMem = 0, l1Misses = 0, l2Misses = 0, prefetches = 0;
    uint32_t counterHigh = 0; /**< latched by reading a counter's low half */
    uint32_t waiting = 0;     /**< WAIT_IN, WAIT_OUT and STREAM_ID of CORE.STATUS */
    bool scheduled = false;
    uint32_t generation = 0;
    /* a slot */
    uint32_t kernelId = 0;                /**< 0: empty */
    uint32_t function = 0;                /**< what the kernel does, 0: this is a core */
    uint32_t inputs = 0;                  /**< of the kernel */
    std::array<uint32_t, 4> kernelRegs{}; /**< KERNEL_CTRL to KERNEL_ISR */
    std::array<uint32_t, KERNEL_MAX_SCALARS> scalars{};
};

/** What is in a slot: kernel `id` with `inputs` inputs, which does `function` with its scalars as arguments. */
struct Slot {
    uint32_t id;
    uint32_t function;
    uint32_t inputs;
};

/** All but the host's side of the NVMe front end, host memory, and what the cores compute. */
class Hardware {
  public:
    Hardware(Nand &nand, uint32_t cores, uint32_t seed);
    virtual ~Hardware();
    Hardware(const Hardware &) = delete;

    uint32_t read(uint32_t addr);
    void write(uint32_t addr, uint32_t v);
    /** The firmware sleeps: until something is enabled and there, or time for the next thing to happen. */
    virtual void wfi();
    /** The firmware gives up. */
    [[noreturn]] virtual void halt();
    uint32_t cycle() const {
        return static_cast<uint32_t>(now);
    }
    /** The firmware's processor is simulated and has worked so many cycles; from then on accesses take no time. */
    void spend(uint64_t cycles) {
        processor_ = true;
        advance(cycles);
    }
    /** Address under which the DMA engines see an object of the firmware. */
    uint32_t dmaAddress(const volatile void *p);

    /** DRAM from `addr`, a multiple of a page, on: where a processor has its own code and data. */
    uint8_t *dramMemory(uint32_t addr, uint32_t bytes) const;
    /** Level of the interrupt line: an event is there that the firmware has enabled. */
    bool interrupt() const;

    /** Nothing will happen without the host. */
    bool quiet() const;
    bool flashIdle() const;

    uint64_t now = 0;
    uint64_t cutAt = UINT64_MAX;
    uint32_t bootArg = 0;
    /** FLASH.TIMING0, 1 and 2 of a channel as they were written last. */
    const std::array<uint32_t, 3> &timing(uint32_t channel) const {
        return ch[channel].timing;
    }
    /** FLASH.DATA_RATE, likewise. */
    uint32_t dataRate(uint32_t channel) const {
        return ch[channel].rate;
    }
    /** P1 of features 01h and 02h of the package of a way. */
    std::pair<uint32_t, uint32_t> busFeatures(uint32_t channel, uint32_t way) const {
        return {ch[channel].ways[way].interface, ch[channel].ways[way].configuration};
    }
    /** Adds a slot behind the cores and slots that there are. Before boot. */
    void addSlot(const Slot &slot);
    uint32_t arch = CORE_ARCH_SB;
    bool channelLocal = false; /**< core i takes stream pages from channel i alone */
    std::string console;
    Faults faults;
    Times times;
    std::optional<Tear> tearAs; /**< what tearInFlight leaves of programs and erases; at random without */
    std::mt19937 rng;
    Nand &nand;
    /** Deepest stack that the firmware used since the last reset of this value, bytes below stackTop. */
    uintptr_t stackTop = 0, stackDepth = 0;
    uint32_t idleWfi = 0; /**< WFIs in a row with nothing to come */
    uint64_t dmaErrors = 0;
    uintptr_t tcmBase = 0; /**< what TCM addresses count from */
    bool regular = false;  /**< everything takes exactly its time, else by chance up to a quarter more */
    /** A timer further ahead, in cycles, is nothing to wait for while no core runs. */
    uint64_t patience = UINT64_MAX;
    uint64_t streamPagesHeld = 0, streamPagesDropped = 0;
    std::map<uint32_t, uint32_t> misdirected; /**< reads of a page that bring another one, by key */

    uint32_t dramRead(uint32_t addr) const;
    /// Whether the processor's read cache has the line of `addr`.
    bool cached(uint32_t addr) const;
    void dramWrite(uint32_t addr, uint32_t v);

  protected:
    /** Firmware's registers of the NVMe front end, and what it says in SYS.EVENT. */
    virtual uint32_t nvmeRead(uint32_t r) = 0;
    virtual void nvmeWrite(uint32_t r, uint32_t v) = 0;
    virtual bool entryWaits() const = 0;
    virtual bool controllerEvent() const = 0;
    /** Firmware's window onto the XDMA IP. */
    virtual uint32_t xdmaRead(uint32_t r) = 0;
    virtual void xdmaWrite(uint32_t r, uint32_t v) = 0;
    /** Moves the bytes of a host transfer. \return false: the host did not answer */
    virtual bool hostTransfer(uint64_t addr, uint32_t device, uint32_t len, bool toHost) = 0;
    /** A running core goes on, as something that it may have waited for is there. */
    virtual void coreStep(uint32_t c) = 0;
    /** RUN of a core, or AP_START of a kernel, rises. */
    virtual void coreStart(uint32_t c) = 0;
    virtual std::vector<uint8_t> paramPage() const;
    /** First four bytes of READ ID at `address`. */
    virtual uint32_t readId(uint32_t address) const;

    struct Event {
        uint64_t at, order;
        std::function<void()> run;
        bool operator>(const Event &o) const {
            return at != o.at ? at > o.at : order > o.order;
        }
    };
    std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events;
    uint64_t order_ = 0;
    void at(uint64_t delay, std::function<void()> f) {
        events.push({now + delay, order_++, std::move(f)});
    }
    void advance(uint64_t cycles);
    bool processor_ = false;
    void access(uint64_t cycles) {
        if (!processor_) {
            advance(cycles);
        }
    }
    void runDue();
    uint32_t eventLevel() const;
    void noteStack() {
        uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
        stackDepth = std::max(stackDepth, stackTop > here ? stackTop - here : 0);
    }
    bool chance(double probability) {
        return !regular && std::uniform_real_distribution<double>(0, 1)(rng) < probability;
    }
    uint32_t jitter(uint32_t base) {
        return regular ? base : base + static_cast<uint32_t>(rng() % (base / 4 + 1));
    }
    /** Time of the next event or of the timer; UINT64_MAX: none. */
    uint64_t nextEvent() const {
        return events.empty() ? UINT64_MAX : events.top().at;
    }
    /** Time of the timer event when it lies ahead and may wake the firmware; UINT64_MAX: none. */
    uint64_t timerAt() const {
        bool armed = mtimecmp > now && (eventEnable >> SYS_EVENT_TIMER_SHIFT & 1);
        bool running =
            std::any_of(cores.begin(), cores.end(), [](const Core &c) { return c.state == CORE_STATE_RUNNING; });
        return armed && (running || mtimecmp - now <= patience) ? mtimecmp : UINT64_MAX;
    }

    /* DRAM; pages get their power-on contents when they are touched first. */
    uint8_t *dram;
    mutable std::vector<bool> dramTouched;
    uint8_t *dramPage(uint32_t addr) const;
    void dramCopyOut(uint32_t addr, uint8_t *dst, uint32_t n) const;
    void dramCopyIn(uint32_t addr, const uint8_t *src, uint32_t n);
    void devRead(uint32_t addr, uint8_t *dst, uint32_t n);
    void devWrite(uint32_t addr, const uint8_t *src, uint32_t n);

    /* SYS */
    uint64_t mtimecmp = UINT64_MAX;
    uint32_t eventEnable = 0, mtimeHi = 0, tcmFirst = 0, tcmEnd = UINT32_MAX;
    uint32_t dramFirst = 0, dramEnd = 0, trapPc = 0, trap = 0;

    /// The processor's read cache: which lines it holds, and whether somebody else has written them since.
    struct CacheLine {
        uint32_t addr = 0; ///< 0: none
        bool stale = false;
    };
    static constexpr uint32_t kCacheLine = 64, kCacheLines = 64;
    uint32_t cacheFirst = 0, cacheEnd = 0;
    std::array<CacheLine, kCacheLines> cacheLines;
    /// The processor loads: true when the cache has the line. A line that is no longer true is a violation.
    bool cacheLoad(uint32_t addr);
    /// Somebody else writes `n` bytes.
    void cacheForeign(uint32_t addr, uint32_t n);
    uint32_t sysRead(uint32_t r);
    void sysWrite(uint32_t r, uint32_t v);

    /* HDMA */
    uint32_t hostLo = 0, hostHi = 0, dev = 0, hdmaEvent = 0, h2cDone = 0, c2hDone = 0, copyDone = 0;
    uint32_t h2cQueued = 0, c2hQueued = 0, copyQueued = 0;
    uint64_t h2cFree = 0, c2hFree = 0, copyFree = 0, fillUntil = 0;
    uint32_t copySrc = 0, copyDst = 0, copyPos = 0, fillDst = 0;
    uint32_t parityQueued = 0, parityDone = 0;
    uint64_t parityFree = 0;
    std::vector<uint8_t> parityHeld = std::vector<uint8_t>(4096); /**< page of the parity engine */
    uint32_t hdmaRead(uint32_t r);
    void hdmaWrite(uint32_t r, uint32_t v);
    void transfer(bool toHost, uint32_t len);
    void copy(uint32_t src, uint32_t dst, uint32_t pos, uint32_t len);
    void parity(uint32_t address, bool store);

    /* FLASH */
    struct Desc {
        uint32_t w0, w1, w2, bytes, confirm, oob0, oob1;
    };
    /** A page on its way into the array; `page` is the key of its sectors without their bits. */
    struct Program {
        uint32_t page = 0;
        bool root = false;                                  /**< a root record is among the sectors */
        std::vector<std::pair<uint32_t, uint32_t>> sectors; /**< key, first metadata word */
        std::vector<uint8_t> raw;
        uint32_t t = 0;     /**< of the code */
        bool blank = false; /**< the page was, when the program began */
    };
    /** A LUN of a way: its descriptors run in order. */
    struct Way {
        std::deque<Desc> fifo;
        bool busy = false;
        bool waitsRoom = false;
        uint32_t interface = 0;     /**< P1 of feature 01h */
        uint32_t configuration = 0; /**< P1 of feature 02h */
        uint32_t retryLevel = 0;
        /* The page register, after a read. */
        bool holds = false; /**< the page `page`, of which the sectors from `nextSector` on can still be sent */
        uint32_t page = 0, nextSector = 0;
        Nand::PageRegister reg;
        /* Programs. */
        bool loading = false; /**< `program` waits for its sector `nextIn` */
        uint32_t nextIn = 0;
        Program program;
        std::vector<Program> planes;      /**< loaded, to be programmed together */
        std::vector<Program> programming; /**< in the array */
        uint64_t cacheUntil = 0;          /**< end of a cache program */
        bool cacheFailed = false;
        std::set<uint32_t>
            failed; /**< LUN and plane of the last program of a LUN whose page failed: lun << 8 | plane */
    };
    struct Channel {
        uint32_t w0 = 0, w1 = 0, w2 = 0, oob0 = 0, oob1 = 0, geometry = 0, discard = 0;
        std::array<uint32_t, 3> timing{}; /**< TIMING0, 1, 2 */
        uint32_t rate = 0;                /**< DATA_RATE */
        uint32_t code = 0, erasedLimit = assasin::SectorCodec::kErasedLimit;
        uint64_t codeReady = 0;
        assasin::SectorCodec::Setting setting;
        std::array<uint32_t, 64> steps{};
        std::array<uint32_t, 16> phases{};
        std::array<Way, 32> ways; /**< LUN 1 of way w: w + 16 */
        std::array<uint32_t, 2> wayMap{0x76543210, 0xfedcba98};
        uint32_t hung = 0; /**< chip enables whose RESET has not ended, a bit each */
        struct Cpl {
            uint32_t tag, status, way, d0, d1, errors, code;
        };
        std::deque<Cpl> cpl;
        uint64_t busFree = 0, busBusy = 0, dataBytes = 0;
        uint32_t sectorsRead = 0, bitsCorrected = 0, sectorsFailed = 0;
    };
    std::array<Channel, 16> ch;
    uint32_t flashRead(uint32_t c, uint32_t r);
    void flashWrite(uint32_t c, uint32_t r, uint32_t v);
    uint32_t codeInfo(uint32_t n) const;
    const assasin::SectorCodec &codecOf(const Channel &k) const;
    void setGeometry(Channel &k, uint32_t v);
    void checkData(uint32_t c, uint32_t w);
    /** Everything below names a LUN by its place in Channel::ways. */
    uint32_t dieOf(const Desc &d) const;
    /** Chip enable that its way drives. */
    uint32_t enableOf(uint32_t c, uint32_t w) const {
        return ch[c].wayMap[(w & 15) / 8] >> (w & 7) * 4 & 15;
    }
    /** Key of the sector at `address` of its package. */
    uint32_t keyOf(uint32_t c, uint32_t w, uint32_t address) const {
        return c << 28 | enableOf(c, w) << 24 | (address & 0xffffff);
    }
    void setWayMap(uint32_t c, uint32_t word, uint32_t v);
    /** What RESET or READ ID of a chip enable comes to that no package like the others is at. False: one is. */
    bool answersOtherwise(uint32_t c, uint32_t w);
    void wayStart(uint32_t c, uint32_t w);
    void wayData(uint32_t c, uint32_t w);
    void sectorEnd(uint32_t c, uint32_t w);
    void programStart(uint32_t c, uint32_t w, uint32_t key);
    /** False: the chip reports FAIL. */
    uint32_t planeOf(uint32_t key) const;
    bool programEnd(uint32_t c, uint32_t w);
    void wayEnd(uint32_t c, uint32_t w, uint32_t status, uint32_t d0, uint32_t d1, uint32_t errors = 0,
                uint32_t code = 0);
    bool room(const Desc &d, uint32_t c) const;
    void retryRoom();

  public:
    /** Power is lost. */
    void tearInFlight();
    std::vector<Core> cores; /**< and behind them the slots */
    uint32_t slots = 0;

  protected:
    uint32_t coreRead(uint32_t c, uint32_t r);
    void coreWrite(uint32_t c, uint32_t r, uint32_t v);
    void coreClear(Core &k);
    void slotWrite(uint32_t n, uint32_t r, uint32_t v);
    void coreSchedule(uint32_t c, uint32_t delay);
    void coreStop(uint32_t c, uint32_t state);
    void deliver(uint32_t c, uint32_t s, uint32_t pos, const uint8_t *data, uint32_t n, bool checkRoom);
    void drainStart(uint32_t c);
    uint32_t outReady(const Core &k) const;
    uint32_t coreEvent(const Core &k) const;
};

/** The device that the firmware's accesses go to. */
extern Hardware *current;

} // namespace model
