// SPDX-License-Identifier: BSD-3-Clause
#include "NandImage.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace assasin {

/** First page of the file. The magic is written last: a file without it was never finished. */
struct NandImage::Header {
    char magic[8];
    uint32_t version;
    uint32_t channels, ways, luns, planes, blocksPerPlane, pagesPerBlock, pageBytes, spareBytes;
    char part[32];
    uint32_t segments; // allocated so far
    Medium medium;
};

namespace {

constexpr char kMagic[8] = {'A', 'S', 'S', 'A', 'N', 'A', 'N', 'D'};
constexpr uint32_t kVersion = 2;
constexpr uint64_t kFilePage = 4096;
constexpr unsigned kGrain = 64;    // of the length stored of a block's pages
constexpr uint64_t kAhead = 65536; // bytes of a block's pages that are asked for at once

uint64_t alignUp(uint64_t bytes) {
    return (bytes + kFilePage - 1) / kFilePage * kFilePage;
}

std::string shown(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

std::string board(unsigned channels, unsigned ways, const NandGeometry &g, const std::string &part) {
    return std::to_string(channels) + " channels x " + std::to_string(ways) + " ways, part " + part + " (" + g.text() +
           ")";
}

} // namespace

NandImage::NandImage(const std::string &path, const PartFile &part, unsigned channels, unsigned ways)
    : geometry_(part.geometry), channels_(channels), ways_(ways), path_(path) {
    const NandGeometry &g = geometry_;
    auto fail = [&](const std::string &why) { throw std::runtime_error("NAND image " + path + ": " + why); };
    auto failErrno = [&](const std::string &what) { fail(what + ": " + std::strerror(errno)); };

    uint64_t blocks = uint64_t(channels) * ways * g.luns * g.blocksPerLun();
    pagesBytes_ = alignUp(uint64_t(g.pagesPerBlock) * g.rawPageBytes());
    segmentBytes_ = pagesBytes_ + alignUp(g.pagesPerBlock * sizeof(Page));
    blocksOffset_ = kFilePage + alignUp(uint64_t(channels) * ways * g.luns * sizeof(Die));
    dataOffset_ = blocksOffset_ + alignUp(blocks * sizeof(Block));
    mappedBytes_ = dataOffset_ + blocks * segmentBytes_;

    // A constructor that throws gets no destructor call.
    try {
        if (!path.empty()) {
            fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
            if (fd_ < 0)
                failErrno("open");
            if (flock(fd_, LOCK_EX | LOCK_NB))
                fail("another process holds it; stop that board or give this one another image");
            struct stat info;
            if (fstat(fd_, &info))
                failErrno("stat");
            fileBytes_ = static_cast<uint64_t>(info.st_size);
        }
        if (fileBytes_ > 0 && fileBytes_ < kFilePage)
            fail("is not a NAND image; remove it or give another file");
        bool fresh = fileBytes_ == 0;
        if (fileBytes_ < dataOffset_ && fresh)
            growTo(dataOffset_);
        // Without a file it is the process's own memory, so that one that forks takes a snapshot of the medium along.
        const int kind = path.empty() ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
        map_ =
            static_cast<uint8_t *>(mmap(nullptr, mappedBytes_, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, fd_, 0));
        if (map_ == MAP_FAILED) {
            map_ = nullptr;
            failErrno("mmap");
        }
        Header *header = reinterpret_cast<Header *>(map_);
        static const char zeros[8] = {};
        if (!fresh && std::memcmp(header->magic, kMagic, 8) != 0 && std::memcmp(header->magic, zeros, 8) != 0)
            fail("is not a NAND image; remove it or give another file");
        if (!fresh && std::memcmp(header->magic, kMagic, 8) == 0) {
            if (header->version != kVersion)
                fail("has format version " + std::to_string(header->version) + ", this program reads version " +
                     std::to_string(kVersion) + "; use the program that wrote it, or remove the file to start empty");
            NandGeometry have{header->luns,          header->planes,    header->blocksPerPlane,
                              header->pagesPerBlock, header->pageBytes, header->spareBytes};
            std::string havePart(header->part, strnlen(header->part, sizeof header->part));
            if (!(have == g) || header->channels != channels || header->ways != ways || havePart != part.name)
                fail("was made for " + board(header->channels, header->ways, have, havePart) + "; this board has " +
                     board(channels, ways, g, part.name) +
                     ". Start the board the image belongs to, give another image file, or remove this one to start "
                     "empty");
            const double factoryBad = header->medium.factoryBad;
            if (part.reliability.factoryBadGiven && part.reliability.factoryBad != factoryBad)
                fail("was made with factory-bad=" + shown(factoryBad) +
                     " and this board asks for factory-bad=" + shown(part.reliability.factoryBad) +
                     ": packages keep their bad blocks. Leave the key out, or start empty");
        } else {
            // Fresh, or its maker died before it was complete: nothing can have been programmed.
            if (fileBytes_ < dataOffset_)
                growTo(dataOffset_);
            *header = Header{};
            header->version = kVersion;
            header->channels = channels;
            header->ways = ways;
            header->luns = g.luns;
            header->planes = g.planes;
            header->blocksPerPlane = g.blocksPerPlane;
            header->pagesPerBlock = g.pagesPerBlock;
            header->pageBytes = g.pageBytes;
            header->spareBytes = g.spareBytes;
            std::strncpy(header->part, part.name.c_str(), sizeof header->part - 1);
            header->medium = {0, part.reliability.seed, part.reliability.factoryBad};
            std::memcpy(header->magic, kMagic, 8);
        }
        if (fileBytes_ < dataOffset_ + header->segments * segmentBytes_)
            fail("is cut short: " + std::to_string(fileBytes_) + " bytes where " +
                 std::to_string(dataOffset_ + header->segments * segmentBytes_) + " belong; restore or remove it");
    } catch (...) {
        if (map_)
            munmap(map_, mappedBytes_);
        if (fd_ >= 0)
            close(fd_);
        throw;
    }
}

NandImage::~NandImage() {
    munmap(map_, mappedBytes_);
    if (fd_ >= 0)
        close(fd_);
}

void NandImage::growTo(uint64_t bytes) {
    if (fd_ >= 0 && ftruncate(fd_, static_cast<off_t>(bytes)))
        throw std::runtime_error("NAND image " + path_ + ": cannot grow to " + std::to_string(bytes) +
                                 " bytes: " + std::strerror(errno));
    fileBytes_ = bytes;
}

NandImage::Block &NandImage::block(const BlockId &id) const {
    uint64_t index =
        ((uint64_t(id.channel) * ways_ + id.way) * geometry_.luns + id.lun) * geometry_.blocksPerLun() + id.block;
    return reinterpret_cast<Block *>(map_ + blocksOffset_)[index];
}

NandImage::Die &NandImage::die(unsigned channel, unsigned way, unsigned lun) const {
    return reinterpret_cast<Die *>(map_ + kFilePage)[(uint64_t(channel) * ways_ + way) * geometry_.luns + lun];
}

NandImage::Medium &NandImage::medium() const {
    return reinterpret_cast<Header *>(map_)->medium;
}

uint8_t *NandImage::segmentData(uint32_t segment) const {
    return map_ + dataOffset_ + (segment - 1) * segmentBytes_;
}

void NandImage::reserve(const uint8_t *place, unsigned bytes) {
    if (!path_.empty() && fallocate(fd_, 0, place - map_, bytes) && errno != EOPNOTSUPP)
        throw std::runtime_error("NAND image " + path_ + ": no space for a page: " + std::strerror(errno));
}

void NandImage::reserveIn(const Block &b, const uint8_t *place, unsigned bytes) {
    if (path_.empty())
        return;
    if (reserved_.size() < b.segment)
        reserved_.resize(b.segment);
    Reserved &certain = reserved_[b.segment - 1];
    uint8_t *const first = segmentData(b.segment);
    const uint64_t from = static_cast<uint64_t>(place - first), to = from + bytes;
    if (from >= certain.from && to <= certain.to)
        return;
    const uint64_t begin = from >= certain.from && from <= certain.to ? certain.to : from;
    const uint64_t end = std::min(begin + kAhead, pagesBytes_);
    // Not what pages leave out.
    const bool gaps = geometry_.rawPageBytes() - storedBytes(b) >= kFilePage;
    if (gaps || to > end ||
        fallocate(fd_, 0, static_cast<off_t>(first - map_ + begin), static_cast<off_t>(end - begin))) {
        reserve(place, bytes);
        return;
    }
    certain = {begin == from ? from : certain.from, end};
}

bool NandImage::read(const BlockId &id, unsigned page, uint8_t *raw) const {
    const Block &b = block(id);
    if (page < b.nextPage) {
        load(b, page, raw);
        return true;
    }
    std::memset(raw, 0xFF, geometry_.rawPageBytes());
    return false;
}

void NandImage::load(const Block &b, unsigned page, uint8_t *raw) const {
    const unsigned rawBytes = geometry_.rawPageBytes(), stored = storedBytes(b);
    std::memcpy(raw, segmentData(b.segment) + uint64_t(page) * rawBytes, stored);
    std::memset(raw + stored, 0xFF, rawBytes - stored);
}

void NandImage::store(Block &b, unsigned page, const uint8_t *raw) {
    const unsigned rawBytes = geometry_.rawPageBytes();
    unsigned bytes = rawBytes;
    while (bytes > 1 && raw[bytes - 1] == 0xFF)
        bytes--;
    bytes = std::min((bytes + kGrain - 1) / kGrain * kGrain, rawBytes);
    if (b.nextPage == 0) {
        b.stored = bytes;
    } else if (bytes > storedBytes(b)) {
        // The other pages end earlier. Their ends count only when the new length does, whenever the process dies.
        const unsigned stored = storedBytes(b);
        for (unsigned before = 0; before < b.nextPage; before++) {
            uint8_t *end = segmentData(b.segment) + uint64_t(before) * rawBytes + stored;
            reserveIn(b, end, bytes - stored);
            std::memset(end, 0xFF, bytes - stored);
        }
        b.stored = bytes;
    }
    uint8_t *place = segmentData(b.segment) + uint64_t(page) * rawBytes;
    reserveIn(b, place, storedBytes(b));
    std::memcpy(place, raw, storedBytes(b));
}

void NandImage::prepare(const BlockId &id, unsigned page, const uint8_t *raw) {
    Block &b = block(id);
    if (page < b.nextPage)
        throw std::logic_error("NandImage::prepare: page " + std::to_string(page) + " behind page " +
                               std::to_string(b.nextPage - 1));
    const unsigned rawBytes = geometry_.rawPageBytes();
    if (b.segment == 0) {
        Header *header = reinterpret_cast<Header *>(map_);
        uint32_t segment = header->segments + 1;
        if (fileBytes_ < dataOffset_ + segment * segmentBytes_)
            growTo(dataOffset_ + segment * segmentBytes_);
        header->segments = segment;
        b.segment = segment;
    }
    if (b.nextPage == 0)
        reserve(segmentData(b.segment) + pagesBytes_, geometry_.pagesPerBlock * sizeof(Page));
    store(b, page, raw);
    for (unsigned out = b.nextPage; out < page; out++) {
        uint8_t *erased = segmentData(b.segment) + uint64_t(out) * rawBytes;
        reserveIn(b, erased, storedBytes(b));
        std::memset(erased, 0xFF, storedBytes(b));
        pages(b)[out] = Page{};
    }
    pages(b)[page] = Page{kProgrammed, b.reads, medium().hours};
}

void NandImage::commit(const BlockId &id, unsigned page) {
    block(id).nextPage = page + 1;
}

void NandImage::rewrite(const BlockId &id, unsigned page, const uint8_t *raw) {
    Block &b = block(id);
    if (page >= b.nextPage)
        throw std::logic_error("NandImage::rewrite: page " + std::to_string(page) + " is not programmed");
    store(b, page, raw);
}

void NandImage::erase(const BlockId &id) {
    Block &b = block(id);
    bool wasWritten = b.nextPage != 0;
    b.nextPage = 0;
    b.reads = 0;
    b.flags &= ~uint32_t(kHalfErased | kWeaklyErased);
    b.eraseCount++;
    // Give the space back; a file system that cannot punch holes keeps it, which is harmless.
    if (b.segment != 0 && b.segment <= reserved_.size())
        reserved_[b.segment - 1] = {};
    if (wasWritten && fd_ < 0)
        (void)madvise(segmentData(b.segment), segmentBytes_, MADV_DONTNEED);
    else if (wasWritten)
        (void)fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        static_cast<off_t>(dataOffset_ + (b.segment - 1) * segmentBytes_),
                        static_cast<off_t>(segmentBytes_));
}

} // namespace assasin
