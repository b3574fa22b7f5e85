/* SPDX-License-Identifier: Apache-2.0 */
/* What peers write about acknowledgements: a question, and the text of a refusal that may speak of
 * a resource. Three lines: the question, a name, the text. */
#include "session/acknowledgement.h"
#include "session/refused.h"
#include "tests/fuzz/fuzz.h"

static void
check_question(udpai_str question)
{
    udpai_str type_url = {0}, name = {0};
    if (!udpai_acknowledgement_parse(question, &type_url, &name)) {
        FUZZ_CHECK(type_url.len == 0 && name.len == 0);
        return;
    }
    FUZZ_CHECK(type_url.len > 2 && name.len > 0);
    FUZZ_CHECK(name.data + name.len == question.data + question.len);
    FUZZ_CHECK(type_url.data + type_url.len + 1 == name.data);
    const char *slash = memchr(type_url.data, '/', type_url.len);
    FUZZ_CHECK(slash && slash != type_url.data && slash + 1 < type_url.data + type_url.len);
    FUZZ_CHECK(!memchr(slash + 1, '/', (size_t)(type_url.data + type_url.len - slash - 1)));
}

/* What is spoken of is there, and is so alone, too. */
static void
check_text(udpai_str name, udpai_str text)
{
    const char *slash = name.len ? memchr(name.data, '/', name.len) : NULL;
    size_t skip = slash ? (size_t)(slash - name.data) + 1 : 0;
    udpai_str id = {skip ? name.data + skip : name.data, name.len - skip};
    if (udpai_refusal_names(text, name))
        FUZZ_CHECK(id.len && memmem(text.data, text.len, id.data, id.len));
    FUZZ_CHECK(udpai_refusal_names(id, name) == (id.len > 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    check_question(fuzz_take_line(&input));
    udpai_str name = fuzz_take_line(&input);
    check_text(name, input);
    return 0;
}
