"""`mlsdk.experimental.llm` with small modules that have the attributes of Hugging Face's Llama models."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from mlsdk import Context, MNDevice, TensorProxy
from mlsdk.errors import CacheStructureError, ModelStructureError, ShapeMismatchError
from mlsdk.experimental.llm.attention_mask import prepare_4d_causal_attention_mask_with_cache_position
from mlsdk.experimental.llm.kv_cache import kv_cache_to_legacy, kv_cache_to_plamo, kv_cache_to_tensor
from mlsdk.experimental.llm.modeling_staged_llama import StageCache, split_llama

HEADS, DIM, HIDDEN, VOCABULARY = 2, 4, 8, 11


class Rotary(nn.Module):
    def forward(self, x: torch.Tensor, position_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rates = 1.0 / 10.0 ** (torch.arange(DIM // 2) / (DIM // 2))
        angles = torch.cat([position_ids[..., None] * rates] * 2, dim=-1)
        return angles.cos(), angles.sin()


class Norm(nn.Module):
    """Root mean square norm."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, HIDDEN))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6))


class Attention(nn.Module):
    def __init__(self, layer_idx: int) -> None:
        super().__init__()
        self.layer_idx = layer_idx
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: Any, cache: Any) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            p(x).view(batch, length, HEADS, DIM).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = (each * cos[:, None] + _turned(each) * sin[:, None] for each in (q, k))
        k, v = cache.update(k, v, self.layer_idx, {"sin": sin, "cos": cos})
        weights = torch.softmax(q @ k.transpose(2, 3) / DIM**0.5 + mask[..., : k.shape[-2]], dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(batch, length, HIDDEN))


def _turned(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([-x[..., DIM // 2 :], x[..., : DIM // 2]], dim=-1)


class Decoder(nn.Module):
    """As in newer versions: a tensor comes back, the cache is `past_key_values`."""

    def __init__(self, layer_idx: int) -> None:
        super().__init__()
        self.self_attn, self.mlp = Attention(layer_idx), nn.Linear(HIDDEN, HIDDEN)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: Any = None,
        position_ids: Any = None,
        past_key_values: Any = None,
        use_cache: bool = False,
        position_embeddings: Any = None,
        **kwargs: Any,
    ) -> Any:
        assert use_cache and not kwargs
        attended = self.self_attn(hidden_states, *position_embeddings, attention_mask, past_key_values)
        hidden_states = hidden_states + attended
        return hidden_states + torch.relu(self.mlp(hidden_states))


class OldDecoder(Decoder):
    """As in older versions: a tuple comes back, the cache is `past_key_value`."""

    def forward(  # type: ignore[override]
        self, hidden_states: torch.Tensor, attention_mask: Any, past_key_value: Any, position_embeddings: Any
    ) -> Any:
        arguments = (attention_mask, None, past_key_value, True, position_embeddings)
        return (super().forward(hidden_states, *arguments),)


class Llama(nn.Module):
    def __init__(self, layers: int, decoder: type[Decoder] = Decoder) -> None:
        super().__init__()
        torch.manual_seed(layers)
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.model.rotary_emb = Rotary()
        self.model.layers = nn.ModuleList(decoder(n) for n in range(layers))
        self.model.norm = Norm()
        self.lm_head = nn.Linear(HIDDEN, VOCABULARY)

    def forward(self, ids: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.model.embed_tokens(ids)
        embeddings = self.model.rotary_emb(x, positions)
        cache = StageCache(0, ())
        for layer in self.model.layers:
            result = layer(
                x,
                attention_mask=mask,
                position_embeddings=embeddings,
                **(
                    {"past_key_value": cache}
                    if isinstance(layer, OldDecoder)
                    else {"past_key_values": cache, "use_cache": True}
                ),
            )
            x = result[0] if isinstance(result, tuple) else result
        return self.lm_head(self.model.norm(x))


def run_stages(stages: list[Any], ids: Any, positions: Any, mask: Any, past: list[Any]) -> tuple[Any, list[Any]]:
    first, *middle, last = stages
    result = first(input_ids=ids, position_ids=positions)
    hidden = result["hidden_states_out"]
    kept = []
    for stage, cache in zip(middle, past, strict=True):
        out = stage(
            hidden_states=hidden,
            position_embeddings_cos=result["position_embeddings_cos_out"],
            position_embeddings_sin=result["position_embeddings_sin_out"],
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
        )
        hidden = out["hidden_states_out"]
        kept.append(out["past_key_values_out"])
    return last(hidden_states=hidden)["logits"], kept


MASK_2D = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
IDS = torch.tensor([[0, 0, 3, 4, 5], [1, 2, 3, 4, 5]])
POSITIONS = (MASK_2D.cumsum(-1) - 1).clamp(min=0)


class TestAttentionMask:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
    def test_prompt_with_padding_on_the_left(self, dtype: torch.dtype) -> None:
        hidden = torch.finfo(dtype).min
        for positions in (POSITIONS, torch.arange(5)[None]):
            mask = prepare_4d_causal_attention_mask_with_cache_position(MASK_2D, positions, dtype)
            assert mask.shape == (2, 1, 5, 5) and mask.dtype == dtype
            for row, query, key in ((r, q, k) for r in range(2) for q in range(5) for k in range(5)):
                if MASK_2D[row, query]:  # rows of the padding are of no use
                    sees = key <= query and bool(MASK_2D[row, key])
                    assert mask[row, 0, query, key].item() == (0 if sees else hidden)

    def test_last_row_rolled_is_the_mask_of_the_next_token(self) -> None:
        mask = prepare_4d_causal_attention_mask_with_cache_position(MASK_2D, POSITIONS, torch.float32)
        rolled = mask[:, :, -1:].roll(-1, -1)
        rolled[..., -1] = 0
        shifted = torch.cat([MASK_2D[:, 1:], torch.ones(2, 1, dtype=torch.int64)], 1)
        wanted = prepare_4d_causal_attention_mask_with_cache_position(shifted, POSITIONS[:, -1:] + 1, torch.float32)
        assert torch.equal(rolled, wanted)

    def test_shapes_are_checked(self) -> None:
        with pytest.raises(ShapeMismatchError, match="mask_2d"):
            prepare_4d_causal_attention_mask_with_cache_position(MASK_2D[0], POSITIONS, torch.float32)
        with pytest.raises(ShapeMismatchError, match=r"position_ids: expected \(2, query\)"):
            prepare_4d_causal_attention_mask_with_cache_position(MASK_2D, POSITIONS[0], torch.float32)


class TestCache:
    PAIRS = tuple((torch.randn(1, HEADS, 5, DIM), torch.randn(1, HEADS, 5, DIM)) for _ in range(3))

    def forms(self) -> list[Any]:
        keys, values = ([pair[n] for pair in self.PAIRS] for n in range(2))
        return [
            self.PAIRS,
            [list(pair) for pair in self.PAIRS],
            SimpleNamespace(to_legacy_cache=lambda: self.PAIRS),
            SimpleNamespace(key_cache=keys, value_cache=values),
            SimpleNamespace(layers=[SimpleNamespace(keys=k, values=v) for k, v in self.PAIRS]),
            kv_cache_to_plamo(kv_cache_to_tensor(self.PAIRS)),
        ]

    def test_every_form_becomes_the_same_tensor_and_goes_back(self) -> None:
        for form in self.forms():
            tensor = kv_cache_to_tensor(form)
            assert tensor.shape == (3, 2, 1, HEADS, 5, DIM)
            for (key, value), (k, v) in zip(kv_cache_to_legacy(tensor), self.PAIRS, strict=True):
                assert torch.equal(key, k) and torch.equal(value, v)

    def test_plamo(self) -> None:
        cache = kv_cache_to_plamo(kv_cache_to_tensor(self.PAIRS))
        assert len(cache) == 3 and cache.get_seq_length() == 5
        new = torch.ones(1, HEADS, 1, DIM)
        key, value = cache.append_kv(new, 2 * new, 1)
        assert key.shape[2] == 6 and torch.equal(value[:, :, -1:], 2 * new) and cache.get_seq_length(1) == 5
        cache.update_attention(new, new, 1)
        assert cache.get_seq_length(1) == 6 and torch.equal(cache[1].key[:, :, :5], self.PAIRS[1][0])

    def test_what_is_no_cache_is_refused(self) -> None:
        with pytest.raises(CacheStructureError, match="got int"):
            kv_cache_to_tensor(3)
        with pytest.raises(CacheStructureError, match=r"layer 0 of the cache: expected \(key, value\)"):
            kv_cache_to_tensor([torch.zeros(2)])
        with pytest.raises(CacheStructureError, match="empty"):
            kv_cache_to_tensor(())
        with pytest.raises(ShapeMismatchError, match="layers, 2, batch"):
            kv_cache_to_legacy(torch.zeros(3, 2))


class TestStages:
    @pytest.mark.parametrize("decoder", [Decoder, OldDecoder])
    @pytest.mark.parametrize(("layers", "n_stages"), [(3, 3), (3, 4), (4, 6)])
    def test_stages_make_the_whole_model(self, decoder: type[Decoder], layers: int, n_stages: int) -> None:
        model = Llama(layers, decoder)
        stages = split_llama(model, n_stages)
        assert len(stages) == n_stages
        mask = prepare_4d_causal_attention_mask_with_cache_position(MASK_2D, POSITIONS, torch.float32)
        logits, caches = run_stages(stages, IDS, POSITIONS, mask, [None] * (n_stages - 2))
        assert torch.equal(logits, model(IDS, POSITIONS, mask))
        assert sum(map(len, caches)) == layers

    def test_decoding_with_the_cache_gives_the_logits_of_the_whole_text(self) -> None:
        model = Llama(3)
        stages = split_llama(model, 4)
        whole = prepare_4d_causal_attention_mask_with_cache_position(MASK_2D, POSITIONS, torch.float32)
        wanted = model(IDS, POSITIONS, whole)
        _, caches = run_stages(stages, IDS[:, :4], POSITIONS[:, :4], whole[:, :, :4, :4], [None, None])
        past = [kv_cache_to_tensor(caches[0]), caches[1]]  # both forms are taken
        logits, _ = run_stages(stages, IDS[:, 4:], POSITIONS[:, 4:], whole[:, :, 4:], past)
        torch.testing.assert_close(logits, wanted[:, 4:])

    def test_bad_requests(self) -> None:
        with pytest.raises(ModelStructureError, match="n_stages must be 3 or more"):
            split_llama(Llama(2), 2)
        with pytest.raises(ModelStructureError, match="leave stages empty; use n_stages=4"):
            split_llama(Llama(4), 5)
        with pytest.raises(ModelStructureError, match=r"Linear is no Llama model.*model\.layers.*lm_head"):
            split_llama(nn.Linear(2, 2), 3)


def _static_decoding(device: str, folder: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of a middle stage and head for one more token, on the device and in torch; the cache shifts by one."""
    model = Llama(2).eval()
    _, middle, last = split_llama(model, 3)
    context = Context(MNDevice(device))
    context.registry.register("llama", model)
    whole = prepare_4d_causal_attention_mask_with_cache_position(MASK_2D, POSITIONS, torch.float32)
    embedded = model.model.embed_tokens(IDS).detach()
    cos, sin = model.model.rotary_emb(embedded, POSITIONS)
    names = ("hidden_states", "position_embeddings_cos", "position_embeddings_sin", "attention_mask", "position_ids")
    cut = [
        dict(zip(names, (embedded[:, r], cos[:, r], sin[:, r], whole[:, :, r, :keys], POSITIONS[:, r]), strict=True))
        for r, keys in ((slice(0, 4), 4), (slice(4, 5), 5))
    ]

    def run(inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
        if "past_key_values" in inputs:
            inputs["past_key_values"] = kv_cache_to_legacy(inputs["past_key_values"])
        out = middle(**inputs)
        cache = kv_cache_to_tensor(out["past_key_values_out"])
        if "past_key_values" in inputs:
            cache = cache[..., 1:, :]
        return {"logits": last(out["hidden_states_out"])["logits"], "cache": cache}

    with torch.no_grad():
        expected = run(dict(cut[0]))
        expected = run({**cut[1], "past_key_values": expected["cache"]})
    prefill = context.compile(run, cut[0], folder / "prefill", training=False, quiet=True)
    cache = prefill(cut[0])["cache"]
    assert isinstance(cache, TensorProxy)
    sample = {**cut[1], "past_key_values": torch.zeros(cache.shape)}
    decode = context.compile(run, sample, folder / "decode", training=False, quiet=True)
    result = decode({**cut[1], "past_key_values": cache})
    torch.testing.assert_close(result["cache"].cpu(), expected["cache"], atol=0.03, rtol=0.03)
    return result["logits"].cpu(), expected["logits"]


def test_static_decoding_on_pfvm(tmp_path: Path) -> None:
    logits, expected = _static_decoding("pfvm:cpu", tmp_path)
    torch.testing.assert_close(logits, expected)


@pytest.mark.slow
def test_static_decoding_on_the_chip(tmp_path: Path) -> None:
    logits, expected = _static_decoding("emu2", tmp_path)
    torch.testing.assert_close(logits, expected, atol=0.05, rtol=0.05)
