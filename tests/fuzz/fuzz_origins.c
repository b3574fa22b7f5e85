/* SPDX-License-Identifier: Apache-2.0 */
/* A question about origins, as a peer writes its name: what it asks is asked by no other name. */
#include "base/alloc.h"
#include "session/origins_question.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const udpai_str text = {(const char *)data, size};
    udpai_origins_question question;
    char *name = NULL;
    if (!udpai_origins_question_parse(text, &question))
        return 0;
    FUZZ_CHECK(question.token.len && question.type_name.len && question.name.len);
    FUZZ_CHECK(udpai_origins_question_compose(&question, &name) == UDPA_OK);
    FUZZ_CHECK(memcmp(name, data, size) == 0 && name[size] == '\0');
    udpai_free(name);
    return 0;
}
