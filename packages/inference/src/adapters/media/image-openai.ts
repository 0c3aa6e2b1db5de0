import { toImageResult, findUnsupportedFields } from './image-adapter.ts';
import type { ImageAdapter, ImageRequest } from './image-adapter.ts';
import { invalidMediaResponse } from './media-adapter.ts';
import { bearerHeaders, isRecord, requireJson, jsonHeaders } from './media-responses.ts';

/**
 * `POST /v1/images/generations`, as OpenAI has it and as engines of diffusion models have widened it. They agree on
 * `num_inference_steps`, `guidance_scale`, `negative_prompt` and `seed`; OpenAI itself refuses fields that it does not know.
 */

export type OpenAiImageEngine = 'openai' | 'openai-images' | 'vllm' | 'sglang';

interface OpenAiImageDialect {
  /** By their names in our interface. */
  readonly can: ReadonlySet<string>;
  readonly mostSteps?: number;
  readonly mostCfgScale?: number;
  /** What is added to model, prompt, number and size. */
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

/** Models that were distilled for guidance take a negative prompt into account only with this beside it. */
const trueGuidance = (request: ImageRequest): Readonly<Record<string, unknown>> =>
  request.negativePrompt === null || request.cfgScale === null ? {} : { true_cfg_scale: request.cfgScale };

const dialects: Readonly<Record<OpenAiImageEngine, OpenAiImageDialect>> = {
  openai: {
    can: new Set(),
    // Newer models always answer base64, and refuse to be asked for it.
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
    // Without a seed it takes the same one each time, and without a format it answers with an address of its own disk.
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
  if (!Array.isArray(data)) throw invalidMediaResponse('The engine answered without pictures.');
  return data.map((item: unknown) => {
    const text = isRecord(item) ? item['b64_json'] : undefined;
    if (typeof text !== 'string')
      throw invalidMediaResponse('The engine answered an address instead of a picture.');
    return text;
  });
}
