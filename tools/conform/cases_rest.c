/* SPDX-License-Identifier: Apache-2.0 */
/* REST: DiscoveryRequest and DiscoveryResponse in JSON, by POST. What the protocol's text leaves to
 * HTTP and to JSON is in RFC 9110, RFC 9112, and in the mapping of proto3 to JSON. */
#include <strings.h>

#include "base/alloc.h"
#include "tools/conform/cases.h"
#include "tools/conform/rest.h"

#define JSON "application/json"

/* Asks on a connection of its own, and has the answer. */
static udpai_rest *
fetch(udpai_script *script, const udpai_rest_ask *ask)
{
    udpai_rest *rest = udpai_rest_open(script);
    udpai_rest_send(rest, ask);
    udpai_rest_expect(rest);
    return rest;
}

static udpai_rest *
fetch_a(udpai_script *script)
{
    udpai_rest *rest = fetch(script, &(udpai_rest_ask){.names = UDPAI_A, .type = script->kind});
    udpai_rest_require(rest, "a");
    return rest;
}

static void
by_name(udpai_script *script)
{
    udpai_rest_free(fetch_a(script));
}

static void
all(udpai_script *script)
{
    udpai_rest *rest = fetch(script, &(udpai_rest_ask){.type = script->kind});
    udpai_rest_require(rest, "a");
    if (udpai_world_can_change(&script->stage->world))
        udpai_rest_require(rest, "b");
    udpai_rest_free(rest);
}

/* ---- what is in an answer ---- */

static void
version_is_sent(udpai_script *script)
{
    udpai_rest *rest = fetch_a(script);
    udpai_require(script, !rest || (rest->version && *rest->version),
                  "the response has no versionInfo: the client cannot send its version");
    udpai_rest_free(rest);
}

static void
types_are_listed(udpai_script *script)
{
    const char *url = udpai_kind_url(script->kind).data;
    udpai_rest *rest = fetch_a(script);
    const udpai_rest_resource *update = udpai_rest_find(rest, "a");
    udpai_require(script, !update || strcmp(update->type_url, url) == 0,
                  "the resource has '%s' as its @type, not %s", update ? update->type_url : "",
                  url);
    udpai_require(script,
                  !rest || !rest->type_url || !*rest->type_url || strcmp(rest->type_url, url) == 0,
                  "the answer has '%s' as its typeUrl, not %s", rest ? rest->type_url : "", url);
    udpai_rest_free(rest);
}

static void
content_type_is_json(udpai_script *script)
{
    udpai_rest *rest = fetch_a(script);
    const char *type = rest && rest->content_type ? rest->content_type : "";
    udpai_require(script, strncasecmp(type, JSON, strlen(JSON)) == 0,
                  "the answer has the content type '%s', not " JSON, type);
    udpai_rest_free(rest);
}

/* ---- how it may be asked ---- */

/* What is not understood is passed over, or refused: then "a" does not come, or "b" does. */
static void
require_a_alone(udpai_rest *rest)
{
    udpai_rest_require(rest, "a");
    if (rest && udpai_is_running(rest->script))
        udpai_require(rest->script, !udpai_rest_find(rest, "b"),
                      "one name was requested, and another arrived, too");
}

static void
camel_case(udpai_script *script)
{
    udpai_rest *rest = fetch(script, &(udpai_rest_ask){.names = UDPAI_A, .type = script->kind});
    require_a_alone(rest);
    udpai_rest_free(rest);
}

static void
original_names(udpai_script *script)
{
    udpai_rest *rest = fetch(
        script,
        &(udpai_rest_ask){.names = UDPAI_A, .type = script->kind, .has_original_names = true});
    require_a_alone(rest);
    udpai_rest_free(rest);
}

static void
without_type(udpai_script *script)
{
    udpai_rest *rest = fetch(script, &(udpai_rest_ask){.names = UDPAI_A, .type = UDPAI_KINDS});
    udpai_rest_require(rest, "a");
    udpai_rest_free(rest);
}

static void
missing_beside_known(udpai_script *script)
{
    udpai_rest *rest =
        fetch(script, &(udpai_rest_ask){.names = UDPAI_NAMES("nobody", "a"), .type = script->kind});
    udpai_rest_require(rest, "a");
    udpai_rest_free(rest);
}

static void
in_chunks(udpai_script *script)
{
    udpai_rest *rest = fetch(
        script, &(udpai_rest_ask){.names = UDPAI_A, .type = script->kind, .is_in_chunks = true});
    udpai_rest_require(rest, "a");
    udpai_rest_free(rest);
}

static void
again(udpai_rest *rest)
{
    if (!rest)
        return;
    udpai_rest_send(rest, &(udpai_rest_ask){.names = UDPAI_A, .type = rest->script->kind});
    udpai_rest_expect(rest);
    udpai_rest_require(rest, "a");
}

static void
connection_is_kept(udpai_script *script)
{
    udpai_rest *rest = fetch_a(script);
    udpai_require(script, !rest || rest->answer.is_kept,
                  "the server ends the connection behind its answer");
    again(rest);
    udpai_rest_free(rest);
}

/* ---- versions ---- */

static void
follows_changes(udpai_script *script)
{
    udpai_rest *first = fetch_a(script);
    udpai_set(script, script->kind, "a");
    udpai_rest *second = fetch_a(script);
    udpai_require(script,
                  !first || !second || !first->version || !second->version ||
                      strcmp(first->version, second->version) != 0,
                  "the content changed and the version did not");
    udpai_rest_free(first);
    udpai_rest_free(second);
}

static void
other_version_is_answered(udpai_script *script)
{
    udpai_rest *rest = fetch(
        script,
        &(udpai_rest_ask){.names = UDPAI_A, .type = script->kind, .version = "an-older-version"});
    udpai_rest_require(rest, "a");
    udpai_rest_free(rest);
}

/* Asks for what it has, as it has it; NULL: the script has ended. */
static udpai_rest *
poll(udpai_script *script, bool is_impatient)
{
    udpai_rest *rest = fetch_a(script);
    if (!rest || !udpai_is_running(script))
        return udpai_rest_free(rest);
    UDPAI_AUTO_FREE char *version = rest->version ? udpai_strdup(rest->version) : NULL;
    if (version)
        udpai_rest_send(rest, &(udpai_rest_ask){.names = UDPAI_A,
                                                .type = script->kind,
                                                .version = version,
                                                .is_impatient = is_impatient});
    else
        udpai_fail_script(script, "out of memory");
    return rest;
}

static void
same_version_is_not_sent(udpai_script *script)
{
    udpai_rest *rest = poll(script, false);
    if (udpai_rest_receive(rest, script->stage->quiet_ms))
        udpai_require(script, rest->answer.status != 200,
                      "the client sends its version, and receives the same again");
    udpai_rest_free(rest);
}

static void
not_modified_has_its_form(udpai_script *script)
{
    udpai_rest *rest = poll(script, true);
    if (!udpai_rest_receive(rest, script->stage->quiet_ms))
        udpai_skip_script(script,
                          "the server holds the request, though it requests a response at once");
    else if (rest->answer.status == 200)
        udpai_skip_script(script, "the server sends the same again");
    else
        udpai_require(script, rest->answer.status == 304, "304 was expected, and %d arrived",
                      rest->answer.status);
    again(rest); /* what is behind a 304 that should not be there is no answer to this */
    udpai_rest_free(rest);
}

static void
change_ends_the_wait(udpai_script *script)
{
    udpai_rest *rest = poll(script, false);
    if (udpai_rest_receive(rest, script->stage->quiet_ms))
        udpai_skip_script(script, "the server does not hold requests until something changes");
    udpai_set(script, script->kind, "a");
    udpai_rest_expect(rest);
    udpai_rest_require(rest, "a");
    udpai_rest_free(rest);
}

/* ---- mistakes ---- */

static void
refuse(udpai_script *script, const udpai_rest_ask *ask, int status)
{
    udpai_rest_free(fetch_a(script)); /* it is served at all */
    udpai_rest *rest = udpai_rest_open(script);
    udpai_rest_send(rest, ask);
    udpai_rest_expect_rejection(rest, status);
    udpai_rest_free(rest);
}

static void
unknown_path(udpai_script *script)
{
    refuse(script, &(udpai_rest_ask){.path = "/v3/discovery:nothing", .type = script->kind}, 404);
}

static void
other_method(udpai_script *script)
{
    refuse(script, &(udpai_rest_ask){.method = "PUT", .names = UDPAI_A, .type = script->kind}, 405);
}

static void
other_type(udpai_script *script)
{
    refuse(script, &(udpai_rest_ask){.names = UDPAI_A, .type = UDPAI_LISTENER}, 0);
}

static void
malformed(udpai_script *script)
{
    refuse(script, &(udpai_rest_ask){.body = "{\"node\":{\"id\":\"conform\"},"}, 0);
}

static void
empty(udpai_script *script)
{
    refuse(script, &(udpai_rest_ask){.body = ""}, 0);
}

static void
field_of_other_type(udpai_script *script)
{
    refuse(script, &(udpai_rest_ask){.body = "{\"resourceNames\":{\"a\":[7]}}"}, 0);
}

static void
mistake_spares_others(udpai_script *script)
{
    udpai_rest *good = fetch_a(script), *bad = udpai_rest_open(script);
    udpai_rest_send(bad, &(udpai_rest_ask){.body = "{]"});
    (void)udpai_rest_receive(bad, script->stage->quiet_ms);
    if (good && good->answer.is_kept)
        again(good);
    udpai_rest_free(fetch_a(script));
    udpai_rest_free(bad);
    udpai_rest_free(good);
}

#define SECTION_JSON "ProtoJSON Format"
#define SECTION_HTTP "RFC 9110"

#define REST(label, about, text, how, needs_of_it, type, function)                                 \
    {                                                                                              \
        .group = "rest", .name = (label), .section = (about), .rule = (text), .level = (how),      \
        .ways = UDPAI_ONCE, .needs = (needs_of_it), .kind = (type), .run = (function)              \
    }
#define BY_NAME(label, type)                                                                       \
    REST(label, UDPAI_SECTION_REST,                                                                \
         "Each type has a URL that receives a DiscoveryRequest, and responds with the resources.", \
         UDPAI_MUST, 0, type, by_name)
#define RULE_MISTAKE "A client error has a status of 400 and above."

static const udpai_case cases[] = {
    BY_NAME("listener", UDPAI_LISTENER),
    BY_NAME("route", UDPAI_ROUTES),
    BY_NAME("scoped-route", UDPAI_SCOPE),
    BY_NAME("cluster", UDPAI_CLUSTER),
    BY_NAME("endpoint", UDPAI_ENDPOINTS),
    BY_NAME("secret", UDPAI_SECRET),
    BY_NAME("runtime", UDPAI_RUNTIME),
    BY_NAME("extension", UDPAI_EXTENSION),
    REST("all-clusters",
         UDPAI_SECTION_NAMES,
         "A client that names no resource of the type is subscribed to '*'.",
         UDPAI_MUST,
         0,
         UDPAI_CLUSTER,
         all),
    REST("version-is-told",
         UDPAI_SECTION_ACK,
         "Every type has a version; each response has it.",
         UDPAI_MUST,
         0,
         UDPAI_CLUSTER,
         version_is_sent),
    REST("types-are-told",
         SECTION_JSON,
         "An Any is an object with its type as @type; it is that of the response.",
         UDPAI_MUST,
         0,
         UDPAI_CLUSTER,
         types_are_listed),
    REST("content-type-is-json",
         SECTION_HTTP,
         "A response with content has its type: here, " JSON ".",
         UDPAI_SHOULD,
         0,
         UDPAI_CLUSTER,
         content_type_is_json),
    REST("lower-camel-case",
         SECTION_JSON,
         "Names of fields are lowerCamelCase: resourceNames.",
         UDPAI_MUST,
         0,
         UDPAI_ENDPOINTS,
         camel_case),
    REST("original-field-names",
         SECTION_JSON,
         "Parsers accept the names that the fields have in protobuf, too: resource_names.",
         UDPAI_MUST,
         0,
         UDPAI_ENDPOINTS,
         original_names),
    REST("type-may-be-left-out",
         UDPAI_SECTION_VARIANTS,
         "Each URL is for one type, so the request need not name it.",
         UDPAI_SHOULD,
         0,
         UDPAI_CLUSTER,
         without_type),
    REST("missing-beside-known",
         UDPAI_SECTION_NAMES,
         "A name that does not exist does not keep the server from sending the others.",
         UDPAI_MUST,
         0,
         UDPAI_ENDPOINTS,
         missing_beside_known),
    REST("body-in-chunks",
         SECTION_HTTP,
         "A request may come in chunks; proxies make them.",
         UDPAI_SHOULD,
         0,
         UDPAI_CLUSTER,
         in_chunks),
    REST("connection-is-kept",
         SECTION_HTTP,
         "A connection of HTTP/1.1 serves several requests; a poll does not need its own.",
         UDPAI_SHOULD,
         0,
         UDPAI_CLUSTER,
         connection_is_kept),
    REST("follows-changes",
         UDPAI_SECTION_ACK,
         "Whenever a resource changes, the version changes.",
         UDPAI_MUST,
         UDPAI_NEEDS_CHANGES,
         UDPAI_CLUSTER,
         follows_changes),
    REST("other-version-is-answered",
         UDPAI_SECTION_REST,
         "The server responds to a client that has another version than the current one.",
         UDPAI_MUST,
         0,
         UDPAI_CLUSTER,
         other_version_is_answered),
    REST("same-version-is-not-sent",
         UDPAI_SECTION_UPDATE,
         "To a client with the current version the server responds 304, or at the next change: all "
         "else is needless work.",
         UDPAI_SHOULD,
         0,
         UDPAI_CLUSTER,
         same_version_is_not_sent),
    REST("not-modified-has-its-form",
         SECTION_HTTP,
         "If nothing has changed, the response is 304, without content: the next response follows "
         "it.",
         UDPAI_MUST,
         0,
         UDPAI_CLUSTER,
         not_modified_has_its_form),
    REST("change-ends-the-wait",
         UDPAI_SECTION_REST,
         "If the server holds a request until something changes, it responds at the change.",
         UDPAI_MUST,
         UDPAI_NEEDS_CHANGES,
         UDPAI_CLUSTER,
         change_ends_the_wait),
    REST("unknown-path-is-refused",
         SECTION_HTTP,
         "The response for a missing path is 404.",
         UDPAI_SHOULD,
         0,
         UDPAI_CLUSTER,
         unknown_path),
    REST("other-method-is-refused",
         SECTION_HTTP,
         "A method that a URL does not have is 405.",
         UDPAI_SHOULD,
         0,
         UDPAI_CLUSTER,
         other_method),
    REST("other-type-is-refused",
         UDPAI_SECTION_VARIANTS,
         "Each URL is for one type. A request for another type receives an error.",
         UDPAI_SHOULD,
         0,
         UDPAI_CLUSTER,
         other_type),
    REST("malformed-is-refused",
         SECTION_HTTP,
         RULE_MISTAKE,
         UDPAI_SHOULD,
         0,
         UDPAI_CLUSTER,
         malformed),
    REST("empty-is-refused", SECTION_HTTP, RULE_MISTAKE, UDPAI_SHOULD, 0, UDPAI_CLUSTER, empty),
    REST("field-of-other-type-is-refused",
         SECTION_JSON,
         RULE_MISTAKE,
         UDPAI_SHOULD,
         0,
         UDPAI_CLUSTER,
         field_of_other_type),
    REST("mistake-spares-others",
         SECTION_HTTP,
         "Requests are independent of each other, and of errors in others.",
         UDPAI_MUST,
         0,
         UDPAI_CLUSTER,
         mistake_spares_others),
};

const udpai_cases udpai_cases_rest = {cases, UDPAI_ARRAY_LEN(cases)};
