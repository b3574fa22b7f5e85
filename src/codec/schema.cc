/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h and descriptor.h by libprotobuf: descriptor sets to pools, and looking into them. A
 * schema is built anew with every set that is added, so that a bad one changes nothing. */
#include "codec/world.hh"

#include <algorithm>
#include <mutex>
#include <set>

#include <google/protobuf/any.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include "model/type_url.h"
#include "proto/own_descriptors.h"

using namespace udpai;

udpai::World::World() : factory(&pool)
{
    read_resolver = new_read_resolver(&pool);
    write_resolver = new_write_resolver(&pool);
}

namespace
{

constexpr size_t kFilesMax = 10000;

/* Errors must reach our caller, not the process's stderr. */
void
silence_log()
{
    static std::once_flag once;
    std::call_once(once, [] { pb::SetLogHandler(nullptr); });
}

class FileErrors : public pb::DescriptorPool::ErrorCollector
{
  public:
    void AddError(const std::string &file,
                  const std::string &element,
                  const pb::Message *,
                  ErrorLocation,
                  const std::string &message) override
    {
        if (first.empty())
            first = file + ": " + element + ": " + message;
    }

    std::string first;
};

bool
starts_with(const std::string &text, const char *prefix)
{
    return text.compare(0, strlen(prefix), prefix) == 0;
}

/* Adds files to a pool, imports first. */
class Builder
{
  public:
    Builder(const Files &files, pb::DescriptorPool *pool) : files_(files), pool_(pool)
    {
    }

    bool Add(const std::string &name)
    {
        if (pool_->FindFileByName(name) || !begun_.insert(name).second)
            return true; /* of a ring of imports the pool itself complains */
        const File &file = files_.at(name);
        for (const std::string &import : file.proto->dependency()) {
            if (!files_.count(import)) {
                problem = name + " imports " + import +
                          ", which no set has: make the set with protoc --include_imports";
                return false;
            }
            if (!Add(import))
                return false;
        }
        FileErrors errors;
        if (pool_->BuildFileCollectingErrors(*file.proto, &errors))
            return true;
        problem = errors.first.empty() ? name + ": not a valid file descriptor" : errors.first;
        return false;
    }

    std::string problem;

  private:
    const Files &files_;
    pb::DescriptorPool *pool_;
    std::set<std::string> begun_;
};

void
list_types(const pb::Descriptor *type, std::vector<std::string> *names)
{
    if (type->options().map_entry())
        return;
    names->push_back(type->full_name());
    for (int i = 0; i < type->nested_type_count(); i++)
        list_types(type->nested_type(i), names);
}

std::unique_ptr<World>
build(const Files &files, std::string *problem)
{
    auto world = std::make_unique<World>();
    Builder builder(files, &world->pool);
    for (const auto &file : files) {
        if (file.second.origin != Origin::kSpare && !builder.Add(file.first)) {
            *problem = builder.problem;
            return nullptr;
        }
    }
    for (const auto &file : files) /* a loaded set may have the same types in other files */
        if (file.second.origin == Origin::kSpare)
            builder.Add(file.first);
    for (const auto &file : files) {
        const pb::FileDescriptor *built = world->pool.FindFileByName(file.first);
        for (int i = 0; built && i < built->message_type_count(); i++)
            list_types(built->message_type(i), &world->type_names);
    }
    std::sort(world->type_names.begin(), world->type_names.end());
    return world;
}

void
clear_json_names(pb::DescriptorProto *message)
{
    for (pb::FieldDescriptorProto &field : *message->mutable_field())
        field.clear_json_name();
    for (pb::DescriptorProto &nested : *message->mutable_nested_type())
        clear_json_names(&nested);
}

/* Whether two versions of a file mean the same: comments and derived names aside. */
bool
same_file(pb::FileDescriptorProto a, pb::FileDescriptorProto b)
{
    for (pb::FileDescriptorProto *file : {&a, &b}) {
        file->clear_source_code_info();
        for (pb::DescriptorProto &message : *file->mutable_message_type())
            clear_json_names(&message);
    }
    return a.SerializeAsString() == b.SerializeAsString();
}

/* False if the file contradicts one that is there. */
bool
merge_file(Files *files, const File &file, std::string *problem)
{
    const std::string &name = file.proto->name();
    auto present = files->find(name);
    if (present == files->end() || present->second.origin == Origin::kSpare) {
        (*files)[name] = file;
        return true;
    }
    if (starts_with(name, "google/protobuf/") || same_file(*present->second.proto, *file.proto))
        return true;
    *problem = "file " + name + " differs from the one of " + present->second.source;
    return false;
}

/* The older names of ORCA are a public package, too. */
Origin
built_in_origin(const std::string &name)
{
    bool is_own = starts_with(name, "udpa/") && !starts_with(name, "udpa/data/orca/") &&
                  !starts_with(name, "udpa/service/orca/");
    return is_own ? Origin::kOwn : Origin::kSpare;
}

void
add_well_known(Files *files)
{
    const pb::Descriptor *const types[] = {
        pb::Any::descriptor(),        pb::Duration::descriptor(),
        pb::Empty::descriptor(),      pb::FieldMask::descriptor(),
        pb::Struct::descriptor(),     pb::Timestamp::descriptor(),
        pb::Int32Value::descriptor(), pb::FileDescriptorSet::descriptor(),
    };
    for (const pb::Descriptor *type : types) {
        auto proto = std::make_shared<pb::FileDescriptorProto>();
        type->file()->CopyTo(proto.get());
        (*files)[proto->name()] = File{proto, "the program", Origin::kSpare};
    }
}

/* A set is many small parts: of an arena they are had at once, and given back at once. */
struct Set {
    pb::Arena arena;
    pb::FileDescriptorSet *files = pb::Arena::CreateMessage<pb::FileDescriptorSet>(&arena);
};

udpa_err
add_files(udpai_schema *schema, const std::shared_ptr<Set> &set, const char *source, udpa_error **e)
{
    Files files = schema->files;
    std::string problem;
    bool built_in = !schema->world;
    for (const pb::FileDescriptorProto &proto : set->files->file()) {
        File file{
            {set, &proto}, source, built_in ? built_in_origin(proto.name()) : Origin::kLoaded};
        if (!merge_file(&files, file, &problem))
            return udpai_fail(e, UDPA_ERR_EXISTS, "%s: %s", source, problem.c_str());
    }
    if (files.size() > kFilesMax)
        return udpai_fail(e, UDPA_ERR_LIMIT, "%s: more than %zu files", source, kFilesMax);
    std::unique_ptr<World> world = build(files, &problem);
    if (!world)
        return udpai_fail(e, UDPA_ERR_INVAL, "%s: %s", source, problem.c_str());
    schema->world = std::move(world);
    schema->files = std::move(files);
    return UDPA_OK;
}

udpai_kind
kind_of(const pb::FieldDescriptor *field)
{
    switch (field->type()) {
    case pb::FieldDescriptor::TYPE_STRING:
        return UDPAI_KIND_STRING;
    case pb::FieldDescriptor::TYPE_BYTES:
        return UDPAI_KIND_BYTES;
    case pb::FieldDescriptor::TYPE_BOOL:
        return UDPAI_KIND_BOOL;
    case pb::FieldDescriptor::TYPE_FLOAT:
    case pb::FieldDescriptor::TYPE_DOUBLE:
        return UDPAI_KIND_FLOAT;
    case pb::FieldDescriptor::TYPE_ENUM:
        return UDPAI_KIND_ENUM;
    case pb::FieldDescriptor::TYPE_MESSAGE:
        return UDPAI_KIND_MESSAGE;
    case pb::FieldDescriptor::TYPE_GROUP:
        return UDPAI_KIND_GROUP;
    default:
        return UDPAI_KIND_INTEGER;
    }
}

void
set_value_kind(udpai_field *field, const pb::FieldDescriptor *value)
{
    field->kind = kind_of(value);
    field->kind_name = value->type_name();
    if (field->kind == UDPAI_KIND_MESSAGE) {
        field->message = type_of(value->message_type());
        field->kind_name = value->message_type()->full_name().c_str();
    } else if (field->kind == UDPAI_KIND_ENUM) {
        field->enumeration = reinterpret_cast<const udpai_enum *>(value->enum_type());
        field->kind_name = value->enum_type()->full_name().c_str();
    }
}

udpai_field
describe(const pb::FieldDescriptor *field)
{
    udpai_field described{};
    described.name = field->name().c_str();
    described.number = uint32_t(field->number());
    described.map = field->is_map();
    described.repeated = field->is_repeated() && !field->is_map();
    if (field->real_containing_oneof())
        described.oneof = field->real_containing_oneof()->name().c_str();
    if (field->is_map()) {
        const pb::FieldDescriptor *key = field->message_type()->map_key();
        described.key_kind = kind_of(key);
        described.key_kind_name = key->type_name();
        set_value_kind(&described, field->message_type()->map_value());
    } else {
        set_value_kind(&described, field);
    }
    return described;
}

bool
is(const std::string &name, udpai_str expected)
{
    return name.size() == expected.len && memcmp(name.data(), expected.data, expected.len) == 0;
}

/* Without std::string, which may throw. */
const pb::FieldDescriptor *
find_field(const pb::Descriptor *type, udpai_str name)
{
    for (int i = 0; name.len && i < type->field_count(); i++)
        if (is(type->field(i)->name(), name) || is(type->field(i)->json_name(), name))
            return type->field(i);
    return nullptr;
}

const pb::EnumDescriptor *
enum_of(const udpai_enum *enumeration)
{
    return reinterpret_cast<const pb::EnumDescriptor *>(enumeration);
}

} /* namespace */

udpa_err
udpai_schema_add_set(udpai_schema *schema,
                     udpai_str set,
                     const char *source_name,
                     udpa_error **ret_error)
{
    return guarded(ret_error, [&] {
        auto files = std::make_shared<Set>();
        if (set.len > UDPAI_DESCRIPTOR_SET_MAX)
            return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s: %zu bytes are more than %zu",
                              source_name, set.len, UDPAI_DESCRIPTOR_SET_MAX);
        if (!files->files->ParsePartialFromArray(set.data, int(set.len)) ||
            files->files->file_size() == 0)
            return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                              "%s is no FileDescriptorSet: make one with protoc "
                              "--include_imports --descriptor_set_out=FILE",
                              source_name);
        return add_files(schema, files, source_name, ret_error);
    });
}

udpa_err
udpai_schema_new(udpai_schema **ret_schema, udpa_error **ret_error)
{
    silence_log();
    udpai_schema *schema = nullptr;
    udpa_err err = guarded(ret_error, [&] {
        schema = new udpai_schema;
        add_well_known(&schema->files);
        return UDPA_OK;
    });
    udpai_str own = {reinterpret_cast<const char *>(udpai_own_descriptors),
                     udpai_own_descriptors_size};
    if (err == UDPA_OK)
        err = udpai_schema_add_set(schema, own, "the program", ret_error);
    if (err == UDPA_OK)
        *ret_schema = schema;
    else
        delete schema;
    return err;
}

udpai_schema *
udpai_schema_ref(udpai_schema *schema)
{
    if (schema)
        schema->refs.fetch_add(1, std::memory_order_relaxed);
    return schema;
}

udpai_schema *
udpai_schema_unref(udpai_schema *schema)
{
    if (schema && schema->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete schema;
    return nullptr;
}

bool
udpai_schema_has(const udpai_schema *schema, udpai_str type)
{
    return udpai_schema_find(schema, type) != nullptr;
}

size_t
udpai_schema_n_types(const udpai_schema *schema)
{
    return schema->world->type_names.size();
}

const char *
udpai_schema_type_name(const udpai_schema *schema, size_t index)
{
    return schema->world->type_names[index].c_str();
}

const udpai_type *
udpai_schema_find(const udpai_schema *schema, udpai_str type)
{
    const pb::Descriptor *found = nullptr;
    (void)guarded(nullptr, [&] { /* without memory nothing is found */
                                 udpai_str name = udpai_type_url_name(type);
                                 if (name.len)
                                     found = schema->world->pool.FindMessageTypeByName(
                                         std::string(name.data, name.len));
                                 return UDPA_OK;
    });
    return found && !found->options().map_entry() ? type_of(found) : nullptr;
}

const char *
udpai_type_name(const udpai_type *type)
{
    return descriptor_of(type)->full_name().c_str();
}

udpai_well_known
udpai_type_well_known(const udpai_type *type)
{
    switch (descriptor_of(type)->well_known_type()) {
    case pb::Descriptor::WELLKNOWNTYPE_UNSPECIFIED:
        break;
    case pb::Descriptor::WELLKNOWNTYPE_ANY:
        return UDPAI_ANY;
    case pb::Descriptor::WELLKNOWNTYPE_DURATION:
        return UDPAI_DURATION;
    case pb::Descriptor::WELLKNOWNTYPE_TIMESTAMP:
        return UDPAI_TIMESTAMP;
    case pb::Descriptor::WELLKNOWNTYPE_FIELDMASK:
        return UDPAI_FIELD_MASK;
    case pb::Descriptor::WELLKNOWNTYPE_STRUCT:
        return UDPAI_STRUCT;
    case pb::Descriptor::WELLKNOWNTYPE_VALUE:
        return UDPAI_VALUE;
    case pb::Descriptor::WELLKNOWNTYPE_LISTVALUE:
        return UDPAI_LIST_VALUE;
    default:
        return UDPAI_WRAPPER;
    }
    return descriptor_of(type)->full_name() == "google.protobuf.Empty" ? UDPAI_EMPTY
                                                                       : UDPAI_ORDINARY;
}

bool
udpai_type_field(const udpai_type *type, udpai_str name, udpai_field *ret_field)
{
    const pb::FieldDescriptor *field = find_field(descriptor_of(type), name);
    if (field)
        *ret_field = describe(field);
    return field != nullptr;
}

size_t
udpai_type_n_fields(const udpai_type *type)
{
    return size_t(descriptor_of(type)->field_count());
}

const char *
udpai_type_field_name(const udpai_type *type, size_t index)
{
    return descriptor_of(type)->field(int(index))->name().c_str();
}

const char *
udpai_type_field_json_name(const udpai_type *type, size_t index)
{
    return descriptor_of(type)->field(int(index))->json_name().c_str();
}

size_t
udpai_enum_n_values(const udpai_enum *enumeration)
{
    return size_t(enum_of(enumeration)->value_count());
}

const char *
udpai_enum_value_name(const udpai_enum *enumeration, size_t index)
{
    return enum_of(enumeration)->value(int(index))->name().c_str();
}
