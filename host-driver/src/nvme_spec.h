/* SPDX-License-Identifier: BSD-3-Clause */
/** \file The parts of the NVM Express Base Specification that the driver uses. */
#ifndef ASSASIN_SRC_NVME_SPEC_H
#define ASSASIN_SRC_NVME_SPEC_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Controller registers (BAR0). */
#define NVME_REG_CAP      0x00u
#define NVME_REG_VS       0x08u
#define NVME_REG_CC       0x14u
#define NVME_REG_CSTS     0x1Cu
#define NVME_REG_AQA      0x24u
#define NVME_REG_ASQ      0x28u
#define NVME_REG_ACQ      0x30u
#define NVME_REG_DOORBELL 0x1000u

#define NVME_CC_EN         1u
#define NVME_CC_SHN_NORMAL (1u << 14)
#define NVME_CC_QUEUE_ENTRIES                                                                                          \
    (6u << 16 | 4u << 20)                 /* 64-byte submission, 16-byte completion entries; MPS 0, NVM command set */
#define NVME_CC_ALL_SETS     (6u << 4)    /* CSS: all I/O command sets, where */
#define NVME_CAP_ALL_SETS    (1ull << 43) /* CSS bit 6 offers it */
#define NVME_CSTS_RDY        1u
#define NVME_CSTS_CFS        2u
#define NVME_CSTS_SHST(csts) ((csts) >> 2 & 3u)
#define NVME_SHST_COMPLETE   2u

/* Admin opcodes. */
#define NVME_ADMIN_CREATE_SQ    0x01u
#define NVME_ADMIN_GET_LOG_PAGE 0x02u
#define NVME_ADMIN_CREATE_CQ    0x05u
#define NVME_ADMIN_IDENTIFY     0x06u
#define NVME_ADMIN_SET_FEATURES 0x09u
#define NVME_ADMIN_ASYNC_EVENT  0x0Cu

/* NVM opcodes. */
#define NVME_FLUSH              0x00u
#define NVME_WRITE              0x01u
#define NVME_READ               0x02u
#define NVME_COMPARE            0x05u
#define NVME_WRITE_ZEROES       0x08u
#define NVME_DATASET_MANAGEMENT 0x09u

/* Most blocks of a command: NLB has 16 bits and counts from 0. */
#define NVME_MAX_BLOCKS 65536u

/* Dataset Management. */
#define NVME_DSM_DEALLOCATE (1u << 2)
#define NVME_DSM_RANGES     256u
struct nvme_dsm_range {
    uint32_t attributes;
    uint32_t blocks;
    uint64_t lba;
};
static_assert(sizeof(struct nvme_dsm_range) == 16,
              "NVM Command Set Specification, Dataset Management: 16 bytes a range");

#define NVME_FEATURE_QUEUES 0x07u

/* Identify. */
#define NVME_CNS_NAMESPACE  0u
#define NVME_CNS_CONTROLLER 1u
#define NVME_IDENTIFY_BYTES 4096u
#define NVME_ID_SERIAL      4u  /* 20 characters */
#define NVME_ID_MODEL       24u /* 40 characters */
#define NVME_ID_FIRMWARE    64u /* 8 characters */
#define NVME_ID_MDTS        77u
#define NVME_IDNS_NSZE      0u
#define NVME_IDNS_FLBAS     26u
#define NVME_IDNS_LBAF      128u /* 4 bytes each; byte 2 = LBADS */

/* Status (SCT << 8 | SC). */
#define NVME_STATUS_LBA_OUT_OF_RANGE 0x080u

/** Completion queue entry. */
struct nvme_cqe {
    uint32_t dw0;
    uint32_t dw1;
    uint16_t sq_head;
    uint16_t sq_id;
    uint32_t id_status; /**< [15:0] command id, [16] phase, [31:17] status field */
};
static_assert(sizeof(struct nvme_cqe) == 16, "nvme_cqe size");
static_assert(offsetof(struct nvme_cqe, id_status) == 12, "nvme_cqe.id_status offset");

#endif
