import { roles, scopeNames } from '@millrace/contract/scopes';
import { describe, expect, it } from 'vitest';
import { presetsFor, sameScopes, scopeGroups, scopesText } from './scope-choice.ts';

const member = new Set<string>(roles.member);
const may = (scope: string): boolean => member.has(scope);
const preset = (id: string) => presetsFor(may).find((each) => each.id === id)?.scopes ?? [];

it('every scope stands in exactly one group', () => {
  const grouped = scopeGroups.flatMap(({ scopes }) => scopes);
  expect(grouped.toSorted()).toEqual([...scopeNames].toSorted());
  expect(new Set(grouped).size).toBe(grouped.length);
});

describe('presets', () => {
  it('never hold what the person may not do', () => {
    for (const { scopes } of presetsFor(may)) expect(scopes.every(may)).toBe(true);
    const none = presetsFor(() => false);
    expect(none.every(({ scopes }) => scopes.length === 0)).toBe(true);
  });

  it('are what they say', () => {
    expect(preset('inference')).toEqual(['inference:read', 'inference:write']);
    expect(preset('read').every((scope) => scope.endsWith(':read'))).toBe(true);
    expect(preset('ci')).toContain('rentals:write');
    expect(preset('ci')).not.toContain('api-keys:write');
    expect([...preset('all')].toSorted()).toEqual([...member].toSorted());
  });
});

describe('scopes in a table', () => {
  it('are named by their preset, or listed, the long ones cut', () => {
    expect(scopesText(['inference:write', 'inference:read'], may)).toBe('Inference only');
    expect(scopesText(['rentals:read'], may)).toBe('rentals:read');
    expect(scopesText(['a', 'b', 'c', 'd', 'e'], may)).toBe('a, b, c and 2 more');
  });

  it('are compared as sets', () => {
    expect(sameScopes(new Set(['a', 'b']), ['b', 'a'])).toBe(true);
    expect(sameScopes(new Set(['a', 'b']), ['a'])).toBe(false);
  });
});
