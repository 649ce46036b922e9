// SPDX-License-Identifier: BSD-3-Clause
#include "pciproxy/Server.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

namespace assasin {

namespace {

constexpr size_t MAX_FDS = 16;
constexpr int SETTLE_MS = 200;
/** Nobody may read what the board prints: visitors must not be able to fill that pipe. */
constexpr unsigned MAX_COMPLAINTS = 100;

void closeIf(int &fd) {
    if (fd >= 0) {
        close(fd);
        fd = -1;
    }
}

} // namespace

Server::Server(const std::string &path, PciFunction &function, HostMemory &host, BarTarget &target)
    : listener_(path), qtest_(path + ".qt"), function_(function), host_(host), target_(target) {
    function_.onMessage = [this](uint64_t address, uint32_t data) {
        if (!host_.storeWord(address, data) && qtest_.connected()) {
            qtest_.writeWord(address, data);
        }
        signal();
    };
    function_.onIntx = [this](bool level) {
        if (qtest_.connected()) {
            qtest_.setIntx(level);
            intxFell_ = !level;
        }
        if (level) {
            signal();
        }
    };
    function_.onBusMaster = [this](bool enabled) { host_.setEnabled(enabled); };
}

Server::~Server() {
    function_.onMessage = nullptr;
    function_.onIntx = nullptr;
    function_.onBusMaster = nullptr;
    closeIf(visitor_);
    closeIf(next_);
    closeIf(irqfd_);
    closeIf(resamplefd_);
}

void Server::signal() {
    if (irqfd_ >= 0) {
        const uint64_t one = 1;
        // an eventfd at its limit is a visitor that has not looked: it will find the interrupt anyway
        if (::write(irqfd_, &one, sizeof one) < 0 && errno != EAGAIN) {
            closeIf(irqfd_);
        }
    }
}

void Server::poll() {
    qtest_.poll();
    while (!busy_) {
        if (visitor_ < 0) {
            admit();
            if (visitor_ < 0) {
                return;
            }
        }
        char byte;
        const ssize_t n = recv(visitor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            // The visitor has nothing to say. It may have left, and another come, since: only if it is still there
            // after the other has come is the other told so by a closed connection.
            if (next_ < 0) {
                next_ = listener_.accept();
                if (next_ >= 0) {
                    continue;
                }
            }
            closeIf(next_);
            return;
        }
        if (n <= 0) {
            leave(nullptr);
        } else if (!serveOne()) {
            leave("sent a malformed or truncated message");
        }
    }
}

void Server::waitOn(std::vector<pollfd> &fds) const {
    if (busy_) {
        return;
    }
    fds.push_back({listener_.fd(), POLLIN, 0});
    fds.push_back({qtest_.listenFd(), POLLIN, 0});
    if (visitor_ >= 0) {
        fds.push_back({visitor_, POLLIN, 0});
    } else if (next_ >= 0) {
        // It was accepted before the one before it had left: the listener does not tell of it any more.
        fds.push_back({next_, POLLIN, 0});
    }
    if (qtest_.connected()) {
        fds.push_back({qtest_.fd(), POLLIN, 0});
    }
}

void Server::admit() {
    visitor_ = next_ >= 0 ? std::exchange(next_, -1) : listener_.accept();
    if (visitor_ >= 0) {
        // a visitor that stops in the middle of a message must not stop the board for good
        const timeval limit{2, 0};
        setsockopt(visitor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(visitor_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        ucred peer{};
        socklen_t size = sizeof peer;
        visitorPid_ = getsockopt(visitor_, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? int(peer.pid) : 0;
        visits_++;
    }
}

void Server::leave(const char *why) {
    if (why != nullptr && complaints_ < MAX_COMPLAINTS) {
        complaints_++;
        std::fprintf(stderr, "assasin-board: the visitor %s; connection closed%s\n", why,
                     complaints_ < MAX_COMPLAINTS ? "" : " (further ones are not reported)");
    }
    closeIf(visitor_);
    closeIf(irqfd_);
    closeIf(resamplefd_);
    visitorPid_ = 0;
    function_.powerOn();
    host_.clear();
    busy_ = true;
    target_.functionReset([this] { busy_ = false; });
}

bool Server::receive(void *data, size_t size) {
    auto *at = static_cast<char *>(data);
    while (size > 0) {
        const ssize_t n = recv(visitor_, at, size, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        at += n;
        size -= size_t(n);
    }
    return true;
}

void Server::reply(uint64_t value) {
    if (visitor_ < 0) {
        return;
    }
    struct {
        pci_proxy_header header;
        uint64_t value;
    } message{{PCI_PROXY_RET, 0, sizeof value}, value};
    const ssize_t n = send(visitor_, &message, sizeof message, MSG_NOSIGNAL);
    if (n != ssize_t(sizeof message)) {
        shutdown(visitor_, SHUT_RDWR); // the next poll finds it gone
    }
}

bool Server::serveOne() {
    pci_proxy_header header;
    iovec part{&header, sizeof header};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * MAX_FDS)];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = recvmsg(visitor_, &message, MSG_CMSG_CLOEXEC);
    if (n <= 0) {
        return false;
    }
    int fds[MAX_FDS];
    size_t fdCount = 0;
    for (cmsghdr *c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < count; i++) {
                int fd;
                std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                if (fdCount < MAX_FDS) {
                    fds[fdCount++] = fd;
                } else {
                    close(fd);
                }
            }
        }
    }
    const auto refuse = [&] {
        for (size_t i = 0; i < fdCount; i++) {
            close(fds[i]);
        }
        return false;
    };
    if (!receive(reinterpret_cast<char *>(&header) + n, sizeof header - size_t(n))) {
        return refuse();
    }
    union {
        pci_proxy_sysmem sysmem;
        pci_proxy_cfg cfg;
        pci_proxy_bar bar;
    } payload;
    size_t expected = 0;
    size_t minFds = 0;
    size_t maxFds = 0;
    switch (header.cmd) {
    case PCI_PROXY_SYNC_SYSMEM:
        expected = sizeof payload.sysmem;
        maxFds = PCI_PROXY_MAX_REGIONS;
        break;
    case PCI_PROXY_CFG_READ:
    case PCI_PROXY_CFG_WRITE:
        expected = sizeof payload.cfg;
        break;
    case PCI_PROXY_BAR_READ:
    case PCI_PROXY_BAR_WRITE:
        expected = sizeof payload.bar;
        break;
    case PCI_PROXY_SET_IRQFD:
        minFds = maxFds = 2;
        break;
    case PCI_PROXY_DEVICE_RESET:
        break;
    default:
        return refuse();
    }
    if (header.size != expected || fdCount < minFds || fdCount > maxFds || !receive(&payload, expected)) {
        return refuse();
    }
    switch (header.cmd) {
    case PCI_PROXY_SYNC_SYSMEM:
        try {
            host_.map(payload.sysmem, fds, fdCount);
        } catch (const std::runtime_error &e) {
            if (complaints_ < MAX_COMPLAINTS) {
                std::fprintf(stderr, "assasin-board: %s\n", e.what());
            }
            return false;
        }
        break;
    case PCI_PROXY_SET_IRQFD:
        closeIf(irqfd_);
        closeIf(resamplefd_);
        irqfd_ = fds[0];
        resamplefd_ = fds[1];
        break;
    case PCI_PROXY_CFG_READ:
    case PCI_PROXY_CFG_WRITE: {
        const pci_proxy_cfg &cfg = payload.cfg;
        if (cfg.len != 1 && cfg.len != 2 && cfg.len != 4) {
            return false;
        }
        if (header.cmd == PCI_PROXY_CFG_READ) {
            reply(function_.configRead(cfg.addr, unsigned(cfg.len)));
        } else {
            function_.configWrite(cfg.addr, cfg.val, unsigned(cfg.len));
            if (function_.takeResetRequest()) {
                resetFunction();
            } else {
                reply(0);
            }
        }
        break;
    }
    case PCI_PROXY_BAR_READ:
    case PCI_PROXY_BAR_WRITE:
        access(payload.bar, header.cmd == PCI_PROXY_BAR_WRITE);
        break;
    case PCI_PROXY_DEVICE_RESET:
        resetFunction();
        break;
    default:
        break;
    }
    return true;
}

void Server::resetFunction() {
    function_.reset();
    busy_ = true;
    target_.functionReset([this] {
        busy_ = false;
        reply(0);
    });
}

void Server::access(const pci_proxy_bar &bar, bool write) {
    uint32_t offset = 0;
    const int index = bar.memory != 0 ? function_.decode(bar.addr, offset) : -1;
    const bool legal = (bar.size == 1 || bar.size == 2 || bar.size == 4 || bar.size == 8) && bar.addr % bar.size == 0;
    if (index < 0 || !legal) {
        reply(write ? 0 : UINT64_MAX);
        return;
    }
    busy_ = true;
    if (write) {
        target_.barWrite(index, offset, bar.val, bar.size, [this] {
            busy_ = false;
            settle();
            reply(0);
        });
    } else {
        target_.barRead(index, offset, bar.size, [this](uint64_t value) {
            busy_ = false;
            settle();
            reply(value);
        });
    }
}

void Server::settle() {
    if (intxFell_) {
        intxFell_ = false;
        qtest_.settle(SETTLE_MS);
    }
}

} // namespace assasin
