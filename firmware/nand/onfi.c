#include "nand/onfi.h"

#include "lib/crc.h"

static uint32_t le16(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t le32(const uint8_t *p) {
    return le16(p) | le16(p + 2) << 16;
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
    out->plane_bits = p[113];
    out->crc = (uint16_t)le16(p + 254);
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
        /* No vendor block: NV-DDR2 mode 0 of the ONFI tables, which every NV-DDR2 part must keep. */
        out->t_wc = 25;
        out->t_cs = 20;
        out->t_wb = 100;
        out->t_rr = 20;
        out->t_rpre = 40;
        out->t_pst = 30;
        out->t_whr = 80;
        out->t_adl = le16(p + 154) > 150 ? le16(p + 154) : 150;
        out->t_ccs = le16(p + 139) > 300 ? le16(p + 139) : 300;
        out->beat_ps = 15000;
        out->timing_mode = 0;
    }
    return true;
}
