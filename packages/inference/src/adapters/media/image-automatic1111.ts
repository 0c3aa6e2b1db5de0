import type { DeploymentEntry } from '@millrace/core/inference';
import { toImageResult, findUnsupportedFields } from './image-adapter.ts';
import type { ImageAdapter, ImageRequest } from './image-adapter.ts';
import { invalidMediaResponse, MediaEngineError } from './media-adapter.ts';
import { bearerHeaders, isRecord, requireJson, parseJsonBody, jsonHeaders } from './media-responses.ts';

/**
 * `/sdapi/v1/txt2img` and `/sdapi/v1/img2img` of AUTOMATIC1111's web UI, which Forge, SD.Next and stable-diffusion.cpp
 * serve as well. It draws one picture after another and finishes a picture whose client has left: its `interrupt` stops
 * whatever is being drawn, which may be somebody else's, so it is never called.
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

/** How the interface's default reads in terms of how much of the first picture is drawn over. */
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
      // Maps of a control net follow the pictures, a sheet of all of them may precede them.
      const pictures = stringsIn(result['images']).slice(first);
      return toImageResult(request, pictures, (index) => seeds[index] ?? request.seed + index);
    },
  };
}

/** Its own users have a name and a password; a proxy before it may want a token. */
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
    // The next request names its own checkpoint; changing back would load one for nothing.
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

/** It reads them out of the prompt. That no name can end its tag was checked with the request. */
function withLora({ prompt, lora }: ImageRequest): string {
  const tags = Object.entries(lora).map(([name, weight]) => ` <lora:${name}:${weight}>`);
  return `${prompt}${tags.join('')}`;
}

/** JSON inside a string: which seed each picture has, and how many sheets come before the first. */
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
  if (!Array.isArray(images)) throw invalidMediaResponse('The engine answered without pictures.');
  const texts = images.filter((item): item is string => typeof item === 'string');
  // Some of its kin put the head of a data URL before each.
  return texts.map((text) => text.replace(/^data:image\/\w+;base64,/, ''));
}
