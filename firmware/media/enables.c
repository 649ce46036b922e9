/* SPDX-License-Identifier: BSD-3-Clause */
#include "media/enables.h"

#include <string.h>

#include "media/nand.h"
#include "media/onfi.h"
#include "platform/console.h"

/** What READ ID brings where nothing drives the bus. */
#define NOTHING 0xffffffffu

/** What is at a chip enable. */
enum found {
    BUSY,    /**< RESET does not end: it is sent nothing else */
    ABSENT,  /**< no package */
    NO_ONFI, /**< what READ ID brings is not "ONFI" */
    ONFI,    /**< not asked yet of which part */
    OTHER,   /**< another part than the first one's */
    LEFT,    /**< a package of the drive's part */
    USED,    /**< likewise, and a way of the drive */
};
static const char *const names[] = {
    [BUSY] = "busy for ever",    [ABSENT] = "absent",  [NO_ONFI] = "without ONFI",
    [OTHER] = "of another part", [LEFT] = "left over", [USED] = "used",
};
static uint8_t found[NAND_MAX_CHANNELS][NAND_MAX_WAYS];
/** Of the part that the drive takes: the first one's. */
static uint32_t part[2];

static uint8_t *place(const struct nand_op *op) {
    return &found[op->way >> 4][op->way & 15];
}

static void reset_done(struct nand_op *op, uint32_t status) {
    if (status == FLASH_STATUS_OK) {
        *place(op) = NO_ONFI;
    }
    nand_op_put(op);
}

static void signature_done(struct nand_op *op, uint32_t status) {
    if (status == FLASH_STATUS_OK && op->data0 == ONFI_SIGNATURE) {
        *place(op) = ONFI;
    }
    nand_op_put(op);
}

static void first_done(struct nand_op *op, uint32_t status) {
    part[0] = status == FLASH_STATUS_OK ? op->data0 : 0;
    part[1] = status == FLASH_STATUS_OK ? op->data1 : 0;
    nand_op_put(op);
}

static void part_done(struct nand_op *op, uint32_t status) {
    bool ok = status == FLASH_STATUS_OK;
    if (*place(op) == ONFI) {
        *place(op) = ok && op->data0 == part[0] && op->data1 == part[1] ? LEFT : OTHER;
    } else if (ok && op->data0 == NOTHING && op->data1 == NOTHING) {
        *place(op) = ABSENT;
    }
    nand_op_put(op);
}

static void send(nand_done_fn done, uint32_t way, uint32_t opcode, uint32_t address) {
    struct nand_op *op = nand_op_wait();
    *op = (struct nand_op){.done = done, .way = (uint8_t)way, .op = (uint8_t)opcode, .row = address};
    nand_submit(op);
}

/** Send an operation to all chip enables that are not busy, or with RESET to all, and wait for its end. */
static void send_all(nand_done_fn done, uint32_t opcode, uint32_t address) {
    for (uint32_t w = 0; w < nand_geo.ways; w++) {
        for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
            if (opcode == FLASH_OP_RESET || found[ch][w] != BUSY) {
                send(done, ch << 4 | w, opcode, address);
            }
        }
    }
    nand_wait_idle();
}

/** Read what part the first package is. */
static void find_first(void) {
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        for (uint32_t w = 0; w < nand_geo.ways; w++) {
            if (found[ch][w] == ONFI) {
                send(first_done, ch << 4 | w, FLASH_OP_READ_ID, READ_ID_PART);
                nand_wait_idle();
                return;
            }
        }
    }
}

static uint32_t packages(uint32_t ch) {
    uint32_t count = 0;
    for (uint32_t w = 0; w < nand_geo.ways; w++) {
        count += found[ch][w] == LEFT;
    }
    return count;
}

/** Make the first `ways` packages of channel `ch` its ways, and give the other chip enables to the ways behind. */
static void set_map(uint32_t ch, uint32_t total, uint32_t ways) {
    uint32_t map[2] = {0};
    uint32_t used = 0;
    uint32_t other = ways;
    nand_geo.enables[ch] = 0;
    for (uint32_t w = 0; w < total; w++) {
        bool takes = found[ch][w] == LEFT && used < ways;
        uint32_t way = takes ? used++ : other++;
        map[way / 8] |= w << way % 8 * 4;
        if (takes) {
            found[ch][w] = USED;
            nand_geo.enables[ch] |= (uint16_t)(1u << w);
        }
    }
    flash_write(ch, FLASH_WAY_MAP0, map[0]);
    if (total > 8) {
        flash_write(ch, FLASH_WAY_MAP1, map[1]);
    }
}

void enables_print(uint32_t mask) {
    for (uint32_t w = 0; w < NAND_MAX_WAYS; w++) {
        if ((mask >> w & 1) != 0) {
            console_printf(" %u", w);
        }
    }
}

static uint32_t enables_of(uint32_t ch, uint32_t total, uint32_t what) {
    uint32_t mask = 0;
    for (uint32_t w = 0; w < total; w++) {
        mask |= (uint32_t)(found[ch][w] == what) << w;
    }
    return mask;
}

/** Say what is at the chip enables, a line for channels that are alike; nothing of those that are all in use. */
static void report(uint32_t total) {
    for (uint32_t ch = 0; ch < nand_geo.channels;) {
        uint32_t end = ch + 1;
        while (end < nand_geo.channels && memcmp(found[ch], found[end], sizeof found[ch]) == 0) {
            end++;
        }
        if (enables_of(ch, total, USED) != (1u << total) - 1) {
            console_printf("nand: channel%s %u", end > ch + 1 ? "s" : "", ch);
            if (end > ch + 1) {
                console_printf("-%u", end - 1);
            }
            console_printf(": chip enables");
            const char *between = "";
            for (uint32_t what = USED + 1; what-- > 0;) {
                uint32_t mask = enables_of(ch, total, what);
                if (mask != 0) {
                    console_printf("%s", between);
                    enables_print(mask);
                    console_printf(" %s", names[what]);
                    between = ";";
                }
            }
            console_printf("\n");
        }
        ch = end;
    }
}

const char *enables_find(void) {
    uint32_t total = nand_geo.ways;
    memset(found, BUSY, sizeof found);
    send_all(reset_done, FLASH_OP_RESET, 0);
    send_all(signature_done, FLASH_OP_READ_ID, READ_ID_ONFI);
    find_first();
    send_all(part_done, FLASH_OP_READ_ID, READ_ID_PART);
    uint32_t ways = total;
    uint32_t most = 0;
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        uint32_t count = packages(ch);
        ways = count < ways ? count : ways;
        most = count > most ? count : most;
    }
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        set_map(ch, total, ways);
    }
    report(total);
    if (ways == 0) {
        return most == 0 ? "no package answers" : "a channel has no package";
    }
    nand_geo.ways = ways;
    nand_queues_init();
    return NULL;
}
