import { z } from 'zod';
import { explicitOperation } from '../../operation-builders.ts';

/** Public access to the OpenAPI documents, if the operator enables it. */

export const documentOperations = {
  getOpenDocument: explicitOperation('GET /openapi/{file}', {
    document: 'v1',
    source: 'own',
    errorFamily: 'v2',
    auth: 'none',
    scope: null,
    summary: 'Read one of the OpenAPI documents without a key',
    description: 'Responds with 404 unless the operator has enabled it.',
    tags: ['documents'],
    params: z.object({ file: z.enum(['v1.json', 'v2.json', 'admin.json', 'supplier.json']) }),
    response: { status: 200, schema: z.record(z.string(), z.unknown()), revalidates: true },
    errors: [400, 404, 429, 500, 503],
  }),
} as const;
