// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <poll.h>

#include "pciproxy/HostMemory.h"
#include "pciproxy/PciFunction.h"
#include "pciproxy/Qtest.h"
#include "pciproxy/UnixSocket.h"
#include "pciproxy/protocol.h"

namespace assasin {

/// What the server asks of the board. Each call is answered once through `done`, now or after some simulated time; the
/// server asks for nothing else meanwhile.
class BarTarget {
  public:
    virtual ~BarTarget() = default;

    /// Reads `size` (1, 2, 4, 8; naturally aligned) bytes at `offset` of `bar`.
    virtual void barRead(int bar, uint32_t offset, unsigned size, std::function<void(uint64_t)> done) = 0;
    /// Writes likewise.
    virtual void barWrite(int bar, uint32_t offset, uint64_t value, unsigned size, std::function<void()> done) = 0;
    /// The function was reset, or its visitor left: stop the controller.
    virtual void functionReset(std::function<void()> done) = 0;
};

/// The board's door: serves the remote-PCI protocol to one visitor at a time and carries interrupts to it.
class Server {
  public:
    /// Listens on `path` and, for QEMU's qtest connection, on `path`.qt.
    Server(const std::string &path, PciFunction &function, HostMemory &host, BarTarget &target);
    ~Server();
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;

    /// Serves what has arrived, without blocking: stops at the first message whose answer takes simulated time.
    void poll();

    /// The file descriptors that end an idle wait. Empty while an answer is being worked on.
    void waitOn(std::vector<pollfd> &fds) const;

    /// A message is being answered by the board.
    bool busy() const {
        return busy_;
    }

    bool visited() const {
        return visitor_ >= 0;
    }
    /// Process that connected; 0: nobody is connected, or the kernel does not say.
    int visitorPid() const {
        return visitorPid_;
    }
    uint64_t visits() const {
        return visits_;
    }

  private:
    bool serveOne();
    bool receive(void *data, size_t size);
    void reply(uint64_t value);
    void leave(const char *why);
    void admit();
    void signal();
    void resetFunction();
    /// Lets QEMU know INTA's fall before it goes on.
    void settle();
    void access(const pci_proxy_bar &bar, bool write);

    UnixListener listener_;
    Qtest qtest_;
    PciFunction &function_;
    HostMemory &host_;
    BarTarget &target_;
    int visitor_ = -1;
    int next_ = -1; ///< who has come while the visitor may still be there
    int visitorPid_ = 0;
    int irqfd_ = -1;
    int resamplefd_ = -1;
    bool busy_ = false;
    bool intxFell_ = false; ///< INTA was lowered and QEMU may not know yet
    uint64_t visits_ = 0;
    unsigned complaints_ = 0;
};

} // namespace assasin
