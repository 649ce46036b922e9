// SPDX-License-Identifier: BSD-3-Clause
#include "pciproxy/Qtest.h"

#include <cerrno>
#include <cstdio>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace assasin {

void Qtest::drop() {
    if (fd_ >= 0) {
        close(fd_);
        fd_ = -1;
    }
    line_.clear();
    sent_ = acknowledged_ = 0;
}

void Qtest::poll() {
    const int next = listener_.accept();
    if (next >= 0) {
        drop();
        fd_ = next;
        // QEMU while it is stopped reads nothing: interrupts are lost then, the board is not
        const timeval limit{1, 0};
        setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    while (fd_ >= 0) {
        char buffer[512];
        const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n <= 0) {
            drop();
            return;
        }
        for (ssize_t i = 0; i < n; i++) {
            if (buffer[i] != '\n') {
                line_ += buffer[i];
                continue;
            }
            if (line_.compare(0, 2, "OK") == 0) {
                acknowledged_++;
            } else if (line_.compare(0, 3, "IRQ") != 0) { // IRQ lines are unasked-for notices
                std::fprintf(stderr, "assasin-board: qtest answered: %s\n", line_.c_str());
                acknowledged_++;
            }
            line_.clear();
        }
    }
}

void Qtest::send(const std::string &command) {
    size_t at = 0;
    while (fd_ >= 0 && at < command.size()) {
        const ssize_t n = ::send(fd_, command.data() + at, command.size() - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            drop();
            return;
        }
        at += size_t(n);
    }
    sent_++;
}

void Qtest::writeWord(uint64_t address, uint32_t data) {
    char command[64];
    std::snprintf(command, sizeof command, "writel 0x%llx 0x%x\n", static_cast<unsigned long long>(address), data);
    send(command);
}

void Qtest::setIntx(bool level) {
    char command[96];
    std::snprintf(command, sizeof command, "set_irq_in %s unnamed-gpio-in %d %d\n", IOAPIC, INTA_GSI, level ? 1 : 0);
    send(command);
}

void Qtest::settle(int milliseconds) {
    poll();
    while (connected() && !settled()) {
        pollfd waiting{fd_, POLLIN, 0};
        if (::poll(&waiting, 1, milliseconds) <= 0) {
            std::fprintf(stderr, "assasin-board: qtest did not acknowledge within %d ms\n", milliseconds);
            acknowledged_ = sent_;
            return;
        }
        poll();
    }
}

} // namespace assasin
