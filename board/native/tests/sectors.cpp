// SPDX-License-Identifier: BSD-3-Clause
// Prints what a NAND image holds, a line a programmed sector: channel, way, LUN, block, page, sector, status, metadata
// words, and a hash of the data. So that images of two boards can be compared, and the logical map be read from either.
//
// usage: sectors IMAGE PROFILE CHANNELS WAYS CODE-BITS LAYOUT SEED

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "nand/NandImage.h"
#include "nand/SectorCodec.h"
#include "sim/Profile.h"

int main(int argc, char **argv) {
    using namespace assasin;
    if (argc != 8) {
        std::fprintf(stderr, "usage: sectors IMAGE PROFILE CHANNELS WAYS CODE-BITS LAYOUT SEED\n");
        return 2;
    }
    const auto number = [&](int i) { return unsigned(std::strtoul(argv[i], nullptr, 0)); };
    try {
        const PartFile part = PartFile::load(loadProfile(argv[2]).partFile);
        const NandGeometry &g = part.geometry;
        const unsigned channels = number(3), ways = number(4);
        const NandImage image(argv[1], part, channels, ways);
        const SectorCodec codec(number(5));
        const SectorCodec::Setting setting{number(7), number(6)};
        const unsigned sectors = g.pageBytes / 4096;
        std::vector<uint8_t> raw(g.rawPageBytes());
        for (unsigned die = 0; die < channels * ways * g.luns; die++) {
            for (unsigned block = 0; block < g.blocksPerLun(); block++) {
                const NandImage::BlockId id{die / g.luns / ways, die / g.luns % ways, die % g.luns, block};
                for (unsigned page = 0; page < image.nextPage(id); page++) {
                    image.read(id, page, raw.data());
                    const uint32_t row = id.lun << g.lunShift() | block << g.pageBits() | page;
                    for (unsigned s = 0; s < sectors; s++) {
                        const Sector sector =
                            codec.decode(row * sectors + s, setting, raw.data() + s * codec.sectorBytes());
                        uint64_t hash = 14695981039346656037u; // FNV-1a
                        for (const uint8_t byte : sector.data) {
                            hash = (hash ^ byte) * 1099511628211u;
                        }
                        std::printf("%u %u %u %u %u %u %u %08x %08x %016llx\n", id.channel, id.way, id.lun, block, page,
                                    s, unsigned(sector.status), sector.oob0, sector.oob1,
                                    static_cast<unsigned long long>(hash));
                    }
                }
            }
        }
    } catch (const std::exception &e) {
        std::fprintf(stderr, "sectors: %s\n", e.what());
        return 1;
    }
    return 0;
}
