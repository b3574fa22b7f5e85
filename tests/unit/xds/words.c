/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <stdio.h>

#include "model/name.h"
#include "tests/harness/constraints.h"
#include "tests/harness/test.h"

typedef Envoy__Service__Discovery__V3__DynamicParameterConstraints constraints_message;

udpai_str
words_cut(udpai_str *text, const char *ends)
{
    udpai_str piece = {text->data, 0};
    while (piece.len < text->len && !strchr(ends, text->data[piece.len]))
        piece.len++;
    *text = (udpai_str){text->data + piece.len, text->len - piece.len};
    return piece;
}

/* One of "env~prod", "env", "-env". */
static udpai_str
make_test(udpai_str word)
{
    bool is_not = word.data[0] == '-';
    word = (udpai_str){word.data + is_not, word.len - is_not};
    udpai_str key = words_cut(&word, "~");
    udpai_str how = word.len ? wire_bytes(2, (udpai_str){word.data + 1, word.len - 1}) : W_EMPTY(3);
    udpai_str test = W_MESSAGE(1, wire_bytes(1, key), how);
    return is_not ? C_NOT(test) : test;
}

/* All of several. */
udpai_str
words_constraints(udpai_str words)
{
    udpai_str tests[8];
    size_t n = 0;
    while (words.len) {
        assert_true(n < UDPAI_ARRAY_LEN(tests));
        tests[n++] = make_test(words_cut(&words, ","));
        words = (udpai_str){words.data + (words.len > 0), words.len - (words.len > 0)};
    }
    return n == 0 ? W_NOTHING : n == 1 ? tests[0] : constraints_list(3, tests, n);
}

/* A ResourceLocator, of "a<env~prod,version~1". */
static udpai_str
put_locator(uint32_t number, udpai_str word)
{
    udpai_str name = words_cut(&word, "<"), all = wire_bytes(1, name);
    while (word.len > 1) {
        word = (udpai_str){word.data + 1, word.len - 1};
        udpai_str value = words_cut(&word, ","), key = words_cut(&value, "~");
        value = (udpai_str){value.data + 1, value.len - 1};
        all = W_JOIN(all, W_MESSAGE(2, wire_bytes(1, key), wire_bytes(2, value)));
    }
    return wire_bytes(number, all);
}

udpai_str
words_locators(uint32_t number, const char *names)
{
    udpai_str all = W_NOTHING, left = udpai_str_from(names);
    while (left.len) {
        udpai_str word = words_cut(&left, " ");
        left = (udpai_str){left.data + (left.len > 0), left.len - (left.len > 0)};
        if (word.len && memchr(word.data, '<', word.len))
            all = W_JOIN(all, put_locator(number, word));
    }
    return all;
}

#define TEST_OF_VALUE                                                                              \
    ENVOY__SERVICE__DISCOVERY__V3__DYNAMIC_PARAMETER_CONSTRAINTS__SINGLE_CONSTRAINT__CONSTRAINT_TYPE_VALUE

static void
write_constraints(char *text, size_t size, const constraints_message *constraints)
{
    size_t used = strlen(text);
    bool has_value;
    const Envoy__Service__Discovery__V3__DynamicParameterConstraints__SingleConstraint *test =
        constraints->constraint;
    switch (constraints->type_case) {
    case ENVOY__SERVICE__DISCOVERY__V3__DYNAMIC_PARAMETER_CONSTRAINTS__TYPE_CONSTRAINT:
        has_value = test->constraint_type_case == TEST_OF_VALUE;
        snprintf(text + used, size - used, "%s%s%s", test->key, has_value ? "~" : "",
                 has_value ? test->value : "");
        break;
    case ENVOY__SERVICE__DISCOVERY__V3__DYNAMIC_PARAMETER_CONSTRAINTS__TYPE_AND_CONSTRAINTS:
        for (size_t i = 0; i < constraints->and_constraints->n_constraints; i++) {
            snprintf(text + strlen(text), size - strlen(text), "%s", i ? "," : "");
            write_constraints(text, size, constraints->and_constraints->constraints[i]);
        }
        break;
    case ENVOY__SERVICE__DISCOVERY__V3__DYNAMIC_PARAMETER_CONSTRAINTS__TYPE_NOT_CONSTRAINTS:
        snprintf(text + used, size - used, "-");
        write_constraints(text, size, constraints->not_constraints);
        break;
    default:
        fail_msg("constraints of another kind");
    }
}

/* "a<env~prod" */
const char *
words_variant(const Envoy__Service__Discovery__V3__ResourceName *name)
{
    static char text[UDPAI_NAME_MAX];
    snprintf(text, sizeof(text), "%s<", name->name);
    if (name->dynamic_parameter_constraints)
        write_constraints(text, sizeof(text), name->dynamic_parameter_constraints);
    return text;
}

void
words_free_all(void)
{
    wire_free_all();
}
