// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace assasin {

/** The host broke a rule of the NAND part. Ends the run: the board prints what() and exits non-zero. */
class NandViolation : public std::runtime_error {
  public:
    /**
     * \param where    channel, way and (where known) LUN, as text
     * \param cycle    clock cycle of the offending beat
     * \param rule     name of the rule or timing parameter, e.g. "tWHR" or "page order"
     * \param detail   what happened, with measured and required values
     */
    NandViolation(const std::string &where, uint64_t cycle, const std::string &rule, const std::string &detail)
        : std::runtime_error("NAND violation: " + where + ", cycle " + std::to_string(cycle) + ": " + rule + ": " +
                             detail),
          rule(rule), cycle(cycle) {
    }

    const std::string rule;
    const uint64_t cycle;
};

} // namespace assasin
