// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

namespace assasin {

/// The wish to end the run, set from a signal handler. `fd` becomes readable with it, so that a wait in poll() ends
/// too.
struct Stop {
    std::atomic<bool> requested{false};
    int fd = -1; ///< eventfd, or -1
};

} // namespace assasin
