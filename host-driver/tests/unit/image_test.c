/* SPDX-License-Identifier: BSD-3-Clause */
/* What of an ELF file goes to the drive. */
#include <assasin/assasin.h>

#include "check.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define FILE_BYTES 4096
#define CODE_AT    0x100
#define CODE_BYTES 0x321
#define DATA_AT    0x500
#define DATA_BYTES 0x21

/* Two segments with bytes, one without, and behind them what is not loaded. */
static Elf32_Phdr segments[] = {
    {.p_type = PT_LOAD, .p_offset = CODE_AT, .p_filesz = CODE_BYTES, .p_memsz = CODE_BYTES},
    {.p_type = PT_LOAD, .p_offset = DATA_AT, .p_filesz = DATA_BYTES, .p_memsz = 2 * DATA_BYTES},
    {.p_type = PT_LOAD, .p_offset = 0x900, .p_memsz = 64},
};
static uint8_t file[FILE_BYTES], image[FILE_BYTES];

static Elf32_Ehdr make(void) {
    Elf32_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_RISCV,
        .e_version = EV_CURRENT,
        .e_entry = 0x10,
        .e_phoff = sizeof(header),
        .e_shoff = 0xa00,
        .e_ehsize = sizeof(header),
        .e_phentsize = sizeof(Elf32_Phdr),
        .e_phnum = 3,
        .e_shentsize = sizeof(Elf32_Shdr),
        .e_shnum = 9,
        .e_shstrndx = 8,
    };
    memset(file, 0xa5, sizeof(file));
    memcpy(file, &header, sizeof(header));
    memcpy(file + sizeof(header), segments, sizeof(segments));
    return header;
}

static void put(const Elf32_Ehdr *header) {
    memcpy(file, header, sizeof(*header));
}

static void keeps_the_segments_and_their_table(void) {
    Elf32_Ehdr header = make(), left;
    CHECK(assasin_function_image(file, FILE_BYTES, image) == DATA_AT + DATA_BYTES);
    memcpy(&left, image, sizeof(left));
    header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
    CHECK(!memcmp(&left, &header, sizeof(header)));
    CHECK(!memcmp(image + sizeof(header), file + sizeof(header), DATA_AT + DATA_BYTES - sizeof(header)));
}

static void works_in_place(void) {
    make();
    size_t size = assasin_function_image(file, FILE_BYTES, image);
    CHECK(assasin_function_image(file, FILE_BYTES, file) == size);
    CHECK(!memcmp(file, image, size));
}

static void leaves_a_table_behind_the_segments(void) {
    Elf32_Ehdr header = make();
    header.e_phoff = 0x600;
    put(&header);
    memcpy(file + header.e_phoff, segments, sizeof(segments));
    CHECK(assasin_function_image(file, FILE_BYTES, image) == 0x600 + sizeof(segments));
}

/* The drive says what is wrong with it. */
static void leaves_what_it_does_not_understand(void) {
    for (size_t bytes = 0; bytes < sizeof(Elf32_Ehdr) + sizeof(segments); bytes++) {
        make();
        CHECK(assasin_function_image(file, bytes, image) == bytes);
        CHECK(!memcmp(file, image, bytes));
    }
    for (size_t at = 0; at < 6; at++) {
        make();
        file[at] ^= 0xff;
        CHECK(assasin_function_image(file, FILE_BYTES, image) == FILE_BYTES);
    }
    Elf32_Ehdr header = make();
    header.e_phoff = UINT32_MAX;
    put(&header);
    CHECK(assasin_function_image(file, FILE_BYTES, image) == FILE_BYTES);
    header = make();
    header.e_phnum = UINT16_MAX;
    put(&header);
    CHECK(assasin_function_image(file, FILE_BYTES, image) == FILE_BYTES);
    make();
    CHECK(assasin_function_image(file, DATA_AT + DATA_BYTES - 1, image) == DATA_AT + DATA_BYTES - 1);
    CHECK(!memcmp(file, image, DATA_AT));
}

int main(void) {
    RUN(keeps_the_segments_and_their_table);
    RUN(works_in_place);
    RUN(leaves_a_table_behind_the_segments);
    RUN(leaves_what_it_does_not_understand);
    return 0;
}
