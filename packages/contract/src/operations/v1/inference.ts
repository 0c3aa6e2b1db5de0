import { defineOperation } from '../../operation.ts';
import { chatChunk, chatCompletion } from '../../records/chat.ts';
import { audioResponse, audioRequest, imageResponse, imageRequest } from '../../records/generation.ts';
import type { ContractSchemas } from '../../records/index.ts';
import { inferenceErrorStatuses, inferenceHeaders } from '../baseline-schemas.ts';

/** Serverless inference: chat, image and audio. */

const common = {
  method: 'POST',
  document: 'v1',
  source: 'interface',
  errorFamily: 'inference',
  auth: 'key',
  scope: 'inference:write',
  tags: ['inference'],
  errors: inferenceErrorStatuses,
  idempotency: 'none',
  notFoundReason: 'MODEL_NOT_FOUND',
} as const;

export function inferenceOperations({ chatRequest }: ContractSchemas) {
  return {
    createChatCompletion: defineOperation({
      ...common,
      id: 'createChatCompletion',
      path: '/v1/chat/completions',
      summary: 'Complete a chat',
      description: 'With `stream: true` the answer is a stream of chunks that ends with `data: [DONE]`.',
      body: chatRequest,
      response: {
        status: 200,
        schema: chatCompletion,
        sse: true,
        event: chatChunk,
        headers: inferenceHeaders,
      },
    }),
    generateImage: defineOperation({
      ...common,
      id: 'generateImage',
      path: '/v1/image/generation',
      summary: 'Generate images',
      body: imageRequest,
      response: { status: 200, schema: imageResponse, headers: inferenceHeaders },
    }),
    generateAudio: defineOperation({
      ...common,
      id: 'generateAudio',
      path: '/v1/audio/generation',
      summary: 'Generate speech',
      body: audioRequest,
      response: { status: 200, schema: audioResponse, headers: inferenceHeaders },
    }),
  } as const;
}
