#!/usr/bin/env python3
"""Facts about the models of tests/models, computed without the engine: python3 tests/format/roles_oracle.py tests/models > tests/golden/format/roles.json

Reads the safetensors headers alone. A role is a pattern of names, its bytes are the sum of data_offsets of its tensors, scales included."""
import json
import pathlib
import re
import struct
import sys

ROLES = [
    (r"model\.embed_tokens\.", "embedding"),
    (r"lm_head\.", "head"),
    (r".*\.self_attn\.indexer\.(wq_b|wk|weights_proj)\.", "indexer"),
    (r".*\.self_attn\.(q_a_proj|q_b_proj|kv_a_proj_with_mqa)\.", "attention"),
    (r".*\.self_attn\.kv_b_proj\.", "kv_b"),
    (r".*\.self_attn\.o_proj\.", "o"),
    (r".*\.mlp\.shared_experts\.", "shared"),
    (r".*\.mlp\.experts\.", "experts"),
    (r".*\.mlp\.(gate|up|down)_proj\.", "dense"),
    (r".*\.mlp\.gate\.weight", "router"),
    (r".*\.eh_proj\.", "eh_proj"),
    (r".*(norm|layernorm)\.(weight|bias)$|.*e_score_correction_bias$", "norms"),
]


def role_of(name, trunk_layers):
    role = next(r for pattern, r in ROLES if re.match(pattern, name))
    layer = re.match(r"model\.layers\.(\d+)\.", name)
    return "mtp." + role if layer and int(layer.group(1)) >= trunk_layers else role


def facts(directory):
    layers = json.loads((directory / "config.json").read_text())["num_hidden_layers"]
    bytes_by_role = {}
    count = 0
    for path in sorted(directory.glob("*.safetensors")):
        if path.name == "expected.safetensors":
            continue
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            count += 1
            begin, end = entry["data_offsets"]
            role = role_of(name, layers)
            bytes_by_role[role] = bytes_by_role.get(role, 0) + end - begin
    return {"tensors": count, "bytes": dict(sorted(bytes_by_role.items()))}


root = pathlib.Path(sys.argv[1])
print(json.dumps({d.name: facts(d) for d in sorted(root.iterdir()) if (d / "config.json").exists()}, indent=1))
