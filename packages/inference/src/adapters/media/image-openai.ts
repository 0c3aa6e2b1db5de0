import {
  toImageAnswer,
  findUnsupportedFields,
  type ImageAdapter,
  type ImageRequest,
} from './image-adapter.ts';
import { invalidMediaAnswer } from './media-adapter.ts';
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
  readonly extras: (wish: ImageRequest, upstreamModel: string) => Readonly<Record<string, unknown>>;
}

const diffusion = new Set(['negative_prompt', 'steps', 'cfg_scale', 'seed']);

const diffusionFields = (wish: ImageRequest): Readonly<Record<string, unknown>> => ({
  response_format: 'b64_json',
  num_inference_steps: wish.steps,
  seed: wish.seed,
  ...(wish.cfgScale === null ? {} : { guidance_scale: wish.cfgScale }),
  ...(wish.negativePrompt === null ? {} : { negative_prompt: wish.negativePrompt }),
});

/** Models that were distilled for guidance take a negative prompt into account only with this beside it. */
const trueGuidance = (wish: ImageRequest): Readonly<Record<string, unknown>> =>
  wish.negativePrompt === null || wish.cfgScale === null ? {} : { true_cfg_scale: wish.cfgScale };

const dialects: Readonly<Record<OpenAiImageEngine, OpenAiImageDialect>> = {
  openai: {
    can: new Set(),
    // Newer models always answer base64, and refuse to be asked for it.
    extras: (_wish, model) => (model.startsWith('dall-e') ? { response_format: 'b64_json' } : {}),
  },
  'openai-images': { can: diffusion, extras: diffusionFields },
  vllm: {
    can: diffusion,
    mostSteps: 200,
    mostCfgScale: 20,
    extras: (wish) => ({ ...diffusionFields(wish), ...trueGuidance(wish) }),
  },
  sglang: {
    can: diffusion,
    // Without a seed it takes the same one each time, and without a format it answers with an address of its own disk.
    extras: (wish) => ({
      ...diffusionFields(wish),
      ...trueGuidance(wish),
      width: wish.width,
      height: wish.height,
    }),
  },
};

export function createOpenAiImageAdapter(engine: OpenAiImageEngine): ImageAdapter {
  const { can, mostSteps = Infinity, mostCfgScale = Infinity, extras } = dialects[engine];
  return {
    lacks(wish, deployment) {
      const beyond = [
        ...(wish.steps > mostSteps ? ['steps'] : []),
        ...((wish.cfgScale ?? 0) > mostCfgScale ? ['cfg_scale'] : []),
      ];
      return [...findUnsupportedFields(wish, deployment, can), ...beyond];
    },
    async run(wish, { deployment }, call, signal) {
      const body = {
        model: deployment.upstreamModel,
        prompt: wish.prompt,
        n: wish.count,
        size: `${wish.width}x${wish.height}`,
        ...extras(wish, deployment.upstreamModel),
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
      return toImageAnswer(wish, base64In(requireJson(response)), (index) =>
        isSeeded ? wish.seed + index : null,
      );
    },
  };
}

function base64In({ data }: Readonly<Record<string, unknown>>): readonly string[] {
  if (!Array.isArray(data)) throw invalidMediaAnswer('The engine answered without pictures.');
  return data.map((item: unknown) => {
    const text = isRecord(item) ? item['b64_json'] : undefined;
    if (typeof text !== 'string')
      throw invalidMediaAnswer('The engine answered an address instead of a picture.');
    return text;
  });
}
