/* SPDX-License-Identifier: BSD-3-Clause */
/* What the packages are, and the geometry and timing that the channels are given for them. */
#include <string.h>

#include "media/enables.h"
#include "media/nand.h"
#include "media/onfi.h"
#include "platform/console.h"
#include "platform/dram.h"

/** SET FEATURES: timing mode; data interface NV-DDR2 in the upper half of P1. */
#define FEATURE_TIMING 0x01u
#define FEATURE_NVDDR2 0x20u

/** Between looks whether a LUN is ready. */
#define LOOK_AGAIN_US 5u

/** An erased sector may have as many zero bits as its code would correct in all codewords, without a code as many as
 * one with this t. One that is programmed has some 16,000, because it is scrambled. */
#define ERASED_T_NO_CODE 16u

struct boot_result {
    uint32_t bad;     /**< descriptors that failed */
    uint32_t bad_way; /**< the last of them */
};

static void boot_done(struct nand_op *op, uint32_t status) {
    struct boot_result *r = op->arg;
    if (status != FLASH_STATUS_OK) {
        r->bad++;
        r->bad_way = op->way;
    }
    nand_op_put(op);
}

static void boot_op(struct boot_result *r, uint32_t way, uint32_t opcode, uint32_t row, uint32_t w2, uint32_t bytes) {
    struct nand_op *op = nand_op_wait();
    *op = (struct nand_op){
        .done = boot_done, .arg = r, .way = way, .op = opcode, .row = row, .w2 = w2, .bytes = (uint16_t)bytes};
    nand_submit(op);
}

/** Send one operation to every way and wait for all. */
static void boot_all(struct boot_result *r, uint32_t opcode, uint32_t row, uint32_t w2, uint32_t bytes) {
    for (uint32_t w = 0; w < nand_geo.ways; w++) {
        for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
            boot_op(r, ch << 4 | w, opcode, row, w2, bytes);
        }
    }
    nand_wait_idle();
}

/** Give every channel the commands of the part. */
static void load_steps(const struct nand_steps *list) {
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        for (uint32_t i = 0; i < list->count; i++) {
            flash_write(ch, FLASH_STEPS + i * 4, list->steps[i]);
        }
        for (uint32_t i = 0; i < 16; i++) {
            flash_write(ch, FLASH_PHASES + i * 4, list->phases[i]);
        }
    }
}

/** What is known of the part that answers at channel 0, way 0; all are alike. */
static void take_part(struct nand_op *op, uint32_t status) {
    struct boot_result *r = op->arg;
    r->bad += status != FLASH_STATUS_OK;
    nand_geo.id[0] = op->data0;
    nand_geo.id[1] = op->data1;
    nand_op_put(op);
}

static void find_part(struct boot_result *r) {
    struct nand_op *op = nand_op_get();
    *op = (struct nand_op){.done = take_part, .arg = r, .op = FLASH_OP_READ_ID, .row = READ_ID_PART};
    nand_submit(op);
    nand_wait_idle();
    nand_part = nand_part_find(nand_geo.id[0]);
    if (nand_part->steps != &nand_default_steps) {
        load_steps(nand_part->steps);
    }
}

/** Read `copies` parameter pages of the first package and take the first good one. */
static bool read_param(struct boot_result *r, uint32_t copies, struct onfi_param *param) {
    boot_op(r, 0, FLASH_OP_PARAM_PAGE, 0, DRAM_PARAM, copies * ONFI_PARAM_BYTES);
    nand_wait_idle();
    for (uint32_t c = 0; c < copies; c++) {
        uint8_t copy[ONFI_PARAM_BYTES];
        for (uint32_t i = 0; i < ONFI_PARAM_BYTES; i += 4) {
            uint32_t w = hal_read(DRAM_PARAM + c * ONFI_PARAM_BYTES + i);
            copy[i] = (uint8_t)w;
            copy[i + 1] = (uint8_t)(w >> 8);
            copy[i + 2] = (uint8_t)(w >> 16);
            copy[i + 3] = (uint8_t)(w >> 24);
        }
        if (onfi_parse(copy, param)) {
            return true;
        }
    }
    return false;
}

/** Log2 of a power of two, or -1. */
static int log2_exact(uint32_t v) {
    for (int i = 0; i < 32; i++) {
        if (v == 1u << i) {
            return i;
        }
    }
    return -1;
}

/** Cycles of `ns`, rounded up, at least 1. */
static uint32_t cycles(uint32_t ns) {
    uint32_t c = (ns * nand_geo.clock_mhz + 999) / 1000;
    return c > 0 ? c : 1;
}

/** Cycles of `ns` and `margin` more, for a timing field whose largest value is `most`; `*fits` becomes false beyond it.
 */
static uint32_t timing(uint32_t ns, uint32_t margin, uint32_t most, bool *fits) {
    uint32_t c = cycles(ns) + margin;
    if (c > most) {
        console_printf("nand: a time of %u ns is %u cycles; the channel counts to %u\n", ns, c, most);
        *fits = false;
    }
    return c;
}

/** Units of FLASH.WAIT0 and WAIT1 in `us`, rounded up. */
static uint32_t wait_units(uint32_t us) {
    uint32_t units = (us * nand_geo.clock_mhz + 255) / 256;
    return units > FLASH_WAIT0_READ_MASK ? FLASH_WAIT0_READ_MASK : units;
}

/** When to look which of two busy LUNs is ready: after the longest time, as most parts take about that, then soon
 * again. */
static void set_waits(const struct onfi_param *p) {
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        flash_write(ch, FLASH_PLANES,
                    PLACE(FLASH_PLANES, SHIFT, nand_geo.plane_shift - nand_geo.sector_log2) |
                        PLACE(FLASH_PLANES, BITS, p->plane_bits));
        flash_write(ch, FLASH_WAIT0,
                    PLACE(FLASH_WAIT0, READ, wait_units(p->read_us)) |
                        PLACE(FLASH_WAIT0, PROGRAM, wait_units(p->program_us)));
        flash_write(ch, FLASH_WAIT1,
                    PLACE(FLASH_WAIT1, ERASE, wait_units(p->erase_us)) |
                        PLACE(FLASH_WAIT1, AGAIN, wait_units(LOOK_AGAIN_US)));
    }
}

static const char *set_timing(const struct onfi_param *p, uint32_t phy_bytes, uint32_t margin) {
    /* beat_ps * MHz / 10^6 cycles a byte. */
    uint32_t rate = (p->beat_ps * phy_bytes * nand_geo.clock_mhz + 999999u) / 1000000u;
    if (rate == 0) {
        rate = 1;
    }
    bool fits = true;
    uint32_t wc = timing(p->t_wc, 0, FLASH_TIMING0_TWC_MASK, &fits);
    uint32_t cs = timing(p->t_cs, FIELD(FLASH_PHY_MARGIN, TCS, margin), FLASH_TIMING0_TCS_MASK, &fits);
    uint32_t pre = timing(p->t_rpre, 0, FLASH_TIMING0_TRPRE_MASK, &fits);
    uint32_t pst = timing(p->t_pst, FIELD(FLASH_PHY_MARGIN, TPST, margin), FLASH_TIMING0_TPST_MASK, &fits);
    uint32_t wb = timing(p->t_wb, FIELD(FLASH_PHY_MARGIN, TWB, margin), FLASH_TIMING1_TWB_MASK, &fits);
    uint32_t rr = timing(p->t_rr, 0, FLASH_TIMING1_TRR_MASK, &fits);
    uint32_t whr = timing(p->t_whr, 0, FLASH_TIMING1_TWHR_MASK, &fits);
    uint32_t adl = timing(p->t_adl, 0, FLASH_TIMING2_TADL_MASK, &fits);
    uint32_t ccs = timing(p->t_ccs, 0, FLASH_TIMING2_TCCS_MASK, &fits);
    if (!fits) {
        return "timing not supported";
    }
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        flash_write(ch, FLASH_GEOMETRY,
                    PLACE(FLASH_GEOMETRY, PAGE_LOG2, PAGE_LOG2 + nand_geo.sector_log2) |
                        PLACE(FLASH_GEOMETRY, SECTOR_LOG2, nand_geo.sector_log2) |
                        PLACE(FLASH_GEOMETRY, SPARE, nand_geo.spare) |
                        PLACE(FLASH_GEOMETRY, LUN_SHIFT, nand_geo.lun_shift - nand_geo.sector_log2) |
                        PLACE(FLASH_GEOMETRY, LUN_BITS, (uint32_t)log2_exact(nand_geo.luns)));
        flash_write(ch, FLASH_TIMING0,
                    PLACE(FLASH_TIMING0, TWC, wc) | PLACE(FLASH_TIMING0, TCS, cs) | PLACE(FLASH_TIMING0, TRPRE, pre) |
                        PLACE(FLASH_TIMING0, TPST, pst));
        flash_write(ch, FLASH_TIMING1,
                    PLACE(FLASH_TIMING1, TWB, wb) | PLACE(FLASH_TIMING1, TRR, rr) | PLACE(FLASH_TIMING1, TWHR, whr));
        flash_write(ch, FLASH_TIMING2, PLACE(FLASH_TIMING2, TADL, adl) | PLACE(FLASH_TIMING2, TCCS, ccs));
        flash_write(ch, FLASH_DATA_RATE, rate);
    }
    set_waits(p);
    nand_geo.bus_cycles = cs + 7 * wc + cs + pre + (nand_geo.sector_bytes * rate + phy_bytes - 1) / phy_bytes + pst;
    return NULL;
}

/** Smallest number of bits that tell `n` things from each other. */
static uint32_t bits_for(uint32_t n) {
    uint32_t bits = 0;
    while (bits < 32 && (n - 1) >> bits != 0) {
        bits++;
    }
    return bits;
}

/**
 * Planes to be programmed together: all, where the part can and the bus has time left while all LUNs of a channel
 * program one page each. Where it has none, pages of two planes one behind the other only make others wait longer.
 */
static uint32_t planes_together(const struct onfi_param *p) {
    uint32_t page_ns = nand_geo.sectors * nand_geo.sector_bytes * p->beat_ps / 1000;
    uint32_t units = nand_geo.ways * nand_geo.luns;
    return p->multi_plane && (units - 1) * page_ns < p->program_us * 1000 ? nand_geo.planes : 1;
}

static const char *refuse(const char *what, uint32_t value, const char *need, uint32_t limit) {
    console_printf("nand: %s: %u; %s %u\n", what, value, need, limit);
    return "geometry not supported";
}

/** Bytes of a sector on the bus with so many parity bytes a codeword. */
static uint32_t sector_bytes(uint32_t parity) {
    return NAND_CODEWORDS * (NAND_MESSAGE_BYTES + parity);
}

/** Choose the strongest code whose sectors fit into a page of the part. All channels have the same codes. */
static const char *set_code(const struct onfi_param *p) {
    uint32_t there = p->page_bytes + p->spare_bytes;
    uint32_t weakest = flash_read(0, FLASH_CODE_INFO + 4);
    bool codes = weakest != 0;
    uint32_t least = nand_geo.sectors * sector_bytes(FIELD(FLASH_CODE_INFO, PARITY, weakest));
    if (there < least) {
        console_printf("nand: pages of %u + %u B, but %u sectors of %u B need %u B", p->page_bytes, p->spare_bytes,
                       nand_geo.sectors, least / nand_geo.sectors, least);
        if (codes) {
            console_printf(" with the weakest code (%u bits a codeword)", FIELD(FLASH_CODE_INFO, T, weakest));
        }
        console_printf("\n");
        return "spare area too small for the code";
    }
    nand_geo.strength = 0;
    for (uint32_t n = 1; n < FLASH_CODE_STRENGTH_MASK + 1; n++) {
        uint32_t info = flash_read(0, FLASH_CODE_INFO + n * 4);
        if (info != 0 && nand_geo.sectors * sector_bytes(FIELD(FLASH_CODE_INFO, PARITY, info)) <= there) {
            nand_geo.strength = n;
        }
    }
    uint32_t info = flash_read(0, FLASH_CODE_INFO + nand_geo.strength * 4);
    nand_geo.code_t = FIELD(FLASH_CODE_INFO, T, info);
    nand_geo.code_parity = FIELD(FLASH_CODE_INFO, PARITY, info);
    nand_geo.sector_bytes = sector_bytes(nand_geo.code_parity);
    return NULL;
}

/** Give every channel the code and what else it writes into sectors or judges them by. */
static void load_code(void) {
    nand_geo.erased_limit = NAND_CODEWORDS * (nand_geo.code_t != 0 ? nand_geo.code_t : ERASED_T_NO_CODE);
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        flash_write(ch, FLASH_CODE, PLACE(FLASH_CODE, STRENGTH, nand_geo.strength));
        flash_write(ch, FLASH_LAYOUT, NAND_LAYOUT_VERSION);
        flash_write(ch, FLASH_SEED, NAND_SEED);
        flash_write(ch, FLASH_ERASED_LIMIT, nand_geo.erased_limit);
    }
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        while (FIELD(FLASH_CODE, BUSY, flash_read(ch, FLASH_CODE))) {
        }
    }
}

/** Take the part's geometry, or say on the console what of it does not fit and return that it does not. */
static const char *set_geometry(const struct onfi_param *p) {
    if (p->page_bytes < PAGE_SIZE) {
        return refuse("bytes a page", p->page_bytes, "this firmware needs at least", PAGE_SIZE);
    }
    uint32_t sector_log2 = 0;
    while (sector_log2 < NAND_MAX_SECTOR_LOG2 && p->page_bytes >> (sector_log2 + 1) >= PAGE_SIZE) {
        sector_log2++;
    }
    nand_geo.sector_log2 = sector_log2;
    nand_geo.sectors = 1u << sector_log2;
    const char *wrong = set_code(p);
    if (wrong != NULL) {
        return wrong;
    }
    int pages = log2_exact(p->pages_block);
    int luns = log2_exact(p->luns);
    if (pages < 0 || p->pages_block > NAND_MAX_PAGES >> sector_log2) {
        return refuse("pages a block", p->pages_block, "this firmware takes powers of two up to",
                      NAND_MAX_PAGES >> sector_log2);
    }
    if (luns < 0 || (uint32_t)luns > FLASH_GEOMETRY_LUN_BITS_MASK) {
        return refuse("LUNs a chip enable", p->luns, "the channel takes powers of two up to",
                      1u << FLASH_GEOMETRY_LUN_BITS_MASK);
    }
    if (p->plane_bits > NAND_MAX_PLANE_BITS) {
        return refuse("plane address bits", p->plane_bits, "this firmware takes up to", NAND_MAX_PLANE_BITS);
    }
    if (p->blocks_lun >> p->plane_bits == 0) {
        return refuse("blocks a LUN", p->blocks_lun, "there has to be one a plane, so at least", 1u << p->plane_bits);
    }
    /* Blocks need not be a power of two: the LUN's bits then begin above the highest bit a block number has. */
    uint32_t plane_shift = (uint32_t)pages + sector_log2;
    uint32_t lun_shift = plane_shift + bits_for(p->blocks_lun);
    if (lun_shift + (uint32_t)luns > NAND_ROW_BITS) {
        console_printf("nand: %u LUNs x %u blocks x %u pages x %u sectors\n", p->luns, p->blocks_lun, p->pages_block,
                       nand_geo.sectors);
        return refuse("bits of a sector address", lun_shift + (uint32_t)luns, "a physical page address holds",
                      NAND_ROW_BITS);
    }
    memset(nand_geo.model, 0, sizeof nand_geo.model);
    for (uint32_t i = 0; i < sizeof nand_geo.model && p->model[i] != 0; i++) {
        nand_geo.model[i] = p->model[i];
    }
    nand_geo.luns = p->luns;
    nand_geo.planes = 1u << p->plane_bits;
    nand_geo.blocks = p->blocks_lun >> p->plane_bits;
    nand_geo.pages = p->pages_block << sector_log2;
    nand_geo.page_bytes = p->page_bytes;
    nand_geo.spare = p->spare_bytes;
    nand_geo.plane_shift = plane_shift;
    nand_geo.block_shift = plane_shift + p->plane_bits;
    nand_geo.block_mask = (1u << (lun_shift - nand_geo.block_shift)) - 1;
    nand_geo.lun_shift = lun_shift;
    nand_geo.bad_blocks = p->bad_blocks;
    nand_geo.endurance = p->endurance != 0 ? p->endurance : NAND_ENDURANCE;
    nand_geo.read_us = p->read_us;
    nand_geo.program_us = p->program_us;
    nand_geo.erase_us = p->erase_us;
    nand_geo.paired = p->paired;
    nand_geo.signature = p->crc;
    return NULL;
}

/** Choose what part and PHY both can, and tell the packages: rate, mode, complementary signals. */
static const char *set_interface(struct boot_result *r, struct onfi_param *p, uint32_t margin) {
    if (p->timing_mode == ONFI_NO_MODE) {
        console_printf("nand: %s offers no NV-DDR2 timing mode\n", p->model);
        return "data interface not supported";
    }
    uint32_t byte_ps = FIELD(FLASH_PHY_MARGIN, BYTE, margin) * 125000 / nand_geo.clock_mhz;
    if (byte_ps != 0 && !onfi_slow_down(p, byte_ps)) {
        console_printf("nand: a byte of %s takes %u ps, but the PHY moves one in %u ps\n", p->model, p->beat_ps,
                       byte_ps);
        return "data interface not supported";
    }
    uint32_t configuration = nand_part->configuration;
    if (configuration == 0 && FIELD(FLASH_PHY_MARGIN, DIFFERENTIAL, margin)) {
        if ((p->signals & ONFI_DQS_C) == 0) {
            console_printf("nand: %s has no DQS_c, which the PHY needs\n", p->model);
            return "data interface not supported";
        }
        configuration = FEATURE_DQS_C | ((p->signals & ONFI_RE_C) != 0 ? FEATURE_RE_C : 0);
    }
    if ((p->signals & ONFI_VREFQ) != 0 && p->timing_mode >= ONFI_MODE_200) {
        configuration |= FEATURE_VREFQ;
    }
    if (configuration != 0) {
        boot_all(r, FLASH_OP_SET_FEATURE, FEATURE_CONFIGURATION, configuration, 0);
    }
    boot_all(r, FLASH_OP_SET_FEATURE, FEATURE_TIMING, FEATURE_NVDDR2 | p->timing_mode, 0);
    if (r->bad > 0) {
        console_printf("nand: SET FEATURES failed on channel %u way %u\n", r->bad_way >> 4, r->bad_way & 15);
        return "data interface not accepted";
    }
    return NULL;
}

const char *nand_init(void) {
    uint32_t config = sys_read(SYS_CONFIG);
    nand_geo.channels = FIELD(SYS_CONFIG, CHANNELS, config);
    nand_geo.ways = FIELD(SYS_CONFIG, WAYS, config);
    uint32_t mhz = FIELD(SYS_BOOT_ARG, CLOCK_MHZ, sys_read(SYS_BOOT_ARG));
    nand_geo.clock_mhz = mhz != 0 ? mhz : 1000;
    nand_queues_init();

    struct boot_result r = {0};
    load_steps(&nand_default_steps);
    const char *wrong = enables_find();
    if (wrong != NULL) {
        return wrong;
    }
    find_part(&r);
    for (uint32_t i = 0; i < nand_part->feature_count; i++) {
        const struct nand_feature *f = &nand_part->features[i];
        boot_all(&r, FLASH_OP_SET_FEATURE, f->address, f->p1, 0);
    }
    struct onfi_param param;
    if (!read_param(&r, 1, &param) && !read_param(&r, ONFI_PARAM_COPIES, &param)) {
        console_printf("nand: no parameter page copy has a good CRC\n");
        return "parameter page damaged";
    }
    nand_geo.retry_levels = nand_part->retry_levels != 0 ? nand_part->retry_levels
                            : param.read_levels != 0     ? param.read_levels - 1
                                                         : 0;
    if (nand_geo.retry_levels != 0) {
        /* A level that an earlier firmware has left outlives a reset of the chip. */
        boot_all(&r, FLASH_OP_SET_FEATURE, nand_part->retry_feature, 0, 0);
    }
    wrong = set_geometry(&param);
    if (wrong != NULL) {
        return wrong;
    }
    /* All channels have the same PHY. */
    uint32_t margin = flash_read(0, FLASH_PHY_MARGIN);
    wrong = set_interface(&r, &param, margin);
    if (wrong != NULL) {
        return wrong;
    }
    wrong = set_timing(&param, FIELD(SYS_CONFIG, PHY_BYTES, config), margin);
    if (wrong != NULL) {
        return wrong;
    }
    load_code();
    nand_geo.together = planes_together(&param);
    console_printf("nand: %s, %u channels x %u ways x %u LUNs x %u planes x %u blocks x %u pages x %u+%u B\n",
                   param.model, nand_geo.channels, nand_geo.ways, nand_geo.luns, nand_geo.planes, nand_geo.blocks,
                   param.pages_block, param.page_bytes, nand_geo.spare);
    if (param.page_bytes > nand_geo.sectors * PAGE_SIZE) {
        console_printf("nand: of every page of %u B the first %u B are used\n", param.page_bytes,
                       nand_geo.sectors * PAGE_SIZE);
    }
    if (nand_geo.strength == 0) {
        console_printf("nand: no code in this chip: sectors are protected by their CRC only\n");
    } else {
        console_printf("nand: %u sectors a page, each of 4 codewords of which %u bits can be corrected, %u B\n",
                       nand_geo.sectors, nand_geo.code_t, nand_geo.sector_bytes);
    }
    return NULL;
}
