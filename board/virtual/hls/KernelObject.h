// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "assasin_kernel.h"

namespace assasin {

/// A kernel's C model in a shared object (hls-kernels/include/assasin_kernel.h), loaded for as long as this lives.
class KernelObject {
  public:
    /// Loads `path` and checks what it says about itself. Throws std::runtime_error when it is no kernel, or one of
    /// another ABI, or what it says is out of range.
    explicit KernelObject(const std::string &path);
    ~KernelObject();
    KernelObject(const KernelObject &) = delete;
    KernelObject &operator=(const KernelObject &) = delete;

    const assasin_kernel &kernel() const {
        return *kernel_;
    }

    /// "name/version".
    std::string title() const;

  private:
    void check(const std::string &path) const;

    void *object_ = nullptr;
    const assasin_kernel *kernel_ = nullptr;
};

} // namespace assasin
