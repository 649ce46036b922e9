/* SPDX-License-Identifier: BSD-3-Clause */
/* The firmware's console: CTRL.CONSOLE_TX and CONSOLE_RX as a stream of bytes. */
#include "agent.h"

#include "assasin_contract.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TX      (ASSASIN_CTRL_BASE + CTRL_CONSOLE_TX)
#define RX      (ASSASIN_CTRL_BASE + CTRL_CONSOLE_RX)
#define FLAG    0x80000000u /* TX: there is a character; RX: there is no room */
#define BURST   256u
#define LOOK_MS 10
#define PUT_MS  1000

/* Gives one character to the firmware, waiting until there is room. */
static int put(struct window *w, uint8_t c, struct problem *problem) {
    uint32_t full = FLAG;
    for (int waited = 0; waited < PUT_MS; waited++) {
        if (window_read(w, RX, &full, problem) != 0) {
            return -1;
        }
        if ((full & FLAG) == 0) {
            return window_write(w, RX, c, problem);
        }
        poll(NULL, 0, 1);
    }
    return problem_set(problem, "the firmware takes no input: is it stopped?");
}

/* What the firmware has said. \return bytes, or -1 */
static int take(struct window *w, uint8_t said[BURST], struct problem *problem) {
    int count = 0;
    uint32_t word;
    while (count < (int)BURST) {
        if (window_read(w, TX, &word, problem) != 0) {
            return -1;
        }
        if ((word & FLAG) == 0) {
            break;
        }
        said[count++] = (uint8_t)word;
    }
    return count;
}

int console_run(struct config *config, int fd, const char *typed, size_t count, struct problem *problem) {
    char input[BURST];
    uint8_t said[BURST];
    for (;;) {
        /* Opened for each look, so that others can program the FPGA in between. */
        struct window *w = window_open(config, problem);
        if (w == NULL) {
            return -1;
        }
        int failed = 0, got;
        for (size_t i = 0; i < count && failed == 0; i++) {
            failed = put(w, (uint8_t)typed[i], problem);
        }
        got = failed == 0 ? take(w, said, problem) : -1;
        window_close(w);
        if (got < 0) {
            return -1;
        }
        if (send_all(fd, said, (size_t)got) != 0) {
            return 0;
        }
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        count = 0;
        if (poll(&ready, 1, got == (int)BURST ? 0 : LOOK_MS) > 0) {
            ssize_t came = recv(fd, input, sizeof input, 0);
            if (came == 0 || (came < 0 && errno != EINTR && errno != EAGAIN)) {
                return 0;
            }
            typed = input;
            count = came > 0 ? (size_t)came : 0;
        }
    }
}
