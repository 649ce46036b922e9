// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace assasin {

/// The firmware as a shared object. Its accesses go to model::current.
class Firmware {
  public:
    /// Throws std::runtime_error when `path` is no firmware for the native board.
    explicit Firmware(const std::string &path);
    ~Firmware();
    Firmware(const Firmware &) = delete;
    Firmware &operator=(const Firmware &) = delete;

    /// Power-on.
    void boot() {
        boot_();
    }
    /// Handles what is pending, or sleeps until something is.
    void step() {
        step_();
    }

  private:
    void *handle_;
    void (*boot_)();
    void (*step_)();
};

} // namespace assasin
