// SPDX-License-Identifier: BSD-3-Clause
#include "sim/Console.h"

#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <stdexcept>

#include <sys/socket.h>
#include <unistd.h>

#include "assasin_contract.h"

namespace assasin {

namespace {

constexpr size_t RECENT_BYTES = 4096;
constexpr uint32_t VALID = 1u << 31;
constexpr uint32_t RX_FULL = 1u << 31;

} // namespace

Console::Console(Bar0Master &bar0, const std::string &logPath, const std::string &socketPath) : bar0_(bar0) {
    if (!logPath.empty()) {
        log_ = std::fopen(logPath.c_str(), "ae");
        if (log_ == nullptr) {
            throw std::runtime_error("cannot open console log '" + logPath + "': " + std::strerror(errno));
        }
    }
    if (!socketPath.empty()) {
        listener_ = std::make_unique<UnixListener>(socketPath);
    }
}

Console::~Console() {
    if (log_ != nullptr) {
        std::fclose(log_);
    }
    for (const int client : clients_) {
        close(client);
    }
}

void Console::drain(uint64_t now) {
    if (!draining_) {
        draining_ = true;
        now_ = now;
        next();
    }
}

void Console::next() {
    bar0_.read(ASSASIN_CTRL_BASE + CTRL_CONSOLE_TX, [this](uint32_t word) {
        // a bus error reads as all ones and must not spin
        if ((word & VALID) != 0 && word != UINT32_MAX) {
            take(char(word & 0xFF));
            next();
            return;
        }
        if (log_ != nullptr) {
            std::fflush(log_);
        }
        broadcast(burst_);
        burst_.clear();
        bar0_.read(ASSASIN_CTRL_BASE + CTRL_FW_STATE, [this](uint32_t state) {
            firmwareState_ = state;
            bar0_.read(ASSASIN_CTRL_BASE + CTRL_FW_PC, [this](uint32_t pc) {
                firmwarePc_ = pc;
                draining_ = false;
            });
        });
    });
}

void Console::take(char c) {
    if (log_ != nullptr && c != '\r') {
        if (lineStart_) {
            std::fprintf(log_, "[%12" PRIu64 "] ", now_);
        }
        std::fputc(c, log_);
        lineStart_ = c == '\n';
    }
    burst_ += c;
    recent_ += c;
    if (recent_.size() > 2 * RECENT_BYTES) {
        recent_.erase(0, recent_.size() - RECENT_BYTES);
    }
}

void Console::broadcast(const std::string &text) {
    if (text.empty()) {
        return;
    }
    for (size_t i = 0; i < clients_.size();) {
        const ssize_t n = send(clients_[i], text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN) { // a client too slow to read loses text rather than holding the board up
            close(clients_[i]);
            clients_.erase(clients_.begin() + long(i));
        } else {
            i++;
        }
    }
}

void Console::poll(uint64_t now) {
    if (!listener_) {
        return;
    }
    now_ = now;
    for (int client; (client = listener_->accept()) >= 0;) {
        if (!recent_.empty()) {
            (void)send(client, recent_.data(), recent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        clients_.push_back(client);
    }
    for (size_t i = 0; i < clients_.size();) {
        char buffer[256];
        const ssize_t n = recv(clients_[i], buffer, sizeof buffer, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            close(clients_[i]);
            clients_.erase(clients_.begin() + long(i));
            continue;
        }
        if (n > 0) {
            input_.insert(input_.end(), buffer, buffer + n);
        }
        i++;
    }
    feed();
}

void Console::feed() {
    if (feeding_ || input_.empty()) {
        return;
    }
    feeding_ = true;
    bar0_.read(ASSASIN_CTRL_BASE + CTRL_CONSOLE_RX, [this](uint32_t word) {
        if ((word & RX_FULL) != 0) {
            feeding_ = false; // the next poll tries again
            return;
        }
        const uint32_t c = uint8_t(input_.front());
        input_.pop_front();
        bar0_.write(ASSASIN_CTRL_BASE + CTRL_CONSOLE_RX, c, 0xF, [this](uint32_t) {
            feeding_ = false;
            feed();
        });
    });
}

void Console::waitOn(std::vector<pollfd> &fds) const {
    if (!listener_) {
        return;
    }
    fds.push_back({listener_->fd(), POLLIN, 0});
    for (const int client : clients_) {
        fds.push_back({client, POLLIN, 0});
    }
}

} // namespace assasin
