import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, hashRequest } from './request-hash.ts';

const request = {
  operationId: 'createThing',
  mode: 'live',
  userId: 'usr_1',
  params: {},
  query: {},
  body: { a: 1, b: [1, 2] },
};

test('hashRequest changes with every part of the request', () => {
  const hashes = [
    request,
    { ...request, operationId: 'other' },
    { ...request, mode: 'test' },
    { ...request, userId: 'usr_2' },
    { ...request, params: { id: 'x' } },
    { ...request, query: { dry: '1' } },
    { ...request, body: { a: 1, b: [2, 1] } },
    { ...request, body: { a: '1', b: [1, 2] } },
    { ...request, body: { a: 1, b: [1, 2], c: null } },
  ].map((variant) => hashRequest(variant).toString('hex'));
  expect(new Set(hashes).size).toBe(hashes.length);
});

test('canonicalJson ignores the order of keys and preserves the JSON value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const shuffled = reverseKeys(value);
      expect(canonicalJson(shuffled)).toBe(canonicalJson(value));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

function reverseKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, reverseKeys(item)]),
  );
}
