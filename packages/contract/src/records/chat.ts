import { z } from 'zod';
import { bodyText, bodyValues, boundedRecord } from './vocabulary.ts';

/** Chat completion schemas in the usual format, with the limits of docs/interface.md. */

const text = bodyText;

const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: text, detail: z.enum(['auto', 'low', 'high']).optional() }),
});

const textPart = z.object({ type: z.literal('text'), text });

/** Text, or parts for multimodal models. */
const content = z.union([
  text,
  z
    .array(z.discriminatedUnion('type', [textPart, imagePart]))
    .min(1)
    .max(bodyValues),
]);

const toolCall = z.object({
  id: text,
  type: z.literal('function'),
  function: z.object({ name: text, arguments: text }),
});

const name = text.optional();

/** An assistant message with tool calls may have no content; other messages must have it. */
const assistantMessage = z
  .object({
    role: z.literal('assistant'),
    content: content.nullish(),
    tool_calls: z.array(toolCall).min(1).max(bodyValues).optional(),
    name,
  })
  .refine(
    (message) =>
      message.tool_calls !== undefined || (message.content !== undefined && message.content !== null),
    { path: ['content'], message: 'is required unless tool_calls are given' },
  );

export const chatMessage = z
  .discriminatedUnion('role', [
    z.object({ role: z.literal('system'), content, name }),
    z.object({ role: z.literal('developer'), content, name }),
    z.object({ role: z.literal('user'), content, name }),
    assistantMessage,
    z.object({ role: z.literal('tool'), content, tool_call_id: text }),
  ])
  .meta({ id: 'ChatMessage' });

const jsonSchemaObject = boundedRecord(z.unknown(), { names: bodyValues, nameLength: 1_000 });

const tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: text,
    description: text.optional(),
    parameters: jsonSchemaObject.optional(),
    strict: z.boolean().nullish(),
  }),
});

const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.object({ type: z.literal('function'), function: z.object({ name: text }) }),
]);

const responseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    json_schema: z.object({
      name: text,
      description: text.optional(),
      schema: jsonSchemaObject.optional(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

const tokenCount = z.int().min(1);

export interface ChatLimits {
  /** Widens both penalties from 0..1, as in docs/interface.md, to -2..2. */
  readonly widePenalties: boolean;
}

/** `logprobs` is a number, as in docs/interface.md, or a boolean, as most clients send it. */
export function createChatRequest({ widePenalties }: ChatLimits) {
  const penalty = widePenalties ? z.number().min(-2).max(2) : z.number().min(0).max(1);
  return z
    .object({
      messages: z.array(chatMessage).min(1).max(bodyValues),
      model: text.min(1),
      frequency_penalty: penalty.optional(),
      logit_bias: boundedRecord(z.number().min(-100).max(100), {
        names: bodyValues,
        nameLength: 100,
      })
        .optional()
        .meta({ description: 'At most 1024 tokens.' }),
      logprobs: z.union([z.int().min(0), z.boolean()]).optional(),
      top_logprobs: z.int().min(0).max(20).optional().meta({ description: 'Requires `logprobs`.' }),
      max_tokens: tokenCount.optional(),
      n: z.int().min(1).optional().meta({ description: 'At most 128.' }),
      presence_penalty: penalty.optional(),
      seed: z.int().optional(),
      stop: z
        .union([z.array(text).max(bodyValues), text])
        .optional()
        .meta({ description: 'At most 16 strings, none of them empty.' }),
      stream: z.boolean().optional(),
      temperature: z.number().min(0).max(2).optional(),
      top_p: z.number().min(0).max(1).optional(),
      user: text.optional(),
      top_k: z.int().min(-1).optional(),
      min_p: z.number().min(0).max(1).optional(),
      repetition_penalty: z.number().positive().default(1),
      tools: z.array(tool).max(bodyValues).optional().meta({ description: 'At most 128.' }),
      tool_choice: toolChoice.optional(),
      response_format: responseFormat.optional(),
      stream_options: z.object({ include_usage: z.boolean().optional() }).optional(),
      max_completion_tokens: tokenCount.optional(),
    })
    .refine((request) => request.top_logprobs === undefined || Boolean(request.logprobs), {
      path: ['top_logprobs'],
      message: 'requires logprobs to be set to true',
    })
    .meta({ id: 'ChatCompletionRequest' });
}

export const chatUsage = z
  .strictObject({
    prompt_tokens: z.int(),
    total_tokens: z.int(),
    completion_tokens: z.int(),
    prompt_tokens_details: z.strictObject({ cached_tokens: z.int() }).optional(),
    cost_nano_usd: z.int().optional(),
  })
  .meta({ id: 'ChatUsage' });

const responseToolCall = z.strictObject({
  id: text,
  type: z.literal('function'),
  function: z.strictObject({ name: text, arguments: text }),
});

const reasoning = text.meta({ description: 'The reasoning of a reasoning model before its completion.' });

const responseLogprobs = z.record(z.string(), z.unknown()).nullable().optional();

export const chatCompletion = z
  .strictObject({
    id: text,
    object: z.literal('chat.completion'),
    created: z.int().meta({ description: 'Unix seconds.' }),
    model: text.meta({ description: 'The model name from the request.' }),
    choices: z.array(
      z.strictObject({
        index: z.int(),
        message: z
          .strictObject({
            role: z.literal('assistant'),
            content: text.nullable().meta({ description: 'Null only with tool_calls.' }),
            reasoning_content: reasoning.optional(),
            tool_calls: z.array(responseToolCall).optional(),
          })
          .refine((message) => message.content !== null || message.tool_calls !== undefined, {
            path: ['content'],
            message: 'is null although there are no tool_calls',
          }),
        finish_reason: text,
        logprobs: responseLogprobs,
      }),
    ),
    usage: chatUsage,
  })
  .meta({ id: 'ChatCompletion' });

export const chatChunk = z
  .strictObject({
    id: text,
    object: z.literal('chat.completion.chunk'),
    created: z.int(),
    model: text,
    choices: z.array(
      z.strictObject({
        index: z.int(),
        delta: z.strictObject({
          role: z.literal('assistant').optional(),
          content: text.optional(),
          reasoning_content: reasoning.optional(),
          tool_calls: z
            .array(
              z.strictObject({
                index: z.int(),
                id: text.optional(),
                type: z.literal('function').optional(),
                function: z.strictObject({ name: text.optional(), arguments: text.optional() }).optional(),
              }),
            )
            .optional(),
        }),
        finish_reason: text.nullable(),
        logprobs: responseLogprobs,
      }),
    ),
    usage: chatUsage.optional(),
  })
  .meta({ id: 'ChatCompletionChunk' });
