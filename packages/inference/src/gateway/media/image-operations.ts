import { contract } from '@millrace/contract';
import type { FaultIssue } from '@millrace/platform/fault';
import { msToSeconds } from '@millrace/platform/money';
import type { z } from 'zod';
import { imageAdapterOf, type ImageAdapterOptions } from '../../adapters/media/image-adapters.ts';
import { readImageHeader } from '../../adapters/media/image-header.ts';
import { imageDefaults } from '../../adapters/media/image-adapter.ts';
import type { ImageAdapter, ImageResult, ImageRequest } from '../../adapters/media/image-adapter.ts';
import { stripEngineOptions } from '../../wire/strip-engine-options.ts';
import type { MediaOperation, MediaUnits } from './media-operation.ts';
import { createBodyReader, fieldNamesOf } from '../../wire/body-reader.ts';

/** `POST /v1/image/generation` of the API reference, and `POST /v1/images/generations` of OpenAI clients. */

export type ImageOperation = MediaOperation<ImageRequest, ImageResult>;

export interface ImageOperationOptions extends ImageAdapterOptions {
  /** Returns a whole number from 0 to 2^31 - 1. */
  readonly randomSeed: () => number;
}

const { generateImage, createImages } = contract.operations;
type InterfaceBody = z.output<typeof generateImage.body>;
type OpenAiBody = z.output<typeof createImages.body>;

const readInterface = createBodyReader(generateImage.body, fieldNamesOf(generateImage.body), findIssues);
const readOpenAi = createBodyReader(createImages.body, fieldNamesOf(createImages.body), () => []);

/** For OpenAI's `auto` and for a missing size. */
const defaultSide = 1024;

export function imageOperations({
  clock,
  randomSeed,
}: ImageOperationOptions): Readonly<Record<'generateImage' | 'createImages', ImageOperation>> {
  const adapters = new Map<string, ImageAdapter | null>();
  const common = {
    modality: 'image',
    modelOf: (request: ImageRequest) => request.model,
    worstCase: (request: ImageRequest): MediaUnits =>
      units(request.width * request.height * request.steps * request.count),
    made: producedUnits,
    adapterOf: (engine: Parameters<ImageOperation['adapterOf']>[0]) => {
      const known = adapters.get(engine);
      if (known !== undefined) return known;
      const adapter = imageAdapterOf(engine, { clock });
      adapters.set(engine, adapter);
      return adapter;
    },
  } as const;
  return {
    generateImage: {
      ...common,
      id: 'generateImage',
      read(body) {
        const { request, ignored } = readInterface(body);
        return { request: fromInterface(request, randomSeed), ignored };
      },
      nameOf: (field) => field,
      render: (_request, { images }, { elapsedMs }) => ({
        contentType: 'application/json',
        body: JSON.stringify({
          images: images.map(({ base64: image, seed }, index) => ({ index, image, random_seed: seed ?? -1 })),
          inference_time: msToSeconds(Math.round(elapsedMs)),
        }),
      }),
    },
    createImages: {
      ...common,
      id: 'createImages',
      read(body) {
        const { request, ignored } = readOpenAi(body);
        return { request: fromOpenAi(request, randomSeed), ignored };
      },
      nameOf: (field) => openAiNames[field] ?? field,
      render: (_request, { images }, { createdSeconds }) => ({
        contentType: 'application/json',
        body: JSON.stringify({
          created: createdSeconds,
          data: images.map((one) => ({ b64_json: one.base64 })),
        }),
      }),
    },
  };
}

const openAiNames: Record<string, string> = { steps: 'num_inference_steps', cfg_scale: 'guidance_scale' };

function units(imagePixelSteps: number): MediaUnits {
  return { imagePixelSteps, characters: 0 };
}

/** A smaller image is charged by its own size, a larger one by the requested size. */
function producedUnits(request: ImageRequest, { images }: ImageResult): MediaUnits {
  const requested = request.width * request.height;
  const pixels = images.reduce((sum, { width, height }) => sum + Math.min(width * height, requested), 0);
  return units(pixels * request.steps);
}

/** Checks beyond the schema. */
function findIssues(body: InterfaceBody): readonly FaultIssue[] {
  const issues = [
    ...findImageIssues(body.image, 'image'),
    ...findImageIssues(body.controlnet_image, 'controlnet_image'),
  ];
  const [name, image] = [textOf(body.controlnet_name), imageBase64In(body.controlnet_image)];
  if ((name === null) !== (image === null)) {
    const missing = name === null ? 'controlnet_name' : 'controlnet_image';
    issues.push({
      path: [missing],
      message: 'is required together with the other controlnet field',
      code: 'custom',
    });
  }
  for (const lora of Object.keys(body.lora)) {
    if (!loraName.test(lora))
      issues.push({ path: ['lora', lora], message: loraRule, code: 'invalid_format' });
  }
  return issues;
}

function fromInterface(body: InterfaceBody, randomSeed: () => number): ImageRequest {
  const [controlName, controlImage] = [textOf(body.controlnet_name), imageBase64In(body.controlnet_image)];
  return {
    model: body.model_name,
    backend: body.backend,
    prompt: stripEngineOptions(body.prompt),
    negativePrompt: textOf(body.negative_prompt),
    prompt2: textOf(body.prompt_2),
    negativePrompt2: textOf(body.negative_prompt_2),
    width: body.width,
    height: body.height,
    count: 1,
    steps: body.steps,
    cfgScale: body.cfg_scale,
    ...seedFrom(body.seed, randomSeed),
    sampler: textOf(body.sampler),
    stylePreset: textOf(body.style_preset),
    initImage: imageBase64In(body.image),
    strength: body.strength ?? null,
    controlnet:
      controlName === null || controlImage === null ? null : { name: controlName, image: controlImage },
    refiner: body.enable_refiner,
    lora: body.lora,
  };
}

function fromOpenAi(body: OpenAiBody, randomSeed: () => number): ImageRequest {
  const [width = defaultSide, height = defaultSide] =
    body.size === 'auto' ? [] : body.size.split('x').map(Number);
  return {
    model: body.model,
    backend: 'auto',
    prompt: stripEngineOptions(body.prompt),
    negativePrompt: textOf(body.negative_prompt),
    prompt2: null,
    negativePrompt2: null,
    width,
    height,
    count: body.n,
    steps: body.num_inference_steps ?? imageDefaults.steps,
    cfgScale: body.guidance_scale ?? null,
    ...seedFrom(body.seed, randomSeed),
    sampler: null,
    stylePreset: null,
    initImage: null,
    strength: null,
    controlnet: null,
    refiner: false,
    lora: {},
  };
}

/** Clients send an empty string for no value. */
function textOf(text: string | null | undefined): string | null {
  return text == null || text === '' ? null : stripEngineOptions(text);
}

/** By convention a negative seed means a random one. */
function seedFrom(
  seed: number | null | undefined,
  randomSeed: () => number,
): Pick<ImageRequest, 'seed' | 'isSeedGiven'> {
  return seed == null || seed < 0 ? { seed: randomSeed(), isSeedGiven: false } : { seed, isSeedGiven: true };
}

/** Some engines read LoRA names from tags in the prompt, so a name must not end its tag. */
const loraName = /^[\w][\w .()+-]{0,127}$/;
const loraRule = 'must contain only letters, digits, spaces and . ( ) + -';

const dataUrl = /^data:image\/[\w.+-]+;base64,/;
const base64Text = /^[A-Za-z0-9+/]+={0,2}$/;

function imageBase64In(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text.replace(dataUrl, '');
}

/** Must be an image: some engines fetch text that looks like a URL or a file. */
function findImageIssues(text: string | undefined, field: string): FaultIssue[] {
  const base64 = imageBase64In(text);
  if (base64 === null || (base64Text.test(base64) && readImageHeader(base64) !== null)) return [];
  return [{ path: [field], message: 'must be a PNG, JPEG or WebP in base64', code: 'invalid_format' }];
}
