// SPDX-License-Identifier: BSD-3-Clause
#include "dram/Dram.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include <sys/mman.h>

namespace assasin {

Dram::Dram(const DramParams &params) : params_(params), meter_(params.bytesPerCycle) {
    if (params.size < 4096 || (params.size & (params.size - 1)) != 0) {
        throw std::invalid_argument("DRAM size " + std::to_string(params.size) +
                                    ": choose a power of two of at least 4096 bytes");
    }
    if (params.bytesPerCycle <= 0) {
        throw std::invalid_argument("DRAM bytes_per_cycle " + std::to_string(params.bytesPerCycle) +
                                    ": must be positive");
    }
    void *const p =
        mmap(nullptr, params.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        throw std::runtime_error("cannot reserve " + std::to_string(params.size) +
                                 " bytes for DRAM: " + std::strerror(errno));
    }
    memory_ = static_cast<uint8_t *>(p);
}

Dram::~Dram() {
    munmap(memory_, params_.size);
}

uint8_t *Dram::at(uint32_t addr) {
    const uint32_t offset = addr & 0x7FFFFFF8; // the chip shows its DRAM window's addresses: bit 31 selects it
    if (offset >= params_.size) {
        char text[128];
        std::snprintf(text, sizeof text,
                      "DRAM port: address 0x%08x lies past the %llu bytes of DRAM that the profile has", addr,
                      static_cast<unsigned long long>(params_.size));
        throw std::runtime_error(text);
    }
    return memory_ + offset;
}

void Dram::drive(Axi4Wires &wires, uint64_t now) {
    wires.arReady = reads_.size() < MAX_OUTSTANDING;
    wires.awReady = writes_.size() < MAX_OUTSTANDING;
    if (!readOffered_ && !reads_.empty() && now >= reads_.front().readyAt && meter_.free(now)) {
        readOffered_ = true;
        meter_.charge(now, 8);
    }
    wires.rValid = readOffered_;
    if (readOffered_) {
        const Burst &burst = reads_.front();
        wires.rId = burst.id;
        wires.rLast = burst.left == 1;
        wires.rResp = AXI_OKAY;
        std::memcpy(&wires.rData, at(burst.addr), 8);
    }
    wires.wReady = !writes_.empty() && (readOffered_ || meter_.free(now));
    wires.bValid = !responses_.empty() && now >= responses_.front().readyAt;
    if (wires.bValid) {
        wires.bId = responses_.front().id;
        wires.bResp = AXI_OKAY;
    }
}

void Dram::sample(const Axi4Wires &wires, uint64_t now) {
    if (wires.rValid && wires.rReady) {
        Burst &burst = reads_.front();
        burst.addr += 8;
        bytesRead_ += 8;
        readOffered_ = false;
        if (--burst.left == 0) {
            reads_.pop_front();
        }
    }
    if (wires.bValid && wires.bReady) {
        responses_.pop_front();
    }
    if (wires.wValid && wires.wReady) {
        Burst &burst = writes_.front();
        uint8_t *const word = at(burst.addr);
        if (wires.wStrb == 0xFF) {
            std::memcpy(word, &wires.wData, 8);
        } else {
            for (unsigned i = 0; i < 8; i++) {
                if (wires.wStrb >> i & 1) {
                    word[i] = static_cast<uint8_t>(wires.wData >> (8 * i));
                }
            }
        }
        meter_.charge(now, 8);
        burst.addr += 8;
        bytesWritten_ += 8;
        if (wires.wLast != (burst.left == 1)) {
            throw std::runtime_error("DRAM port: WLAST does not fit the burst length of its address");
        }
        if (--burst.left == 0) {
            responses_.push_back({burst.id, now + params_.writeLatency});
            writes_.pop_front();
        }
    }
    if (wires.arValid && wires.arReady) {
        reads_.push_back({wires.arAddr, static_cast<uint16_t>(wires.arLen + 1), wires.arId, now + params_.readLatency});
    }
    if (wires.awValid && wires.awReady) {
        writes_.push_back({wires.awAddr, static_cast<uint16_t>(wires.awLen + 1), wires.awId, 0});
    }
}

} // namespace assasin
