import { describe, expect, it } from 'vitest';
import { contract, operationsOf } from './contract.ts';
import { deprecationHeaders, deprecations, isRetired, successorOf } from './deprecations.ts';
import type { Deprecation } from './deprecations.ts';

const example: Deprecation = {
  method: 'GET',
  path: '/v2/old/{rentalId}',
  deprecatedAt: '2026-08-01T00:00:00Z',
  sunsetAt: '2027-02-01T00:00:00Z',
  successor: '/v2/new/{rentalId}',
  docUrl: '/docs/changes#old',
};

describe('a deprecated path', () => {
  it('tells since when, until when and what to use instead', () => {
    expect(deprecationHeaders(example, { rentalId: '1042' })).toEqual({
      Deprecation: '@1785542400',
      Sunset: 'Mon, 01 Feb 2027 00:00:00 GMT',
      Link: '</v2/new/1042>; rel="successor-version", </docs/changes#old>; rel="deprecation"',
    });
  });

  it('escapes what a caller put into the path, so that a header cannot be split', () => {
    expect(successorOf(example, { rentalId: '1>\r\nX: y' })).toBe('/v2/new/1%3E%0D%0AX%3A%20y');
  });

  it('is retired from its sunset on and not before', () => {
    const sunsetMs = Date.parse(example.sunsetAt);
    expect(isRetired(example, sunsetMs - 1)).toBe(false);
    expect(isRetired(example, sunsetMs)).toBe(true);
  });
});

describe('the table of deprecations', () => {
  it('names a successor that exists, and a sunset after the deprecation', () => {
    const paths = operationsOf(contract).flatMap(({ path, aliases = [] }) => [path, ...aliases]);
    for (const { successor, deprecatedAt, sunsetAt } of deprecations) {
      expect(paths).toContain(successor);
      expect(Date.parse(sunsetAt)).toBeGreaterThan(Date.parse(deprecatedAt));
    }
  });
});
