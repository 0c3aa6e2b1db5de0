import type { DeploymentEntry } from '@millrace/core/inference';
import { readImageHeader } from './image-header.ts';
import { invalidMediaResponse, type MediaAdapter } from './media-adapter.ts';

/** A validated wish for pictures, in whichever shape it came. */
export interface ImageRequest {
  /** As the client wrote it. */
  readonly model: string;
  /** `auto`, or the kind of engine that the client insists on. */
  readonly backend: string;
  readonly prompt: string;
  readonly negativePrompt: string | null;
  readonly prompt2: string | null;
  readonly negativePrompt2: string | null;
  readonly width: number;
  readonly height: number;
  readonly count: number;
  readonly steps: number;
  /** Null: as the engine likes. */
  readonly cfgScale: number | null;
  /** Chosen for the client where it named none, so that the answer can tell it and a second try draws the same. */
  readonly seed: number;
  readonly isSeedGiven: boolean;
  readonly sampler: string | null;
  readonly stylePreset: string | null;
  /** Base64 of a PNG, JPEG or WebP. */
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
  /** Null: the engine draws as it likes. */
  readonly seed: number | null;
}

/** One picture at least, and never more than were asked for. */
export interface ImageResult {
  readonly images: readonly GeneratedImage[];
}

export type ImageAdapter = MediaAdapter<ImageRequest, ImageResult>;

/** Where the interface has a default, a value equal to it counts as not asked for. */
export const imageDefaults = { steps: 30, cfgScale: 5 } as const;

/** Names on the wire of what is asked for beyond a prompt and a size. */
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

/** What was asked for and is not among `can`. A client may also insist on another kind of engine. */
export function findUnsupportedFields(
  request: ImageRequest,
  { engine }: DeploymentEntry,
  can: ReadonlySet<string>,
): readonly string[] {
  const missing = requestedFields(request).filter((name) => !can.has(name));
  return request.backend === 'auto' || request.backend === engine ? missing : ['backend', ...missing];
}

/** Looks at what an engine sent. More pictures than were asked for are not passed on. */
export function toImageResult(
  request: ImageRequest,
  base64: readonly string[],
  seedOf: (index: number) => number | null,
): ImageResult {
  if (base64.length === 0) throw invalidMediaResponse('The engine answered without a picture.');
  const images = base64.slice(0, request.count).map((text, index) => {
    const facts = readImageHeader(text);
    if (facts === null) throw invalidMediaResponse('The engine answered with something that is no picture.');
    return { base64: text, width: facts.width, height: facts.height, seed: seedOf(index) };
  });
  return { images };
}
