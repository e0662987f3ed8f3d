"""The twelve models that Litz is measured on, with random weights, in a full and a small configuration.

`build(name)` gives the model in evaluation mode and the inputs of one call as keyword arguments. Weights and inputs
depend on `seed` alone. A layer that an architecture initialises to zero (a head, a layer scale) gets random values, or
every comparison downstream of it would compare zeros.
"""
from __future__ import annotations

import dataclasses
from typing import Any, Callable

import torch


@dataclasses.dataclass(frozen=True)
class Model:
    """One row: how to make the module, and what one call is given.

    `make(small)` returns (module, inputs); `dynamic` names, for each input, the dimensions that may vary between calls.
    """

    make: Callable[[bool], tuple[torch.nn.Module, dict[str, torch.Tensor]]]
    dynamic: dict[str, tuple[int, ...]]


def _timm(architecture: str, batch: int, small_size: int = 64, **small_arguments: Any) -> Model:
    def make(small: bool):
        import timm

        arguments = small_arguments if small else {}
        size = small_size if small else 224
        module = timm.create_model(architecture, pretrained=False, **arguments)
        return module, {"x": torch.randn(2 if small else batch, 3, size, size)}

    return Model(make, {"x": (0,)})


def _transformer(config: str, head: str, batch: int, length: int, full: dict, small: dict, decoder: bool = False) -> Model:
    def make(is_small: bool):
        import transformers

        settings = getattr(transformers, config)(**{**full, **(small if is_small else {})})
        # Made on the CPU from the configuration: nothing is downloaded.
        module = getattr(transformers, head)(settings)
        shape = (2, 16) if is_small else (batch, length)
        inputs = {"input_ids": torch.randint(0, settings.vocab_size, shape)}
        if decoder:
            inputs["decoder_input_ids"] = torch.randint(0, settings.vocab_size, shape)
        return module, inputs

    return Model(make, {"input_ids": (0, 1), **({"decoder_input_ids": (0, 1)} if decoder else {})})


_SMALL_BERT = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=211)

MODELS: dict[str, Model] = {
    "resnet50": _timm("resnet50", 4, layers=(1, 1, 1, 1)),
    "bert_base": _transformer("BertConfig", "BertForMaskedLM", 2, 128, {}, _SMALL_BERT),
    "gpt2": _transformer(
        "GPT2Config", "GPT2LMHeadModel", 1, 256, dict(use_cache=False),
        dict(n_embd=64, n_layer=2, n_head=4, n_positions=64, vocab_size=211, bos_token_id=0, eos_token_id=0)),
    "llama_small": _transformer(
        "LlamaConfig", "LlamaForCausalLM", 1, 256,
        dict(hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16,
             num_key_value_heads=4, vocab_size=32000, use_cache=False),
        dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             vocab_size=211)),
    "mobilenetv3": _timm("mobilenetv3_large_100", 8),
    "convnext_tiny": _timm("convnext_tiny", 4, depths=(1, 1, 2, 1), dims=(16, 32, 48, 64)),
    "vit_base": _timm("vit_base_patch16_224", 4, img_size=64, depth=2, embed_dim=64, num_heads=4),
    "distilbert": _transformer(
        "DistilBertConfig", "DistilBertForMaskedLM", 2, 128, {},
        dict(dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=211)),
    "t5_small": _transformer(
        "T5Config", "T5ForConditionalGeneration", 2, 128,
        dict(use_cache=False, vocab_size=32128, d_model=512, num_layers=6, num_heads=8, d_ff=2048),
        dict(vocab_size=211, d_model=64, d_kv=16, num_layers=2, num_heads=4, d_ff=128), decoder=True),
    "swin_tiny": _timm(
        "swin_tiny_patch4_window7_224", 4, small_size=56, img_size=56, embed_dim=24, depths=(2, 2), num_heads=(2, 4)),
    "efficientnet_b0": _timm("efficientnet_b0", 8),
    "mixer_b16": _timm("mixer_b16_224", 4, img_size=64),
}


def build(name: str, *, small: bool = False, seed: int = 0) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """The model `name` in evaluation mode (float32) and the inputs of one call, both from `seed`."""
    torch.manual_seed(seed)
    module, inputs = MODELS[name].make(small)
    if small and name == "mixer_b16":  # timm fixes its depth by name
        module.blocks = module.blocks[:2]
    for parameter in module.parameters():
        if parameter.numel() > 1 and bool(parameter.detach().abs().max() < 1e-4):
            torch.nn.init.normal_(parameter.data, std=0.02)
    return module.eval(), inputs


def cast(module: torch.nn.Module, inputs: dict[str, torch.Tensor], dtype: torch.dtype):
    """`module` and those of `inputs` that are floating point in `dtype` (the module in place)."""
    return module.to(dtype), {k: v.to(dtype) if v.is_floating_point() else v for k, v in inputs.items()}


def outputs(result: Any) -> list[torch.Tensor]:
    """The tensors of a model's result, in order."""
    leaves = torch.utils._pytree.tree_leaves(result.to_tuple() if hasattr(result, "to_tuple") else result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def mark_dynamic(name: str, inputs: dict[str, torch.Tensor]) -> None:
    """Marks the dimensions of `inputs` that the model `name` lets vary."""
    for key, dimensions in MODELS[name].dynamic.items():
        for dimension in dimensions:
            torch._dynamo.mark_dynamic(inputs[key], dimension)
