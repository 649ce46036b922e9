// SPDX-License-Identifier: BSD-3-Clause
#include "Firmware.h"

#include <stdexcept>

#include <dlfcn.h>

namespace assasin {

Firmware::Firmware(const std::string &path) {
    // With a slash it is a file, not a name to look for.
    const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
        const char *why = dlerror();
        throw std::runtime_error("firmware '" + path + "': " + (why != nullptr ? why : "cannot be loaded") +
                                 "; give the shared object that make -C board/native builds");
    }
    boot_ = reinterpret_cast<void (*)()>(dlsym(handle_, "firmware_boot"));
    step_ = reinterpret_cast<void (*)()>(dlsym(handle_, "firmware_step"));
    if (boot_ == nullptr || step_ == nullptr) {
        dlclose(handle_);
        throw std::runtime_error("firmware '" + path +
                                 "' has no firmware_boot and firmware_step: give the shared object that make -C "
                                 "board/native builds");
    }
}

Firmware::~Firmware() {
    dlclose(handle_);
}

} // namespace assasin
