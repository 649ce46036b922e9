/* SPDX-License-Identifier: BSD-3-Clause */
/* json_field: the values of one member of JSON objects, a line each. The arguments' bytes are the member's name as it
 * is written between the quotes, 1 to 64 of them.
 *
 * The stream is JSON text, such as one object a line. Members of that name are found at any depth, and a value is put
 * out as it is written: strings with their quotes and escapes, objects and arrays whole. Inside a value that is put out
 * nothing is looked for. Text that ends within a value ends with JSON_FIELD_CUT_OFF; what there is of the value is put
 * out. */
#include <assasin.h>
#include <stdbool.h>

#define LONGEST 64

enum json_field_exit { JSON_FIELD_OK, JSON_FIELD_BAD_NAME, JSON_FIELD_CUT_OFF };

enum state {
    OUTSIDE,   /* between tokens, or in a number or word */
    STRING,    /* in a string that may be the name */
    BEHIND,    /* behind a string that is the name: a colon makes it one */
    BEFORE,    /* behind the colon */
    VALUE,     /* in a value that is put out */
    VALUE_TEXT /* in a string of that value */
};

static uint8_t name[LONGEST];

static bool is_space(uint32_t c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    const uint8_t *args = assasin_args();
    uint32_t length = assasin_task()->args_bytes;
    if (length < 1 || length > LONGEST)
        ASSASIN_RETURN(JSON_FIELD_BAD_NAME);
    for (uint32_t i = 0; i < length; i++)
        name[i] = args[i];
    uint32_t state = OUTSIDE, at = 0, same = 0, escaped = 0, depth = 0;
    for (;;) {
        /* Else the compiler makes a loop of its own for each state, and each has another end. */
        ASSASIN_KEEP(state);
        ASSASIN_KEEP(depth);
        ASSASIN_KEEP(escaped);
        uint32_t c = ASSASIN_LOAD_U8(0, end);
        switch (state) {
        case BEHIND:
            if (is_space(c))
                break;
            state = c == ':' ? BEFORE : OUTSIDE;
            if (c == ':')
                break;
            /* fall through */
        case OUTSIDE:
            if (c == '"') {
                state = STRING;
                at = 0;
                same = 1;
            }
            break;
        case STRING:
            if (escaped || c != '"') {
                same &= at < length && name[at < length ? at : 0] == c;
                at++;
                escaped = !escaped && c == '\\';
            } else
                state = same && at == length ? BEHIND : OUTSIDE;
            break;
        case BEFORE:
            if (is_space(c))
                break;
            state = VALUE;
            depth = 0;
            /* fall through */
        case VALUE:
            if (depth == 0 && (c == ',' || c == '}' || c == ']' || is_space(c))) { /* behind a number or word */
                ASSASIN_STORE_U8(0, '\n');
                state = OUTSIDE;
                break;
            }
            ASSASIN_STORE_U8(0, c);
            if (c == '"')
                state = VALUE_TEXT;
            depth += c == '{' || c == '[';
            if (c == '}' || c == ']')
                if (--depth == 0) {
                    ASSASIN_STORE_U8(0, '\n');
                    state = OUTSIDE;
                }
            break;
        case VALUE_TEXT:
            ASSASIN_STORE_U8(0, c);
            if (!escaped && c == '"') {
                state = depth ? VALUE : OUTSIDE;
                if (!depth)
                    ASSASIN_STORE_U8(0, '\n');
            }
            escaped = !escaped && c == '\\';
            break;
        }
    }
end:
    if (state == VALUE || state == VALUE_TEXT) {
        ASSASIN_STORE_U8(0, '\n');
        /* A number may be the whole text's end. */
        if (state == VALUE_TEXT || depth)
            ASSASIN_RETURN(JSON_FIELD_CUT_OFF);
    }
    ASSASIN_RETURN(JSON_FIELD_OK);
}
