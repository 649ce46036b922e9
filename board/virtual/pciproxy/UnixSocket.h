// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace assasin {

/// A listening unix stream socket, non-blocking; its file is removed when it goes.
class UnixListener {
  public:
    /// Binds `path` (an old socket file nobody listens on is replaced). Throws std::runtime_error when the path is too
    /// long, cannot be bound, or when another process listens there.
    explicit UnixListener(const std::string &path);
    ~UnixListener();
    UnixListener(const UnixListener &) = delete;
    UnixListener &operator=(const UnixListener &) = delete;

    int fd() const {
        return fd_;
    }

    /// The next waiting connection (blocking mode, close-on-exec), or -1.
    int accept() const;

  private:
    std::string path_;
    int fd_ = -1;
};

} // namespace assasin
