// The `problem` section.
//
//   find_shape       the shape: in place, or from a file of named shapes
//   ShapeReader      dimensions, coefficients, data spaces with their projections
//   read_instance    bounds and coefficients

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/data_path.hpp"
#include "base/directory.hpp"
#include "tessera/spec/position.hpp"
#include "tessera/spec/value.hpp"
#include "timeloop/read.hpp"
#include "values.hpp"

namespace tessera::timeloop {

namespace {

namespace fs = std::filesystem;
using spec::Node;
using spec::Range;

constexpr double most = 9e15;               // a coefficient stays exact in a double
constexpr double most_values = 2147483647;  // of a dimension: Timeloop's coordinates have 32 bits

std::vector<fs::path> shape_folders() {
    std::vector<fs::path> result;
    const auto add = [&](const char* variable, const char* below) {
        const char* value = std::getenv(variable);
        std::istringstream list(value == nullptr ? "" : value);
        for (std::string folder; std::getline(list, folder, ':');) {
            result.push_back(fs::path(folder) / below);
        }
    };
    add("TIMELOOP_PROBLEM_SHAPE_DIR", "");
    add("TIMELOOP_PROBLEM_SHAPE_DIRS", "");
    add("TIMELOOP_DIR", "problem-shapes");
    for (const fs::path& folder : data_folders()) {
        result.push_back(folder / "timeloop-shapes");
    }
    return result;
}

/// The names of shapes in the folders, without endings.
std::vector<std::string> known_shapes() {
    std::vector<std::string> result;
    for (const fs::path& folder : shape_folders()) {
        std::error_code error;
        for (const fs::path name : base::names_in(folder, error)) {
            if (name.extension() == ".yaml" || name.extension() == ".cfg") {
                result.push_back(name.stem().string());
            }
        }
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

Document load_shape(const Node& where, std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    std::vector<std::string> endings = {".yaml", ".cfg"};
    if (name.find(".yaml") != std::string::npos || name.find(".cfg") != std::string::npos) {
        endings = {""};
    }
    for (const fs::path& folder : shape_folders()) {
        for (const std::string& ending : endings) {
            const fs::path file = folder / (name + ending);
            std::error_code ignored;
            if (fs::is_regular_file(file, ignored)) {
                return read_document({file.string()});
            }
        }
    }
    const std::vector<std::string> known = known_shapes();
    spec::fail(where, {"unknown problem shape", name, spec::name_list(known),
                       "write the shape out under 'shape', or name its folder in "
                       "TIMELOOP_PROBLEM_SHAPE_DIR"});
}

class ShapeReader {
public:
    ShapeReader(const Node& shape, const Values& values, Problem& problem)
        : shape_(shape, values, "a problem shape"), values_(values), problem_(problem) {}

    void run() {
        problem_.name = shape_.text({"name"}).value_or("");
        shape_.allow({"version"});
        dimensions();
        coefficients();
        data_spaces();
        flattenings();
    }

private:
    void dimensions() {
        const Node& list = shape_.required({"dimensions"});
        for (const Node& item : list_of(list, "dimensions")) {
            const std::string name = values_.text(item);
            if (name.empty() || problem_.find_dimension(name) >= 0) {
                spec::fail(item, {"every dimension needs a name of its own", name, "", ""});
            }
            problem_.dimensions.push_back({name, 0});
        }
        if (problem_.dimensions.empty()) {
            spec::fail(list, {"a problem has at least one dimension", "", "[ M, N, K ]", ""});
        }
    }

    void coefficients() {
        const Node* list = shape_.find({"coefficients"});
        if (list == nullptr) {
            return;
        }
        for (const Node& item : list_of(*list, "coefficients")) {
            const Section one(item, values_, "a coefficient");
            problem_.coefficients.push_back(
                {values_.text(one.required({"name"})),
                 one.integer({"default"}, Range::between(-most, most)).value_or(1)});
        }
    }

    void data_spaces() {
        const Node& list = shape_.required({"data_spaces"});
        for (const Node& item : list_of(list, "data_spaces")) {
            const Section one(item, values_, "a data space");
            DataSpace space;
            space.name = values_.text(one.required({"name"}));
            if (problem_.find_data_space(space.name) >= 0) {
                spec::fail(item, {"two data spaces of one name", space.name, "", "rename one"});
            }
            const Node& projection = one.required({"projection"});
            for (const Node& rank : list_of(projection, "a projection")) {
                space.ranks.push_back(read_rank(rank));
            }
            space.read_write = one.boolean({"read_write"}).value_or(false);
            problem_.data_spaces.push_back(std::move(space));
        }
        if (problem_.data_spaces.empty() || problem_.data_spaces.size() > 32) {
            spec::fail(list,
                       {"number of data spaces", std::to_string(list.items.size()), "1 to 32", ""});
        }
    }

    std::vector<Term> read_rank(const Node& rank) const {
        if (rank.is_scalar()) {
            return {{dimension(rank), 1, -1}};
        }
        std::vector<Term> terms;
        for (const Node& item : list_of(rank, "a rank of a projection")) {
            // A term by itself is the dimension alone.
            const std::vector<Node> parts = item.is_scalar() ? std::vector<Node>{item} : item.items;
            if (parts.empty() || parts.size() > 2) {
                spec::fail(item, {"a term of a projection", item.brief(),
                                  "[dimension] or [dimension, coefficient]", ""});
            }
            Term term{dimension(parts[0]), 1, -1};
            if (parts.size() == 2) {
                read_coefficient(parts[1], term);
            }
            terms.push_back(term);
        }
        return terms;
    }

    int dimension(const Node& node) const {
        const std::string name = node.is_scalar() ? node.text : "";
        const int found = problem_.find_dimension(name);
        if (found < 0) {
            spec::fail(node, {"unknown dimension", node.brief(),
                              spec::name_list(names_of(problem_.dimensions)),
                              "write a term as [dimension] or [dimension, coefficient]"});
        }
        return found;
    }

    /// A declared name, or a number.
    void read_coefficient(const Node& node, Term& term) const {
        const auto& all = problem_.coefficients;
        term.coefficient = node.is_scalar() ? position_of(all, node.text) : -1;
        if (term.coefficient >= 0) {
            return;
        }
        try {
            term.value = values_.integer(node, Range::between(-most, most));
        } catch (const UserError&) {
            spec::fail(node, {"unknown coefficient", node.brief(), spec::name_list(names_of(all)),
                              "declare it under 'coefficients'"});
        }
    }

    void flattenings() {
        const Node* list = shape_.find({"flatten"});
        if (list == nullptr) {
            return;
        }
        if (!list_of(*list, "flatten").empty()) {
            refuse(*list, "flattened dimensions",
                   "remove the key, or map the dimensions as they are");
        }
    }

    Section shape_;
    const Values& values_;
    Problem& problem_;
};

sparsity::Distribution distribution_named(const Node& node, const std::string& name) {
    using sparsity::Distribution;
    if (name == "fixed" || name == "fixed-structured" || name == "fixed_structured") {
        return Distribution::fixed_structured;
    }
    if (name == "hypergeometric") {
        return Distribution::hypergeometric;
    }
    if (name == "banded" || name == "diagonal") {
        return Distribution::banded;
    }
    spec::fail(node, {"unknown distribution of values", name,
                      "fixed-structured, hypergeometric or banded", ""});
}

void read_densities(const Section& instance, Problem& problem) {
    const Values& values = instance.values();
    const auto density_of = [&](const Node& node) {
        sparsity::DensitySpec spec;
        if (!node.is_map()) {
            spec.density = values.number(node, Range::between(0, 1));
            return spec;
        }
        const Section model(node, values, "a density");
        // The size of the tensor is that of the problem, whatever is written.
        model.allow({"type", "workload_tensor_size"}).free_form();
        if (const Node* kind = model.find({"distribution"})) {
            spec.distribution = distribution_named(*kind, values.text(*kind));
        }
        spec.density = model.number({"density"}, Range::between(0, 1)).value_or(1);
        spec.band_width = model.integer({"band_width"}, Range::between(0, 1e7)).value_or(0);
        return spec;
    };
    if (const Node* common = instance.find({"commonDensity"})) {
        for (DataSpace& space : problem.data_spaces) {
            space.density = density_of(*common);
        }
    }
    const Node* densities = instance.find({"densities"});
    if (densities == nullptr) {
        return;
    }
    if (!densities->is_map()) {
        spec::fail(*densities, {"densities are written as a map", densities->brief(),
                                "data space: density", ""});
    }
    for (const Node::Entry& entry : densities->entries) {
        const int space = problem.find_data_space(entry.key);
        if (space < 0) {
            values.warn(entry.value, "no data space has this name; the density is ignored");
        } else {
            problem.data_spaces[static_cast<std::size_t>(space)].density = density_of(entry.value);
        }
    }
}

/// All counters have 64 bits.
void check_counts(const Node& instance, const Problem& problem) {
    const double words = words_of(problem);
    const bool points = problem.computes() > most_iterations(problem);
    if (points || words > most_words) {
        std::string bounds;
        for (const Dimension& dimension : problem.dimensions) {
            bounds += (bounds.empty() ? "" : " * ") + dimension.name + "=" +
                      std::to_string(dimension.bound);
        }
        spec::fail(instance,
                   {(points ? "more points than words can be counted for in 64 bits: "
                            : "the data spaces have more words than 64 bits can count: ") +
                        bounds,
                    spec::number_text(points ? problem.computes() : words),
                    points ? "at most " + spec::number_text(std::floor(most_iterations(problem)))
                           : "at most 2^63",
                    "map a part of it: what is repeated costs as often as much"});
    }
}

void read_instance(const Section& instance, Problem& problem) {
    instance.allow({"densities", "commonDensity"});
    for (const auto& names : {names_of(problem.dimensions), names_of(problem.coefficients)}) {
        for (const std::string& name : names) {
            instance.allow({name.c_str()});
        }
    }
    for (Dimension& dimension : problem.dimensions) {
        const Node* bound = nullptr;
        for (const Node::Entry& entry : instance.node().entries) {
            bound = entry.key == dimension.name ? &entry.value : bound;
        }
        if (bound == nullptr) {
            const std::string others = instance.others();
            spec::fail(instance.node(),
                       {"the bound of dimension '" + dimension.name + "' is missing", "", "",
                        "add '" + dimension.name + ": ...'" +
                            (others.empty() ? "" : "; no dimension is " + others)});
        }
        dimension.bound = instance.values().integer(*bound, Range::between(1, most_values));
    }
    for (Coefficient& coefficient : problem.coefficients) {
        if (const Node* value = instance.node().find(coefficient.name)) {
            coefficient.value = instance.values().integer(*value, Range::between(-most, most));
        }
    }
    for (DataSpace& space : problem.data_spaces) {
        for (std::vector<Term>& rank : space.ranks) {
            for (Term& term : rank) {
                if (term.coefficient >= 0) {
                    term.value =
                        problem.coefficients[static_cast<std::size_t>(term.coefficient)].value;
                }
            }
        }
    }
    for (const DataSpace& space : problem.data_spaces) {
        for (const std::vector<Term>& rank : space.ranks) {
            const double extent = rank_extent<double>(
                rank, [&](int d) { return static_cast<double>(problem.dimensions[d].bound - 1); });
            if (extent > most) {
                spec::fail(instance.node(), {"a rank of data space '" + space.name +
                                                 "' has more than 9e15 coordinates",
                                             "", "", "use smaller bounds or coefficients"});
            }
        }
    }
    check_counts(instance.node(), problem);
    read_densities(instance, problem);
}

Problem problem_of(const Document& document, const Values& values, Warnings& warnings) {
    const Node* node = find_key(document.root, "problem");
    if (node == nullptr || node->is_null()) {
        spec::fail(document.root, {"the input lacks the key 'problem'", "", "",
                                   "give the file with the problem, too"});
    }
    const Section problem_section(*node, values, "the problem");
    problem_section.allow({"version", "name"});
    const Node* shape = problem_section.find({"shape"});
    Problem problem;
    std::optional<Document> named;
    if (shape == nullptr) {
        values.warn(*node, "no 'shape' is given; cnn-layer is taken");
        named = load_shape(*node, "cnn-layer");
    } else if (shape->is_scalar()) {
        named = load_shape(*shape, values.text(*shape));
    }
    if (named) {
        const Node* inside = find_key(named->root, "shape");
        if (inside == nullptr) {
            const Node* outer = find_key(named->root, "problem");
            inside = outer == nullptr ? nullptr : find_key(*outer, "shape");
        }
        if (inside == nullptr) {
            spec::fail(named->root,
                       {"a file of a problem shape lacks the key 'shape'", "", "", ""});
        }
        const Values shape_values(*named, warnings);
        problem = shape_values.watched([&] {
            Problem shaped;
            ShapeReader(*inside, shape_values, shaped).run();
            return shaped;
        });
    } else {
        ShapeReader(*shape, values, problem).run();
    }
    const Node* instance = problem_section.find({"instance"});
    read_instance(
        instance == nullptr ? problem_section : Section(*instance, values, "the instance"),
        problem);
    return problem;
}

}  // namespace

Problem read_problem(const Document& document, Warnings& warnings) {
    const Values values(document, warnings);
    return values.watched([&] { return problem_of(document, values, warnings); });
}

}  // namespace tessera::timeloop
