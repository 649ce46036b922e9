// SPDX-License-Identifier: BSD-3-Clause
#include "pciproxy/BarServer.h"

#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

namespace assasin {

namespace {

constexpr int BAR_SHIFT = 32;

} // namespace

BarServer::BarServer(const std::string &path, BarTarget &target) : listener_(path), target_(target) {
}

BarServer::~BarServer() {
    for (const Client &client : clients_) {
        close(client.fd);
    }
}

void BarServer::poll() {
    for (int fd; (fd = listener_.accept()) >= 0;) {
        clients_.push_back({fd, {}, 0});
    }
    pump();
}

void BarServer::waitOn(std::vector<pollfd> &fds) const {
    if (busy_) {
        return;
    }
    fds.push_back({listener_.fd(), POLLIN, 0});
    for (const Client &client : clients_) {
        fds.push_back({client.fd, POLLIN, 0});
    }
}

void BarServer::pump() {
    if (pumping_) {
        return;
    }
    pumping_ = true;
    size_t waiting = 0; // clients in a row that had nothing whole
    while (!busy_ && waiting < clients_.size()) {
        Client &client = clients_.front();
        if (!receive(client)) {
            close(client.fd);
            clients_.pop_front();
            waiting = 0;
            continue;
        }
        clients_.splice(clients_.end(), clients_, clients_.begin());
        if (client.have < sizeof client.request) {
            waiting++;
            continue;
        }
        waiting = 0;
        access(client);
    }
    pumping_ = false;
}

bool BarServer::receive(Client &client) {
    auto *const bytes = reinterpret_cast<char *>(&client.request);
    const ssize_t n = recv(client.fd, bytes + client.have, sizeof client.request - client.have, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (n <= 0) {
        return false;
    }
    client.have += size_t(n);
    const pci_proxy_header &header = client.request.header;
    return client.have < sizeof header || ((header.cmd == PCI_PROXY_BAR_READ || header.cmd == PCI_PROXY_BAR_WRITE) &&
                                           header.size == sizeof client.request.bar);
}

void BarServer::access(Client &client) {
    client.have = 0;
    const bool write = client.request.header.cmd == PCI_PROXY_BAR_WRITE;
    const pci_proxy_bar &bar = client.request.bar;
    const uint64_t index = bar.addr >> BAR_SHIFT;
    const uint64_t offset = bar.addr & ((uint64_t(1) << BAR_SHIFT) - 1);
    const bool legal = (bar.size == 1 || bar.size == 2 || bar.size == 4 || bar.size == 8) && bar.addr % bar.size == 0;
    const uint64_t size = index == BOARD_BAR_NVME ? BOARD_BAR0_SIZE : BOARD_BAR2_SIZE;
    if (!legal || (index != BOARD_BAR_NVME && index != BOARD_BAR_XDMA) || offset >= size) {
        finish(client, write ? 0 : UINT64_MAX);
        return;
    }
    busy_ = true;
    // The client stays where it is in memory: it is removed by pump() alone, and never while busy.
    if (write) {
        target_.barWrite(int(index), uint32_t(offset), bar.val, bar.size, [this, &client] {
            busy_ = false;
            finish(client, 0);
            pump();
        });
    } else {
        target_.barRead(int(index), uint32_t(offset), bar.size, [this, &client](uint64_t value) {
            busy_ = false;
            finish(client, value);
            pump();
        });
    }
}

void BarServer::finish(Client &client, uint64_t value) {
    const struct {
        pci_proxy_header header;
        uint64_t value;
    } message{{PCI_PROXY_RET, 0, sizeof value}, value};
    // A client that does not take its answers must not stop the board: the next look finds it gone.
    if (send(client.fd, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) != ssize_t(sizeof message)) {
        shutdown(client.fd, SHUT_RDWR);
    }
}

} // namespace assasin
