import { contract } from '@millrace/contract';
import { expect, test } from 'vitest';
import { createResponseChecker } from './response-checker.ts';

// A fuzz run without failures means something only if this checker detects them. Unknown fields are out of its scope: in tests
// the HTTP server itself responds 500 to them.

const check = createResponseChecker();
const { getApiKey, revokeApiKey, deleteSshPublicKey } = contract.operations;
const response = (status: number, json: unknown) => ({ status, json, text: JSON.stringify(json) });

const key = {
  id: 'key_01JD0000000000000000000000',
  publicId: '4T2M9V6B3N5C',
  prefix: 'mr_live_4T2M9V6B3N5C',
  name: 'ci',
  mode: 'live',
  scopes: ['events:read'],
  limits: {
    maxUsdPerHour: null,
    maxLiveRentals: null,
    maxRentalSeconds: null,
    budget: null,
    rpm: null,
    tpm: null,
    models: null,
    regions: null,
    gpuTypes: null,
  },
  allowedIps: [],
  createdBy: 'usr_01JD0000000000000000000000',
  createdAt: '2026-01-01T00:00:00.000Z',
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
  rotatedFrom: null,
};

test('createResponseChecker accepts a declared response', () => {
  expect(check(getApiKey, response(200, key))).toBeNull();
  expect(check(deleteSshPublicKey, { status: 204, json: undefined, text: '' })).toBeNull();
});

test.each([
  ['a server error', response(500, {}), /answered 500/],
  ['an undeclared status', response(418, {}), /418, which it does not declare/],
  ['a missing field', response(200, { ...key, mode: undefined }), /outside its schema/],
  ['a field of the wrong type', response(200, { ...key, name: 7 }), /outside its schema/],
  [
    'an error body without its reason',
    response(404, { message: 'no', code: 'NOT_FOUND' }),
    /outside its schema/,
  ],
])('createResponseChecker rejects %s', (_, given, expected) => {
  expect(check(getApiKey, given)).toMatch(expected);
  expect(check(revokeApiKey, given)).toMatch(expected);
});

test('createResponseChecker rejects a body with status 204', () => {
  expect(check(deleteSshPublicKey, response(204, {}))).toMatch(/204 with a body/);
});
