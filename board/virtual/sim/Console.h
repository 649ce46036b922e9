// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>

#include "pciproxy/UnixSocket.h"
#include "sim/Bar0Master.h"

namespace assasin {

/// The firmware's console: moves characters between the CTRL registers and a log file and the sockets of `assasin
/// console`.
///
/// A socket client receives what the log holds of the latest 4 KiB, then everything live; what it sends goes to the
/// firmware.
class Console {
  public:
    /// @param logPath    log file, appended to; empty: none
    /// @param socketPath socket to listen on; empty: none
    Console(Bar0Master &bar0, const std::string &logPath, const std::string &socketPath);
    ~Console();
    Console(const Console &) = delete;
    Console &operator=(const Console &) = delete;

    /// Starts taking what the firmware has printed, character by character through BAR0, until there is no more. `now`
    /// stamps lines.
    void drain(uint64_t now);

    /// A drain is under way.
    bool draining() const {
        return draining_;
    }

    /// Admits and serves socket clients without blocking; input starts register writes.
    void poll(uint64_t now);

    /// Characters for the firmware that it has not taken yet: poll() goes on with them.
    bool inputWaits() const {
        return !input_.empty();
    }

    void waitOn(std::vector<pollfd> &fds) const;

    /// FW_STATE as of the last drain: [0] asleep, [1] stopped on a trap, [15:8] cause.
    uint32_t firmwareState() const {
        return firmwareState_;
    }
    uint32_t firmwarePc() const {
        return firmwarePc_;
    }

  private:
    void next();
    void take(char c);
    void feed();
    void broadcast(const std::string &text);

    Bar0Master &bar0_;
    std::FILE *log_ = nullptr;
    std::unique_ptr<UnixListener> listener_;
    std::vector<int> clients_;
    std::string recent_;
    std::string burst_; ///< characters of the running drain not yet sent to clients
    std::deque<char> input_;
    bool draining_ = false;
    bool feeding_ = false;
    bool lineStart_ = true;
    uint64_t now_ = 0;
    uint32_t firmwareState_ = 0;
    uint32_t firmwarePc_ = 0;
};

} // namespace assasin
