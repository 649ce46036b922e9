// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nand/NandCells.h"
#include "nand/NandChannel.h"
#include "nand/NandFaults.h"
#include "nand/NandImage.h"
#include "nand/NandTiming.h"
#include "nand/PartFile.h"
#include "sim/Profile.h"

namespace assasin {

/// The NAND packages behind all flash channels of a board, and their image file.
class NandArray {
  public:
    /// Opens or makes `directory`/nand.img.
    ///
    /// @param phyBytes bytes of a data beat
    /// @param format   start with an empty image, whatever is there
    /// @param media    keys of the part's reliability that are other on this board, KEY=VALUE,KEY=VALUE
    /// @param age      hours that the medium has lain since it was used last
    /// Throws std::runtime_error when the image is held by another process, or fits another geometry.
    NandArray(const Profile &profile, const std::string &directory, unsigned channels, unsigned ways, unsigned phyBytes,
              bool format, const std::string &media = "", double age = 0);

    /// The profile's part with the keys of `media`. Throws std::runtime_error when they do not fit.
    static PartFile part(const Profile &profile, const std::string &media, unsigned channels, unsigned ways);

    /// One clock cycle of every channel; `ports` has one entry a channel. Throws NandViolation.
    void cycle(uint64_t now, PhyPort *ports) {
        for (NandChannel &channel : channels_) {
            channel.cycle(now, *ports++);
        }
    }

    /// Cycle of the next change of any package's outputs, UINT64_MAX when nothing runs.
    uint64_t nextEvent() const {
        uint64_t next = kNoEvent;
        for (const NandChannel &channel : channels_) {
            const uint64_t event = channel.nextEvent();
            next = event < next ? event : next;
        }
        return next;
    }

    /// Array operations completed since power-on.
    NandCounts counts() const {
        NandCounts sum;
        for (const NandChannel &channel : channels_) {
            channel.addCounts(sum);
        }
        return sum;
    }

    /// What went wrong in the packages since power-on.
    const NandDamage &damage() const {
        return cells_->damage();
    }

    const NandGeometry &geometry() const {
        return part_.geometry;
    }

    const std::string &partName() const {
        return part_.name;
    }

  private:
    PartFile part_;
    NandTiming timing_;
    NandFaults faults_;
    std::unique_ptr<NandImage> image_;
    std::unique_ptr<NandCells> cells_;
    std::vector<NandChannel> channels_;
};

} // namespace assasin
