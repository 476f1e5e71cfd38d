// Native files: architectures, workloads, mappings.

#include <algorithm>

#include "cli/session.hpp"
#include "fuzz/hostile.hpp"
#include "fuzz/readers.hpp"
#include "support/paths.hpp"
#include "support/reference_cases.hpp"
#include "support/zigzag_layer.hpp"

namespace tessera::fuzz {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Corpus {
    std::map<std::string, Source> archs, workloads;
    std::map<std::string, std::string> blocks;  ///< files that workloads include
    Donors donors;

    Corpus() {
        const fs::path root = fs::path(test::test_folder()).parent_path();
        const fs::path reference = testing::accelforge_folder();
        add(archs, shipped(root / "arch-specs", ".yaml"), "");
        add(archs, shipped(reference / "arch", ".yaml"), "reference/");
        add(workloads, shipped(root / "problem-shapes", ".yaml"), "");
        add(workloads, shipped(reference / "workload", ".yaml"), "reference/");
        for (auto& [name, text] : shipped(root / "problem-shapes/blocks", ".yml")) {
            donors.files.push_back("blocks/" + name);
            donors.add(Source(text).tree);
            blocks["blocks/" + name] = text;
        }
        archs.emplace("small", cli_test::small_arch);
        workloads.emplace("small", cli_test::small_workload);
        for (const char* name : {"arch.yaml", "workload.yaml", ".", "/dev/null", "none.yaml"}) {
            donors.files.push_back(name);
        }
        // Names that expressions know.
        for (const char* name : {"All", "Intermediates", "input", "output", "weight", "Nothing",
                                 "Tensors", "Shared", "Other", "BITS", "MainMemory", "i"}) {
            donors.texts.push_back(name);
        }
    }

    const Source& workload(const std::string& name) const {
        return workloads.at("reference/" + name);
    }

private:
    void add(std::map<std::string, Source>& to, const std::map<std::string, std::string>& files,
             const std::string& prefix) {
        for (const auto& [name, text] : files) {
            const auto [added, is_new] = to.emplace(prefix + name, text);
            donors.add(added->second.tree);
        }
    }
};

const Corpus& corpus() {
    static const Corpus made;
    return made;
}

template <class Map>
const auto& any(Random& random, const Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(below(random, map.size())))->second;
}

/// Puts the file under `name`.yaml, or now and then its tree under `name`.cfg.
void add_file(Random& random, Input& input, const std::string& name, const Source& source,
              bool mutated) {
    Source one = source;
    std::string file = name + ".yaml";
    if (one_in(random, 6)) {
        one.format = Format::libconfig;
        one.text = written(one.tree, one.format);
        file = name + ".cfg";
    }
    input.files[file] = mutated ? one.mutated(random, corpus().donors) : one.text;
    input.words.insert(input.words.end(), {"-" + name.substr(0, 1), file});
}

void add_blocks(Random& random, Input& input, bool mutated) {
    const auto uses = [](const auto& file) {
        return file.second.find("blocks/") != std::string::npos;
    };
    if (std::any_of(input.files.begin(), input.files.end(), uses)) {
        input.files.insert(corpus().blocks.begin(), corpus().blocks.end());
        if (mutated) {
            auto file =
                std::next(input.files.find(corpus().blocks.begin()->first),
                          static_cast<std::ptrdiff_t>(below(random, corpus().blocks.size())));
            file->second = Source(file->second).mutated(random, corpus().donors);
        }
    }
}

void add_defines(Random& random, Input& input) {
    while (one_in(random, 6)) {
        const std::string value = one_in(random, 2) ? hostile_number(random)
                                                    : expression(random, corpus().donors.texts, 2);
        input.words.insert(input.words.end(),
                           {"-D", pick(random, corpus().donors.keys) + "=" + value});
    }
}

/// 2^n files, were each include read anew.
void add_chain(Random& random, Input& input) {
    const std::size_t length = 1 + below(random, 40);
    for (std::size_t i = 0; i < length; ++i) {
        const std::string next = "c" + std::to_string(i + 1) + ".yaml";
        input.files["c" + std::to_string(i) + ".yaml"] =
            i + 1 == length ? "variables: {X: 1}\n" : "include: [" + next + ", " + next + "]\n";
    }
    auto& first = input.files.begin()->second;
    first = "include: c0.yaml\n" + first;
}

const Words short_search = {"--max-evals", "50", "--max-time", "1s", "--threads", "1", "-q"};

}  // namespace

Reader specs() {
    return {"specs", Place::position, [](Random& random) {
                Input input;
                const bool search = one_in(random, 4);
                input.words = {"tessera", search ? "map" : "check"};
                const std::size_t target = below(random, 8);
                add_file(random, input, "arch", any(random, corpus().archs), target < 4);
                add_file(random, input, "workload", any(random, corpus().workloads),
                         target >= 3 && target < 7);
                add_blocks(random, input, target == 7);
                add_defines(random, input);
                if (one_in(random, 60)) {
                    add_chain(random, input);
                }
                if (search) {
                    input.words.insert(input.words.end(), short_search.begin(), short_search.end());
                    if (one_in(random, 3)) {
                        input.words.insert(input.words.end(), {"--mapper", "random"});
                    }
                }
                return input;
            }};
}

Reader mappings() {
    struct Case {
        std::string arch, workload;
        Source mapping;
    };
    const auto cases = std::make_shared<std::vector<Case>>();
    const auto donors = std::make_shared<Donors>();
    for (const char* file : {"evaluate.jsonl.gz", "rejected.jsonl.gz"}) {
        int count = 0;
        testing::for_each_case(testing::accelforge_folder() + file, [&](const YAML::Node& node) {
            if (count++ % 5 == 0) {
                cases->push_back({node["arch"].as<std::string>(),
                                  node["workload"].as<std::string>(),
                                  Source(node["mapping_yaml"].as<std::string>())});
                donors->add(cases->back().mapping.tree);
            }
        });
    }
    return {"mappings", Place::position, [cases, donors](Random& random) {
                const Case& one = pick(random, *cases);
                static const Words commands = {"model", "explain", "check"};
                Input input;
                input.words = {"tessera", pick(random, commands), "-m", "mapping.yaml"};
                const std::size_t target = below(random, 5);
                input.files["mapping.yaml"] =
                    target < 3 ? one.mapping.mutated(random, *donors) : one.mapping.text;
                add_file(random, input, "arch", corpus().archs.at("reference/" + one.arch),
                         target == 3);
                add_file(random, input, "workload", corpus().workload(one.workload), target == 4);
                return input;
            }};
}

Reader zigzag() {
    std::string spec = testing::zigzag_spec;
    for (std::size_t at = 0; (at = spec.find("SIZE", at)) != std::string::npos;) {
        spec.replace(at, 4, "128");
    }
    const auto mapping = std::make_shared<Source>(testing::zigzag_found());
    mapping->format = Format::json;
    const auto donors = std::make_shared<Donors>();
    donors->add(mapping->tree);
    for (const char* text : {"(D0, 4)", "(D1, 128)", "(D2, 0)", "(D9, 2)",
                             "MemoryLevel(instance=l1,operands=[I1], x)"}) {
        donors->texts.push_back(text);
    }
    return {"zigzag", Place::file, [spec, mapping, donors](Random& random) {
                static const Words commands = {"model", "explain", "check"};
                Input input;
                input.words = {"tessera", pick(random, commands), "-a", "layer.yaml",
                               "-w",      "layer.yaml",           "-m", "mapping.json"};
                input.files = {{"layer.yaml", spec},
                               {"mapping.json", mapping->mutated(random, *donors)}};
                return input;
            }};
}

}  // namespace tessera::fuzz
