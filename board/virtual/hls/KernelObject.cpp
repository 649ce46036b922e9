// SPDX-License-Identifier: BSD-3-Clause
#include "hls/KernelObject.h"

#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include <dlfcn.h>

namespace assasin {

namespace {

/// CRC-32 of ISO 3309 as zlib computes it.
uint32_t crc32(const std::string &text) {
    uint32_t crc = UINT32_MAX;
    for (const char c : text) {
        crc ^= uint8_t(c);
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
        }
    }
    return ~crc;
}

std::string hex(uint32_t value) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", unsigned(value));
    return text;
}

} // namespace

KernelObject::KernelObject(const std::string &path) {
    // A bare name would be looked for in the system's library folders.
    object_ = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (object_ == nullptr) {
        throw std::runtime_error("kernel '" + path + "' cannot be loaded: " + dlerror());
    }
    kernel_ = static_cast<const assasin_kernel *>(dlsym(object_, "assasin_kernel"));
    try {
        check(path);
    } catch (...) {
        dlclose(object_);
        throw;
    }
}

KernelObject::~KernelObject() {
    dlclose(object_);
}

std::string KernelObject::title() const {
    return std::string(kernel_->name) + "/" + kernel_->version;
}

void KernelObject::check(const std::string &path) const {
    const auto refuse = [&path](const std::string &why) { throw std::runtime_error("kernel '" + path + "': " + why); };
    if (kernel_ == nullptr) {
        refuse("exports no 'assasin_kernel'; build it with 'assasin hls build'");
    }
    if (kernel_->abi != ASSASIN_KERNEL_ABI) {
        refuse("is built for ABI " + std::to_string(kernel_->abi) + ", this board speaks " +
               std::to_string(ASSASIN_KERNEL_ABI) + ": build it again");
    }
    if (kernel_->name == nullptr || kernel_->version == nullptr || kernel_->run == nullptr) {
        refuse("has no name, no version or no run function");
    }
    const uint32_t id = crc32(title());
    if (kernel_->id != id || id == 0) {
        refuse("id " + hex(kernel_->id) + " is not " + hex(id) + ", the CRC-32 of '" + title() + "'");
    }
    if (kernel_->inputs < 1 || kernel_->inputs > ASSASIN_KERNEL_INPUTS) {
        refuse(std::to_string(kernel_->inputs) + " inputs; a slot has 1 to " + std::to_string(ASSASIN_KERNEL_INPUTS));
    }
    if (kernel_->scalars > ASSASIN_KERNEL_SCALARS) {
        refuse(std::to_string(kernel_->scalars) + " scalars; a kernel has at most " +
               std::to_string(ASSASIN_KERNEL_SCALARS));
    }
    if (kernel_->ii_den == 0 || kernel_->ii_num < kernel_->ii_den || kernel_->ii_num > 1000000) {
        refuse("initiation interval " + std::to_string(kernel_->ii_num) + "/" + std::to_string(kernel_->ii_den) +
               " cycles; it is 1 to 1000000");
    }
    if (kernel_->latency > 10000000) {
        refuse("latency " + std::to_string(kernel_->latency) + " cycles; it is at most 10000000");
    }
}

} // namespace assasin
