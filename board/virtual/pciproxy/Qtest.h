// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "pciproxy/UnixSocket.h"

namespace assasin {

/// Interrupts into a QEMU guest without KVM: QEMU's qtest text protocol over a second socket that QEMU connects to.
class Qtest {
  public:
    /// Where INTA of the proxy's slot arrives: input `gsi` of the Q35 machine's I/O APIC (slot 5: 21).
    static constexpr const char *IOAPIC = "/machine/q35/ioapic";
    static constexpr int INTA_GSI = 21;

    explicit Qtest(const std::string &path) : listener_(path) {
    }
    ~Qtest() {
        drop();
    }

    bool connected() const {
        return fd_ >= 0;
    }
    int fd() const {
        return fd_;
    }
    int listenFd() const {
        return listener_.fd();
    }

    /// Takes a waiting connection (the latest wins) and reads acknowledgements; never blocks.
    void poll();

    /// Stores a 32-bit word at a guest physical address: how an MSI-X message gets there.
    void writeWord(uint64_t address, uint32_t data);

    /// Sets INTA's level.
    void setIntx(bool level);

    /// Waits until everything sent is acknowledged, at most `milliseconds`. Not while QEMU's main thread waits for the
    /// board.
    void settle(int milliseconds);

    bool settled() const {
        return acknowledged_ == sent_;
    }

  private:
    void send(const std::string &command);
    void drop();

    UnixListener listener_;
    int fd_ = -1;
    uint64_t sent_ = 0;
    uint64_t acknowledged_ = 0;
    std::string line_;
};

} // namespace assasin
