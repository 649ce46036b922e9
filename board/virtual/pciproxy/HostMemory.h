// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/types.h>

#include "pciproxy/protocol.h"

namespace assasin {

/// The visitor's memory as the drive's DMA sees it: up to PCI_PROXY_MAX_REGIONS shared mappings at bus addresses.
/// Accesses may cross from one region into an adjacent one.
class HostMemory {
  public:
    ~HostMemory() {
        clear();
    }

    /// Replaces the map by `count` regions backed by `fds` (closed here in any case). When the files and ranges are the
    /// ones mapped already, nothing is remapped. Throws std::runtime_error naming the region that cannot be mapped; the
    /// map is then empty.
    void map(const pci_proxy_sysmem &layout, const int *fds, size_t count);

    /// Forgets every region.
    void clear();

    /// Bus mastering allowed (PCI command register); while not, every access fails.
    void setEnabled(bool enabled) {
        enabled_ = enabled;
    }

    /// Copies `size` bytes from bus address `addr`. Bytes that lie in no region, or in a file that the visitor has cut
    /// short, read as ones. Returns false when there was any.
    bool read(uint64_t addr, void *data, size_t size);

    /// Copies `size` bytes to bus address `addr`. Bytes that lie in no region are dropped. Returns false when there was
    /// any.
    bool write(uint64_t addr, const void *data, size_t size);

    /// Stores one 32-bit word if `addr` lies in a region and is aligned; returns whether it did.
    bool storeWord(uint64_t addr, uint32_t value);

    /// Accesses that missed since start, and the address of the latest.
    uint64_t faults() const {
        return faults_;
    }
    uint64_t lastFault() const {
        return lastFault_;
    }

  private:
    struct Region {
        uint64_t gpa;
        uint64_t size;
        uint64_t offset;
        dev_t device;
        ino_t inode;
        uint8_t *bytes;    ///< first byte of the region
        void *mapping;     ///< page-aligned start of the mapping
        size_t mappedSize; ///< bytes mapped
    };

    Region *find(uint64_t addr);
    uint64_t distanceToNext(uint64_t addr) const;
    void fault(uint64_t addr, size_t size, const char *what);

    std::vector<Region> regions_;
    bool enabled_ = false;
    uint64_t faults_ = 0;
    uint64_t lastFault_ = 0;
};

} // namespace assasin
