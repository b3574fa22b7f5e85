/* SPDX-License-Identifier: Apache-2.0 */
/* libfyaml's events become nodes here. Its own documents are not used: resolving their aliases
 * copies what they refer to before its size can be asked. An alias is a second pointer to a node of
 * known expanded size. */
#include "codec/reader.h"

#include <libfyaml.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "codec/indentation.h"
#include "codec/reader_map.h"
#include "codec/reader_source.h"
#include "codec/scalar.h"

/* Aliases may make a document this much larger, or this large. */
#define EXPANSION_FACTOR 10
#define EXPANSION_FREE ((size_t)1024 * 1024)
#define CORE_TAG "tag:yaml.org,2002:"
#define TOO_MUCH "the aliases expand to too much text"

struct frame {
    udpai_tree *node;
    size_t first; /* of its children among the pending nodes */
};

struct anchor {
    udpai_str name;
    const udpai_tree *node;
};

struct reader {
    const udpai_source *source;
    udpai_documents *documents;
    struct fy_parser *parser;
    struct fy_diag *diag;
    unsigned max_depth;
    size_t max_weight, total_weight; /* of all documents together */
    UDPAI_VECTOR(struct frame) frames;
    UDPAI_VECTOR(udpai_tree *) pending;
    udpai_map anchors;
    udpai_str text;        /* of the source, with '\n' for all line ends */
    size_t seen;           /* up to where it was read */
    udpai_strbuf scalar;   /* room for the text of one scalar */
    uint32_t line, column; /* of the newest token */
    udpa_error **ret_error;
};

static udpa_err
fail(struct reader *reader, const char *reason)
{
    const udpai_place place = {reader->source->name, reader->line, reader->column, {NULL, 0}};
    return udpai_fail_at(reader->ret_error, UDPA_ERR_INVAL, &place, "%s", reason);
}

static udpa_err
out_of_memory(struct reader *reader)
{
    return udpai_fail_code(reader->ret_error, UDPA_ERR_NOMEM);
}

static udpai_str
anchor_name(const void *item)
{
    return ((const struct anchor *)item)->name;
}

static udpai_str
token_text(struct fy_token *token)
{
    size_t len = 0;
    const char *text = token ? fy_token_get_text(token, &len) : NULL;
    return text ? (udpai_str){text, len} : UDPAI_STR("");
}

static bool
copy_text(struct reader *reader, udpai_str text, udpai_str *ret_copy)
{
    char *copy = udpai_arena_alloc(&reader->documents->arena, text.len + 1);
    if (!copy)
        return false;
    if (text.len)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *ret_copy = (udpai_str){copy, text.len};
    return true;
}

/* The place of a token. The mark of a quoted scalar is behind its quote. */
static void
look_at(struct reader *reader, struct fy_token *token)
{
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    if (!mark)
        return; /* what is left out is where the newest token is */
    enum fy_scalar_style style = fy_token_scalar_style(token);
    bool quoted = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    reader->line = (uint32_t)mark->line + 1;
    reader->column = (uint32_t)mark->column + (quoted ? 0 : 1);
}

static udpai_tree *
new_node(struct reader *reader, udpai_tree_kind kind, struct fy_token *token)
{
    udpai_tree *node = udpai_arena_alloc(&reader->documents->arena, sizeof(*node));
    if (!node)
        return NULL;
    look_at(reader, token);
    *node = (udpai_tree){
        .kind = (uint8_t)kind,
        .height = kind == UDPAI_TREE_SCALAR ? 0 : 1,
        .open = kind != UDPAI_TREE_SCALAR,
        .line = reader->line,
        .column = reader->column,
        .weight = 1,
    };
    return node;
}

static udpa_err
set_anchor(struct reader *reader, struct fy_token *token, const udpai_tree *node)
{
    if (!token)
        return UDPA_OK;
    udpai_str name = token_text(token);
    struct anchor *anchor = udpai_map_get(&reader->anchors, name);
    if (!anchor) {
        anchor = udpai_arena_alloc(&reader->documents->arena, sizeof(*anchor));
        if (!anchor || !copy_text(reader, name, &anchor->name) ||
            !udpai_map_add(&reader->anchors, anchor))
            return out_of_memory(reader);
    }
    anchor->node = node; /* an anchor may be set again */
    return UDPA_OK;
}

/* Counts what came below a container: @p weight, @p height. */
static udpa_err
grow(struct reader *reader, udpai_tree *node, size_t weight, unsigned height)
{
    if (__builtin_add_overflow(node->weight, weight, &node->weight) ||
        node->weight > reader->max_weight)
        return fail(reader, TOO_MUCH);
    if (height + 1 > node->height)
        node->height = (uint16_t)(height + 1);
    return UDPA_OK;
}

static udpa_err
place_root(struct reader *reader, udpai_tree *node)
{
    reader->total_weight += node->weight; /* either is at most max_weight */
    if (reader->total_weight > reader->max_weight)
        return fail(reader, TOO_MUCH);
    return udpai_vector_push(&reader->documents->roots, node) ? UDPA_OK : out_of_memory(reader);
}

/* A finished node, or an alias of one, takes its place. */
static udpa_err
place_node(struct reader *reader, udpai_tree *node)
{
    if (reader->frames.n == 0)
        return place_root(reader, node);
    struct frame *frame = &reader->frames.items[reader->frames.n - 1];
    bool is_key =
        frame->node->kind == UDPAI_TREE_MAP && (reader->pending.n - frame->first) % 2 == 0;
    if (is_key && node->kind != UDPAI_TREE_SCALAR)
        return fail(reader, "a key must be a scalar");
    if (!udpai_vector_push(&reader->pending, node))
        return out_of_memory(reader);
    return grow(reader, frame->node, node->weight, node->height);
}

static udpa_err
bad_tag(struct reader *reader, udpai_str tag)
{
    const udpai_place place = {reader->source->name, reader->line, reader->column, {NULL, 0}};
    return udpai_fail_at(reader->ret_error, UDPA_ERR_INVAL, &place,
                         "tag '%s' is not supported here: leave it out", UDPAI_QUOTE(tag));
}

/* A tag of the core schema decides what a scalar is; "!" makes it a string. */
static udpa_err
apply_scalar_tag(struct reader *reader, struct fy_token *token, udpai_tree *node)
{
    if (!token)
        return UDPA_OK;
    udpai_str tag = token_text(token);
    if (udpai_str_eq(tag, UDPAI_STR("!")) || udpai_str_eq(tag, UDPAI_STR(CORE_TAG "str")))
        node->plain = false;
    else if (udpai_str_eq(tag, UDPAI_STR(CORE_TAG "int")) ||
             udpai_str_eq(tag, UDPAI_STR(CORE_TAG "float")) ||
             udpai_str_eq(tag, UDPAI_STR(CORE_TAG "bool")) ||
             udpai_str_eq(tag, UDPAI_STR(CORE_TAG "null")))
        node->plain = true;
    else
        return bad_tag(reader, tag);
    return UDPA_OK;
}

static udpa_err
check_container_tag(struct reader *reader, struct fy_token *token, udpai_tree_kind kind)
{
    udpai_str tag = token_text(token);
    udpai_str own = kind == UDPAI_TREE_MAP ? UDPAI_STR(CORE_TAG "map") : UDPAI_STR(CORE_TAG "seq");
    if (!token || udpai_str_eq(tag, UDPAI_STR("!")) || udpai_str_eq(tag, own))
        return UDPA_OK;
    return bad_tag(reader, tag);
}

/* How a token is written, without quotes, and how far the text before it has been seen. */
static bool
written(struct reader *reader,
        struct fy_token *token,
        udpai_str *ret_before,
        udpai_str *ret_written)
{
    const struct fy_mark *start = fy_token_start_mark(token), *end = fy_token_end_mark(token);
    if (!start || !end || reader->seen > start->input_pos || start->input_pos > end->input_pos ||
        end->input_pos > reader->text.len)
        return false;
    const char *text = reader->text.data;
    *ret_before = (udpai_str){text + reader->seen, start->input_pos - reader->seen};
    *ret_written = (udpai_str){text + start->input_pos, end->input_pos - start->input_pos};
    reader->seen = end->input_pos;
    return true;
}

static bool
decode_block(struct reader *reader, udpai_str before, udpai_str lines)
{
    const struct frame *frame =
        reader->frames.n ? &reader->frames.items[reader->frames.n - 1] : NULL;
    const udpai_block_scalar scalar = {
        .before = before,
        .written = lines,
        .parent_indent = frame ? frame->node->column - 1 : 0,
    };
    return udpai_block_scalar_decode(&scalar, &reader->scalar);
}

static bool
decode(struct reader *reader, struct fy_token *token)
{
    udpai_str before, lines;
    reader->scalar.len = 0;
    if (!token)
        return true; /* nothing is written, which is null */
    if (!written(reader, token, &before, &lines))
        return false;
    switch (fy_token_scalar_style(token)) {
    case FYSS_PLAIN:
        return udpai_flow_scalar_decode(UDPAI_FLOW_PLAIN, lines, &reader->scalar);
    case FYSS_SINGLE_QUOTED:
        return udpai_flow_scalar_decode(UDPAI_FLOW_SINGLE_QUOTED, lines, &reader->scalar);
    case FYSS_DOUBLE_QUOTED:
        return udpai_flow_scalar_decode(UDPAI_FLOW_DOUBLE_QUOTED, lines, &reader->scalar);
    default:
        return decode_block(reader, before, lines);
    }
}

static udpa_err
decode_scalar(struct reader *reader, struct fy_token *token, udpai_str *ret_text)
{
    if (!decode(reader, token))
        return fail(reader, "this text cannot be read");
    if (udpai_strbuf_failed(&reader->scalar) ||
        !copy_text(reader, udpai_strbuf_view(&reader->scalar), ret_text))
        return out_of_memory(reader);
    return UDPA_OK;
}

static udpa_err
on_scalar(struct reader *reader, struct fy_event *event)
{
    struct fy_token *token = event->scalar.value;
    udpai_tree *node = new_node(reader, UDPAI_TREE_SCALAR, token);
    if (!node)
        return out_of_memory(reader);
    udpa_err err = decode_scalar(reader, token, &node->text);
    if (err != UDPA_OK)
        return err;
    node->plain = fy_token_scalar_style(token) == FYSS_PLAIN;
    node->weight += node->text.len;
    err = apply_scalar_tag(reader, event->scalar.tag, node);
    if (err == UDPA_OK)
        err = set_anchor(reader, event->scalar.anchor, node);
    return err == UDPA_OK ? place_node(reader, node) : err;
}

static udpa_err
on_alias(struct reader *reader, struct fy_event *event)
{
    look_at(reader, event->alias.anchor);
    struct anchor *anchor = udpai_map_get(&reader->anchors, token_text(event->alias.anchor));
    if (!anchor)
        return fail(reader, "this alias has no anchor before it");
    if (anchor->node->open)
        return fail(reader, "this alias stands for what it is part of");
    if (reader->frames.n + anchor->node->height > reader->max_depth)
        return fail(reader, "the document is nested too deep with this alias");
    return place_node(reader, (udpai_tree *)(uintptr_t)anchor->node);
}

static udpa_err
on_start(struct reader *reader, udpai_tree_kind kind, struct fy_event *event)
{
    /* both kinds of event have the same three tokens in the same order */
    struct fy_token *anchor = event->mapping_start.anchor, *tag = event->mapping_start.tag;
    udpai_tree *node = new_node(reader, kind, event->mapping_start.mapping_start);
    if (!node)
        return out_of_memory(reader);
    if (reader->frames.n == reader->max_depth)
        return fail(reader, "the document is nested too deep");
    udpa_err err = check_container_tag(reader, tag, kind);
    if (err == UDPA_OK)
        err = set_anchor(reader, anchor, node);
    if (err == UDPA_OK &&
        !udpai_vector_push(&reader->frames, ((struct frame){node, reader->pending.n})))
        err = out_of_memory(reader);
    return err;
}

/* What was placed in a container, in order; for an empty one there may be no array yet. */
static const udpai_tree *const *
children(const struct reader *reader, const struct frame *frame, size_t *ret_n)
{
    *ret_n = reader->pending.n - frame->first;
    return *ret_n ? (const udpai_tree *const *)reader->pending.items + frame->first : NULL;
}

static udpa_err
close_list(struct reader *reader, const struct frame *frame)
{
    size_t n;
    const udpai_tree *const *from = children(reader, frame, &n);
    const udpai_tree **items =
        udpai_arena_alloc(&reader->documents->arena, n * sizeof(udpai_tree *));
    if (!items)
        return out_of_memory(reader);
    if (n)
        memcpy(items, from, n * sizeof(udpai_tree *));
    frame->node->items = items;
    frame->node->n = (uint32_t)n;
    return UDPA_OK;
}

static udpa_err
close_map(struct reader *reader, const struct frame *frame)
{
    size_t n;
    udpai_map_maker maker = {
        .source = reader->source,
        .arena = &reader->documents->arena,
        .node = frame->node,
    };
    maker.pairs = children(reader, frame, &n);
    maker.n_pairs = n / 2;
    udpa_err err = udpai_map_make(&maker, reader->ret_error);
    return err == UDPA_OK ? grow(reader, frame->node, maker.merged_weight, maker.merged_height)
                          : err;
}

static udpa_err
on_end(struct reader *reader)
{
    struct frame frame = reader->frames.items[reader->frames.n - 1];
    udpa_err err =
        frame.node->kind == UDPAI_TREE_MAP ? close_map(reader, &frame) : close_list(reader, &frame);
    if (err != UDPA_OK)
        return err;
    frame.node->open = false;
    reader->pending.n = frame.first;
    reader->frames.n--;
    return place_node(reader, frame.node);
}

static udpa_err
on_event(struct reader *reader, struct fy_event *event)
{
    switch (event->type) {
    case FYET_SCALAR:
        return on_scalar(reader, event);
    case FYET_ALIAS:
        return on_alias(reader, event);
    case FYET_MAPPING_START:
        return on_start(reader, UDPAI_TREE_MAP, event);
    case FYET_SEQUENCE_START:
        return on_start(reader, UDPAI_TREE_LIST, event);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        return on_end(reader);
    case FYET_DOCUMENT_START: /* anchors belong to one document */
        udpai_map_done(&reader->anchors);
        return UDPA_OK;
    default:
        return UDPA_OK;
    }
}

static udpa_err
fail_by_parser(struct reader *reader)
{
    void *position = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(reader->diag, &position);
    if (!first) /* seen for the header of a block scalar; without memory it is silent too */
        return fail(reader, "this cannot be read from here on");
    reader->line = first->line > 0 ? (uint32_t)first->line : 0;
    reader->column = first->column > 0 ? (uint32_t)first->column : 0;
    udpai_misindented better;
    if (!udpai_source_is_strict(reader->source) &&
        udpai_indentation_explain(reader->text, reader->line, &better)) {
        reader->line = better.line;
        reader->column = better.column;
        return fail(reader, better.reason);
    }
    return fail(reader, first->msg);
}

static udpa_err
read_events(struct reader *reader)
{
    struct fy_event *event;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && (event = fy_parser_parse(reader->parser))) {
        err = on_event(reader, event);
        fy_parser_event_free(reader->parser, event);
    }
    if (err == UDPA_OK && fy_parser_get_stream_error(reader->parser))
        err = fail_by_parser(reader);
    return err;
}

static void
ignore_output(struct fy_diag *diag, void *user, const char *text, size_t len)
{
    (void)diag;
    (void)user;
    (void)text;
    (void)len;
}

static udpa_err
read_with_parser(struct reader *reader)
{
    struct fy_diag_cfg diag_config;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = NULL;
    diag_config.output_fn = ignore_output;
    reader->diag = fy_diag_create(&diag_config);
    if (!reader->diag)
        return out_of_memory(reader);
    fy_diag_set_collect_errors(reader->diag, true);
    bool json = udpai_source_is_strict(reader->source);
    const struct fy_parse_cfg config = {
        .flags = FYPCF_DEFAULT_VERSION_1_2 | (json ? FYPCF_JSON_FORCE : FYPCF_JSON_NONE),
        .diag = reader->diag,
    };
    udpa_err err;
    reader->parser = fy_parser_create(&config);
    if (!reader->parser ||
        fy_parser_set_string(reader->parser, reader->text.data, reader->text.len) != 0)
        err = out_of_memory(reader);
    else
        err = read_events(reader);
    if (reader->parser)
        fy_parser_destroy(reader->parser);
    fy_diag_destroy(reader->diag);
    return err;
}

static udpa_err
read_source(struct reader *reader)
{
    udpai_strbuf copy = {0};
    udpai_source_copy(reader->source, &copy);
    reader->text = udpai_strbuf_view(&copy);
    udpa_err err = udpai_strbuf_failed(&copy) ? out_of_memory(reader) : read_with_parser(reader);
    udpai_strbuf_done(&copy);
    udpai_strbuf_done(&reader->scalar);
    return err;
}

udpa_err
udpai_documents_read(udpai_documents **ret_documents,
                     const udpai_source *source,
                     udpa_error **ret_error)
{
    __attribute__((cleanup(udpai_documents_free_p))) udpai_documents *documents =
        udpai_alloc(sizeof(*documents));
    if (!documents)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_arena_init(&documents->arena);
    struct reader reader = {
        .source = source,
        .documents = documents,
        .max_depth = source->max_depth ? source->max_depth : UDPAI_DOCUMENT_DEPTH,
        .max_weight = udpai_max_size(source->text.len * EXPANSION_FACTOR, EXPANSION_FREE),
        .ret_error = ret_error,
    };
    udpai_map_init(&reader.anchors, anchor_name);
    udpa_err err = udpai_source_check(source, ret_error);
    if (err == UDPA_OK && !udpai_source_is_blank(source)) /* the parser calls empty JSON an error */
        err = read_source(&reader);
    udpai_map_done(&reader.anchors);
    udpai_vector_done(&reader.frames);
    udpai_vector_done(&reader.pending);
    if (err == UDPA_OK)
        *ret_documents = UDPAI_TAKE(documents);
    return err;
}

udpai_documents *
udpai_documents_free(udpai_documents *documents)
{
    if (documents) {
        udpai_arena_done(&documents->arena);
        udpai_vector_done(&documents->roots);
        udpai_free(documents);
    }
    return NULL;
}
