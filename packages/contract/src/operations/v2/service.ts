import { z } from 'zod';
import { explicitOperation } from '../../operation-builders.ts';
import { v2Errors, v2ErrorsWithNotFound } from '../baseline-schemas.ts';

/** Baseline operations about the service: its OpenAPI document and the cost of inference requests. */

const requestCount = 100;

export function serviceOperations() {
  return {
    getOpenapi: explicitOperation('GET /v2/openapi.json', {
      document: 'v2',
      source: 'interface',
      errorFamily: 'v2',
      auth: 'key',
      scope: null,
      summary: 'Read the OpenAPI document of v2',
      tags: ['service'],
      response: { status: 200, schema: z.record(z.string(), z.unknown()) },
      errors: v2ErrorsWithNotFound,
    }),
    getRequestCost: explicitOperation('POST /v2/usage/request-cost', {
      document: 'v2',
      source: 'interface',
      errorFamily: 'v2',
      auth: 'key',
      scope: 'usage:read',
      summary: 'Read the cost of inference requests, in nano-USD',
      description:
        'Ids come from the `X-Inference-Request-Id` header. Unknown ids, ids of other organisations and ids of running requests are omitted.',
      tags: ['usage'],
      body: z.object({ requestIds: z.array(z.string().max(1_000)).max(requestCount) }),
      response: {
        status: 200,
        schema: z.strictObject({
          requests: z
            .array(z.strictObject({ requestId: z.string(), costNanoUsd: z.int() }))
            .max(requestCount),
        }),
      },
      errors: v2Errors,
    }),
  } as const;
}
