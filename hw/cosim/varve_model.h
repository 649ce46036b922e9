// SPDX-License-Identifier: BSD-3-Clause
// Functional model of VarVE (docs/varve/isa.md, sections 2 to 5), written from that text. It says what each instruction
// does, and nothing of time. Used beside the RTL, under varve.h, and by the simulator of machine code.
//
// A bench implements World, calls Model::step for each word of custom-1 and custom-2 and Model::csr for VarVE's CSRs.
// RVV's instructions are not here: whoever executes them reads and writes Register::raw by rvv_write(), and vl, vtype.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace varve {

__extension__ typedef __int128 Wide;

/// What is built (isa.md, section 0). Widths in bits.
struct Params {
    unsigned xlen = 32, vlen = 256, g = 8, mbmax = 64, z = 1;
    unsigned nin = 9, streams = 8; ///< input ids; stream buffers each way (0: none, all streams are in memory)
    bool pup = true, full = true;
    bool meta_slots = false; ///< metaBits = slots (4.2): widths kept in bytes and a spare bit
    unsigned emax() const {
        return z * vlen / g;
    }
    /// Throws std::invalid_argument on illegal values.
    void check() const;
};

constexpr unsigned kInputs = 12, kOutputs = 8, kTables = 2, kTableBytes = 552;

/// A vector register. VAR: `v` holds n elements modulo 2^64, to be read by is_unsigned. `raw` is always VLEN / 8 bytes:
/// a FIXED register's contents, or a VAR register's elements in compact form.
struct Register {
    bool var = false, is_unsigned = true;
    unsigned mb = 8;         ///< 8, 16, 32, 64
    unsigned n = 0;          ///< elements; of a FIXED register the mask length
    std::vector<uint64_t> v; ///< n values, VAR only
    std::vector<uint8_t> w;  ///< EMAX widths as VSDAT shows them
    std::vector<uint8_t> raw;
    /// Element i as a number. Requires var and i < n.
    Wide value(unsigned i) const;
};

enum Kind : unsigned { Fixed, Variable, Huffman };
enum Reason : unsigned { Truncated = 1, TooWide = 2, NoCode = 3, BadTable = 4, NoSymbol = 6, Overconsumed = 7 };

/// A stream's descriptor (2.1). Positions are bytes: addresses, or positions in a stream buffer's stream.
struct Stream {
    bool open = false;
    Kind kind = Fixed;
    uint32_t format = 0; ///< VSFMT as declared, 14 bits
    uint64_t bytepos = 0, auxpos = 0, left = 0, done = 0;
    unsigned bitpos = 0, partial = 0, table = 0, pending = 0;
    unsigned width() const {
        return format & 127;
    }
    bool is_unsigned() const {
        return format >> 7 & 1;
    }
    unsigned mb() const {
        return 8u << (format >> 8 & 3);
    }
    bool buffer() const {
        return format >> 10 & 1;
    }
    unsigned aux() const {
        return format >> 11 & 7;
    }
};

struct State {
    std::array<Register, 32> r;
    unsigned nume = 0;
    bool packed = false;
    std::array<Stream, kInputs> in;
    std::array<Stream, kOutputs> out;
    std::array<bool, kTables> taken{};
    std::array<std::array<uint8_t, kTableBytes>, kTables> table{};
    uint32_t vsfmt = 0, vssel = 0;
    uint64_t vsaux = 0, vl = 0, vtype = 0, vstart = 0; ///< vtype: bit XLEN - 1 is vill
    unsigned vs = 1, mvarve = 1;                       ///< mstatus.VS; MVARVE.state
};

/// What lies outside the unit. Positions of stream buffers are 64 bits, so that they do not wrap.
class World {
  public:
    virtual ~World() = default;
    virtual bool load(uint64_t address, uint8_t &byte) = 0;   ///< memory; false: a fault
    virtual bool store(uint64_t address, uint8_t byte) = 0;   ///< false: a fault
    virtual bool storable(uint64_t address) = 0;              ///< whether store() would succeed
    virtual uint64_t head(unsigned s, bool output) = 0;       ///< IHEAD, OHEAD when a stream is declared
    virtual void consumed(unsigned s, uint64_t position) = 0; ///< moves IHEAD
    virtual uint8_t stream_byte(unsigned s, uint64_t position) = 0;
    virtual uint64_t delivered(unsigned s) = 0;          ///< ITAIL
    virtual std::optional<uint64_t> end(unsigned s) = 0; ///< IEND, when it is known
    virtual uint64_t room(unsigned s) = 0;               ///< OTAIL
    virtual void append(unsigned s, uint8_t byte) = 0;   ///< at OHEAD, which moves
};

struct Outcome {
    enum What { Done, Wait, Trap, NotMine } what = Done;
    uint32_t cause = 0;
    uint64_t tval = 0;
    bool wen = false; ///< rd is written with `value`
    unsigned rd = 0;
    uint64_t value = 0;        ///< XLEN bits, zero-extended
    uint32_t written = 0;      ///< bit r: vector register r
    bool waits_output = false; ///< of Wait, with waits_for
    unsigned waits_for = 0;    ///< the stream buffer that has too little data or room
};

/// What has been executed. `allotted`: bits of vector registers that the alignment gave to elements.
struct Counts {
    uint64_t instructions = 0, strips = 0, elements = 0, allotted = 0, consumed = 0, appended = 0;
};

/// Bits that value v needs (1.2): unsigned, or the smallest two's complement.
unsigned width(Wide v, bool is_unsigned);
/// v modulo 2^bits, as that type reads it.
Wide wrap(Wide v, unsigned bits, bool is_unsigned);

enum class Op { Add, Sub, Rsub, Min, Max, Bic, And, Or, Xor, Div, Mul, Asl, Asr, Eq, Ne, Lt, Le, Ge, Gt };
/// One operand of a pair: its number, its signedness and mb (4.1).
struct Operand {
    Wide v;
    bool is_unsigned;
    unsigned mb;
};
/// Type of a pair's result (4.2).
struct Type {
    bool is_unsigned;
    unsigned mb;
};
Type result_type(Op op, const Operand &a, const Operand &b);
/// Alignment width in bits of an active pair (4.2). `scalar`: b is an immediate or a scalar register.
unsigned align_width(const Params &p, Op op, const Operand &a, const Operand &b, bool scalar);
/// The result of a pair, wrapped; of a compare 0 or 1.
Wide compute(Op op, const Operand &a, const Operand &b);

class Model {
  public:
    Model(const Params &params, World &world);
    const Params p;
    State state;
    Counts counts;

    void reset(); ///< RUN 0 -> 1 (2.4)
    /// Executes one word. Wait: nothing has changed, call again when the stream has moved. NotMine: not custom-1 or -2.
    Outcome step(uint32_t insn, uint64_t rs1, uint64_t rs2);
    /// An access to a CSR of 2.2. `op`: 1 write, 2 set, 3 clear; `write` false: only read.
    Outcome csr(unsigned number, unsigned op, uint64_t source, bool write);
    /// Whether stream.* of custom-0 on this stream buffer is illegal, because an open stream of VarVE has it (3.3).
    bool owns(unsigned s, bool output) const;
    /// An RVV instruction has written these bytes to register r.
    void rvv_write(unsigned r, const uint8_t *raw);
    /// Register r is one of a group that an RVV instruction writes, behind its last element.
    void fix(unsigned r);
    /// vmv1r.v of a register: contents, tag and metadata.
    void move(unsigned vd, unsigned vs);
    /// RVV mask logic has written vd from two masks: raw, and the smaller length.
    void mask_write(unsigned vd, const uint8_t *raw, unsigned n);

  private:
    enum class Have { Value, End, NotYet, Error, Fault };
    struct Peek {
        Have have;
        Wide v = 0;
        unsigned bits = 0, reason = 0;
        uint64_t fault = 0;
        unsigned lacks = 0; ///< of NotYet: the stream buffer
    };
    struct Cursor {
        Wide bit; ///< 8 * bytepos + bitpos
        uint64_t aux, left;
    };
    Cursor cursor(const Stream &s) const;
    Peek value(unsigned id, Cursor &at, bool data);
    void advance(unsigned id, const Cursor &to, uint64_t count);
    struct Codes {
        std::array<unsigned, 16> count{};
        std::vector<unsigned> symbol;
        unsigned longest = 0, width = 0;
    };
    static std::optional<Codes> codes(const uint8_t *bytes);
    bool code_of(const Codes &c, unsigned symbol, unsigned &code, unsigned &length) const;

    World &world;
    Outcome vector(uint32_t insn, uint64_t rs1);
    Outcome stream(uint32_t insn, uint64_t rs1, uint64_t rs2);
    Outcome declare(uint32_t insn, uint64_t rs1, uint64_t rs2);
    Outcome unpack(uint32_t insn);
    Outcome pack(uint32_t insn);
    Outcome consume(uint32_t insn, uint64_t count);
    Outcome end_input(uint32_t insn);
    Outcome end_output(uint32_t insn);
    Outcome rcnum(uint32_t insn);

    Outcome illegal(uint32_t insn) const;
    Outcome bad(unsigned id, bool output, unsigned reason) const;
    Outcome wait(unsigned s, bool output) const;
    Outcome fault(bool store, uint64_t address) const;
    Outcome scalar(uint32_t insn, uint64_t value) const;
    bool is_aux(unsigned id, bool output) const;
    bool usable(unsigned id, bool output) const;
    unsigned emax() const;
    bool available() const;
    bool active(bool masked, unsigned mask, unsigned i) const;
    bool group_lmul() const;
    bool vill() const;
    unsigned sew() const;
    unsigned fits(const std::vector<unsigned> &widths, unsigned grain);
    void write_full(unsigned vd, bool is_unsigned, unsigned mb, const std::vector<Wide> &values, Outcome &o);
    void write_mask(unsigned vd, const std::vector<bool> &bits, unsigned n, Outcome &o);
    void lower(unsigned n);
    void dirty();
    uint64_t sext(uint64_t v) const;
    uint64_t cut(uint64_t v) const;
    void compact(Register &r) const;
    void expand(Register &r) const;
    uint32_t window_read() const;
    void window_write(uint32_t v);
};

/// Empty, or the first difference in words. Widths are compared by value, the contents of VAR registers by element.
std::string difference(const State &model, const State &rtl);

} // namespace varve
