// SPDX-License-Identifier: BSD-3-Clause
#include "pciproxy/UnixSocket.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace assasin {

UnixListener::UnixListener(const std::string &path) : path_(path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        throw std::runtime_error("socket path '" + path + "' has " + std::to_string(path.size()) +
                                 " characters; 1 to " + std::to_string(sizeof address.sun_path - 1) +
                                 " are possible: choose a shorter one");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const auto *const generic = reinterpret_cast<const sockaddr *>(&address);
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe >= 0) {
        const bool alive = connect(probe, generic, sizeof address) == 0 || errno == EAGAIN;
        close(probe);
        if (alive) {
            throw std::runtime_error("socket '" + path +
                                     "': another board listens there; stop it or choose another path");
        }
    }
    unlink(path.c_str());
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0 || bind(fd_, generic, sizeof address) != 0 || listen(fd_, 8) != 0) {
        const std::string why = std::strerror(errno);
        if (fd_ >= 0) {
            close(fd_);
        }
        throw std::runtime_error("cannot listen on socket '" + path + "': " + why);
    }
}

UnixListener::~UnixListener() {
    close(fd_);
    unlink(path_.c_str());
}

int UnixListener::accept() const {
    return accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
}

} // namespace assasin
