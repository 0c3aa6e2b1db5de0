import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { contract, operationsOf } from '../contract.ts';
import { errorRegistry } from '../errors.ts';
import { eventEnvelope, eventTypeNames, eventTypes } from '../events.ts';
import { apiKeyLimits } from './v2/keys.ts';
import { pageOf, pageQuery, timestamp } from '../operation-builders.ts';

const operations = operationsOf(contract);
const own = operations.filter(({ source }) => source === 'own');

const parametersIn = (path: string) =>
  [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '').toSorted();

describe('extension operations', () => {
  it.each(own.map((operation) => [operation.id, operation] as const))('%s is coherent', (id, operation) => {
    expect(contract.operations).toHaveProperty(id, operation);
    const declared = Object.keys(operation.params?.shape ?? {}).toSorted();
    for (const path of [operation.path, ...(operation.aliases ?? [])]) {
      expect(parametersIn(path)).toEqual(declared);
    }
    expect(operation.errors).toEqual([...new Set(operation.errors)].toSorted((a, b) => a - b));
    if (operation.notFoundReason !== undefined) {
      expect(operation.errors).toContain(errorRegistry[operation.notFoundReason].status);
    }
    if (operation.idempotency === 'key') {
      expect(operation.method).toBe('POST');
      expect(operation.errors).toContain(409);
    }
    if (operation.method === 'GET' || operation.method === 'DELETE') expect(operation.body).toBeUndefined();
  });

  it('honour an idempotency key on every POST that changes something', () => {
    const without = own.filter(({ method, idempotency }) => method === 'POST' && idempotency === 'none');
    // Idempotency records belong to organisations; operations without one are idempotent by design.
    expect(without.map(({ id }) => id).toSorted()).toEqual([
      'acceptInvitation',
      'createCompletion',
      'createImages',
      'createOrganisation',
      'createSpeech',
      'declineInvitation',
      'explainPlacement',
      'quoteRental',
      'receiveStripeEvent',
      'supplierStartEnrolment',
    ]);
  });

  it('declare every response field with a secret, so that a replay does not contain it', () => {
    const secretFields = ['key', 'link', 'secret', 'token'];
    for (const { id, response, idempotency, redactForReplay = [] } of own) {
      if (idempotency !== 'key') continue;
      const shape = 'shape' in response.schema ? Object.keys(response.schema.shape as z.ZodRawShape) : [];
      const holds = shape.filter((field) => secretFields.includes(field));
      expect(redactForReplay, id).toEqual(holds);
    }
  });
});

describe('pages of a list', () => {
  it('have 50 items by default and at most 200', () => {
    expect(pageQuery.parse({})).toEqual({ limit: 50 });
    expect(pageQuery.parse({ limit: '200' })).toEqual({ limit: 200 });
    for (const limit of ['0', '201', '-1', '1.5', 'x', '']) {
      expect(pageQuery.safeParse({ limit }).success).toBe(false);
    }
  });

  it('drop fields that an item must not show', () => {
    const item = contract.operations.listApiKeys.response.schema.shape.items.element;
    expect(Object.keys(item.shape)).not.toContain('key');
    expect(pageOf(timestamp).parse({ items: [], nextCursor: null, secret: 1 })).toEqual({
      items: [],
      nextCursor: null,
    });
  });
});

describe('API keys', () => {
  const { body } = contract.operations.createApiKey;
  const least = { name: 'ci', scopes: ['rentals:read'] };

  it('are live, unlimited and usable from any address by default', () => {
    expect(body.parse(least)).toEqual({
      ...least,
      mode: 'live',
      expiresAt: null,
      allowedIps: [],
      limits: apiKeyLimits.parse({}),
    });
  });

  it('accept every decided limit', () => {
    const limits = {
      maxUsdPerHour: 12,
      maxLiveRentals: 2,
      maxRentalSeconds: 14_400,
      budget: { usd: 50, period: 'day' },
      rpm: 60,
      tpm: 100_000,
      models: ['meta-llama/*'],
      regions: ['us-central-1'],
      gpuTypes: ['h100'],
    };
    expect(body.parse({ ...least, limits, allowedIps: ['10.0.0.0/8'] }).limits).toEqual(limits);
  });

  it.each([
    ['no scope', { scopes: [] }],
    ['an unknown scope', { scopes: ['everything'] }],
    ['a blank name', { name: '   ' }],
    ['a network with too long a prefix', { allowedIps: ['10.0.0.0/33'] }],
    ['a host name instead of an address', { allowedIps: ['example.org'] }],
    ['a negative budget', { limits: { budget: { usd: -1, period: 'day' } } }],
    ['a model pattern with a star in the middle', { limits: { models: ['a*b'] } }],
    ['an expiry without a zone', { expiresAt: '2026-08-01T00:00:00' }],
  ])('refuse %s', (_what, change) => {
    expect(body.safeParse({ ...least, ...change }).success).toBe(false);
  });
});

describe('events', () => {
  it('have the resource kind and a description of their type', () => {
    for (const type of eventTypeNames) {
      expect(eventTypes[type].description).toMatch(/\.$/);
      expect(eventTypes[type].resource).not.toBe('');
    }
  });

  it('are discriminated by type, with the data of that type', () => {
    const id = 'evt_01JD8Q7XK4T2M9V6B3N5C1F0GH';
    const keyId = 'key_01JD8Q7XK4T2M9V6B3N5C1F0GH';
    const event = {
      id,
      type: 'key.revoked',
      seq: 88_213,
      occurredAt: '2026-08-01T00:00:00.000Z',
      apiVersion: '2.0.0',
      orgId: 'org_01JD8Q7XK4T2M9V6B3N5C1F0GH',
      mode: 'live',
      resource: { kind: 'api-key', id: keyId },
      actor: { kind: 'system', id: 'api' },
      data: {
        keyId,
        publicId: '4T2M9V6B3N5C',
        name: 'ci',
        mode: 'live',
        revokedAt: '2026-08-01T00:00:00.000Z',
        cause: 'revoked',
      },
    };
    expect(eventEnvelope.parse(event)).toEqual(event);
    expect(eventEnvelope.safeParse({ ...event, data: {} }).success).toBe(false);
    expect(eventEnvelope.safeParse({ ...event, type: 'key.lost' }).success).toBe(false);
  });
});
