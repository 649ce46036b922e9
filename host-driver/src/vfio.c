/* SPDX-License-Identifier: BSD-3-Clause */
/* Transport over the kernel's vfio-pci: BAR0 is mapped, memory is pinned and, with an IOMMU, mapped for the drive. In
 * no-IOMMU mode the drive sees physical addresses: memory is huge pages then, each of them one run of addresses. */
#define _GNU_SOURCE
#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Where the drive sees the memory when an IOMMU translates: above 4 GiB, outside the window for interrupt messages. */
#define MEMORY_IOVA      0x100000000ull
#define HUGE             (2u << 20)
#define PAGE             4096u
#define PAGEMAP_PRESENT  (1ull << 63)
#define PAGEMAP_FRAME    ((1ull << 55) - 1)
#define PCI_COMMAND      4u
#define PCI_MEMORY       0x2u
#define PCI_MASTER       0x4u
#define REGISTER_VERSION 0x08u
#define GONE             UINT32_MAX
#define LOOK_NS          100000000ll

struct vfio {
    struct transport base;
    int container, group, device;
    volatile uint8_t *bar;
    size_t bar_bytes;
    uint64_t *runs;
    uint64_t config; /* offset of the configuration space in the device's file */
    int64_t looked_ns;
    bool mastering;
};

static struct vfio *vfio_of(struct transport *t) {
    return (struct vfio *)t;
}

static int vfio_read32(struct transport *t, uint32_t offset, uint32_t *value) {
    *value = *(const volatile uint32_t *)(vfio_of(t)->bar + offset);
    return 0;
}

static int vfio_write32(struct transport *t, uint32_t offset, uint32_t value) {
    /* What the processor wrote to shared memory before has to be there first. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    *(volatile uint32_t *)(vfio_of(t)->bar + offset) = value;
    return 0;
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int vfio_sleep(struct transport *t, unsigned microseconds) {
    struct vfio *v = vfio_of(t);
    struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000L};
    nanosleep(&time, NULL);
    int64_t now = now_ns();
    if (now - v->looked_ns < LOOK_NS)
        return 0;
    v->looked_ns = now;
    uint32_t version;
    vfio_read32(t, REGISTER_VERSION, &version);
    if (version == GONE)
        return error_set(t->error, ENODEV, "the drive has left the bus: its registers read all ones");
    return 0;
}

static int command(struct vfio *v, uint16_t set, uint16_t clear) {
    uint16_t value;
    off_t at = (off_t)(v->config + PCI_COMMAND);
    if (pread(v->device, &value, sizeof(value), at) != sizeof(value))
        return -EIO;
    value = (uint16_t)((value | set) & ~clear);
    return pwrite(v->device, &value, sizeof(value), at) == sizeof(value) ? 0 : -EIO;
}

static void vfio_close(struct transport *t) {
    struct vfio *v = vfio_of(t);
    /* The drive must not reach memory any more that goes back to the system. */
    if (v->mastering)
        (void)command(v, 0, PCI_MASTER);
    if (v->bar)
        munmap((void *)(uintptr_t)v->bar, v->bar_bytes);
    if (v->base.memory)
        munmap(v->base.memory, v->base.memory_bytes);
    if (v->device >= 0)
        close(v->device);
    if (v->group >= 0)
        close(v->group);
    if (v->container >= 0)
        close(v->container);
    free(v->runs);
    free(v);
}

static const struct transport_ops vfio_ops = {vfio_read32, vfio_write32, vfio_sleep, vfio_close};

/* Finds the IOMMU group of the function; with a dummy group of its own in no-IOMMU mode. */
static int open_group(struct vfio *v, const char *address, bool *no_iommu) {
    struct assasin_error *error = v->base.error;
    char path[256], target[256];
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", address);
    struct stat s;
    if (stat(path, &s))
        return error_set(error, ENOENT, "there is no PCI function %s: lspci -D names them", address);
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", address);
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    const char *number = NULL;
    if (n > 0) {
        target[n] = 0;
        number = strrchr(target, '/');
    }
    if (!number)
        return error_set(error, ENODEV, "%s has no IOMMU group: bind it to vfio-pci (docs/vm.md)", address);
    number++;
    snprintf(path, sizeof(path), "/dev/vfio/%s", number);
    *no_iommu = false;
    if ((v->group = open(path, O_RDWR | O_CLOEXEC)) < 0 && errno == ENOENT) {
        snprintf(path, sizeof(path), "/dev/vfio/noiommu-%s", number);
        v->group = open(path, O_RDWR | O_CLOEXEC);
        *no_iommu = v->group >= 0;
    }
    if (v->group < 0)
        return error_set(error, errno, "%s: %s%s", path, strerror(errno),
                         errno == ENOENT ? ": bind the function to vfio-pci (docs/vm.md)" : "");
    return 0;
}

static int open_device(struct vfio *v, const char *address, bool no_iommu) {
    struct assasin_error *error = v->base.error;
    struct vfio_group_status status = {.argsz = sizeof(status)};
    v->container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
    if (v->container < 0)
        return error_set(error, errno, "/dev/vfio/vfio: %s", strerror(errno));
    if (ioctl(v->group, VFIO_GROUP_GET_STATUS, &status) || !(status.flags & VFIO_GROUP_FLAGS_VIABLE))
        return error_set(error, EBUSY, "%s shares its IOMMU group with functions that other drivers have", address);
    if (ioctl(v->group, VFIO_GROUP_SET_CONTAINER, &v->container) ||
        ioctl(v->container, VFIO_SET_IOMMU, no_iommu ? VFIO_NOIOMMU_IOMMU : VFIO_TYPE1v2_IOMMU))
        return error_set(error, errno, "%s: vfio refuses: %s", address, strerror(errno));
    v->device = ioctl(v->group, VFIO_GROUP_GET_DEVICE_FD, address);
    if (v->device < 0)
        return error_set(error, errno, "%s: vfio-pci does not have it: %s", address, strerror(errno));
    return 0;
}

static int map_bar(struct vfio *v) {
    struct vfio_region_info bar = {.argsz = sizeof(bar), .index = VFIO_PCI_BAR0_REGION_INDEX};
    struct vfio_region_info config = {.argsz = sizeof(config), .index = VFIO_PCI_CONFIG_REGION_INDEX};
    if (ioctl(v->device, VFIO_DEVICE_GET_REGION_INFO, &bar) || ioctl(v->device, VFIO_DEVICE_GET_REGION_INFO, &config))
        return error_set(v->base.error, errno, "vfio names no regions: %s", strerror(errno));
    if (!(bar.flags & VFIO_REGION_INFO_FLAG_MMAP) || bar.size < 0x8000 + PAGE)
        return error_set(v->base.error, ENXIO, "BAR0 has %llu bytes: this is not an ASSASIN drive",
                         (unsigned long long)bar.size);
    v->config = config.offset;
    v->bar_bytes = bar.size;
    void *at = mmap(NULL, bar.size, PROT_READ | PROT_WRITE, MAP_SHARED, v->device, (off_t)bar.offset);
    if (at == MAP_FAILED)
        return error_set(v->base.error, errno, "BAR0 cannot be mapped: %s", strerror(errno));
    v->bar = at;
    int rc = command(v, PCI_MEMORY | PCI_MASTER, 0);
    v->mastering = !rc;
    return rc ? error_set(v->base.error, -rc, "the configuration space cannot be written") : 0;
}

static int map_for_iommu(struct vfio *v) {
    struct vfio_iommu_type1_dma_map map = {
        .argsz = sizeof(map),
        .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
        .vaddr = (uintptr_t)v->base.memory,
        .iova = MEMORY_IOVA,
        .size = v->base.memory_bytes,
    };
    v->base.memory_bus = MEMORY_IOVA;
    if (ioctl(v->container, VFIO_IOMMU_MAP_DMA, &map))
        return error_set(v->base.error, errno, "%zu bytes cannot be mapped for the drive: %s (ulimit -l?)",
                         v->base.memory_bytes, strerror(errno));
    return 0;
}

static int find_physical(struct vfio *v) {
    size_t runs = v->base.memory_bytes / HUGE;
    int rc = 0, pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    v->runs = calloc(runs, sizeof(*v->runs));
    if (!v->runs)
        rc = error_set(v->base.error, ENOMEM, "out of memory");
    for (size_t i = 0; i < runs && !rc; i++) {
        uint64_t entry = 0, at = (uintptr_t)v->base.memory + i * HUGE;
        if (pread(pagemap, &entry, sizeof(entry), (off_t)(at / PAGE * sizeof(entry))) != sizeof(entry) ||
            !(entry & PAGEMAP_PRESENT) || !(entry & PAGEMAP_FRAME))
            rc = error_set(v->base.error, EPERM,
                           "no physical addresses: without an IOMMU only root can use a drive through vfio");
        v->runs[i] = (entry & PAGEMAP_FRAME) * PAGE;
    }
    if (pagemap >= 0)
        close(pagemap);
    v->base.run_bytes = HUGE;
    v->base.run_bus = v->runs;
    return rc;
}

static int share_memory(struct vfio *v, size_t bytes, bool no_iommu) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | (no_iommu ? MAP_HUGETLB | 21 << MAP_HUGE_SHIFT : 0);
    v->base.memory_bytes = no_iommu ? (bytes + HUGE - 1) / HUGE * HUGE : bytes;
    void *at = mmap(NULL, v->base.memory_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED && no_iommu)
        return error_set(v->base.error, ENOMEM,
                         "%zu huge pages of 2 MiB are needed without an IOMMU: sysctl vm.nr_hugepages=%zu",
                         v->base.memory_bytes / HUGE, v->base.memory_bytes / HUGE);
    if (at == MAP_FAILED)
        return error_set(v->base.error, errno, "no memory of %zu bytes: %s", bytes, strerror(errno));
    v->base.memory = at;
    return no_iommu ? find_physical(v) : map_for_iommu(v);
}

int vfio_open(const char *address, size_t memory_bytes, struct assasin_error *error, struct transport **out) {
    struct vfio *v = calloc(1, sizeof(*v));
    if (!v)
        return error_set(error, ENOMEM, "out of memory");
    v->base.ops = &vfio_ops;
    v->base.error = error;
    v->container = v->group = v->device = -1;
    bool no_iommu = false;
    int rc;
    if ((rc = open_group(v, address, &no_iommu)) || (rc = open_device(v, address, no_iommu)) || (rc = map_bar(v)) ||
        (rc = share_memory(v, memory_bytes, no_iommu))) {
        vfio_close(&v->base);
        return rc;
    }
    *out = &v->base;
    return 0;
}
