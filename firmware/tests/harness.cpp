// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness.h"

#include <dlfcn.h>

#include <cstdlib>

namespace harness {

std::vector<Test> &tests() {
    static std::vector<Test> all;
    return all;
}

Drive::Drive(model::Nand &nand, uint32_t cores, uint32_t seed, uint32_t bootArg, const std::vector<model::Slot> &slots,
             const model::Times &times, const model::Faults &faults, uint64_t cutAt, Loaded loaded)
    : dev(nand, cores, seed) {
    dev.times = times;
    dev.faults = faults;
    dev.cutAt = cutAt;
    /* What the firmware does once in minutes is not what a test waits for. */
    dev.patience = 10'000'000'000;
    for (const model::Slot &s : slots) {
        dev.addSlot(s);
    }
    const char *path = getenv("ASSASIN_FW_SO");
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        throw Failure(std::string("cannot load the firmware: ") + dlerror());
    }
    fwBoot = reinterpret_cast<void (*)()>(dlsym(handle, "firmware_boot"));
    fwStep = reinterpret_cast<void (*)()>(dlsym(handle, "firmware_step"));
    auto *identity = static_cast<drive_identity *>(dlsym(handle, "loader_identity"));
    identity->id = loaded.id;
    identity->flags = loaded.flags;
    identity->spare = loaded.spare;
    dev.bootArg = bootArg;
    model::current = &dev;
    try {
        fwBoot();
    } catch (const model::PowerCut &) {
        dev.tearInFlight();
        dlclose(handle);
        throw;
    } catch (...) {
        dlclose(handle);
        throw;
    }
}

Drive::~Drive() {
    dlclose(handle);
    model::current = nullptr;
}

void *Drive::symbol(const char *name) const {
    return dlsym(handle, name);
}

void Drive::collect() {
    while (!dev.completions.empty()) {
        auto c = dev.completions.front();
        dev.completions.pop_front();
        uint32_t key = static_cast<uint32_t>(c.sqid) << 16 | c.cid;
        if (done.count(key)) {
            throw Failure("two completions for one command");
        }
        done[key] = c;
    }
}

void Drive::run(const std::function<bool()> &cond, uint64_t limit) {
    bool last = false; /* it was quiet at the last look */
    for (uint64_t i = 0; i < limit; i++) {
        collect();
        if (cond()) {
            return;
        }
        step();
        last = last && asleep();
        if (asleep()) {
            collect();
            if (cond()) {
                return;
            }
            if (!dev.quiet() || !last) {
                /* It has just submitted something, or taken a completion that it acts on at its next look. */
                last = dev.quiet();
                continue;
            }
            throw Failure("nothing more happens; console:\n" + dev.console);
        }
    }
    throw Failure("no end; console:\n" + dev.console);
}

void Drive::settle() {
    for (uint64_t i = 0; i < 20'000'000; i++) {
        step();
        if (asleep()) {
            collect();
            return;
        }
    }
    throw Failure("does not settle");
}

void Drive::enable(uint32_t css) {
    dev.hostWriteAdmin(model::Device::kHostBase, model::Device::kHostBase + 4096, 31 | 31 << 16);
    dev.hostWriteCc(0x00460001 | css << 4);
    run([&] { return (dev.hostCsts() & 1) != 0; });
}

void Drive::disable() {
    owner.number = 0;
    dev.hostWriteCc(0);
    settle();
    CHECK_EQ(dev.hostCsts() & 1, 0u);
    done.clear();
}

void Drive::createQueues(uint32_t n, uint32_t entries) {
    for (uint32_t i = 1; i <= n; i++) {
        Sqe s = sqe(0x05);
        s[6] = 0x10000 * i;
        s[10] = i | (entries - 1) << 16;
        s[11] = 1 | 1 << 1 | i << 16;
        CHECK_EQ(exec(0, s).status, kOk);
        s = sqe(0x01);
        s[6] = 0x10000 * i + 0x8000;
        s[10] = i | (entries - 1) << 16;
        s[11] = 1 | i << 16;
        CHECK_EQ(exec(0, s).status, kOk);
    }
}

void Drive::start(uint32_t queues, uint32_t css) {
    enable(css);
    createQueues(queues);
}

void Drive::shutdown() {
    owner.number = 0;
    dev.hostWriteCc(0x00460001 | 1 << 14);
    run([&] { return (dev.hostCsts() >> 2 & 3) == 2; });
}

Sqe Drive::from(const Owner &o, Sqe s, bool admin) {
    if (admin) {
        s[13] = o.number;
    } else if (s[10] >> 16 == 0) {
        s[10] |= o.number << 16;
    }
    s[14] = o.secret[0];
    s[15] = o.secret[1];
    return s;
}

model::Completion Drive::open(Owner &o, uint32_t q, bool bound) {
    Sqe s = sqe(SCOMP_OPCODE_IO_SESSION_OPEN, 1);
    s[10] = SCOMP_INTERFACE;
    s[11] = bound;
    s[14] = o.secret[0];
    s[15] = o.secret[1];
    auto c = exec(q, s);
    o.number = c.status == kOk ? c.dw0 : 0;
    o.functions.clear();
    return c;
}

uint16_t Drive::submit(uint32_t sqid, Sqe s) {
    uint8_t opcode = static_cast<uint8_t>(s[0]);
    bool function = opcode == SCOMP_OPCODE_ADMIN_FUNC_LOAD || opcode == SCOMP_OPCODE_ADMIN_FUNC_UNLOAD;
    bool request = opcode == SCOMP_OPCODE_IO_EXEC || opcode == SCOMP_OPCODE_IO_READ || opcode == SCOMP_OPCODE_IO_FEED ||
                   opcode == SCOMP_OPCODE_IO_ABORT;
    if (!bare && (sqid == 0 ? function : request && s[1] == 1) && s[14] == 0 && s[15] == 0) {
        if (owner.number == 0) {
            open(owner);
        }
        s = from(owner, s, sqid == 0);
    }
    uint16_t cid = nextCid++;
    s[0] = (s[0] & 0xffff) | static_cast<uint32_t>(cid) << 16;
    dev.submit(sqid, s);
    return cid;
}

std::optional<model::Completion> Drive::take(uint32_t sqid, uint16_t cid) {
    collect();
    auto it = done.find(sqid << 16 | cid);
    if (it == done.end()) {
        return std::nullopt;
    }
    auto c = it->second;
    done.erase(it);
    return c;
}

model::Completion Drive::wait(uint32_t sqid, uint16_t cid) {
    std::optional<model::Completion> c;
    run([&] {
        c = take(sqid, cid);
        return c.has_value();
    });
    return *c;
}

uint64_t Drive::hostPage() {
    uint64_t pages = dev.host.size() / 4096;
    /* The first pages are the admin queues'; then round and round: tests hold far fewer pages than there are. */
    uint64_t n = 16 + hostNext++ % (pages - 16);
    return model::Device::kHostBase + n * 4096;
}

Buffer Drive::buffer(uint32_t bytes, uint32_t offset, bool scatter) {
    Buffer b{};
    b.bytes = bytes;
    uint32_t pages = (offset + bytes + 4095) / 4096;
    std::vector<uint64_t> page;
    for (uint32_t i = 0; i < pages; i++) {
        if (scatter) {
            hostPage();
        }
        page.push_back(hostPage());
    }
    b.addr = page[0] + offset;
    b.segments = page;
    b.prp1 = b.addr;
    if (pages == 2) {
        b.prp2 = page[1];
    } else if (pages > 2) {
        uint64_t list = hostPage();
        /* A list near a page's end continues in another page. */
        uint32_t at = scatter ? 4096 - 8 * (1 + static_cast<uint32_t>(dev.rng() % 24)) : 0;
        b.prp2 = list + at;
        for (uint32_t i = 1; i < pages; i++) {
            if (at == 4096 - 8 && i + 1 < pages) {
                uint64_t next = hostPage();
                std::memcpy(hostPtr(list + at), &next, 8);
                list = next;
                at = 0;
            }
            std::memcpy(hostPtr(list + at), &page[i], 8);
            at += 8;
        }
    }
    return b;
}

void Drive::put(const Buffer &b, const uint8_t *data) {
    uint32_t off = static_cast<uint32_t>(b.addr & 4095);
    for (uint32_t i = 0; i < b.bytes; i++) {
        uint32_t at = off + i;
        *hostPtr(b.segments[at / 4096] + at % 4096) = data[i];
    }
}

std::vector<uint8_t> Drive::get(const Buffer &b) const {
    std::vector<uint8_t> v(b.bytes);
    uint32_t off = static_cast<uint32_t>(b.addr & 4095);
    for (uint32_t i = 0; i < b.bytes; i++) {
        uint32_t at = off + i;
        v[i] = dev.host[b.segments[at / 4096] + at % 4096 - model::Device::kHostBase];
    }
    return v;
}

Sqe Drive::sqe(uint8_t opcode, uint32_t nsid) {
    Sqe s{};
    s[0] = opcode;
    s[1] = nsid;
    return s;
}

model::Completion Drive::write(uint64_t lba, const std::vector<uint8_t> &data) {
    Buffer b = buffer(static_cast<uint32_t>(data.size()));
    put(b, data.data());
    Sqe s = sqe(0x01, 1);
    setPrp(s, b);
    s[10] = static_cast<uint32_t>(lba);
    s[11] = static_cast<uint32_t>(lba >> 32);
    s[12] = static_cast<uint32_t>(data.size() / 4096) - 1;
    return exec(1, s);
}

model::Completion Drive::read(uint64_t lba, uint32_t blocks, std::vector<uint8_t> *out) {
    Buffer b = buffer(blocks * 4096);
    Sqe s = sqe(0x02, 1);
    setPrp(s, b);
    s[10] = static_cast<uint32_t>(lba);
    s[11] = static_cast<uint32_t>(lba >> 32);
    s[12] = blocks - 1;
    auto c = exec(1, s);
    *out = get(b);
    return c;
}

model::Completion Drive::trim(uint64_t lba, uint32_t blocks) {
    Buffer b = buffer(16);
    uint32_t range[4] = {0, blocks, static_cast<uint32_t>(lba), static_cast<uint32_t>(lba >> 32)};
    put(b, reinterpret_cast<uint8_t *>(range));
    Sqe s = sqe(0x09, 1);
    setPrp(s, b);
    s[11] = 4;
    return exec(1, s);
}

uint32_t Drive::capacity() {
    Buffer b = buffer(4096);
    Sqe s = sqe(0x06, 1);
    setPrp(s, b);
    CHECK_EQ(exec(0, s).status, kOk);
    uint32_t n;
    std::memcpy(&n, get(b).data(), 4);
    return n;
}

std::vector<uint8_t> pattern(uint64_t lba, uint32_t version, uint32_t blocks) {
    std::vector<uint8_t> v(blocks * 4096, 0);
    if (version == 0) {
        return v;
    }
    for (uint32_t b = 0; b < blocks; b++) {
        uint64_t x = (lba + b) * 0x9e3779b97f4a7c15ull + version;
        for (uint32_t i = 0; i < 4096; i += 8) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            std::memcpy(&v[b * 4096 + i], &x, 8);
        }
    }
    return v;
}

} // namespace harness
