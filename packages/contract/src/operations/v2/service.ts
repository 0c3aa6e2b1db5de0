import { z } from 'zod';
import { explicitOperation } from '../../operation-builders.ts';
import { v2Errors, v2ErrorsWithNotFound } from '../baseline-schemas.ts';

/** The service about itself: its description, and what inference requests cost. */

const requestCount = 100;

export function serviceOperations() {
  return {
    getOpenapi: explicitOperation('GET /v2/openapi.json', {
      document: 'v2',
      source: 'interface',
      errorFamily: 'v2',
      auth: 'key',
      scope: null,
      summary: 'The machine-readable description of the v2 interface',
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
      summary: 'What inference requests cost, in nano-USD',
      description:
        'Ids come from the `X-Inference-Request-Id` header. Unknown, foreign and still running ids are left out.',
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
