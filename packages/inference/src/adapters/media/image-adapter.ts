import type { DeploymentEntry } from '@millrace/core/inference';
import { readImageHeader } from './image-header.ts';
import { invalidMediaResponse, type MediaAdapter } from './media-adapter.ts';

/** A validated image request, from either API shape. */
export interface ImageRequest {
  readonly model: string;
  /** `auto`, or the engine kind that the client requires. */
  readonly backend: string;
  readonly prompt: string;
  readonly negativePrompt: string | null;
  readonly prompt2: string | null;
  readonly negativePrompt2: string | null;
  readonly width: number;
  readonly height: number;
  readonly count: number;
  readonly steps: number;
  /** Null: the engine's default. */
  readonly cfgScale: number | null;
  /** Generated if the client sent none, so that the response can report it and a retry draws the same image. */
  readonly seed: number;
  readonly isSeedGiven: boolean;
  readonly sampler: string | null;
  readonly stylePreset: string | null;
  readonly initImage: string | null;
  readonly strength: number | null;
  readonly controlnet: { readonly name: string; readonly image: string } | null;
  readonly refiner: boolean;
  readonly lora: Readonly<Record<string, number>>;
}

export interface GeneratedImage {
  readonly base64: string;
  readonly width: number;
  readonly height: number;
  /** Null: the engine does not support seeds. */
  readonly seed: number | null;
}

/** At least one image, and never more than requested. */
export interface ImageResult {
  readonly images: readonly GeneratedImage[];
}

export type ImageAdapter = MediaAdapter<ImageRequest, ImageResult>;

/** A value equal to the default counts as not requested. */
export const imageDefaults = { steps: 30, cfgScale: 5 } as const;

/** API names of the requested fields beyond prompt and size. */
export function requestedFields(request: ImageRequest): readonly string[] {
  const fields: readonly (readonly [string, boolean])[] = [
    ['negative_prompt', request.negativePrompt !== null],
    ['prompt_2', request.prompt2 !== null],
    ['negative_prompt_2', request.negativePrompt2 !== null],
    ['steps', request.steps !== imageDefaults.steps],
    ['cfg_scale', request.cfgScale !== null && request.cfgScale !== imageDefaults.cfgScale],
    ['seed', request.isSeedGiven],
    ['sampler', request.sampler !== null],
    ['style_preset', request.stylePreset !== null],
    ['image', request.initImage !== null],
    ['controlnet_name', request.controlnet !== null],
    ['enable_refiner', request.refiner],
    ['lora', Object.keys(request.lora).length > 0],
  ];
  return fields.flatMap(([name, isUsed]) => (isUsed ? [name] : []));
}

/** Requested fields that are not in `can`, and `backend` if the client requires another engine kind. */
export function findUnsupportedFields(
  request: ImageRequest,
  { engine }: DeploymentEntry,
  can: ReadonlySet<string>,
): readonly string[] {
  const missing = requestedFields(request).filter((name) => !can.has(name));
  return request.backend === 'auto' || request.backend === engine ? missing : ['backend', ...missing];
}

/** Checks the images of an engine and drops surplus ones. */
export function toImageResult(
  request: ImageRequest,
  base64: readonly string[],
  seedOf: (index: number) => number | null,
): ImageResult {
  if (base64.length === 0) throw invalidMediaResponse('The engine returned no image.');
  const images = base64.slice(0, request.count).map((text, index) => {
    const facts = readImageHeader(text);
    if (facts === null) throw invalidMediaResponse('The engine returned data that is not an image.');
    return { base64: text, width: facts.width, height: facts.height, seed: seedOf(index) };
  });
  return { images };
}
