// SPDX-License-Identifier: BSD-3-Clause
// assasin-board: the virtual board as a process.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <getopt.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nand/NandViolation.h"
#include "sim/Board.h"
#include "sim/Stop.h"

namespace {

assasin::Stop stop;

void requestStop(int) {
    const uint64_t one = 1;
    stop.requested.store(true);
    (void)!write(stop.fd, &one, sizeof one);
}

/// Exit codes: 0 stopped as asked, 1 an error, 2 a bad command line, 3 a NAND rule was broken.
enum ExitCode { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_VIOLATION = 3 };

const char USAGE[] =
    "usage: assasin-board --image DIR --profile FILE --firmware FILE.bin [options]\n"
    "  --image DIR          NAND image; made when it is not there\n"
    "  --profile FILE       board/virtual/profiles/*.toml\n"
    "  --firmware FILE      flat binary for the firmware memory\n"
    "  --socket PATH        the door (remote PCI); also PATH.qt (QEMU's qtest), PATH.console,\n"
    "                       PATH.bars (registers) and PATH.activity (counters)\n"
    "  --console FILE       console log, appended to\n"
    "  --status FILE        JSON kept up to date (default PATH.status)\n"
    "  --stats FILE         the same JSON, written once at the end\n"
    "  --kernel SLOT=FILE   put the kernel of a shared object (assasin hls build) into a slot; repeatable\n"
    "  --kernel-fault SLOT=no-answer   break that kernel's IP: its AXI4-Lite port answers nothing\n"
    "  --check              look at the kernels and --media, start nothing\n"
    "  --format             erase the medium, and tell the firmware to start with an empty map\n"
    "  --media KEY=VALUE,...   how badly the NAND behaves; board/virtual/nand/README.md has the keys\n"
    "  --nand-age HOURS     the medium has lain that long since it was used last\n"
    "  --never-sleep        clock the chip while it sleeps too (to check that stopping changes nothing)\n"
    "  --race               do not hold idle simulated time back to real time\n"
    "  --host-pauses SEED   the host makes random waits on the chip's AXI4 port; SEED as printed repeats them\n"
    "  --bar0-bits 32       BAR0 as through XDMA's AXI4-Lite master: of an access of 64 bits the low word alone "
    "arrives\n"
    "  --quit-after CYCLE   end the run when the timebase reaches CYCLE\n"
    "  --trace FILE.fst     waves (a board built with scripts/build-board --trace)\n"
    "  --trace-from CYCLE, --trace-to CYCLE   their window on the timebase\n";

[[noreturn]] void usage(const std::string &problem) {
    std::fprintf(stderr, "assasin-board: %s\n%s", problem.c_str(), USAGE);
    std::exit(EXIT_USAGE);
}

uint64_t number(const char *option, const char *text, const char *what = "a number of cycles") {
    char *end = nullptr;
    errno = 0;
    const unsigned long long value = std::strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || *text == '-') {
        usage(std::string("--") + option + " " + text + ": not " + what);
    }
    return value;
}

double hours(const char *text) {
    char *end = nullptr;
    const double value = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1e6)) {
        usage(std::string("--nand-age ") + text + ": choose a number of hours, 0 to 1000000");
    }
    return value;
}

/// SLOT=VALUE, or a usage error that shows the example.
std::pair<unsigned, std::string> forSlot(const char *option, const std::string &text, const char *example) {
    const size_t sign = text.find('=');
    const std::string slot = text.substr(0, sign);
    if (sign == std::string::npos || sign + 1 == text.size() || slot.empty() || slot.size() > 2 ||
        slot.find_first_not_of("0123456789") != std::string::npos) {
        usage(std::string(option) + " " + text + ": give " + example);
    }
    return {unsigned(std::stoul(slot)), text.substr(sign + 1)};
}

void addKernel(assasin::BoardOptions &o, const std::string &text) {
    const auto [slot, file] = forSlot("--kernel", text, "SLOT=FILE, such as 0=build/hls/fgrep8/fgrep8.so");
    if (!o.kernels.emplace(slot, file).second) {
        usage("--kernel " + text + ": slot " + std::to_string(slot) + " has a kernel already");
    }
}

void addFault(assasin::BoardOptions &o, const std::string &text) {
    const auto [slot, fault] = forSlot("--kernel-fault", text, "SLOT=no-answer");
    if (fault != "no-answer") {
        usage("--kernel-fault " + text + ": there is no fault '" + fault + "'; give " + std::to_string(slot) +
              "=no-answer");
    }
    o.faults[slot] = assasin::SlotFault::NO_ANSWER;
}

assasin::BoardOptions parse(int argc, char **argv) {
    enum { FORMAT = 256, RACE, NEVER_SLEEP, CHECK, MEDIA, NAND_AGE, HOST_PAUSES, BAR0_BITS };
    static const option options[] = {
        {"image", required_argument, nullptr, 'i'},
        {"profile", required_argument, nullptr, 'p'},
        {"firmware", required_argument, nullptr, 'f'},
        {"socket", required_argument, nullptr, 's'},
        {"console", required_argument, nullptr, 'c'},
        {"status", required_argument, nullptr, 'S'},
        {"stats", required_argument, nullptr, 'j'},
        {"trace", required_argument, nullptr, 't'},
        {"trace-from", required_argument, nullptr, 'a'},
        {"trace-to", required_argument, nullptr, 'z'},
        {"quit-after", required_argument, nullptr, 'q'},
        {"kernel", required_argument, nullptr, 'k'},
        {"kernel-fault", required_argument, nullptr, 'K'},
        {"check", no_argument, nullptr, CHECK},
        {"format", no_argument, nullptr, FORMAT},
        {"race", no_argument, nullptr, RACE},
        {"media", required_argument, nullptr, MEDIA},
        {"nand-age", required_argument, nullptr, NAND_AGE},
        {"host-pauses", required_argument, nullptr, HOST_PAUSES},
        {"bar0-bits", required_argument, nullptr, BAR0_BITS},
        {"never-sleep", no_argument, nullptr, NEVER_SLEEP},
        {"help", no_argument, nullptr, 'h'},
        {nullptr, 0, nullptr, 0},
    };
    assasin::BoardOptions o;
    for (int c, index = 0; (c = getopt_long(argc, argv, "h", options, &index)) != -1;) {
        switch (c) {
        case 'i':
            o.image = optarg;
            break;
        case 'p':
            o.profile = optarg;
            break;
        case 'f':
            o.firmware = optarg;
            break;
        case 's':
            o.socket = optarg;
            break;
        case 'c':
            o.console = optarg;
            break;
        case 'S':
            o.status = optarg;
            break;
        case 'j':
            o.stats = optarg;
            break;
        case 't':
            o.trace = optarg;
            break;
        case 'a':
            o.traceFrom = number("trace-from", optarg);
            break;
        case 'z':
            o.traceTo = number("trace-to", optarg);
            break;
        case 'q':
            o.quitAfter = number("quit-after", optarg);
            break;
        case 'k':
            addKernel(o, optarg);
            break;
        case 'K':
            addFault(o, optarg);
            break;
        case CHECK:
            o.check = true;
            break;
        case FORMAT:
            o.format = true;
            break;
        case MEDIA:
            o.media += (o.media.empty() ? "" : ",") + std::string(optarg);
            break;
        case NAND_AGE:
            o.nandAge = hours(optarg);
            break;
        case RACE:
            o.race = true;
            break;
        case HOST_PAUSES:
            o.hostPauses = number("host-pauses", optarg, "a seed");
            break;
        case BAR0_BITS:
            o.bar0Bits = unsigned(number("bar0-bits", optarg, "32 or 64"));
            if (o.bar0Bits != 32 && o.bar0Bits != 64) {
                usage(std::string("--bar0-bits ") + optarg + ": choose 32 or 64");
            }
            break;
        case NEVER_SLEEP:
            o.neverSleep = true;
            break;
        case 'h':
            std::fputs(USAGE, stdout);
            std::exit(EXIT_OK);
        default:
            std::fputs(USAGE, stderr);
            std::exit(EXIT_USAGE);
        }
    }
    if (optind < argc) {
        usage(std::string("unexpected argument '") + argv[optind] + "'");
    }
    if (o.image.empty() || o.profile.empty() || o.firmware.empty()) {
        usage("--image, --profile and --firmware are needed");
    }
    if (o.status.empty() && !o.socket.empty()) {
        o.status = o.socket + ".status";
    }
    return o;
}

/// Reports the end of a failed run to the terminal and the status file.
int fail(assasin::Board *board, const char *message, int code) {
    std::fprintf(stderr, "assasin-board: %s\n", message);
    if (board != nullptr) {
        try {
            board->publish(code == EXIT_VIOLATION ? "violation" : "failed", message);
        } catch (const std::exception &e) {
            std::fprintf(stderr, "assasin-board: %s\n", e.what());
        }
    }
    return code;
}

} // namespace

int main(int argc, char **argv) {
    const assasin::BoardOptions options = parse(argc, argv);
    stop.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct sigaction action {};
    action.sa_handler = requestStop;
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
    std::unique_ptr<assasin::Board> board;
    try {
        if (options.check) {
            assasin::Board::slots(options);
            assasin::Board::checkMedia(options);
            return EXIT_OK;
        }
        board = std::make_unique<assasin::Board>(options);
        board->run(stop);
    } catch (const assasin::NandViolation &e) {
        return fail(board.get(), e.what(), EXIT_VIOLATION);
    } catch (const std::exception &e) {
        return fail(board.get(), e.what(), EXIT_ERROR);
    }
    return EXIT_OK;
}
