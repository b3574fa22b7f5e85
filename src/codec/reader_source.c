/* SPDX-License-Identifier: Apache-2.0 */
/* Size, UTF-8 and line ends, so that nothing behind it has to ask again: libfyaml takes UTF-16 for
 * what it could be, and gives wrong text for some scalars with '\r' in them. */
#include "codec/reader_source.h"

#include "base/utf8.h"

/* Length of the character at the start of a text; 0 if it is none. */
static size_t
character(udpai_str text)
{
    for (size_t len = 1; len <= 4 && len <= text.len; len++)
        if (udpai_utf8_valid((udpai_str){text.data, len}))
            return len;
    return 0;
}

/* Finds where the text stops being UTF-8 without zero bytes. */
static udpa_err
fail_at_bad_byte(const udpai_source *source, udpa_error **ret_error)
{
    udpai_str rest = source->text;
    size_t len;
    udpai_place place = {source->name, 1, 1, {NULL, 0}};
    while ((len = character(rest)) > 0) {
        bool ends_line = rest.data[0] == '\n';
        place.line += ends_line;
        place.column = ends_line ? 1 : place.column + 1;
        rest = (udpai_str){rest.data + len, rest.len - len};
    }
    return udpai_fail_at(ret_error, UDPA_ERR_INVAL, &place, "this byte is not UTF-8 text");
}

udpa_err
udpai_source_check(const udpai_source *source, udpa_error **ret_error)
{
    const udpai_place place = {source->name, 0, 0, {NULL, 0}};
    if (source->text.len > udpai_source_max_size(source))
        return udpai_fail_at(ret_error, UDPA_ERR_LIMIT, &place,
                             "%zu bytes are more than the %zu that are allowed", source->text.len,
                             udpai_source_max_size(source));
    return udpai_utf8_valid(source->text) ? UDPA_OK : fail_at_bad_byte(source, ret_error);
}

bool
udpai_source_is_blank(const udpai_source *source)
{
    for (size_t i = 0; i < source->text.len; i++)
        if (!memchr(" \t\r\n", source->text.data[i], 4))
            return false;
    return true;
}

void
udpai_source_copy(const udpai_source *source, udpai_strbuf *out)
{
    udpai_str left = source->text;
    while (left.len) {
        const char *end = memchr(left.data, '\r', left.len);
        size_t len = end ? (size_t)(end - left.data) : left.len;
        udpai_strbuf_append(out, left.data, len);
        if (end) {
            udpai_strbuf_putc(out, '\n');
            len += len + 1 < left.len && end[1] == '\n' ? 2 : 1;
        }
        left = (udpai_str){left.data + len, left.len - len};
    }
}
