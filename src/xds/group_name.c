/* SPDX-License-Identifier: Apache-2.0 */
/* Name spaces with words in braces. */
#include "model/name.h"
#include "xds/group.h"

typedef enum word_kind {
    WORD_NODE_ID,
    WORD_CLUSTER,
    WORD_REGION,
    WORD_ZONE,
    WORD_SUB_ZONE,
    WORD_IDENTITY,
    WORDS,
} word_kind;

static const char *const words[WORDS] = {"node_id", "cluster",  "region",
                                         "zone",    "sub_zone", "identity"};
static const char known_words[] = "{node_id}, {cluster}, {region}, {zone}, {sub_zone}, {identity}";

/* Text, or a word in braces, from *at on. */
typedef struct template_piece {
    udpai_str text; /* of a word, without the braces */
    bool is_word;
} template_piece;

static bool
next_piece(udpai_str template, size_t *at, template_piece *ret_piece)
{
    udpai_str rest = {template.data + *at, template.len - *at};
    if (rest.len == 0)
        return false;
    ret_piece->is_word = rest.data[0] == '{';
    const char *end = memchr(rest.data, ret_piece->is_word ? '}' : '{', rest.len);
    size_t len = end ? (size_t)(end - rest.data) : rest.len;
    bool is_closed = ret_piece->is_word && end; /* else the brace shows that it is no word */
    ret_piece->text = (udpai_str){rest.data + is_closed, len - is_closed};
    *at += len + is_closed;
    return true;
}

static word_kind
find_word(udpai_str text)
{
    size_t i = 0;
    while (i < WORDS && !udpai_str_eq(text, udpai_str_from(words[i])))
        i++;
    return (word_kind)i;
}

bool
udpai_xds_template_is(udpai_str name_space)
{
    return name_space.len && memchr(name_space.data, '{', name_space.len);
}

bool
udpai_xds_template_has(udpai_str name_space, udpai_str word)
{
    template_piece piece;
    for (size_t at = 0; next_piece(name_space, &at, &piece);)
        if (piece.is_word && udpai_str_eq(piece.text, word))
            return true;
    return false;
}

/* ---- words that share a segment ---- */

/* Neither in what a value is written with where it is escaped, nor a letter or digit of its own. */
static bool
separates(char c)
{
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return !is_letter && !(c >= '0' && c <= '9') && c != '%';
}

/* The next text between two words of one segment, which may be empty. */
static bool
next_between(udpai_str template, size_t *at, udpai_str *ret_text)
{
    template_piece first, piece;
    while (next_piece(template, at, &first)) {
        if (!first.is_word)
            continue;
        size_t behind = *at;
        *ret_text = (udpai_str){template.data + behind, 0};
        if (!next_piece(template, &behind, &piece))
            return false;
        if (!piece.is_word)
            *ret_text = piece.text;
        bool is_between = piece.is_word || (next_piece(template, &behind, &piece) && piece.is_word);
        if (is_between && !(ret_text->len && memchr(ret_text->data, '/', ret_text->len)))
            return true;
    }
    return false;
}

/* Text that no value stands between: "a/{cluster}{node_id}" would be the same for c, dn and cd, n.
 */
static udpa_err
check_between(udpai_str template, udpa_error **ret_error)
{
    udpai_str text;
    for (size_t at = 0; next_between(template, &at, &text);)
        if (text.len == 0 || !separates(text.data[0]))
            return udpai_fail(
                ret_error, UDPA_ERR_INVAL,
                "'%.*s': two words in one segment need something between them that is "
                "no letter, digit or '%%', such as '.' or '/': else two clients might "
                "make one namespace",
                UDPAI_SHOWN(template));
    return UDPA_OK;
}

/* ---- what may be configured ---- */

static bool
has_empty_segment(udpai_str template)
{
    for (size_t i = 0; i < template.len; i++)
        if (template.data[i] == '/' && (i + 1 == template.len || template.data[i + 1] == '/'))
            return true;
    return false;
}

udpa_err
udpai_xds_template_check(udpai_str name_space, udpa_error **ret_error)
{
    udpai_str fixed = udpai_name_namespace(name_space);
    if (udpai_xds_template_is(fixed) || fixed.len == name_space.len)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%.*s': words in braces may stand behind the first '/', as in "
                          "com.acme/clients/{node_id}",
                          UDPAI_SHOWN(name_space));
    template_piece piece;
    for (size_t at = 0; next_piece(name_space, &at, &piece);)
        if (piece.is_word && find_word(piece.text) == WORDS)
            return udpai_fail(
                ret_error, UDPA_ERR_INVAL,
                "'%.*s': {%.*s} is no word for what a client reports of itself; these are: %s",
                UDPAI_SHOWN(name_space), UDPAI_SHOWN(piece.text), known_words);
    if (has_empty_segment(name_space))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%.*s' has an empty segment: take the '/' away that nothing is behind",
                          UDPAI_SHOWN(name_space));
    return check_between(name_space, ret_error);
}

static udpai_str
value_of(word_kind word, const udpai_xds_client *client)
{
    static const udpai_node_parts nobody = {0};
    const udpai_node_parts *node = client->node ? udpai_node_info_parts(client->node) : &nobody;
    switch (word) {
    case WORD_NODE_ID:
        return node->id;
    case WORD_CLUSTER:
        return node->cluster;
    case WORD_REGION:
        return node->region;
    case WORD_ZONE:
        return node->zone;
    case WORD_SUB_ZONE:
        return node->sub_zone;
    case WORD_IDENTITY:
        return udpai_identity_name(client->identity);
    case WORDS:
        break;
    }
    return (udpai_str){0};
}

typedef struct segment_writer {
    bool is_separator[256]; /* between words of one segment */
    char *room;
    size_t len;
    bool failed;
} segment_writer;

static void
put(segment_writer *writer, char c)
{
    if (writer->len < UDPAI_XDS_GROUP_NAMESPACE_MAX)
        writer->room[writer->len++] = c;
    else
        writer->failed = true;
}

/* One segment, in which nothing has a meaning of its own, and which no other value makes. */
static bool
is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~:@+=,!$", c));
}

static void
put_value(segment_writer *writer, udpai_str value)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if (is_plain((char)c) && !writer->is_separator[c]) {
            put(writer, (char)c);
            continue;
        }
        put(writer, '%');
        put(writer, digits[c >> 4]);
        put(writer, digits[c & 15]);
    }
}

udpa_err
udpai_xds_template_expand(udpai_str name_space,
                          const udpai_xds_client *client,
                          char room[UDPAI_XDS_GROUP_NAMESPACE_MAX],
                          udpai_str *ret_name_space,
                          udpa_error **ret_error)
{
    segment_writer writer = {.room = room};
    template_piece piece;
    udpai_str between;
    for (size_t at = 0; next_between(name_space, &at, &between);)
        if (between.len)
            writer.is_separator[(unsigned char)between.data[0]] = true;
    for (size_t at = 0; next_piece(name_space, &at, &piece);) {
        udpai_str value = piece.is_word ? value_of(find_word(piece.text), client) : (udpai_str){0};
        if (piece.is_word && value.len == 0)
            return udpai_fail(ret_error, UDPA_ERR_DENIED,
                              "what you are shown depends on {%.*s}, which you have not sent: its "
                              "name space is '%.*s'",
                              UDPAI_SHOWN(piece.text), UDPAI_SHOWN(name_space));
        put_value(&writer, value);
        for (size_t i = 0; !piece.is_word && i < piece.text.len; i++)
            put(&writer, piece.text.data[i]);
    }
    if (writer.failed)
        return udpai_fail(
            ret_error, UDPA_ERR_LIMIT,
            "what you report of yourself makes of '%.*s' a name space of more than %d bytes",
            UDPAI_SHOWN(name_space), UDPAI_XDS_GROUP_NAMESPACE_MAX);
    *ret_name_space = (udpai_str){room, writer.len};
    return UDPA_OK;
}
