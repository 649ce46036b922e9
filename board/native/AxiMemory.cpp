// SPDX-License-Identifier: BSD-3-Clause
#include "AxiMemory.h"

#include <cstring>

namespace assasin {

void AxiMemory::drive(Axi4Wires &wires) const {
    wires.arReady = wires.awReady = true;
    wires.rValid = !reads_.empty();
    if (wires.rValid) {
        const Burst &burst = reads_.front();
        const uint8_t *const word = at_(burst.address);
        wires.rId = burst.id;
        wires.rLast = burst.left == 1;
        wires.rResp = word != nullptr ? AXI_OKAY : AXI_DECERR;
        wires.rData = 0;
        if (word != nullptr) {
            std::memcpy(&wires.rData, word, 8);
        }
    }
    wires.wReady = !writes_.empty();
    wires.bValid = !written_.empty();
    if (wires.bValid) {
        wires.bId = written_.front().id;
        wires.bResp = written_.front().error ? AXI_DECERR : AXI_OKAY;
    }
}

void AxiMemory::sample(const Axi4Wires &wires) {
    if (wires.rValid && wires.rReady) {
        reads_.front().address += 8;
        if (--reads_.front().left == 0) {
            reads_.pop_front();
        }
    }
    if (wires.bValid && wires.bReady) {
        written_.pop_front();
    }
    if (wires.wValid && wires.wReady) {
        Burst &burst = writes_.front();
        uint8_t *const word = at_(burst.address);
        burst.error |= word == nullptr;
        for (unsigned i = 0; i < 8 && word != nullptr; i++) {
            if (wires.wStrb >> i & 1) {
                word[i] = static_cast<uint8_t>(wires.wData >> (8 * i));
            }
        }
        burst.address += 8;
        if (--burst.left == 0) {
            written_.push_back(burst);
            writes_.pop_front();
        }
    }
    if (wires.arValid && wires.arReady) {
        reads_.push_back({wires.arAddr & ~7u, uint32_t(wires.arLen) + 1, wires.arId});
    }
    if (wires.awValid && wires.awReady) {
        writes_.push_back({wires.awAddr & ~7u, uint32_t(wires.awLen) + 1, wires.awId});
    }
}

} // namespace assasin
