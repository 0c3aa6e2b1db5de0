import { z } from 'zod';
import { bodyText, bodyValues, boundedRecord } from '../../records/vocabulary.ts';
import { chatUsage } from '../../records/chat.ts';
import { imageSide } from '../../records/generation.ts';
import { inferenceHeaders } from '../baseline-schemas.ts';
import {
  batchId,
  inferenceOperation,
  v2Operation,
  pageOf,
  pageQuery,
  requestId,
  timestamp,
} from '../../operation-builders.ts';

/** Inference operations beyond the baseline, in the formats of existing clients, and usage of requests. */

const modelName = z.string().min(1).max(200);

const model = z
  .object({
    id: modelName,
    object: z.literal('model'),
    created: z.int().nonnegative(),
    owned_by: z.string(),
    modality: z.enum(['chat', 'completion', 'image', 'audio']),
    context_length: z.int().positive().nullable(),
    max_output_tokens: z.int().positive().nullable(),
    input_modalities: z.array(z.enum(['text', 'image', 'audio'])),
  })
  .meta({ id: 'Model' });

const unitPrices = {
  prompt_nano_usd_per_million_tokens: z.int().nonnegative().nullable(),
  cached_prompt_nano_usd_per_million_tokens: z.int().nonnegative().nullable(),
  completion_nano_usd_per_million_tokens: z.int().nonnegative().nullable(),
  image_nano_usd: z.int().nonnegative().nullable().meta({
    description: 'For 1024 x 1024 pixels in 25 steps; scales with width, height and steps.',
  }),
  character_nano_usd: z.int().nonnegative().nullable(),
};

const modelPrice = z
  .object({
    model: modelName,
    currency: z.literal('usd'),
    modality: z.enum(['chat', 'completion', 'image', 'audio']),
    ...unitPrices,
    live: z.object(unitPrices).optional().meta({
      description:
        'The prices in live mode. Only in test mode, where nothing is charged, and only if the model has a price.',
    }),
  })
  .meta({ id: 'ModelPrice' });

/** The usual bounds. Baseline chat has narrower ones, which a setting of the operator widens to these. */
const penalty = z.number().min(-2).max(2);

const completionRequest = z
  .object({
    model: modelName,
    prompt: z.union([bodyText, z.array(bodyText).min(1).max(128)]),
    max_tokens: z.int().min(1).optional(),
    temperature: z.number().min(0).max(2).optional(),
    top_p: z.number().min(0).max(1).optional(),
    top_k: z.int().min(-1).optional(),
    min_p: z.number().min(0).max(1).optional(),
    n: z.int().min(1).max(128).optional(),
    stream: z.boolean().optional(),
    stream_options: z.object({ include_usage: z.boolean().optional() }).nullable().optional(),
    logprobs: z.int().min(0).max(20).nullable().optional(),
    echo: z.boolean().optional(),
    stop: z
      .union([bodyText, z.array(bodyText).max(16)])
      .nullable()
      .optional(),
    presence_penalty: penalty.optional(),
    frequency_penalty: penalty.optional(),
    repetition_penalty: z.number().positive().optional(),
    logit_bias: boundedRecord(z.number().min(-100).max(100), { names: bodyValues, nameLength: 100 })
      .nullable()
      .optional(),
    seed: z.int().nullable().optional(),
    suffix: bodyText.nullable().optional(),
    user: bodyText.optional(),
  })
  .meta({ id: 'CompletionRequest' });

const completion = z
  .object({
    id: z.string(),
    object: z.literal('text_completion'),
    created: z.int(),
    model: modelName,
    choices: z.array(
      z.object({
        index: z.int().nonnegative(),
        text: z.string(),
        finish_reason: z.string().nullable(),
        logprobs: z.unknown().optional(),
      }),
    ),
    usage: chatUsage.nullable().optional(),
  })
  .meta({ id: 'Completion' });

/** The last four fields are extensions of engines for open models. */
const imagesRequest = z
  .object({
    model: modelName,
    prompt: z.string().min(1).max(20_000),
    n: z.int().min(1).max(10).default(1),
    size: z
      .string()
      .regex(/^(auto|[1-9][0-9]{2,3}x[1-9][0-9]{2,3})$/)
      .refine(
        (size) =>
          size === 'auto' || size.split('x').every((side) => imageSide.safeParse(Number(side)).success),
        'must have sides of 128 to 2496',
      )
      .default('1024x1024')
      .meta({ description: 'Width x height, each 128 to 2496.' }),
    response_format: z.enum(['b64_json']).default('b64_json'),
    user: bodyText.optional(),
    negative_prompt: z.string().max(20_000).optional(),
    num_inference_steps: z.int().min(1).max(1000).optional(),
    guidance_scale: z.number().min(0).max(50).optional(),
    seed: z.int().nullable().optional(),
  })
  .meta({ id: 'ImagesRequest' });

const imagesResponse = z
  .object({
    created: z.int(),
    data: z.array(z.object({ b64_json: z.string(), revised_prompt: z.string().optional() })),
  })
  .meta({ id: 'Images' });

const speechRequest = z
  .object({
    model: modelName,
    input: z.string().min(1).max(4096),
    voice: z.string().min(1).max(100),
    response_format: z.enum(['mp3']).default('mp3'),
    speed: z.number().min(0.25).max(4).default(1),
  })
  .meta({ id: 'SpeechRequest' });

const requestUsage = z
  .object({
    id: z.string(),
    model: modelName,
    deployment: z.string().nullable(),
    created_at: timestamp,
    streamed: z.boolean(),
    cancelled: z.boolean(),
    finish_reason: z.string().nullable(),
    latency_ms: z.int().nonnegative(),
    ttft_ms: z.int().nonnegative().nullable(),
    generation_ms: z.int().nonnegative().nullable(),
    tokens_prompt: z.int().nonnegative(),
    tokens_completion: z.int().nonnegative(),
    tokens_cached: z.int().nonnegative(),
    cost_nano_usd: z.int().nonnegative(),
    live_cost_nano_usd: z.int().nonnegative().optional().meta({
      description:
        'The cost of the same request in live mode at current prices. Only in test mode, where nothing is charged, and only if the model has a price.',
    }),
    attempts: z.array(
      z.object({
        deployment: z.string(),
        started_at: timestamp,
        duration_ms: z.int().nonnegative(),
        status: z.int().nullable(),
        error: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'RequestUsage' });

/** Errors of engines, of money and of unknown models. */
const inferenceExtensionErrors = [402, 404, 502, 504] as const;

export const inferenceExtensions = {
  listModels: inferenceOperation('GET /v1/models', {
    scope: 'inference:read',
    summary: 'List the models that you can call',
    tags: ['inference'],
    response: { status: 200, schema: z.object({ object: z.literal('list'), data: z.array(model) }) },
  }),
  getModelPrice: inferenceOperation('GET /models/{name}/price', {
    aliases: ['/v1/models/{name}/price'],
    scope: 'inference:read',
    summary: 'Read the price of a model',
    description: 'Percent-encode a slash in the name.',
    tags: ['inference'],
    params: z.object({ name: modelName }),
    response: { status: 200, schema: modelPrice },
    notFoundReason: 'MODEL_NOT_FOUND',
  }),
  createCompletion: inferenceOperation('POST /v1/completions', {
    scope: 'inference:write',
    summary: 'Complete a text',
    tags: ['inference'],
    body: completionRequest,
    response: { status: 200, schema: completion, sse: true, event: completion, headers: inferenceHeaders },
    refuses: inferenceExtensionErrors,
    notFoundReason: 'MODEL_NOT_FOUND',
  }),
  createImages: inferenceOperation('POST /v1/images/generations', {
    scope: 'inference:write',
    summary: 'Generate images',
    tags: ['inference'],
    body: imagesRequest,
    response: { status: 200, schema: imagesResponse, headers: inferenceHeaders },
    refuses: inferenceExtensionErrors,
    notFoundReason: 'MODEL_NOT_FOUND',
  }),
  createSpeech: inferenceOperation('POST /v1/audio/speech', {
    scope: 'inference:write',
    summary: 'Convert text to speech',
    tags: ['inference'],
    body: speechRequest,
    response: {
      status: 200,
      schema: z.instanceof(Uint8Array).meta({ description: 'The audio file.' }),
      contentType: 'audio/mpeg',
      headers: inferenceHeaders,
    },
    refuses: inferenceExtensionErrors,
    notFoundReason: 'MODEL_NOT_FOUND',
  }),
  getRequestUsage: v2Operation('GET /v2/usage/requests/{requestId}', {
    scope: 'usage:read',
    summary: 'Read the usage and cost of one inference request',
    tags: ['usage'],
    params: z.object({ requestId }),
    response: { status: 200, schema: requestUsage },
    notFoundReason: 'REQUEST_NOT_FOUND',
  }),
  listBatchRequests: v2Operation('GET /v2/usage/batches/{batchId}/requests', {
    scope: 'usage:read',
    summary: 'List the requests of one inference batch',
    description:
      'A ledger line of inference has the cause `inference` and the id of a batch. The costs of the requests in the batch add up to the amount of the line. Oldest first.',
    tags: ['usage'],
    params: z.object({ batchId }),
    query: pageQuery,
    response: { status: 200, schema: pageOf(requestUsage) },
    notFoundReason: 'BATCH_NOT_FOUND',
  }),
} as const;
