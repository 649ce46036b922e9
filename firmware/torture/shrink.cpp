// SPDX-License-Identifier: BSD-3-Clause
/* Makes a failing case smaller: lives, then commands, then what is wrong with the medium, then the part. A case with
 * fewer commands takes another time, so that the cut that fails may lie elsewhere: many are tried. */
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include "torture/native.h"

namespace torture {

namespace {

class Shrinker {
  public:
    Shrinker(const Case &of, Failure::Kind k, Counts &c, uint32_t seconds)
        : best(of), kind(k), counts(c), end(std::chrono::steady_clock::now() + std::chrono::seconds(seconds)) {
    }
    Case best;

    bool over() const {
        return std::chrono::steady_clock::now() >= end;
    }

    bool lives() {
        bool smaller = false;
        for (size_t i = best.lives.size(); i-- > 0 && best.lives.size() > 1 && !over();) {
            Case c = best;
            c.lives.erase(c.lives.begin() + static_cast<ptrdiff_t>(i));
            smaller |= take(c);
        }
        return smaller;
    }

    bool commands() {
        bool smaller = false;
        for (size_t life = 0; life < best.lives.size(); life++) {
            for (size_t n = best.lives[life].commands.size(); n > 0; n /= 2) {
                for (size_t at = 0; at < best.lives[life].commands.size() && !over();) {
                    Case c = best;
                    auto &list = c.lives[life].commands;
                    list.erase(list.begin() + static_cast<ptrdiff_t>(at),
                               list.begin() + static_cast<ptrdiff_t>(std::min(at + n, list.size())));
                    if (take(c)) {
                        smaller = true;
                    } else {
                        at += n;
                    }
                }
            }
        }
        return smaller;
    }

    bool sizes() {
        bool smaller = false;
        for (size_t life = 0; life < best.lives.size(); life++) {
            for (size_t i = 0; i < best.lives[life].commands.size() && !over(); i++) {
                if (best.lives[life].commands[i].blocks > 1 && best.lives[life].commands[i].kind <= Command::Zeroes) {
                    Case c = best;
                    c.lives[life].commands[i].blocks = 1;
                    smaller |= take(c);
                }
            }
            if (best.lives[life].depth > 1 && !over()) {
                Case c = best;
                c.lives[life].depth = 1;
                smaller |= take(c);
            }
        }
        return smaller;
    }

    bool media() {
        bool smaller = false;
        for (size_t at = 0; at < best.media.size() && !over();) {
            size_t next = std::min(best.media.find(',', at), best.media.size());
            Case c = best;
            c.media.erase(at, next + 1 - at);
            if (!c.media.empty() && c.media.back() == ',') {
                c.media.pop_back();
            }
            if (take(c)) {
                smaller = true;
            } else {
                at = next + 1;
            }
        }
        return smaller;
    }

    bool part() {
        bool smaller = false;
        for (uint32_t Part::*field : {&Part::channels, &Part::ways, &Part::luns, &Part::planes}) {
            while (best.part.*field > 1 && !over()) {
                Case c = best;
                c.part.*field = 1;
                if (!take(c)) {
                    break;
                }
                smaller = true;
            }
        }
        if (best.part.pageBytes > 4096 && !over()) {
            Case c = best;
            c.part.pageBytes = 4096;
            c.part.spare = 224;
            smaller |= take(c);
        }
        return smaller;
    }

  private:
    Failure::Kind kind;
    Counts &counts;
    std::chrono::steady_clock::time_point end;

    bool take(const Case &c) {
        auto found = tryCase(c, counts, 20);
        if (found && found->kind == kind) {
            best = c;
            return true;
        }
        if (auto other = elsewhere(c)) {
            best = *other;
            return true;
        }
        return false;
    }

    /** The case with its last cut among commands at some other moment, when that fails. */
    std::optional<Case> elsewhere(const Case &c) {
        int ends[2];
        if (pipe(ends) != 0) {
            throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
        }
        pid_t pid = fork();
        if (pid == 0) {
            signal(SIGINT, SIG_IGN);
            close(ends[0]);
            Explore explore;
            explore.forks = 24;
            explore.own = false;
            explore.lastOnly = true;
            explore.found = [&](const Case &failing, Failure::Kind k, const std::string &) {
                if (k != kind) {
                    return true;
                }
                std::string text = failing.text();
                (void)!write(ends[1], text.data(), text.size());
                _exit(0);
                return false;
            };
            try {
                play(c, counts, &explore);
            } catch (const std::exception &) {
                /* What the case as it stands does is known. */
            }
            _exit(0);
        }
        close(ends[1]);
        std::string text;
        char some[4096];
        for (ssize_t n; pid > 0 && (n = read(ends[0], some, sizeof some)) != 0;) {
            if (n > 0) {
                text.append(some, static_cast<size_t>(n));
            } else if (errno != EINTR) {
                break;
            }
        }
        close(ends[0]);
        while (pid > 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
        if (text.empty()) {
            return std::nullopt;
        }
        return Case::parse(text);
    }
};

} // namespace

Case shrink(const Case &c, Failure::Kind kind, Counts &counts, uint32_t seconds,
            const std::function<void(const std::string &)> &say) {
    Shrinker s(c, kind, counts, seconds);
    for (bool smaller = true; smaller && !s.over();) {
        smaller = s.lives();
        smaller |= s.commands();
        smaller |= s.media();
        smaller |= s.sizes();
        smaller |= s.part();
        say(std::to_string(s.best.lives.size()) + " lives, " + std::to_string(s.best.commands()) + " commands");
    }
    return s.best;
}

} // namespace torture
