// SPDX-License-Identifier: BSD-3-Clause
#include "NandChannel.h"
#include "UnitPart.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

using namespace assasin;

namespace {

PartFile smallPart() {
    PartFile part = unitPart("UNIT-2L2P", {2, 2, 4, 8, 512, 16});
    part.timingMode = 8;
    part.cacheCommands = true;
    return part;
}

std::vector<uint8_t> pageData(const PartFile &part, uint64_t key) {
    std::mt19937_64 generator(key);
    std::vector<uint8_t> data(part.geometry.rawPageBytes());
    for (uint8_t &byte : data)
        byte = static_cast<uint8_t>(generator());
    return data;
}

/** A host that drives the pins beat by beat, with the timing of `t`; tests change `t` or leave steps out. */
struct Host {
    explicit Host(const PartFile &part, unsigned ways = 2, NandFaults *failures = nullptr)
        : part(part), timing(part, 1.0), image("", part, 1, ways), cells(image, part, failures ? *failures : faults),
          nand({this->part, timing, cells}, 0, ways, 3), t(timing.sdr(0)) {
    }

    void tick() {
        nand.cycle(++now, pins);
    }
    void idle(uint64_t cycles) {
        pins.we = pins.re = pins.dqOutValid = false;
        while (cycles--)
            tick();
    }
    void select(unsigned way) {
        pins.ceN = ~(1u << way);
        tick();
        idle(t.tCS - 1);
    }
    void deselect() {
        pins.ceN = ~0u;
        tick();
    }
    void latch(bool isCommand, uint8_t byte) {
        pins.we = true;
        pins.cle = isCommand;
        pins.ale = !isCommand;
        pins.dqOut = byte;
        tick();
        idle(t.tWC - 1);
    }
    void command(uint8_t byte) {
        latch(true, byte);
    }
    void addresses(std::initializer_list<unsigned> bytes) {
        for (unsigned byte : bytes)
            latch(false, static_cast<uint8_t>(byte));
    }
    void rowAddress(uint32_t row) {
        addresses({row & 0xFF, row >> 8 & 0xFF, row >> 16});
    }
    void fullAddress(unsigned column, uint32_t row) {
        addresses({column & 0xFF, column >> 8});
        rowAddress(row);
    }
    void in(const std::vector<uint8_t> &data) {
        idle(t.tADL);
        for (uint8_t byte : data) {
            pins.dqOutValid = true;
            pins.dqOut = byte;
            tick();
            idle(t.beat - 1);
        }
        idle(t.tPST);
    }
    std::vector<uint8_t> out(unsigned bytes) {
        std::vector<uint8_t> data;
        idle(t.tWHR + t.tCCS + t.tRPRE);
        auto take = [&] {
            if (pins.dqInValid)
                data.push_back(static_cast<uint8_t>(pins.dqIn));
        };
        for (unsigned i = 0; i < bytes; i++) {
            pins.re = true;
            tick();
            take();
            pins.re = false;
            for (unsigned c = 1; c < t.beat; c++) {
                tick();
                take();
            }
        }
        while (data.size() < bytes) {
            tick();
            take();
        }
        idle(t.tPST + t.beat);
        return data;
    }
    void waitReady(unsigned way) {
        idle(t.tWB);
        for (unsigned guard = 0; !(pins.rbN >> way & 1); guard++) {
            ASSERT_LT(guard, 1000000u);
            tick();
        }
        idle(t.tRR);
    }
    void feature(unsigned way, unsigned address, uint8_t value) {
        command(0xEF);
        addresses({address});
        in({value, 0, 0, 0});
        waitReady(way);
    }
    /** \param configuration P1 of feature 02h: complementary DQS and RE */
    void boot(unsigned way, uint8_t configuration = 0x06) {
        t = timing.sdr(0);
        select(way);
        command(0xFF);
        waitReady(way);
        if (configuration)
            feature(way, 0x02, configuration);
        feature(way, 0x01, 0x28);
        deselect();
        t = timing.nvddr2();
    }
    uint32_t row(unsigned lun, unsigned block, unsigned page) const {
        return lun << part.geometry.lunShift() | block << part.geometry.pageBits() | page;
    }
    uint8_t status() {
        command(0x70);
        return out(1)[0];
    }
    uint8_t program(unsigned way, uint32_t r, const std::vector<uint8_t> &data) {
        select(way);
        command(0x80);
        fullAddress(0, r);
        in(data);
        command(0x10);
        waitReady(way);
        uint8_t s = status();
        deselect();
        return s;
    }
    uint8_t erase(unsigned way, uint32_t r) {
        select(way);
        command(0x60);
        rowAddress(r);
        command(0xD0);
        waitReady(way);
        uint8_t s = status();
        deselect();
        return s;
    }
    std::vector<uint8_t> read(unsigned way, uint32_t r, unsigned bytes) {
        select(way);
        command(0x00);
        fullAddress(0, r);
        command(0x30);
        waitReady(way);
        auto data = out(bytes);
        deselect();
        return data;
    }

    const PartFile part;
    NandTiming timing;
    NandImage image;
    NandFaults faults;
    NandCells cells;
    NandChannel nand;
    NandCycles t;
    PhyPort pins;
    uint64_t now = 0;
};

std::vector<uint8_t> pageOf(const NandImage &image, const PartFile &part, const NandImage::BlockId &id, unsigned page) {
    std::vector<uint8_t> raw(part.geometry.rawPageBytes());
    image.read(id, page, raw.data());
    return raw;
}

bool erased(const NandImage &image, const PartFile &part, const NandImage::BlockId &id, unsigned page) {
    std::vector<uint8_t> raw(part.geometry.rawPageBytes());
    return !image.read(id, page, raw.data()) && std::count(raw.begin(), raw.end(), 0xFF) == std::ptrdiff_t(raw.size());
}

/** The rule that `body` breaks, "" when none. */
template <typename Body> std::string broken(Body body) {
    try {
        body();
    } catch (const NandViolation &violation) {
        return violation.rule;
    }
    return "";
}

template <typename Body> std::string errorOf(Body body) {
    try {
        body();
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST(Part, FilesOfTheBoardLoad) {
    for (const char *name : {"paper-mlc", "tiny", "tiny-16k", "micron-l05b", "hynix-h27q1t8yeb9r"}) {
        PartFile part = PartFile::load(std::string(NAND_PARTS) + "/" + name + ".toml");
        auto page = part.parameterPage();
        EXPECT_EQ(PartFile::crc16(page.data(), 254), page[254] | page[255] << 8);
        EXPECT_EQ(std::string(page.begin(), page.begin() + 4), "ONFI");
    }
    PartFile paper = PartFile::load(std::string(NAND_PARTS) + "/paper-mlc.toml");
    auto page = paper.parameterPage();
    EXPECT_EQ(page[80] | page[81] << 8, 4096);
    EXPECT_EQ(page[84] | page[85] << 8, 224);
    EXPECT_EQ(page[92] | page[93] << 8, 512);
    EXPECT_EQ(page[96] | page[97] << 8, 4096);
    EXPECT_EQ(page[100], 2);
    EXPECT_EQ(page[113], 1);
    EXPECT_EQ(page[137], 30);
    EXPECT_EQ(page[164] | page[165] << 8, 0xA551);
    EXPECT_EQ(page[174], 30);
    EXPECT_EQ(paper.geometry.lunShift(), 21u);
}

TEST(Part, ThatSaysNoMoreThanOnfiAsks) {
    PartFile part = PartFile::load(std::string(NAND_PARTS) + "/micron-l05b.toml");
    auto page = part.parameterPage();
    EXPECT_EQ(page[80] | page[81] << 8, 16384);
    EXPECT_EQ(page[84] | page[85] << 8, 2208);
    EXPECT_EQ(page[96] | page[97] << 8, 2048 + 144);
    EXPECT_EQ(page[142], 0x1F); // modes 0 to 4
    EXPECT_EQ(page[162], 0);
    part.reliability.retryLevels = 0; // whose number is in the vendor's bytes
    page = part.parameterPage();
    for (unsigned byte = 164; byte < 254; byte++)
        EXPECT_EQ(page[byte], 0) << byte;
    EXPECT_EQ(part.geometry.lunShift(), 9u + 12u);
    part.timingMode = 8;
    page = part.parameterPage();
    EXPECT_EQ(page[142] | page[162] << 8, 0x1FF);
}

TEST(Part, BlocksNeedNotBeAPowerOfTwo) {
    PartFile part = smallPart();
    part.geometry.blocksPerPlane = 5; // ten a LUN: four bits
    Host h(part);
    h.boot(1);
    EXPECT_EQ(part.geometry.lunShift(), 3u + 4u);
    auto data = pageData(part, 5), other = pageData(part, 6);
    EXPECT_EQ(h.program(1, h.row(1, 9, 0), data), 0xE0);
    EXPECT_EQ(h.program(1, h.row(0, 9, 0), other), 0xE0);
    EXPECT_EQ(h.read(1, h.row(1, 9, 0), data.size()), data);
    EXPECT_EQ(h.read(1, h.row(0, 9, 0), data.size()), other);
    EXPECT_EQ(broken([&] { h.erase(1, h.row(0, 10, 0)); }), "address range");
    Host again(part);
    again.boot(1);
    EXPECT_EQ(broken([&] { again.read(1, again.row(1, 15, 7), 4); }), "address range");
}

TEST(Part, ReliabilityOfAPartFile) {
    for (const char *name : {"paper-mlc", "tiny", "tiny-16k"}) {
        const Reliability r = PartFile::load(std::string(NAND_PARTS) + "/" + name + ".toml").reliability;
        EXPECT_EQ(r.rber + r.wearRber + r.retentionRber + r.disturbRber + r.programFail + r.eraseFail + r.life, 0)
            << name;
        EXPECT_EQ(r.factoryBad, 0) << name;
        EXPECT_FALSE(r.tearing) << name;
    }
    const Reliability r = PartFile::load(std::string(NAND_PARTS) + "/micron-l05b.toml").reliability;
    EXPECT_EQ(r.rber, 2e-5);
    EXPECT_EQ(r.retryLevels, 8u);
    EXPECT_TRUE(r.tearing);
    EXPECT_EQ(r.pairing, NandPairing::Dist3);
    TempFile file;
    std::filesystem::copy_file(std::string(NAND_PARTS) + "/tiny.toml", file.path);
    std::ofstream(file.path, std::ios::app) << "\n[reliability]\nrbre = 1e-5\n";
    const std::string why = errorOf([&] { PartFile::load(file.path); });
    EXPECT_NE(why.find("[reliability] there is no 'rbre': choose from rber"), std::string::npos) << why;
}

TEST(Part, RetryLevelsAreInTheParameterPage) {
    PartFile part = PartFile::load(std::string(NAND_PARTS) + "/micron-l05b.toml");
    EXPECT_EQ(part.parameterPage()[164], 1);
    EXPECT_EQ(part.parameterPage()[180], 8);
    part = PartFile::load(std::string(NAND_PARTS) + "/tiny.toml");
    EXPECT_EQ(part.parameterPage()[187], 0);
    part.reliability.set("retry-levels", "5");
    EXPECT_EQ(part.parameterPage()[187], 5);
}

TEST(Part, DqsIsComplementaryOnlyWhenFeature02hSaysSo) {
    auto reads = [](const PartFile &part, uint8_t configuration, uint32_t margin) {
        Host h(part, 1);
        h.pins.margin = margin;
        h.boot(0, 0x06);
        const std::vector<uint8_t> data = pageData(part, 1);
        h.program(0, 0, data);
        h.boot(0, configuration); // RESET turns it off
        return h.read(0, 0, 64) == std::vector<uint8_t>(data.begin(), data.begin() + 64);
    };
    PartFile part = smallPart();
    EXPECT_EQ(part.parameterPage()[158], 0x18);
    EXPECT_TRUE(reads(part, 0x06, PhyPort::kDifferential));
    EXPECT_TRUE(reads(part, 0x02, PhyPort::kDifferential));
    EXPECT_FALSE(reads(part, 0x00, PhyPort::kDifferential));
    EXPECT_FALSE(reads(part, 0x04, PhyPort::kDifferential));
    EXPECT_TRUE(reads(part, 0x00, 0));
    part.differential = false;
    EXPECT_EQ(part.parameterPage()[158], 0);
    EXPECT_FALSE(reads(part, 0x06, PhyPort::kDifferential));
    EXPECT_TRUE(reads(part, 0x06, 0));
}

TEST(Part, ExternalReferenceAt200MegatransfersAndMore) {
    PartFile part = PartFile::load(std::string(NAND_PARTS) + "/micron-l05b.toml");
    part.geometry.blocksPerPlane = 4;
    EXPECT_EQ(part.parameterPage()[158], 0x38);
    auto boot = [&](uint8_t configuration, uint8_t mode) {
        Host h(part, 1);
        h.select(0);
        h.command(0xFF);
        h.waitReady(0);
        h.feature(0, 0x02, configuration);
        h.feature(0, 0x01, mode);
        h.idle(h.t.tWC);
        h.deselect();
    };
    EXPECT_EQ(errorOf([&] { boot(0x07, 0x24); }), "");
    EXPECT_EQ(errorOf([&] { boot(0x06, 0x23); }), "");
    const std::string why = errorOf([&] { boot(0x06, 0x24); });
    EXPECT_NE(why.find("the part needs the external VREFQ"), std::string::npos) << why;
}

TEST(Part, HynixNeedsItsFeaturesAfterReset) {
    PartFile part = PartFile::load(std::string(NAND_PARTS) + "/hynix-h27q1t8yeb9r.toml");
    part.geometry.blocksPerPlane = 4;
    EXPECT_EQ(part.geometry.rawPageBytes(), 18048u);
    auto boot = [&](std::initializer_list<std::pair<unsigned, uint8_t>> features) {
        Host h(part, 1);
        h.select(0);
        h.command(0xFF);
        h.waitReady(0);
        for (const auto &[address, value] : features) {
            h.command(0xEF);
            h.addresses({address});
            h.in({value, 0, 0, 0});
            h.waitReady(0);
            h.idle(h.t.tWC);
        }
        h.deselect();
    };
    EXPECT_EQ(errorOf([&] { boot({{0x02, 0x06}, {0x10, 0x08}, {0x01, 0x24}}); }), "");
    const std::string why = errorOf([&] { boot({{0x02, 0x06}, {0x01, 0x24}}); });
    EXPECT_NE(why.find("features: NV-DDR2 with feature 10h = 00h: the part needs 08h there before"), std::string::npos)
        << why;
}

TEST(Part, ShortProgramLeavesTheRestOfALargePageErased) {
    PartFile part = smallPart();
    part.geometry.pageBytes = 16384;
    part.geometry.spareBytes = 2208;
    Host h(part);
    h.boot(0);
    std::vector<uint8_t> data(4104);
    for (unsigned i = 0; i < data.size(); i++)
        data[i] = static_cast<uint8_t>(i * 7 + (i >> 8));
    // The register of the page held another, whole one before.
    h.program(0, h.row(0, 2, 0), pageData(part, 1));
    EXPECT_EQ(h.program(0, h.row(0, 4, 0), data), 0xE0);
    EXPECT_EQ(h.read(0, h.row(0, 4, 0), 4104), data);
    auto whole = h.read(0, h.row(0, 4, 0), part.geometry.rawPageBytes());
    EXPECT_TRUE(std::equal(data.begin(), data.end(), whole.begin()));
    EXPECT_EQ(std::count(whole.begin() + 4104, whole.end(), 0xFF), 16384 + 2208 - 4104);
}

TEST(Part, CrcOfTheOnfiSpecification) {
    // CRC-16, polynomial 8005h, start 4F4Eh, over "123456789", worked out by hand with the bitwise definition.
    uint16_t crc = 0x4F4E;
    for (char c : std::string("123456789"))
        for (int bit = 7; bit >= 0; bit--) {
            bool top = (crc >> 15 & 1) != (c >> bit & 1);
            crc = static_cast<uint16_t>(crc << 1);
            if (top)
                crc ^= 0x8005;
        }
    EXPECT_EQ(PartFile::crc16(reinterpret_cast<const uint8_t *>("123456789"), 9), crc);
}

TEST(Part, ErrorsNameFileItemAndRange) {
    TempFile file;
    auto write = [&](const std::string &text) {
        FILE *f = std::fopen(file.path.c_str(), "w");
        std::fputs(text.c_str(), f);
        std::fclose(f);
    };
    EXPECT_NE(errorOf([&] { PartFile::load(file.path + ".none"); }).find(".none"), std::string::npos);
    write("[part]\nname = \"x\"\nmanufacturer = \"y\"\nid = [1,2,3]\n");
    EXPECT_NE(errorOf([&] { PartFile::load(file.path); }).find("part.id: choose a list of 8 bytes"), std::string::npos);
    write("[part]\nname = \"x\"\nmanufacturer = \"y\"\nid = [1,2,3,4,5,6,7,8]\n[geometry]\nluns = 3\n");
    EXPECT_NE(errorOf([&] { PartFile::load(file.path); }).find("geometry.luns: is 3, choose a power of two"),
              std::string::npos);
    const std::string good =
        "[part]\nname = \"x\"\nmanufacturer = \"y\"\nid = [1,2,3,4,5,6,7,8]\n[geometry]\nluns = 2\nplanes = 2\n"
        "pages_per_block = 512\nspare_bytes = 2208\n";
    write(good + "blocks_per_plane = 0\n");
    EXPECT_NE(errorOf([&] { PartFile::load(file.path); }).find("geometry.blocks_per_plane: is 0, choose 1 to 65536"),
              std::string::npos);
    write(good + "blocks_per_plane = 8193\npage_bytes = 16384\n");
    EXPECT_NE(errorOf([&] { PartFile::load(file.path); }).find("needs 25 row address bits"), std::string::npos);
    write(good + "blocks_per_plane = 11\npage_bytes = 20000\n");
    EXPECT_NE(errorOf([&] { PartFile::load(file.path); }).find("geometry.page_bytes: is 20000, choose 512 to 16384"),
              std::string::npos);
    write("[part\n");
    EXPECT_NE(errorOf([&] { PartFile::load(file.path); }).find("line 1"), std::string::npos);
}

TEST(Timing, CyclesRoundUp) {
    PartFile part = smallPart();
    NandTiming slow(part, 10.0);
    EXPECT_EQ(slow.nvddr2().tWC, 3u);
    EXPECT_EQ(slow.nvddr2().tWB, 10u);
    EXPECT_EQ(slow.nvddr2().beat, 1u);
    EXPECT_EQ(slow.cycles(2001), 201u);
    EXPECT_EQ(NandTiming(part, 1.0, 2).nvddr2().beat, 2u);
    EXPECT_EQ(NandTiming(part, 0.5).nvddr2().tWC, 50u);
    EXPECT_EQ(slow.sdr(0).tWC, 10u);
    EXPECT_EQ(slow.sdr(5).tWC, 2u);
}

TEST(Image, PagesMayBeLeftOut) {
    TempFile file;
    PartFile part = smallPart();
    NandImage::BlockId block{0, 0, 0, 3};
    {
        NandImage image(file.path, part, 1, 1);
        for (unsigned page = 0; page < 3; page++)
            image.program(block, page, pageData(part, 4 + page).data());
        image.erase(block);
        image.program(block, 1, pageData(part, 1).data());
        image.program(block, 3, pageData(part, 2).data());
        EXPECT_THROW(image.program(block, 2, pageData(part, 3).data()), std::logic_error);
    }
    NandImage image(file.path, part, 1, 1);
    EXPECT_EQ(image.nextPage(block), 4u);
    EXPECT_EQ(pageOf(image, part, block, 1), pageData(part, 1));
    EXPECT_EQ(pageOf(image, part, block, 3), pageData(part, 2));
    const std::vector<uint8_t> blank(part.geometry.rawPageBytes(), 0xFF);
    EXPECT_EQ(pageOf(image, part, block, 0), blank);
    EXPECT_EQ(pageOf(image, part, block, 2), blank);
}

TEST(Image, KeepsContentsAndCounts) {
    TempFile file;
    PartFile part = smallPart();
    NandImage::BlockId block{1, 0, 1, 5}, other{0, 1, 0, 0};
    {
        NandImage image(file.path, part, 2, 2);
        EXPECT_TRUE(erased(image, part, block, 0));
        image.erase(block);
        image.program(block, 0, pageData(part, 1).data());
        image.program(block, 1, pageData(part, 2).data());
        image.program(other, 0, pageData(part, 3).data());
    }
    NandImage image(file.path, part, 2, 2);
    EXPECT_EQ(image.nextPage(block), 2u);
    EXPECT_EQ(image.eraseCount(block), 1u);
    EXPECT_EQ(pageOf(image, part, block, 0), pageData(part, 1));
    EXPECT_EQ(pageOf(image, part, block, 1), pageData(part, 2));
    EXPECT_EQ(pageOf(image, part, other, 0), pageData(part, 3));
    image.erase(block);
    EXPECT_TRUE(erased(image, part, block, 0));
    image.program(block, 0, pageData(part, 4).data());
    EXPECT_EQ(pageOf(image, part, block, 0), pageData(part, 4));
    EXPECT_EQ(pageOf(image, part, other, 0), pageData(part, 3));
}

TEST(Image, SurvivesAKilledProcess) {
    TempFile file;
    PartFile part = smallPart();
    pid_t child = fork();
    if (child == 0) {
        NandImage image(file.path, part, 1, 1);
        image.program({0, 0, 0, 2}, 0, pageData(part, 9).data());
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    NandImage image(file.path, part, 1, 1);
    EXPECT_EQ(pageOf(image, part, {0, 0, 0, 2}, 0), pageData(part, 9));
}

TEST(Image, PaperGeometryIsSparse) {
    TempFile file;
    PartFile part = PartFile::load(std::string(NAND_PARTS) + "/paper-mlc.toml");
    NandImage image(file.path, part, 8, 16);
    std::vector<uint8_t> raw(part.geometry.rawPageBytes(), 0x5A);
    image.program({7, 15, 1, 4095}, 0, raw.data());
    EXPECT_EQ(pageOf(image, part, {7, 15, 1, 4095}, 0), raw);
    EXPECT_TRUE(erased(image, part, {0, 0, 0, 0}, 0));
    auto bytes = std::filesystem::file_size(file.path);
    EXPECT_LT(bytes, 64u << 20);
}

TEST(Image, TakesNoSpaceForWhatIsLeftOutOfPages) {
    TempFile file;
    PartFile part = PartFile::load(std::string(NAND_PARTS) + "/micron-l05b.toml");
    NandImage image(file.path, part, 8, 2);
    NandImage::BlockId block{7, 1, 0, 2191};
    std::vector<uint8_t> raw(part.geometry.rawPageBytes(), 0xFF);
    std::fill(raw.begin(), raw.begin() + 4104, 0x5A);
    const unsigned pages = part.geometry.pagesPerBlock;
    for (unsigned page = 0; page < pages; page++)
        image.program(block, page, raw.data());
    EXPECT_EQ(pageOf(image, part, block, 0), raw);
    EXPECT_EQ(pageOf(image, part, block, pages - 1), raw);
    struct stat info;
    ASSERT_EQ(stat(file.path.c_str(), &info), 0);
    // A page's bytes lie on at most three pages of the file system.
    EXPECT_LT(info.st_blocks * 512, (pages + 64) * 3 * 4096);
}

TEST(Image, PagesOfABlockMayEndAnywhere) {
    TempFile file;
    PartFile part = smallPart();
    NandImage::BlockId block{0, 0, 0, 1};
    std::vector<std::vector<uint8_t>> pages;
    {
        NandImage image(file.path, part, 1, 1);
        // The block held longer pages before.
        image.program(block, 0, pageData(part, 1).data());
        image.erase(block);
        for (unsigned bytes : {100u, 10u, 300u, 0u, 528u, 50u}) {
            auto page = pageData(part, bytes);
            std::fill(page.begin() + bytes, page.end(), 0xFF);
            image.program(block, static_cast<unsigned>(pages.size()), page.data());
            pages.push_back(page);
            for (unsigned i = 0; i < pages.size(); i++)
                EXPECT_EQ(pageOf(image, part, block, i), pages[i]) << i << " of " << pages.size();
        }
    }
    // A length of 0 says that whole pages are in the file.
    FILE *f = std::fopen(file.path.c_str(), "r+");
    const uint32_t whole = 0;
    std::fseek(f, 4096 + 1 * 16 + 12, SEEK_SET);
    std::fwrite(&whole, 4, 1, f);
    std::fclose(f);
    NandImage image(file.path, part, 1, 1);
    std::vector<uint8_t> shortPage(part.geometry.rawPageBytes(), 0xFF);
    shortPage[0] = 1;
    image.program(block, 6, shortPage.data());
    pages.push_back(shortPage);
    for (unsigned i = 0; i < pages.size(); i++)
        EXPECT_EQ(pageOf(image, part, block, i), pages[i]) << i;
}

TEST(Image, RefusesOtherGeometrySecondProcessAndOtherFiles) {
    TempFile file;
    PartFile part = smallPart();
    {
        NandImage image(file.path, part, 2, 2);
        std::string why = errorOf([&] { NandImage again(file.path, part, 2, 2); });
        EXPECT_NE(why.find("another process holds it"), std::string::npos) << why;
    }
    std::string why = errorOf([&] { NandImage image(file.path, part, 2, 4); });
    EXPECT_NE(why.find("2 channels x 2 ways"), std::string::npos) << why;
    EXPECT_NE(why.find("2 channels x 4 ways"), std::string::npos) << why;
    EXPECT_NE(why.find("remove this one"), std::string::npos) << why;
    PartFile bigger = part;
    bigger.geometry.pagesPerBlock *= 2;
    why = errorOf([&] { NandImage image(file.path, bigger, 2, 2); });
    EXPECT_NE(why.find("8 pages"), std::string::npos) << why;
    EXPECT_NE(why.find("16 pages"), std::string::npos) << why;
    NandImage(file.path, part, 2, 2); // still usable
    FILE *f = std::fopen(file.path.c_str(), "r+");
    std::fputs("something else", f);
    std::fclose(f);
    why = errorOf([&] { NandImage image(file.path, part, 2, 2); });
    EXPECT_NE(why.find("is not a NAND image"), std::string::npos) << why;
}

TEST(Image, RefusesTheFormatBefore) {
    const PartFile part = smallPart();
    TempFile file;
    { NandImage image(file.path, part, 1, 1); }
    std::fstream raw(file.path, std::ios::in | std::ios::out | std::ios::binary);
    raw.seekp(8);
    raw.put(1);
    raw.close();
    const std::string why = errorOf([&] { NandImage image(file.path, part, 1, 1); });
    EXPECT_NE(why.find("has format version 1, this program reads version 2; use the program that wrote it, or remove"),
              std::string::npos)
        << why;
}

TEST(Commands, ProgramReadErase) {
    Host h(smallPart());
    h.boot(1);
    auto data = pageData(h.part, 5);
    EXPECT_EQ(h.program(1, h.row(1, 3, 0), data), 0xE0);
    EXPECT_EQ(h.read(1, h.row(1, 3, 0), data.size()), data);
    EXPECT_EQ(h.read(1, h.row(1, 3, 1), 4), std::vector<uint8_t>(4, 0xFF));
    EXPECT_EQ(h.read(1, h.row(0, 3, 0), 4), std::vector<uint8_t>(4, 0xFF));
    EXPECT_EQ(h.erase(1, h.row(1, 3, 0)), 0xE0);
    EXPECT_EQ(h.read(1, h.row(1, 3, 0), 4), std::vector<uint8_t>(4, 0xFF));
    EXPECT_EQ(h.image.eraseCount({0, 1, 1, 3}), 1u);
}

TEST(Commands, StatusBringsDataBackWithReadMode) {
    Host h(smallPart());
    h.boot(0);
    auto data = pageData(h.part, 6);
    h.program(0, h.row(0, 0, 0), data);
    h.select(0);
    h.command(0x00);
    h.fullAddress(0, h.row(0, 0, 0));
    h.command(0x30);
    h.idle(h.t.tWB);
    EXPECT_EQ(h.status(), 0x80); // busy
    h.waitReady(0);
    EXPECT_EQ(h.status(), 0xE0);
    h.command(0x00);
    EXPECT_EQ(h.out(data.size()), data);
    // Change read column
    h.command(0x05);
    h.addresses({0x10, 0x01});
    h.command(0xE0);
    EXPECT_EQ(h.out(8), std::vector<uint8_t>(data.begin() + 0x110, data.begin() + 0x118));
    // Enhanced status of the other LUN leaves it selected
    h.command(0x78);
    h.rowAddress(h.row(1, 0, 0));
    EXPECT_EQ(h.out(1)[0], 0xE0);
    h.deselect();
}

TEST(Commands, ChangeWriteColumn) {
    Host h(smallPart());
    h.boot(0);
    h.select(0);
    h.command(0x80);
    h.fullAddress(0, 0);
    h.in({1, 2, 3});
    h.command(0x85);
    h.addresses({0x80, 0x00});
    h.idle(h.t.tCCS);
    h.in({4, 5});
    h.command(0x10);
    h.waitReady(0);
    h.deselect();
    auto data = h.read(0, 0, 0x83);
    EXPECT_EQ(data[0], 1);
    EXPECT_EQ(data[3], 0xFF);
    EXPECT_EQ(data[0x80], 4);
    EXPECT_EQ(data[0x82], 0xFF);
}

TEST(Commands, MultiPlane) {
    Host h(smallPart());
    h.boot(0);
    auto a = pageData(h.part, 7), b = pageData(h.part, 8);
    // Blocks 2 and 3 are the same block number on planes 0 and 1.
    h.select(0);
    h.command(0x80);
    h.fullAddress(0, h.row(0, 2, 0));
    h.in(a);
    h.command(0x11);
    h.waitReady(0);
    h.command(0x80);
    h.fullAddress(0, h.row(0, 3, 0));
    h.in(b);
    h.command(0x10);
    h.waitReady(0);
    EXPECT_EQ(h.status(), 0xE0);
    h.deselect();
    EXPECT_EQ(h.read(0, h.row(0, 2, 0), a.size()), a);
    EXPECT_EQ(h.read(0, h.row(0, 3, 0), b.size()), b);

    h.select(0);
    h.command(0x00);
    h.fullAddress(0, h.row(0, 2, 0));
    h.command(0x32);
    h.waitReady(0);
    h.command(0x00);
    h.fullAddress(0, h.row(0, 3, 0));
    h.command(0x30);
    h.waitReady(0);
    for (unsigned plane : {0u, 1u}) {
        h.command(0x06);
        h.fullAddress(0, h.row(0, 2 + plane, 0));
        h.command(0xE0);
        EXPECT_EQ(h.out(a.size()), plane ? b : a);
    }
    h.command(0x60);
    h.rowAddress(h.row(0, 2, 0));
    h.command(0xD1);
    h.waitReady(0);
    h.command(0x60);
    h.rowAddress(h.row(0, 3, 0));
    h.command(0xD0);
    h.waitReady(0);
    h.deselect();
    EXPECT_EQ(h.image.nextPage({0, 0, 0, 2}), 0u);
    EXPECT_EQ(h.image.nextPage({0, 0, 0, 3}), 0u);
    EXPECT_EQ(broken([&] {
                  h.select(0);
                  h.command(0x60);
                  h.rowAddress(h.row(0, 0, 0));
                  h.command(0xD1);
                  h.waitReady(0);
                  h.command(0x60);
                  h.rowAddress(h.row(0, 2, 0)); // plane 0 again
                  h.command(0xD0);
              }),
              "multi-plane");
}

TEST(Commands, SectorsOfAPageWithTheBusGivenAwayBetween) {
    Host h(smallPart());
    h.boot(0);
    h.boot(1);
    const std::vector<uint8_t> data = pageData(h.part, 5), other = pageData(h.part, 6);
    auto piece = [&](unsigned from, unsigned to) {
        return std::vector<uint8_t>(data.begin() + from, data.begin() + to);
    };
    EXPECT_EQ(h.program(1, h.row(0, 0, 0), other), 0xE0);
    h.select(0);
    h.command(0x80);
    h.fullAddress(0, h.row(1, 2, 0));
    h.in(piece(0, 128));
    h.deselect();
    EXPECT_EQ(h.read(1, h.row(0, 0, 0), 8), std::vector<uint8_t>(other.begin(), other.begin() + 8));
    h.select(0);
    h.in(piece(128, 300));
    h.deselect();
    h.idle(50);
    h.select(0);
    h.in(piece(300, 400));
    h.command(0x10);
    h.waitReady(0);
    EXPECT_EQ(h.status(), 0xE0);
    h.deselect();
    std::vector<uint8_t> sent = data;
    std::fill(sent.begin() + 400, sent.end(), 0xFF);
    EXPECT_EQ(pageOf(h.image, h.part, {0, 0, 1, 2}, 0), sent);

    // Reading: the second piece follows the first behind other traffic, the third after a gap.
    EXPECT_EQ(h.read(0, h.row(1, 2, 0), 128), piece(0, 128));
    EXPECT_EQ(h.read(1, h.row(0, 0, 0), 8), std::vector<uint8_t>(other.begin(), other.begin() + 8));
    h.select(0);
    EXPECT_EQ(h.out(100), piece(128, 228));
    h.deselect();
    h.select(0);
    h.command(0x05);
    h.addresses({300 & 0xFF, 300 >> 8});
    h.command(0xE0);
    EXPECT_EQ(h.out(100), piece(300, 400));
    h.deselect();
}

TEST(Commands, CacheProgram) {
    Host h(smallPart());
    h.boot(0);
    h.select(0);
    const uint64_t began = h.now;
    auto ready = [&] { return h.pins.rbN & 1; };
    for (unsigned page = 0; page < 4; page++) {
        h.command(0x80);
        h.fullAddress(0, h.row(0, 1, page));
        h.in(pageData(h.part, 20 + page));
        h.command(page < 3 ? 0x15 : 0x10);
        h.waitReady(0);
        EXPECT_TRUE(ready());
        const uint8_t status = h.status();
        EXPECT_EQ(status, page < 3 ? 0xC0 : 0xE0) << "the array is ready only after the last";
    }
    h.deselect();
    EXPECT_LT(h.now - began, 4 * h.part.array.tPROG + 4 * 2500) << "data went in while the array worked";
    EXPECT_GT(h.now - began, 4 * h.part.array.tPROG);
    for (unsigned page = 0; page < 4; page++)
        EXPECT_EQ(pageOf(h.image, h.part, {0, 0, 0, 1}, page), pageData(h.part, 20 + page));
}

TEST(Commands, CacheProgramReportsTheFailureOfThePageBefore) {
    struct Second : NandFaults {
        bool programFails(const NandAddress &a) override {
            return a.page == 1;
        }
    } faults;
    Host h(smallPart(), 2, &faults);
    h.boot(0);
    h.select(0);
    std::vector<uint8_t> statuses;
    for (unsigned page = 0; page < 3; page++) {
        h.command(0x80);
        h.fullAddress(0, h.row(0, 1, page));
        h.in(pageData(h.part, page));
        h.command(page < 2 ? 0x15 : 0x10);
        h.waitReady(0);
        statuses.push_back(h.status() & 0x43);
    }
    EXPECT_EQ(statuses, (std::vector<uint8_t>{0x40, 0x40, 0x42}));
}

TEST(Commands, EnhancedStatusTellsOfOnePlane) {
    struct PlaneZero : NandFaults {
        bool programFails(const NandAddress &a) override {
            return a.block == 2 && a.page == 0;
        }
    } faults;
    Host h(smallPart(), 2, &faults);
    h.boot(0);
    auto programBoth = [&](unsigned page) {
        for (unsigned plane : {0u, 1u}) {
            h.command(0x80);
            h.fullAddress(0, h.row(1, 2 + plane, page));
            h.in(pageData(h.part, plane));
            h.command(plane == 0 ? 0x11 : 0x10);
            h.waitReady(0);
        }
    };
    auto statusOf = [&](uint32_t row) {
        h.command(0x78);
        h.rowAddress(row);
        return h.out(1)[0] & 0xE1;
    };
    h.select(0);
    programBoth(0);
    EXPECT_EQ(statusOf(h.row(1, 3, 0)), 0xE0);
    EXPECT_EQ(statusOf(h.row(1, 2, 0)), 0xE1);
    EXPECT_EQ(statusOf(h.row(0, 2, 0)), 0xE0);
    EXPECT_EQ(statusOf(h.row(1, 4, 7)), 0xE1); // the plane counts, not the page
    EXPECT_EQ(h.status() & 0xE1, 0xE1);
    programBoth(1);
    EXPECT_EQ(statusOf(h.row(1, 2, 0)), 0xE0);
    h.deselect();
}

TEST(Commands, CacheRead) {
    Host h(smallPart());
    h.boot(0);
    for (unsigned page = 0; page < 8; page++)
        h.program(0, h.row(0, 1, page), pageData(h.part, 30 + page));
    const unsigned bytes = h.part.geometry.rawPageBytes();
    h.select(0);
    h.command(0x00);
    h.fullAddress(0, h.row(0, 1, 2));
    h.command(0x30);
    h.waitReady(0);
    for (unsigned page = 2; page < 5; page++) {
        h.command(0x31);
        h.waitReady(0);
        EXPECT_EQ(h.out(bytes), pageData(h.part, 30 + page));
    }
    // Page 5 is behind the register; page 7 is asked for next.
    h.command(0x00);
    h.fullAddress(0, h.row(0, 1, 7));
    h.command(0x31);
    h.waitReady(0);
    EXPECT_EQ(h.out(bytes), pageData(h.part, 35));
    h.command(0x3F);
    h.waitReady(0);
    EXPECT_EQ(h.out(bytes), pageData(h.part, 37));
    EXPECT_EQ(h.status(), 0xE0);
    h.deselect();
    EXPECT_EQ(h.read(0, h.row(0, 1, 0), bytes), pageData(h.part, 30));
}

TEST(Commands, APartWithoutCacheCommandsRefusesThem) {
    PartFile part = smallPart();
    EXPECT_EQ(part.parameterPage()[8], 0x4F);
    part.cacheCommands = false;
    EXPECT_EQ(part.parameterPage()[8], 0x4C);
    Host h(part);
    h.boot(0);
    h.read(0, 0, 1);
    h.select(0);
    EXPECT_NE(errorOf([&] { h.command(0x31); }).find("this part has no cache commands"), std::string::npos);
}

TEST(Power, LossTearsWhatIsUnderWay) {
    PartFile part = smallPart();
    part.reliability.tearing = true;
    Host h(part);
    h.boot(0);
    h.cells.cutAs = NandCut::Half;
    auto begin = [&](unsigned page) {
        h.select(0);
        h.command(0x80);
        h.fullAddress(0, h.row(1, 2, page));
        h.in(pageData(h.part, page));
        h.command(0x10);
        h.idle(h.part.array.tPROG / 2);
    };
    begin(0);
    h.nand.powerOff(h.now);
    h.pins = PhyPort{};
    EXPECT_NE(pageOf(h.image, h.part, {0, 0, 1, 2}, 0), pageData(h.part, 0));
    EXPECT_EQ(h.cells.cuts.size(), 1u);
    // A RESET is no better.
    h.boot(0);
    begin(1);
    h.command(0xFF);
    h.t = h.timing.sdr(0);
    h.waitReady(0);
    h.deselect();
    EXPECT_NE(pageOf(h.image, h.part, {0, 0, 1, 2}, 1), pageData(h.part, 1));
    EXPECT_EQ(h.cells.cuts.size(), 2u);
}

TEST(Commands, ReadLevelIsAFeature) {
    PartFile part = smallPart();
    part.reliability.setAll("rber=0.02,retry-levels=4,retry-gain=0,random-share=0");
    Host h(part);
    h.boot(0);
    const unsigned bytes = part.geometry.rawPageBytes();
    const std::vector<uint8_t> data = pageData(part, 1);
    h.program(0, h.row(0, 1, 0), data);
    EXPECT_NE(h.read(0, h.row(0, 1, 0), bytes), data);
    auto level = [&](unsigned n) {
        h.select(0);
        h.command(0xEF);
        h.addresses({0x89});
        h.in({static_cast<uint8_t>(n), 0, 0, 0});
        h.waitReady(0);
        h.deselect();
    };
    unsigned right = 0;
    for (unsigned n = 1; n < 4; n++) {
        level(n);
        right += h.read(0, h.row(0, 1, 0), bytes) == data;
    }
    EXPECT_EQ(right, 1u);
    h.boot(0); // RESET brings level 0 back
    EXPECT_NE(h.read(0, h.row(0, 1, 0), bytes), data);
}

TEST(Commands, ADeadDieStaysBusyOrAnswersOnes) {
    PartFile part = smallPart();
    part.reliability.setAll("dead-die=0.1.1,dead-how=busy");
    Host busy(part);
    busy.boot(0);
    busy.boot(1);
    busy.select(1);
    busy.command(0x60);
    busy.rowAddress(busy.row(1, 0, 0));
    busy.command(0xD0);
    busy.idle(20 * part.array.tBERS);
    EXPECT_EQ(busy.pins.rbN & 2, 0u);
    EXPECT_EQ(busy.status() & 0x40, 0);
    EXPECT_EQ(busy.nand.nextEvent(), kNoEvent);
    busy.command(0xFF);
    busy.idle(20 * part.array.tBERS);
    EXPECT_EQ(busy.pins.rbN & 2, 0u) << "a RESET does not bring it back";
    busy.deselect();
    EXPECT_EQ(busy.erase(0, busy.row(1, 0, 0)), 0xE0);

    part.reliability.setAll("dead-how=ones");
    Host ones(part);
    ones.boot(1);
    EXPECT_EQ(ones.erase(1, ones.row(1, 0, 0)), 0xFF);
    EXPECT_EQ(ones.read(1, ones.row(1, 0, 0), 4), std::vector<uint8_t>(4, 0xFF));
    EXPECT_EQ(ones.erase(1, ones.row(0, 0, 0)), 0xE0);
}

TEST(Commands, LunsWorkAtTheSameTime) {
    Host h(smallPart());
    h.boot(0);
    h.select(0);
    for (unsigned lun : {0u, 1u}) {
        h.command(0x60);
        h.rowAddress(h.row(lun, 1, 0));
        h.command(0xD0);
    }
    uint64_t start = h.now;
    h.waitReady(0);
    h.deselect();
    EXPECT_LT(h.now - start, 9000u);
    EXPECT_EQ(h.image.eraseCount({0, 0, 0, 1}), 1u);
    EXPECT_EQ(h.image.eraseCount({0, 0, 1, 1}), 1u);
}

namespace {

/** 00h-30h. */
void startRead(Host &h, uint32_t row, unsigned column = 0) {
    h.command(0x00);
    h.fullAddress(column, row);
    h.command(0x30);
}
/** Makes a LUN the one that drives data, from `column` of its page register. */
void selectLun(Host &h, uint32_t row, unsigned column = 0) {
    h.command(0x78);
    h.rowAddress(row);
    h.command(0x06);
    h.fullAddress(column, row);
    h.command(0xE0);
}

} // namespace

TEST(Commands, DataOfTwoLunsThatWereReadTogether) {
    Host h(smallPart());
    h.boot(0);
    const std::vector<uint8_t> data[] = {pageData(h.part, 1), pageData(h.part, 2)};
    for (unsigned lun : {0u, 1u})
        h.program(0, h.row(lun, 1, 0), data[lun]);
    h.select(0);
    for (unsigned lun : {0u, 1u})
        startRead(h, h.row(lun, 1, 0));
    h.waitReady(0);
    for (unsigned lun : {0u, 1u, 0u}) {
        selectLun(h, h.row(lun, 1, 0), 3);
        EXPECT_EQ(h.out(8), std::vector<uint8_t>(data[lun].begin() + 3, data[lun].begin() + 11));
    }
    // A LUN gives data while the other one is busy.
    h.command(0x60);
    h.rowAddress(h.row(1, 2, 0));
    h.command(0xD0);
    selectLun(h, h.row(0, 1, 0));
    EXPECT_EQ(h.out(data[0].size()), data[0]);
    EXPECT_FALSE(h.pins.rbN & 1);
    h.waitReady(0);
    h.deselect();
}

TEST(Commands, AProgramClearsThePageRegistersOfOtherLuns) {
    Host h(smallPart());
    h.boot(0);
    h.program(0, h.row(0, 1, 0), pageData(h.part, 1));
    EXPECT_EQ(h.read(0, h.row(0, 1, 0), 4).size(), 4u);
    h.program(0, h.row(1, 1, 0), pageData(h.part, 2));
    h.select(0);
    selectLun(h, h.row(0, 1, 0));
    EXPECT_EQ(h.out(4), std::vector<uint8_t>(4, 0xFF));
    h.deselect();
}

TEST(Commands, ResetStopsAnEraseAndReturnsToSdr) {
    Host h(smallPart());
    h.boot(0);
    auto data = pageData(h.part, 5);
    h.program(0, 0, data);
    h.select(0);
    h.command(0x60);
    h.rowAddress(0);
    h.command(0xD0);
    h.idle(1000);
    h.command(0xFF);
    h.waitReady(0);
    h.deselect();
    EXPECT_EQ(h.image.eraseCount({0, 0, 0, 0}), 0u);
    EXPECT_EQ(broken([&] { h.read(0, 0, 4); }), "tCS"); // NV-DDR2 timing is too fast now
}

TEST(Events, NextEventIsTheNextChangeOfReadyBusy) {
    Host h(smallPart());
    h.boot(0);
    EXPECT_EQ(h.nand.nextEvent(), kNoEvent);
    h.select(0);
    h.command(0x60);
    h.rowAddress(0);
    h.pins.we = h.pins.cle = true;
    h.pins.ale = false;
    h.pins.dqOut = 0xD0;
    h.tick();
    uint64_t confirmed = h.now;
    h.pins.we = false;
    EXPECT_EQ(h.nand.nextEvent(), confirmed + 100); // tWB
    h.idle(100);
    EXPECT_EQ(h.pins.rbN & 1, 0u);
    uint64_t end = h.nand.nextEvent();
    EXPECT_EQ(end, confirmed + 100 + 8000);
    h.now = end - 1; // the clock stood still
    h.tick();
    EXPECT_EQ(h.pins.rbN & 1, 1u);
    EXPECT_EQ(h.nand.nextEvent(), kNoEvent);
    EXPECT_EQ(h.image.eraseCount({0, 0, 0, 0}), 1u);
}

TEST(Power, HostResetInsideADataPhaseIsNoViolation) {
    Host h(smallPart());
    h.boot(0);
    h.select(0);
    h.command(0x90);
    h.addresses({0});
    h.idle(h.t.tWHR + h.t.tRPRE);
    h.pins.re = true;
    h.tick();
    h.pins.re = false;
    h.nand.hostReset();
    EXPECT_EQ(broken([&] { h.deselect(); }), "");
    h.idle(20);
    EXPECT_EQ(h.nand.nextEvent(), kNoEvent);
    h.boot(0);
}

TEST(Power, LossDropsWhatIsUnderWay) {
    Host h(smallPart());
    h.boot(0);
    auto data = pageData(h.part, 5);
    h.program(0, h.row(0, 0, 0), data);
    h.select(0);
    h.command(0x80);
    h.fullAddress(0, h.row(0, 0, 1));
    h.in(data);
    h.command(0x10);
    h.idle(2000);
    h.nand.powerOff(h.now);
    EXPECT_EQ(h.image.nextPage({0, 0, 0, 0}), 1u);
    h.pins.ceN = ~0u;
    EXPECT_EQ(broken([&] { h.read(0, 0, 4); }), "tCS"); // SDR timing again
    h.pins.ceN = ~0u;
    h.idle(1000);
    h.t = h.timing.sdr(0);
    EXPECT_EQ(broken([&] { h.read(0, 0, 4); }), "command order"); // needs RESET first
    h.nand.powerOff(h.now);
    h.pins.ceN = ~0u;
    h.idle(1000);
    h.boot(0);
    EXPECT_EQ(h.read(0, 0, data.size()), data);
}

namespace {

struct Rule {
    const char *name;
    void (*body)(Host &);
};

class Rules : public ::testing::TestWithParam<Rule> {};

/* The interface that the PHY expects changes with the next selection. */
TEST(Absent, OnesInSdrAndNothingInNvDdr2) {
    AbsentTarget target;
    auto feature = [&](uint8_t address, uint32_t value) {
        target.select();
        target.command(0xEF);
        target.address(address);
        for (uint32_t beat : {value, 0x20u, 0x20u, 0x20u})
            target.dataIn(beat);
    };
    target.select();
    EXPECT_EQ(target.dataOut(), std::optional<uint32_t>(0xFF));
    feature(0x10, 0x24);
    target.select();
    EXPECT_EQ(target.dataOut(), std::optional<uint32_t>(0xFF));
    feature(0x01, 0x24);
    EXPECT_EQ(target.dataOut(), std::optional<uint32_t>(0xFF));
    target.select();
    EXPECT_EQ(target.dataOut(), std::nullopt);
    feature(0x01, 0x04);
    target.select();
    EXPECT_EQ(target.dataOut(), std::optional<uint32_t>(0xFF));
    feature(0x01, 0x24);
    target.select();
    target.command(0xFF);
    target.select();
    EXPECT_EQ(target.dataOut(), std::optional<uint32_t>(0xFF));
}

} // namespace

/** Each illegal sequence stops with its rule. */
TEST_P(Rules, Stop) {
    Host h(smallPart());
    h.boot(0);
    h.boot(1);
    std::string rule(GetParam().name);
    EXPECT_EQ(broken([&] { GetParam().body(h); }), rule.substr(0, rule.find('/')));
}

INSTANTIATE_TEST_SUITE_P(
    Nand, Rules,
    ::
        testing::Values(Rule{"page not erased",
                             [](Host &h) {
                                 h.program(0, 0, {1});
                                 h.program(0, 0, {1});
                             }},
                        Rule{"page order",
                             [](Host &h) {
                                 h.program(0, 2, {1});
                                 h.program(0, 1, {1});
                             }},
                        Rule{"page order/cache",
                             [](Host &h) {
                                 h.select(0);
                                 for (uint32_t page : {3u, 3u}) {
                                     h.command(0x80);
                                     h.fullAddress(0, page);
                                     h.in({1});
                                     h.command(0x15);
                                     h.waitReady(0);
                                 }
                             }},
                        Rule{"busy/cache program",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x80);
                                 h.fullAddress(0, 0);
                                 h.in({1});
                                 h.command(0x15);
                                 h.waitReady(0);
                                 h.command(0x60);
                                 h.rowAddress(8);
                                 h.command(0xD0);
                             }},
                        Rule{"busy/cache read",
                             [](Host &h) {
                                 h.read(0, 0, 1);
                                 h.select(0);
                                 h.command(0x31);
                                 h.waitReady(0);
                                 h.command(0x00);
                                 h.fullAddress(0, 4);
                                 h.command(0x30);
                             }},
                        Rule{"command order/31h",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x31);
                             }},
                        Rule{"command order/3Fh",
                             [](Host &h) {
                                 h.read(0, 0, 1);
                                 h.select(0);
                                 h.command(0x3F);
                             }},
                        Rule{"address range/31h",
                             [](Host &h) {
                                 h.read(0, 7, 1);
                                 h.select(0);
                                 h.command(0x31);
                             }},
                        Rule{"address range/row", [](Host &h) { h.read(0, 1u << 20, 1); }},
                        Rule{"address range/column",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x00);
                                 h.fullAddress(528, 0);
                             }},
                        Rule{"data out/end", [](Host &h) { h.read(0, 0, 529); }},
                        Rule{"data in/end", [](Host &h) { h.program(0, 0, std::vector<uint8_t>(529)); }},
                        Rule{"data out/phase",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x60);
                                 h.out(1);
                             }},
                        Rule{"data in/phase",
                             [](Host &h) {
                                 h.select(0);
                                 h.in({1});
                             }},
                        Rule{"address cycles/few",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x60);
                                 h.addresses({0, 0});
                                 h.command(0xD0);
                             }},
                        Rule{"address cycles/many",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x60);
                                 h.addresses({0, 0, 0, 0});
                             }},
                        Rule{"command order/confirm",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x30);
                             }},
                        Rule{"command order/in program",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x80);
                                 h.fullAddress(0, 0);
                                 h.command(0xD0);
                             }},
                        Rule{"command",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x42);
                             }},
                        Rule{"busy",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x60);
                                 h.rowAddress(0);
                                 h.command(0xD0);
                                 h.idle(h.t.tWB);
                                 h.command(0x60);
                                 h.rowAddress(0);
                             }},
                        Rule{"LUN selection/both drive",
                             [](Host &h) {
                                 h.select(0);
                                 startRead(h, h.row(0, 0, 0));
                                 startRead(h, h.row(1, 0, 0));
                                 h.waitReady(0);
                                 h.out(1);
                             }},
                        Rule{"LUN selection/06h is not heard by a busy LUN",
                             [](Host &h) {
                                 h.select(0);
                                 startRead(h, h.row(0, 0, 0));
                                 h.waitReady(0);
                                 startRead(h, h.row(1, 0, 0));
                                 h.command(0x06);
                                 h.fullAddress(0, h.row(0, 0, 0));
                                 h.command(0xE0);
                                 h.out(1);
                             }},
                        Rule{"LUN selection/column of another",
                             [](Host &h) {
                                 h.select(0);
                                 startRead(h, h.row(0, 0, 0));
                                 startRead(h, h.row(1, 0, 0), 9);
                                 h.waitReady(0);
                                 h.command(0x78);
                                 h.rowAddress(h.row(0, 0, 0));
                                 h.command(0x00);
                                 h.out(1);
                             }},
                        Rule{"LUN selection/70h",
                             [](Host &h) {
                                 h.select(0);
                                 startRead(h, h.row(1, 0, 0));
                                 h.idle(h.t.tWB);
                                 h.command(0x60);
                                 h.rowAddress(h.row(0, 0, 0));
                                 h.status();
                             }},
                        Rule{"LUN selection/between planes",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x80);
                                 h.fullAddress(0, h.row(0, 0, 0));
                                 h.in({1});
                                 h.command(0x11);
                                 h.waitReady(0);
                                 h.command(0x78);
                                 h.rowAddress(h.row(1, 0, 0));
                             }},
                        Rule{"tWB",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0x60);
                                 h.rowAddress(0);
                                 h.command(0xD0);
                                 h.command(0xEE);
                             }},
                        Rule{"chip enable",
                             [](Host &h) {
                                 h.pins.ceN = ~3u;
                                 h.tick();
                                 h.idle(100);
                                 h.command(0x70);
                             }},
                        Rule{"chip enable/none", [](Host &h) { h.command(0x70); }},
                        Rule{"timing mode",
                             [](Host &h) {
                                 h.select(0);
                                 h.command(0xEF);
                                 h.addresses({1});
                                 h.in({0x29, 0, 0, 0});
                                 h.waitReady(0);
                                 h.command(0x70);
                             }},
                        Rule{"tCCS",
                             [](Host &h) {
                                 h.read(0, 0, 1);
                                 h.select(0);
                                 h.command(0x05);
                                 h.addresses({0, 0});
                                 h.command(0xE0);
                                 h.t.tCCS -= 1 + h.t.tWHR + h.t.tWC;
                                 h.out(1);
                             }},
                        Rule{
                            "data rate",
                            [](Host &h) {
                                h.t = h.timing.sdr(0);
                                h.select(0);
                                h.command(0xFF);
                                h.waitReady(0);
                                h.command(0x90);
                                h.addresses({0});
                                h.t.beat -= 1;
                                h.out(2);
                            }}),
    [](const ::testing::TestParamInfo<Rule> &info) {
        std::string name(info.param.name);
        for (char &c : name)
            if (!std::isalnum(static_cast<unsigned char>(c)))
                c = '_';
        return name;
    });

TEST(Violation, SaysWhereWhenMeasuredAndRequired) {
    Host h(smallPart());
    h.boot(1);
    try {
        h.select(1);
        h.command(0x90);
        h.t.tWC -= 1;
        h.addresses({0});
        h.command(0x70);
        FAIL();
    } catch (const NandViolation &violation) {
        std::string text = violation.what();
        EXPECT_NE(text.find("channel 0 way 1 LUN 0"), std::string::npos) << text;
        EXPECT_NE(text.find("cycle " + std::to_string(h.now)), std::string::npos) << text;
        EXPECT_NE(text.find("tWC"), std::string::npos) << text;
        EXPECT_NE(text.find("after 24 cycles, the part needs 25"), std::string::npos) << text;
    }
}
