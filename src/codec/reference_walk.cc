/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors do not have which text is a name of what, so a table does; but where in a payload
 * such a field can be, the descriptors have. */
#include "codec/reference_walk.hh"

#include "codec/meter.hh"
#include "model/types.h"

#include <google/protobuf/io/coded_stream.h>

using namespace udpai;

const ReferenceKind udpai::kClusterReference = {UDPAI_TYPE_NAME(UDPAI_TYPE_CLUSTER), "cluster"};
const ReferenceKind udpai::kEndpointReference = {UDPAI_TYPE_NAME(UDPAI_TYPE_ENDPOINTS), "endpoint"};
const ReferenceKind udpai::kRouteReference = {UDPAI_TYPE_NAME(UDPAI_TYPE_ROUTES), "route"};
const ReferenceKind udpai::kSecretReference = {UDPAI_TYPE_NAME(UDPAI_TYPE_SECRET), "secret"};
const ReferenceKind udpai::kRegexReference = {nullptr, "regular expression"};

namespace
{

constexpr int kPackedDepth = 16, kTotalDepth = 200;
constexpr int kTypeEds = 3; /* Cluster.DiscoveryType */

/* A field that has a name. */
struct NameField {
    const char *message; /* how its full name ends; "": any of Envoy's */
    const char *field;
    const ReferenceKind *kind;
    const char *source; /* the field that has where the resource is from; NULL: from us */
};

constexpr NameField kNameFields[] = {
    {"", "cluster", &kClusterReference, nullptr},
    {"", "collector_cluster", &kClusterReference, nullptr},
    {".ClusterWeight", "name", &kClusterReference, nullptr},
    {".EnvoyGrpc", "cluster_name", &kClusterReference, nullptr},
    {".ApiConfigSource", "cluster_names", &kClusterReference, nullptr},
    {".StatsdSink", "tcp_cluster_name", &kClusterReference, nullptr},
    {".aggregate.v3.ClusterConfig", "clusters", &kClusterReference, nullptr},
    {".LuaConfig", "default_cluster", &kClusterReference, nullptr},
    {".http_connection_manager.v3.Rds", "route_config_name", &kRouteReference, "config_source"},
    {".ScopedRouteConfiguration", "route_configuration_name", &kRouteReference, nullptr},
    {".SdsSecretConfig", "name", &kSecretReference, "sds_config"},
    {".matcher.v3.RegexMatcher", "regex", &kRegexReference, nullptr},
};

bool
ends_with(const std::string &text, const char *end)
{
    size_t n = strlen(end);
    return text.size() >= n && text.compare(text.size() - n, n, end) == 0;
}

/* NULL: a text like any other. */
const NameField *
name_field(const pb::FieldDescriptor *field)
{
    const std::string &message = field->containing_type()->full_name();
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_STRING ||
        message.compare(0, 6, "envoy.") != 0 || message == "envoy.config.core.v3.Node")
        return nullptr;
    for (const NameField &of : kNameFields)
        if (field->name() == of.field && ends_with(message, of.message))
            return &of;
    return nullptr;
}

const pb::Message *
member(const pb::Message &message, const char *name)
{
    const pb::FieldDescriptor *field = message.GetDescriptor()->FindFieldByName(name);
    if (!field || field->is_repeated() ||
        field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE ||
        !message.GetReflection()->HasField(message, field))
        return nullptr;
    return &message.GetReflection()->GetMessage(message, field);
}

bool
has(const pb::Message &message, const char *name)
{
    const pb::FieldDescriptor *field = message.GetDescriptor()->FindFieldByName(name);
    return field && !field->is_repeated() && message.GetReflection()->HasField(message, field);
}

std::string
text_of(const pb::Message &message, const char *name)
{
    const pb::FieldDescriptor *field = message.GetDescriptor()->FindFieldByName(name);
    if (!field || field->is_repeated() || field->cpp_type() != pb::FieldDescriptor::CPPTYPE_STRING)
        return "";
    return message.GetReflection()->GetString(message, field);
}

/* Does this field, a ConfigSource, lead to a server, and not to a file? */
bool
is_served(const pb::Message &message, const char *source)
{
    const pb::Message *found = member(message, source);
    return found && !has(*found, "path") && !has(*found, "path_config_source");
}

std::unique_ptr<pb::Message>
parse(const udpai_schema *schema, const pb::Descriptor *type, udpai_str value, Meter *meter)
{
    std::unique_ptr<pb::Message> message;
    if (value.len > INT32_MAX || !meter->Take(type, value, 1))
        return message;
    message.reset(schema->world->factory.GetPrototype(type)->New());
    pb::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(value.data), int(value.len));
    stream.SetRecursionLimit(Meter::kDepth);
    if (value.len &&
        (!message->ParsePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage()))
        message.reset();
    return message;
}

class ReferenceWalk
{
  public:
    ReferenceWalk(const udpai_schema *schema, size_t size, const OnReference &visit)
        : schema_(schema), meter_(size), visit_(visit)
    {
    }

    bool Unit(const pb::Descriptor *type, udpai_str value, const std::string &path)
    {
        std::unique_ptr<pb::Message> message = parse(schema_, type, value, &meter_);
        if (message)
            Visit(*message, path);
        return message != nullptr;
    }

  private:
    static std::string Below(const std::string &path, const std::string &field)
    {
        return path.empty() ? field : path + "." + field;
    }

    void Visit(const pb::Message &message, const std::string &path)
    {
        const std::string &type = message.GetDescriptor()->full_name();
        if (depth_ == kTotalDepth)
            return;
        depth_++;
        if (type == "google.protobuf.Any")
            VisitAny(message, path);
        else if (type == kClusterReference.type)
            VisitCluster(message, path);
        std::vector<const pb::FieldDescriptor *> fields;
        message.GetReflection()->ListFields(message, &fields);
        for (const pb::FieldDescriptor *field : fields)
            VisitField(message, field, Below(path, field->name()));
        depth_--;
    }

    void VisitAny(const pb::Message &any, const std::string &path)
    {
        const pb::Reflection *reflection = any.GetReflection();
        std::string room;
        std::string url = reflection->GetString(any, any.GetDescriptor()->FindFieldByNumber(1));
        const std::string &value =
            reflection->GetStringReference(any, any.GetDescriptor()->FindFieldByNumber(2), &room);
        const pb::Descriptor *packed =
            descriptor_of(udpai_schema_find(schema_, {url.data(), url.size()}));
        if (!packed || n_packed_ == kPackedDepth)
            return;
        n_packed_++;
        Unit(packed, {value.data(), value.size()}, path);
        n_packed_--;
    }

    /* A cluster by EDS names its endpoints by its own name, or by service_name. */
    void VisitCluster(const pb::Message &cluster, const std::string &path)
    {
        const pb::FieldDescriptor *type = cluster.GetDescriptor()->FindFieldByName("type");
        const pb::Message *eds = member(cluster, "eds_cluster_config");
        if (!type || type->cpp_type() != pb::FieldDescriptor::CPPTYPE_ENUM ||
            cluster.GetReflection()->GetEnumValue(cluster, type) != kTypeEds || !eds ||
            !is_served(*eds, "eds_config"))
            return;
        std::string service = text_of(*eds, "service_name");
        if (service.empty())
            visit_(kEndpointReference, Below(path, "name"), text_of(cluster, "name"));
        else
            visit_(kEndpointReference, Below(path, "eds_cluster_config.service_name"), service);
    }

    void VisitField(const pb::Message &message,
                    const pb::FieldDescriptor *field,
                    const std::string &path)
    {
        const pb::Reflection *reflection = message.GetReflection();
        bool is_message = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE;
        const NameField *name = name_field(field);
        if (!is_message && (!name || (name->source && !is_served(message, name->source))))
            return;
        if (!field->is_repeated()) {
            if (is_message)
                Visit(reflection->GetMessage(message, field), path);
            else
                visit_(*name->kind, path, reflection->GetString(message, field));
            return;
        }
        for (int i = 0; i < reflection->FieldSize(message, field); i++) {
            if (is_message)
                VisitItem(reflection->GetRepeatedMessage(message, field, i), field, i, path);
            else
                visit_(*name->kind, path + "[" + std::to_string(i) + "]",
                       reflection->GetRepeatedString(message, field, i));
        }
    }

    void VisitItem(const pb::Message &item,
                   const pb::FieldDescriptor *field,
                   int index,
                   const std::string &path)
    {
        if (!field->is_map()) {
            Visit(item, path + "[" + std::to_string(index) + "]");
            return;
        }
        const pb::FieldDescriptor *key = field->message_type()->map_key();
        const pb::FieldDescriptor *value = field->message_type()->map_value();
        if (value->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE)
            return;
        std::string text = key->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING
                               ? "\"" + item.GetReflection()->GetString(item, key) + "\""
                               : std::to_string(index);
        Visit(item.GetReflection()->GetMessage(item, value), path + "[" + text + "]");
    }

    const udpai_schema *schema_;
    Meter meter_;
    const OnReference &visit_;
    int depth_ = 0, n_packed_ = 0;
};

} /* namespace */

bool
udpai::walk_references(const udpai_schema *schema,
                       const pb::Descriptor *type,
                       udpai_str value,
                       const OnReference &visit)
{
    ReferenceWalk walk(schema, value.len, visit);
    return walk.Unit(type, value, "");
}

std::string
udpai::payload_name(const udpai_schema *schema, const pb::Descriptor *type, udpai_str value)
{
    Meter meter(value.len);
    std::unique_ptr<pb::Message> message = parse(schema, type, value, &meter);
    if (!message)
        return "";
    std::string name = text_of(*message, "name");
    return name.empty() ? text_of(*message, "cluster_name") : name;
}
