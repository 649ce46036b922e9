// SPDX-License-Identifier: BSD-3-Clause
/* Kernels in slots: calls, trees, what is refused, and who waits for whom. */
#include "tests/scomp.h"

using namespace harness;
using namespace scomp;
using model::Geometry;
using model::Nand;

namespace {

constexpr uint32_t kAdd = 0x1111u, kZip = 0x2222u, kStuck = 0x3333u;

/** A kernel that adds its scalar to every byte, one of two inputs, and twice one that never ends. */
const std::vector<model::Slot> slots = {
    {kAdd, model::kWeave, 1}, {kZip, model::kWeave, 2}, {kStuck, model::kLoop, 1}, {kStuck, model::kLoop, 1}};

std::vector<uint8_t> named(uint32_t id, uint32_t inputs = 1, uint32_t scalars = 1) {
    scomp_kernel k{};
    k.magic = SCOMP_KERNEL_MAGIC;
    k.version = 1;
    k.inputs = static_cast<uint8_t>(inputs);
    k.scalars = static_cast<uint8_t>(scalars);
    k.id = id;
    std::vector<uint8_t> v(sizeof k);
    std::memcpy(v.data(), &k, sizeof k);
    return v;
}

Job call(uint16_t func, uint32_t value, uint32_t inputs = 1, uint32_t lba = 0, uint32_t bytes = 30000) {
    Job j;
    j.func = func;
    j.args.assign(4, 0);
    std::memcpy(j.args.data(), &value, 4);
    Piece p;
    for (uint32_t i = 0; i < inputs; i++) {
        p.streams.push_back({{{lba + i * 16, 8}}, bytes});
    }
    j.pieces = {p};
    return j;
}

std::vector<uint8_t> stored(uint32_t lba, uint32_t bytes, uint8_t add) {
    auto v = pattern(lba, 1, 8);
    v.resize(bytes);
    for (auto &b : v) {
        b = static_cast<uint8_t>(b + add);
    }
    return v;
}

} // namespace

TEST(kernel_calls) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed, 0, slots);
    d.start();
    fill(d, 0, 64);
    CHECK_EQ(load(d, 3, named(kAdd)).status, kOk);
    CHECK_EQ(load(d, 4, named(kZip, 2)).status, kOk);
    auto r = runJob(d, call(3, 7));
    CHECK_EQ(r[0].last.status, SCOMP_STATUS_OK);
    CHECK(r[0].out[0] == stored(0, 30000, 7));
    CHECK_EQ(r[0].report.core, 2u);
    CHECK_EQ(r[0].report.bytes_in, 30000u);
    r = runJob(d, call(4, 0, 2));
    CHECK_EQ(r[0].report.core, 3u);
    auto a = stored(0, 30000, 0), b = stored(16, 30000, 0);
    for (size_t i = 0; i < 30000; i++) {
        CHECK(r[0].out[0][2 * i] == a[i] && r[0].out[0][2 * i + 1] == b[i]);
    }
    /* Many pieces take turns in the one slot. */
    Job many = call(3, 1);
    for (uint32_t i = 1; i < 6; i++) {
        many.pieces.push_back(call(3, 1, 1, i * 8).pieces[0]);
    }
    r = runJob(d, many);
    for (uint32_t i = 0; i < 6; i++) {
        CHECK(r[i].out[0] == stored(i * 8, 30000, 1));
        CHECK_EQ(r[i].report.core, 2u);
    }
}

TEST(kernel_trees) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed, 0, slots);
    d.start();
    fill(d, 0, 64);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    CHECK_EQ(load(d, 3, named(kAdd)).status, kOk);
    CHECK_EQ(load(d, 4, named(kZip, 2)).status, kOk);
    auto node = [](uint16_t func, uint8_t in, uint32_t args) { return scomp_node{func, in, 1, 0xff, {}, 0, args}; };
    auto edge = [](uint8_t f, uint8_t fs, uint8_t t, uint8_t ts) { return scomp_edge{f, fs, t, ts}; };
    /* Core, kernel and kernel: more nodes than cores. */
    Job j = call(0, 9, 2);
    j.nodes = {node(0, 1, 0), node(3, 1, 4), node(4, 2, 4), node(0, 1, 0)};
    j.edges = {edge(SCOMP_OUTSIDE, 0, 0, 0), edge(0, 0, 1, 0), edge(1, 0, 2, 0),
               edge(SCOMP_OUTSIDE, 1, 2, 1), edge(2, 0, 3, 0), edge(3, 0, SCOMP_OUTSIDE, 0)};
    auto r = runJob(d, j);
    CHECK_EQ(r[0].last.status, SCOMP_STATUS_OK);
    auto a = stored(0, 30000, 9 + 9), b = stored(16, 30000, 9);
    CHECK_EQ(r[0].out[0].size(), 60000u);
    for (size_t i = 0; i < 30000; i++) {
        CHECK(r[0].out[0][2 * i] == a[i] && r[0].out[0][2 * i + 1] == b[i]);
    }
    /* One slot cannot be two nodes, and two cores not three. */
    j = call(0, 9);
    j.nodes = {node(3, 1, 4), node(3, 1, 4)};
    j.edges = {edge(SCOMP_OUTSIDE, 0, 0, 0), edge(0, 0, 1, 0), edge(1, 0, SCOMP_OUTSIDE, 0)};
    auto c = d.wait(1, submitExec(d, 9, encode(j)));
    CHECK_EQ(c.status, kBadRequest);
    CHECK_EQ(c.dw0, offsetof(scomp_request, nodes));
    j.nodes = {node(0, 1, 0), node(0, 1, 0), node(0, 1, 0)};
    j.edges = {edge(SCOMP_OUTSIDE, 0, 0, 0), edge(0, 0, 1, 0), edge(1, 0, 2, 0), edge(2, 0, SCOMP_OUTSIDE, 0)};
    CHECK_EQ(d.wait(1, submitExec(d, 9, encode(j))).status, kBadRequest);
    /* A node's streams and arguments are the kernel's. */
    j.nodes = {node(0, 1, 0), node(3, 1, 0)};
    j.edges = {edge(SCOMP_OUTSIDE, 0, 0, 0), edge(0, 0, 1, 0), edge(1, 0, SCOMP_OUTSIDE, 0)};
    c = d.wait(1, submitExec(d, 9, encode(j)));
    CHECK_EQ(c.status, kBadRequest);
    CHECK_EQ(c.dw0, sizeof(scomp_request) + 8 + sizeof(scomp_node));
}

TEST(kernel_refused) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed, 0, slots);
    d.start();
    fill(d, 0, 64);
    auto error = [&](const std::vector<uint8_t> &file) {
        auto c = load(d, 5, file);
        CHECK_EQ(c.status, kBadElf);
        return c.dw0;
    };
    CHECK_EQ(error(named(0x4444)), SCOMP_ELF_ERROR_NO_KERNEL);
    CHECK_EQ(error(named(0)), SCOMP_ELF_ERROR_BAD_KERNEL);
    CHECK_EQ(error(named(kAdd, 0)), SCOMP_ELF_ERROR_BAD_KERNEL);
    CHECK_EQ(error(named(kAdd, 3)), SCOMP_ELF_ERROR_BAD_KERNEL);
    CHECK_EQ(error(named(kAdd, 1, 9)), SCOMP_ELF_ERROR_BAD_KERNEL);
    auto file = named(kAdd);
    file[4] = 2;
    CHECK_EQ(error(file), SCOMP_ELF_ERROR_BAD_KERNEL);
    file = named(kAdd);
    file[63] = 1;
    CHECK_EQ(error(file), SCOMP_ELF_ERROR_BAD_KERNEL);
    file = named(kAdd);
    file.resize(68);
    CHECK_EQ(error(file), SCOMP_ELF_ERROR_BAD_KERNEL);

    CHECK_EQ(load(d, 5, named(kAdd)).status, kOk);
    auto where = [&](const Job &j) {
        auto c = d.wait(1, submitExec(d, 9, encode(j)));
        CHECK_EQ(c.status, kBadRequest);
        return c.dw0;
    };
    CHECK_EQ(where(call(5, 0, 2)), offsetof(scomp_request, streams_in));
    Job j = call(5, 0);
    j.out = 2;
    CHECK_EQ(where(j), offsetof(scomp_request, streams_in));
    j = call(5, 0);
    j.args.resize(8);
    CHECK_EQ(where(j), offsetof(scomp_request, args_bytes));
    CHECK(runJob(d, call(5, 3))[0].out[0] == stored(0, 30000, 3));
    /* The slot's function is a program's again. */
    CHECK_EQ(load(d, 5, kernelElf(model::kCopy)).status, kOk);
    auto r = runJob(d, call(5, 3));
    CHECK(r[0].out[0] == stored(0, 30000, 0));
    CHECK(r[0].report.core < 2);
}

TEST(kernel_waits_alone) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed, 0, slots);
    d.start();
    fill(d, 0, 64);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    CHECK_EQ(load(d, 3, named(kAdd)).status, kOk);
    CHECK_EQ(load(d, 6, named(kStuck)).status, kOk);
    /* Three calls for two slots, all stuck: who wants other tiles goes past them. */
    std::vector<uint16_t> stuck;
    for (uint16_t h = 20; h < 23; h++) {
        stuck.push_back(submitExec(d, h, encode(call(6, 0))));
    }
    CHECK(runJob(d, call(0, 0))[0].out[0] == stored(0, 30000, 0));
    CHECK(runJob(d, call(3, 5))[0].out[0] == stored(0, 30000, 5));
    for (uint16_t h = 20; h < 23; h++) {
        CHECK(!d.take(1, stuck[h - 20u]));
        CHECK_EQ(d.exec(1, abortSqe(h)).status, kOk);
        CHECK_EQ(collect(d, h)[0].last.status, SCOMP_STATUS_ABORTED);
        CHECK_EQ(d.wait(1, stuck[h - 20u]).dw0, 1u);
    }
    /* The watchdog ends one that never finishes, and the next has the slot. */
    Job j = call(6, 0);
    j.watchdog = 50;
    j.pieces.resize(3, j.pieces[0]);
    uint32_t failed = 0;
    auto r = runJob(d, j, &failed);
    CHECK_EQ(failed, 3u);
    for (auto &[number, piece] : r) {
        CHECK_EQ(piece.last.status, SCOMP_STATUS_WATCHDOG);
        CHECK(piece.report.core == 4 || piece.report.core == 5);
    }
    /* A reset while kernels run. */
    (void)submitExec(d, 30, encode(call(6, 0)));
    for (uint32_t i = 0; i < 3000 && (d.dev.cores[4].kernelRegs[0] & 1) == 0; i++) {
        d.step();
    }
    CHECK_EQ(d.dev.cores[4].state, CORE_STATE_RUNNING);
    d.disable();
    d.settle();
    CHECK_EQ(d.dev.cores[4].state, CORE_STATE_IDLE);
    d.start();
    CHECK_EQ(load(d, 3, named(kAdd)).status, kOk);
    CHECK(runJob(d, call(3, 5))[0].out[0] == stored(0, 30000, 5));
}

TEST(kernel_programs) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed, 0, slots);
    d.start(2, 6);
    constexpr uint32_t memory = 2, compute = 3, types[] = {0xc0, 0xc1};
    auto give = [&](uint32_t queue, Sqe s, const std::vector<uint8_t> &data) {
        Buffer b = d.buffer(static_cast<uint32_t>(data.size()), 0, true);
        d.put(b, data.data());
        Drive::setPrp(s, b);
        return d.exec(queue, s);
    };
    auto loadAs = [&](uint32_t type, const std::vector<uint8_t> &file) {
        Sqe s = Drive::sqe(0x85, compute);
        s[10] = 1 | type << 16;
        s[11] = s[14] = static_cast<uint32_t>(file.size());
        return give(0, s, file);
    };
    auto activate = [&](bool on) {
        Sqe s = Drive::sqe(0x88, compute);
        s[10] = 1 | (on ? 1u : 0) << 16;
        return d.exec(0, s).status;
    };
    /* The data is what the type says, and there are two types. */
    auto elf = kernelElf(model::kCopy);
    CHECK_EQ(loadAs(0xc2, elf).status, 0x190);
    CHECK_EQ(loadAs(0xbf, elf).status, 0x190);
    auto refused = [&](uint32_t type, const std::vector<uint8_t> &file) {
        auto c = loadAs(type, file);
        CHECK_EQ(c.status, 0x18e);
        CHECK_EQ(activate(true), kNoProgram);
        return c.dw0;
    };
    CHECK_EQ(refused(types[0], named(kAdd)), SCOMP_ELF_ERROR_NOT_ELF);
    CHECK_EQ(refused(types[1], elf), SCOMP_ELF_ERROR_BAD_KERNEL);
    CHECK_EQ(refused(types[1], named(0x4444)), SCOMP_ELF_ERROR_NO_KERNEL);

    CHECK_EQ(loadAs(types[1], named(kZip, 2)).status, kOk);
    CHECK_EQ(activate(true), kOk);
    struct Range {
        uint32_t nsid, bytes;
        uint64_t at, reserved[2];
    } ranges[] = {{memory, 5000, 0x1000, {}}, {memory, 5000, 0x4000, {}}, {memory, 16384, 0x8000, {}}};
    std::vector<uint8_t> a = pattern(1, 1, 2), b = pattern(9, 1, 2), data(sizeof ranges + 4);
    Sqe write = Drive::sqe(0x05, memory);
    write[12] = 8192;
    write[10] = 0x1000;
    CHECK_EQ(give(1, write, a).status, kOk);
    write[10] = 0x4000;
    CHECK_EQ(give(1, write, b).status, kOk);
    /* Two ranges of input, one of output, then the scalar. */
    std::memcpy(data.data(), ranges, sizeof ranges);
    data[sizeof ranges] = 7;
    Sqe execute = Drive::sqe(0x01, compute);
    execute[2] = 1;
    execute[3] = 3;
    execute[4] = static_cast<uint32_t>(data.size());
    execute[10] = 2 | 1 << 8;
    auto c = give(1, execute, data);
    CHECK_EQ(c.status, kOk);
    CHECK_EQ(c.dw0, 10000u);
    Buffer got = d.buffer(10000);
    Sqe read = Drive::sqe(0x02, memory);
    read[10] = 0x8000;
    read[12] = 10000;
    Drive::setPrp(read, got);
    CHECK_EQ(d.exec(1, read).status, kOk);
    auto out = d.get(got);
    for (size_t i = 0; i < 5000; i++) {
        CHECK(out[2 * i] == static_cast<uint8_t>(a[i] + 7) && out[2 * i + 1] == static_cast<uint8_t>(b[i] + 7));
    }
    /* Streams and scalars are the kernel's. */
    execute[10] = 3;
    CHECK_EQ(give(1, execute, data).status, kInvalidField);
    execute[10] = 2 | 1 << 8;
    execute[4] = sizeof ranges;
    CHECK_EQ(give(1, execute, data).status, kInvalidField);
    /* A kernel that never ends. */
    CHECK_EQ(activate(false), kOk);
    CHECK_EQ(loadAs(types[1], named(kStuck)).status, kOk);
    CHECK_EQ(activate(true), kOk);
    execute[3] = 2;
    execute[4] = 2 * sizeof(Range) + 4;
    execute[10] = 1 | 1 << 8;
    execute[11] = 50;
    std::memcpy(&data[sizeof(Range)], &ranges[2], sizeof(Range));
    c = give(1, execute, data);
    CHECK_EQ(c.status, kProgramFailed);
    CHECK_EQ(c.dw0, static_cast<uint32_t>(SCOMP_STATUS_WATCHDOG));
}
