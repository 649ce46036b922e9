// SPDX-License-Identifier: BSD-3-Clause
#include "Configuration.h"

#include <regex>
#include <stdexcept>

#include "assasin_contract.h"

namespace assasin {

namespace {

constexpr unsigned MOST = 16; ///< cores, and channels

} // namespace

Configuration Configuration::parse(const std::string &name) {
    std::smatch part;
    if (!std::regex_match(name, part, std::regex("([A-Za-z]+)([0-9]{1,3})x([0-9]{1,3})"))) {
        throw std::runtime_error("configuration '" + name +
                                 "': give <architecture><cores>x<channels>, such as AssasinSb8x8");
    }
    const std::string architecture = part[1];
    if (architecture != "AssasinSb" && architecture != "AssasinSbX" && architecture != "ChannelLocal") {
        throw std::runtime_error("configuration '" + name + "': the native board has the architectures AssasinSb, " +
                                 "AssasinSbX and ChannelLocal; take the virtual board for '" + architecture + "'");
    }
    Configuration c;
    c.name = name;
    c.cores = unsigned(std::stoul(part[2]));
    c.channels = unsigned(std::stoul(part[3]));
    c.extended = architecture == "AssasinSbX";
    c.channelLocal = architecture == "ChannelLocal";
    if (c.cores < 1 || c.cores > MOST || c.channels < 1 || c.channels > MOST) {
        throw std::runtime_error("configuration '" + name + "': choose 1 to 16 cores and 1 to 16 channels");
    }
    if (c.channelLocal && c.cores != c.channels) {
        throw std::runtime_error("configuration '" + name + "': a channel-local chip has as many cores as channels");
    }
    c.ways = c.channels == 1 ? 2 : c.channels <= 4 ? 4 : 16;
    return c;
}

unsigned Configuration::arch() const {
    return extended ? CORE_ARCH_SB_X : CORE_ARCH_SB;
}

} // namespace assasin
