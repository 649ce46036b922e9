// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace assasin {

/// What a chip of this name has (hw/src/main/scala/assasin/soc/Configs.scala).
struct Configuration {
    std::string name; ///< <architecture><cores>x<channels>
    unsigned cores = 0, channels = 0, ways = 0;
    bool extended = false;     ///< cores have Zba, Zbb, Zkne and Zknd
    bool channelLocal = false; ///< core i takes stream pages from channel i alone

    /// Throws std::runtime_error when there is none of this name, or the native board has it not.
    static Configuration parse(const std::string &name);

    /// Value of SYS.ARCH.
    unsigned arch() const;
};

} // namespace assasin
