// SPDX-License-Identifier: BSD-3-Clause
#include "pciproxy/HostMemory.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pciproxy/GuardedCopy.h"

namespace assasin {

namespace {

/// Closes the descriptors a message brought, whatever happens.
class FdGuard {
  public:
    FdGuard(const int *fds, size_t count) : fds_(fds), count_(count) {
    }
    ~FdGuard() {
        for (size_t i = 0; i < count_; i++) {
            close(fds_[i]);
        }
    }
    FdGuard(const FdGuard &) = delete;
    FdGuard &operator=(const FdGuard &) = delete;

  private:
    const int *fds_;
    size_t count_;
};

} // namespace

void HostMemory::map(const pci_proxy_sysmem &layout, const int *fds, size_t count) {
    const FdGuard guard(fds, count);
    std::vector<struct stat> stats(count);
    bool same = count == regions_.size();
    for (size_t i = 0; i < count; i++) {
        if (fstat(fds[i], &stats[i]) != 0) {
            clear();
            throw std::runtime_error("memory region " + std::to_string(i) + ": " + std::strerror(errno));
        }
        if (same) {
            const Region &r = regions_[i];
            same = r.gpa == layout.gpa[i] && r.size == layout.size[i] && r.offset == uint64_t(layout.offset[i]) &&
                   r.device == stats[i].st_dev && r.inode == stats[i].st_ino;
        }
    }
    if (same) {
        return;
    }
    clear();
    const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
    for (size_t i = 0; i < count; i++) {
        const uint64_t offset = uint64_t(layout.offset[i]);
        const uint64_t lead = offset % page;
        const uint64_t size = layout.size[i];
        std::string problem;
        void *mapping = MAP_FAILED;
        if (size == 0 || layout.gpa[i] + size < layout.gpa[i]) {
            problem = "its range is empty or wraps";
        } else if (S_ISREG(stats[i].st_mode) && offset + size > uint64_t(stats[i].st_size)) {
            problem = "its file holds only " + std::to_string(stats[i].st_size) + " bytes, " +
                      std::to_string(offset + size) +
                      " are needed"; // touching it later would kill the board with SIGBUS
        } else {
            mapping = mmap(nullptr, size + lead, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], off_t(offset - lead));
            if (mapping == MAP_FAILED) {
                problem = std::strerror(errno);
            }
        }
        if (!problem.empty()) {
            clear();
            throw std::runtime_error("memory region " + std::to_string(i) + " of " + std::to_string(size) +
                                     " bytes: " + problem);
        }
        regions_.push_back({layout.gpa[i], size, offset, stats[i].st_dev, stats[i].st_ino,
                            static_cast<uint8_t *>(mapping) + lead, mapping, size_t(size + lead)});
    }
}

void HostMemory::clear() {
    for (const Region &r : regions_) {
        munmap(r.mapping, r.mappedSize);
    }
    regions_.clear();
}

HostMemory::Region *HostMemory::find(uint64_t addr) {
    if (!enabled_) {
        return nullptr;
    }
    for (Region &r : regions_) {
        if (addr >= r.gpa && addr - r.gpa < r.size) {
            return &r;
        }
    }
    return nullptr;
}

uint64_t HostMemory::distanceToNext(uint64_t addr) const {
    uint64_t distance = UINT64_MAX;
    if (enabled_) {
        for (const Region &r : regions_) {
            if (r.gpa > addr) {
                distance = std::min(distance, r.gpa - addr);
            }
        }
    }
    return distance;
}

void HostMemory::fault(uint64_t addr, size_t size, const char *what) {
    if (faults_++ == 0) {
        std::fprintf(stderr,
                     "assasin-board: the drive's DMA %s of %zu bytes at host address 0x%" PRIx64
                     " hits no mapped memory%s; further ones are only counted (status: dma_faults)\n",
                     what, size, addr, enabled_ ? "" : " (bus mastering is off)");
    }
    lastFault_ = addr;
}

bool HostMemory::read(uint64_t addr, void *data, size_t size) {
    auto *to = static_cast<uint8_t *>(data);
    bool ok = true;
    while (size > 0) {
        uint64_t n;
        bool there = false;
        if (const Region *const r = find(addr)) {
            n = std::min<uint64_t>(size, r->size - (addr - r->gpa));
            there = guardedCopy(to, r->bytes + (addr - r->gpa), n);
        } else {
            n = std::min<uint64_t>(size, distanceToNext(addr));
        }
        if (!there) {
            std::memset(to, 0xFF, n);
            fault(addr, n, "read");
            ok = false;
        }
        addr += n;
        to += n;
        size -= n;
    }
    return ok;
}

bool HostMemory::write(uint64_t addr, const void *data, size_t size) {
    const auto *from = static_cast<const uint8_t *>(data);
    bool ok = true;
    while (size > 0) {
        uint64_t n;
        if (Region *const r = find(addr)) {
            n = std::min<uint64_t>(size, r->size - (addr - r->gpa));
            if (!guardedCopy(r->bytes + (addr - r->gpa), from, n)) {
                fault(addr, n, "write");
                ok = false;
            }
        } else {
            n = std::min<uint64_t>(size, distanceToNext(addr));
            fault(addr, n, "write");
            ok = false;
        }
        addr += n;
        from += n;
        size -= n;
    }
    return ok;
}

bool HostMemory::storeWord(uint64_t addr, uint32_t value) {
    Region *const r = find(addr);
    if (r == nullptr || addr % 4 != 0 || r->size - (addr - r->gpa) < 4) {
        return false;
    }
    return guardedStore(reinterpret_cast<uint32_t *>(r->bytes + (addr - r->gpa)), value);
}

} // namespace assasin
