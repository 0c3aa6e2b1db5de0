import { imageDefaults, type ImageRequest } from './image-adapter.ts';

/** The ComfyUI graph of an image request: checkpoint, LoRAs, prompts, sampler and output. */

type Input = string | number | readonly [node: string, output: number];

interface GraphNode {
  readonly class_type: string;
  readonly inputs: Readonly<Record<string, Input>>;
}

/** The output node. A preview is a temporary file; a saved image would stay on the engine's disk. */
export const IMAGE_NODE = 'pictures';

export function comfyGraph(request: ImageRequest, checkpoint: string): Readonly<Record<string, GraphNode>> {
  const loras = Object.entries(request.lora);
  const [model, clip] = loras.length === 0 ? sourcesOf('checkpoint') : sourcesOf(`lora-${loras.length - 1}`);
  return {
    checkpoint: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: checkpoint } },
    ...Object.fromEntries(
      loras.map(([name, weight], index) => [`lora-${index}`, loraNode(name, weight, index)]),
    ),
    prompt: { class_type: 'CLIPTextEncode', inputs: { text: request.prompt, clip } },
    'negative-prompt': { class_type: 'CLIPTextEncode', inputs: { text: request.negativePrompt ?? '', clip } },
    canvas: {
      class_type: 'EmptyLatentImage',
      inputs: { width: request.width, height: request.height, batch_size: request.count },
    },
    sampler: {
      class_type: 'KSampler',
      inputs: {
        model,
        positive: ['prompt', 0],
        negative: ['negative-prompt', 0],
        latent_image: ['canvas', 0],
        seed: request.seed,
        steps: request.steps,
        cfg: request.cfgScale ?? imageDefaults.cfgScale,
        sampler_name: request.sampler ?? 'euler',
        scheduler: 'normal',
        denoise: 1,
      },
    },
    decoded: { class_type: 'VAEDecode', inputs: { samples: ['sampler', 0], vae: ['checkpoint', 2] } },
    [IMAGE_NODE]: { class_type: 'PreviewImage', inputs: { images: ['decoded', 0] } },
  };
}

/** Model and text encoder are the first two outputs of a checkpoint and of a LoRA. */
function sourcesOf(node: string): readonly [model: Input, clip: Input] {
  return [
    [node, 0],
    [node, 1],
  ];
}

function loraNode(name: string, weight: number, index: number): GraphNode {
  const [model, clip] = sourcesOf(index === 0 ? 'checkpoint' : `lora-${index - 1}`);
  return {
    class_type: 'LoraLoader',
    inputs: { model, clip, lora_name: name, strength_model: weight, strength_clip: weight },
  };
}
