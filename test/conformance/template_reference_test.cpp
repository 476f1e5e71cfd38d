// The templates of preset `accelforge` against those that AccelForge generates
// (templates.jsonl.gz): every one of AccelForge's is among ours, with all reservations at least as
// far down. Two equivalences are taken off first:
//   - a loop over a rank variable of one value is no loop;
//   - AccelForge keeps some unfused loops that may as well stand below the next holder, because it
//     changes a set in place while going through the gaps; ours stand there.
// Templates with a spatial loop that does not index the tensor of a distributed memory above it are
// left out: AccelForge refuses them when it comes to evaluate them.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "support/reference_cases.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using mapping::NodeKind;

namespace {

/// Holders that follow each other and the loops below them.
struct Run {
    std::multiset<std::pair<int, int>> holders;  ///< tensor, level
    std::multiset<int> temporals;
    std::multiset<std::tuple<int, int, int>> spatials;
    auto operator<=>(const Run&) const = default;
};
using Structure = std::vector<Run>;

class Builder {
public:
    void holder(int tensor, int level) {
        if (runs_.empty() || !runs_.back().temporals.empty() || !runs_.back().spatials.empty()) {
            runs_.emplace_back();
        }
        runs_.back().holders.emplace(tensor, level);
    }
    void temporal(int variable) {
        here().temporals.insert(variable);
    }
    void spatial(int variable, int level, int dim) {
        here().spatials.emplace(variable, level, dim);
    }
    Structure take() {
        return std::move(runs_);
    }

private:
    Run& here() {
        if (runs_.empty()) {
            runs_.emplace_back();
        }
        return runs_.back();
    }

    Structure runs_;
};

/// A template as AccelForge has it: nodes in order, before equivalences.
struct Node {
    NodeKind kind = NodeKind::temporal;
    int tensor = -1, level = -1, dim = -1, variable = -1;
};

std::vector<Node> parse(const arch::Path& path, const std::string& text) {
    std::vector<Node> nodes;
    std::istringstream in(text);
    for (std::string word; in >> word;) {
        Node node;
        const std::size_t at = word.find('@');
        const std::size_t dot = word.find('.', at);
        if (at == std::string::npos) {
            node.variable = path.einsum.find_rank_variable(word);
        } else if (dot != std::string::npos) {
            node.kind = NodeKind::spatial;
            node.variable = path.einsum.find_rank_variable(word.substr(0, at));
            node.level = path.find_level(word.substr(at + 1, dot - at - 1));
            node.dim = path.levels.at(node.level).find_dim(word.substr(dot + 1));
        } else {
            const bool toll = word[0] == '!';
            node.kind = toll ? NodeKind::toll : NodeKind::storage;
            node.tensor = path.einsum.find_tensor(word.substr(toll, at - toll));
            node.level = path.find_level(word.substr(at + 1));
        }
        nodes.push_back(node);
    }
    return nodes;
}

bool indexes(const arch::Path& path, int tensor, int variable) {
    const workload::LocalTensor& t = path.einsum.tensors[tensor];
    return (t.directly_indexing | t.expression_indexing) >> variable & 1;
}

/// True if the loop may as well stand below the next holder: the second equivalence.
bool raisable(const arch::Path& path, const std::vector<Node>& nodes, std::size_t i) {
    std::size_t next = i, above = i;
    while (next < nodes.size() && nodes[next].kind != NodeKind::storage) {
        ++next;
    }
    while (above > 0 && nodes[above].tensor < 0) {
        --above;
    }
    if (next == nodes.size() || nodes[above].tensor < 0 ||
        indexes(path, nodes[next].tensor, nodes[i].variable)) {
        return false;
    }
    std::uint64_t seen = 0, fusable = path.einsum.fusable(), stopping = 0;
    const bool group = nodes[above].level == path.first_memory();
    for (std::size_t k = 0; k <= above; ++k) {
        if (nodes[k].tensor >= 0) {
            seen |= std::uint64_t{1} << nodes[k].tensor;
            const std::uint64_t sums = path.einsum.tensors[nodes[k].tensor].expression_indexing;
            stopping |= group || k == above ? sums : 0;
        }
    }
    return !(fusable & ~seen) && !(stopping >> nodes[i].variable & 1);
}

Structure structure(const std::vector<Node>& nodes) {
    Builder builder;
    for (const Node& node : nodes) {
        if (node.tensor >= 0) {
            builder.holder(node.tensor, node.level);
        } else if (node.kind == NodeKind::spatial) {
            builder.spatial(node.variable, node.level, node.dim);
        } else {
            builder.temporal(node.variable);
        }
    }
    return builder.take();
}

std::vector<Node> nodes_of(const mapspace::Template& tmpl) {
    std::vector<Node> result;
    for (const mapping::PmappingNode& node : tmpl.nodes) {
        if (node.kind != NodeKind::compute) {
            result.push_back({node.kind, node.tensor, node.level, node.dim, node.rank_variable});
        }
    }
    return result;
}

/// Per holder: how many loops its reservation passes on the way down.
using Sinks = std::map<std::pair<int, int>, int>;

Sinks sinks(const arch::Path& path, const std::vector<Node>& nodes) {
    Sinks result;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].kind != NodeKind::storage) {
            continue;
        }
        const int t = nodes[i].tensor;
        int& passed = result[{t, nodes[i].level}];
        const bool backing = !(seen >> t & 1);
        seen |= std::uint64_t{1} << t;
        for (std::size_t k = i + 1; !backing && k < nodes.size() && nodes[k].tensor < 0; ++k) {
            const workload::Relevancy r = path.einsum.tensors[t].relevancy[nodes[k].variable];
            if (nodes[k].kind == NodeKind::spatial || r == workload::Relevancy::irrelevant) {
                break;
            }
            ++passed;
            if (r == workload::Relevancy::partially_relevant) {
                break;
            }
        }
    }
    return result;
}

bool covers(const std::vector<Sinks>& ours, const Sinks& theirs) {
    return std::any_of(ours.begin(), ours.end(), [&](const Sinks& one) {
        return std::all_of(theirs.begin(), theirs.end(),
                           [&](const auto& entry) { return one.at(entry.first) >= entry.second; });
    });
}

/// Without loops of rank variables of one value and those that stand further down.
std::vector<Node> normal(const arch::Path& path, const std::vector<Node>& nodes) {
    std::vector<Node> result;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const bool loop = nodes[i].variable >= 0;
        const bool null = loop && path.einsum.rank_variables[nodes[i].variable].bound == 1;
        if (!null && !(nodes[i].kind == NodeKind::temporal && raisable(path, nodes, i))) {
            result.push_back(nodes[i]);
        }
    }
    return result;
}

bool refused_later(const arch::Path& path, const std::vector<Node>& nodes) {
    int distributed = -1;
    for (const Node& node : nodes) {
        if (node.kind == NodeKind::storage) {
            distributed = path.levels[node.level].distributed() ? node.tensor : -1;
        } else if (node.kind == NodeKind::spatial && distributed >= 0 &&
                   !indexes(path, distributed, node.variable)) {
            return true;
        }
    }
    return false;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_template_of_the_reference_is_ours_too) {
    std::map<std::string, std::unique_ptr<arch::Architecture>> architectures;
    std::map<std::string, workload::Workload> workloads;
    std::size_t cases = 0, theirs = 0, ours = 0, missing = 0;
    testing::for_each_case(
        testing::accelforge_folder() + "templates.jsonl.gz", [&](const YAML::Node& c) {
            const std::string arch_file = c["arch"].as<std::string>();
            const std::string workload_file = c["workload"].as<std::string>();
            if (!architectures.count(arch_file)) {
                architectures[arch_file] =
                    std::make_unique<arch::Architecture>(arch::load_architecture(
                        testing::accelforge_folder() + "arch/" + arch_file, {}));
            }
            if (!workloads.count(workload_file)) {
                workloads[workload_file] = workload::load_workload(
                    testing::accelforge_folder() + "workload/" + workload_file, {});
            }
            const workload::Workload& workload = workloads[workload_file];
            const arch::Path path = architectures[arch_file]->path(
                workload, workload.find_einsum(c["einsum"].as<std::string>()),
                c["compute"].as<std::string>(), arch::Compat::accelforge);
            std::map<Structure, std::vector<Sinks>> found;
            ours += mapspace::enumerate_templates(
                path, mapspace::MapSpaceOptions::accelforge(), [&](mapspace::Template&& tmpl) {
                    const std::vector<Node> nodes = nodes_of(tmpl);
                    found[structure(nodes)].push_back(sinks(path, nodes));
                });
            ++cases;
            for (const YAML::Node& text : c["templates"]) {
                const std::vector<Node> nodes = parse(path, text.as<std::string>());
                const std::vector<Node> plain = normal(path, nodes);
                const auto same = found.find(structure(plain));
                ++theirs;
                if (!refused_later(path, nodes) &&
                    (same == found.end() || !covers(same->second, sinks(path, plain)))) {
                    ++missing;
                    BOOST_ERROR(arch_file << " " << workload_file << " lacks "
                                          << text.as<std::string>());
                }
            }
        });
    BOOST_TEST(missing == 0);
    BOOST_TEST_MESSAGE(cases << " cases, " << theirs << " templates of the reference, " << ours
                             << " ours");
    BOOST_TEST(cases > 150);
}
