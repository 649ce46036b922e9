/* SPDX-License-Identifier: BSD-3-Clause */
/* Files as input: which blocks of a drive hold them, and that it stays so. */
#define _GNU_SOURCE
#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SECTOR 512u
/* Extents asked for at once. */
#define BATCH 256u
/* Beyond this a request does not fit one command anyway. */
#define MOST_EXTENTS (1u << 20)

struct assasin_file {
    struct assasin_layout layout;
    struct assasin_extent *extents;
    void *data;
    int fd;
    struct stat before;
    uint64_t device_start; /* byte of the namespace where the file system's partition begins */
    uint32_t block_bytes;
    const char *path;
    char path_text[];
};

/* Why a file's bytes are not simply in blocks of their own; NULL when they are. */
static const char *extent_trouble(uint32_t flags) {
    if (flags & FIEMAP_EXTENT_DATA_INLINE)
        return "some of its bytes are inside metadata (inline)";
    if (flags & (FIEMAP_EXTENT_DATA_ENCRYPTED))
        return "it is encrypted";
    if (flags & FIEMAP_EXTENT_ENCODED)
        return "it is compressed or encoded in another way";
    if (flags & FIEMAP_EXTENT_DATA_TAIL)
        return "its tail shares a block with other files";
    if (flags & (FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNKNOWN))
        return "the file system does not say where its bytes are";
    if (flags & FIEMAP_EXTENT_UNWRITTEN)
        return "it has space that was never written";
    if (flags & FIEMAP_EXTENT_NOT_ALIGNED)
        return "its bytes do not begin where blocks begin";
    return NULL;
}

static bool read_number(const char *folder, const char *name, uint64_t *value) {
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
        return false;
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    unsigned long long v;
    bool read = fscanf(f, "%llu", &v) == 1;
    fclose(f);
    *value = v;
    return read;
}

/* The namespace under the file system: /sys/dev/block knows it, and where on it a partition begins. */
static int find_device(struct assasin_file *f, struct assasin_error *error) {
    char link[64], folder[PATH_MAX];
    snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(f->before.st_dev), minor(f->before.st_dev));
    if (!realpath(link, folder))
        return error_set(error, ENODEV,
                         "%s: its file system is not on one block device (a network, memory, btrfs, ...)", f->path);
    uint64_t number, start = 0, block = 0;
    if (read_number(folder, "partition", &number)) {
        if (!read_number(folder, "start", &start))
            return error_set(error, ENODEV, "%s: where its partition begins is not known", f->path);
        *strrchr(folder, '/') = 0;
    }
    const char *name = strrchr(folder, '/') + 1;
    if (strncmp(name, "nvme", 4) || !read_number(folder, "queue/logical_block_size", &block))
        return error_set(error, ENODEV, "%s: its file system is on %s, not directly on a namespace of an NVMe drive",
                         f->path, name);
    if ((size_t)snprintf(f->layout.device, sizeof(f->layout.device), "/dev/%s", name) >= sizeof(f->layout.device))
        return error_set(error, ENODEV, "%s: the name of its device is too long: %s", f->path, name);
    f->device_start = start * SECTOR;
    f->block_bytes = (uint32_t)block;
    return 0;
}

/* Nobody has the file open for writing, and whoever wants to waits until the lease is given back or the system's
 * lease-break-time is over, which assasin_file_check() notices. */
static int lease(struct assasin_file *f, struct assasin_error *error) {
    /* The notice that somebody waits is SIGIO otherwise, which ends processes that do not expect it. */
    if (fcntl(f->fd, F_SETSIG, SIGURG) || fcntl(f->fd, F_SETLEASE, F_RDLCK)) {
        if (errno == EAGAIN)
            return error_set(error, EBUSY, "%s: somebody has it open for writing", f->path);
        if (errno == EACCES)
            return error_set(error, EACCES, "%s: only its owner or root can hold it", f->path);
        return error_set(error, EOPNOTSUPP, "%s: its file system cannot hold it stable (no leases: %s)", f->path,
                         strerror(errno));
    }
    return 0;
}

static int add(struct assasin_file *f, uint64_t physical, uint64_t length, uint32_t *room) {
    uint64_t lba = (f->device_start + physical) / f->block_bytes, count = length / f->block_bytes;
    struct assasin_extent *last = f->layout.extent_count ? &f->extents[f->layout.extent_count - 1] : NULL;
    if (last && last->lba + last->count == lba && last->count + count <= UINT32_MAX) {
        last->count += (uint32_t)count;
        return 0;
    }
    while (count) {
        if (f->layout.extent_count == *room) {
            *room = *room ? *room * 2 : 64;
            struct assasin_extent *more = *room <= MOST_EXTENTS ? realloc(f->extents, *room * sizeof(*more)) : NULL;
            if (!more)
                return -ENOMEM;
            f->extents = more;
        }
        uint32_t part = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
        f->extents[f->layout.extent_count++] = (struct assasin_extent){.lba = lba, .count = part};
        lba += part;
        count -= part;
    }
    return 0;
}

/* Walks the map. \return 0 with f->extents, or with f->layout.reason when the file is not all in blocks; else an
 * error. */
static int map(struct assasin_file *f, struct assasin_error *error) {
    struct fiemap *batch = calloc(1, sizeof(*batch) + BATCH * sizeof(struct fiemap_extent));
    if (!batch)
        return error_set(error, ENOMEM, "out of memory");
    /* The file in whole blocks: space that was set aside behind its end is none of ours. */
    uint64_t at = 0, block = f->block_bytes, end = (f->layout.bytes + block - 1) / block * block;
    uint32_t room = 0;
    int rc = 0;
    const char *trouble = NULL;
    while (at < end && !rc && !trouble) {
        batch->fm_start = at;
        batch->fm_length = end - at;
        batch->fm_flags = FIEMAP_FLAG_SYNC;
        batch->fm_extent_count = BATCH;
        if (ioctl(f->fd, FS_IOC_FIEMAP, batch)) {
            rc = error_set(error, EOPNOTSUPP, "%s: its file system does not say where its blocks are: %s", f->path,
                           strerror(errno));
            break;
        }
        if (batch->fm_mapped_extents == 0)
            trouble = "it has holes";
        for (uint32_t i = 0; i < batch->fm_mapped_extents && at < end && !rc && !trouble; i++) {
            const struct fiemap_extent *x = &batch->fm_extents[i];
            trouble = x->fe_logical > at ? "it has holes" : extent_trouble(x->fe_flags);
            uint64_t skip = at - x->fe_logical, physical = x->fe_physical + skip, length = x->fe_length - skip;
            if (!trouble && (physical % block || f->device_start % block || (length % block && at + length < end)))
                trouble = "its bytes do not begin where blocks begin";
            if (trouble)
                break;
            length = (length + block - 1) / block * block;
            length = length < end - at ? length : end - at;
            if (add(f, physical, length, &room))
                rc = error_set(error, ENOMEM, "%s: it lies in too many places", f->path);
            at += length;
        }
    }
    free(batch);
    f->layout.reason = trouble;
    return rc;
}

static int to_memory(struct assasin_file *f, struct assasin_error *error) {
    void *at = mmap(NULL, f->layout.bytes, PROT_READ, MAP_SHARED, f->fd, 0);
    if (at == MAP_FAILED)
        return error_set(error, errno, "%s cannot be mapped: %s", f->path, strerror(errno));
    f->layout.data = f->data = at;
    f->layout.extent_count = 0;
    return 0;
}

static int hold(struct assasin_file *f, bool in_drive, struct assasin_error *error) {
    if ((f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
        return error_set(error, errno, "%s: %s", f->path, strerror(errno));
    if (fstat(f->fd, &f->before))
        return error_set(error, errno, "%s: %s", f->path, strerror(errno));
    if (!S_ISREG(f->before.st_mode))
        return error_set(error, EINVAL, "%s is not a regular file", f->path);
    if (f->before.st_size == 0)
        return error_set(error, EINVAL, "%s is empty: there is nothing to run on", f->path);
    int rc = find_device(f, error);
    if (rc || (rc = lease(f, error)))
        return rc;
    if (fsync(f->fd))
        return error_set(error, errno, "%s: its dirty data cannot be written: %s", f->path, strerror(errno));
    /* Where the journal has the data (data=journal), asking for a block makes it go where it belongs; only root may
     * ask. */
    int block = 0;
    (void)ioctl(f->fd, FIBMAP, &block);
    /* From the lease on it does not change. */
    if (fstat(f->fd, &f->before))
        return error_set(error, errno, "%s: %s", f->path, strerror(errno));
    f->layout.bytes = (uint64_t)f->before.st_size;
    if ((rc = map(f, error)))
        return rc;
    if (f->layout.reason && in_drive)
        return error_set(error, EOPNOTSUPP, "%s cannot be read inside the drive: %s", f->path, f->layout.reason);
    if (f->layout.reason)
        return to_memory(f, error);
    f->layout.extents = f->extents;
    return 0;
}

int assasin_file_hold(const char *path, bool in_drive, struct assasin_file **file, struct assasin_error *error) {
    struct assasin_file *f = calloc(1, sizeof(*f) + strlen(path) + 1);
    if (!f)
        return error_set(error, ENOMEM, "out of memory");
    f->path = strcpy(f->path_text, path);
    f->fd = -1;
    int rc = hold(f, in_drive, error);
    if (rc) {
        assasin_file_release(f);
        return rc;
    }
    *file = f;
    return 0;
}

const struct assasin_layout *assasin_file_layout(const struct assasin_file *file) {
    return &file->layout;
}

/* Member by member: what lies between them is not always the same. */
static bool same_places(const struct assasin_file *a, const struct assasin_file *b) {
    if (a->layout.extent_count != b->layout.extent_count)
        return false;
    for (uint32_t i = 0; i < a->layout.extent_count; i++)
        if (a->extents[i].lba != b->extents[i].lba || a->extents[i].count != b->extents[i].count)
            return false;
    return true;
}

static bool same_time(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

int assasin_file_check(struct assasin_file *f, struct assasin_error *error) {
    struct stat now;
    if (fcntl(f->fd, F_GETLEASE) != F_RDLCK)
        return error_set(error, ESTALE, "%s: somebody opened it for writing during the run; run again", f->path);
    if (fstat(f->fd, &now) || now.st_size != f->before.st_size || !same_time(&now.st_mtim, &f->before.st_mtim))
        return error_set(error, ESTALE, "%s: it was changed during the run; run again", f->path);
    if (f->data)
        return 0;
    struct assasin_file again = *f;
    again.extents = NULL;
    again.layout.extent_count = 0;
    int rc = map(&again, error);
    bool moved = again.layout.reason || !same_places(&again, f);
    free(again.extents);
    if (rc)
        return rc;
    return moved ? error_set(error, ESTALE, "%s: the file system moved it during the run; run again", f->path) : 0;
}

void assasin_file_release(struct assasin_file *f) {
    if (!f)
        return;
    if (f->data)
        munmap(f->data, f->layout.bytes);
    if (f->fd >= 0)
        close(f->fd); /* gives the lease back too */
    free(f->extents);
    free(f);
}
