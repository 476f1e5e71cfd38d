// A key with a slip in it, anywhere in an input of Timeloop's kind, is named by an error or a
// warning. Valid inputs of every form; their keys are spoilt one at a time, all of those below,
// many of the recorded ones.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "spec/reader.hpp"
#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/read.hpp"

namespace {

using namespace tessera;
namespace fs = std::filesystem;

const std::string problem = R"(problem:
  shape:
    name: mm
    dimensions: [M, K, R]
    coefficients: [{name: stride, default: 2}]
    data-spaces:
    - {name: A, projection: [[[M, stride], [R]], [[K]]]}
    - {name: Z, projection: [M], read-write: true}
  instance: {M: 4, K: 8, R: 1, stride: 1, densities: {A: {distribution: fixed, density: 1.0}}}
)";

/// The list of levels, every key of storage, constraints in their grouped form, all settings.
const std::string levels = problem + R"(arch:
  arithmetic: {name: MAC, instances: 4, meshX: 4, meshY: 1, word-bits: 16, energy: 1, area: 2}
  storage:
  - {name: RF, entries: 16, instances: 4, meshX: 4, cluster-size: 1, num-ports: 2, num-banks: 2}
  - {name: GB, sizeKB: 1, instances: 1, word-bits: 16, block-size: 2, multiple-buffering: 1,
     min-utilization: 0.0, read_bandwidth: 4, write_bandwidth: 4, shared_bandwidth: 8,
     network-type: "1:N", network-word-bits: 16, router-energy: 0.1, wire-energy: 0.1,
     tile-width: 2, energy-per-hop: 0.1, energy-per-ingress: 0.1, network_fill_latency: 1,
     network_drain_latency: 1, vector-access-energy: 2, addr-gen-energy: 0.1, cluster-area: 3,
     reduction_supported: true, power_gated_at: GB, allow_overbooking: false}
  - {name: DRAM, technology: DRAM, instances: 1, bandwidth: 8}
arch_constraints:
  targets:
  - target: GB
    constraints:
    - {type: spatial, attributes: {factors: K=1, permutation: MKR, split: 3, no_link_transfer: []}}
    - {type: temporal, attributes: {permutation: KM, no_temporal_reuse: [], remainders: 1}}
mapspace:
  template: uber
  targets:
  - {name: DRAM, type: temporal, factors: R1, default_max_factor: 8, default_min_factor: 1}
  - {target: RF, type: bypass, keep: [A], bypass: [Z]}
  - {target: RF, type: utilization, min: 0.1}
mapper: {algorithm: random, optimization-metrics: [edp], num-threads: 1, timeout: 9, seed: 1,
  victory-condition: 5, search-size: 9, sync-interval: 0, log-interval: 1, log-stats: false,
  log-suboptimal: false, log-oaves: false, log-oaves-mappings: false, live-status: false,
  diagnostics: false, penalize-consecutive-bypass-fails: false, emit-whoop-nest: false,
  filter-revisits: false, max-permutations-per-if-visit: 16, out_prefix: p, time-limit: 9,
  target: 1}
model: {verbose: false, auto_bypass_on_failure: false, out_prefix: m}
mapping:
- {target: DRAM, type: temporal, factors: M2 K0, permutation: KMR, no_temporal_reuse: []}
- {target: GB, type: temporal, factors: M1, permutation: KMR}
- {target: GB, type: spatial, factors: M2, permutation: KMR, split: 3, no_link_transfer: [],
   no_multicast_no_reduction: []}
- {target: RF, type: temporal, factors: M1, permutation: KMR}
- {target: RF, type: datatype, keep: [A], bypass: [Z]}
ERT:
  version: "0.3"
  tables:
  - {name: "s.GB[0..0]", actions: [{name: read, arguments: {data_delta: 0}, energy: 1}]}
ART: {version: "0.3", tables: [{name: GB, area: 3}]}
)";

const std::string tree = problem + R"(architecture:
  version: 0.3
  subtree:
  - name: chip
    attributes: {technology: 45nm}
    local:
    - {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 16}}
    - {name: GB, class: SRAM, attributes: {depth: 64, memory_width: 32, word-bits: 16,
       block_size: 2, n_banks: 2, technology: 45nm}}
    subtree:
    - name: PE[0..3]
      local:
      - {name: RF, class: regfile, attributes: {entries: 16, word_width: 16, meshX: 4}}
      - {name: MAC, class: intmac, attributes: {datawidth: 16, meshX: 4}}
mapspace_constraints:
- {target: GB, type: spatial, factors: M=1}
ERT:
  version: 0.2
  tables: {GB: {read: [{arguments: {data_delta: 0}, energy: 1}], write: 2}}
)";

const std::string nodes = R"(architecture:
  version: 0.4
  nodes:
  - !Container {name: chip, attributes: {technology: 45nm}}
  - !Component
    name: DRAM
    class: DRAM
    attributes: {width: 64, datawidth: 16}
    constraints: {dataspace: {keep_only: [A, Z]}, temporal: {factors: [K=2], permutation: [K]}}
  - !Parallel
    nodes:
    - !Component
      name: GB
      class: SRAM
      attributes: {depth: 64, width: 32, datawidth: 16}
      constraints: {dataspace: {keep: [A], bypass: [Z]}, temporal: {factors_only: [M=1]}}
    - !Component
      name: Acc
      class: regfile
      enabled: true
      attributes: {depth: 64, width: 16, datawidth: 16}
      constraints:
        dataspace: {keep: [Z]}
        temporal: {no_iteration_over_dataspaces: [Z], no_temporal_reuse: []}
  - !Container
    name: row
    spatial: {meshX: 4, meshY: 2}
    constraints: {spatial: {maximize_dims: [[M]], maximize_dims_capacity: 4, split: 999}}
  - !Component
    name: RF
    class: regfile
    attributes: {depth: 16, width: 16, datawidth: 16}
    constraints: {dataspace: {bypass_only: [A]}}
  - !Component {name: MAC, class: intmac, attributes: {datawidth: 16}}
constraints:
  targets: [{target: RF, type: temporal, must_iterate_over_dataspaces: [A]}]
mapper: {version: 0.4, optimization_metric: [edp]}
)" + problem;

const std::string libconfig = R"(problem = {
  shape = {
    dimensions = [ "M", "K" ];
    data-spaces = (
      { name = "A"; projection = [ "M", "K" ]; },
      { name = "Z"; projection = [ "M" ]; read-write = true; } );
  };
  M = 4; K = 8;
};
arch = {
  arithmetic = { instances = 1; word-bits = 16; };
  storage = (
    { name = "RF"; entries = 16; instances = 1; },
    { name = "DRAM"; technology = "DRAM"; instances = 1; } );
};
mapspace = { constraints = ( { target = "RF"; type = "temporal"; factors = "M1"; } ); };
mapper = { algorithm = "random"; num-threads = 1; optimization-metric = "energy"; };
)";

/// Everything that is said about an input, errors and warnings; an error ends it after "error: ".
std::string said(const std::string& text, const std::string& name) {
    std::string all;
    const auto add = [&](const timeloop::Warnings& warnings) {
        for (const std::string& warning : warnings) {
            all += warning + "\n";
        }
    };
    timeloop::Warnings warnings;
    try {
        const timeloop::Document document = timeloop::read_document_text(text, name);
        add(document.warnings);
        timeloop::check_document(document, warnings);
    } catch (const UserError& error) {
        all += "error: " + std::string(error.what()) + "\n";
    }
    add(warnings);
    return all;
}

struct Key {
    std::string key, path;
    int line = 0, column = 0;
};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

bool ends_in(const std::string& text, const std::string& ending) {
    return text.size() >= ending.size() &&
           text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

/// Places where names are the user's, or where keys belong to other tools.
bool is_free(const Key& key, bool of_compute) {
    static const std::set<std::string> accelergy = {"technology",
                                                    "global_cycle_seconds",
                                                    "latency",
                                                    "cycle_seconds",
                                                    "n_instances",
                                                    "version",
                                                    "has_power_gating",
                                                    "action_latency_cycles",
                                                    "type",
                                                    "class",
                                                    "required_actions"};
    static const std::set<std::string> of_macs = {"datawidth", "word_bits", "meshX", "meshY",
                                                  "instances", "energy",    "area"};
    const std::string& path = key.path;
    if (contains(path, ".attributes.")) {
        return accelergy.count(key.key) != 0 || (of_compute && of_macs.count(key.key) == 0) ||
               contains(path, "subtree[0].attributes.");  // no component inherits them
    }
    return path.rfind("variables", 0) == 0 || path.rfind("globals", 0) == 0 ||
           path.rfind("compound_components", 0) == 0 || path.rfind("components", 0) == 0 ||
           contains(path, ".arguments.") || contains(path, "ERT.tables.") ||
           contains(path, ".instance.densities.") || ends_in(path, ".required_actions");
}

void collect(const spec::Node& node, bool of_compute, std::vector<Key>& keys) {
    const spec::Node* kind = node.find("class");
    of_compute = kind == nullptr ? of_compute
                                 : contains(kind->text, "mac") || contains(kind->text, "compute");
    for (const spec::Node::Entry& entry : node.entries) {
        const Key key{entry.key, entry.value.path, entry.key_position.line,
                      entry.key_position.column};
        if (!is_free(key, of_compute)) {
            keys.push_back(key);
        }
        collect(entry.value, of_compute, keys);
    }
    for (const spec::Node& item : node.items) {
        collect(item, of_compute, keys);
    }
}

std::vector<Key> keys_of(const std::string& text, const std::string& name) {
    spec::ReadOptions options;
    options.first_key_wins = true;
    spec::Node root = ends_in(name, ".cfg") ? spec::read_libconfig(text, name, options)
                                            : spec::read_text(text, name, options);
    spec::assign_paths(root);
    std::vector<Key> keys;
    collect(root, false, keys);
    return keys;
}

constexpr int slips = 4;

/// A letter lost, doubled or changed, or two swapped.
std::string spoilt(std::string key, int slip, std::size_t at) {
    at %= key.size();
    if (slip == 0 && key.size() > 2) {
        return key.erase(at, 1);
    }
    if (slip == 1 && at + 1 < key.size() && key.size() > 2 && key[at] != key[at + 1]) {
        std::swap(key[at], key[at + 1]);
        return key;
    }
    if (slip == 2) {
        key[at] = key[at] == 'x' ? 'y' : 'x';
        return key;
    }
    return key.insert(at, 1, key[at]);
}

std::string replaced(const std::string& text, const Key& key, const std::string& with) {
    std::istringstream lines(text);
    std::string result, line;
    for (int number = 1; std::getline(lines, line); ++number) {
        if (number == key.line) {
            const std::size_t at = line.find(key.key, static_cast<std::size_t>(key.column) - 1);
            if (at == std::string::npos) {
                return "";
            }
            line.replace(at, key.key.size(), with);
        }
        result += line + "\n";
    }
    return result;
}

/// Checks one slip. \return false where the spoilt key is a word of the language itself.
bool check(const std::string& text, const std::string& name, const Key& key, int slip,
           std::size_t at, const std::set<std::string>& language) {
    const std::string wrong = spoilt(key.key, slip, at);
    std::string plain = wrong;
    std::replace(plain.begin(), plain.end(), '-', '_');
    const std::string changed = replaced(text, key, wrong);
    if (changed.empty() || language.count(plain) != 0) {
        return false;
    }
    const std::string answer = said(changed, name);
    BOOST_TEST((contains(answer, "'" + wrong + "'") || contains(answer, wrong + ",") ||
                contains(answer, wrong + "'")),
               name + ": " + key.path + " as '" + wrong + "' is passed over: " + answer);
    return true;
}

struct Input {
    std::string name, text;
};

std::string read(const fs::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<Input> recorded() {
    std::vector<Input> result;
    const fs::path root = test::test_folder();
    for (const auto& flow : fs::directory_iterator(root / "reference/timeloop/front_end")) {
        for (const char* name : {"spec.yaml", "parsed-processed-input.yaml"}) {
            if (fs::is_regular_file(flow.path() / name)) {
                result.push_back({name, read(flow.path() / name)});
            }
        }
    }
    for (const auto& file : fs::directory_iterator(root.parent_path() / "bench/timeloop")) {
        if (file.path().extension() == ".yaml") {
            result.push_back({file.path().filename().string(), read(file.path())});
        }
    }
    std::sort(result.begin(), result.end(),
              [](const Input& a, const Input& b) { return a.text < b.text; });
    return result;
}

std::vector<Input> written() {
    return {{"levels.yaml", levels},
            {"tree.yaml", tree},
            {"nodes.yaml", nodes},
            {"levels.cfg", libconfig}};
}

std::set<std::string> language_of(const std::vector<Input>& inputs) {
    std::set<std::string> result = {"M", "K"};
    for (const Input& input : inputs) {
        for (const Key& key : keys_of(input.text, input.name)) {
            std::string plain = key.key;
            std::replace(plain.begin(), plain.end(), '-', '_');
            result.insert(plain);
        }
    }
    return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timeloop_keys)

BOOST_AUTO_TEST_CASE(valid_inputs_have_no_unknown_keys) {
    for (const std::vector<Input>& inputs : {written(), recorded()}) {
        for (const Input& input : inputs) {
            std::string answer = said(input.text, input.name);
            // The published problem has the sizes of its image, too.
            if (const std::size_t at = answer.find("unknown keys of the instance, ignored as "
                                                   "Timeloop ignores them: 'H, Hpad, W, Wpad'");
                at != std::string::npos) {
                answer.erase(at, 12);
            }
            BOOST_TEST(!contains(answer, "unknown key"), input.name + ": " + answer);
            BOOST_TEST(!contains(answer, "error: "), input.name + ": " + answer);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_key_of_every_form_is_watched) {
    const std::set<std::string> language = language_of(written());
    int checked = 0;
    for (const Input& input : written()) {
        for (const Key& key : keys_of(input.text, input.name)) {
            for (int slip = 0; slip < slips; ++slip) {
                checked += check(input.text, input.name, key, slip, key.key.size() / 2, language);
            }
        }
    }
    BOOST_TEST(checked > 500);
}

BOOST_AUTO_TEST_CASE(keys_of_other_places_and_split_texts_are_told) {
    const auto of_constraint = [](const std::string& fields) {
        return said(problem +
                        "arch:\n  arithmetic: {instances: 1}\n  storage:\n"
                        "  - {name: RF, instances: 1}\nmapspace_constraints:\n"
                        "- {target: RF, type: temporal, " +
                        fields + "}\n",
                    "in.yaml");
    };
    BOOST_TEST(contains(of_constraint("bypas: [A]"), "'bypas'; did you mean 'bypass'?"));
    BOOST_TEST(contains(of_constraint("keep: [A]"), "unknown key of a constraint"));
    BOOST_TEST(contains(of_constraint("factors: M=2,1"), "'1'; quote a text with commas"));
    BOOST_TEST(contains(of_constraint("factors: M=2,K=4"), "'K=4'; quote a text with commas"));
    BOOST_TEST(contains(of_constraint("factors: M=2, \"split\": 1, Split: 2"), "'split'"));
    BOOST_TEST(contains(of_constraint("default-max-factor: 2, default_max_factor: 4"),
                        "was given before in another spelling, at in.yaml:"));
    BOOST_TEST(contains(of_constraint("no_reuse: [A], no_temporal_reuse: [Z]"),
                        "'no_reuse' is given, too"));
}

BOOST_AUTO_TEST_CASE(random_slips_in_recorded_inputs_are_named) {
    const std::vector<Input> inputs = recorded();
    BOOST_REQUIRE(inputs.size() > 20);
    std::vector<Input> all = written();
    all.insert(all.end(), inputs.begin(), inputs.end());
    const std::set<std::string> language = language_of(all);
    std::vector<std::vector<Key>> keys;
    for (const Input& input : inputs) {
        keys.push_back(keys_of(input.text, input.name));
    }
    std::mt19937 random(54);
    int checked = 0;
    for (int i = 0; i < 1500; ++i) {
        const std::size_t which = random() % inputs.size();
        const Key& key = keys[which][random() % keys[which].size()];
        const int slip = static_cast<int>(random() % slips);
        checked += check(inputs[which].text, inputs[which].name, key, slip, random(), language);
    }
    BOOST_TEST(checked > 1000);
}

BOOST_AUTO_TEST_SUITE_END()
