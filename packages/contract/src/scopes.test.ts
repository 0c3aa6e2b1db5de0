import { describe, expect, it } from 'vitest';
import { contract, operationsOf, scopeTableOf } from './contract.ts';
import { isScope, platformRoleScopes, roleNames, roles, scopeNames, scopesOf } from './scopes.ts';

describe('scope table', () => {
  it('has a known scope for every operation', () => {
    const table = scopeTableOf(contract);
    expect(Object.keys(table).toSorted()).toEqual(Object.keys(contract.operations).toSorted());
    for (const scope of Object.values(table)) expect(scope === null || isScope(scope)).toBe(true);
  });

  it('requires platform scopes for operator and supplier operations, and for no others', () => {
    for (const { id, document, scope } of operationsOf(contract)) {
      const prefix = scope?.split(':')[0];
      expect(prefix === 'admin', id).toBe(document === 'admin');
      if (prefix === 'supplier') expect(document, id).toBe('supplier');
    }
  });

  it('requires a write scope for every operation that changes an organisation', () => {
    const changing = operationsOf(contract).filter(({ idempotency }) => idempotency === 'key');
    for (const { id, scope } of changing) {
      if (scope !== null) expect(scope, id).toMatch(/:(write|money)$/);
    }
  });
});

describe('roles', () => {
  it('never contain platform scopes', () => {
    const platform = new Set(Object.values(platformRoleScopes).flat());
    for (const role of roleNames) {
      expect(new Set(roles[role]).size, role).toBe(roles[role].length);
      expect(
        roles[role].filter((scope) => platform.has(scope)),
        role,
      ).toEqual([]);
    }
    expect(new Set([...roles.owner, ...platform])).toEqual(new Set(scopeNames));
  });

  it('shrink from owner to viewer, and a viewer can write only its notice settings', () => {
    for (const role of roleNames) expect(roles.owner).toEqual(expect.arrayContaining([...roles[role]]));
    expect(roles.admin).toEqual(expect.arrayContaining([...roles.member]));
    expect(roles.member).toEqual(expect.arrayContaining([...roles.viewer]));
    expect(roles.viewer.filter((scope) => !scope.endsWith(':read'))).toEqual(['notices:write']);
    expect(roles.owner).toContain('organisation:write');
    expect(roles.admin).not.toContain('organisation:write');
    expect(roles.billing.filter((scope) => scope.endsWith(':write'))).toEqual([
      'notices:write',
      'billing:write',
    ]);
  });

  it('combine with platform roles', () => {
    expect(scopesOf('viewer', ['operator'])).toEqual(expect.arrayContaining(['admin:money', 'rentals:read']));
    expect(scopesOf('viewer')).not.toContain('admin:read');
  });
});
