/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of /runtime_modify, one on each line, to one runtime. What is refused changes nothing;
 * what was set can be set again by what is there, and all of it can be shown. */
#include "daemon/runtime_pages.h"
#include "tests/fuzz/fuzz.h"

static const udpai_runtime_layer *
admin_of(const udpai_runtime *runtime)
{
    return udpai_runtime_layer_at(runtime, 0);
}

static void
modify(udpai_runtime *runtime, udpai_str form)
{
    udpa_error *error = NULL;
    udpai_runtime_layer *before =
        udpai_runtime_layer_ref((udpai_runtime_layer *)(uintptr_t)admin_of(runtime));
    udpa_err err = udpai_runtime_modify_page(runtime, form, &error);
    FUZZ_CHECK((err == UDPA_OK) == !error);
    FUZZ_CHECK(!err || admin_of(runtime) == before);
    FUZZ_CHECK(runtime->statistics.num_keys == udpai_runtime_layer_entries(admin_of(runtime))->n);
    udpai_runtime_layer_unref(before);
    udpa_error_unref(error);
}

static void
put_encoded(udpai_strbuf *form, udpai_str text)
{
    for (size_t i = 0; i < text.len; i++)
        udpai_strbuf_printf(form, "%%%02x", (unsigned char)text.data[i]);
}

/* Each entry by itself, for a form has a limit. */
static void
copy(udpai_runtime *to, const udpai_runtime_entry *entry)
{
    udpai_strbuf form = {0};
    put_encoded(&form, udpai_runtime_entry_key(entry));
    udpai_strbuf_putc(&form, '=');
    put_encoded(&form, entry->value.text);
    FUZZ_CHECK(udpai_runtime_modify_page(to, udpai_strbuf_view(&form), NULL) == UDPA_OK);
    udpai_strbuf_done(&form);
}

static void
check(const udpai_runtime *runtime)
{
    udpai_runtime again;
    udpai_strbuf page = {0};
    size_t at = 0;
    const udpai_runtime_entry *entry;
    FUZZ_CHECK(udpai_runtime_init(&again, NULL, 0, NULL) == UDPA_OK);
    while ((entry = udpai_map_next(udpai_runtime_layer_entries(admin_of(runtime)), &at))) {
        FUZZ_CHECK(entry->value.text.len);
        copy(&again, entry);
    }
    FUZZ_CHECK(udpai_runtime_layer_eq(admin_of(&again), admin_of(runtime)));
    udpai_runtime_page(runtime, NULL, &page);
    FUZZ_CHECK(!udpai_strbuf_failed(&page));
    udpai_strbuf_done(&page);
    udpai_runtime_done(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    udpai_runtime runtime;
    FUZZ_CHECK(udpai_runtime_init(&runtime, NULL, 0, NULL) == UDPA_OK);
    while (input.len)
        modify(&runtime, fuzz_take_line(&input));
    check(&runtime);
    udpai_runtime_done(&runtime);
    return 0;
}
