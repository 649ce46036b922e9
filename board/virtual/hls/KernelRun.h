// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include <semaphore.h>

namespace assasin {

/// A function that runs in turn with its owner: either it or who resumes it, never both. It has a thread of its own,
/// so that one that computes for ever can be left behind.
class KernelRun {
  public:
    /// The function does not begin before the first resume().
    static std::shared_ptr<KernelRun> make(std::function<void(KernelRun &)> function);

    ~KernelRun();
    KernelRun(const KernelRun &) = delete;
    KernelRun &operator=(const KernelRun &) = delete;

    // ---- The owner's side ----

    /// Lets the function go on until it pauses or returns. One that keeps the turn for LOST_SECONDS of host time is
    /// left behind.
    void resume();

    /// Lets it return: all its pauses end, and give false. One that does not within STOP_SECONDS is left behind.
    void stop();

    /// It has returned, in its turn.
    bool returned() const {
        return returned_;
    }

    /// It was left behind: it gets no further turn.
    bool lost() const {
        return lost_;
    }

    /// Its thread has ended.
    bool over() const {
        return over_;
    }

    // ---- The function's side ----

    /// Calls `body` in its turn; all that the function shares with its owner is touched there only. False without a
    /// call when the function is to return; else what `body` answers.
    bool within(const std::function<bool()> &body);

    /// Inside a `body`: gives the turn back until it is resumed. False: the function is to return.
    bool pause();

    static constexpr int LOST_SECONDS = 5;
    static constexpr int STOP_SECONDS = 1;

  private:
    KernelRun();
    void await(int seconds);

    sem_t toFunction_;
    sem_t toOwner_;
    std::mutex body_; ///< held inside `body`, but for pauses
    // Written by whose turn it is, or with body_ held.
    bool stopping_ = false;
    bool lost_ = false;
    bool returned_ = false;
    std::atomic<bool> over_{false};
};

} // namespace assasin
