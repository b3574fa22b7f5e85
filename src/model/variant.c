/* SPDX-License-Identifier: Apache-2.0 */
#include "model/variant.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/proto.h"
#include "base/utf8.h"

enum { /* field numbers of DynamicParameterConstraints, SingleConstraint, ConstraintList */
    CONSTRAINT = 1,
    OR_CONSTRAINTS = 2,
    AND_CONSTRAINTS = 3,
    NOT_CONSTRAINTS = 4,
    SINGLE_KEY = 1,
    SINGLE_VALUE = 2,
    SINGLE_EXISTS = 3,
    LIST_CONSTRAINTS = 1,
};

/* Bounds on the search for a client that two variants match. */
#define OVERLAP_KEYS_MAX 8
#define OVERLAP_VALUES_MAX 16
#define OVERLAP_TRIALS_MAX 128

typedef enum node_kind {
    NODE_ALWAYS, /* nothing is demanded */
    NODE_VALUE,
    NODE_EXISTS,
    NODE_OR,
    NODE_AND,
    NODE_NOT,
} node_kind;

typedef struct node {
    node_kind kind;
    size_t parent; /* comes before it; of the first one: itself */
    udpai_str key, value;
} node;

/* Constraints taken apart: each node comes behind the one that it is part of. */
typedef struct tree {
    node nodes[UDPAI_CONSTRAINTS_NODES_MAX];
    size_t n;
} tree;

/* ---- taking apart ---- */

/* A message that is being read: constraints, or a list of them. */
typedef struct frame {
    udpai_proto_reader reader;
    size_t node;
    bool is_list, is_given;
} frame;

/* Each level of constraints may have a list around it. */
typedef struct parser {
    frame frames[2 * UDPAI_CONSTRAINTS_DEPTH_MAX];
    size_t n_frames, depth;
    tree *tree;
    udpa_error **ret_error;
} parser;

static udpa_err
bad(const parser *self, const char *why)
{
    return udpai_fail(self->ret_error, UDPA_ERR_INVAL, "constraints that %s", why);
}

static udpa_err
enter(parser *self, udpai_str message, size_t parent)
{
    if (self->tree->n == UDPAI_CONSTRAINTS_NODES_MAX)
        return bad(self, "have more than 128 parts");
    if (self->depth == UDPAI_CONSTRAINTS_DEPTH_MAX)
        return bad(self, "are nested deeper than 16");
    self->depth++;
    self->tree->nodes[self->tree->n] = (node){.kind = NODE_ALWAYS, .parent = parent};
    self->frames[self->n_frames++] = (frame){udpai_proto_read(message), self->tree->n++, 0, 0};
    return UDPA_OK;
}

static udpa_err
set_text(const parser *self, udpai_str text, udpai_str *to)
{
    if (text.len == 0 || to->len)
        return bad(self, "have a key or value that is empty, or given twice");
    if (!udpai_utf8_valid(text))
        return bad(self, "have a key or value that is not UTF-8 text without zero bytes");
    *to = text;
    return UDPA_OK;
}

static udpa_err
read_single(const parser *self, udpai_str message, node *to)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES || field.number > SINGLE_EXISTS)
            err = bad(self, "have a field that this node does not know");
        else if (field.number == SINGLE_KEY)
            err = set_text(self, field.bytes, &to->key);
        else if (to->kind != NODE_ALWAYS)
            err = bad(self, "test one key in two ways at once");
        else if (field.number == SINGLE_VALUE)
            err = set_text(self, field.bytes, &to->value);
        else if (field.bytes.len)
            err = bad(self, "have a field that this node does not know");
        if (err == UDPA_OK && field.number != SINGLE_KEY)
            to->kind = field.number == SINGLE_VALUE ? NODE_VALUE : NODE_EXISTS;
    }
    if (err == UDPA_OK && reader.failed)
        return bad(self, "are malformed");
    if (err == UDPA_OK && (to->key.len == 0 || to->kind == NODE_ALWAYS))
        return bad(self, "test no key, or no value of it: give 'key', and 'value' or 'exists'");
    return err;
}

static udpa_err
read_list_field(parser *self, frame *of, const udpai_proto_field *field)
{
    if (field->number != LIST_CONSTRAINTS)
        return bad(self, "have a field that this node does not know");
    return enter(self, field->bytes, of->node);
}

static udpa_err
read_constraints_field(parser *self, frame *of, const udpai_proto_field *field)
{
    node *to = &self->tree->nodes[of->node];
    if (of->is_given)
        return bad(self, "test two things at once: join them by 'and_constraints'");
    of->is_given = true;
    switch (field->number) {
    case CONSTRAINT:
        return read_single(self, field->bytes, to);
    case OR_CONSTRAINTS:
    case AND_CONSTRAINTS:
        to->kind = field->number == OR_CONSTRAINTS ? NODE_OR : NODE_AND;
        self->frames[self->n_frames++] =
            (frame){udpai_proto_read(field->bytes), of->node, true, true};
        return UDPA_OK;
    case NOT_CONSTRAINTS:
        to->kind = NODE_NOT;
        return enter(self, field->bytes, of->node);
    default:
        return bad(self, "have a field that this node does not know");
    }
}

static udpa_err
parse_all(parser *self)
{
    udpa_err err = UDPA_OK;
    while (self->n_frames && err == UDPA_OK) {
        frame *top = &self->frames[self->n_frames - 1];
        udpai_proto_field field;
        if (!udpai_proto_next(&top->reader, &field)) {
            err = top->reader.failed ? bad(self, "are malformed") : UDPA_OK;
            self->depth -= !top->is_list;
            self->n_frames--;
        } else if (field.type != UDPAI_WIRE_BYTES) {
            err = bad(self, "have a field that this node does not know");
        } else {
            err = top->is_list ? read_list_field(self, top, &field)
                               : read_constraints_field(self, top, &field);
        }
    }
    return err;
}

static udpa_err
parse(udpai_str constraints, tree *ret_tree, udpa_error **ret_error)
{
    parser self;
    self.n_frames = self.depth = 0;
    self.tree = ret_tree;
    self.ret_error = ret_error;
    ret_tree->n = 0;
    if (constraints.len > UDPAI_CONSTRAINTS_MAX)
        return bad(&self, "have more than 4096 bytes");
    udpa_err err = enter(&self, constraints, 0);
    return err == UDPA_OK ? parse_all(&self) : err;
}

udpa_err
udpai_constraints_check(udpai_str constraints, udpa_error **ret_error)
{
    tree parsed;
    return parse(constraints, &parsed, ret_error);
}

/* ---- keys ---- */

static bool
is_test(const node *one)
{
    return one->kind == NODE_VALUE || one->kind == NODE_EXISTS;
}

static bool
is_first_of_key(const tree *of, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_test(&of->nodes[i]) && udpai_str_eq(of->nodes[i].key, of->nodes[index].key))
            return false;
    return is_test(&of->nodes[index]);
}

unsigned
udpai_constraints_n_keys(udpai_str constraints)
{
    tree parsed;
    unsigned n_keys = 0;
    if (parse(constraints, &parsed, NULL) != UDPA_OK)
        return 0;
    for (size_t i = 0; i < parsed.n; i++)
        n_keys += is_first_of_key(&parsed, i);
    return n_keys;
}

/* ---- parameters ---- */

/* Stable: what stood later stays behind what has the same key. */
size_t
udpai_parameters_sort(udpai_parameter *items, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        udpai_parameter one = items[i];
        size_t at = kept;
        while (at > 0 && udpai_str_cmp(items[at - 1].key, one.key) > 0)
            at--;
        if (at > 0 && udpai_str_eq(items[at - 1].key, one.key)) {
            items[at - 1] = one;
            continue;
        }
        memmove(items + at + 1, items + at, (kept - at) * sizeof(*items));
        items[at] = one;
        kept++;
    }
    return kept;
}

udpa_err
udpai_parameters_check(const udpai_parameter *items, size_t n, udpa_error **ret_error)
{
    if (n > UDPAI_PARAMETERS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%zu dynamic parameters, of which %d may be given", n,
                          UDPAI_PARAMETERS_MAX);
    if (udpai_parameters_text_size(items, n) > UDPAI_PARAMETERS_BYTES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "dynamic parameters of more than %zu bytes in all",
                          UDPAI_PARAMETERS_BYTES_MAX);
    for (size_t i = 0; i < n; i++)
        if (items[i].key.len == 0)
            return udpai_fail(ret_error, UDPA_ERR_INVAL, "a dynamic parameter with an empty key");
    return UDPA_OK;
}

/* Neither key nor value has a zero byte. */
size_t
udpai_parameters_text_size(const udpai_parameter *items, size_t n)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += items[i].key.len + items[i].value.len + 2;
    return size;
}

udpai_str
udpai_parameters_put(char **at, const udpai_parameter *items, size_t n)
{
    udpai_str text = {*at, udpai_parameters_text_size(items, n)};
    for (size_t i = 0; i < n; i++) {
        udpai_str_put(at, items[i].key);
        *(*at)++ = '\0';
        udpai_str_put(at, items[i].value);
        *(*at)++ = '\0';
    }
    return text;
}

static udpai_str
take_text(udpai_str *rest)
{
    const char *end = memchr(rest->data, '\0', rest->len);
    udpai_str text = {rest->data, end ? (size_t)(end - rest->data) : rest->len};
    size_t used = text.len + (end != NULL);
    *rest = (udpai_str){rest->data + used, rest->len - used};
    return text;
}

void
udpai_parameters_read(udpai_str text, udpai_parameters *ret_parameters)
{
    ret_parameters->n = 0;
    while (text.len && ret_parameters->n < UDPAI_PARAMETERS_MAX) {
        udpai_parameter *to = &ret_parameters->items[ret_parameters->n++];
        to->key = take_text(&text);
        to->value = take_text(&text);
    }
}

/* ---- matching ---- */

static const udpai_parameter *
find_parameter(const udpai_parameters *parameters, udpai_str key)
{
    size_t low = 0, high = parameters->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = udpai_str_cmp(parameters->items[middle].key, key);
        if (order == 0)
            return &parameters->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool
passes(const node *test, const udpai_parameters *parameters)
{
    const udpai_parameter *found = find_parameter(parameters, test->key);
    return found && (test->kind == NODE_EXISTS || udpai_str_eq(found->value, test->value));
}

/* Parts come behind what they are part of, so one pass from the end has each part's result before
 * it is needed. An empty "or" matches no client, an empty "and" all. */
static bool
evaluate(const tree *of, const udpai_parameters *parameters)
{
    bool results[UDPAI_CONSTRAINTS_NODES_MAX];
    for (size_t i = 0; i < of->n; i++)
        results[i] = of->nodes[i].kind != NODE_OR;
    for (size_t i = of->n; i-- > 0;) {
        const node *one = &of->nodes[i];
        if (is_test(one))
            results[i] = passes(one, parameters);
        if (i == 0)
            break;
        bool *whole = &results[one->parent];
        switch (of->nodes[one->parent].kind) {
        case NODE_OR:
            *whole = *whole || results[i];
            break;
        case NODE_AND:
            *whole = *whole && results[i];
            break;
        default: /* NODE_NOT, which has one part */
            *whole = !results[i];
        }
    }
    return results[0];
}

bool
udpai_constraints_match(udpai_str constraints, const udpai_parameters *parameters)
{
    tree parsed;
    return parse(constraints, &parsed, NULL) == UDPA_OK && evaluate(&parsed, parameters);
}

/* ---- as constraints ---- */

static void
put_single(udpai_proto_writer *writer, const udpai_parameter *parameter)
{
    udpai_proto_put_bytes(writer, SINGLE_KEY, parameter->key);
    if (parameter->value.len)
        udpai_proto_put_bytes(writer, SINGLE_VALUE, parameter->value);
    else /* no constraint can ask for an empty value */
        udpai_proto_put_bytes(writer, SINGLE_EXISTS, (udpai_str){0});
}

static void
put_constraint(udpai_proto_writer *writer, const udpai_parameter *parameter)
{
    udpai_proto_writer size = {0};
    put_single(&size, parameter);
    udpai_proto_put_head(writer, CONSTRAINT, size.size);
    put_single(writer, parameter);
}

static void
put_list(udpai_proto_writer *writer, const udpai_parameters *parameters)
{
    for (size_t i = 0; i < parameters->n; i++) {
        udpai_proto_writer size = {0};
        put_constraint(&size, &parameters->items[i]);
        udpai_proto_put_head(writer, LIST_CONSTRAINTS, size.size);
        put_constraint(writer, &parameters->items[i]);
    }
}

static void
put_all(udpai_proto_writer *writer, const void *what)
{
    const udpai_parameters *parameters = what;
    if (parameters->n == 1) {
        put_constraint(writer, &parameters->items[0]);
    } else if (parameters->n) {
        udpai_proto_writer size = {0};
        put_list(&size, parameters);
        udpai_proto_put_head(writer, AND_CONSTRAINTS, size.size);
        put_list(writer, parameters);
    }
}

udpa_bytes *
udpai_constraints_of_parameters(const udpai_parameters *parameters)
{
    return udpai_proto_encode(put_all, parameters);
}

/* ---- overlaps ---- */

/* What a key may be that two trees test: absent (no value), any of the values that they name, or
 * another one. Nothing else can make a difference. */
typedef struct choices {
    udpai_str key;
    udpai_str values[OVERLAP_VALUES_MAX];
    size_t n, chosen;
} choices;

#define OTHER_VALUE UDPAI_STR("(another)") /* if it is one of theirs, that is tried twice */

static choices *
choices_of(choices *all, size_t *n, udpai_str key)
{
    for (size_t i = 0; i < *n; i++)
        if (udpai_str_eq(all[i].key, key))
            return &all[i];
    if (*n == OVERLAP_KEYS_MAX)
        return NULL;
    all[*n] = (choices){.key = key, .values = {{0}, OTHER_VALUE}, .n = 2};
    return &all[(*n)++];
}

static bool
add_choices(const tree *of, choices *all, size_t *n)
{
    for (size_t i = 0; i < of->n; i++) {
        const node *test = &of->nodes[i];
        choices *key = is_test(test) ? choices_of(all, n, test->key) : NULL;
        bool is_known = test->kind != NODE_VALUE;
        if (!key && is_test(test))
            return false;
        for (size_t j = 0; key && j < key->n && !is_known; j++)
            is_known = udpai_str_eq(key->values[j], test->value);
        if (is_known)
            continue;
        if (key->n == OVERLAP_VALUES_MAX)
            return false;
        key->values[key->n++] = test->value;
    }
    return true;
}

static void
choose(const choices *all, size_t n, udpai_parameters *to)
{
    to->n = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].chosen)
            to->items[to->n++] = (udpai_parameter){all[i].key, all[i].values[all[i].chosen]};
    to->n = udpai_parameters_sort(to->items, to->n);
}

/* Counts on as a clock does; false: it has come round. */
static bool
next_choice(choices *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (++all[i].chosen < all[i].n)
            return true;
        all[i].chosen = 0;
    }
    return false;
}

bool
udpai_constraints_overlap(udpai_str a, udpai_str b, udpai_parameters *ret_example)
{
    tree first, second;
    choices all[OVERLAP_KEYS_MAX];
    size_t n = 0, n_trials = 1;
    if (parse(a, &first, NULL) != UDPA_OK || parse(b, &second, NULL) != UDPA_OK ||
        !add_choices(&first, all, &n) || !add_choices(&second, all, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        n_trials *= all[i].n;
    if (n_trials > OVERLAP_TRIALS_MAX)
        return false;
    do {
        choose(all, n, ret_example);
        if (evaluate(&first, ret_example) && evaluate(&second, ret_example))
            return true;
    } while (next_choice(all, n));
    return false;
}
