// SPDX-License-Identifier: BSD-3-Clause
#include "spike.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isa_program.h"

namespace cosim {
namespace {

template <typename T> void put(std::string &out, const T &value) {
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

struct Elf32 {
    using Ehdr = Elf32_Ehdr;
    using Phdr = Elf32_Phdr;
    using Sym = Elf32_Sym;
    using Shdr = Elf32_Shdr;
    static constexpr unsigned char kClass = ELFCLASS32;
};
struct Elf64 {
    using Ehdr = Elf64_Ehdr;
    using Phdr = Elf64_Phdr;
    using Sym = Elf64_Sym;
    using Shdr = Elf64_Shdr;
    static constexpr unsigned char kClass = ELFCLASS64;
};

// One loadable segment, and a symbol table with `tohost`, by which spike learns that the program has ended.
template <typename Elf> std::string elf_image(const std::vector<uint32_t> &words) {
    const std::string names("\0tohost\0fromhost\0.text\0.symtab\0.strtab\0", 39);
    const size_t code_at = 0x1000, code_size = words.size() * 4, symbols_at = (code_at + code_size + 7) & ~size_t{7};
    const size_t names_at = symbols_at + 3 * sizeof(typename Elf::Sym),
                 sections_at = (names_at + names.size() + 7) & ~size_t{7};

    typename Elf::Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = Elf::kClass;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_RISCV;
    header.e_version = EV_CURRENT;
    header.e_entry = kImemBase;
    header.e_phoff = sizeof header;
    header.e_shoff = static_cast<decltype(header.e_shoff)>(sections_at);
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(typename Elf::Phdr);
    header.e_phnum = 1;
    header.e_shentsize = sizeof(typename Elf::Shdr);
    header.e_shnum = 4;
    header.e_shstrndx = 3;

    typename Elf::Phdr segment{};
    using Size = decltype(segment.p_filesz);
    segment.p_type = PT_LOAD;
    segment.p_offset = static_cast<decltype(segment.p_offset)>(code_at);
    segment.p_vaddr = segment.p_paddr = kImemBase;
    segment.p_filesz = segment.p_memsz = static_cast<Size>(code_size);
    segment.p_flags = PF_R | PF_W | PF_X;
    segment.p_align = 4;

    typename Elf::Sym none{}, tohost{}, fromhost{};
    tohost.st_name = 1;
    tohost.st_value = kToHost;
    tohost.st_info = ELF32_ST_INFO(STB_GLOBAL, STT_NOTYPE);
    tohost.st_shndx = SHN_ABS;
    fromhost = tohost;
    fromhost.st_name = 8;
    fromhost.st_value = kToHost + 8;

    typename Elf::Shdr null{}, text{}, symtab{}, strtab{};
    using Offset = decltype(text.sh_offset);
    text.sh_name = 17;
    text.sh_type = SHT_PROGBITS;
    text.sh_flags = SHF_ALLOC | SHF_EXECINSTR | SHF_WRITE;
    text.sh_addr = kImemBase;
    text.sh_offset = static_cast<Offset>(code_at);
    text.sh_size = static_cast<Size>(code_size);
    symtab.sh_name = 23;
    symtab.sh_type = SHT_SYMTAB;
    symtab.sh_offset = static_cast<Offset>(symbols_at);
    symtab.sh_size = 3 * sizeof(typename Elf::Sym);
    symtab.sh_link = 3;
    symtab.sh_info = 1;
    symtab.sh_entsize = sizeof(typename Elf::Sym);
    strtab.sh_name = 31;
    strtab.sh_type = SHT_STRTAB;
    strtab.sh_offset = static_cast<Offset>(names_at);
    strtab.sh_size = static_cast<Size>(names.size());

    std::string out;
    put(out, header);
    put(out, segment);
    out.resize(code_at);
    out.append(reinterpret_cast<const char *>(words.data()), code_size);
    out.resize(symbols_at);
    put(out, none);
    put(out, tohost);
    put(out, fromhost);
    out += names;
    out.resize(sections_at);
    for (const typename Elf::Shdr &section : {null, text, symtab, strtab})
        put(out, section);
    return out;
}

// Returns `file`.
std::string write_elf(const std::string &file, const std::vector<uint32_t> &words, const std::string &isa) {
    std::ofstream stream(file, std::ios::binary);
    const std::string image = isa.compare(0, 4, "rv64") == 0 ? elf_image<Elf64>(words) : elf_image<Elf32>(words);
    stream.write(image.data(), static_cast<std::streamsize>(image.size()));
    stream.close();
    if (!stream)
        throw std::runtime_error("cannot write " + file);
    return file;
}

[[noreturn]] void become_spike(const std::vector<std::string> &words, const std::string &errors, int out,
                               pid_t parent) {
    constexpr rlim_t kSeconds = 300; // a program on which spike makes no progress is given up
    // Spike goes with the bench, however that ends. It does not find out by itself: the script that starts it ignores
    // SIGPIPE, and so spike does too.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(127);
    const rlimit limit{kSeconds, kSeconds};
    setrlimit(RLIMIT_CPU, &limit);
    const int in = open("/dev/null", O_RDONLY);
    const int error = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (in < 0 || error < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(error, 2) < 0)
        _exit(127);
    std::vector<char *> arguments;
    for (const std::string &word : words)
        arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    std::perror(arguments[0]);
    _exit(127);
}

} // namespace

Spike::Spike(const SpikeOptions &options) : errors(options.errors), entry(options.entry) {
    std::string memory;
    for (const auto &[base, size] : options.memory) {
        char range[32];
        std::snprintf(range, sizeof range, "%s0x%x:0x%x", memory.empty() ? "" : ",", base, size);
        memory += range;
    }
    const std::vector<std::string> words = {"spike",          "--isa=" + options.isa, "--priv=m",
                                            "--pmpregions=0", "--triggers=0",         "-m" + memory,
                                            "--log-commits",  "--log=/dev/stdout",    options.elf};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw std::runtime_error("cannot start spike");
    const pid_t parent = getpid();
    process = fork();
    if (process == 0)
        become_spike(words, options.errors, ends[1], parent);
    close(ends[1]);
    commits = fdopen(ends[0], "r");
    if (process < 0 || !commits)
        throw std::runtime_error("cannot start spike");
}

Spike::Spike(const std::string &folder, const std::vector<uint32_t> &words, const std::string &isa)
    : Spike(folder, words, isa, {{kImemBase, kImemBytes}, {kSpadBase, kSpadBytes}}) {
}

Spike::Spike(const std::string &folder, const std::vector<uint32_t> &words, const std::string &isa,
             const std::vector<std::pair<uint32_t, uint32_t>> &memory)
    : Spike(
          SpikeOptions{isa, write_elf(folder + "/program.elf", words, isa), folder + "/spike.err", kImemBase, memory}) {
}

Spike::~Spike() {
    std::fclose(commits);
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    std::free(line);
}

bool Spike::next(SpikeCommit &commit) {
    // core   0: 3 0x80000000 (0x00000297) x5  0x80000000 mem ...
    while (getline(&line, &line_size, commits) >= 0) {
        const char *p = std::strstr(line, ": 3 0x");
        if (!p)
            continue;
        char *end;
        commit.pc = static_cast<uint32_t>(std::strtoul(p + 4, &end, 16));
        commit.insn = static_cast<uint32_t>(std::strtoul(end + 2, &end, 16));
        commit.wen = false;
        if (*end == ')')
            end++;
        commit.effects = end;
        // A name and a value for each register written, CSRs (c768_mstatus) among them; then the access to memory.
        for (const char *x = end; (x = std::strstr(x, " x")) != nullptr; x += 2) {
            if (x[2] < '0' || x[2] > '9')
                continue;
            commit.wen = true;
            commit.rd = static_cast<unsigned>(std::strtoul(x + 2, &end, 10));
            commit.wdata = std::strtoul(end, &end, 16);
            break;
        }
        started |= commit.pc == entry;
        if (started)
            return true;
    }
    std::printf("the reference ended; what it said is in %s\n", errors.c_str());
    return false;
}

} // namespace cosim
