"""The table of networks of kinds that people export today: detectors with their NMS inside, pooling by scatter, speech, text
to speech, long recurrences, decoders with caches, sampling of pictures, transforms of signals, mixtures of experts. Random
weights, small configurations. exports.py runs them.
"""
import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional as fun
from torchvision.models import detection

from export_case import Export


class Call(nn.Module):
    """A network called with inputs by name; pick(answer) -> tensors."""

    def __init__(self, net, names, pick, **more):
        super().__init__()
        self.net, self.names, self.pick, self.more = net, names, pick, more

    def forward(self, *args):
        return self.pick(self.net(**dict(zip(self.names, args)), **self.more))


def plain(module, *inputs):
    """make() of a module class without arguments and of functions that give its inputs."""
    return lambda: (module(), tuple(i() for i in inputs))


def ids(n=2, length=16, vocabulary=200):
    return torch.randint(3, vocabulary, (n, length))


def noise(*shape):
    return torch.randn(shape)


# ---- detectors

def torchvision_detector(build, size=160):
    """Boxes, scores, labels (masks, points): those of one picture, after NMS."""
    def make():
        net = build()

        class One(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net

            def forward(self, x):
                found = self.net([x])
                found = found[1] if isinstance(found, tuple) else found  # a scripted one gives losses, too
                return tuple(found[0].values())
        return One(), (torch.rand(3, size, size),)
    return make


def fpn(**more):
    """A ResNet-18 with a pyramid of its last layers."""
    return detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=5, **more)


SMALL = {"min_size": 128, "max_size": 160, "num_classes": 7}
BLANK = {"weights": None, "weights_backbone": None}


def ssdlite():
    return detection.ssdlite320_mobilenet_v3_large(**BLANK, num_classes=7, topk_candidates=60, detections_per_img=20)


def retinanet():
    return detection.RetinaNet(fpn(returned_layers=[2, 3, 4], extra_blocks=torchvision.ops.feature_pyramid_network.LastLevelP6P7(256, 256)),
                               **SMALL, score_thresh=0.005, topk_candidates=60, detections_per_img=20)


def fcos():
    return detection.FCOS(fpn(returned_layers=[2, 3, 4], extra_blocks=torchvision.ops.feature_pyramid_network.LastLevelP6P7(256, 256)),
                          **SMALL, score_thresh=0.05, topk_candidates=60, detections_per_img=20)


RCNN = {"rpn_pre_nms_top_n_test": 60, "rpn_post_nms_top_n_test": 30, "box_detections_per_img": 10, "box_score_thresh": 0.01}


def faster_rcnn():
    return detection.FasterRCNN(fpn(), **SMALL, **RCNN)


def mask_rcnn():
    return detection.MaskRCNN(fpn(), **SMALL, **RCNN)


def keypoint_rcnn():
    return detection.KeypointRCNN(fpn(), **{**SMALL, "num_classes": 2}, **RCNN)


def detr(kind, size=96, **more):
    """DETR and its kin: a small ResNet, queries, boxes."""
    def make():
        backbone = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1], layer_type="basic",
                                             out_features=["stage2", "stage3", "stage4"][-more.pop("levels", 1):])
        config = getattr(transformers, kind + "Config")(backbone_config=backbone, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                                                       d_model=32, encoder_layers=1, decoder_layers=2, encoder_ffn_dim=48, decoder_ffn_dim=48,
                                                       encoder_attention_heads=4, decoder_attention_heads=4, num_queries=12, num_labels=5, **more)
        net = getattr(transformers, kind + "ForObjectDetection")(config)
        return Call(net, ("pixel_values",), lambda a: (a.logits, a.pred_boxes)), (noise(1, 3, size, size),)
    return make


def rt_detr():
    backbone = transformers.RTDetrResNetConfig(embedding_size=16, hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1], layer_type="basic",
                                               out_features=["stage2", "stage3", "stage4"])
    config = transformers.RTDetrConfig(backbone_config=backbone, encoder_hidden_dim=32, encoder_in_channels=[24, 32, 48], encoder_layers=1, encoder_ffn_dim=48,
                                       encoder_attention_heads=4, d_model=32, num_queries=12, decoder_in_channels=[32, 32, 32], decoder_ffn_dim=48,
                                       decoder_layers=2, decoder_attention_heads=4, num_labels=5, anchor_image_size=None)
    net = transformers.RTDetrForObjectDetection(config)
    return Call(net, ("pixel_values",), lambda a: (a.logits, a.pred_boxes)), (noise(1, 3, 96, 96),)


def yolos():
    config = transformers.YolosConfig(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=[64, 96],
                                      num_detection_tokens=10, num_labels=5)
    return Call(transformers.YolosForObjectDetection(config), ("pixel_values",), lambda a: (a.logits, a.pred_boxes)), (noise(1, 3, 64, 96),)


class Suppressed(nn.Module):
    """A YOLO's end: candidates, classes, NMS for each class, the best of what is left."""

    def forward(self, boxes, scores):
        best, label = scores.max(1)
        kept = torchvision.ops.batched_nms(boxes, best, label, 0.5)
        best, order = best[kept].topk(5)
        kept = kept[order]
        return boxes[kept], best, label[kept]


def candidates(n=60, classes=4):
    torch.manual_seed(2)
    corner = torch.rand(n, 2) * 50
    return torch.cat([corner, corner + 5 + torch.rand(n, 2) * 30], 1), torch.rand(n, classes)


# ---- pooling by scatter

class Pillars(nn.Module):
    """Points into pillars, their features onto a canvas (PointPillars)."""

    def __init__(self):
        super().__init__()
        self.each, self.after = nn.Linear(4, 16), nn.Conv2d(16, 8, 3, padding=1)

    def forward(self, points, at):
        features = fun.relu(self.each(points)).amax(1)
        canvas = torch.zeros(16, 20 * 24)
        place = at[:, 0] * 24 + at[:, 1]
        canvas[:, place] = features.t()
        return self.after(canvas.view(1, 16, 20, 24))


class BirdsEye(nn.Module):
    """Features of pixels lifted by depths and added up in the cells that they fall into (Lift, Splat)."""

    def __init__(self):
        super().__init__()
        self.depth, self.context, self.after = nn.Conv2d(6, 8, 1), nn.Conv2d(6, 10, 1), nn.Conv2d(10, 5, 3)

    def forward(self, x, cell):
        lifted = self.depth(x).softmax(1).unsqueeze(1) * self.context(x).unsqueeze(2)
        flat = lifted.permute(0, 2, 3, 4, 1).reshape(-1, 10)
        pooled = torch.zeros(12 * 16, 10).index_add(0, cell, flat)
        return self.after(pooled.t().reshape(1, 10, 12, 16))


class Voxels(nn.Module):
    """Means and maxima of points by voxel: scatter_reduce."""

    def __init__(self):
        super().__init__()
        self.each = nn.Linear(3, 8)

    def forward(self, points, voxel):
        features, index = self.each(points), voxel.unsqueeze(1).expand(-1, 8)
        most = torch.zeros(30, 8).scatter_reduce(0, index, features, "amax", include_self=False)
        mean = torch.zeros(30, 8).scatter_reduce(0, index, features, "sum") / torch.zeros(30).index_add(0, voxel, torch.ones(len(points))).clamp(min=1).unsqueeze(1)
        return most, mean, fun.relu(most)[voxel] + features


class Tags(nn.Module):
    """Lists of tags as rows of zeros and ones, tags several times over."""

    def __init__(self):
        super().__init__()
        self.score = nn.Linear(40, 7)

    def forward(self, tags):
        hot = torch.zeros(tags.shape[0], 40).scatter(1, tags, 1.0)
        return self.score(hot), hot.sum(1)


class Attended(nn.Module):
    """Attention over the edges of a graph (GAT): a softmax over what meets at each node."""

    def __init__(self):
        super().__init__()
        self.map, self.score = nn.Linear(6, 8), nn.Linear(16, 1)

    def forward(self, x, edges):
        h = self.map(x)
        source, target = edges[0], edges[1]
        e = fun.leaky_relu(self.score(torch.cat([h[source], h[target]], 1))).squeeze(1)
        e = (e - torch.full((10,), -1e9).scatter_reduce(0, target, e, "amax")[target]).exp()
        share = e / (torch.zeros(10).index_add(0, target, e)[target] + 1e-9)
        return torch.zeros(10, 8).index_add(0, target, share.unsqueeze(1) * h[source])


class Penalised(nn.Module):
    """A step of generation: a repetition penalty, a temperature, the best k, those within p, the token."""

    def forward(self, logits, seen):
        score = logits.gather(1, seen)
        logits = logits.scatter(1, seen, torch.where(score < 0, score * 1.3, score / 1.3)) / 0.8
        top, index = logits.topk(20, dim=1)
        share = top.softmax(1)
        hidden = share.cumsum(1) - share > 0.7
        kept = top.masked_fill(hidden, -1e4)
        full = torch.full_like(logits, -1e4).scatter(1, index, kept)
        return full.softmax(1), full.argmax(1)


# ---- speech

WAVE = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "conv_dim": (24, 24, 32), "conv_stride": (5, 2, 2),
        "conv_kernel": (10, 3, 3), "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "vocab_size": 32}


def wave(model, config, **more):
    def make():
        made = getattr(transformers, config)(**WAVE, **more)
        return Call(getattr(transformers, model)(made), ("input_values",), lambda a: a.logits), (noise(2, 1600),)
    return make


WHISPER = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 48, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
           "decoder_ffn_dim": 64, "max_source_positions": 100, "max_target_positions": 40, "vocab_size": 200, "num_mel_bins": 40, "pad_token_id": 0,
           "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}


def whisper_encoder():
    net = transformers.WhisperModel(transformers.WhisperConfig(**WHISPER)).encoder
    return Call(net, ("input_features",), lambda a: a.last_hidden_state), (noise(1, 40, 200),)


def whisper_decoder():
    net = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**WHISPER))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.decoder, self.head = net.model.decoder, net.proj_out

        def forward(self, tokens, heard):
            return self.head(self.decoder(input_ids=tokens, encoder_hidden_states=heard, use_cache=False).last_hidden_state)
    return Decoder(), (ids(1, 9), noise(1, 100, 48))


def conformer():
    return wave("Wav2Vec2ConformerForCTC", "Wav2Vec2ConformerConfig", position_embeddings_type="relative", conv_depthwise_kernel_size=7)()


class Spectrum(nn.Module):
    """What speech networks hear: a short-time transform, mel bands, logarithms."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("bands", torch.rand(33, 10))

    def forward(self, wave):
        s = torch.stft(wave, 64, 16, 64, self.window, center=True, return_complex=True)
        power = torch.view_as_real(s).pow(2).sum(-1)
        return (power.transpose(1, 2) @ self.bands).clamp(min=1e-6).log()


class FourierMix(nn.Module):
    """FNet: the real part of a transform over tokens and features."""

    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(24), nn.Linear(24, 48), nn.Linear(48, 24)

    def forward(self, x):
        y = self.norm(x + torch.view_as_real(torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2))[..., 0])
        return y + self.down(fun.gelu(self.up(y)))


class Filtered(nn.Module):
    """GFNet: a picture times learned numbers in the space of its frequencies, and back."""

    def __init__(self):
        super().__init__()
        self.filter = nn.Parameter(torch.randn(4, 8, 5, 2) * 0.5)

    def forward(self, x):
        f = torch.fft.rfft2(x, norm="ortho") * torch.view_as_complex(self.filter)
        return torch.fft.irfft2(f, s=(8, 8), norm="ortho") + x


def vits():
    """Text to speech; the durations decide how long it is. Noise with a scale of 0: what it says is the same each time."""
    config = transformers.VitsConfig(vocab_size=40, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, window_size=4, ffn_dim=32, flow_size=24,
                                     spectrogram_bins=33, use_stochastic_duration_prediction=False, upsample_initial_channel=32, upsample_rates=[4, 4],
                                     upsample_kernel_sizes=[8, 8], resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]], prior_encoder_num_flows=2,
                                     prior_encoder_num_wavenet_layers=1, duration_predictor_filter_channels=24, noise_scale=0.0)
    return Call(transformers.VitsModel(config), ("input_ids",), lambda a: a.waveform), (ids(1, 12, 40),)


class Spoken(nn.Module):
    """FastSpeech's length regulator: each token's features as often as its duration says, 1 to 5 times; a variational middle
    whose noise has a scale of 0."""

    def __init__(self, after, is_limited=True):
        super().__init__()
        self.embed, self.duration, self.after, self.is_limited = nn.Embedding(30, 16), nn.Linear(16, 1), after, is_limited

    def forward(self, tokens):
        h = self.embed(tokens)
        n = (self.duration(h).squeeze(-1).exp() * 2).round().long()[0]
        n = n.clamp(1, 5) if self.is_limited else n.clamp(min=1)
        long = torch.repeat_interleave(h[0], n, dim=0)
        long = long + torch.randn_like(long) * 0.0
        return self.after(long), n


class OverTime(nn.Module):
    """A convolution over what has been repeated."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(16, 6, 3, padding=1)

    def forward(self, x):
        return self.conv(x.t().unsqueeze(0))


def spoken(after, is_limited=True):
    return lambda: (Spoken(after(), is_limited), (torch.randint(0, 30, (1, 9)),))


def vocoder():
    config = transformers.SpeechT5HifiGanConfig(model_in_dim=20, upsample_initial_channel=32, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4],
                                                resblock_kernel_sizes=[3, 5], resblock_dilation_sizes=[[1, 3], [1, 3]])
    return transformers.SpeechT5HifiGan(config), (noise(1, 12, 20),)


def encodec():
    config = transformers.EncodecConfig(num_filters=8, hidden_size=16, codebook_dim=16, codebook_size=32, upsampling_ratios=[4, 2], num_lstm_layers=1,
                                        target_bandwidths=[24.0])
    net = transformers.EncodecModel(config)

    class Through(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = net.encoder, net.decoder

        def forward(self, x):
            return self.decoder(self.encoder(x))
    return Through(), (noise(1, 1, 320),)


# ---- recurrences

class Recurrence(nn.Module):
    """A thousand steps or so, forwards and backwards, the last states too."""

    def __init__(self, kind):
        super().__init__()
        self.layers = getattr(nn, kind)(12, 16, bidirectional=kind != "RNN", batch_first=True)

    def forward(self, x):
        y, state = self.layers(x)
        return (y, *state) if isinstance(state, tuple) else (y, state)


def recurrence(kind, steps=1000):
    return lambda: (Recurrence(kind), (noise(2, steps, 12),))


# ---- text

def decoder(model, config, **more):
    """A decoder of text: all positions' logits."""
    def make():
        made = getattr(transformers, config)(vocab_size=200, pad_token_id=0, bos_token_id=1, eos_token_id=2, **more)
        return Call(getattr(transformers, model)(made), ("input_ids", "attention_mask"), lambda a: a.logits, use_cache=False), (ids(), torch.ones(2, 16, dtype=torch.int64))
    return make


LLAMA = {"hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}


class Cached(nn.Module):
    """A step of a Llama: caches in, caches out."""

    def __init__(self, net, layers):
        super().__init__()
        self.net, self.layers = net, layers

    def forward(self, tokens, mask, *past):
        cache = transformers.DynamicCache()
        for k in range(self.layers):
            cache.update(past[2 * k], past[2 * k + 1], k)
        answer = self.net(input_ids=tokens, attention_mask=mask, past_key_values=cache, use_cache=True)
        kept = [t for layer in answer.past_key_values.layers for t in (layer.keys, layer.values)]
        return (answer.logits, *kept)


def llama_step():
    net = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=200, **LLAMA))
    return Cached(net, 2), (ids(2, 1), torch.ones(2, 8, dtype=torch.int64), *[noise(2, 2, 7, 12) for _ in range(4)])


def t5():
    config = transformers.T5Config(vocab_size=200, d_model=48, d_kv=12, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0)
    net = transformers.T5ForConditionalGeneration(config)
    return Call(net, ("input_ids", "decoder_input_ids"), lambda a: a.logits, use_cache=False), (ids(), ids(2, 5))


def encoder(model, config, pick, **more):
    def make():
        made = getattr(transformers, config)(vocab_size=200, **more)
        return Call(getattr(transformers, model)(made), ("input_ids", "attention_mask"), pick), (ids(), torch.ones(2, 16, dtype=torch.int64))
    return make


BERT = {"hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def clip():
    text = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 200, "eos_token_id": 199}
    vision = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4, "image_size": 32, "patch_size": 8}
    net = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16))
    return Call(net, ("input_ids", "pixel_values"), lambda a: (a.logits_per_image, a.text_embeds)), (ids(3, 10), noise(2, 3, 32, 32))


# ---- pictures

def swin_v2():
    return torchvision.models.SwinTransformer(patch_size=[4, 4], embed_dim=24, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], num_classes=10,
                                              block=torchvision.models.swin_transformer.SwinTransformerBlockV2,
                                              downsample_layer=torchvision.models.swin_transformer.PatchMergingV2), (noise(1, 3, 64, 64),)


class Warped(nn.Module):
    """A spatial transformer: an affine grid of its own, sampled in all ways."""

    def __init__(self):
        super().__init__()
        self.where = nn.Linear(3 * 8 * 8, 6)

    def forward(self, x):
        theta = self.where(x.flatten(1)).view(-1, 2, 3) * 0.3 + torch.tensor([[1.0, 0, 0], [0, 1, 0]])
        grid = fun.affine_grid(theta, [2, 3, 10, 12], align_corners=False)
        return tuple(fun.grid_sample(x, grid, mode, padding, align_corners=False) for mode in ("bilinear", "nearest") for padding in ("zeros", "border", "reflection"))


def raft():
    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torchvision.models.optical_flow.raft_small(weights=None)

        def forward(self, a, b):
            return self.net(a, b, num_flow_updates=2)[-1]
    return Flow(), (torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128))


class Deformable(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset, self.mask = nn.Conv2d(4, 18, 3, padding=1), nn.Conv2d(4, 9, 3, padding=1)
        self.conv = torchvision.ops.DeformConv2d(4, 6, 3, padding=1)

    def forward(self, x):
        return self.conv(x, self.offset(x), self.mask(x).sigmoid())


class Points(nn.Module):
    """Key points of a picture: maxima of their neighbourhood, the best by TopK, their descriptors sampled (SuperPoint)."""

    def __init__(self):
        super().__init__()
        self.score, self.describe = nn.Conv2d(3, 1, 5, padding=2), nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, x):
        s = self.score(x).sigmoid()
        s = torch.where(s == fun.max_pool2d(s, 3, 1, 1), s, torch.zeros_like(s))
        best, at = s.flatten(1).topk(12)
        y, x0 = at // s.shape[3], at % s.shape[3]
        grid = torch.stack([x0 / (s.shape[3] - 1), y / (s.shape[2] - 1)], -1).unsqueeze(1) * 2 - 1
        return best, at, fun.normalize(fun.grid_sample(self.describe(x), grid, align_corners=True).squeeze(2), dim=1)


class Patches(nn.Module):
    """Unfold, a product over patches by einsum, and fold."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 12, 12) / 3)

    def forward(self, x):
        u = fun.unfold(x, 2, stride=1).view(2, 3, 4, -1)
        v = torch.einsum("bcpl,ckp->bckl", u, self.w[:, :, :4])
        return fun.fold(v.reshape(2, 36, -1)[:, :12], (8, 9), 2, stride=1), torch.einsum("bcpl,bcql->bpq", u, u)


def segment_anything():
    """The decoder of masks: a prompt of points, attention both ways, transposed convolutions."""
    vision = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 64, "patch_size": 8, "output_channels": 16, "mlp_dim": 32,
              "window_size": 3, "global_attn_indexes": [1], "num_pos_feats": 8}
    config = transformers.SamConfig(vision_config=vision, prompt_encoder_config={"hidden_size": 16, "image_size": 64, "patch_size": 8, "mask_input_channels": 8},
                                    mask_decoder_config={"hidden_size": 16, "mlp_dim": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "iou_head_hidden_dim": 16})
    net = transformers.SamModel(config)
    points = torch.tensor([[[[10.0, 20.0], [40.0, 33.0]]]])
    return Call(net, ("pixel_values", "input_points"), lambda a: (a.iou_scores, a.pred_masks)), (noise(1, 3, 64, 64), points)


# ---- the rest

def mamba():
    config = transformers.MambaConfig(vocab_size=200, hidden_size=24, state_size=8, num_hidden_layers=2, time_step_rank=4, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    return Call(transformers.MambaForCausalLM(config), ("input_ids",), lambda a: a.logits, use_cache=False), (ids(1, 12),)


class Experts(nn.Module):
    """The best two of six experts for each token."""

    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(16, 6), nn.Parameter(torch.randn(6, 16, 32) / 4), nn.Parameter(torch.randn(6, 32, 16) / 6)

    def forward(self, x):
        share, which = self.gate(x).softmax(-1).topk(2, dim=-1)
        y = torch.einsum("ntkh,tkhd->ntkd", fun.silu(torch.einsum("td,tkdh->tkh", x, self.up[which])).unsqueeze(0), self.down[which])[0]
        return (share.unsqueeze(-1) * y).sum(1), which


class Series(nn.Module):
    """Sums along an axis both ways, sorting, buckets, triangles, differences."""

    def forward(self, x):
        order = x.sort(dim=1, descending=True)
        bucket = torch.bucketize(x, torch.tensor([-1.0, -0.3, 0.2, 0.9]))
        return (x.cumsum(1), x.flip(1).cumsum(1).flip(1), order.values, order.indices, bucket, x.tril() + x.triu(1) * 2, x.diff(dim=1),
                x.argsort(1))


class Found(nn.Module):
    """Sizes that the data decides: what is unusual, counted, sorted and put in front of the rest."""

    def forward(self, x):
        odd = x[x.abs() > 0.7]
        at = (x > 0).nonzero()
        return odd.sum(), odd.cumsum(0), at, torch.cat([odd, x.flatten()])[:10]


NETWORKS = {
    # detectors with their NMS inside; the older exporter is what torchvision's own pages use
    "ssdlite": Export(torchvision_detector(ssdlite, 200), 18, False, discriminate=False),
    "retinanet": Export(torchvision_detector(retinanet), 18, False, discriminate=False),
    "fcos": Export(torchvision_detector(fcos), 18, False, discriminate=False),
    "faster_rcnn": Export(torchvision_detector(faster_rcnn), 18, False, discriminate=False),
    "mask_rcnn": Export(torchvision_detector(mask_rcnn), 18, False, refused=("another input has another size there", "two such sizes that meet")),
    "keypoint_rcnn": Export(torchvision_detector(keypoint_rcnn), 18, False, discriminate=False,
                            refused=("must have a size that is known", "values of a Loop whose sizes change")),
    "detr": Export(detr("Detr"), 20),
    "deformable_detr": Export(detr("DeformableDetr", levels=3, num_feature_levels=3), 20),
    "rt_detr": Export(rt_detr, 21),
    "yolos": Export(yolos, 22),
    "batched_nms": Export(lambda: (Suppressed(), candidates()), 18, discriminate=False),
    # pooling by scatter
    "pillars": Export(plain(Pillars, lambda: noise(30, 5, 4), lambda: torch.stack([torch.randint(0, 20, (30,)), torch.randint(0, 24, (30,))], 1)), 18, discriminate=False),
    "birds_eye": Export(plain(BirdsEye, lambda: noise(1, 6, 5, 7), lambda: torch.randint(0, 192, (280,))), 19),
    "voxels": Export(plain(Voxels, lambda: noise(80, 3), lambda: torch.randint(0, 25, (80,))), 18),
    "multi_hot": Export(plain(Tags, lambda: torch.randint(0, 40, (4, 9))), 23),
    "graph_attention": Export(plain(Attended, lambda: noise(10, 6), lambda: torch.randint(0, 10, (2, 40))), 20),
    "repetition_penalty": Export(plain(Penalised, lambda: noise(3, 200) * 3, lambda: torch.randint(0, 200, (3, 12))), 21, discriminate=False),
    # speech, text to speech, signals
    "whisper_encoder": Export(whisper_encoder, 18),
    "whisper_decoder": Export(whisper_decoder, 20, names=("tokens", "heard")),
    "wav2vec2": Export(wave("Wav2Vec2ForCTC", "Wav2Vec2Config"), 18),
    "hubert": Export(wave("HubertForCTC", "HubertConfig"), 21),
    "conformer": Export(conformer, 23),
    "vits": Export(vits, 18, refused=("the result's size is data and without a bound", "Sizes that data decides, without a bound")),
    "length_regulator": Export(spoken(lambda: nn.Sequential(nn.Linear(16, 6), nn.ReLU(), nn.LayerNorm(6))), 18),
    "length_regulator_conv": Export(spoken(OverTime), 18, refused=("only the batch of input 0 may have it", "windows (Conv, pools) over such a dimension")),
    "length_regulator_free": Export(spoken(lambda: nn.Linear(16, 6), False), 20,
                                    refused=("the result's size is data and without a bound", "Sizes that data decides, without a bound")),
    "hifi_gan": Export(vocoder, 22),
    "encodec": Export(encodec, 17, False),
    "stft_mel": Export(plain(Spectrum, lambda: noise(2, 800)), 18),
    "fnet": Export(plain(FourierMix, lambda: noise(2, 10, 24)), 20),
    "gfnet": Export(plain(Filtered, lambda: noise(2, 4, 8, 8)), 20),
    # recurrences of a thousand steps
    "lstm_1000": Export(recurrence("LSTM"), 18),
    "gru_1000": Export(recurrence("GRU"), 22),
    "rnn_1000": Export(recurrence("RNN"), 20, False),
    # Today's exporter writes an RNN's steps one by one, and takes five minutes for a thousand.
    "rnn_unrolled": Export(recurrence("RNN", 150), 20),
    # text
    "gpt2": Export(decoder("GPT2LMHeadModel", "GPT2Config", n_embd=48, n_layer=2, n_head=4, n_positions=64), 18, names=("tokens", "mask")),
    "llama": Export(decoder("LlamaForCausalLM", "LlamaConfig", **LLAMA), 23, names=("tokens", "mask")),
    "llama_step": Export(llama_step, 20),
    "gemma2": Export(decoder("Gemma2ForCausalLM", "Gemma2Config", head_dim=12, **LLAMA), 21, names=("tokens", "mask")),
    "qwen3": Export(decoder("Qwen3ForCausalLM", "Qwen3Config", head_dim=12, **LLAMA), 18, names=("tokens", "mask")),
    "mistral": Export(decoder("MistralForCausalLM", "MistralConfig", sliding_window=6, **LLAMA), 19, names=("tokens", "mask")),
    "t5": Export(t5, 19),
    "modernbert": Export(encoder("ModernBertModel", "ModernBertConfig", lambda a: a.last_hidden_state, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                 cls_token_id=1, sep_token_id=2, **BERT), 22),
    "deberta_v2": Export(encoder("DebertaV2Model", "DebertaV2Config", lambda a: a.last_hidden_state, relative_attention=True, position_buckets=8,
                                 pos_att_type=["p2c", "c2p"], **BERT), 18),
    "mamba": Export(mamba, 18),
    "experts": Export(plain(Experts, lambda: noise(7, 16)), 20, discriminate=False),
    # pictures
    "swin_v2": Export(swin_v2, 18),
    "warped": Export(plain(Warped, lambda: noise(2, 3, 8, 8)), 20),
    "raft": Export(raft, 20),
    "deformable_convolution": Export(plain(Deformable, lambda: noise(1, 4, 9, 11)), 19),
    "key_points": Export(plain(Points, lambda: noise(1, 3, 24, 20)), 20, discriminate=False),
    "patches": Export(plain(Patches, lambda: noise(2, 3, 8, 9)), 18),
    "clip": Export(clip, 21),
    "segment_anything": Export(segment_anything, 18),
    # arithmetic
    "series": Export(plain(Series, lambda: noise(6, 15)), 23, discriminate=False),
    "found": Export(plain(Found, lambda: noise(6, 7)), 21, discriminate=False),
}
