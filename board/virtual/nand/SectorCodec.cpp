// SPDX-License-Identifier: BSD-3-Clause
#include "SectorCodec.h"

#include <cstring>
#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace assasin {

namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words of a sector have their lowest byte first");

/** xorshift64 over the sector's address. */
class Scrambler {
  public:
    Scrambler(uint32_t address, uint32_t seed) {
        state_ = static_cast<uint64_t>(seed ^ 0x9E3779B9u) << 32 | (address ^ 0x7F4A7C15u);
        if (!state_)
            state_ = 1;
        for (int i = 0; i < 4; i++)
            step();
    }
    /** Scrambles, or restores, the 1,024 data bytes of the next codeword. */
    void data(const uint8_t *from, uint8_t *to) {
        for (unsigned i = 0; i < SectorCodec::kDataBytes; i += 8) {
            uint64_t v;
            std::memcpy(&v, from + i, 8);
            v ^= state_;
            std::memcpy(to + i, &v, 8);
            step();
        }
    }
    /** Its metadata word. */
    uint32_t word(uint32_t v) {
        v ^= static_cast<uint32_t>(state_);
        step();
        return v;
    }

  private:
    void step() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
    }
    uint64_t state_;
};

/** CRC-32C, eight bytes at a time: by the processor's instruction where it has one. */
class Crc {
  public:
    static uint32_t ofSector(const uint8_t *data, uint32_t oob0, uint32_t oob1, uint32_t layout) {
        static const Crc crc;
        uint32_t v = ~0u;
        for (unsigned i = 0; i < 4096; i += 8) {
            uint64_t word;
            std::memcpy(&word, data + i, 8);
            v = crc.next(v, word);
        }
        v = crc.next(v, static_cast<uint64_t>(oob1) << 32 | oob0);
        for (int i = 0; i < 4; i++)
            v = crc.table_[0][(v ^ layout >> (8 * i)) & 255] ^ v >> 8;
        return ~v;
    }

  private:
    Crc() {
        for (unsigned i = 0; i < 256; i++) {
            uint32_t v = i;
            for (int bit = 0; bit < 8; bit++)
                v = v >> 1 ^ (v & 1 ? 0x82F63B78u : 0);
            table_[0][i] = v;
        }
        for (unsigned k = 1; k < 8; k++)
            for (unsigned i = 0; i < 256; i++)
                table_[k][i] = table_[0][table_[k - 1][i] & 255] ^ table_[k - 1][i] >> 8;
    }
    uint32_t next(uint32_t v, uint64_t word) const {
#ifdef __SSE4_2__
        return static_cast<uint32_t>(_mm_crc32_u64(v, word));
#endif
        word ^= v;
        v = 0;
        for (unsigned k = 0; k < 8; k++)
            v ^= table_[7 - k][word >> (8 * k) & 255];
        return v;
    }
    uint32_t table_[8][256];
};

/** Whether at most `limit` bits are zero. */
bool erased(const uint8_t *raw, unsigned bytes, uint32_t limit) {
    uint32_t zeros = 0;
    for (unsigned i = 0; i < bytes && zeros <= limit; i += 4) {
        uint32_t v;
        std::memcpy(&v, raw + i, 4); // a sector is four codewords of the same length
        zeros += static_cast<uint32_t>(__builtin_popcount(~v));
    }
    return zeros <= limit;
}

} // namespace

SectorCodec::SectorCodec(unsigned t, unsigned beatBytes) {
    if (t)
        bch_.emplace(t);
    unsigned bytes = bch_ ? bch_->parityBytes() : 0;
    parityBytes_ = (bytes + beatBytes - 1) / beatBytes * beatBytes;
}

void SectorCodec::encode(uint32_t address, const Setting &setting, const uint8_t *data, uint32_t oob0, uint32_t oob1,
                         uint8_t *raw) const {
    const uint32_t meta[kCodewords] = {oob0, oob1, Crc::ofSector(data, oob0, oob1, setting.layout), setting.layout};
    Scrambler scrambler(address, setting.seed);
    std::array<uint8_t *, kCodewords> codeword;
    for (unsigned c = 0; c < kCodewords; c++) {
        scrambler.data(data + kDataBytes * c, raw);
        uint32_t word = scrambler.word(meta[c]);
        std::memcpy(raw + kDataBytes, &word, 4);
        std::memset(raw + kMessageBytes, 0xFF, parityBytes_);
        codeword[c] = raw;
        raw += kMessageBytes + parityBytes_;
    }
    if (bch_)
        bch_->encodeFour(codeword, kMessageBytes);
}

Sector SectorCodec::decode(uint32_t address, const Setting &setting, const uint8_t *raw,
                           std::optional<uint32_t> expected, uint32_t erasedLimit) const {
    Sector sector;
    if (erased(raw, sectorBytes(), erasedLimit)) {
        sector.status = SectorStatus::Erased;
        sector.data.fill(0xFF);
        sector.oob0 = sector.oob1 = sector.layout = ~0u;
        return sector;
    }
    uint32_t meta[kCodewords];
    Scrambler scrambler(address, setting.seed);
    std::array<uint8_t, kMessageBytes + 256> codeword;
    for (unsigned c = 0; c < kCodewords; c++) {
        std::memcpy(codeword.data(), raw, kMessageBytes + parityBytes_);
        if (bch_)
            sector.errors[c] = bch_->decode(codeword.data(), kMessageBytes, codeword.data() + kMessageBytes);
        scrambler.data(codeword.data(), sector.data.data() + kDataBytes * c);
        uint32_t word;
        std::memcpy(&word, codeword.data() + kDataBytes, 4);
        meta[c] = scrambler.word(word);
        raw += kMessageBytes + parityBytes_;
    }
    sector.oob0 = meta[0];
    sector.oob1 = meta[1];
    sector.layout = meta[3];
    if (sector.failed())
        sector.status = SectorStatus::Uncorrectable;
    else if (meta[2] != Crc::ofSector(sector.data.data(), meta[0], meta[1], meta[3]))
        sector.status = SectorStatus::Mismatch;
    else if ((meta[3] ^ setting.layout) & 0xFF)
        sector.status = SectorStatus::Foreign;
    else if (expected && (*expected ^ meta[0]) & ~(1u << 30))
        sector.status = SectorStatus::Misdirected;
    return sector;
}

} // namespace assasin
