/* SPDX-License-Identifier: BSD-3-Clause */
/* Identify data. Offsets are those of the NVM Express Base Specification 1.4, figures 245 (namespace) and 247
 * (controller), and of the Base Specification 2.0 for what belongs to command sets. */
#include <string.h>

#include "nvme/nvme.h"

enum {
    CNS_NAMESPACE = 0x00,
    CNS_CONTROLLER = 0x01,
    CNS_ACTIVE_LIST = 0x02,
    CNS_DESCRIPTORS = 0x03,
    CNS_SET_NAMESPACE = 0x05,
    CNS_SET_CONTROLLER = 0x06,
    CNS_SET_ACTIVE_LIST = 0x07,
    CNS_ANY_NAMESPACE = 0x08,
    CNS_SETS = 0x1c,
};

/** Block erase; blocks are always deallocated afterwards, and the medium is as it was erased. */
#define SANITIZE_CAPABILITIES (1u << 1 | 1u << 29 | 1u << 30)
#define CONTROLLER_ID         1u
#define VER_1_4               0x00010400u
static void put_text(uint32_t at, uint32_t width, const char *text) {
    for (uint32_t i = 0; i < width; i++) {
        put8(at + i, (uint32_t)(*text != 0 ? *text++ : ' '));
    }
}

static void identify_controller(void) {
    put16(0, 0x10ee); /* VID, SSVID: the XDMA IP's */
    put16(2, 0x10ee);
    char serial[SERIAL_BYTES];
    identity_serial(serial);
    memcpy((uint8_t *)admin_buffer + 4, serial, sizeof serial);
    put_text(24, 40, "ASSASIN computational SSD");
    put_text(64, 8, FW_VERSION);
    put8(77, 5);                                                   /* MDTS: 2^5 pages of 4 KiB */
    put16(78, CONTROLLER_ID);                                      /* CNTLID */
    put32(80, VER_1_4);                                            /* VER */
    put32(88, controller_patience(ftl_bounds.shutdown_ms) * 1000); /* RTD3E: a checkpoint of everything, microseconds */
    put32(92, 1u << 8);                                            /* OAES: namespace attributes */
    put8(111, 1);                                                  /* CNTRLTYPE: I/O controller */
    put16(256, 1u << 1 | 1u << 4);                                 /* OACS: format, device self-test */
    put8(258, 3);                                                  /* ACL, 0-based */
    put8(259, NVME_AERL);                                          /* AERL */
    put8(260, 0x03);                                               /* FRMW: one slot, read only */
    put8(261, 0x07);      /* LPA: health log of a namespace, effects log, extended data */
    put8(262, NVME_ELPE); /* ELPE */
    put16(266, 343);      /* WCTEMP, CCTEMP: kelvin */
    put16(268, 353);
    put64(280, (uint64_t)ftl.lbas * PAGE_SIZE); /* TNVMCAP */
    put16(316, test_minutes());                 /* EDSTT */
    put8(318, 1);                               /* DSTO: one test at a time */
    put32(328, SANITIZE_CAPABILITIES);          /* SANICAP */
    put8(512, 0x66);                            /* SQES */
    put8(513, 0x44);                            /* CQES */
    put16(514, NVME_COMMANDS - 32);             /* MAXCMD */
    put32(516, namespace_count());              /* NN */
    put16(520, 0xdf);                           /* ONCS: compare, write uncorrectable, data set management, write
                                                   zeroes, save/select, timestamp, verify */
    put8(524, 0x00);                            /* FNA: formats and erases a namespace; no cryptographic erase */
    put8(525, 0x06 | ftl_has_cache());          /* VWC: where pages have several sectors; Flush takes NSID FFFFFFFFh */
    static const char nqn[] = "nqn.2024-01.org.assasin:";
    memcpy((uint8_t *)admin_buffer + 768, nqn, sizeof nqn - 1);
    memcpy((uint8_t *)admin_buffer + 768 + sizeof nqn - 1, serial, sizeof serial);
    put16(2048, 2500); /* PSD0: 25 W maximum, the slot's */
}

static void put_eui64(uint32_t at, uint32_t nsid) {
    put8(at, 0x02); /* locally administered */
    for (uint32_t i = 0; i < IDENTITY_BITS / 8; i++) {
        put8(at + 1 + i, (uint32_t)(drive_identity >> (IDENTITY_BITS - 8 - 8 * i)));
    }
    put8(at + 7, nsid);
}

static void identify_namespace(void) {
    put64(0, ftl.lbas);                        /* NSZE */
    put64(8, ftl.lbas);                        /* NCAP */
    put64(16, ftl.lbas);                       /* NUSE: thin provisioning is not reported, so this equals NCAP */
    put8(24, 1u << 2);                         /* NSFEAT: reads of deallocated blocks may fail */
    put8(33, 0x09);                            /* DLFEAT: deallocated blocks read zeros; write zeroes may deallocate */
    put64(48, (uint64_t)ftl.lbas * PAGE_SIZE); /* NVMCAP */
    put_eui64(120, NSID_DRIVE);
    put32(128, PAGE_LOG2 << 16); /* LBAF0: no metadata, 4 KiB */
}

static void identify_descriptors(uint32_t nsid) {
    put8(0, 1); /* EUI64 */
    put8(1, 8);
    put_eui64(4, nsid);
    put8(12, 4); /* CSI */
    put8(13, 1);
    put8(16, namespace_csi(nsid));
}

/** List of active namespaces beyond `nsid`, of command set `csi`, or of any with -1. */
static void identify_list(uint32_t nsid, int csi) {
    uint32_t n = 0;
    for (uint32_t i = nsid + 1; i <= namespace_count(); i++) {
        if (namespace_active(i) && (csi < 0 || (int)namespace_csi(i) == csi)) {
            admin_buffer[n++] = i;
        }
    }
}

static bool set_known(uint32_t csi) {
    return csi == CSI_NVM || (controller_all_sets && (csi == CSI_MEMORY || csi == CSI_COMPUTE));
}

/** Data of one command set about namespace `nsid`. */
static void identify_set_namespace(uint32_t csi) {
    if (csi == CSI_MEMORY) {
        put64(0, DRAM_MEMORY_SIZE); /* size, capacity: bytes */
        put64(8, DRAM_MEMORY_SIZE);
    } else if (csi == CSI_COMPUTE) {
        put16(0, SCOMP_MAX_FUNCS);                       /* MAXACT */
        put16(2, PROGRAM_SETS);                          /* MAXMEMRS */
        put16(4, RANGE_ALIGN_LOG2);                      /* MRSG: a power of two */
        put8(6, PROGRAM_RANGES);                         /* MAXMEMR */
        put64(8, SCOMP_MAX_FUNCS * SCOMP_MAX_ELF >> 20); /* MAXPB, MiB */
        put8(16, 0);                                     /* LPG: parts of any length, 2^0 */
    }
}

static void identify_set_controller(uint32_t csi) {
    if (csi == CSI_NVM) {
        /* Verify and Dataset Management have no limits of their own, nor has Write Zeroes. */
        put8(2, IO_LOSE_MOST_LOG2); /* WUSL */
    }
}

/** What a namespace of any command set has. */
static void identify_any(void) {
    put8(1, 0);  /* NMIC: one controller */
    put8(14, 1); /* NSTAT: ready */
}

/** Refuse the command unless its NSID may be asked about; `inactive`: one that is not active reads as zeros. */
static bool bad_nsid(struct nvme_cmd *cmd, bool inactive) {
    uint32_t status = namespace_check(cmd_nsid(cmd));
    if (status == NVME_OK) {
        return false;
    }
    if (inactive && status == NVME_INVALID_FIELD && cmd_nsid(cmd) != NSID_ALL) {
        admin_send(cmd, sizeof admin_buffer);
    } else {
        nvme_refuse(cmd, NVME_INVALID_NS, 1);
    }
    return true;
}

void identify_command(struct nvme_cmd *cmd) {
    uint32_t cns = cmd->sqe[10] & 0xffu;
    uint32_t controller_id = cmd->sqe[10] >> 16;
    uint32_t csi = cmd->sqe[11] >> 24;
    uint32_t nsid = cmd_nsid(cmd);
    memset(admin_buffer, 0, sizeof admin_buffer);
    switch (cns) {
    case CNS_CONTROLLER:
        identify_controller();
        break;
    case CNS_NAMESPACE:
        /* All namespaces: what they have in common, which with one namespace of blocks is the same data. */
        if (nsid != NSID_ALL && bad_nsid(cmd, true)) {
            return;
        }
        if (nsid != NSID_ALL && namespace_csi(nsid) != CSI_NVM) {
            nvme_refuse(cmd, NVME_COMMAND_SET, 1);
            return;
        }
        identify_namespace();
        break;
    case CNS_ACTIVE_LIST:
    case CNS_SET_ACTIVE_LIST:
        if (nsid >= 0xfffffffeu) {
            nvme_refuse(cmd, NVME_INVALID_NS, 1);
            return;
        }
        if (cns == CNS_SET_ACTIVE_LIST && !set_known(csi)) {
            nvme_refuse(cmd, NVME_INVALID_FIELD, 11);
            return;
        }
        identify_list(nsid, cns == CNS_ACTIVE_LIST ? -1 : (int)csi);
        break;
    case CNS_DESCRIPTORS:
        if (bad_nsid(cmd, false)) {
            return;
        }
        identify_descriptors(nsid);
        break;
    case CNS_SET_NAMESPACE:
        if (bad_nsid(cmd, true)) {
            return;
        }
        if (!set_known(csi) || namespace_csi(nsid) != csi) {
            nvme_refuse(cmd, set_known(csi) ? NVME_COMMAND_SET : NVME_INVALID_FIELD, 11);
            return;
        }
        identify_set_namespace(csi);
        break;
    case CNS_SET_CONTROLLER:
        if (!set_known(csi)) {
            nvme_refuse(cmd, NVME_INVALID_FIELD, 11);
            return;
        }
        identify_set_controller(csi);
        break;
    case CNS_ANY_NAMESPACE:
        if (bad_nsid(cmd, true)) {
            return;
        }
        identify_any();
        break;
    case CNS_SETS:
        /* FFFFh: this one; 0: a host that does not say. */
        if (!controller_all_sets ||
            (controller_id != 0 && controller_id != 0xffffu && controller_id != CONTROLLER_ID)) {
            nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
            return;
        }
        admin_buffer[0] = 1u << CSI_NVM | 1u << CSI_MEMORY | 1u << CSI_COMPUTE;
        break;
    default:
        nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
        return;
    }
    admin_send(cmd, sizeof admin_buffer);
}
