import { toImageResult, findUnsupportedFields } from './image-adapter.ts';
import type { ImageAdapter, ImageRequest } from './image-adapter.ts';
import { invalidMediaResponse } from './media-adapter.ts';
import { bearerHeaders, isRecord, requireJson, jsonHeaders } from './media-responses.ts';

/** OpenAI's `POST /v1/images/generations` and its extensions by diffusion engines. OpenAI itself refuses unknown fields. */

export type OpenAiImageEngine = 'openai' | 'openai-images' | 'vllm' | 'sglang';

interface OpenAiImageDialect {
  /** By their API names. */
  readonly can: ReadonlySet<string>;
  readonly mostSteps?: number;
  readonly mostCfgScale?: number;
  /** Fields in addition to model, prompt, count and size. */
  readonly extras: (request: ImageRequest, upstreamModel: string) => Readonly<Record<string, unknown>>;
}

const diffusion = new Set(['negative_prompt', 'steps', 'cfg_scale', 'seed']);

const diffusionFields = (request: ImageRequest): Readonly<Record<string, unknown>> => ({
  response_format: 'b64_json',
  num_inference_steps: request.steps,
  seed: request.seed,
  ...(request.cfgScale === null ? {} : { guidance_scale: request.cfgScale }),
  ...(request.negativePrompt === null ? {} : { negative_prompt: request.negativePrompt }),
});

/** Guidance-distilled models use a negative prompt only together with this field. */
const trueGuidance = (request: ImageRequest): Readonly<Record<string, unknown>> =>
  request.negativePrompt === null || request.cfgScale === null ? {} : { true_cfg_scale: request.cfgScale };

const dialects: Readonly<Record<OpenAiImageEngine, OpenAiImageDialect>> = {
  openai: {
    can: new Set(),
    // Newer models always return base64 and refuse this field.
    extras: (_request, model) => (model.startsWith('dall-e') ? { response_format: 'b64_json' } : {}),
  },
  'openai-images': { can: diffusion, extras: diffusionFields },
  vllm: {
    can: diffusion,
    mostSteps: 200,
    mostCfgScale: 20,
    extras: (request) => ({ ...diffusionFields(request), ...trueGuidance(request) }),
  },
  sglang: {
    can: diffusion,
    // Without a seed SGLang uses a fixed one, and without a format it returns a URL of a local file.
    extras: (request) => ({
      ...diffusionFields(request),
      ...trueGuidance(request),
      width: request.width,
      height: request.height,
    }),
  },
};

export function createOpenAiImageAdapter(engine: OpenAiImageEngine): ImageAdapter {
  const { can, mostSteps = Infinity, mostCfgScale = Infinity, extras } = dialects[engine];
  return {
    unsupportedFields(request, deployment) {
      const beyond = [
        ...(request.steps > mostSteps ? ['steps'] : []),
        ...((request.cfgScale ?? 0) > mostCfgScale ? ['cfg_scale'] : []),
      ];
      return [...findUnsupportedFields(request, deployment, can), ...beyond];
    },
    async run(request, { deployment }, call, signal) {
      const body = {
        model: deployment.upstreamModel,
        prompt: request.prompt,
        n: request.count,
        size: `${request.width}x${request.height}`,
        ...extras(request, deployment.upstreamModel),
      };
      const response = await call(
        {
          method: 'POST',
          path: '/v1/images/generations',
          headers: { ...jsonHeaders, ...bearerHeaders(deployment.apiKey) },
          body: JSON.stringify(body),
        },
        signal,
      );
      const isSeeded = can.has('seed');
      return toImageResult(request, base64In(requireJson(response)), (index) =>
        isSeeded ? request.seed + index : null,
      );
    },
  };
}

function base64In({ data }: Readonly<Record<string, unknown>>): readonly string[] {
  if (!Array.isArray(data)) throw invalidMediaResponse('The engine returned no images.');
  return data.map((item: unknown) => {
    const text = isRecord(item) ? item['b64_json'] : undefined;
    if (typeof text !== 'string')
      throw invalidMediaResponse('The engine returned a URL instead of an image.');
    return text;
  });
}
