// A key with a slip of the pen, at any depth of any native input, is named by an error or by a
// warning.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <random>

#include "api/inputs.hpp"
#include "base/data_path.hpp"
#include "spec/reader.hpp"
#include "spec/warnings.hpp"
#include "support/paths.hpp"
#include "tessera/tessera.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using spec::Node;

namespace {

using Random = std::mt19937;

/// Maps whose keys are names that the file makes up. Who uses a name looks it up: a rank or a rank
/// variable that no Einsum has is a warning, but a variable, a rename and an Einsum of a mapping
/// may have any name.
bool is_free(const std::string& path) {
    const std::string last =
        path.substr(path.rfind('.') == std::string::npos ? 0 : path.rfind('.') + 1);
    for (const char* name : {"variables", "renames", "rank_variable", "tile_shape"}) {
        if (last == name) {
            return true;
        }
    }
    return false;
}

struct Key {
    Node* map;
    std::size_t entry;
};

void collect(Node& node, std::vector<Key>& keys) {
    for (Node& item : node.items) {
        collect(item, keys);
    }
    for (std::size_t i = 0; i < node.entries.size(); ++i) {
        // The list `renames` of a file has keys of its own.
        if (!is_free(node.path) || node.find("einsums") != nullptr) {
            keys.push_back({&node, i});
        }
        collect(node.entries[i].value, keys);
    }
}

/// One letter is left out, doubled, changed, or changes places with the next.
std::string misspelt(const std::string& key, Random& random) {
    const std::size_t at = random() % key.size();
    std::string result = key;
    switch (random() % 4) {
        case 0:
            if (key.size() > 2) {
                result.erase(at, 1);
            } else {
                result += key.back();
            }
            break;
        case 1:
            result.insert(at, 1, key[at]);
            break;
        case 2:
            result[at] = result[at] == 'x' ? 'q' : 'x';
            break;
        default:
            std::swap(result[at], result[(at + 1) % key.size()]);
    }
    return result;
}

/// What is said of a tree by whoever reads it.
using Reader = void (*)(Node);

std::string said(const Node& tree, Reader read) {
    const spec::HeardWarnings heard;
    std::string text;
    try {
        read(tree);
    } catch (const Error& error) {
        text = error.what();
    }
    for (const std::string& line : heard.lines()) {
        text += "\n" + line;
    }
    return text;
}

void try_all(const std::string& name, const Node& tree, Reader read, Random& random, int tries) {
    BOOST_TEST(said(tree, read) == "", name << ": " << said(tree, read));
    for (int i = 0; i < tries; ++i) {
        Node copy = tree;
        spec::assign_paths(copy);
        std::vector<Key> keys;
        collect(copy, keys);
        const Key& chosen = keys[random() % keys.size()];
        Node::Entry& entry = chosen.map->entries[chosen.entry];
        const std::string path = chosen.map->path, before = entry.key;
        entry.key = misspelt(before, random);
        const std::vector<std::string>& kinds = workload::operation_kinds();
        if (entry.key == before || chosen.map->find_entry(entry.key) != &entry ||
            std::find(kinds.begin(), kinds.end(), entry.key) != kinds.end()) {
            continue;  // it is what it was, what another is, or the name of another operation
        }
        const std::string after = entry.key, text = said(copy, read);
        BOOST_TEST(
            (text.find(after) != std::string::npos || text.find(before) != std::string::npos),
            name << ": " << path << ": '" << before << "' as '" << after << "' passes: '" << text
                 << "'");
    }
}

void read_workload(Node tree) {
    api::read_workload(std::move(tree), {}, "w");
}

/// Fields are evaluated for an Einsum.
void read_architecture(Node tree) {
    static const workload::Workload product = workload::load_workload("matmul", {});
    const arch::Architecture architecture(std::move(tree), {}, "a");
    for (const std::string& compute : architecture.compute_names()) {
        architecture.path(product, 0, compute, arch::Compat::none);
    }
}

void read_mapping(Node tree) {
    spec::check_sections(tree);
    mapping::read_mapping(spec::expand_document(std::move(tree), {}));
}

const char* const a_mapping = R"(
mapping:
  nodes:
  - !Storage {tensors: [X, W, Z], component: MainMemory}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Storage {tensors: [Y], component: Buffer, lower: False, line_buffer: False}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Spatial {rank_variable: n, tile_shape: 1, name: rows, component: Array}
      - !Compute {einsum: Y, component: MAC}
    - !Nested
      nodes:
      - !Temporal {rank_variable: {Z: n}, tile_shape: {Z: 1}}
      - !Compute {einsum: Z, component: MAC}
)";

}  // namespace

BOOST_AUTO_TEST_SUITE(misspelt_keys)

BOOST_AUTO_TEST_CASE(of_workloads) {
    Random random(1);
    for (const std::string& name : list_data("problem-shapes")) {
        const std::string path = find_data("problem-shapes", name).string();
        try_all(name, spec::load_document({path}, {}).root, read_workload, random, 12);
    }
}

BOOST_AUTO_TEST_CASE(of_architectures) {
    Random random(2);
    for (const std::string& name : list_data("arch-specs")) {
        const std::string path = find_data("arch-specs", name).string();
        try_all(name, spec::load_document({path}, {}).root, read_architecture, random, 40);
    }
}

BOOST_AUTO_TEST_CASE(of_mappings) {
    Random random(3);
    try_all("mapping", spec::read_text(a_mapping, "mapping"), read_mapping, random, 200);
}

// What a file says about its own making is gone after that: by hand.
BOOST_AUTO_TEST_CASE(of_directives) {
    const std::string head =
        "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 8}\n  einsums:\n"
        "  - \"Y[m] = X[m]\"\n";
    const auto text = [&](const std::string& item) {
        return said(spec::read_text(head + item, "w"), read_workload);
    };
    const std::string loop =
        "  - repeat: {variable: i, from: 0, to: 2, body: [\"Z{i}[m] = Y[m]\"]}\n";
    const std::string choice = "  - {when: 1, body: [\"Z[m] = Y[m]\"]}\n";
    BOOST_TEST(text(loop + choice) == "");
    for (const auto& [whole, key, slip] :
         std::vector<std::array<std::string, 3>>{{loop, "repeat", "repaet"},
                                                 {loop, "variable", "varible"},
                                                 {loop, "from", "form"},
                                                 {loop, "to:", "too:"},
                                                 {loop, "body", "bodi"},
                                                 {choice, "when", "whem"},
                                                 {choice, "body", "boddy"}}) {
        std::string changed = whole;
        changed.replace(changed.find(key), key.size(), slip);
        const std::string answer = text(changed), name = slip.substr(0, slip.find(':'));
        BOOST_TEST(answer.find("'" + name + "'") != std::string::npos, slip << ": " << answer);
    }
}

BOOST_AUTO_TEST_SUITE_END()
