import type { DeploymentEntry } from '@millrace/core/inference';
import { toImageResult, findUnsupportedFields } from './image-adapter.ts';
import type { ImageAdapter, ImageRequest } from './image-adapter.ts';
import { invalidMediaResponse, MediaEngineError } from './media-adapter.ts';
import { bearerHeaders, isRecord, requireJson, parseJsonBody, jsonHeaders } from './media-responses.ts';

/**
 * AUTOMATIC1111's `/sdapi/v1/txt2img` and `img2img`, which Forge, SD.Next and stable-diffusion.cpp serve too. Its `interrupt`
 * stops whatever image is in progress, perhaps of another tenant, so it is never called.
 */

const supportedFields = new Set([
  'negative_prompt',
  'steps',
  'cfg_scale',
  'seed',
  'sampler',
  'style_preset',
  'image',
  'controlnet_name',
  'lora',
]);

/** The documented default as AUTOMATIC1111's denoising strength. */
const defaultStrength = 0.75;

export function createAutomatic1111Adapter(): ImageAdapter {
  return {
    unsupportedFields: (request, deployment) => findUnsupportedFields(request, deployment, supportedFields),
    async run(request, { deployment }, call, signal) {
      const response = await call(
        {
          method: 'POST',
          path: request.initImage === null ? '/sdapi/v1/txt2img' : '/sdapi/v1/img2img',
          headers: { ...jsonHeaders, ...authorization(deployment) },
          body: JSON.stringify(bodyFor(request, deployment.upstreamModel)),
        },
        signal,
      );
      if (response.status === 404 && /sampler not found/i.test(response.body.toString())) {
        throw new MediaEngineError({
          status: 404,
          reason: 'VALIDATION_FAILED',
          message: 'The engine does not know this sampler.',
          retryable: false,
        });
      }
      const result = requireJson(response);
      const { first, seeds } = readInfo(result['info']);
      // Control maps can follow the images, and a contact sheet can precede them.
      const pictures = stringsIn(result['images']).slice(first);
      return toImageResult(request, pictures, (index) => seeds[index] ?? request.seed + index);
    },
  };
}

/** AUTOMATIC1111 uses a name and a password; a proxy in front of it might want a token. */
function authorization({ apiKey }: DeploymentEntry): Record<string, string> {
  if (apiKey === null || !apiKey.includes(':')) return bearerHeaders(apiKey);
  return { authorization: `Basic ${Buffer.from(apiKey, 'utf8').toString('base64')}` };
}

function bodyFor(request: ImageRequest, checkpoint: string): Readonly<Record<string, unknown>> {
  const { controlnet, initImage } = request;
  return {
    prompt: withLora(request),
    negative_prompt: request.negativePrompt ?? '',
    width: request.width,
    height: request.height,
    steps: request.steps,
    seed: request.seed,
    batch_size: 1,
    n_iter: request.count,
    ...(request.cfgScale === null ? {} : { cfg_scale: request.cfgScale }),
    ...(request.sampler === null ? {} : { sampler_name: request.sampler }),
    ...(request.stylePreset === null ? {} : { styles: [request.stylePreset] }),
    ...(initImage === null
      ? {}
      : { init_images: [initImage], denoising_strength: request.strength ?? defaultStrength }),
    ...(controlnet === null ? {} : { alwayson_scripts: { controlnet: { args: [controlUnit(controlnet)] } } }),
    override_settings: { sd_model_checkpoint: checkpoint },
    // The next request names its own checkpoint, so restoring would load a model for nothing.
    override_settings_restore_afterwards: false,
    send_images: true,
    save_images: false,
  };
}

function controlUnit({
  name,
  image,
}: NonNullable<ImageRequest['controlnet']>): Readonly<Record<string, unknown>> {
  return { enabled: true, model: name, image };
}

/** LoRAs are part of the prompt. Request validation ensures that no name can end its tag. */
function withLora({ prompt, lora }: ImageRequest): string {
  const tags = Object.entries(lora).map(([name, weight]) => ` <lora:${name}:${weight}>`);
  return `${prompt}${tags.join('')}`;
}

/** JSON in a string: the seed of each image, and the number of contact sheets before the first. */
function readInfo(info: unknown): { readonly first: number; readonly seeds: readonly number[] } {
  const value = typeof info === 'string' ? parseJsonBody(info) : info;
  if (!isRecord(value)) return { first: 0, seeds: [] };
  const { index_of_first_image: first, all_seeds: seeds } = value;
  return {
    first: Number.isSafeInteger(first) ? Number(first) : 0,
    seeds: Array.isArray(seeds) ? seeds.filter((seed): seed is number => Number.isSafeInteger(seed)) : [],
  };
}

function stringsIn(images: unknown): readonly string[] {
  if (!Array.isArray(images)) throw invalidMediaResponse('The engine returned no images.');
  const texts = images.filter((item): item is string => typeof item === 'string');
  // Some compatible servers put a data URL header before each image.
  return texts.map((text) => text.replace(/^data:image\/\w+;base64,/, ''));
}
