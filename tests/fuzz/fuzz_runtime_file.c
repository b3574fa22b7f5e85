/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of files as values of a runtime. What is left has no comment and no empty line, ends in
 * nothing that is blank, and stays if it is read once more. */
#include <ctype.h>

#include "base/alloc.h"
#include "runtime/walk.h"
#include "tests/fuzz/fuzz.h"

static void
check_lines(udpai_str value)
{
    while (value.len) {
        udpai_str line = fuzz_take_line(&value);
        FUZZ_CHECK(line.len && line.data[0] != '#');
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *contents = udpai_alloc(size), *again = udpai_alloc(size);
    FUZZ_CHECK(contents && again);
    if (size)
        memcpy(contents, data, size);
    udpai_str value = udpai_runtime_file_value(contents, size);
    FUZZ_CHECK(value.data == contents && value.len <= size);
    FUZZ_CHECK(value.len == 0 || !isspace((unsigned char)value.data[value.len - 1]));
    check_lines(value);
    if (value.len)
        memcpy(again, value.data, value.len);
    FUZZ_CHECK(udpai_str_eq(udpai_runtime_file_value(again, value.len), value));
    udpai_free(contents);
    udpai_free(again);
    return 0;
}
