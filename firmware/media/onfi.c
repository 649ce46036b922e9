/* SPDX-License-Identifier: BSD-3-Clause */
#include "media/onfi.h"

#include "lib/crc.h"

static uint32_t le16(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t le32(const uint8_t *p) {
    return le16(p) | le16(p + 2) << 16;
}

/** Shortest RE and DQS cycle, two bytes, of NV-DDR2 modes 0 to 10, picoseconds (tRC, tDSC). */
static const uint16_t cycle_ps[] = {30000, 25000, 15000, 12000, 10000, 7500, 6000, 5000, 3750, 3000, 2500};

#define MODES (sizeof cycle_ps / sizeof cycle_ps[0])

/** Fastest of the NV-DDR2 modes in `offered`. */
static uint32_t fastest_mode(uint32_t offered) {
    for (uint32_t mode = MODES; mode-- > 0;) {
        if (offered >> mode & 1) {
            return mode;
        }
    }
    return ONFI_NO_MODE;
}

/** Nanoseconds between `least` and what any channel clock's registers hold. */
static uint32_t at_least(uint32_t ns, uint32_t least) {
    const uint32_t most = 4000;
    return ns < least ? least : ns > most ? most : ns;
}

/** Timing of a part that says no more than ONFI asks it to. */
static void default_timing(const uint8_t *p, struct onfi_param *out) {
    out->timing_mode = fastest_mode(out->modes);
    uint32_t cycle = out->timing_mode == ONFI_NO_MODE ? cycle_ps[0] : cycle_ps[out->timing_mode];
    out->t_wc = 25;
    out->t_cs = 100; /* tCD: chip enable to data after a long rest; commands need 20, data after a short one 30 or 40 */
    out->t_wb = 100;
    out->t_rr = 20;
    out->t_rpre = 25 + 25; /* tRPRE2 + tDQSRE */
    /* Reads need tRPST (tDQSRE + tRC / 2) + tRPSTH, writes tWPST + tWPSTH, which is less. */
    out->t_pst = 25 + (cycle / 2 + 999) / 1000 + 15;
    out->t_whr = 80;
    out->t_adl = at_least(le16(p + 154), 400);
    out->t_ccs = at_least(le16(p + 139), 300);
    out->beat_ps = cycle / 2;
}

/** Read levels: in this project's block, and in that of Micron, whose meaning no other maker shares. */
static uint32_t read_levels(const uint8_t *p) {
    uint32_t revision = le16(p + 164);
    uint32_t levels = revision == ONFI_VENDOR_BLOCK                           ? p[187]
                      : revision == ONFI_MICRON_BLOCK && p[64] == ONFI_MICRON ? p[180]
                                                                              : 0;
    return levels < ONFI_MAX_LEVELS ? levels : ONFI_MAX_LEVELS;
}

/** Whether pages share cells in pairs: this project's block says so. Of other parts those with two bits a cell are
 * taken to have such pages: what only the maker's data sheet tells is not known here. */
static bool paired(const uint8_t *p) {
    return le16(p + 164) == ONFI_VENDOR_BLOCK ? p[188] != 0 : p[102] == 2;
}

bool onfi_parse(const uint8_t *p, struct onfi_param *out) {
    if (le32(p) != ONFI_SIGNATURE || crc16_onfi(p, 254) != le16(p + 254)) {
        return false;
    }
    for (int i = 0; i < 20; i++) {
        out->model[i] = (char)p[44 + i];
    }
    int end = 20;
    while (end > 0 && (out->model[end - 1] == ' ' || out->model[end - 1] == 0)) {
        end--;
    }
    out->model[end] = 0;
    out->page_bytes = le32(p + 80);
    out->spare_bytes = le16(p + 84);
    out->pages_block = le32(p + 92);
    out->blocks_lun = le32(p + 96);
    out->luns = p[100];
    out->bad_blocks = le16(p + 103);
    out->endurance = p[105];
    for (uint32_t i = 0; i < p[106] && out->endurance < ONFI_MAX_ENDURANCE; i++) {
        out->endurance *= 10;
    }
    out->endurance = out->endurance < ONFI_MAX_ENDURANCE ? out->endurance : ONFI_MAX_ENDURANCE;
    out->plane_bits = p[113] & 15;
    out->multi_plane = (le16(p + 6) >> 3 & 1) != 0;
    out->program_us = le16(p + 133);
    out->erase_us = le16(p + 135);
    out->read_us = le16(p + 137);
    out->crc = (uint16_t)le16(p + 254);
    out->read_levels = read_levels(p);
    out->paired = paired(p);
    out->modes = p[142] | (uint32_t)p[162] << 8; /* 0 to 7, and those from 8 on */
    out->signals = p[158];
    if (le16(p + 164) == ONFI_VENDOR_BLOCK) {
        out->t_wc = le16(p + 166);
        out->t_cs = le16(p + 168);
        out->t_wb = le16(p + 170);
        out->t_rr = le16(p + 172);
        out->t_rpre = le16(p + 174);
        out->t_pst = le16(p + 176);
        out->t_whr = le16(p + 178);
        out->t_adl = le16(p + 180);
        out->t_ccs = le16(p + 182);
        out->beat_ps = le16(p + 184);
        out->timing_mode = p[186];
    } else {
        default_timing(p, out);
    }
    return true;
}

bool onfi_slow_down(struct onfi_param *p, uint32_t byte_ps) {
    /* A picosecond is what rounding takes away. */
    if (p->beat_ps > byte_ps + 1) {
        return false;
    }
    if (p->beat_ps < byte_ps) {
        p->t_pst += (byte_ps - p->beat_ps + 999) / 1000; /* half a cycle is part of it */
        p->beat_ps = byte_ps;
    }
    for (uint32_t mode = 0; mode < MODES && mode < p->timing_mode; mode++) {
        if ((p->modes >> mode & 1) != 0 && cycle_ps[mode] <= 2 * (byte_ps + 1)) {
            p->timing_mode = mode;
        }
    }
    return true;
}
