// SPDX-License-Identifier: BSD-3-Clause
#include "varve_c.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "varve_model.h"
#include "varve_rvv.h"

namespace {

class Table : public varve::World {
  public:
    explicit Table(const varve_world &functions) : f(functions) {
    }
    bool load(uint64_t address, uint8_t &byte) override {
        return f.load(f.user, address, &byte);
    }
    bool store(uint64_t address, uint8_t byte) override {
        return f.store(f.user, address, byte);
    }
    bool storable(uint64_t address) override {
        return f.storable(f.user, address);
    }
    uint64_t head(unsigned s, bool output) override {
        return f.head(f.user, s, output);
    }
    void consumed(unsigned s, uint64_t position) override {
        f.consumed(f.user, s, position);
    }
    uint8_t stream_byte(unsigned s, uint64_t position) override {
        return f.stream_byte(f.user, s, position);
    }
    uint64_t delivered(unsigned s) override {
        return f.delivered(f.user, s);
    }
    std::optional<uint64_t> end(unsigned s) override {
        uint64_t position = 0;
        if (!f.end(f.user, s, &position))
            return std::nullopt;
        return position;
    }
    uint64_t room(unsigned s) override {
        return f.room(f.user, s);
    }
    void append(unsigned s, uint8_t byte) override {
        f.append(f.user, s, byte);
    }

  private:
    varve_world f;
};

varve_outcome plain(const varve::Outcome &o) {
    varve_outcome out{};
    out.what = o.what;
    out.cause = o.cause;
    out.tval = o.tval;
    out.value = o.value;
    out.wen = o.wen;
    out.rd = o.rd;
    out.waits_output = o.waits_output;
    out.waits_for = o.waits_for;
    return out;
}

} // namespace

struct varve_model {
    Table world;
    varve::Model model;
    varve_model(const varve::Params &p, const varve_world &w) : world(w), model(p, world) {
    }
};

struct varve_model *varve_create(const struct varve_params *params, const struct varve_world *world) {
    varve::Params p;
    p.xlen = params->xlen;
    p.vlen = params->vlen;
    p.g = params->g;
    p.mbmax = params->mbmax;
    p.z = params->z;
    p.nin = params->nin;
    p.streams = params->streams;
    p.pup = params->pup;
    p.full = params->full;
    p.meta_slots = params->meta_slots;
    try {
        return new varve_model(p, *world);
    } catch (const std::invalid_argument &) {
        return nullptr;
    }
}

void varve_destroy(struct varve_model *m) {
    delete m;
}

void varve_reset(struct varve_model *m) {
    m->model.reset();
}

void varve_step(struct varve_model *m, uint32_t insn, uint64_t rs1, uint64_t rs2, struct varve_outcome *out) {
    varve::Outcome o = m->model.step(insn, rs1, rs2);
    if (o.what == varve::Outcome::NotMine) {
        o = varve::rvv_step(m->model, m->world, insn, rs1, rs2);
    }
    *out = plain(o);
}

void varve_csr(struct varve_model *m, uint32_t number, uint32_t op, uint64_t source, bool write,
               struct varve_outcome *out) {
    varve::Outcome o = m->model.csr(number, op, source, write);
    const varve::State &s = m->model.state;
    if (o.what == varve::Outcome::NotMine) {
        uint64_t value = 0;
        if (number == 0xc20)
            value = s.vl;
        else if (number == 0xc21)
            value = s.vtype;
        else if (number == 0xc22)
            value = m->model.p.vlen / 8;
        else {
            *out = plain(o);
            return;
        }
        o = {};
        if (write || s.vs == 0) {
            o.what = varve::Outcome::Trap;
            o.cause = 2;
        } else {
            o.wen = true;
            o.value = value;
        }
    }
    *out = plain(o);
}

void varve_set_vs(struct varve_model *m, uint32_t vs) {
    m->model.state.vs = vs & 3;
}

uint32_t varve_vs(const struct varve_model *m) {
    return m->model.state.vs;
}

bool varve_owns(const struct varve_model *m, uint32_t s, bool output) {
    return m->model.owns(s, output);
}

void varve_read_counts(const struct varve_model *m, struct varve_counts *counts) {
    const varve::Counts &c = m->model.counts;
    *counts = {c.instructions, c.strips, c.elements, c.allotted, c.consumed, c.appended};
}

int32_t varve_elements(const struct varve_model *m, uint32_t r, uint64_t *values, uint8_t *widths, uint32_t most) {
    const varve::Register &reg = m->model.state.r[r];
    if (!reg.var)
        return -1;
    for (uint32_t i = 0; i < std::min<uint32_t>(reg.n, most); i++) {
        values[i] = reg.v[i];
        widths[i] = reg.w[i];
    }
    return static_cast<int32_t>(reg.n);
}

void varve_raw(const struct varve_model *m, uint32_t r, uint8_t *bytes) {
    const auto &raw = m->model.state.r[r].raw;
    std::copy(raw.begin(), raw.end(), bytes);
}

void varve_write_raw(struct varve_model *m, uint32_t r, const uint8_t *bytes) {
    m->model.rvv_write(r, bytes);
}

bool varve_same(const struct varve_model *a, const struct varve_model *b, char *text, uint32_t bytes) {
    const std::string d = varve::difference(a->model.state, b->model.state);
    if (bytes) {
        std::strncpy(text, d.c_str(), bytes - 1);
        text[bytes - 1] = 0;
    }
    return d.empty();
}
