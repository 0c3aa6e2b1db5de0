import { describe, expect, it } from 'vitest';
import { contract, operationsOf } from './contract.ts';
import { deprecations } from './deprecations.ts';

const paths: readonly string[] = operationsOf(contract).flatMap(({ path, aliases = [] }) => [
  path,
  ...aliases,
]);

describe('the table of deprecations', () => {
  it('names operations of the contract, successors that exist, and a sunset after the deprecation', () => {
    for (const [id, { deprecatedAt, sunsetAt, successor }] of Object.entries(deprecations)) {
      expect(contract.operations).toHaveProperty(id);
      expect(paths).toContain(successor);
      if (sunsetAt !== undefined) expect(Date.parse(sunsetAt)).toBeGreaterThan(Date.parse(deprecatedAt));
    }
  });

  it('is part of the contract, so that the servers answer by it', () => {
    expect(contract.deprecations).toBe(deprecations);
  });
});
