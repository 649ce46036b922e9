/* Identify data. Offsets are those of the NVM Express Base Specification 1.4, figures 245 (namespace) and 247
 * (controller). */
#include <string.h>

#include "nvme/nvme.h"

enum { CNS_NAMESPACE = 0x00, CNS_CONTROLLER = 0x01, CNS_ACTIVE_LIST = 0x02, CNS_DESCRIPTORS = 0x03 };

#define NSID_ALL 0xffffffffu
#define VER_1_4  0x00010400u

static uint8_t *bytes(void) {
    return (uint8_t *)admin_buffer;
}

static void put16(uint32_t at, uint32_t v) {
    bytes()[at] = (uint8_t)v;
    bytes()[at + 1] = (uint8_t)(v >> 8);
}

static void put32(uint32_t at, uint32_t v) {
    put16(at, v);
    put16(at + 2, v >> 16);
}

static void put_text(uint32_t at, uint32_t width, const char *text) {
    for (uint32_t i = 0; i < width; i++) {
        bytes()[at + i] = (uint8_t)(*text != 0 ? *text++ : ' ');
    }
}

static void identify_controller(void) {
    put16(0, 0x10ee); /* VID, SSVID: the XDMA IP's */
    put16(2, 0x10ee);
    put_text(4, 20, "ASSASIN00000001");
    put_text(24, 40, "ASSASIN computational SSD");
    put_text(64, 8, FW_VERSION);
    bytes()[72] = 0;          /* RAB */
    bytes()[77] = 5;          /* MDTS: 2^5 pages of 4 KiB */
    put16(78, 1);             /* CNTLID */
    put32(80, VER_1_4);       /* VER */
    put32(92, 0);             /* OAES: none optional */
    put32(96, 0);             /* CTRATT */
    bytes()[111] = 1;         /* CNTRLTYPE: I/O controller */
    put16(256, 0);            /* OACS: none */
    bytes()[258] = 3;         /* ACL, 0-based */
    bytes()[259] = NVME_AERL; /* AERL */
    bytes()[260] = 0x03;      /* FRMW: one slot, read only */
    bytes()[261] = 0x06;      /* LPA: effects log, extended data */
    bytes()[262] = NVME_ELPE; /* ELPE */
    bytes()[263] = 0;         /* NPSS */
    put16(266, 343);          /* WCTEMP, CCTEMP: kelvin */
    put16(268, 353);
    bytes()[512] = 0x66;            /* SQES */
    bytes()[513] = 0x44;            /* CQES */
    put16(514, NVME_COMMANDS - 32); /* MAXCMD */
    put32(516, 1);                  /* NN */
    put16(520, 0x1c);               /* ONCS: data set management, write zeroes, save/select */
    bytes()[525] = 0;               /* VWC: none */
    put16(526, 0);                  /* AWUN, AWUPF: one block */
    put32(536, 0);                  /* SGLS: none */
    static const char nqn[] = "nqn.2024-01.org.assasin:ASSASIN00000001";
    memcpy(bytes() + 768, nqn, sizeof nqn);
    put16(2048, 2500); /* PSD0: 25 W maximum, the slot's */
}

static void identify_namespace(void) {
    put32(0, ftl.lbas);      /* NSZE */
    put32(8, ftl.lbas);      /* NCAP */
    put32(16, ftl.lbas);     /* NUSE: thin provisioning is not reported, so this equals NCAP */
    bytes()[25] = 0;         /* NLBAF, 0-based */
    bytes()[26] = 0;         /* FLBAS */
    bytes()[33] = 0x09;      /* DLFEAT: deallocated blocks read zeros; write zeroes may deallocate */
    bytes()[120 + 0] = 0x02; /* EUI64, locally administered */
    bytes()[120 + 1] = 'A';
    bytes()[120 + 2] = 'S';
    bytes()[120 + 7] = 1;
    put32(128, PAGE_LOG2 << 16); /* LBAF0: no metadata, 4 KiB */
}

static void identify_descriptors(void) {
    bytes()[0] = 1; /* EUI64 */
    bytes()[1] = 8;
    bytes()[4] = 0x02;
    bytes()[5] = 'A';
    bytes()[6] = 'S';
    bytes()[11] = 1;
}

void identify_command(struct nvme_cmd *cmd) {
    uint32_t cns = cmd->sqe[10] & 0xffu;
    uint32_t nsid = cmd_nsid(cmd);
    memset(admin_buffer, 0, sizeof admin_buffer);
    switch (cns) {
    case CNS_CONTROLLER:
        identify_controller();
        break;
    case CNS_NAMESPACE:
        /* All namespaces: what they have in common, which with one namespace is the same data. */
        if (nsid != 1 && nsid != NSID_ALL) {
            nvme_complete(cmd, NVME_INVALID_NS);
            return;
        }
        identify_namespace();
        break;
    case CNS_ACTIVE_LIST:
        if (nsid >= 0xfffffffeu) {
            nvme_complete(cmd, NVME_INVALID_NS);
            return;
        }
        if (nsid == 0 && ftl.lbas > 0) {
            admin_buffer[0] = 1;
        }
        break;
    case CNS_DESCRIPTORS:
        if (nsid != 1) {
            nvme_complete(cmd, NVME_INVALID_NS);
            return;
        }
        identify_descriptors();
        break;
    default:
        nvme_complete(cmd, NVME_INVALID_FIELD);
        return;
    }
    admin_send(cmd, sizeof admin_buffer);
}
