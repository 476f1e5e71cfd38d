// Property: split(assemble(x)) == x for random pmappings, and the same through the YAML file.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "tessera/mapping/assemble.hpp"
#include "unit/mapping_fixture.hpp"

using namespace tessera;
using namespace tessera::mapping;
using mapping_test::Fixture;
using mapping_test::mapping_of;

namespace {

// Random pmappings of the fixture's cascade that agree on their shared loops and backing holders.
class Generator {
public:
    Generator(const Fixture& fixture, unsigned seed) : random_(seed) {
        for (int e = 0; e < 3; ++e) {
            paths_.push_back(
                fixture.architecture.path(fixture.workload, e, "MAC", arch::Compat::none));
        }
    }

    void run(std::vector<Branch>& branches, std::vector<int>& shared) {
        shared = {below(4), below(4)};
        const int common = std::min(shared[0], shared[1]);
        // One place per tensor that is backed for several Einsums: K of 0 and 1, S of 1 and 2, I of
        // 0 and 2.
        places_ = {{"K", place(shared[0])}, {"S", place(shared[1])}, {"I", place(common)}};
        std::vector<PmappingNode> kinds(4);
        for (PmappingNode& kind : kinds) {
            kind.kind = below(3) == 0 ? NodeKind::spatial : NodeKind::temporal;
            kind.level = static_cast<std::int8_t>(kind.kind == NodeKind::spatial ? 2 : -1);
            kind.dim = static_cast<std::int8_t>(kind.kind == NodeKind::spatial ? below(2) : -1);
        }
        branches.clear();
        for (int e = 0; e < 3; ++e) {
            const int own = std::max(e == 0 ? 0 : shared[e - 1], e == 2 ? 0 : shared[e]);
            branches.push_back({&paths_[e], chain(paths_[e], kinds, own)});
        }
    }

private:
    struct Place {
        int level = 0, depth = 0;
    };

    int below(int n) {
        return static_cast<int>(random_() % static_cast<unsigned>(n));
    }
    Place place(int depth) {
        const int memories[] = {0, 2, 3};
        return {memories[below(3)], below(depth + 1)};
    }

    // Gap by gap: holders in random order, then a loop.
    Pmapping chain(const arch::Path& path, const std::vector<PmappingNode>& kinds, int shared) {
        const std::vector<PmappingNode> loops = this->loops(path, kinds, shared);
        std::vector<Pmapping> gaps(loops.size() + 1);
        for (std::size_t t = 0; t < path.einsum.tensors.size(); ++t) {
            place_holders(path, static_cast<int>(t), gaps);
        }
        Pmapping result;
        for (std::size_t g = 0; g < gaps.size(); ++g) {
            result.insert(result.end(), gaps[g].begin(), gaps[g].end());
            if (below(4) == 0) {
                result.push_back(null_loop(path, result));
            }
            if (g < loops.size()) {
                result.push_back(loops[g]);
            }
        }
        PmappingNode compute;
        compute.level = static_cast<std::int8_t>(path.levels.size() - 1);
        result.push_back(compute);
        return result;
    }

    // Loops with falling tile shapes; the first `shared` have the common kinds.
    std::vector<PmappingNode> loops(const arch::Path& path, const std::vector<PmappingNode>& kinds,
                                    int shared) {
        std::vector<PmappingNode> result;
        std::vector<std::int64_t> tile;
        for (const auto& variable : path.einsum.rank_variables) {
            tile.push_back(variable.bound);
        }
        const auto add = [&](PmappingNode loop, int variable, std::int64_t shape) {
            loop.rank_variable = static_cast<std::int8_t>(variable);
            loop.tile = tile[variable] = shape;
            result.push_back(loop);
        };
        for (int k = 0; k < shared; ++k) {
            int variable = below(static_cast<int>(tile.size()));
            while (tile[variable] == 1) {
                variable = (variable + 1) % static_cast<int>(tile.size());
            }
            add(kinds[k], variable, tile[variable] % 2 == 0 ? tile[variable] / 2 : 1);
        }
        PmappingNode temporal;
        temporal.kind = NodeKind::temporal;
        std::vector<int> order(tile.size());
        for (std::size_t v = 0; v < order.size(); ++v) {
            order[v] = static_cast<int>(v);
        }
        std::shuffle(order.begin(), order.end(), random_);
        for (const int variable : order) {
            if (tile[variable] > 1) {
                add(temporal, variable, 1);
            }
        }
        return result;
    }

    void place_holders(const arch::Path& path, int tensor, std::vector<Pmapping>& gaps) {
        const std::string& name = path.einsum.tensors[tensor].name;
        const auto known = places_.find(name);
        Place at = known != places_.end() ? known->second : Place{0, below(2)};
        bool first = true;
        for (int level = at.level; level < 4; ++level) {
            if (!first && below(2) == 0) {
                continue;
            }
            PmappingNode holder;
            holder.kind = level == 1 ? NodeKind::toll : NodeKind::storage;
            holder.tensor = static_cast<std::int8_t>(tensor);
            holder.level = static_cast<std::int8_t>(level);
            holder.backing = first;
            holder.lower = first || level == 1 || below(4) != 0;
            if (!first) {
                at.depth += below(static_cast<int>(gaps.size()) - at.depth);
            }
            Pmapping& gap = gaps[at.depth];
            // Anywhere in the gap, but below the tensor's outer holders.
            std::size_t lowest = 0;
            for (std::size_t i = 0; i < gap.size(); ++i) {
                lowest = gap[i].tensor == tensor ? i + 1 : lowest;
            }
            gap.insert(gap.begin() + static_cast<std::ptrdiff_t>(
                                         lowest + below(static_cast<int>(gap.size() - lowest) + 1)),
                       holder);
            first = false;
        }
    }

    PmappingNode null_loop(const arch::Path& path, const Pmapping& above) {
        PmappingNode loop;
        loop.kind = NodeKind::temporal;
        const int variable = below(static_cast<int>(path.einsum.rank_variables.size()));
        loop.rank_variable = static_cast<std::int8_t>(variable);
        loop.tile = path.einsum.rank_variables[variable].bound;
        for (const PmappingNode& node : above) {
            loop.tile = node.rank_variable == variable ? node.tile : loop.tile;
        }
        return loop;
    }

    std::mt19937 random_;
    std::vector<arch::Path> paths_;
    std::map<std::string, Place> places_;
};

using Key = std::tuple<NodeKind, int, int, int, int, std::int64_t, bool, bool>;

Key key(const PmappingNode& node) {
    return {node.kind,          node.tensor, node.level,      node.dim,
            node.rank_variable, node.tile,   node.persistent, node.backing};
}

// Whether a holder's capacity could be charged below the node that follows it.
bool sinks(const arch::Path& path, const PmappingNode& holder, const PmappingNode& next) {
    if (holder.backing || holder.kind != NodeKind::storage) {
        return false;
    }
    return next.kind == NodeKind::spatial
               ? next.level == holder.level
               : next.kind == NodeKind::temporal &&
                     path.einsum.tensors[holder.tensor].relevancy[next.rank_variable] !=
                         workload::Relevancy::irrelevant;
}

// Equal nodes in equal order; only holders between two loops may stand in another order, and not
// the one that is charged below the next loop.
void compare(const arch::Path& path, const Pmapping& before, const Pmapping& after) {
    const Pmapping expected = without_null_loops(path, before);
    BOOST_REQUIRE_EQUAL(expected.size(), after.size());
    for (std::size_t begin = 0; begin < expected.size();) {
        std::size_t end = begin;
        std::multiset<Key> a, b;
        std::map<int, std::vector<int>> levels_a, levels_b;
        while (end < expected.size() && expected[end].is_holder()) {
            a.insert(key(expected[end]));
            b.insert(key(after[end]));
            levels_a[expected[end].tensor].push_back(expected[end].level);
            levels_b[after[end].tensor].push_back(after[end].level);
            ++end;
        }
        BOOST_TEST((a == b));
        BOOST_TEST((levels_a == levels_b));
        if (end > begin && sinks(path, expected[end - 1], expected[end]) &&
            !expected[end - 1].lower) {
            const auto same = std::find_if(
                after.begin() + static_cast<std::ptrdiff_t>(begin),
                after.begin() + static_cast<std::ptrdiff_t>(end),
                [&](const PmappingNode& node) { return key(node) == key(expected[end - 1]); });
            BOOST_TEST(!same->lower);
        }
        if (end > begin && !expected[end - 1].backing &&
            expected[end - 1].kind == NodeKind::storage && expected[end - 1].lower) {
            BOOST_TEST((key(expected[end - 1]) == key(after[end - 1])));
            const PmappingNode& loop = expected[end];
            const bool sinks =
                loop.kind == NodeKind::spatial
                    ? loop.level == expected[end - 1].level
                    : loop.kind == NodeKind::temporal &&
                          path.einsum.tensors[expected[end - 1].tensor]
                                  .relevancy[loop.rank_variable] != workload::Relevancy::irrelevant;
            BOOST_TEST((!sinks || expected[end - 1].lower == after[end - 1].lower));
        }
        BOOST_TEST((key(expected[end]) == key(after[end])));
        begin = end + 1;
    }
}

void compare(const std::vector<Branch>& branches, const std::vector<EinsumMapping>& einsums) {
    BOOST_REQUIRE_EQUAL(branches.size(), einsums.size());
    for (std::size_t i = 0; i < branches.size(); ++i) {
        compare(*branches[i].path, branches[i].nodes, einsums[i].nodes);
    }
}

std::size_t count(const TreeNode& node, TreeKind kind) {
    std::size_t result = node.kind == kind ? 1 : 0;
    for (const TreeNode& child : node.children) {
        result += count(child, kind);
    }
    return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(split_undoes_assemble) {
    const Fixture fixture;
    for (unsigned seed = 0; seed < 2000; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            Generator generator(fixture, seed);
            std::vector<Branch> branches;
            std::vector<int> shared;
            generator.run(branches, shared);
            const Mapping tree = assemble(branches, shared);
            compare(branches,
                    split(tree, fixture.workload, fixture.architecture, arch::Compat::none));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_file_says_the_same) {
    const Fixture fixture;
    for (unsigned seed = 0; seed < 300; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            Generator generator(fixture, seed);
            std::vector<Branch> branches;
            std::vector<int> shared;
            generator.run(branches, shared);
            const Mapping tree = assemble(branches, shared);
            const std::string yaml = to_yaml(tree);
            const Mapping again = mapping_of(yaml);
            BOOST_TEST(to_yaml(again) == yaml);
            compare(branches,
                    split(again, fixture.workload, fixture.architecture, arch::Compat::none));
        }
    }
}

BOOST_AUTO_TEST_CASE(shared_loops_stand_once_above_the_split) {
    const Fixture fixture;
    for (unsigned seed = 0; seed < 100; ++seed) {
        Generator generator(fixture, seed);
        std::vector<Branch> branches;
        std::vector<int> shared;
        generator.run(branches, shared);
        std::size_t loops = 0;
        for (const Branch& branch : branches) {
            for (const PmappingNode& node : without_null_loops(*branch.path, branch.nodes)) {
                loops += node.rank_variable >= 0 ? 1 : 0;
            }
        }
        const TreeNode root = assemble(branches, shared).root;
        BOOST_TEST(count(root, TreeKind::temporal) + count(root, TreeKind::spatial) ==
                   loops - shared[0] - shared[1]);
    }
}

BOOST_AUTO_TEST_CASE(accelforge_text_has_one_plain_chain_per_einsum) {
    const Fixture fixture;
    std::size_t apart = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        Generator generator(fixture, seed);
        std::vector<Branch> branches;
        std::vector<int> shared;
        generator.run(branches, shared);
        for (Branch& branch : branches) {
            for (PmappingNode& node : branch.nodes) {
                node.lower = true;
            }
        }
        const Mapping tree = assemble(branches, shared);
        const std::string text = to_accelforge_yaml(tree, fixture.workload, fixture.architecture);
        for (const char* key : {"einsums:", "lower:", "rank_variable: {", "rank_variable: ["}) {
            BOOST_TEST(text.find(key) == std::string::npos);
        }
        apart += text != to_yaml(tree) ? 1 : 0;
        compare(branches, split(mapping_of(text), fixture.workload, fixture.architecture,
                                arch::Compat::none));
    }
    BOOST_TEST(apart > 10U);
}

BOOST_AUTO_TEST_CASE(loops_that_do_not_fit_together_are_a_bug) {
    const Fixture fixture;
    Generator generator(fixture, 1);
    std::vector<Branch> branches;
    std::vector<int> shared;
    generator.run(branches, shared);
    BOOST_CHECK_THROW(assemble(branches, {}), Bug);
    BOOST_CHECK_THROW(assemble(branches, {9, 9}), Bug);
}
