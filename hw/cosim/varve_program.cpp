// SPDX-License-Identifier: BSD-3-Clause
#include "varve_program.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

namespace cosim {

namespace {

constexpr unsigned kIds = 8; // of inputs and of outputs

/// What VSFMT says.
struct Format {
    unsigned w = 8;
    bool is_unsigned = false;
    unsigned mb = 3;
    bool buffer = false;
    unsigned aux = 0;
    uint32_t word() const {
        return w | (is_unsigned ? 1u : 0u) << 7 | mb << 8 | (buffer ? 1u : 0u) << 10 | aux << 11;
    }
};

class Generator {
  public:
    Generator(uint64_t seed, unsigned bits, unsigned allowed, bool with_full, unsigned slot)
        : rng(seed), vlen(bits), elements(bits / slot), kinds(allowed), full(with_full) {
        program.seed = seed;
        program.log_streams = chance(70) ? 3 : below(4);
        program.log_ring = 12 + below(3);
        most_open = 1 + below(6);
        few = chance(70);
        buffers = std::array<unsigned, 3>{20, 60, 90}[below(3)];
    }

    VarveProgram run() {
        program.memory.resize(kVarveBytes);
        for (uint8_t &byte : program.memory)
            byte = random_byte();
        for (VarveInput &in : program.in) {
            in.start = position();
            in.length = chance(8) ? 0 : chance(15) ? below(40) : 200 + below(3000);
            in.bytes.resize(in.length + 600);
            for (uint8_t &byte : in.bytes)
                byte = random_byte();
        }
        for (uint64_t &out : program.out)
            out = position();
        if (kinds & kVariableStreams)
            sow_widths();
        if (kinds & kHuffmanStreams)
            sow_tables();
        enable(3);
        while (vill)
            set();
        fill_registers();
        for (unsigned i = full ? 6 : 0; i > 0; i--)
            duplicate();
        const unsigned length = 60 + below(300);
        while (program.items.size() < length)
            block();
        if (chance(80))
            end_all();
        return program;
    }

    /// Pairs of strips. The first one's number becomes less only behind a chain of quotients; until then the second one
    /// has been unpacked on a guess as far as it goes. With slots of 8 bits an unpack of up to 8 bits has one beat, one
    /// of 32 has four. So when the guess fails, three registers are complete, four beats wait to be appended, and the
    /// beat behind these, which has no room there, is the last one of its instruction.
    VarveProgram crowd() {
        constexpr unsigned kNarrow = 0, kWide = 1;
        constexpr unsigned kValues = 16, kQuotients = 17, kProducts = 18;
        begin_directed();
        for (VarveInput &in : program.in)
            for (uint8_t &byte : in.bytes)
                byte = static_cast<uint8_t>(rng() | 0x10); // a square of five bits or more takes two slots
        declare_values(kNarrow, 8);
        declare_values(kWide, 32);
        const auto unpack_full = [&](unsigned id, unsigned vd) { insn(unpack_word(id, vd) & ~(1u << 30), 0, 0); };
        for (unsigned pair = 0; pair < 12; pair++) {
            const unsigned rd = 1 + pair % 8 * 2;
            unpack_full(kNarrow, kValues);
            for (unsigned i = 0; i < 4; i++)
                insn(variable(0x21, false, i ? kQuotients : kValues, 1, 3, kQuotients), 0, 0);
            insn(variable(0x24, false, kQuotients, kQuotients, 0, kProducts), 0, 0);
            insn(1u << kNarrow << 20 | 1u << 12 | rd << 7 | 0x5b, 0, 0);
            for (unsigned i = 0; i < 3; i++)
                unpack_full(kNarrow, 19 + i);
            unpack_full(kWide, 22);
            unpack_full(kNarrow, 23);
            insn((1u << kNarrow | 1u << kWide) << 20 | 1u << 12 | (rd + 1) << 7 | 0x5b, 0, 0);
        }
        return program;
    }

    /// Strips that have the same number one behind the other, less than EMAX, so that it is guessed for the next one;
    /// then others with more, or with fewer elements, for which the guess is too low, or too high. A quotient tells its
    /// number late, so that two registers of the next strip have been unpacked before.
    VarveProgram steady() {
        constexpr unsigned kStrips = 12, kStreams = 2, kPhases = 6;
        const unsigned slots = elements, slot = vlen / elements;
        begin_directed();
        std::vector<uint8_t> values;
        for (unsigned phase = 0; phase < kPhases; phase++) {
            const unsigned bits = std::array<unsigned, 3>{16, 8, 24}[phase % 3], size = (bits + slot - 1) / slot;
            for (unsigned i = 0; i < kStrips * (slots / size); i++)
                for (unsigned byte = 0; byte < 4; byte++)
                    values.push_back(
                        static_cast<uint8_t>(8 * byte >= bits ? 0 : rng() | (8 * byte + 8 == bits ? 0x80 : 0)));
        }
        for (VarveInput &in : program.in) {
            in.length = std::max<size_t>(values.size(), 3000);
            in.bytes = values;
            in.bytes.resize(in.length + 600);
        }
        for (unsigned id = 0; id < kStreams; id++)
            declare_values(id, 32);
        for (unsigned strip = 0; strip < kStrips * kPhases; strip++) {
            for (unsigned id = 0; id < kStreams; id++)
                insn(unpack_word(id, 16 + id) & ~(1u << 30), 0, 0);
            insn(variable(0x21, false, 16, 1, 3, 18), 0, 0);
            insn(((1u << kStreams) - 1) << 20 | 1u << 12 | (1 + strip % 24) << 7 | 0x5b, 0, 0);
        }
        return program;
    }

    /// Packs of VarVE-full for whose elements there is just too little room, then just enough. The stream buffers' room
    /// grows by a byte when nothing else helps (VarveProgram::tight); streams in memory end with it, the values or the
    /// widths first. Values of no bits, of few and of all bits; all elements, few and none of them; symbols without a
    /// code.
    VarveProgram tight() {
        constexpr unsigned kValues = 16, kOthers = 17, kSums = 18, kMask = 1, kTableAt = kVarveBase + 1024;
        begin_directed();
        program.tight = true;
        for (VarveInput &in : program.in)
            for (uint8_t &byte : in.bytes)
                byte = static_cast<uint8_t>(chance(50) ? 0 : chance(50) ? rng() % 8 : rng());
        const Table table{kTableAt, 1 + below(8), true};
        std::vector<unsigned> codes = lengths(1u << table.width);
        codes.resize(std::min<size_t>(codes.size(), 1u << table.width));
        write_table(table, codes);
        for (unsigned round = 0; round < 2; round++) {
            const bool buffer = round == 0;
            const uint32_t end = kVarveBase + kVarveBytes;
            const auto declare_packs = [&] {
                Format f;
                f.w = 0;
                f.mb = below(4);
                f.is_unsigned = chance(50);
                f.buffer = buffer;
                f.aux = 1;
                const bool widths_last = chance(50);
                const uint32_t last = end - 1 - below(vlen / 2), first = kVarveBase + 2048;
                format(f.word(), widths_last ? last : first);
                insn(custom2(9, 0, 2, 0), buffer ? below(8) : widths_last ? first : last, 0);
                f.w = table.width;
                f.aux = 0;
                format(f.word(), kTableAt);
                insn(custom2(10, 0, 2, 2), buffer ? below(8) : end - 1 - below(vlen / 4), 0);
            };
            declare_packs();
            const std::array<unsigned, 2> bits = {8u << below(2), 1 + below(30)};
            declare_values(0, bits[0]);
            declare_values(1, bits[1]);
            for (unsigned strip = 0; strip < 16; strip++) {
                const bool wide = chance(30);
                insn(unpack_word(0, kValues) & ~(1u << 30), 0, 0);
                if (wide)
                    insn(unpack_word(1, kOthers) & ~(1u << 30), 0, 0);
                insn(variable(0x00, false, kValues, wide ? kOthers : kValues, 0, kSums), 0, 0);
                insn(variable(std::array<unsigned, 3>{0x18, 0x19, 0x1f}[below(3)], false, kValues, below(8), 3, kMask),
                     0, 0);
                for (const unsigned id : {0u, 2u})
                    insn(pack_word(id, chance(50), kMask, chance(50) ? kSums : kValues, 1 + strip) & ~(1u << 30), 0, 0);
                insn((wide ? 3u : 1u) << 20 | 1u << 12 | (17 + strip % 8) << 7 | 0x5b, 0, 0);
            }
            for (const unsigned id : {0u, 1u})
                insn(custom2(24, id, 0, 30), 0, 0);
            for (const unsigned id : {0u, 2u, 2u}) // a symbol without a code is told first
                insn(custom2(25, id, 0, 31), 0, 0);
        }
        return program;
    }

  private:
    /// What programs without chance begin with.
    void begin_directed() {
        program.log_streams = 3;
        program.memory.resize(kVarveBytes);
        for (VarveInput &in : program.in) {
            in.start = position();
            in.length = 3000;
            in.bytes.resize(in.length + 600);
        }
        for (uint64_t &out : program.out)
            out = position();
        enable(3);
        while (vill || power > 0)
            set();
        fill_registers();
    }
    /// An input stream of unsigned values in its stream buffer.
    void declare_values(unsigned id, unsigned bits) {
        Format f;
        f.w = bits;
        f.is_unsigned = true;
        f.mb = 2;
        f.buffer = true;
        format(f.word(), 0);
        insn(custom2(0, 2, 1, id), 0, ~0u);
    }

    struct Open {
        bool open = false, buffer = false;
        unsigned w = 0;
        uint64_t first = 0, end = 0;                       ///< in memory: what must not be written; or what may be
        uint64_t used = 0;                                 ///< of an output in memory: bits that may have been written
        bool variable = false;                             ///< a VarWidth stream
        bool huffman = false;                              ///< a Huffman stream
        unsigned aux = 0;                                  ///< in a stream buffer: that of its widths
        uint64_t aux_first = 0, aux_end = 0, aux_used = 0; ///< in memory: the same of its widths
    };

    // ---- Chance
    // ------------------------------------------------------------------------------------------------------
    unsigned below(unsigned n) {
        return static_cast<unsigned>(rng() % n);
    }
    bool chance(unsigned percent) {
        return below(100) < percent;
    }
    uint8_t random_byte() {
        return static_cast<uint8_t>(chance(20) ? 0 : chance(10) ? 0xff : rng());
    }
    uint64_t position() {
        return chance(30) ? 0 : chance(40) ? 0xffffffff - below(600) : rng() & 0xffffffff;
    }
    unsigned scalar() { // a register that is not x0
        return 1 + below(few ? 4 : 31);
    }
    unsigned result() {
        return chance(15) ? 0 : scalar();
    }
    unsigned group() const {
        return power > 0 ? 1u << power : 1;
    }
    unsigned reg(unsigned size) {
        const unsigned groups = (full ? 16 : 32) / size;
        return size * below(few && chance(80) ? std::min(groups, 4u) : groups);
    }

    // ---- Items
    // -------------------------------------------------------------------------------------------------------
    void insn(uint32_t word, uint32_t rs1, uint32_t rs2) {
        program.items.push_back({VarveItem::Insn, word, rs1, rs2});
    }
    void format(uint32_t fmt, uint32_t aux) {
        program.items.push_back({VarveItem::Format, 0, fmt, aux});
    }
    void start(uint32_t vstart) {
        program.items.push_back({VarveItem::Start, 0, vstart, 0});
    }
    void enable(uint32_t on) {
        program.items.push_back({VarveItem::Enable, 0, on, 0});
    }
    void fill_registers() {
        for (unsigned r = 0; r < 32; r += 8)
            insn(whole(0x07, r, 8, 0), kVarveBase + r * vlen / 8, 0);
    }
    void set() {
        if (chance(2)) {
            vill = true;
            vl = 0;
            program.items.push_back({VarveItem::Set, 0, 0x80000000, 0});
            return;
        }
        vill = false;
        do {
            log_sew = below(3);
            power = chance(25) ? -static_cast<int>(1 + below(3)) : static_cast<int>(chance(40) ? 0 : below(4));
        } while (power < 0 && 8u << log_sew > 32u >> -power);
        const unsigned most = power >= 0 ? (vlen / sew()) << power : (vlen / sew()) >> -power;
        vl = chance(40) ? most : chance(5) ? 0 : chance(20) ? 1 : below(most + 1);
        const uint32_t vtype = (static_cast<uint32_t>(power) & 7) | log_sew << 3 | below(4) << 6;
        program.items.push_back({VarveItem::Set, 0, vtype, vl});
    }
    unsigned sew() const {
        return 8u << log_sew;
    }

    // ---- Words
    // -------------------------------------------------------------------------------------------------------
    static uint32_t custom2(unsigned funct7, unsigned rs2, unsigned rs1, unsigned rd) {
        return funct7 << 25 | rs2 << 20 | rs1 << 15 | rd << 7 | 0x5b;
    }
    static uint32_t unpack_word(unsigned id, unsigned vd) {
        return 1u << 30 | id << 26 | 1u << 25 | 2u << 12 | vd << 7 | 0x5b;
    }
    static uint32_t pack_word(unsigned id, bool masked, unsigned mask, unsigned vs, unsigned rd) {
        return 1u << 30 | id << 26 | (masked ? 0u : 1u) << 25 | (masked ? mask : 0) << 20 | vs << 15 | 3u << 12 |
               rd << 7 | 0x5b;
    }
    static uint32_t vector(unsigned funct6, bool masked, unsigned vs2, unsigned vs1, unsigned funct3, unsigned vd) {
        return funct6 << 26 | (masked ? 0u : 1u) << 25 | vs2 << 20 | vs1 << 15 | funct3 << 12 | vd << 7 | 0x57;
    }
    static uint32_t memory_word(unsigned major, bool masked, unsigned rs1, unsigned log_eew, unsigned vd) {
        return (masked ? 0u : 1u) << 25 | rs1 << 15 | (log_eew ? 4 + log_eew : 0) << 12 | vd << 7 | major;
    }
    static uint32_t whole(unsigned major, unsigned vd, unsigned count, unsigned log_eew) {
        return (count - 1) << 29 | memory_word(major, false, 1, log_eew, vd) | 8u << 20;
    }

    // ---- Memory
    // ------------------------------------------------------------------------------------------------------
    static bool overlap(uint64_t first, uint64_t end, const Open &with) {
        return with.open && !with.buffer &&
               ((first < with.end && with.first < end) || (first < with.aux_end && with.aux_first < end));
    }
    bool free_to_write(uint64_t first, uint64_t end) {
        for (const Table &table : tables)
            if (first < table.address + kTableBytes && table.address < end && !chance(3))
                return false;
        return std::none_of(in.begin(), in.end(), [&](const Open &o) { return overlap(first, end, o); });
    }
    bool free_to_read(uint64_t first, uint64_t end) const {
        return std::none_of(out.begin(), out.end(), [&](const Open &o) { return overlap(first, end, o); });
    }
    /// An address, often near one that was used before.
    uint32_t address() {
        uint32_t at = kVarveBase + below(kVarveBytes);
        if (chance(60))
            at = hot + below(128) - below(64);
        else if (chance(10))
            at = kVarveBase + kVarveBytes - below(200);
        else if (chance(5))
            at = kVarveBase - below(100);
        hot = std::min(std::max(at, kVarveBase), kVarveBase + kVarveBytes - 1);
        return at;
    }

    // ---- Streams
    // -----------------------------------------------------------------------------------------------------
    std::array<Open, kIds> &streams(bool output) {
        return output ? out : in;
    }
    unsigned open_count(bool output) {
        return static_cast<unsigned>(
            std::count_if(streams(output).begin(), streams(output).end(), [](const Open &o) { return o.open; }));
    }
    /// An open stream that suits a transfer, or any number.
    unsigned choose(bool output, bool transfers) {
        std::vector<unsigned> ids;
        for (unsigned id = 0; id < kIds; id++) {
            const Open &o = streams(output)[id];
            if (o.open && (!transfers || o.w <= sew() || chance(3)))
                ids.push_back(id);
        }
        if (ids.empty() || chance(2))
            return below(output ? 8 : chance(90) ? 8 : 16);
        return ids[below(static_cast<unsigned>(ids.size()))];
    }
    bool is_open(bool output, unsigned id) {
        return id < kIds && streams(output)[id].open;
    }

    unsigned random_width() {
        switch (below(5)) {
        case 0:
            return 1 + below(64);
        case 1:
            return 8u << below(3);
        case 2:
            return sew();
        default:
            return 1 + below(sew());
        }
    }

    // ---- VarWidth streams
    // --------------------------------------------------------------------------------------------
    /// A width byte as a stream has it: mostly small, seldom one that is none.
    uint8_t width_byte(unsigned most) {
        return static_cast<uint8_t>(chance(1) && chance(40) ? 60 + below(80)
                                    : chance(2)             ? below(65)
                                    : chance(20)            ? 0
                                                            : below(most + 1));
    }
    /// Widths in a part of memory and in some stream buffers.
    void sow_widths() {
        unsigned most = 8;
        for (unsigned i = 0; i < kVarveBytes / 2; i++) {
            if (i % 256 == 0)
                most = std::array<unsigned, 6>{1, 4, 8, 8, 16, 32}[below(6)];
            program.memory[i] = width_byte(most);
        }
        for (unsigned s = 0; s < kBuffers; s++) {
            has_widths[s] = chance(50);
            most = std::array<unsigned, 6>{1, 4, 8, 8, 16, 32}[below(6)];
            if (has_widths[s])
                for (uint8_t &byte : program.in[s].bytes)
                    byte = width_byte(most);
        }
    }
    void declare_variable(bool output) {
        unsigned id = below(kIds);
        for (unsigned i = 0; i < 4 && streams(output)[id].open; i++)
            id = below(kIds);
        Format f;
        f.w = 0;
        f.is_unsigned = chance(50);
        f.mb = chance(40) ? 3 : below(4);
        f.buffer = chance(buffers) && id < 1u << program.log_streams;
        f.aux = below(8);
        auto wrong = [&] {
            return f.aux == id || f.aux >= 1u << program.log_streams || streams(output)[f.aux].open ||
                   (!output && !has_widths[f.aux]);
        };
        for (unsigned i = 0; i < 8 && f.buffer && wrong(); i++)
            f.aux = below(8);
        Open next;
        next.open = next.variable = true;
        next.buffer = f.buffer;
        next.aux = f.aux;
        uint32_t rs1 = f.buffer ? below(8) : address();
        uint32_t count = std::array<uint32_t, 4>{below(3), below(60), below(300), below(300)}[below(4)];
        if (f.buffer && chance(40))
            count = chance(50) ? ~0u : below(3000);
        uint32_t aux = chance(80) ? kVarveBase + below(kVarveBytes / 2) : address();
        uint32_t fmt = f.word();
        bool legal = !streams(output)[id].open;
        if (chance(6)) {
            const unsigned why = below(5);
            if (why > 1 && (output || f.buffer != (why == 4)))
                return;
            switch (why) {
            case 0:
                fmt |= 1 + below(127);
                break;
            case 1:
                fmt |= 1u << (14 + below(18));
                break;
            case 2:
                count = ~0u;
                break;
            case 3:
                aux = 0xffffffff - below(100);
                count = 0u - aux + 1 + below(50);
                break;
            default:
                rs1 = 8 + below(100);
            }
            legal = false;
        }
        if (!f.buffer) {
            const unsigned bytes = 64 + below(800);
            next.first = rs1;
            next.end = rs1 + (output ? bytes : static_cast<uint64_t>(count) * (8u << f.mb) / 8 + 1);
            next.aux_first = aux;
            next.aux_end = aux + (output ? static_cast<uint64_t>(bytes / (1 + below(4))) : count);
            if (output && next.first < next.aux_end && next.aux_first < next.end)
                return;
            if (legal && (output ? !free_to_write(next.first, next.end) || !free_to_write(next.aux_first, next.aux_end)
                                 : !free_to_read(next.first, next.end) || !free_to_read(next.aux_first, next.aux_end)))
                return;
        }
        if (legal)
            streams(output)[id] = next;
        format(fmt, aux);
        insn(output ? custom2(9, 0, scalar(), id) : custom2(1, scalar(), scalar(), id), rs1, count);
    }

    // ---- Huffman streams
    // ---------------------------------------------------------------------------------------------
    static constexpr unsigned kTableBytes = 552;
    struct Table {
        uint32_t address;
        unsigned width;
        bool for_output; ///< no symbol twice, none above 255
    };
    void half(uint32_t address, unsigned value) {
        program.memory[address - kVarveBase] = static_cast<uint8_t>(value);
        program.memory[address - kVarveBase + 1] = static_cast<uint8_t>(value >> 8);
    }
    /// Lengths of a code of at most n symbols: of a complete one, or without some of its codes.
    std::vector<unsigned> lengths(unsigned n) {
        std::vector<unsigned> leaves = {0};
        const unsigned longest = 8 + below(8);
        const bool deep = chance(40);
        while (leaves.size() < n || leaves[0] == 0) {
            unsigned &leaf =
                leaves[deep && chance(80) ? leaves.size() - 1 : below(static_cast<unsigned>(leaves.size()))];
            if (leaf == longest)
                continue;
            const unsigned below_it = ++leaf;
            leaves.push_back(below_it);
        }
        for (unsigned i = chance(50) ? 0 : 1 + below(4); i > 0 && leaves.size() > 1; i--)
            leaves.erase(leaves.begin() + below(static_cast<unsigned>(leaves.size())));
        return leaves;
    }
    /// A table, perhaps a bad one. Those from the number of symbols on are any.
    Table table(uint32_t at) {
        const Table t{at, chance(70) ? 1 + below(8) : 1 + below(16), chance(60)};
        const unsigned values = 1u << t.width, most = std::min(t.for_output ? std::min(values, 256u) : 256u, 256u);
        std::vector<unsigned> codes = lengths(chance(30) ? most : 1 + below(chance(50) ? std::min(most, 20u) : most));
        while (codes.size() > most)
            codes.pop_back();
        write_table(t, codes);
        if (chance(12)) { // one of the header, of the counts or of the symbols
            const auto n = static_cast<unsigned>(codes.size());
            program.memory[at - kVarveBase +
                           std::array<unsigned, 3>{below(8), 8 + below(32), 40 + below(2 * n)}[below(3)]] ^=
                static_cast<uint8_t>(1u << below(8));
        }
        return t;
    }
    void write_table(const Table &t, const std::vector<unsigned> &codes) {
        const uint32_t at = t.address;
        const unsigned values = 1u << t.width;
        const auto n = static_cast<unsigned>(codes.size());
        std::array<unsigned, 16> count{};
        for (const unsigned length : codes)
            count[length]++;
        std::vector<unsigned> symbols(std::min(values, 256u));
        for (unsigned i = 0; i < symbols.size(); i++)
            symbols[i] = i;
        std::shuffle(symbols.begin(), symbols.end(), rng);
        unsigned longest = 15;
        while (!count[longest])
            longest--;
        half(at, 0x4856);
        half(at + 2, n);
        half(at + 4, (chance(80) ? longest : longest + below(16 - longest)) | t.width << 8);
        half(at + 6, 0);
        for (unsigned length = 0; length < 16; length++)
            half(at + 8 + 2 * length, count[length]);
        for (unsigned i = 0; i < 256; i++)
            half(at + 40 + 2 * i, i >= n         ? static_cast<unsigned>(rng())
                                  : t.for_output ? symbols[i]
                                                 : static_cast<unsigned>(rng()) % values);
    }
    void sow_tables() {
        for (unsigned i = 0; i < 5; i++)
            tables.push_back(table(kVarveBase + kVarveBytes / 2 + i * 640 + 8 * below(10)));
    }
    void declare_huffman(bool output) {
        unsigned id = below(kIds);
        for (unsigned i = 0; i < 4 && streams(output)[id].open; i++)
            id = below(kIds);
        Table t = tables[below(static_cast<unsigned>(tables.size()))];
        for (unsigned i = 0; i < 3 && output && !t.for_output; i++)
            t = tables[below(static_cast<unsigned>(tables.size()))];
        Format f;
        f.w = chance(97) ? t.width : 1 + below(16);
        f.is_unsigned = chance(50);
        f.mb = output ? below(4) : (f.w > 8 ? 1 : 0) + below(f.w > 8 ? 3 : 4);
        f.buffer = chance(buffers) && id < 1u << program.log_streams;
        Open next;
        next.open = next.huffman = true;
        next.buffer = f.buffer;
        next.w = std::min(f.w, 8u);
        uint32_t rs1 = f.buffer ? below(8) : address();
        uint32_t count = std::array<uint32_t, 4>{below(3), below(60), below(300), below(300)}[below(4)];
        if (f.buffer && chance(40))
            count = chance(50) ? ~0u : below(3000);
        if (!f.buffer) {
            next.first = rs1;
            next.end = rs1 + (output ? 64 + below(800) : 2 * static_cast<uint64_t>(count) + 8);
            if (output ? !free_to_write(next.first, next.end) : !free_to_read(next.first, next.end))
                return;
        }
        unsigned taken = 0;
        for (const bool way : {false, true})
            for (const Open &o : streams(way))
                taken += o.open && o.huffman;
        bool legal = !streams(output)[id].open && taken < 2;
        uint32_t fmt = f.word(), aux = t.address;
        if (chance(10)) {
            const unsigned why = below(7);
            switch (why) {
            case 0:
                fmt &= ~127u;
                break;
            case 1:
                fmt = (fmt & ~127u) | 17 | below(128);
                break;
            case 2:
                fmt |= 1u << (14 + below(18));
                break;
            case 3:
                aux |= 1 + below(7);
                break;
            case 4: // where no memory is, or its end
                aux = chance(50) ? kVarveBase + kVarveBytes - 8 * below(80) : address() & ~7u;
                break;
            case 5:
                if (output || f.buffer)
                    return;
                count = ~0u;
                break;
            default:
                if (!f.buffer)
                    return;
                rs1 = 8 + below(100);
            }
            legal = false;
        }
        if (legal)
            streams(output)[id] = next;
        format(fmt, aux);
        insn(output ? custom2(10, 0, scalar(), id) : custom2(2, scalar(), scalar(), id), rs1, count);
    }

    void declare(bool output) {
        if (kinds & kHuffmanStreams && chance(50)) {
            declare_huffman(output);
            return;
        }
        if (kinds & kVariableStreams && chance(50)) {
            declare_variable(output);
            return;
        }
        unsigned id = below(kIds);
        for (unsigned i = 0; i < 4 && streams(output)[id].open; i++)
            id = below(kIds);
        Format f;
        f.w = random_width();
        f.is_unsigned = chance(50);
        f.mb = f.w <= 8 ? 0 : f.w <= 16 ? 1 : f.w <= 32 ? 2 : 3;
        if (output)
            f.mb = below(4);
        else if (chance(50))
            f.mb = f.mb + below(4 - f.mb);
        f.aux = chance(70) ? 0 : below(8);
        f.buffer = chance(buffers) && id < 1u << program.log_streams;
        uint32_t rs1 = f.buffer ? below(8) : address();
        uint32_t count = below(3000);
        switch (below(8)) {
        case 0:
            count = below(2);
            break;
        case 1:
        case 2:
        case 3:
            count = below(60);
            break;
        case 4:
            count = f.buffer ? ~0u : count;
            break;
        case 5: // to the end, about
            count = f.buffer ? static_cast<uint32_t>(program.in[id].length * 8 / f.w + below(5)) : count;
            break;
        }
        uint32_t word = output ? custom2(8, 0, scalar(), id) : custom2(0, scalar(), scalar(), id);
        Open next;
        next.open = true;
        next.buffer = f.buffer;
        next.w = f.w;
        if (!f.buffer) {
            next.first = rs1;
            next.end = rs1 + (output ? 64 + below(800) : (static_cast<uint64_t>(count) * f.w + 7) / 8);
            if (output ? !free_to_write(next.first, next.end) : !free_to_read(next.first, next.end))
                return;
        }
        bool legal = !streams(output)[id].open;
        uint32_t fmt = f.word();
        if (chance(12)) { // one reason, or none, why it is illegal
            bool bad = true;
            switch (below(11)) {
            case 0:
                fmt &= ~127u;
                break;
            case 1:
                fmt |= 127;
                break;
            case 2:
                fmt |= 1u << (14 + below(18));
                break;
            case 3:
                word |= 8u << 7; // an id that is none
                break;
            case 4:
                word |= 16u << 7;
                break;
            case 5:
                rs1 = 8 + static_cast<uint32_t>(rng() % 0xfffffff8);
                bad = f.buffer;
                break;
            case 6:
                bad = !output && !f.buffer;
                count = ~0u;
                break;
            case 7:
                bad = !output && !f.buffer;
                rs1 = 0xffffffff - below(100);
                count = below(4) ? 2000 + below(0x7fffffff) : static_cast<uint32_t>((0x100000000 - rs1) * 8 / f.w + 1);
                break;
            case 8:
                bad = output;
                word |= scalar() << 20;
                break;
            case 9:
                bad = program.log_streams < 3;
                id = bad ? (1u << program.log_streams) + below(8 - (1u << program.log_streams)) : 0;
                fmt |= 1u << 10;
                rs1 = below(8);
                word = (word & ~(15u << 7)) | id << 7;
                break;
            default:
                bad = !output && f.w > 8;
                fmt &= ~(3u << 8);
            }
            if (!bad)
                return;
            legal = false;
        }
        if (kinds != kFixedStreams || chance(2)) { // other kinds are illegal
            const unsigned kind = 1 + below(3);
            if (chance(5) && (fmt & 127)) {
                word |= kind << 25;
                legal = false;
            }
        }
        if (legal)
            streams(output)[id] = next;
        format(fmt, static_cast<uint32_t>(rng()));
        insn(word, rs1, count);
    }

    void end(bool output, unsigned id) {
        insn(custom2(output ? 25 : 24, id, 0, result()), static_cast<uint32_t>(rng()), static_cast<uint32_t>(rng()));
        if (id < kIds)
            streams(output)[id].open = false;
    }
    void end_any(bool output) {
        end(output, chance(85) ? choose(output, false) : below(16));
    }
    void end_all() {
        for (bool output : {false, true})
            for (unsigned id = 0; id < kIds; id++)
                if (streams(output)[id].open)
                    end(output, id);
    }

    unsigned transfer_register() {
        const unsigned r = reg(group());
        return chance(2) ? (r + below(4)) % (full ? 16 : 32) : r;
    }
    void unpack() {
        insn(unpack_word(choose(false, true), transfer_register()), static_cast<uint32_t>(rng()),
             static_cast<uint32_t>(rng()));
        if (chance(10))
            set(); // at the end of a stream vl is small
    }
    /// Whether an output stream may be written `bits` more, of `count` values.
    bool budget(unsigned id, uint64_t bits, uint64_t count) {
        Open &o = out[id];
        if (!o.open || o.buffer)
            return true;
        if (8 * (o.end - o.first) < o.used + bits + 8 || (o.variable && o.aux_end - o.aux_first < o.aux_used + count))
            return false;
        o.used += bits;
        o.aux_used += count;
        return true;
    }
    void pack() {
        const unsigned id = choose(true, true) & 7;
        if (!budget(id,
                    static_cast<uint64_t>(vl) * (out[id].variable  ? sew()
                                                 : out[id].huffman ? 15
                                                                   : out[id].w),
                    vl)) {
            end(true, id);
            return;
        }
        insn(pack_word(id, chance(50), chance(40) ? 0 : reg(1), transfer_register(), result()),
             static_cast<uint32_t>(rng()), static_cast<uint32_t>(rng()));
    }
    void consume() {
        uint32_t count = below(20);
        switch (below(8)) {
        case 0:
            count = 0;
            break;
        case 1:
            count = below(vlen + 1);
            break;
        case 2:
            count = chance(50) ? vlen + below(2) : static_cast<uint32_t>(rng());
            break;
        }
        insn(custom2(16, choose(false, false), scalar(), 0), count, static_cast<uint32_t>(rng()));
    }

    // ---- RVV
    // ---------------------------------------------------------------------------------------------------------
    void arithmetic() {
        static constexpr unsigned kFunctions[] = {0x00, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
                                                  0x09, 0x0a, 0x0b, 0x25, 0x28, 0x29};
        const unsigned f6 = kFunctions[below(13)];
        unsigned f3 = std::array<unsigned, 3>{0, 3, 4}[below(3)];
        if (f3 == 3 && (f6 == 2 || (f6 >= 4 && f6 <= 7)))
            f3 = 4;
        if (f3 == 0 && f6 == 3)
            f3 = 4;
        const unsigned vd = reg(group());
        insn(vector(f6, vd != 0 && chance(30), reg(group()), f3 == 0 ? reg(group()) : below(32), f3, vd),
             static_cast<uint32_t>(rng()), 0);
    }
    void compare() {
        unsigned f6 = 0x18 + below(8);
        unsigned f3 = std::array<unsigned, 3>{0, 3, 4}[below(3)];
        if (f3 == 0 && f6 >= 0x1e)
            f6 -= 2;
        if (f3 == 3 && (f6 == 0x1a || f6 == 0x1b))
            f3 = 4;
        const unsigned vs2 = reg(group()), vs1 = f3 == 0 ? reg(group()) : below(32);
        unsigned vd = chance(40) ? 0 : reg(1);
        auto inside = [&](unsigned group_start) { return vd > group_start && vd < group_start + group(); };
        if (inside(vs2) || (f3 == 0 && inside(vs1)))
            vd = vs2;
        if (f3 == 0 && inside(vs1))
            return;
        insn(vector(f6, chance(20), vs2, vs1, f3, vd), chance(50) ? below(256) : static_cast<uint32_t>(rng()), 0);
    }
    void other_vector() {
        const unsigned vd = reg(group());
        switch (below(8)) {
        case 0: // mask logic
        case 1:
            insn(vector(0x18 + below(8), false, reg(1), reg(1), 2, chance(40) ? 0 : reg(1)), 0, 0);
            break;
        case 2: { // vmv.v, vmerge
            const unsigned f3 = std::array<unsigned, 3>{0, 3, 4}[below(3)];
            const bool merge = vd != 0 && chance(50);
            insn(vector(0x17, merge, merge ? reg(group()) : 0, f3 == 0 ? reg(group()) : below(32), f3, vd),
                 static_cast<uint32_t>(rng()), 0);
            break;
        }
        case 3: // vmul, vmacc
            insn(vector(chance(50) ? 0x25 : 0x2d, vd != 0 && chance(30), reg(group()), reg(group()), 2, vd), 0, 0);
            break;
        case 4: // vcpop, vfirst
            insn(vector(0x10, chance(20), reg(1), 16 + below(2), 2, result()), 0, 0);
            break;
        case 5: // vmv.x.s
            insn(vector(0x10, false, reg(1), 0, 2, result()), 0, 0);
            break;
        case 6: // vid, vredsum
            if (chance(50))
                insn(vector(0x14, vd != 0 && chance(30), 0, 17, 2, vd), 0, 0);
            else
                insn(vector(0x00, false, reg(group()), reg(1), 2, reg(1)), 0, 0);
            break;
        default: { // vmv<count>r
            const unsigned count = 1u << below(4);
            insn(vector(0x27, false, reg(count), count - 1, 3, reg(count)), 0, 0);
        }
        }
    }
    void access() {
        const bool store = chance(50);
        if (chance(20)) {
            const unsigned count = 1u << below(4), log_eew = store ? 0 : below(3), bytes = count * vlen / 8;
            const uint32_t at =
                std::min(std::max(address(), kVarveBase), kVarveBase + kVarveBytes - bytes) & ~((1u << log_eew) - 1);
            if (!store || free_to_write(at, at + bytes))
                insn(whole(store ? 0x27 : 0x07, reg(count), count, log_eew), at, 0);
            return;
        }
        unsigned log_eew = chance(70) ? log_sew : below(3);
        int emul = power + static_cast<int>(log_eew) - static_cast<int>(log_sew);
        if (emul < -3 || emul > 3) {
            log_eew = log_sew;
            emul = power;
        }
        const uint32_t at = address() & ~((1u << log_eew) - 1);
        const unsigned bytes = vl << log_eew;
        if (store && !free_to_write(at, at + bytes))
            return;
        const unsigned vd = reg(emul > 0 ? 1u << emul : 1);
        insn(memory_word(store ? 0x27 : 0x07, (store || vd != 0) && chance(30), scalar(), log_eew, vd), at, 0);
        start(0); // a fault leaves its element
    }
    void plain() {
        if (vill) {
            set();
            return;
        }
        switch (below(8)) {
        case 0:
        case 1:
            compare();
            break;
        case 2:
        case 3:
            other_vector();
            break;
        case 4:
        case 5:
            access();
            break;
        default:
            arithmetic();
        }
    }

    /// A word of custom-2 with any bits that opens no stream in memory.
    void wild() {
        uint32_t word = (static_cast<uint32_t>(rng()) & ~127u) | 0x5b;
        if (chance(60)) // near the words that there are
            word = (program.items.back().kind == VarveItem::Insn ? program.items.back().word : unpack_word(0, 0));
        for (unsigned i = below(3); i > 0; i--)
            word ^= 1u << (7 + below(25));
        if ((word & 127) != 0x5b)
            return;
        const unsigned funct3 = word >> 12 & 7, funct7 = word >> 25;
        if (funct3 == 0 && (funct7 & ~11u) == 0 && (funct7 & 3) != 3) {
            format(1u << 10 | 3 << 8 | (1 + below(64)), 0);
            const bool output = funct7 & 8;
            const unsigned id = word >> 7 & 15;
            insn(word, below(10), chance(50) ? below(100) : ~0u);
            if (!(word >> 11 & 1) && id < 1u << program.log_streams && !(output && (word >> 20 & 31)) &&
                (funct7 & 3) == 0 && !is_open(output, id)) {
                Open &o = streams(output)[id];
                o = {};
                o.open = o.buffer = true;
                o.w = program.items[program.items.size() - 2].a & 127;
            }
            return;
        }
        if (funct3 == 3)
            for (unsigned id = 0; id < kIds; id++)
                if (!budget(id, elements * 64, vlen))
                    return;
        if (full && (word >> 30 & 1)) // of pup: only registers of RVV
            word &= ~(1u << 11 | 1u << 19);
        else if (full && funct3 == 2)
            word |= 1u << 11;
        if (funct3 == 0 && (funct7 & ~1u) == 24 && (word >> 20 & 31) < kIds && !(word >> 15 & 31))
            streams(funct7 & 1)[word >> 20 & 7].open = false;
        insn(word, static_cast<uint32_t>(chance(50) ? below(20) : rng()), static_cast<uint32_t>(rng()));
    }

    /// A stream instruction that is illegal whatever it names.
    void off() {
        const bool by_start = chance(40);
        if (by_start)
            start(1 + below(vlen - 1));
        else
            enable(below(3));
        switch (below(5)) {
        case 0:
            insn(custom2(24 + below(2), choose(false, false) & 7, 0, result()), 0, 0);
            break;
        case 1:
            insn(pack_word(choose(true, true) & 7, chance(50), reg(1), reg(group()), result()), 0, 0);
            break;
        case 2:
            insn(custom2(16, choose(false, false) & 15, scalar(), 0), below(10), 0);
            break;
        default:
            insn(unpack_word(choose(false, true) & 15, reg(group())), 0, 0);
        }
        if (by_start)
            start(0);
        else
            enable(3);
    }

    // ---- VarVE-full
    // -----------------------------------------------------------------------------------------------------

    static uint32_t variable(unsigned funct6, bool masked, unsigned vs2, unsigned vs1, unsigned funct3, unsigned vd) {
        return (vector(funct6, masked, vs2, vs1, funct3, vd) & ~127u) | 0x2b;
    }
    unsigned elements_register() {
        return 16 + below(few && chance(90) ? 4 : 16);
    }
    unsigned source() {
        return chance(3) ? below(32) : elements_register();
    }
    unsigned mask_register() {
        return chance(2) ? below(32) : chance(40) ? 0 : reg(1);
    }
    /// A scalar of any width.
    uint32_t number() {
        const uint32_t value = static_cast<uint32_t>(rng()) >> below(32);
        return chance(20) ? 1u << below(32) : chance(40) ? -value : value;
    }
    /// Register groups are kept from VarVE-full.
    void no_groups() {
        while (power > 0 && chance(95))
            set();
    }
    /// What yields a number of elements is illegal once a strip packs.
    void open_strip() {
        if (packed && chance(95))
            renew();
    }
    void operation() {
        struct Row {
            unsigned funct6;
            const char *forms;
        };
        static constexpr Row kRows[] = {{0x00, "VIX"}, {0x02, "VIX"}, {0x03, "IX"},  {0x05, "VIX"}, {0x07, "VIX"},
                                        {0x08, "VIX"}, {0x09, "VIX"}, {0x0a, "VIX"}, {0x0b, "VIX"}, {0x14, "X"},
                                        {0x17, "IX"},  {0x21, "VIX"}, {0x24, "VIX"}, {0x25, "VIX"}, {0x29, "VIX"}};
        no_groups();
        open_strip();
        const Row &row = kRows[below(std::size(kRows))];
        const std::string forms = row.forms;
        const char form = forms[below(static_cast<unsigned>(forms.size()))];
        const bool masked = chance(row.funct6 == 0x14 ? 3 : 25);
        const unsigned a = row.funct6 == 0x17 ? 0 : row.funct6 == 0x14 ? below(32) : source();
        insn(variable(row.funct6, masked, a, form == 'V' ? source() : below(32),
                      form == 'V'   ? 0
                      : form == 'I' ? 3
                                    : 4,
                      masked && chance(5) ? 0 : elements_register()),
             number(), 0);
    }
    void full_compare() {
        no_groups();
        open_strip();
        unsigned f6 = std::array<unsigned, 6>{0x18, 0x19, 0x1b, 0x1d, 0x1e, 0x1f}[below(6)];
        const unsigned f3 = f6 >= 0x1e || chance(50) ? 3 + below(2) : 0;
        insn(variable(f6, chance(20), source(), f3 == 0 ? source() : below(32), f3,
                      chance(5) ? elements_register() : mask_register()),
             number(), 0);
    }
    void full_unpack() {
        full_unpack(chance(40), mask_register(), elements_register());
    }
    void full_unpack(bool masked, unsigned mask, unsigned vd) {
        full_unpack(masked, mask, vd, choose(false, false) & 15);
    }
    void full_unpack(bool masked, unsigned mask, unsigned vd, unsigned id) {
        no_groups();
        open_strip();
        insn((unpack_word(id, vd) & ~(1u << 30 | 1u << 25)) | (masked ? mask << 20 : 1u << 25),
             static_cast<uint32_t>(rng()), static_cast<uint32_t>(rng()));
    }
    void full_pack() {
        full_pack(chance(50), mask_register(), source());
    }
    void full_pack(bool masked, unsigned mask, unsigned vs) {
        no_groups();
        const unsigned id = choose(true, false) & 7;
        if (!budget(id,
                    static_cast<uint64_t>(elements) * (out[id].variable  ? 64
                                                       : out[id].huffman ? 15
                                                                         : out[id].w),
                    elements)) {
            end(true, id);
            return;
        }
        insn(pack_word(id, masked, mask, vs, result()) & ~(1u << 30), number(), number());
        packed = true;
    }
    /// The number of a register's elements, or their sum.
    void number_of() {
        no_groups();
        const unsigned what = below(3);
        insn(variable(0x10, what != 0 && chance(30), source(), what, 2, result()), 0, 0);
        packed |= what != 0;
    }
    /// Elements of a vector of fixed width.
    void from_fixed() {
        no_groups();
        open_strip();
        insn(variable(0x12, false, chance(95) ? reg(1) : source(), below(2), 2, elements_register()), 0, 0);
    }
    /// The strip ends, and streams move by what it has used.
    void renew() {
        unsigned streams = 0;
        for (unsigned id = 0; id < kIds; id++)
            if (in[id].open && chance(70))
                streams |= 1u << id;
        if (chance(2))
            streams |= 1u << below(12);
        renew(streams);
    }
    void renew(unsigned streams) {
        insn(streams << 20 | 1u << 12 | result() << 7 | 0x5b, static_cast<uint32_t>(rng()),
             static_cast<uint32_t>(rng()));
        packed = false;
    }
    /// A number in all elements; one of no elements makes all that is computed with it such.
    void duplicate() {
        no_groups();
        open_strip();
        insn(variable(0x17, false, 0, below(32), 3 + below(2), elements_register()), number(), 0);
    }
    void strip() {
        if (chance(40))
            duplicate();
        for (unsigned i = 1 + below(3); i > 0; i--)
            full_unpack();
        for (unsigned i = below(6); i > 0; i--)
            chance(40) ? full_compare() : !vill && chance(15) ? other_vector() : chance(5) ? from_fixed() : operation();
        if (chance(50))
            full_unpack();
        for (unsigned i = below(3); i > 0; i--)
            full_pack();
        if (chance(90))
            renew();
        if (chance(15)) // it has ended, perhaps
            end(false, choose(false, false) & 7);
    }
    /// Strips as filters have them, one right behind the other: a mask that lets through some, few or no elements,
    /// unpacks under it, packs of what was unpacked, or of a register that is older than the strip and ends it earlier.
    void filter() {
        const unsigned compared = elements_register(), mask = chance(50) ? 0 : reg(1);
        for (unsigned strips = 1 + below(4); strips > 0; strips--) {
            std::vector<unsigned> taken;
            full_unpack(false, 0, compared);
            const unsigned funct6 = chance(40) ? 0x18 : std::array<unsigned, 3>{0x19, 0x1d, 0x1f}[below(3)];
            insn(variable(funct6, false, compared, below(32), 3 + below(2), mask), number(), 0);
            if (chance(30))
                insn(variable(0x1f, false, compared, below(32), 3 + below(2), reg(1)), number(), 0);
            if (!vill && chance(30))
                insn(vector(0x18 + below(8), false, chance(80) ? mask : reg(1), reg(1), 2, mask), 0, 0);
            for (unsigned i = 1 + below(5); i > 0; i--) {
                taken.push_back(chance(5) ? mask : elements_register());
                full_unpack(chance(90), chance(90) ? mask : mask_register(), taken.back());
            }
            if (chance(30))
                operation();
            for (unsigned i = below(4); i > 0; i--)
                full_pack(chance(80), mask, chance(80) ? taken[below(static_cast<unsigned>(taken.size()))] : source());
            if (chance(20))
                number_of();
            renew();
        }
    }
    /// Strips of a kernel's loop: the same streams into the same registers, operations with these, packs, and each
    /// strip moves what it has unpacked. Nothing but the numbers of elements holds the next strip up.
    void loop() {
        std::vector<std::array<unsigned, 2>> unpacks;
        unsigned streams = 0;
        for (unsigned i = 1 + below(4); i > 0; i--) {
            unpacks.push_back({choose(false, false) & 15, elements_register()});
            streams |= 1u << unpacks.back()[0];
        }
        const auto any = [&] { return unpacks[below(static_cast<unsigned>(unpacks.size()))][1]; };
        const unsigned made = elements_register(), mask = reg(1);
        for (unsigned strips = 2 + below(7); strips > 0; strips--) {
            for (const auto &[id, vd] : unpacks)
                full_unpack(chance(5), mask, vd, id);
            for (unsigned i = below(4); i > 0; i--)
                insn(variable(std::array<unsigned, 3>{0x00, 0x0b, 0x24}[below(3)], false, any(), any(), 0, made), 0, 0);
            if (chance(20))
                insn(variable(0x1d, false, any(), below(32), 3 + below(2), mask), number(), 0);
            if (chance(20))
                full_unpack(true, mask, elements_register(), unpacks[0][0]);
            if (chance(30))
                full_pack(chance(30), mask, chance(70) ? made : any());
            if (chance(20))
                number_of();
            renew(chance(95) ? streams & 0xfff : 0);
        }
    }
    /// A word of custom-1 with some bits wrong.
    void wild_operation() {
        uint32_t word = variable(0x00, chance(20), source(), source(), std::array<unsigned, 3>{0, 3, 4}[below(3)],
                                 elements_register());
        for (unsigned i = 1 + below(3); i > 0; i--)
            word ^= 1u << (7 + below(25));
        word |= 1u << 11;
        insn(word, number(), 0);
    }
    void full_block() {
        const unsigned dice = below(100);
        if (dice < 25)
            strip();
        else if (dice < 37)
            filter();
        else if (dice < 45)
            loop();
        else if (dice < 55)
            operation();
        else if (dice < 65)
            full_compare();
        else if (dice < 75)
            full_unpack();
        else if (dice < 83)
            full_pack();
        else if (dice < 88)
            renew();
        else if (dice < 91)
            number_of();
        else if (dice < 93)
            from_fixed();
        else if (dice < 97 && !vill) { // vmv<count>r takes tags and metadata along
            const unsigned count = 1u << below(3), to = 16 + count * below(16 / count);
            const unsigned from = chance(30) ? reg(count) : 16 + count * below(16 / count);
            insn(vector(0x27, false, from, count - 1, 3, to), 0, 0);
        } else
            wild_operation();
    }

    void block() {
        const unsigned dice = below(100);
        if (open_count(false) < most_open && chance(20))
            declare(false);
        if (open_count(true) < most_open && chance(20))
            declare(true);
        if (full && chance(60)) {
            full_block();
            return;
        }
        if (dice < 7)
            set();
        else if (dice < 33)
            unpack();
        else if (dice < 53)
            pack();
        else if (dice < 58)
            consume();
        else if (dice < 62)
            end_any(chance(50));
        else if (dice < 65)
            declare(chance(50));
        else if (dice < 67)
            wild();
        else if (dice < 69)
            off();
        else if (dice < 72) { // the whole way of a value, one instruction behind the other
            unpack();
            plain();
            pack();
        } else
            plain();
    }

    std::mt19937_64 rng;
    VarveProgram program;
    unsigned vlen, elements, kinds; ///< `elements`: that a register of VarVE-full may hold
    bool full;
    bool packed = false; ///< perhaps: the strip packs
    unsigned most_open, buffers;
    bool few; ///< few registers, so that instructions depend on one another
    bool vill = true;
    unsigned log_sew = 0, vl = 0;
    int power = 0;
    uint32_t hot = kVarveBase;
    std::array<Open, kIds> in, out;
    std::vector<Table> tables;
    std::array<bool, kIds> has_widths{}; ///< input stream buffers that hold widths
};

} // namespace

VarveProgram random_varve_program(uint64_t seed, unsigned vlen, unsigned kinds, bool full, unsigned slot) {
    return Generator(seed, vlen, kinds, full, slot).run();
}

VarveProgram crowded_varve_program(uint64_t seed, unsigned vlen, unsigned slot) {
    return Generator(seed, vlen, kFixedStreams, true, slot).crowd();
}

VarveProgram steady_varve_program(uint64_t seed, unsigned vlen, unsigned slot) {
    return Generator(seed, vlen, kFixedStreams, true, slot).steady();
}

VarveProgram tight_varve_program(uint64_t seed, unsigned vlen, unsigned slot) {
    return Generator(seed, vlen, kVariableStreams | kHuffmanStreams, true, slot).tight();
}

} // namespace cosim
