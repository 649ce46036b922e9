// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace test {

/// A memory file mapped into the test: the visitor's side of shared memory.
class MemFd {
  public:
    explicit MemFd(size_t size) : size_(size), fd_(memfd_create("visitor", MFD_CLOEXEC)) {
        if (fd_ < 0 || ftruncate(fd_, off_t(size)) != 0) {
            throw std::runtime_error("memfd_create failed");
        }
        void *const p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (p == MAP_FAILED) {
            throw std::runtime_error("mmap failed");
        }
        bytes_ = static_cast<uint8_t *>(p);
    }
    ~MemFd() {
        munmap(bytes_, size_);
        close(fd_);
    }
    MemFd(const MemFd &) = delete;
    MemFd &operator=(const MemFd &) = delete;

    int fd() const {
        return fd_;
    }
    /// A duplicate for an owner that closes it.
    int dupFd() const {
        return dup(fd_);
    }
    uint8_t *bytes() {
        return bytes_;
    }
    size_t size() const {
        return size_;
    }

  private:
    size_t size_;
    int fd_;
    uint8_t *bytes_ = nullptr;
};

} // namespace test
