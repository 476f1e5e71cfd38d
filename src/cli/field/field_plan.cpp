#include "field_plan.hpp"

#include <algorithm>
#include <set>

#include "base/directory.hpp"
#include "cli/cli.hpp"
#include "cli/compare/compare.hpp"
#include "cli/compare/contender_name.hpp"
#include "cli/inputs.hpp"
#include "field_input.hpp"
#include "io/sha256.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

constexpr std::size_t most_searches = 100'000;

/// Options that every search gets as they were given.
std::vector<std::string> common_words(const Arguments& arguments) {
    std::vector<std::string> words;
    for (const char* name :
         {"model", "metric", "mapspace", "compat", "max-fused-loops",
          "max-fused-loops-per-rank-variable", "einsum-orders", "max-time", "max-cpu-time",
          "max-evals", "max-stall", "max-memory", "target", "gap"}) {
        if (arguments.given(name)) {
            words.insert(words.end(), {std::string("--") + name, arguments.text(name)});
        }
    }
    for (const char* name : {"imperfect-temporal", "imperfect-spatial", "unfused"}) {
        if (arguments.flag(name)) {
            words.push_back(std::string("--") + name);
        }
    }
    words.insert(words.end(),
                 {"--threads", arguments.given("threads") ? arguments.text("threads") : "1"});
    return words;
}

void refuse_what_does_not_fit(const Arguments& arguments) {
    for (const char* name : {"arch", "workload", "define", "set", "einsums", "mapping"}) {
        if (arguments.has(name)) {
            throw UserError(std::string("options '--instances' and '--") + name +
                            "' exclude each other");
        }
    }
}

std::vector<std::string> digests(const FieldInstance& instance) {
    std::vector<std::string> all, files = instance.start;
    for (const FieldMapping& given : instance.given) {
        files.push_back(given.file);
    }
    if (instance.timeloop) {
        files.insert(files.end(), {instance.architecture, instance.workload});
    } else {
        const spec::Defines defines(instance.defines.begin(), instance.defines.end());
        for (const InputFile& file : input_files(
                 api::load_inputs({instance.architecture, instance.workload, "", defines}).files)) {
            all.push_back(file.sha256);
        }
    }
    for (const std::string& file : files) {
        all.push_back(io::sha256(base::read_regular_file(file).value_or("")));
    }
    return all;
}

}  // namespace

FieldPlan::FieldPlan(const Arguments& arguments) : arguments_(arguments) {
    refuse_what_does_not_fit(arguments);
    field.instances = read_instances(arguments.text("instances"));
    field.mappers = contender_names(arguments);
    field.first_seed = arguments.whole("seed", 0, ~0ull - 1000);
    Comparison limits;
    read_comparison_options(arguments, limits);
    field.n_seeds = limits.n_seeds;
    limit_s = limits.budget.max_time_s;
    field.cpu_time = limits.budget.max_cpu_s > 0;
    if (arguments.metrics().size() != 1) {
        arguments.refuse("metric", "one metric: a comparison ranks by it");
    }
    field.metric = arguments.text("metric");
    add_searching();
    add_given();
    field.trials.resize(field.instances.size() * field.mappers.size() * field.n_seeds);
    if (field.trials.size() > most_searches) {
        throw UserError("the comparison has more than 100000 searches; give fewer seeds");
    }
    for (std::size_t i = 0; i < field.trials.size(); ++i) {
        field.trials[i].seed = field.first_seed + field.seed_of(i);
    }
}

void FieldPlan::add_searching() {
    std::set<std::string> unused = given_knobs(arguments_), seen;
    const bool timeloop = field.instances.front().timeloop;
    for (const std::string& mapper : field.mappers) {
        knobs_.push_back(timeloop ? std::vector<std::string>()
                                  : knobs_for(arguments_, mapper, unused));
        if (!seen.insert(mapper).second) {
            throw UserError("'" + mapper + "' is compared with itself");
        }
    }
    if (!timeloop) {
        model_knobs_ = knobs_for(arguments_, "", unused);
    }
    refuse_unused(unused);
    n_searching_ = field.mappers.size();
}

void FieldPlan::add_given() {
    std::set<std::string> seen;
    for (const FieldInstance& instance : field.instances) {
        for (const FieldMapping& given : instance.given) {
            const auto end = field.mappers.begin() + static_cast<std::ptrdiff_t>(n_searching_);
            if (std::find(field.mappers.begin(), end, given.name) != end) {
                throw UserError("'" + given.name +
                                "' is a mapper, and the name of a mapping that is " + "given for " +
                                instance.name);
            }
            if (seen.insert(given.name).second) {
                field.mappers.push_back(given.name);
            }
        }
    }
    if (field.mappers.empty()) {
        throw UserError("nothing is compared: --mapper none, and no mapping is given");
    }
}

const FieldMapping* FieldPlan::given_of(std::size_t i) const {
    const std::string& name = field.mappers[field.mapper_of(i)];
    for (const FieldMapping& given : instance_of(i).given) {
        if (given.name == name) {
            return &given;
        }
    }
    return nullptr;
}

bool FieldPlan::searches(std::size_t i) const {
    return field.mapper_of(i) < n_searching_;
}

const FieldInstance& FieldPlan::instance_of(std::size_t i) const {
    return field.instances[field.instance_of(i)];
}

std::vector<std::string> FieldPlan::words(std::size_t i, bool watched) const {
    const std::size_t m = field.mapper_of(i);
    const FieldInstance& instance = instance_of(i);
    std::vector<std::string> result = {
        "-a",   instance.architecture,         "-w", instance.workload, "--json",
        "--ui", watched ? "snapshots" : "none"};
    for (const auto& [name, value] : instance.defines) {
        result.insert(result.end(), {"-D", name + "=" + value});
    }
    const std::vector<std::string> common = common_words(arguments_);
    result.insert(result.end(), common.begin(), common.end());
    if (instance.timeloop && !arguments_.given("metric")) {
        result.insert(result.end(), {"--metric", field.metric});
    }
    const auto add = [&](const char* option, const std::vector<std::string>& values) {
        for (const std::string& value : values) {
            result.insert(result.end(), {option, value});
        }
    };
    if (const FieldMapping* const given = given_of(i)) {
        result.insert(result.end(), {"--mapper", "none", "-m", given->file});
        add("--knob", model_knobs_);
        return result;
    }
    result.insert(result.end(),
                  {"--mapper", field.mappers[m], "--seed", std::to_string(field.trials[i].seed)});
    add("--start", instance.start);
    add("--knob", knobs_[m]);
    return result;
}

std::vector<std::size_t> FieldPlan::left() const {
    std::vector<std::size_t> tasks;
    const std::size_t n = field.mappers.size();
    for (std::size_t seed = 0; seed < field.n_seeds; ++seed) {
        for (std::size_t instance = 0; instance < field.instances.size(); ++instance) {
            for (std::size_t m = 0; m < n; ++m) {
                const std::size_t i = field.index(instance, (m + seed + instance) % n, seed);
                if (field.trials[i].status == Trial::Status::not_run &&
                    (searches(i) || given_of(i) != nullptr)) {
                    tasks.push_back(i);
                }
            }
        }
    }
    return tasks;
}

io::Json FieldPlan::identity() const {
    io::Json json;
    json["instances"] = io::Json::array();
    for (const FieldInstance& instance : field.instances) {
        io::Json one;
        one["name"] = instance.name;
        one["inputs"] = io::Json::array();
        for (const std::string& sha256 : digests(instance)) {
            one["inputs"].push_back(sha256);
        }
        one["defines"] = io::Json::object();
        for (const auto& [name, value] : instance.defines) {
            one["defines"][name] = io::exact(value);
        }
        json["instances"].push_back(std::move(one));
    }
    json["mappers"] = field.mappers;
    json["first_seed"] = field.first_seed;
    json["seeds"] = field.n_seeds;
    json["options"] = common_words(arguments_);
    json["knobs"] = arguments_.list("knob");
    json["tessera_version"] = version;
    return json;
}

}  // namespace tessera::cli
