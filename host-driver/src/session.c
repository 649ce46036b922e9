/* SPDX-License-Identifier: BSD-3-Clause */
/* The session of an open drive: to it belong the functions and jobs of this connection. */
#include "drive.h"

#include <assasin_contract.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define VENDOR(code)   (0x100u | NVME_VENDOR_STATUS_##code)
#define INVALID_OPCODE 1u

int session_open(struct assasin_drive *drive) {
    if (drive->session)
        return 0;
    /* What tells this session's owner from others: nobody must be able to guess it. */
    if (getrandom(drive->secret, sizeof(drive->secret), 0) != (ssize_t)sizeof(drive->secret))
        return drive_fail(drive, errno ? errno : EIO, "no random numbers: %s", strerror(errno));
    drive->secret[0] |= 1;
    struct assasin_command command = {
        .dw = {SCOMP_OPCODE_IO_SESSION_OPEN,
               drive->link->namespace_id, [10] = SCOMP_INTERFACE, [14] = drive->secret[0], [15] = drive->secret[1]}};
    struct assasin_completion completion = {0};
    int rc = drive_execute(drive, ASSASIN_IO, &command, NULL, 0, "opening a session", &completion);
    if (rc && drive->status == INVALID_OPCODE)
        return drive_fail(drive, EPROTO,
                          "the drive's firmware is older than this library: it has no sessions, whose interface is "
                          "version %u; give the drive the firmware that belongs to this library",
                          SCOMP_INTERFACE);
    if (rc && drive->status == VENDOR(INTERFACE))
        return drive_fail(drive, EPROTO,
                          "the drive's interface for functions is version %u, this library's is %u: use a library and "
                          "a firmware of the same release",
                          completion.dw1, SCOMP_INTERFACE);
    if (rc && drive->status == VENDOR(NO_RESOURCES))
        return drive_fail(
            drive, EBUSY,
            "the drive has no place for another session of this queue: it takes %u, of which it keeps some "
            "for queues that have none; end a program that uses it, or a session with assasin access "
            "--end NUMBER (assasin access lists them)",
            SCOMP_MAX_SESSIONS);
    if (!rc)
        drive->session = completion.dw0 & 0xFFFF;
    return rc;
}

int assasin_get_session(struct assasin_drive *drive, struct assasin_session *session) {
    int rc = session_open(drive);
    *session = (struct assasin_session){drive->session, {drive->secret[0], drive->secret[1]}};
    return rc;
}

void session_close(struct assasin_drive *drive) {
    if (!drive->session || drive->dead)
        return;
    struct assasin_command command = {.dw = {SCOMP_OPCODE_IO_SESSION_CLOSE, drive->link->namespace_id}};
    session_name(drive, &command);
    struct assasin_completion completion;
    (void)drive_roundtrip(drive, ASSASIN_IO, &command, NULL, 0, "closing a session", &completion);
    drive->session = 0;
}

void session_name(const struct assasin_drive *drive, struct assasin_command *command) {
    command->dw[13] = drive->session;
    command->dw[14] = drive->secret[0];
    command->dw[15] = drive->secret[1];
}

bool session_lost(struct assasin_drive *drive) {
    if (drive->status != VENDOR(NO_SESSION))
        return false;
    drive->session = 0;
    return true;
}

int assasin_access(struct assasin_drive *drive, uint16_t session, const struct assasin_access *ranges, uint32_t count) {
    struct scomp_access access = {.limited = ranges != NULL, .count = count};
    if (count > SCOMP_ACCESS_RANGES || (!ranges && count))
        return drive_fail(drive, EINVAL, "limiting a session: %u ranges, the drive takes at most %u", count,
                          SCOMP_ACCESS_RANGES);
    for (uint32_t i = 0; i < count; i++) {
        access.lba[i] = ranges[i].lba;
        access.blocks[i] = ranges[i].blocks;
        access.rights[i] = ranges[i].rights;
    }
    struct assasin_command command = {.dw = {SCOMP_OPCODE_ADMIN_ACCESS, [10] = session, [11] = sizeof(access)}};
    return drive_execute(drive, ASSASIN_ADMIN, &command, &access, sizeof(access), "limiting a session", NULL);
}

int assasin_session_end(struct assasin_drive *drive, uint16_t session) {
    struct assasin_command command = {.dw = {SCOMP_OPCODE_ADMIN_SESSION_END, [10] = session}};
    return drive_execute(drive, ASSASIN_ADMIN, &command, NULL, 0, "ending a session", NULL);
}
