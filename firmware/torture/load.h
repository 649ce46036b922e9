/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Gives a drive the commands of a life and holds what it answers against the oracle. What the drive is stands behind
 * Host.
 */
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "torture/case.h"
#include "torture/oracle.h"

namespace torture {

/** What a drive did wrong. */
struct Failure : std::runtime_error {
    enum Kind { Lost = 1, Unbootable, Rule } kind;
    Failure(Kind k, const std::string &why) : std::runtime_error(why), kind(k) {
    }
};
const char *nameOf(Failure::Kind kind);

/** A drive that is ready, and its host. */
class Host {
  public:
    virtual ~Host() = default;
    /** Blocks of the namespace. */
    virtual uint32_t capacity() = 0;
    /** Identify says that there is a volatile write cache. */
    virtual bool writeCache() = 0;
    /** \param data of a write or an offload. \return a number for the command that no other one in flight has */
    virtual uint32_t submit(const Command &command, const std::vector<uint8_t> &data) = 0;
    struct Ended {
        uint32_t id;
        uint16_t status;           /**< SCT and SC */
        std::vector<uint8_t> data; /**< of a read */
    };
    /** Goes on until some command has ended. */
    virtual std::vector<Ended> wait() = 0;
    /** Resets the controller and makes it ready again; what was in flight is forgotten. */
    virtual void reset() = 0;
    virtual void shutdown() = 0;
    virtual void idle(uint64_t cycles) = 0;
    /** Whether the medium has the block in one of these versions with no more errors than the code corrects; nothing
     * where nobody can look. */
    virtual std::optional<bool> onMedium(uint32_t, const std::vector<uint32_t> &) {
        return std::nullopt;
    }
    /** Whether something tells that the block was there in this version and is gone: the medium holds it with more
     * errors than the code corrects by now, or the drive has said that it lost what was in its write cache. Of a
     * program of several planes that fails, it takes all of their pages for lost. */
    virtual bool gone(uint32_t, uint32_t) {
        return false;
    }
};

/** What goes on over all lives of a drive. */
struct History {
    std::optional<Oracle> oracle;
    uint32_t number = 0;  /**< of the last command that changed something */
    uint64_t events = 1;  /**< submissions and completions so far: the oracle's time */
    uint64_t refused = 0; /**< writes that a drive without room has refused */
    uint64_t commands = 0, reads = 0;
    /** Blocks that the drive has said to be lost from its write cache, and the newest version that this can be of. */
    std::map<uint32_t, uint32_t> saidLost;
    uint64_t faded = 0; /**< blocks that could not be read, nor can be: the medium lost them */
    uint32_t blocks = kOffloadBase + kOffloadBlocks; /**< of the drive that are looked at */
    bool faults = false;                             /**< the medium has programs and erases that fail */
    bool fades = false;                              /**< the medium itself loses data */
    bool room = false;                               /**< Case::room */
    /** A change of many blocks that happens as a whole, and was in flight when power went. */
    struct Whole {
        uint32_t version, lba, blocks;
    };
    std::vector<Whole> wholes;
};

class Load {
  public:
    Load(Host &host, History &history, uint32_t seed);
    /** Reads every block that was ever written, and some others. \throws Failure */
    void verify();
    void run(const Life &life);
    /** What is in flight may have happened or not: power is lost, or the controller was reset. */
    void lost(bool power);

  private:
    struct Flying {
        Command command;
        uint32_t version = 0;
        uint64_t submitted = 0;
        std::vector<std::vector<uint32_t>> allowed; /**< of a read: what each block may return */
        std::vector<bool> calm; /**< no change of the block since the read was submitted or under way then */
    };
    Host &host;
    History &h;
    std::mt19937 rng;
    std::map<uint32_t, Flying> flying;
    std::map<uint32_t, uint32_t> seen;                /**< of a verification: what the blocks hold */
    std::map<uint32_t, std::vector<uint32_t>> before; /**< and what they might have */
    bool verifying = false;
    bool offloading = false;

    void start(const Command &command);
    void step();
    void drain();
    void finish(const Flying &f, const Host::Ended &e);
    void finishRead(const Flying &f, const Host::Ended &e);
    /** A read has failed: only a medium that loses data explains that. */
    void unreadable(const Flying &f, uint16_t status);
    /** Whether the drive has lost one of these versions of the block: an older one that is still there would be the
     * wrong answer. */
    bool versionLost(uint32_t lba, const std::vector<uint32_t> &versions);
    void checkWhole(const History::Whole &w) const;
};

} // namespace torture
