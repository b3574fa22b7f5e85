/* SPDX-License-Identifier: Apache-2.0 */
/* references.h: names are compared as a client of the node sees them. A plain name is of the
 * namespace of the resource that names it, at whatever prefix of it (fleet.acme/nodes/7/front may
 * mean fleet.acme/nodes/7/x and fleet.acme/x); a full one is itself. */
#include "codec/reference_walk.hh"

#include <set>

extern "C" {
#include "base/regex.h"
#include "codec/place.h"
#include "codec/suggest.h"
#include "model/name.h"
#include "model/type_url.h"
}

#include "codec/references.h"
#include "codec/regex.h"

using namespace udpai;

namespace
{

/* Of one type. */
struct Names {
    bool all = false;
    std::set<std::string> full;
    std::map<std::string, std::string> ids; /* the part behind the namespace; to that */
};

std::string
copy(udpai_str text)
{
    return std::string(text.data, text.len);
}

} /* namespace */

struct udpai_references {
    udpai_schema *schema = nullptr;
    std::map<std::string, Names> types; /* by full names */

    void Add(const std::string &type, udpai_str name)
    {
        Names &names = types[type];
        names.full.insert(copy(name));
        names.ids.emplace(copy(udpai_name_id(name)), copy(udpai_name_namespace(name)));
    }
};

namespace
{

bool
is_known(const Names &names, const std::string &user, const std::string &name)
{
    if (names.all || names.full.count(name) || name.compare(0, 6, "xdstp:") == 0)
        return true;
    for (size_t at = user.find('/'); at != std::string::npos; at = user.find('/', at + 1))
        if (names.full.count(user.substr(0, at + 1) + name))
            return true;
    return false;
}

std::string
quote(const std::string &text)
{
    return std::string("'") + udpai_quote({text.data(), text.size()}).text + "'";
}

/* What is there instead. */
std::string
hint(const Names &names, const std::string &name)
{
    auto other = names.ids.find(name);
    if (other != names.ids.end())
        return "; namespace " + quote(other->second) + " has one";
    udpai_suggestion suggestion = udpai_suggest({name.data(), name.size()});
    for (const auto &[id, name_space] : names.ids)
        udpai_suggest_offer(&suggestion, id.c_str());
    char room[UDPAI_SUGGESTION_TEXT];
    return udpai_suggestion_text(&suggestion, room);
}

/* Of one resource: what is reported of it. */
class Checker
{
  public:
    Checker(const udpai_references *set,
            std::string user,
            udpai_violation_fn report,
            void *userdata)
        : set_(set), user_(std::move(user)), report_(report), userdata_(userdata)
    {
    }

    void Check(const ReferenceKind &kind, const std::string &path, const std::string &text)
    {
        if (!kind.type)
            CheckRegex(path, text);
        else if (!text.empty())
            CheckName(kind, path, text);
    }

    size_t n_reported = 0;

  private:
    void Report(const std::string &path, const std::string &reason)
    {
        if (n_reported++ < UDPAI_VIOLATIONS_MAX)
            report_(userdata_, path.c_str(), reason.c_str());
    }

    void CheckName(const ReferenceKind &kind, const std::string &path, const std::string &text)
    {
        static const Names none;
        auto found = set_->types.find(kind.type);
        const Names &names = found == set_->types.end() ? none : found->second;
        if (is_known(names, user_, text))
            return;
        Report(path,
               std::string("there is no ") + kind.word + " " + quote(text) + hint(names, text));
    }

    void CheckRegex(const std::string &path, const std::string &text)
    {
        udpai_regex *regex = nullptr;
        udpa_error *error = nullptr;
        if (udpai_re2.compile(&regex, {text.data(), text.size()}, &error) == UDPA_OK)
            udpai_re2.free(regex);
        else
            Report(path, udpa_error_message(error));
        udpa_error_unref(error);
    }

    const udpai_references *set_;
    std::string user_;
    udpai_violation_fn report_;
    void *userdata_;
};

} /* namespace */

udpa_err
udpai_references_new(udpai_references **ret_set, udpai_schema *schema, udpa_error **ret_error)
{
    return guarded(ret_error, [&] {
        *ret_set = new udpai_references;
        (*ret_set)->schema = udpai_schema_ref(schema);
        return UDPA_OK;
    });
}

void
udpai_references_free(udpai_references *set)
{
    if (set)
        udpai_schema_unref(set->schema);
    delete set;
}

udpa_err
udpai_references_add(udpai_references *set, const udpai_referrer *resource)
{
    return guarded(nullptr, [&] {
        std::string type = copy(udpai_type_url_name(resource->type_url));
        set->Add(type, resource->name);
        const pb::Descriptor *value =
            descriptor_of(udpai_schema_find(set->schema, resource->value_type));
        std::string own = value ? payload_name(set->schema, value, resource->value) : "";
        std::string full = copy(udpai_name_namespace(resource->name)) + "/" + own;
        if (!own.empty())
            set->Add(type, {full.data(), full.size()});
        return UDPA_OK;
    });
}

udpa_err
udpai_references_know(udpai_references *set, udpai_str type_url, udpai_str name)
{
    return guarded(nullptr, [&] {
        std::string type = copy(udpai_type_url_name(type_url));
        set->types[type].all = set->types[type].all || !name.len;
        set->Add(type, name);
        return UDPA_OK;
    });
}

udpa_err
udpai_references_check(const udpai_references *set,
                       const udpai_referrer *resource,
                       udpai_violation_fn report,
                       void *userdata)
{
    return guarded(nullptr, [&] {
        const pb::Descriptor *type =
            descriptor_of(udpai_schema_find(set->schema, resource->value_type));
        Checker checker(set, copy(resource->name), report, userdata);
        if (type)
            walk_references(set->schema, type, resource->value,
                            [&](const ReferenceKind &kind, const std::string &path,
                                const std::string &text) { checker.Check(kind, path, text); });
        return checker.n_reported ? UDPA_ERR_INVAL : UDPA_OK;
    });
}
