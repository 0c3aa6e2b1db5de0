import { roles, scopeNames } from '@millrace/contract/scopes';
import { describe, expect, it } from 'vitest';
import { presetsFor, sameScopes, scopeGroups, scopesText } from './scope-choice.ts';

const member = new Set<string>(roles.member);
const may = (scope: string): boolean => member.has(scope);
const preset = (id: string) => presetsFor(may).find((each) => each.id === id)?.scopes ?? [];

it('scopeGroups contains every scope exactly once', () => {
  const grouped = scopeGroups.flatMap(({ scopes }) => scopes);
  expect(grouped.toSorted()).toEqual([...scopeNames].toSorted());
  expect(new Set(grouped).size).toBe(grouped.length);
});

describe('presets', () => {
  it('never include a scope that the user does not have', () => {
    for (const { scopes } of presetsFor(may)) expect(scopes.every(may)).toBe(true);
    const none = presetsFor(() => false);
    expect(none.every(({ scopes }) => scopes.length === 0)).toBe(true);
  });

  it('contain the scopes that their labels describe', () => {
    expect(preset('inference')).toEqual(['inference:read', 'inference:write']);
    expect(preset('read').every((scope) => scope.endsWith(':read'))).toBe(true);
    expect(preset('ci')).toContain('rentals:write');
    expect(preset('ci')).not.toContain('api-keys:write');
    expect([...preset('all')].toSorted()).toEqual([...member].toSorted());
  });
});

describe('scopesText', () => {
  it('names the preset, or lists the scopes and truncates long lists', () => {
    expect(scopesText(['inference:write', 'inference:read'], may)).toBe('Inference only');
    expect(scopesText(['rentals:read'], may)).toBe('rentals:read');
    expect(scopesText(['a', 'b', 'c', 'd', 'e'], may)).toBe('a, b, c and 2 more');
  });

  it('ignores the order of scopes', () => {
    expect(sameScopes(new Set(['a', 'b']), ['b', 'a'])).toBe(true);
    expect(sameScopes(new Set(['a', 'b']), ['a'])).toBe(false);
  });
});
