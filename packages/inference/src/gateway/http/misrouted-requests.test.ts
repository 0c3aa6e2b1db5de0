import { contract, errorBodyFor } from '@millrace/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGatewayHarness, type GatewayHarness } from '../gateway.fixture.ts';

let harness: GatewayHarness;
beforeAll(async () => {
  harness = await createGatewayHarness({ models: [] });
});
afterAll(() => harness.close());

test.each([
  ['GET', '/v2/me', 'v2'],
  ['POST', contract.operations.createVirtualMachineRental.path, 'v2'],
  ['GET', '/v1/marketplace/instances', 'marketplace'],
  ['GET', '/console/', 'v2'],
] as const)('a gateway answers %s %s with the address of the apis', async (method, path, family) => {
  const response = await fetch(harness.url + path, {
    method,
    ...(method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {}),
  });
  const body = (await response.json()) as Record<string, unknown>;
  expect(response.status).toBe(404);
  expect(errorBodyFor(family, 404).safeParse(body).error).toBeUndefined();
  expect(body).toMatchObject({
    reason: 'MISROUTED_REQUEST',
    suggestion: 'Send the request to https://cloud.example.com.',
  });
});
