// SPDX-License-Identifier: BSD-3-Clause
/* The program behind `assasin torture --board native`: seeds one after the other in a process for each processor. It
 * prints a line of JSON about every second and for each finding. */
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>
#include <thread>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torture/board.h"
#include "torture/native.h"

namespace {

using namespace torture;

volatile sig_atomic_t interrupted = 0;

/** What the workers share beside the counts. */
struct Run {
    std::atomic<uint64_t> nextSeed, findings;
    std::atomic<uint64_t> kinds[4];
    std::atomic<bool> stop;
};

struct Options {
    uint64_t cuts = 1000, seed = 1;
    uint32_t workers = std::max(1u, std::thread::hardware_concurrency());
    uint32_t forks = 16, most = 5, shrinkSeconds = 60;
    double seconds = 0;
    std::string out = "build/torture", replay;
    bool around = false, door = false;
    Mix mix;
};

std::string inQuotes(const std::string &text) {
    std::string s = "\"";
    for (char c : text) {
        char hex[8];
        if (c == '"' || c == '\\') {
            s += '\\';
            s += c;
        } else if (static_cast<unsigned char>(c) < 32) {
            snprintf(hex, sizeof hex, "\\u%04x", c);
            s += hex;
        } else {
            s += c;
        }
    }
    return s + "\"";
}

void say(const std::string &line) {
    std::string whole = line + "\n";
    /* One write, as processes share the pipe. */
    (void)!write(STDOUT_FILENO, whole.data(), whole.size());
}

std::string countsText(const Counts &c, const Run &r) {
    return "\"cuts\": " + std::to_string(c.cuts) + ", \"boot_cuts\": " + std::to_string(c.bootCuts) +
           ", \"boots\": " + std::to_string(c.boots) + ", \"cases\": " + std::to_string(c.cases) +
           ", \"commands\": " + std::to_string(c.commands) + ", \"blocks_read\": " + std::to_string(c.blocks) +
           ", \"refused\": " + std::to_string(c.refused) + ", \"lost\": " + std::to_string(r.kinds[Failure::Lost]) +
           ", \"unbootable\": " + std::to_string(r.kinds[Failure::Unbootable]) +
           ", \"rules_broken\": " + std::to_string(r.kinds[Failure::Rule]) +
           ", \"next_seed\": " + std::to_string(r.nextSeed);
}

/** Writes down what failed. \return false: that is enough */
bool record(const Options &o, Run &run, const Case &c, Failure::Kind kind, const std::string &why) {
    run.kinds[kind]++;
    uint64_t n = ++run.findings;
    if (n <= o.most) {
        std::string path =
            o.out + "/" + nameOf(kind) + "-" + std::to_string(c.seed) + "-" + std::to_string(n) + ".case";
        c.save(path);
        say("{\"found\": \"" + std::string(nameOf(kind)) + "\", \"seed\": " + std::to_string(c.seed) +
            ", \"why\": " + inQuotes(why) + ", \"file\": " + inQuotes(path) + "}");
    }
    if (n >= o.most) {
        run.stop = true;
    }
    return n < o.most;
}

void worker(const Options &o, Counts &counts, Run &run) {
    signal(SIGINT, SIG_IGN);
    Explore explore;
    explore.forks = o.forks;
    explore.mix = o.mix;
    explore.found = [&](const Case &c, Failure::Kind kind, const std::string &why) {
        return record(o, run, c, kind, why);
    };
    explore.stop = [&] { return run.stop || counts.cuts >= o.cuts; };
    while (!explore.stop()) {
        uint64_t seed = run.nextSeed++;
        Case failing;
        try {
            play(generate(seed, o.mix), counts, &explore, &failing);
        } catch (const Failure &e) {
            record(o, run, failing, e.kind, e.what());
        }
    }
    _exit(0);
}

int run(const Options &o) {
    std::filesystem::create_directories(o.out);
    Counts &counts = *sharedCounts();
    void *memory = mmap(nullptr, sizeof(Run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::runtime_error("no memory for the run's state");
    }
    Run &state = *new (memory) Run{};
    state.nextSeed = o.seed;
    std::vector<pid_t> workers;
    for (uint32_t i = 0; i < o.workers; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            worker(o, counts, state);
        }
        if (pid > 0) {
            workers.push_back(pid);
        }
    }
    if (workers.empty()) {
        throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    }
    auto begin = std::chrono::steady_clock::now();
    auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    uint64_t crashed = 0;
    double told = 0;
    while (!workers.empty()) {
        usleep(50'000);
        if (interrupted || (o.seconds > 0 && seconds() >= o.seconds)) {
            state.stop = true;
        }
        std::erase_if(workers, [&](pid_t pid) {
            int status = 0;
            if (waitpid(pid, &status, WNOHANG) != pid) {
                return false;
            }
            crashed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
            return true;
        });
        if (seconds() - told >= 1) {
            told = seconds();
            say("{" + countsText(counts, state) + ", \"seconds\": " + std::to_string(told) + "}");
        }
    }
    std::string result = "{\"end\": true, " + countsText(counts, state) +
                         ", \"seconds\": " + std::to_string(seconds()) +
                         ", \"interrupted\": " + (interrupted ? "true" : "false") +
                         ", \"crashed_workers\": " + std::to_string(crashed) + "}";
    /* What shrinking plays is no part of the figures. */
    Counts &others = *sharedCounts();
    std::set<std::string> done;
    for (const auto &file : std::filesystem::directory_iterator(o.out)) {
        std::string name = file.path().filename(), kind = name.substr(0, name.find('-'));
        bool ours = std::filesystem::path(name).extension() == ".case" && kind != "shrunk";
        if (!ours || state.findings == 0 || interrupted || o.shrinkSeconds == 0 || !done.insert(kind).second) {
            continue;
        }
        Case c = Case::load(file.path());
        auto found = tryCase(c, others, 60);
        if (!found) {
            say("{\"note\": " + inQuotes(name + " does not fail when it is played again") + "}");
            continue;
        }
        Case small = shrink(c, found->kind, others, o.shrinkSeconds, [&](const std::string &how) {
            say("{\"shrinking\": " + inQuotes(name) + ", \"to\": " + inQuotes(how) + "}");
        });
        std::string path = o.out + "/shrunk-" + name;
        small.save(path);
        auto why = tryCase(small, others, 60);
        say("{\"shrunk\": " + inQuotes(path) + ", \"of\": " + inQuotes(name) + ", \"lives\": " +
            std::to_string(small.lives.size()) + ", \"commands\": " + std::to_string(small.commands()) +
            ", \"why\": " + inQuotes(why ? why->why : "") + "}");
    }
    say(result);
    return state.findings > 0 || crashed > 0 ? 1 : interrupted ? 130 : 0;
}

int replay(const Options &o) {
    Case c = Case::load(o.replay);
    Counts &counts = *sharedCounts();
    auto found = tryCase(c, counts, 120);
    auto tell = [&](const std::string &kind, const std::string &why) {
        say("{\"found\": \"" + kind + "\", \"seed\": " + std::to_string(c.seed) + ", \"why\": " + inQuotes(why) +
            ", \"file\": " + inQuotes(o.replay) + "}");
    };
    bool failed = found.has_value();
    if (failed) {
        tell(nameOf(found->kind), found->why);
    } else if (o.around) {
        Explore explore;
        explore.forks = o.forks;
        explore.own = false;
        explore.lastOnly = true;
        explore.found = [&](const Case &found, Failure::Kind kind, const std::string &why) {
            tell(nameOf(kind), why);
            found.save(o.replay + ".around");
            failed = true;
            return false;
        };
        play(c, counts, &explore);
    }
    say("{\"end\": true, \"cuts\": " + std::to_string(counts.cuts) + "}");
    return failed ? 1 : 0;
}

/** Whoever started this program gives the board power: a line of JSON asks, a line of words answers. */
void supplyOn(Supply &s, uint64_t seed, bool format) {
    say("{\"power\": \"on\", \"seed\": " + std::to_string(seed) + ", \"format\": " + (format ? "true" : "false") + "}");
    std::string how;
    if (!(std::cin >> how)) {
        throw std::runtime_error("nobody gives the board power");
    }
    if (how == "on") {
        std::cin >> s.pid;
        std::getline(std::cin >> std::ws, s.address);
        return;
    }
    std::string why;
    std::getline(std::cin >> std::ws, why);
    if (how == "dead") {
        throw Failure(Failure::Unbootable, why);
    }
    throw std::runtime_error(why);
}

int runThroughDoor(const Options &o) {
    Counts &counts = *sharedCounts();
    auto state = std::make_unique<Run>();
    auto begin = std::chrono::steady_clock::now();
    auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    double told = 0;
    auto stop = [&] {
        if (seconds() - told >= 1) {
            told = seconds();
            say("{" + countsText(counts, *state) + ", \"seconds\": " + std::to_string(told) + "}");
        }
        return interrupted || state->stop || counts.cuts >= o.cuts || (o.seconds > 0 && seconds() >= o.seconds);
    };
    std::filesystem::create_directories(o.out);
    Mix mix = o.mix;
    mix.media = mix.offloads = false; /* both are the board's matter */
    state->nextSeed = o.seed;
    Supply supply;
    while (!stop()) {
        uint64_t seed = state->nextSeed++, tear = seed << 20;
        supply.on = [&](bool format) { supplyOn(supply, ++tear, format); };
        Case c = generate(seed, mix);
        try {
            playThroughDoor(c, supply, counts, stop);
        } catch (const Failure &e) {
            if (!interrupted) {
                record(o, *state, c, e.kind, e.what());
            }
        }
    }
    say("{\"end\": true, " + countsText(counts, *state) + ", \"seconds\": " + std::to_string(seconds()) +
        ", \"interrupted\": " + (interrupted ? "true" : "false") + "}");
    return state->findings > 0 ? 1 : interrupted ? 130 : 0;
}

Options parse(int argc, char **argv) {
    Options o;
    for (int i = 1; i < argc; i++) {
        std::string name = argv[i];
        auto value = [&]() -> std::string {
            if (i + 1 >= argc) {
                throw BadInput(name + " takes a value");
            }
            return argv[++i];
        };
        auto number = [&]() -> uint64_t {
            std::string v = value();
            if (v.empty() || v.size() > 18 || v.find_first_not_of("0123456789") != std::string::npos) {
                throw BadInput(name + " takes a number, not '" + v + "'");
            }
            return std::stoull(v);
        };
        if (name == "--cuts") {
            o.cuts = number();
        } else if (name == "--seed") {
            o.seed = number();
        } else if (name == "--workers") {
            o.workers = static_cast<uint32_t>(std::clamp<uint64_t>(number(), 1, 1024));
        } else if (name == "--forks") {
            o.forks = static_cast<uint32_t>(std::clamp<uint64_t>(number(), 1, 100000));
        } else if (name == "--seconds") {
            o.seconds = static_cast<double>(number());
        } else if (name == "--findings") {
            o.most = static_cast<uint32_t>(std::max<uint64_t>(number(), 1));
        } else if (name == "--shrink-seconds") {
            o.shrinkSeconds = static_cast<uint32_t>(number());
        } else if (name == "--out") {
            o.out = value();
        } else if (name == "--replay") {
            o.replay = value();
        } else if (name == "--around") {
            o.around = true;
        } else if (name == "--door") {
            o.door = true;
        } else if (name == "--faults") {
            o.mix.faults = true;
        } else if (name == "--pairs") {
            o.mix.pairs = true;
        } else if (name == "--age") {
            o.mix.age = true;
        } else if (name == "--room") {
            o.mix.room = true;
        } else if (name == "--print") {
            std::cout << generate(number(), o.mix).text();
            exit(0);
        } else {
            throw BadInput("unknown option " + name);
        }
    }
    return o;
}

} // namespace

int main(int argc, char **argv) {
    try {
        Options o = parse(argc, argv);
        struct sigaction action {};
        action.sa_handler = [](int) { interrupted = 1; };
        sigaction(SIGINT, &action, nullptr);
        sigaction(SIGTERM, &action, nullptr);
        if (o.door) {
            return runThroughDoor(o);
        }
        return o.replay.empty() ? run(o) : replay(o);
    } catch (const std::exception &e) {
        fprintf(stderr, "assasin-torture: %s\n", e.what());
        return 2;
    }
}
