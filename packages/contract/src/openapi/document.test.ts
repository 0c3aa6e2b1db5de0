import { describe, expect, it } from 'vitest';
import { contract, createContract, operationsOf } from '../contract.ts';
import { buildDocument, documentNames } from './document.ts';

type Json = Record<string, unknown>;

const documents = Object.fromEntries(documentNames.map((name) => [name, buildDocument(contract, name)]));
const v2 = buildDocument(contract, 'v2');
const v1 = buildDocument(contract, 'v1');

const operationsIn = (document: typeof v2) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );

function operation(id: string, document = v2): Json {
  const found = operationsIn(document).find((each) => each.operation.operationId === id);
  if (found === undefined) throw new Error(`${id} is not in the document.`);
  return found.operation as unknown as Json;
}

const pointedAt = (document: typeof v2, reference: string): unknown =>
  reference
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((found, key) => (found as Json)[key], document);

/** Follows keys and references. */
function at(document: typeof v2, value: unknown, ...keys: readonly string[]): unknown {
  const follow = (found: unknown) => {
    const reference = (found as Json | undefined)?.['$ref'];
    return typeof reference === 'string' ? pointedAt(document, reference) : found;
  };
  return keys.reduce((found, key) => follow((found as Json)[key]), follow(value));
}

describe('servers of documents', () => {
  const serversOf = (inferenceUrl?: string) => {
    const document = buildDocument(contract, 'v1', 'https://cloud.example.com', inferenceUrl);
    const own = operationsIn(document).map(
      ({ operation }) => [operation.operationId, operation.servers] as const,
    );
    return { all: document.servers, own: new Map(own) };
  };

  it('name the one address for every operation', () => {
    for (const inferenceUrl of [undefined, 'https://cloud.example.com']) {
      const { all, own } = serversOf(inferenceUrl);
      expect(all).toMatchObject([{ url: 'https://cloud.example.com' }]);
      expect([...own.values()].filter((servers) => servers !== undefined)).toEqual([]);
    }
  });

  it('name the address of gateways for inference alone if it differs', () => {
    const { own } = serversOf('https://models.example.com');
    expect(own.get('createChatCompletion')).toMatchObject([{ url: 'https://models.example.com' }]);
    expect(own.get('listModels')).toMatchObject([{ url: 'https://models.example.com' }]);
    expect(own.get('listMarketplaceMachines')).toBeUndefined();
  });
});

describe('the four OpenAPI documents', () => {
  it('contain every operation of the contract exactly once', () => {
    const published = documentNames.flatMap((name) =>
      operationsIn(buildDocument(contract, name)).map((each) => each.operation.operationId),
    );
    expect(published.toSorted()).toEqual(
      operationsOf(contract)
        .map(({ id }) => id)
        .toSorted(),
    );
  });

  it.each(documentNames)('have no missing references and no unused components in %s', (name) => {
    const text = JSON.stringify(documents[name]);
    const referred = new Set([...text.matchAll(/"#\/components\/([^"]+)"/g)].map((match) => match[1] ?? ''));
    const { securitySchemes: _, ...components } = buildDocument(contract, name).components;
    const held = Object.entries(components).flatMap(([kind, all]) =>
      Object.keys(all).map((component) => `${kind}/${component}`),
    );
    expect([...referred].toSorted()).toEqual(held.toSorted());
    expect(text).not.toContain('::input');
    expect(text).not.toContain('$defs');
  });

  it('are byte-identical in each build', () => {
    expect(JSON.stringify(buildDocument(contract, 'v2'))).toBe(JSON.stringify(v2));
  });
});

describe('v2 document', () => {
  it('has version 2.0.0', () => {
    expect(v2.info.version).toBe('2.0.0');
  });

  it('has security schemes for keys and sessions on exactly the operations that need them', () => {
    expect(Object.keys(v2.components.securitySchemes)).toEqual(['Authorization', 'Session']);
    const schemes = { key: [{ Authorization: [] }], person: [{ Session: [] }], none: [] };
    const auths = new Map(operationsOf(contract).map(({ id, auth }) => [id, auth] as const));
    for (const { operation } of operationsIn(v2)) {
      expect(operation.security).toEqual(schemes[auths.get(operation.operationId) ?? 'none']);
    }
  });

  it('allows anonymous access only to public and signed operations', () => {
    const open = operationsOf(contract).filter(({ auth, document }) => auth === 'none' && document === 'v2');
    expect(open.map(({ id }) => id).toSorted()).toEqual([
      'getCatalog',
      'getInstallation',
      'receiveStripeEvent',
    ]);
  });

  it.each([
    ['400', 'BAD_REQUEST'],
    ['401', 'UNAUTHORIZED'],
    ['403', 'FORBIDDEN'],
    ['404', 'NOT_FOUND'],
    ['500', 'INTERNAL_SERVER_ERROR'],
  ])('names the error of %s %s, as schema and as response', (status, name) => {
    expect(v2.components.schemas).toHaveProperty(name);
    const { responses } = operation('listBareMetalRentals') as { responses: Json };
    expect(responses[status]).toEqual({ $ref: `#/components/responses/${name}` });
    expect(at(v2, v2.components.responses, name, 'content', 'application/json')).toEqual({
      schema: { $ref: `#/components/schemas/${name}` },
    });
  });

  it('lists the configured provider ids', () => {
    const providers = [
      { id: 'north-one', variant: 'V3' },
      { id: 'mock', variant: 'mock' },
    ] as const;
    const document = buildDocument(createContract({ providers }), 'v2');
    expect(document.components.schemas['ProviderData']).toEqual({
      oneOf: [
        { $ref: '#/components/schemas/ProviderDataNorthOne' },
        { $ref: '#/components/schemas/ProviderDataMock' },
      ],
      discriminator: {
        propertyName: 'providerId',
        mapping: {
          'north-one': '#/components/schemas/ProviderDataNorthOne',
          mock: '#/components/schemas/ProviderDataMock',
        },
      },
    });
  });
});

describe('request schemas', () => {
  const body = (id: string) =>
    at(v2, operation(id), 'requestBody', 'content', 'application/json', 'schema') as Json;

  it('do not require fields with a default, and state the default', () => {
    const schema = body('createBareMetalRental');
    expect(schema['required']).toEqual(['networkType', 'gpuCount']);
    expect(at(v2, schema, 'properties', 'termType')).toMatchObject({ enum: ['on-demand', 'reserved'] });
    expect((schema['properties'] as Record<string, Json>)['region']).toMatchObject({
      default: 'us-central-1',
    });
  });

  it('are open: unknown fields are ignored and reported, not refused', () => {
    expect(body('createBareMetalRental')).not.toHaveProperty('additionalProperties');
  });

  it('have their own component if defaults make them differ from the response schema', () => {
    expect(v2.components.schemas['ApiKeyLimitsInput']).not.toHaveProperty('required');
    expect(v2.components.schemas['ApiKeyLimits']?.['required']).toContain('rpm');
    expect((body('createApiKey')['properties'] as Record<string, Json>)['limits']).toMatchObject({
      $ref: '#/components/schemas/ApiKeyLimitsInput',
    });
  });

  it('have an idempotency key exactly where the operation honours one', () => {
    const parameter = { $ref: '#/components/parameters/Idempotency-Key' };
    for (const { id, idempotency, document } of operationsOf(contract)) {
      const { parameters = [] } = operation(id, documents[document]) as { parameters?: unknown[] };
      expect(
        parameters.some((each) => JSON.stringify(each) === JSON.stringify(parameter)),
        id,
      ).toBe(idempotency === 'key');
    }
  });

  it('separate path and query parameters, with their limits', () => {
    expect(operation('listMembers')['parameters']).toMatchObject([
      { name: 'organisationId', in: 'path', required: true },
      { name: 'limit', in: 'query', required: false, schema: { type: 'integer', minimum: 1, maximum: 200 } },
      { name: 'cursor', in: 'query', required: false },
    ]);
  });
});

describe('response schemas', () => {
  it('are closed exactly where docs/interface.md closes them', () => {
    expect(v2.components.schemas['RentalRecord']).toHaveProperty('additionalProperties', false);
    expect(v2.components.schemas['ApiKey']).not.toHaveProperty('additionalProperties');
  });

  it('have the request id and rate limit headers, and the replay header where a replay is possible', () => {
    const headers = (id: string, status: string) =>
      Object.keys(at(v2, operation(id), 'responses', status, 'headers') as Json);
    for (const status of ['201', '400', '429']) {
      expect(headers('createApiKey', status)).toEqual(
        expect.arrayContaining([
          'X-Request-Id',
          'RateLimit-Policy',
          'RateLimit',
          'x-ratelimit-limit-requests',
        ]),
      );
    }
    expect(headers('createApiKey', '201')).toContain('Idempotent-Replayed');
    expect(headers('createApiKey', '429')).toContain('Retry-After');
    expect(headers('listApiKeys', '200')).not.toContain('Idempotent-Replayed');
  });

  it('declare exactly the statuses of the operation', () => {
    for (const { id, document, response, errors } of operationsOf(contract)) {
      const { responses } = operation(id, documents[document]) as { responses: Json };
      const unchanged = 'revalidates' in response ? [304] : [];
      const statuses = [response.status, ...unchanged, ...errors];
      expect(Object.keys(responses), id).toEqual(statuses.map(String).toSorted());
    }
  });

  it('declare 410 when the operation has a sunset date', () => {
    const notice = { deprecatedAt: '2027-01-01T00:00:00Z', successor: '/v2/me' } as const;
    const retiring = { ...notice, sunsetAt: '2028-01-01T00:00:00Z' };
    const document = buildDocument(
      { ...contract, deprecations: { listApiKeys: notice, getApiKey: retiring } },
      'v2',
    );
    expect(operation('listApiKeys', document)).toMatchObject({ deprecated: true });
    expect(operation('listApiKeys', document)['responses']).not.toHaveProperty('410');
    expect(at(document, operation('getApiKey', document), 'responses', '410', 'content')).toEqual({
      'application/json': { schema: { $ref: '#/components/schemas/GONE' } },
    });
  });

  it('offer the event feed as a page and as a stream', () => {
    const content = at(v2, operation('listEvents'), 'responses', '200', 'content') as Json;
    expect(Object.keys(content)).toEqual(['application/json', 'text/event-stream']);
    expect(at(v2, content, 'text/event-stream', 'schema')).toMatchObject({
      contentSchema: { $ref: '#/components/schemas/Event' },
    });
  });

  it('declare the error event that can end an inference stream', () => {
    for (const id of ['createChatCompletion', 'createCompletion']) {
      const content = at(v1, operation(id, v1), 'responses', '200', 'content') as Json;
      expect(at(v1, content, 'text/event-stream', 'schema', 'contentSchema', 'anyOf'), id).toContainEqual({
        $ref: '#/components/schemas/InferenceStreamError',
      });
    }
  });

  it('are a file for speech and empty for a deletion', () => {
    expect(Object.keys(at(v1, operation('createSpeech', v1), 'responses', '200', 'content') as Json)).toEqual(
      ['audio/mpeg'],
    );
    expect(at(v2, operation('removeMember'), 'responses', '204')).not.toHaveProperty('content');
  });
});

describe('v1 document', () => {
  it('lists machines without a key and has the error body of each family', () => {
    expect(operation('listMarketplaceMachines', v1)['security']).toEqual([]);
    const limitResponse = (id: string) => (operation(id, v1)['responses'] as Json)['429'];
    expect(limitResponse('createChatCompletion')).toEqual({
      $ref: '#/components/responses/inference.TOO_MANY_REQUESTS',
    });
    expect(limitResponse('getCurrentBalance')).toEqual({
      $ref: '#/components/responses/marketplace.TOO_MANY_REQUESTS',
    });
  });
});
