import { describe, expect, it } from 'vitest';
import { contract, operationsOf } from './contract.ts';
import { deprecations } from './deprecations.ts';

const paths: readonly string[] = operationsOf(contract).flatMap(({ path, aliases = [] }) => [
  path,
  ...aliases,
]);

describe('deprecations', () => {
  it('name operations of the contract, existing successors, and a sunset after the deprecation', () => {
    for (const [id, { deprecatedAt, sunsetAt, successor }] of Object.entries(deprecations)) {
      expect(contract.operations).toHaveProperty(id);
      expect(paths).toContain(successor);
      if (sunsetAt !== undefined) expect(Date.parse(sunsetAt)).toBeGreaterThan(Date.parse(deprecatedAt));
    }
  });

  it('are part of the contract, from which servers read them', () => {
    expect(contract.deprecations).toBe(deprecations);
  });
});
