// SPDX-License-Identifier: BSD-3-Clause
#include "torture/native.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/scomp.h"

namespace torture {

namespace {

using harness::Drive;
using harness::Sqe;

constexpr uint32_t kFua = 1u << 30;

class NativeHost : public Host {
  public:
    NativeHost(model::Nand &nand, const Life &life, const model::Times &times, History &history, bool parity)
        : h(history), d(nand, 1 + life.seed % 2, life.seed, 0, {}, times, {}, life.cut,
                        {0, parity ? IDENTITY_FLAG_PARITY_ON : IDENTITY_FLAG_PARITY_OFF}) {
        d.start();
    }
    History &h;
    Drive d;
    std::function<void()> between = [] {}; /**< called while the drive works */

    uint32_t capacity() override {
        return d.capacity();
    }
    bool writeCache() override {
        harness::Buffer b = d.buffer(4096);
        Sqe s = Drive::sqe(0x06);
        Drive::setPrp(s, b);
        s[10] = 1;
        CHECK_EQ(d.exec(0, s).status, harness::kOk);
        return d.get(b)[525] & 1;
    }
    uint32_t submit(const Command &c, const std::vector<uint8_t> &data) override {
        if (flying.empty() && !session) {
            d.freeHost();
        }
        if (c.kind == Command::Offload) {
            startOffload(c, data);
            return kOffload;
        }
        uint32_t q = c.kind == Command::Format ? 0 : 1 + static_cast<uint32_t>(d.dev.rng() % 2);
        static constexpr uint8_t kOpcodes[] = {0x02, 0x01, 0x09, 0x08, 0x00, 0, 0x80};
        Sqe s = Drive::sqe(kOpcodes[c.kind], 1);
        harness::Buffer b{};
        switch (c.kind) {
        case Command::Read:
        case Command::Write:
            b = d.buffer(c.blocks * kBlockBytes,
                         static_cast<uint32_t>(d.dev.rng() % 3 == 0 ? d.dev.rng() % 1024 * 4 : 0),
                         d.dev.rng() % 4 == 0);
            put(b, data);
            break;
        case Command::Trim: {
            b = d.buffer(16);
            uint32_t range[4] = {0, c.blocks, c.lba, 0};
            d.put(b, reinterpret_cast<uint8_t *>(range));
            s[11] = 4;
            break;
        }
        case Command::Format:
            s[10] = c.blocks << 9;
            break;
        default:
            break;
        }
        if (b.bytes > 0) {
            Drive::setPrp(s, b);
        }
        if (c.kind == Command::Read || c.kind == Command::Write || c.kind == Command::Zeroes) {
            s[10] = c.lba;
            s[12] = (c.blocks - 1) | (c.fua ? kFua : 0);
        }
        uint32_t id = q << 16 | d.submit(q, s);
        flying.emplace(id, Flying{c.kind == Command::Read, b});
        return id;
    }
    std::vector<Ended> wait() override {
        std::vector<Ended> ended;
        d.run([&] {
            between();
            abortInTime();
            poll(ended);
            return !ended.empty();
        });
        return ended;
    }
    void reset() override {
        if (d.dev.rng() % 3 == 0) {
            /* Enabled again before the firmware has looked. */
            d.dev.hostWriteCc(0);
            d.dev.hostWriteAdmin(model::Device::kHostBase, model::Device::kHostBase + 4096, 31 | 31 << 16);
            d.dev.hostWriteCc(0x00460001);
            d.run([&] {
                between();
                return (d.dev.hostCsts() & 1) != 0;
            });
        }
        d.disable();
        flying.clear();
        session.reset();
        loaded = false;
        d.start();
    }
    void shutdown() override {
        d.dev.hostWriteCc(0x00460001 | 1 << 14);
        d.run([&] {
            between();
            return (d.dev.hostCsts() >> 2 & 3) == 2;
        });
    }
    void idle(uint64_t cycles) override {
        uint64_t until = d.dev.now + cycles;
        while (d.dev.now < until) {
            between();
            d.step();
            if (d.asleep()) {
                d.dev.pass(until - d.dev.now);
            }
        }
    }

    std::optional<bool> onMedium(uint32_t lba, const std::vector<uint32_t> &versions) override {
        look();
        return std::any_of(medium.begin(), medium.end(), [&](const auto &sector) {
            return std::any_of(versions.begin(), versions.end(),
                               [&](uint32_t v) { return holds(sector.second.data.data(), lba, v); }) &&
                   d.dev.nand.readable(sector.first);
        });
    }
    bool gone(uint32_t lba, uint32_t version) override {
        listen();
        look();
        auto said = h.saidLost.find(lba);
        if (said != h.saidLost.end() && version <= said->second) {
            return true;
        }
        return !*onMedium(lba, {version}) && std::any_of(medium.begin(), medium.end(), [&](const auto &sector) {
            return holds(sector.second.data.data(), lba, version);
        });
    }
    /** Note what the drive has said of lost blocks. */
    void listen() {
        const std::string &console = d.dev.console;
        static const std::string kBlock = "ftl: block ", kLost = " is lost: it ";
        for (size_t at = heard; (at = console.find(kBlock, at)) != std::string::npos; heard = ++at) {
            size_t end;
            uint32_t lba = static_cast<uint32_t>(std::stoul(console.substr(at + kBlock.size(), 12), &end));
            if (console.compare(at + kBlock.size() + end, kLost.size(), kLost) == 0) {
                h.saidLost[lba] = h.number;
            }
        }
    }

  private:
    static constexpr uint32_t kOffload = 1u << 31;
    struct Flying {
        bool read;
        harness::Buffer buffer;
    };
    std::map<uint32_t, Flying> flying;
    std::optional<scomp::Session> session;
    bool loaded = false;
    uint64_t abortAt = UINT64_MAX;          /**< the session */
    std::map<uint32_t, model::Page> medium; /**< what it held at a look */
    uint64_t looked = UINT64_MAX;
    size_t heard = 0; /**< of the console */

    void look() {
        if (looked != d.dev.now) {
            medium = d.dev.nand.pages();
            looked = d.dev.now;
        }
    }
    void put(const harness::Buffer &b, const std::vector<uint8_t> &data) {
        uint32_t off = static_cast<uint32_t>(b.addr & 4095);
        for (size_t i = 0; i < data.size();) {
            size_t at = off + i, n = std::min<size_t>(4096 - at % 4096, data.size() - i);
            std::memcpy(d.hostPtr(b.segments[at / 4096]) + at % 4096, &data[i], n);
            i += n;
        }
    }
    std::vector<uint8_t> get(const harness::Buffer &b) {
        std::vector<uint8_t> data(b.bytes);
        uint32_t off = static_cast<uint32_t>(b.addr & 4095);
        for (size_t i = 0; i < data.size();) {
            size_t at = off + i, n = std::min<size_t>(4096 - at % 4096, data.size() - i);
            std::memcpy(&data[i], d.hostPtr(b.segments[at / 4096]) + at % 4096, n);
            i += n;
        }
        return data;
    }
    void startOffload(const Command &c, const std::vector<uint8_t> &data) {
        if (!loaded) {
            CHECK_EQ(scomp::load(d, 0, scomp::kernelElf(model::kCopy)).status, harness::kOk);
            loaded = true;
        }
        scomp::Job j;
        j.flags = SCOMP_FLAG_OUT_TABLE;
        /* The blocks' second part comes first. */
        uint32_t second = static_cast<uint32_t>(d.dev.rng() % c.blocks);
        std::vector<scomp::Extent> blocks = {{c.lba + second, c.blocks - second}};
        if (second > 0) {
            blocks.push_back({c.lba, second});
        }
        j.pieces = {scomp::Piece{{scomp::Stream{{}, data.size()}}, {blocks}}};
        scomp::Feeds feeds;
        std::vector<uint8_t> turned = data;
        std::rotate(turned.begin(), turned.begin() + static_cast<ptrdiff_t>(second * size_t{kBlockBytes}),
                    turned.end());
        feeds[{0, 0}] = std::move(turned);
        session.emplace(d, j, std::move(feeds));
        abortAt = d.dev.rng() % 4 == 0 ? d.dev.now + d.dev.rng() % 300'000 : UINT64_MAX;
    }
    /** How a write ends that comes to what an offload has come to. */
    static uint16_t asNvme(uint16_t status) {
        switch (status) {
        case SCOMP_STATUS_OK:
            return harness::kOk;
        case SCOMP_STATUS_ABORTED:
            return harness::kAborted;
        case SCOMP_STATUS_CAPACITY:
            return harness::kReadOnly;
        case SCOMP_STATUS_MEDIA:
            return harness::kWriteFault;
        default:
            throw harness::Failure("an offload that copies ends with status " + std::to_string(status));
        }
    }
    void abortInTime() {
        if (session && d.dev.now >= abortAt) {
            d.submit(2, scomp::abortSqe(9));
            abortAt = UINT64_MAX;
        }
    }
    void poll(std::vector<Ended> &ended) {
        if (session && session->poll()) {
            uint16_t status = session->done.status;
            if (status == harness::kOk) {
                CHECK(!session->results.empty());
                status = asNvme(session->results[0].last.status);
            }
            session.reset();
            ended.push_back({kOffload, status, {}});
        }
        if (d.completed() == 0) {
            return;
        }
        for (auto it = flying.begin(); it != flying.end();) {
            auto c = d.take(it->first >> 16, static_cast<uint16_t>(it->first));
            if (!c) {
                ++it;
                continue;
            }
            ended.push_back({it->first, c->status, {}});
            if (it->second.read && c->status == harness::kOk) {
                ended.back().data = get(it->second.buffer);
            }
            it = flying.erase(it);
        }
    }
};

std::string report(const std::exception &e) {
    std::string why = e.what();
    return why.substr(0, 700);
}

/** A case on its medium; the process may go on as one of its children, with another end of the case. */
class Player {
  public:
    Player(const Case &of, Counts &shared, const Explore *plan) : c(of), counts(shared), explore(plan) {
    }
    Case c;
    Counts &counts;
    const Explore *explore;
    size_t life = 0;

    void play() {
        model::Geometry g;
        const Part &p = c.part;
        g.channels = p.channels, g.ways = p.ways, g.luns = p.luns, g.planes = p.planes;
        g.blocks = p.blocks, g.pages = p.pages, g.pageBytes = p.pageBytes, g.spare = p.spare;
        assasin::Reliability r;
        try {
            r.setAll(c.media);
        } catch (const std::runtime_error &e) {
            throw BadInput(std::string("media: ") + e.what());
        }
        g.factoryBad = r.factoryBad;
        g.chance = r.seed;
        model::Nand nand(g);
        nand.cells().reliability() = r;
        h.faults = r.programFail > 0 || r.eraseFail > 0 || r.factoryBad > 0 ||
                   std::any_of(c.lives.begin(), c.lives.end(), [](const Life &l) { return l.dead > 0; });
        /* A program that fails takes what the host was told is in the write cache: only a loss of power is made good.
         */
        h.fades = (r.pairing != assasin::NandPairing::None && r.programFail > 0) || r.dieDies || ages();
        h.room = c.room;
        h.blocks = std::max(h.blocks, c.end());
        model::Times times{p.read, p.program, p.erase, p.bus};
        std::mt19937_64 rng(c.seed ^ 0x746f7274);
        for (life = 0; life < c.lives.size(); life++) {
            play(nand, times, rng);
        }
    }

  private:
    History h;
    uint64_t bootCycles = 100000;

    /** Whether the case has time without power in it. */
    bool ages() const {
        return std::any_of(c.lives.begin(), c.lives.end(), [](const Life &l) { return l.hours > 0; });
    }

    /** Root blocks have their places: a medium on which none of them can be erased cannot be formatted, nor can one of
     * which too many blocks came bad. */
    static bool refusesFormat(const NativeHost &host) {
        const std::string &console = host.d.dev.console;
        return console.find("no root block can be erased") != std::string::npos ||
               (console.find("blank medium: formatting") != std::string::npos &&
                console.find("no namespace: too few blocks") != std::string::npos);
    }

    void play(model::Nand &nand, const model::Times &times, std::mt19937_64 &rng) {
        std::optional<NativeHost> host;
        std::optional<Load> load;
        bool ready = false;
        auto cut = [&] {
            if (host) {
                host->listen();
            }
            counts.cuts++;
            counts.bootCuts += !ready;
            if (load) {
                load->lost(true);
            } else if (h.oracle) {
                h.oracle->cut();
            }
        };
        if (c.lives[life].hours > 0) {
            nand.cells().age(c.lives[life].hours);
        }
        if (c.lives[life].dead > 0) {
            uint32_t die = (c.lives[life].dead - 1) % (c.part.channels * c.part.ways * c.part.luns);
            assasin::Reliability &r = nand.cells().reliability();
            r.dieDies = true;
            r.deadChannel = die % c.part.channels;
            r.deadWay = die / c.part.channels % c.part.ways;
            r.deadLun = die / c.part.channels / c.part.ways;
        }
        try {
            host.emplace(nand, c.lives[life], times, h, c.part.parity != 0);
            if (!h.oracle) {
                h.oracle.emplace(0, host->writeCache());
            }
            load.emplace(*host, h, c.lives[life].seed);
            if (h.faults && refusesFormat(*host)) {
                /* Nothing was ever written: the case ends here. */
                c.lives.resize(life + 1);
                return;
            }
            ready = true;
            counts.boots++;
            bootCycles = host->d.dev.now;
            uint64_t commands = h.commands, blocks = h.reads, refused = h.refused;
            load->verify();
            Moments moments = momentsOf(rng);
            host->between = [&] { moment(*host, moments, rng); };
            /* A copy: who becomes a child here has another case from then on. */
            const Life now = c.lives[life];
            load->run(now);
            if (now.end == Life::Off) {
                host->shutdown();
                h.oracle->durable();
            }
            host->between = [] {};
            counts.commands += h.commands - commands;
            counts.blocks += h.reads - blocks;
            counts.refused += h.refused - refused;
            host->d.dev.tearInFlight();
            if (now.end == Life::Off) {
                host->listen();
                load->lost(true);
            } else {
                cut();
            }
        } catch (const model::PowerCut &) {
            if (host) {
                host->d.dev.tearInFlight();
            }
            cut();
        } catch (const Failure &) {
            throw;
        } catch (const BadInput &) {
            throw;
        } catch (const std::exception &e) {
            throw Failure(ready ? Failure::Rule : Failure::Unbootable, report(e));
        }
    }

    /** When this life is to be cut beside what the case says. */
    struct Moments {
        uint32_t left = 0, own = 0; /**< how many, and the one after which this process is cut as well */
        uint64_t gap = 0, next = UINT64_MAX;
    };

    Moments momentsOf(std::mt19937_64 &rng) {
        const Life &now = c.lives[life];
        if (explore == nullptr || explore->forks == 0 || now.commands.empty()) {
            return {};
        }
        if (explore->lastOnly) {
            for (size_t i = life + 1; i < c.lives.size(); i++) {
                if (c.lives[i].cut != UINT64_MAX && !c.lives[i].commands.empty()) {
                    return {};
                }
            }
        }
        Moments m;
        m.left = explore->forks;
        bool whole = life + 1 < c.lives.size() && c.lives[life + 1].dead > 0;
        m.own = explore->own && !whole && rng() % 2 ? 1 + static_cast<uint32_t>(rng() % explore->forks) : 0;
        m.gap =
            1000 + now.commands.size() * uint64_t{c.part.program} * 2 / (1 + std::min(now.depth, 4u)) / explore->forks;
        m.next = 0;
        return m;
    }

    /** The case as it goes on when power goes now and a little. */
    Case cutHere(uint64_t when, std::mt19937_64 &rng) {
        Case child = c;
        child.lives[life].cut = when;
        if (!explore->own) {
            return child;
        }
        child.lives.resize(life + 1);
        /* Recovery is cut as well. */
        while (rng() % 5 < 2 && child.lives.size() < life + 5) {
            Life boot;
            boot.seed = static_cast<uint32_t>(rng());
            boot.cut = rng() % (bootCycles * 5 / 4);
            child.lives.push_back(boot);
        }
        if (rng() % 4 < 3) {
            Life more = generateLife(child, rng, explore->mix, 3 + static_cast<uint32_t>(rng() % 16));
            if (rng() % 2) {
                more.cut = bootCycles + rng() % (more.commands.size() * c.part.program);
            }
            child.lives.push_back(more);
        }
        Life last;
        last.seed = static_cast<uint32_t>(rng());
        child.lives.push_back(last);
        return child;
    }

    void moment(NativeHost &host, Moments &m, std::mt19937_64 &rng) {
        uint64_t now = host.d.dev.now;
        if (now < m.next || m.left == 0 || explore == nullptr) {
            return;
        }
        if (m.next == 0) {
            m.next = now + rng() % m.gap;
            return;
        }
        if (explore->stop && explore->stop()) {
            m.left = 0;
            return;
        }
        m.left--;
        m.next = now + 1 + rng() % (2 * m.gap);
        uint64_t when = now + rng() % (2 * m.gap);
        Case child = cutHere(when, rng);
        /* The child's message. */
        static char *const why =
            static_cast<char *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        why[0] = 0;
        pid_t pid = fork();
        if (pid < 0) {
            throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
        }
        if (pid == 0) {
            signal(SIGINT, SIG_IGN);
            alarm(explore->seconds);
            childWhy = why;
            explore = nullptr;
            c = std::move(child);
            h.fades |= ages();
            host.d.dev.cutAt = when;
            isChild = true;
            return;
        }
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            Failure::Kind kind = Failure::Rule;
            std::string text = why;
            if (WIFEXITED(status)) {
                kind = static_cast<Failure::Kind>(WEXITSTATUS(status));
            } else {
                int by = WTERMSIG(status);
                text = by == SIGALRM ? "no end within " + std::to_string(explore->seconds) + " s"
                                     : std::string("the firmware or the model crashed: ") + strsignal(by);
            }
            if (!explore->found(child, kind, text)) {
                m.left = 0;
            }
        }
        if (m.own > 0 && --m.own == 0) {
            m.left = 0;
            c.lives[life].cut = when;
            host.d.dev.cutAt = when;
        }
    }

  public:
    bool isChild = false;
    char *childWhy = nullptr;
};

} // namespace

Counts *sharedCounts() {
    void *memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::runtime_error("no memory for counters");
    }
    return new (memory) Counts{};
}

void play(const Case &c, Counts &counts, const Explore *explore, Case *failing) {
    Player player(c, counts, explore);
    try {
        player.play();
        if (player.isChild) {
            _exit(0);
        }
        counts.cases++;
    } catch (const std::exception &e) {
        const auto *f = dynamic_cast<const Failure *>(&e);
        if (player.isChild) {
            strncpy(player.childWhy, report(e).c_str(), 1000);
            _exit(f != nullptr ? f->kind : Failure::Rule);
        }
        if (failing != nullptr) {
            *failing = player.c;
            failing->lives.resize(std::min(failing->lives.size(), player.life + 1));
        }
        throw;
    }
}

std::optional<Finding> tryCase(const Case &c, Counts &counts, uint32_t seconds) {
    int ends[2];
    if (pipe(ends) != 0) {
        throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    }
    pid_t pid = fork();
    if (pid < 0) {
        throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    }
    if (pid == 0) {
        signal(SIGINT, SIG_IGN);
        close(ends[0]);
        alarm(seconds);
        int status = 0;
        try {
            play(c, counts);
        } catch (const std::exception &e) {
            const auto *f = dynamic_cast<const Failure *>(&e);
            status = f != nullptr ? f->kind : Failure::Rule;
            std::string why = report(e);
            (void)!write(ends[1], why.data(), why.size());
        }
        _exit(status);
    }
    close(ends[1]);
    std::string why;
    char part[512];
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) != 0;) {
        if (n > 0) {
            why.append(part, static_cast<size_t>(n));
        } else if (errno != EINTR) {
            break;
        }
    }
    close(ends[0]);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return std::nullopt;
    }
    if (WIFEXITED(status)) {
        return Finding{static_cast<Failure::Kind>(WEXITSTATUS(status)), why};
    }
    return Finding{Failure::Rule, WTERMSIG(status) == SIGALRM ? "no end within " + std::to_string(seconds) + " s"
                                                              : std::string("crash: ") + strsignal(WTERMSIG(status))};
}

} // namespace torture
