import { explicitOperation } from '../../operation-builders.ts';
import { chatChunk, chatCompletion } from '../../records/chat.ts';
import { audioResponse, audioRequest, imageResponse, imageRequest } from '../../records/generation.ts';
import type { ContractSchemas } from '../../records/index.ts';
import { inferenceErrorStatuses, inferenceHeaders } from '../baseline-schemas.ts';

/** Baseline inference operations: chat, image and audio. */

const common = {
  document: 'v1',
  source: 'interface',
  errorFamily: 'inference',
  auth: 'key',
  scope: 'inference:write',
  tags: ['inference'],
  errors: inferenceErrorStatuses,
  notFoundReason: 'MODEL_NOT_FOUND',
} as const;

export function inferenceOperations({ chatRequest }: ContractSchemas) {
  return {
    createChatCompletion: explicitOperation('POST /v1/chat/completions', {
      ...common,
      summary: 'Complete a chat',
      description: 'With `stream: true` the response is a stream of chunks that ends with `data: [DONE]`.',
      body: chatRequest,
      response: {
        status: 200,
        schema: chatCompletion,
        sse: true,
        event: chatChunk,
        headers: inferenceHeaders,
      },
    }),
    generateImage: explicitOperation('POST /v1/image/generation', {
      ...common,
      summary: 'Generate images',
      body: imageRequest,
      response: { status: 200, schema: imageResponse, headers: inferenceHeaders },
    }),
    generateAudio: explicitOperation('POST /v1/audio/generation', {
      ...common,
      summary: 'Generate speech',
      body: audioRequest,
      response: { status: 200, schema: audioResponse, headers: inferenceHeaders },
    }),
  } as const;
}
