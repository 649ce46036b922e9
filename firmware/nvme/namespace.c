/* SPDX-License-Identifier: BSD-3-Clause */
/* Namespaces: the drive's blocks, and, with all command sets, local memory and programs. */
#include "nvme/nvme.h"

uint32_t namespace_count(void) {
    return controller_all_sets ? NSID_COMPUTE : NSID_DRIVE;
}

bool namespace_active(uint32_t nsid) {
    return nsid == NSID_DRIVE ? ftl.lbas > 0 : nsid != 0 && nsid <= namespace_count();
}

enum nvme_csi namespace_csi(uint32_t nsid) {
    return nsid == NSID_MEMORY ? CSI_MEMORY : nsid == NSID_COMPUTE ? CSI_COMPUTE : CSI_NVM;
}

uint32_t namespace_check(uint32_t nsid) {
    if (nsid == NSID_ALL) {
        return NVME_INVALID_FIELD;
    }
    if (nsid == 0 || nsid > namespace_count()) {
        return NVME_INVALID_NS;
    }
    return namespace_active(nsid) ? NVME_OK : NVME_INVALID_FIELD;
}
