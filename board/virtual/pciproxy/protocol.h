/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * The remote-PCI wire protocol of the virtual board's door: what QEMU's device `x-pci-proxy-dev` speaks over a unix
 * stream socket.
 *
 * Every message is a pci_proxy_header followed by `size` payload bytes, little-endian. File descriptors travel as
 * SCM_RIGHTS with the header. The visitor (QEMU, libassasin) sends; the board answers the messages marked "reply" with
 * one PCI_PROXY_RET, in order. C11 and C++17. Constants after the structs fix the board's PCI function as visitors find
 * it.
 */
#ifndef ASSASIN_PCIPROXY_PROTOCOL_H
#define ASSASIN_PCIPROXY_PROTOCOL_H

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
#else
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#endif

/** Values of pci_proxy_header.cmd. */
enum pci_proxy_cmd {
    PCI_PROXY_SYNC_SYSMEM = 0, /**< pci_proxy_sysmem + one memory fd a region (at most 8); replaces the map; no reply */
    PCI_PROXY_RET = 1,         /**< board to visitor: uint64_t result of the oldest unanswered message */
    PCI_PROXY_CFG_WRITE = 2,   /**< pci_proxy_cfg; reply 0 */
    PCI_PROXY_CFG_READ = 3,    /**< pci_proxy_cfg (val unused); reply the value */
    PCI_PROXY_BAR_WRITE = 4,   /**< pci_proxy_bar; reply 0 once the device has taken the write */
    PCI_PROXY_BAR_READ = 5,    /**< pci_proxy_bar (val unused); reply the value, all ones when nothing answers */
    PCI_PROXY_SET_IRQFD = 6,   /**< no payload, two eventfds: interrupt and resample; no reply */
    PCI_PROXY_DEVICE_RESET = 7, /**< no payload; reply 0 once the function is reset */
};

/** Most memory regions (and fds) of one SYNC_SYSMEM. */
#define PCI_PROXY_MAX_REGIONS 8

/** Precedes every message. */
struct pci_proxy_header {
    int32_t cmd;   /**< pci_proxy_cmd */
    uint32_t pad;  /**< 0 */
    uint64_t size; /**< payload bytes that follow */
};

/** Payload of SYNC_SYSMEM: region i is `size[i]` bytes at bus address `gpa[i]`, backed by fd i from byte `offset[i]`.
 */
struct pci_proxy_sysmem {
    uint64_t gpa[PCI_PROXY_MAX_REGIONS];
    uint64_t size[PCI_PROXY_MAX_REGIONS];
    int64_t offset[PCI_PROXY_MAX_REGIONS];
};

/** Payload of CFG_READ and CFG_WRITE. */
struct pci_proxy_cfg {
    uint32_t addr; /**< byte offset in configuration space, 0..255 */
    uint32_t val;  /**< value to write, in the low bytes */
    int32_t len;   /**< 1, 2 or 4 */
};

/** Payload of BAR_READ and BAR_WRITE. */
struct pci_proxy_bar {
    uint64_t addr;  /**< absolute bus address (BAR base as programmed + offset) */
    uint64_t val;   /**< value to write */
    uint32_t size;  /**< 1, 2, 4 or 8 bytes, naturally aligned */
    uint8_t memory; /**< 1: memory space (the board has no I/O BAR) */
    uint8_t pad[3];
};

#ifdef __cplusplus
#define PCI_PROXY_ASSERT(cond) static_assert(cond, #cond)
#else
#define PCI_PROXY_ASSERT(cond) _Static_assert(cond, #cond)
#endif
PCI_PROXY_ASSERT(sizeof(struct pci_proxy_header) == 16);
PCI_PROXY_ASSERT(offsetof(struct pci_proxy_header, size) == 8);
PCI_PROXY_ASSERT(sizeof(struct pci_proxy_sysmem) == 192);
PCI_PROXY_ASSERT(sizeof(struct pci_proxy_cfg) == 12);
PCI_PROXY_ASSERT(sizeof(struct pci_proxy_bar) == 24);
PCI_PROXY_ASSERT(offsetof(struct pci_proxy_bar, memory) == 20);
#undef PCI_PROXY_ASSERT

/* The board's function: type 0 header, INTA, two 64-bit non-prefetchable memory BARs. NVMe has its registers in BAR0
 * and BAR1 (MLBAR, MUBAR), so the DMA engine's are in BAR2 and BAR3. */
#define BOARD_PCI_VENDOR   0x10EEu
#define BOARD_PCI_DEVICE   0x7028u
#define BOARD_PCI_CLASS    0x010802u /**< NVM Express I/O controller */
#define BOARD_BAR0_SIZE    0x400000u
#define BOARD_BAR2_SIZE    0x10000u
#define BOARD_BAR_NVME     0 /**< BAR0: NVMe registers at 0, CTRL at 0x8000, controller memory at 0x200000 */
#define BOARD_BAR_XDMA     2 /**< BAR2: XDMA registers, MSI-X table and PBA */
#define BOARD_MSIX_VECTORS 32u
#define BOARD_MSIX_TABLE   0x8000u /**< offset in BAR2 */
#define BOARD_MSIX_PBA     0x8FE0u /**< offset in BAR2 */

/* Configuration space offsets a visitor needs (type 0 header; the capabilities stay where they are here). */
#define BOARD_CFG_COMMAND  0x04u /**< [1] memory space, [2] bus master, [10] INTx disable */
#define BOARD_CFG_BAR0     0x10u /**< and its upper half */
#define BOARD_CFG_BAR2     0x18u /**< likewise */
#define BOARD_CFG_CAP_PM   0x40u
#define BOARD_CFG_CAP_MSIX 0x48u /**< message control at +2: [15] enable, [14] function mask */
#define BOARD_CFG_CAP_PCIE 0x54u

#endif
