"""`tessera schema`: what it refuses is what the readers refuse, and nothing else."""

import json
import os
import pathlib
import random
import subprocess

import pytest

import tessera

jsonschema = pytest.importorskip("jsonschema")
yaml = pytest.importorskip("yaml")

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = {"arch": TOP / "arch-specs", "workload": TOP / "problem-shapes"}


class Loader(yaml.SafeLoader):
    """Tags are no part of JSON: editors take them away as well."""


def _untagged(loader, _, node):
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


Loader.add_multi_constructor("!", _untagged)


def run(*words):
    program = os.environ.get("TESSERA_PROGRAM", "tessera")
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)


def schema(kind):
    ran = run("schema", kind)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)



@pytest.mark.parametrize("kind", FOLDERS)
def test_shipped_files_are_valid(kind):
    validator = schema(kind)
    for path in FOLDERS[kind].glob("*.yaml"):
        errors = list(validator.iter_errors(yaml.load(path.read_text(), Loader)))
        assert not errors, f"{path}: {jsonschema.exceptions.best_match(errors).message[:500]}"


def maps_of(node, path=()):
    """The maps whose keys are Tessera's, by their place."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from maps_of(item, (*path, index))
    elif isinstance(node, dict):
        yield path
        for key, value in node.items():
            if key in ("arch", "nodes", "actions", "tensors", "spatial", "loop_bounds", "workload",
                       "einsums", "tensor_accesses"):
                yield from maps_of(value, (*path, key))


class Dumper(yaml.SafeDumper):
    pass


class Tagged(dict):
    tag = ""


def _kept(loader, suffix, node):
    value = Tagged(loader.construct_mapping(node, deep=True))
    value.tag = "!" + suffix
    return value


class KeepingLoader(yaml.SafeLoader):
    pass


KeepingLoader.add_multi_constructor("!", _kept)
Dumper.add_representer(Tagged, lambda d, v: d.represent_mapping(v.tag, dict(v)))


def at(node, path):
    for step in path:
        node = node[step]
    return node


@pytest.mark.parametrize("kind", FOLDERS)
def test_wrong_keys_are_refused_by_both(kind, tmp_path):
    validator = schema(kind)
    draw = random.Random(7)
    tried = 0
    for path in sorted(FOLDERS[kind].glob("*.yaml")):
        text = path.read_text()
        if "include:" in text or "repeat:" in text:
            continue
        places = list(maps_of(yaml.load(text, Loader)))
        for place in draw.sample(places, min(4, len(places))):
            plain = yaml.load(text, Loader)
            at(plain, place)["no_such_key"] = 1
            assert not validator.is_valid(plain), f"{path}: {place}"
            kept = yaml.load(text, KeepingLoader)
            at(kept, place)["no_such_key"] = 1
            wrong = tmp_path / path.name
            wrong.write_text(yaml.dump(kept, Dumper=Dumper, sort_keys=False, width=10000))
            ran = run("check", "-a" if kind == "arch" else "-w", str(wrong))
            assert ran.returncode == 2, f"{path}: {place}"
            assert "no_such_key" in ran.stderr, f"{path}: {place}: {ran.stderr}"
            tried += 1
    assert tried > 10


def test_mappings_that_are_written_are_valid():
    validator = schema("mapping")
    for arch, workload in (("simba", "matmuls"), ("eyeriss", "mobilenet-28")):
        problem = tessera.Problem.load(arch, workload)
        found = tessera.map(problem, limits=tessera.Limits(max_cpu_time=20))
        document = yaml.load(found.best.mapping.to_yaml(), Loader)
        errors = list(validator.iter_errors(document))
        assert not errors, jsonschema.exceptions.best_match(errors).message[:500]
        assert not validator.is_valid({"mapping": {"nodes": [{"tensor": ["A"]}]}})


@pytest.mark.parametrize("words", [(), ("chip",), ("arch", "workload")])
def test_other_words_are_refused(words):
    ran = run("schema", *words)
    assert ran.returncode == 2 and ran.stdout == ""
    assert "arch, workload, mapping" in ran.stderr
