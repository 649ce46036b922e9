// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "BchCode.h"

#include <array>
#include <cstdint>
#include <optional>

namespace assasin {

/** What a READ of a sector ends with; docs/medium.md "Reading" has the order. */
enum class SectorStatus { Ok, Erased, Uncorrectable, Mismatch, Foreign, Misdirected };

/** A sector as it was read. Data and metadata are those of the sector only when the status says that it is whole. */
struct Sector {
    SectorStatus status = SectorStatus::Ok;
    std::array<uint8_t, 4096> data;
    uint32_t oob0 = 0, oob1 = 0, layout = 0;
    std::array<int, 4>
        errors{}; /**< bits corrected in each codeword, -1 where they are too many; 0 of an erased sector */

    /** Most bits corrected in one codeword. */
    unsigned mostErrors() const {
        int most = 0;
        for (int e : errors)
            most = e > most ? e : most;
        return static_cast<unsigned>(most);
    }
    /** Bits corrected in the sector. */
    unsigned bits() const {
        int sum = 0;
        for (int e : errors)
            sum += e > 0 ? e : 0;
        return static_cast<unsigned>(sum);
    }
    /** Mask of the codewords that cannot be corrected. */
    unsigned failed() const {
        unsigned mask = 0;
        for (unsigned c = 0; c < errors.size(); c++)
            mask |= static_cast<unsigned>(errors[c] < 0) << c;
        return mask;
    }
};

/** The flash channel's page codec in software: sectors in the format of docs/medium.md. */
class SectorCodec {
  public:
    static constexpr unsigned kCodewords = 4, kDataBytes = 1024, kMessageBytes = kDataBytes + 4;
    static constexpr uint32_t kErasedLimit = 256; /**< reset value of FLASH.ERASED_LIMIT */

    /**
     * \param t bits a codeword that the code corrects; 0: no code
     * \param beatBytes parity is filled up to whole beats of so many bytes
     */
    explicit SectorCodec(unsigned t, unsigned beatBytes = 1);

    unsigned t() const {
        return bch_ ? bch_->t() : 0;
    }
    /** Of a codeword, on the bus. */
    unsigned parityBytes() const {
        return parityBytes_;
    }
    unsigned sectorBytes() const {
        return kCodewords * (kMessageBytes + parityBytes_);
    }

    /** What the scrambler and the last metadata word depend on besides the sector. */
    struct Setting {
        uint32_t seed = 0, layout = 0;
    };

    /**
     * Writes sectorBytes() at `raw`.
     * \param address of the sector: row << SECTOR_LOG2 | sector of the page
     */
    void encode(uint32_t address, const Setting &setting, const uint8_t *data, uint32_t oob0, uint32_t oob1,
                uint8_t *raw) const;

    /**
     * Reads sectorBytes() from `raw`.
     * \param expected what OOB word 0 has to be but for bit 30 (a READ with CHECK)
     */
    Sector decode(uint32_t address, const Setting &setting, const uint8_t *raw,
                  std::optional<uint32_t> expected = std::nullopt, uint32_t erasedLimit = kErasedLimit) const;

  private:
    std::optional<BchCode> bch_;
    unsigned parityBytes_;
};

} // namespace assasin
