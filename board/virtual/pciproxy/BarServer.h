// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include <poll.h>

#include "pciproxy/Server.h"
#include "pciproxy/UnixSocket.h"
#include "pciproxy/protocol.h"

namespace assasin {

/// The board's side entrance: register accesses of bring-up tools beside the visitor at the door, as several processes
/// of a host may map one function's BARs. Any number of clients; each may send ahead, and is answered in order.
///
/// The protocol is the door's, of which it takes BAR_READ and BAR_WRITE alone; BAR n is at address n << 32, whatever
/// configuration space says. Accesses that are not aligned or outside the BARs read all ones.
class BarServer {
  public:
    /// Listens on `path`.
    BarServer(const std::string &path, BarTarget &target);
    ~BarServer();
    BarServer(const BarServer &) = delete;
    BarServer &operator=(const BarServer &) = delete;

    /// Serves what has arrived, without blocking.
    void poll();

    /// The file descriptors that end an idle wait; none while an access is under way.
    void waitOn(std::vector<pollfd> &fds) const;

  private:
    struct Request {
        pci_proxy_header header;
        pci_proxy_bar bar;
    };
    struct Client {
        int fd;
        Request request;
        size_t have = 0; ///< bytes of `request` that have arrived
    };

    /// Serves whole requests, a client after the other, until one takes simulated time or there is none.
    void pump();

    /// Reads on in the client's request; false when the client has gone or sent something else.
    static bool receive(Client &client);

    /// Starts the access that the client's whole request asks for.
    void access(Client &client);
    void finish(Client &client, uint64_t value);

    UnixListener listener_;
    BarTarget &target_;
    std::list<Client> clients_;
    bool busy_ = false;
    bool pumping_ = false; ///< pump() is on the stack
};

} // namespace assasin
