// SPDX-License-Identifier: BSD-3-Clause
// The functions of include/varve_model.h: VarVE in a process of the machine that a kernel is built on.
#include <cstdio>
#include <cstdlib>

#include <varve_c.h>

extern "C" {
struct vv_native {
    uint32_t reg, serial;
};
void vv_model_configure(uint32_t vlen, uint32_t g, uint32_t mbmax);
void vv_model_counts(uint64_t *instructions, uint64_t *strips);
uintptr_t vv_model_step(uint32_t insn, uintptr_t rs1, uintptr_t rs2);
void vv_model_csr(uint32_t number, uintptr_t value);
vv_native vv_model_result();
uint32_t vv_model_use(uint32_t reg, uint32_t serial);
void vv_model_hold(vv_native v);
void vv_model_mask(vv_native m);
}

namespace {

varve_model *model = nullptr;
uint32_t serials[32], next_serial = 0, next_register = 0;
uint32_t held = 0; ///< bit r: register r is kept for the rest of the strip

[[noreturn]] void stop(const char *what, uint64_t a, uint64_t b) {
    std::fprintf(stderr, "VarVE model: %s (%#llx, %#llx)\n", what, static_cast<unsigned long long>(a),
                 static_cast<unsigned long long>(b));
    std::abort();
}

bool load(void *, uint64_t address, uint8_t *byte) {
    *byte = *reinterpret_cast<const uint8_t *>(address);
    return true;
}
bool store(void *, uint64_t address, uint8_t byte) {
    *reinterpret_cast<uint8_t *>(address) = byte;
    return true;
}
bool storable(void *, uint64_t) {
    return true;
}

varve_model *the_model() {
    if (!model)
        vv_model_configure(256, 8, 64);
    return model;
}

/// vsetvli a0, x0 with e8 and LMUL 1 (code 0) or 8 (code 3).
void set_group(uint32_t code) {
    varve_outcome o;
    varve_step(model, code << 20 | 7u << 12 | 10u << 7 | 0x57, 0, 0, &o);
}

} // namespace

void vv_model_configure(uint32_t vlen, uint32_t g, uint32_t mbmax) {
    varve_params p{};
    p.xlen = 64;
    p.vlen = vlen;
    p.g = g;
    p.mbmax = mbmax;
    p.z = 1;
    p.nin = 9;
    p.pup = p.full = 1;
    varve_world w{};
    w.load = load;
    w.store = store;
    w.storable = storable;
    if (model)
        varve_destroy(model);
    model = varve_create(&p, &w);
    if (!model)
        stop("illegal parameters: VLEN and G are", vlen, g);
    set_group(0);
    next_register = next_serial = held = 0;
}

void vv_model_counts(uint64_t *instructions, uint64_t *strips) {
    varve_counts c;
    varve_read_counts(the_model(), &c);
    *instructions = c.instructions;
    *strips = c.strips;
}

uintptr_t vv_model_step(uint32_t insn, uintptr_t rs1, uintptr_t rs2) {
    varve_outcome o;
    the_model();
    // With G below 8 a mask has more bits than LMUL 1 has bytes, and VarVE is illegal under LMUL 8.
    const bool logic = (insn & 127) == 0x57 && insn >> 26 != 0x27;
    if (logic)
        set_group(3);
    varve_step(model, insn, rs1, rs2, &o);
    if (logic)
        set_group(0);
    if ((insn & 0x707f) == 0x105b) // vs.rcnum: the strip is over
        held = 0;
    if (o.what != VARVE_DONE)
        stop(o.what == VARVE_TRAP ? "a trap; word and cause are" : "not executed; word and what are", insn,
             o.what == VARVE_TRAP ? o.cause : o.what);
    return o.value;
}

void vv_model_csr(uint32_t number, uintptr_t value) {
    varve_outcome o;
    varve_csr(the_model(), number, 1, value, true, &o);
    if (o.what != VARVE_DONE)
        stop("a trap; CSR and cause are", number, o.cause);
}

vv_native vv_model_result() {
    if (held == 0xfffffffe)
        stop("every register is held; serial and held ones are", next_serial, held);
    do
        next_register = next_register % 31 + 1;
    while (held >> next_register & 1);
    serials[next_register] = ++next_serial;
    return {next_register, next_serial};
}

uint32_t vv_model_use(uint32_t reg, uint32_t serial) {
    if (reg == 0 || reg > 31 || serials[reg] != serial)
        stop("a value is used after 31 more results; register and serial are", reg, serial);
    return reg;
}

void vv_model_hold(vv_native v) {
    held |= 1u << vv_model_use(v.reg, v.serial);
}

void vv_model_mask(vv_native m) {
    const uint32_t from = vv_model_use(m.reg, m.serial);
    vv_model_step(0x27u << 26 | 1u << 25 | from << 20 | 3u << 12 | 0x57, 0, 0); // vmv1r.v v0, from
}
