// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include <poll.h>

#include "nand/NandTarget.h"
#include "pciproxy/UnixSocket.h"
#include "sim/Soc.h"

namespace assasin {

/// What the board has done since power-on. All are sums that only grow.
struct Activity {
    uint64_t timebase = 0; ///< cycles, slept ones included
    uint64_t clocked = 0;  ///< cycles in which the chip had its clock
    uint64_t h2cBytes = 0;
    uint64_t c2hBytes = 0;
    uint64_t dramReadBytes = 0;
    uint64_t dramWriteBytes = 0;
    NandCounts nand;
    ChipCounters chip; ///< cores: summed over every CLEAR since the first client came
};

/// What a reader of Activity has to know about the board.
struct ActivityScale {
    double nsPerCycle = 1;
    double pcieBytesPerCycle = 0; ///< each direction
    double dramBytesPerCycle = 0;
    uint64_t dramBytes = 0;
    unsigned channels = 0;
    unsigned dies = 0;         ///< LUNs of all packages
    unsigned phyBytes = 0;     ///< data beat of a channel
    unsigned rawPageBytes = 0; ///< main and spare area
};

/// Lets tools look at the board's counters while a visitor uses the drive: nothing that they do costs simulated time or
/// changes anything in the chip. Any number of clients.
///
/// A client sends lines. `every N` (first): a sample whenever N cycles of the timebase have passed, 1 and up. `now`:
/// one more at once, whose `asked` is 1. The answers are JSON objects, one a line: first the board's scale and the
/// names of the counters, then a sample, then samples as asked for. Time that the chip sleeps through is one step:
/// samples stand at both its ends.
class ActivityServer {
  public:
    /// Listens on `path`. `look` gives the sums as they are, the cores' since their latest CLEAR.
    ActivityServer(const std::string &path, const ActivityScale &scale, std::function<void(Activity &)> look);
    ~ActivityServer();
    ActivityServer(const ActivityServer &) = delete;
    ActivityServer &operator=(const ActivityServer &) = delete;

    /// Timebase at which sample() is to be called next; UINT64_MAX: no client asks.
    uint64_t due() const {
        return due_;
    }

    /// Gives every client whose interval is over by `now` its sample.
    void sample(uint64_t now);

    /// The timebase is about to jump from `now` to `wake`.
    void beforeJump(uint64_t now, uint64_t wake);

    /// Serves clients without blocking, and follows the cores' counters over their CLEARs: called often enough that no
    /// core is cleared and started again in between.
    void poll(uint64_t now);
    void follow();

    void waitOn(std::vector<pollfd> &fds) const;

  private:
    struct Client {
        int fd;
        uint64_t every = 0; ///< 0: has not said yet
        uint64_t due = UINT64_MAX;
        std::string in;
        std::string out; ///< not yet taken by the client
        bool lost = false;
    };

    void receive(Client &client, uint64_t now);
    void obey(Client &client, const std::string &line, uint64_t now);
    void give(Client &client, uint64_t now, bool asked = false);
    static void flush(Client &client);
    void schedule();
    std::string json(bool asked);

    UnixListener listener_;
    const ActivityScale scale_;
    const std::function<void(Activity &)> look_;
    std::list<Client> clients_;
    uint64_t due_ = UINT64_MAX;
    bool following_ = false;
    Activity latest_; ///< of the latest follow(), cores as in the chip
    uint64_t before_[ChipCounters::MAX_TILES][ChipCounters::TILE_COUNTERS] = {}; ///< sum over ended runs, modulo 2^64
};

} // namespace assasin
