// Timeloop's files: recorded inputs, those of its Python front end, and a libconfig form of both.

#include "fuzz/hostile.hpp"
#include "fuzz/readers.hpp"
#include "support/paths.hpp"
#include "support/reference_cases.hpp"

namespace tessera::fuzz {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Case {
    std::map<std::string, Source> files;
};

struct Corpus {
    std::vector<Case> cases;
    Donors donors;

    Corpus() {
        const fs::path root = fs::path(test::test_folder()).parent_path();
        const fs::path folder = fs::path(test::test_folder()) / "reference/timeloop";
        for (const auto& [file, step] :
             {std::pair{"exercises.jsonl.gz", 1}, std::pair{"imperfect_mappings.jsonl.gz", 10},
              std::pair{"random_mappings.jsonl.gz", 25}, std::pair{"round_trip.jsonl.gz", 6}}) {
            int count = 0;
            const int every = step;
            testing::for_each_case((folder / file).string(), [&](const YAML::Node& node) {
                if (count++ % every == 0) {
                    add({{"in.yaml", node["input"].as<std::string>()}});
                }
            });
        }
        for (const auto& [name, text] : shipped(root / "bench/timeloop", ".yaml")) {
            add({{"in.yaml", text}});
        }
        add({{"in.yaml", read_bytes(folder / "drop-in/gemm.yaml")}});
        for (const auto& flow : fs::directory_iterator(folder / "front_end")) {
            if (flow.is_directory()) {
                const std::map<std::string, std::string> all = shipped(flow.path(), ".yaml");
                add({{"in.yaml", all.at("spec.yaml")}});
                std::map<std::string, std::string> made = all;
                made.erase("spec.yaml");
                add(made);
            }
        }
    }

private:
    void add(const std::map<std::string, std::string>& files) {
        Case one;
        for (const auto& [name, text] : files) {
            donors.add(one.files.emplace(name, text).first->second.tree);
        }
        cases.push_back(std::move(one));
    }
};

// A search that ends soon, whatever else the input says: of equal keys the first one counts.
constexpr const char* soon = R"(mapper:
  algorithm: random-pruned
  search-size: 20
  timeout: 200
  victory-condition: 10
  num-threads: 1
)";

}  // namespace

Reader timeloop() {
    const auto corpus = std::make_shared<Corpus>();
    return {"timeloop", Place::position, [corpus](Random& random) {
                const Case& one = pick(random, corpus->cases);
                Input input;
                const std::size_t target = below(random, one.files.size());
                Words names;
                for (const auto& [name, source] : one.files) {
                    Source copy = source;
                    std::string file = name;
                    if (one_in(random, 6)) {
                        copy.format = Format::libconfig;
                        copy.text = written(copy.tree, copy.format);
                        file = name.substr(0, name.size() - 5) + ".cfg";
                    }
                    input.files[file] =
                        names.size() == target ? copy.mutated(random, corpus->donors) : copy.text;
                    names.push_back(file);
                }
                if (one_in(random, 40)) {
                    input.files[names[target]] += "{{include_text('" + pick(random, names) +
                                                  "')}}\n{{include_text('" + pick(random, names) +
                                                  "')}}\n";
                }
                static const Words commands = {
                    "timeloop-model", "timeloop-model", "timeloop-mapper", "map",
                    "model",          "check",          "explain"};
                const std::string& command = pick(random, commands);
                if (command.starts_with("timeloop")) {
                    input.words = {command};
                    if (command == "timeloop-mapper") {
                        input.files["soon.yaml"] = soon;
                        input.words.push_back("soon.yaml");
                    }
                    input.words.insert(input.words.end(), names.begin(), names.end());
                    if (command == "timeloop-mapper" && one_in(random, 3)) {
                        input.words.insert(input.words.end(), {"--strategy", "annealing"});
                    }
                    return input;
                }
                input.words = {"tessera", command};
                static const Words options = {"-a", "-w", "-m"};  // any file by any of them
                for (std::size_t i = 0; i < names.size(); ++i) {
                    input.words.insert(input.words.end(), {options.at(i), names[i]});
                }
                if (command == "map") {
                    input.words.insert(input.words.end(),
                                       {"--max-evals", "50", "--max-time", "1s", "--threads", "1"});
                    static const std::vector<Words> searches = {{},
                                                                {"--algorithm", "random"},
                                                                {"--strategy", "annealing"},
                                                                {"--mapper", "genetic"}};
                    const Words& search = pick(random, searches);
                    input.words.insert(input.words.end(), search.begin(), search.end());
                }
                return input;
            }};
}

}  // namespace tessera::fuzz
