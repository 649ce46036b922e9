/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Test harness: the firmware as a shared object on the device model, and a host driver for it. Loading the object again
 * is a power cycle.
 */
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/model.h"

#define CHECK(cond)                                                                                                    \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            throw harness::Failure(std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " #cond);               \
        }                                                                                                              \
    } while (0)
#define CHECK_EQ(a, b)                                                                                                 \
    do {                                                                                                               \
        auto va = (a);                                                                                                 \
        auto vb = static_cast<decltype(va)>(b);                                                                        \
        if (!(va == vb)) {                                                                                             \
            throw harness::Failure(std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " #a " = " +            \
                                   std::to_string(va) + ", expected " + std::to_string(vb));                           \
        }                                                                                                              \
    } while (0)

namespace harness {

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using Sqe = std::array<uint32_t, 16>;

enum : uint16_t {
    kOk = 0,
    kInvalidOpcode = 1,
    kInvalidField = 2,
    kDataTransfer = 4,
    kAborted = 7,
    kSqDeleted = 8,
    kInvalidNs = 0xb,
    kCommandSet = 0x12c,
    kSizeLimit = 0x183,
    kIncompatibleNs = 0x185,
    kOverlappingIo = 0x187,
    kFormatInvalid = 0x10a,
    kNotNamespace = 0x10f,
    kNoProgram = 0x196,
    kNotActivated = 0x198,
    kProgramInUse = 0x199,
    kProgramFailed = 0x1c7,
    kCompareFailure = 0x285,
    kSequence = 0xc,
    kSanitizeFailed = 0x1c,
    kSanitizeInProgress = 0x1d,
    kSelfTestInProgress = 0x11d,
    kDeallocated = 0x287,
    kPrpOffset = 0x13,
    kLbaRange = 0x80,
    kCqInvalid = 0x100,
    kQidInvalid = 0x101,
    kQueueSize = 0x102,
    kAerLimit = 0x105,
    kVectorInvalid = 0x108,
    kLogInvalid = 0x109,
    kQueueDeletion = 0x10c,
    kNotSaveable = 0x10d,
    kReadOnly = 0x182,
    kBadFunction = 0x1c0,
    kBadElf = 0x1c1,
    kBadRequest = 0x1c2,
    kOverlap = 0x1c5,
    kBadFeed = 0x1c6,
    kBadHandle = 0x1c3,
    kNoResources = 0x1c4,
    kReplaced = 0x1c8,
    kNoSession = 0x1c9,
    kNoAccess = 0x1ca,
    kInterface = 0x1cb,
    kWriteFault = 0x280,
    kReadError = 0x281,
};

/** A registered test. */
struct Test {
    const char *name;
    std::function<void(uint32_t seed)> run;
};
std::vector<Test> &tests();
struct Register {
    Register(const char *name, std::function<void(uint32_t)> f) {
        tests().push_back({name, std::move(f)});
    }
};
#define TEST(name)                                                                                                     \
    static void test_##name(uint32_t seed);                                                                            \
    static harness::Register register_##name(#name, test_##name);                                                      \
    static void test_##name([[maybe_unused]] uint32_t seed)

/** Host memory of one transfer with its PRPs. */
struct Buffer {
    uint64_t addr; /**< bus address of the first byte */
    uint32_t bytes;
    uint64_t prp1, prp2;
    std::vector<uint64_t> segments; /**< bus address of every host page's part */
};

/** What the loader writes into struct drive_identity. */
struct Loaded {
    uint64_t id = 0;
    uint32_t flags = 0;
    uint32_t spare = 0; /**< per cent that a format is to keep back; 0: what is usual */
};

/** A session of the drive, as its owner knows it. */
struct Owner {
    uint32_t number = 0;
    uint32_t secret[2] = {0x5ec4e7, 0x1};
    std::map<uint16_t, uint16_t> functions = {}; /**< names of loaded functions by the test's own numbers, 0..15 */
};

/** A powered drive with a host. */
class Drive {
  public:
    Drive(model::Nand &nand, uint32_t cores = 2, uint32_t seed = 1, uint32_t bootArg = 0,
          const std::vector<model::Slot> &slots = {}, const model::Times &times = {}, const model::Faults &faults = {},
          uint64_t cutAt = UINT64_MAX, Loaded loaded = {});
    ~Drive();
    Drive(const Drive &) = delete;

    model::Device dev;

    /** Run the firmware until `done`; fails when nothing more happens or after `limit` rounds. */
    void run(const std::function<bool()> &done, uint64_t limit = 20'000'000);
    void step() {
        /* Sleeping is only suspicious where nobody outside can end it: in the boot code. */
        dev.idleWfi = 0;
        dev.stackTop = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
        fwStep();
    }
    /** The last step went to sleep with nothing to come. */
    bool asleep() const {
        return dev.idleWfi > 0;
    }
    /** Run until nothing happens without the host. */
    void settle();

    /** @param css CC.CSS: 0 the NVM command set, 6 all of them */
    void enable(uint32_t css = 0);
    void disable();
    void createQueues(uint32_t n, uint32_t entries = 64);
    void start(uint32_t queues = 2, uint32_t css = 0);
    void shutdown();

    uint16_t submit(uint32_t sqid, Sqe sqe);
    /** Completions that have come and that nobody has taken. */
    size_t completed() const {
        return done.size();
    }
    /** Completion of command `cid` of queue `sqid`, when there. */
    std::optional<model::Completion> take(uint32_t sqid, uint16_t cid);
    model::Completion wait(uint32_t sqid, uint16_t cid);
    model::Completion exec(uint32_t sqid, const Sqe &sqe) {
        return wait(sqid, submit(sqid, sqe));
    }

    /** Host memory at an arbitrary offset in its page, in scattered pages when `scatter`. */
    Buffer buffer(uint32_t bytes, uint32_t offset = 0, bool scatter = false);
    void put(const Buffer &b, const uint8_t *data);
    std::vector<uint8_t> get(const Buffer &b) const;
    uint64_t hostPage();
    void freeHost() {
        hostNext = 0;
    }

    static Sqe sqe(uint8_t opcode, uint32_t nsid = 0);
    static void setPrp(Sqe &s, const Buffer &b) {
        s[6] = static_cast<uint32_t>(b.prp1);
        s[7] = static_cast<uint32_t>(b.prp1 >> 32);
        s[8] = static_cast<uint32_t>(b.prp2);
        s[9] = static_cast<uint32_t>(b.prp2 >> 32);
    }
    /** In whose name vendor commands go that name nobody; its session is opened by the first of them. */
    Owner owner;
    /** Commands go as they are. */
    bool bare = false;
    /** Open the session of `o`, bound to queue `q` if so asked. */
    model::Completion open(Owner &o, uint32_t q = 1, bool bound = false);
    /** `s` as `o` sends it. */
    static Sqe from(const Owner &o, Sqe s, bool admin = false);

    model::Completion write(uint64_t lba, const std::vector<uint8_t> &data);
    model::Completion read(uint64_t lba, uint32_t blocks, std::vector<uint8_t> *out);
    model::Completion trim(uint64_t lba, uint32_t blocks);
    uint32_t capacity();

    /** A function of the firmware's shared object. */
    void *symbol(const char *name) const;

    uint8_t *hostPtr(uint64_t addr) {
        return &dev.host[addr - model::Device::kHostBase];
    }

  private:
    void *handle;
    void (*fwBoot)();
    void (*fwStep)();
    uint16_t nextCid = 1;
    std::map<uint32_t, model::Completion> done;
    uint64_t hostNext = 0;
    void collect();
};

/** Contents of a page: every word follows from LBA and version. Version 0 is zeros. */
std::vector<uint8_t> pattern(uint64_t lba, uint32_t version, uint32_t blocks = 1);

} // namespace harness
