// SPDX-License-Identifier: BSD-3-Clause
/*
 * What tells this drive from others in a host: serial number, NQN and EUI64s are made of one identifier. The medium
 * keeps it; one that has none takes what the loader gives.
 */
#include "nvme/nvme.h"
#include "platform/console.h"

#ifdef ASSASIN_HOST_BUILD
#define LOADER_DATA __attribute__((visibility("default")))
#else
#define LOADER_DATA __attribute__((aligned(8)))
#endif

/** Of a drive to which nobody has given one. */
#define NO_IDENTITY 1u
/** Where ftl_owner_data has it: behind the counters of the health log. */
#define SAVED_LO (SAVED_IDENTITY / 4u)
#define SAVED_HI (SAVED_LO + 1u)

/** The loader writes it into the image, so the compiler must not know what it holds. */
LOADER_DATA volatile struct drive_identity loader_identity = {.magic = {IDENTITY_MAGIC_LO, IDENTITY_MAGIC_HI}};

uint64_t drive_identity;

static bool storing;

static void stored(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    storing = false;
    if (status != FTL_OK) {
        console_printf("drive: its identity could not be stored\n");
    }
}

/** The medium has it before a host sees it. */
static void store(void) {
    static struct ftl_checkpoint checkpoint;
    checkpoint = (struct ftl_checkpoint){.x.done = stored, .clean = ftl.clean};
    ftl.owner_changed = true;
    storing = true;
    ftl_checkpoint(&checkpoint);
    ftl_boot_wait(&storing);
}

uint32_t identity_spare(void) {
    return loader_identity.spare;
}

enum ftl_parity identity_parity(void) {
    return (loader_identity.flags & IDENTITY_FLAG_PARITY_ON) != 0    ? FTL_PARITY_ON
           : (loader_identity.flags & IDENTITY_FLAG_PARITY_OFF) != 0 ? FTL_PARITY_OFF
                                                                     : FTL_PARITY_USUAL;
}

void identity_init(void) {
    const uint64_t mask = ((uint64_t)1 << IDENTITY_BITS) - 1;
    uint64_t given = loader_identity.id & mask;
    uint64_t saved = (ftl_owner_data[SAVED_LO] | (uint64_t)ftl_owner_data[SAVED_HI] << 32) & mask;
    bool take = given != 0 && (saved == 0 || (loader_identity.flags & IDENTITY_FLAG_OVERRIDE) != 0);
    drive_identity = take ? given : saved != 0 ? saved : NO_IDENTITY;
    if (drive_identity != saved && take && ftl.lbas > 0) {
        ftl_owner_data[SAVED_LO] = (uint32_t)given;
        ftl_owner_data[SAVED_HI] = (uint32_t)(given >> 32);
        store();
    }
}

void identity_serial(char serial[SERIAL_BYTES]) {
    static const char prefix[] = "ASSASIN-";
    uint32_t n = 0;
    for (; prefix[n] != 0; n++) {
        serial[n] = prefix[n];
    }
    for (uint32_t bit = IDENTITY_BITS; bit > 0; n++) {
        bit -= 4;
        serial[n] = "0123456789ABCDEF"[drive_identity >> bit & 15u];
    }
}
