// SPDX-License-Identifier: BSD-3-Clause
#include "hls/KernelRun.h"

#include <cerrno>
#include <ctime>
#include <thread>
#include <utility>

namespace assasin {

namespace {

void waitFor(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0 && errno == EINTR) {
    }
}

/// False when `seconds` of host time have passed.
bool waitFor(sem_t *semaphore, int seconds) {
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    int result;
    do {
        result = sem_timedwait(semaphore, &until);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

} // namespace

KernelRun::KernelRun() {
    sem_init(&toFunction_, 0, 0);
    sem_init(&toOwner_, 0, 0);
}

KernelRun::~KernelRun() {
    sem_destroy(&toFunction_);
    sem_destroy(&toOwner_);
}

std::shared_ptr<KernelRun> KernelRun::make(std::function<void(KernelRun &)> function) {
    std::shared_ptr<KernelRun> run(new KernelRun);
    // The thread keeps what it uses, for the case that it is left behind.
    std::thread([run, function = std::move(function)] {
        waitFor(&run->toFunction_);
        if (!run->stopping_) {
            function(*run);
        }
        run->within([&run] { return run->returned_ = true; });
        run->over_ = true;
        sem_post(&run->toOwner_);
    }).detach();
    return run;
}

void KernelRun::await(int seconds) {
    if (waitFor(&toOwner_, seconds)) {
        return;
    }
    // It may be inside a body and about to pause: that is in time.
    const std::lock_guard<std::mutex> guard(body_);
    lost_ = sem_trywait(&toOwner_) != 0;
}

void KernelRun::resume() {
    if (!lost_ && !returned_) {
        sem_post(&toFunction_);
        await(LOST_SECONDS);
    }
}

void KernelRun::stop() {
    if (!lost_ && !returned_) {
        stopping_ = true;
        sem_post(&toFunction_);
        await(STOP_SECONDS);
    }
}

bool KernelRun::within(const std::function<bool()> &body) {
    const std::lock_guard<std::mutex> guard(body_);
    return !stopping_ && !lost_ && body();
}

bool KernelRun::pause() {
    sem_post(&toOwner_);
    body_.unlock();
    waitFor(&toFunction_);
    body_.lock();
    return !stopping_ && !lost_;
}

} // namespace assasin
