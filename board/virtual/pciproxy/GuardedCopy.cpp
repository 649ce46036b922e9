// SPDX-License-Identifier: BSD-3-Clause
#include "pciproxy/GuardedCopy.h"

#include <csetjmp>
#include <csignal>
#include <cstring>

namespace assasin {

namespace {

sigjmp_buf escape;
volatile sig_atomic_t guarding = 0;

void busError(int signal) {
    if (guarding != 0) {
        guarding = 0;
        siglongjmp(escape, 1);
    }
    // not ours: the default action, when the access is made again
    std::signal(signal, SIG_DFL);
}

void install() {
    static bool installed = false;
    if (!installed) {
        installed = true;
        struct sigaction action {};
        action.sa_handler = busError;
        action.sa_flags = SA_NODEFER; // left by a jump, the signal must not stay blocked
        sigaction(SIGBUS, &action, nullptr);
    }
}

} // namespace

bool guardedCopy(void *to, const void *from, size_t size) {
    install();
    if (sigsetjmp(escape, 0) != 0) {
        return false;
    }
    guarding = 1;
    std::memcpy(to, from, size);
    guarding = 0;
    return true;
}

bool guardedStore(uint32_t *to, uint32_t value) {
    install();
    if (sigsetjmp(escape, 0) != 0) {
        return false;
    }
    guarding = 1;
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
    guarding = 0;
    return true;
}

} // namespace assasin
