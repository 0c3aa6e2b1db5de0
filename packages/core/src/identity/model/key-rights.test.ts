import { roleNames, roles, scopeNames, type ApiKeyLimits, type Scope } from '@millrace/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  resolveKeyRights,
  effectiveScopes,
  mayChangeRole,
  patternCovers,
  platformRolesIn,
  delegableScopes,
  type KeyRights,
} from './key-rights.ts';
import { unlimitedKeyLimits } from './api-keys.store.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const later = (seconds: number) => new Date(NOW_MS + seconds * 1000);
const open: KeyRights = {
  mode: 'live',
  scopes: roles.owner,
  limits: unlimitedKeyLimits,
  allowedIps: [],
  expiresAt: null,
};
const request: KeyRights = { ...open, scopes: ['rentals:read'] };

function decide(creator: Partial<KeyRights>, requested: Partial<KeyRights>) {
  return resolveKeyRights({ ...open, ...creator }, { ...request, ...requested }, NOW_MS);
}
function granted(creator: Partial<KeyRights>, requested: Partial<KeyRights>): KeyRights {
  const decision = decide(creator, requested);
  if (!decision.ok) throw new Error(JSON.stringify(decision.issues));
  return decision.rights;
}
function refused(creator: Partial<KeyRights>, requested: Partial<KeyRights>) {
  const decision = decide(creator, requested);
  return decision.ok ? 'granted' : `${decision.kind}: ${decision.issues.map((found) => found.code).join()}`;
}
const limits = (some: Partial<ApiKeyLimits>): ApiKeyLimits => ({ ...unlimitedKeyLimits, ...some });

describe('resolveKeyRights', () => {
  it.each<[string, Partial<KeyRights>, Partial<KeyRights>, string]>([
    ['a scope', { scopes: ['api-keys:write'] }, {}, 'escalation: scope_escalation'],
    ['the operator scopes', {}, { scopes: ['admin:write'] }, 'escalation: scope_escalation'],
    ['live mode from test mode', { mode: 'test' }, {}, 'escalation: mode_escalation'],
    ['a later expiry', { expiresAt: later(60) }, { expiresAt: later(61) }, 'escalation: expiry_escalation'],
    [
      'another network',
      { allowedIps: ['10.0.0.0/8'] },
      { allowedIps: ['11.0.0.1'] },
      'escalation: network_escalation',
    ],
    [
      'a wider network',
      { allowedIps: ['10.0.0.0/8'] },
      { allowedIps: ['0.0.0.0/0'] },
      'escalation: network_escalation',
    ],
    [
      'a longer rental',
      { limits: limits({ maxRentalSeconds: 60 }) },
      { limits: limits({ maxRentalSeconds: 61 }) },
      'escalation: limit_escalation',
    ],
    [
      'another region',
      { limits: limits({ regions: ['us-southeast-2'] }) },
      { limits: limits({ regions: ['us-southeast-1', 'us-southeast-2'] }) },
      'escalation: limit_escalation',
    ],
    [
      'all models',
      { limits: limits({ models: ['meta/*'] }) },
      { limits: limits({ models: ['*'] }) },
      'escalation: limit_escalation',
    ],
    [
      'a bigger budget',
      { limits: limits({ budget: { usd: 5, period: 'day' } }) },
      { limits: limits({ budget: { usd: 6, period: 'day' } }) },
      'escalation: limit_escalation',
    ],
    [
      'a budget of another period',
      { limits: limits({ budget: { usd: 5, period: 'day' } }) },
      { limits: limits({ budget: { usd: 5, period: 'hour' } }) },
      'escalation: limit_escalation',
    ],
  ])('rejects %s beyond the creator', (_what, creator, requested, result) => {
    expect(refused(creator, requested)).toBe(result);
  });

  it('inherits missing values from the creator', () => {
    const creator = {
      expiresAt: later(60),
      allowedIps: ['10.0.0.0/8'],
      limits: limits({ maxRentalSeconds: 60, models: ['meta/*'] }),
    };
    expect(granted(creator, {})).toMatchObject(creator);
  });

  it('never grants more than the creator has, for any creator and request', () => {
    const number = fc.option(fc.integer({ min: 60, max: 64 }));
    const someScopes = fc.subarray([...scopeNames], { minLength: 1 });
    const rights = fc.record({
      mode: fc.constantFrom('live' as const, 'test' as const),
      scopes: someScopes,
      allowedIps: fc.subarray(['10.0.0.0/8', '10.1.0.0/16', '192.0.2.1/32', '2001:db8::/32']),
      expiresAt: fc.option(fc.integer({ min: 1, max: 5 }).map(later)),
      limits: fc
        .record({
          maxUsdPerHour: number,
          maxRentalSeconds: number,
          rpm: number,
          models: fc.option(fc.subarray(['meta/*', 'meta/a', 'b', '*'])),
        })
        .map(limits),
    });
    fc.assert(
      fc.property(rights, rights, (creator, requested) => {
        const decision = resolveKeyRights(creator, requested, NOW_MS);
        if (!decision.ok) return;
        const { rights: got } = decision;
        expect(got.scopes.every((scope) => creator.scopes.includes(scope))).toBe(true);
        expect(creator.mode === 'test' && got.mode === 'live').toBe(false);
        if (creator.expiresAt !== null)
          expect(got.expiresAt?.getTime()).toBeLessThanOrEqual(creator.expiresAt.getTime());
        if (creator.allowedIps.length > 0) expect(got.allowedIps.length).toBeGreaterThan(0);
        for (const name of ['maxUsdPerHour', 'maxRentalSeconds', 'rpm'] as const) {
          const most = creator.limits[name];
          if (most !== null) expect(got.limits[name]).toBeLessThanOrEqual(most);
        }
        const allowed = creator.limits.models;
        if (allowed !== null) {
          expect(
            got.limits.models?.every((name) => allowed.some((pattern) => patternCovers(pattern, name))),
          ).toBe(true);
        }
      }),
    );
  });
});

describe('resolveKeyRights of an inconsistent request', () => {
  it.each<[string, Partial<KeyRights>, string]>([
    ['an expiry in the past', { expiresAt: later(0) }, 'invalid: in_the_past'],
    ['host bits in a network', { allowedIps: ['10.0.0.1/8'] }, 'invalid: invalid_network'],
    [
      'a test key that changes members',
      { mode: 'test', scopes: ['members:write'] },
      'invalid: live_only_scope',
    ],
    [
      'a limited key that could create more keys',
      { scopes: ['api-keys:write'], limits: limits({ rpm: 5 }) },
      'invalid: limited_key_creates_keys',
    ],
  ])('rejects %s before it checks rights', (_what, requested, result) => {
    expect(refused({}, requested)).toBe(result);
  });

  it('removes duplicate scopes and normalises networks', () => {
    const rights = granted(
      {},
      { scopes: ['rentals:read', 'rentals:read'], allowedIps: ['10.0.0.1', '::ffff:10.0.0.1'] },
    );
    expect(rights).toMatchObject({ scopes: ['rentals:read'], allowedIps: ['10.0.0.1/32'] });
  });
});

describe('effectiveScopes', () => {
  it('are never more than the user may do now', () => {
    fc.assert(
      fc.property(fc.subarray([...scopeNames]), fc.constantFrom(...roleNames), (scopes, role) => {
        const effective = effectiveScopes({ scopes, mode: 'live' }, role, []);
        expect([...effective].every((scope) => scopes.includes(scope) && roles[role].includes(scope))).toBe(
          true,
        );
      }),
    );
  });

  it('leave a test key without rights over organisations, users, money and the installation', () => {
    const effective = effectiveScopes({ scopes: scopeNames, mode: 'test' }, 'owner', [
      'operator',
      'supplier',
    ]);
    for (const scope of [
      'organisation:write',
      'members:write',
      'billing:write',
      'admin:write',
      'supplier:write',
    ] as const) {
      expect(effective.has(scope), scope).toBe(false);
    }
    expect(effective.has('rentals:write')).toBe(true);
  });

  it('ignore scopes that this version does not know', () => {
    expect([
      ...effectiveScopes({ scopes: ['gone:read', 'rentals:read'], mode: 'live' }, 'owner', []),
    ]).toEqual(['rentals:read']);
  });
});

describe('mayChangeRole', () => {
  const as = (role: 'owner' | 'admin' | 'member', scopes: readonly Scope[] = roles[role]) => ({
    role,
    scopes: new Set(scopes),
  });
  it.each([
    ['an owner makes an owner', as('owner'), 'member', 'owner', true],
    ['an owner demotes an owner', as('owner'), 'owner', 'viewer', true],
    ['an admin makes an admin', as('admin'), 'member', 'admin', true],
    ['an admin makes an owner', as('admin'), 'member', 'owner', false],
    ['an admin demotes an owner', as('admin'), 'owner', 'member', false],
    ['an admin removes an owner', as('admin'), 'owner', null, false],
    ['a member removes a viewer', as('member'), 'viewer', null, true],
    ['a narrow key of an owner makes an admin', as('owner', ['members:write']), 'member', 'admin', false],
    ['a narrow key of an owner removes an admin', as('owner', ['members:write']), 'admin', null, true],
  ] as const)('%s', (_what, actor, from, to, allowed) => {
    expect(mayChangeRole(actor, from, to)).toBe(allowed);
  });
});

describe('the supplier role', () => {
  it.each([
    ['owner', true, ['supplier']],
    ['admin', true, ['supplier']],
    ['member', true, []],
    ['billing', true, []],
    ['viewer', true, []],
    [null, true, []],
    ['owner', false, []],
  ] as const)('for the role %s if the organisation is a supplier: %s', (role, supplies, held) => {
    expect(platformRolesIn([], { role, supplies })).toEqual(held);
  });

  it('is added to the roles of the user, once', () => {
    const supplies = { role: 'owner', supplies: true } as const;
    expect(platformRolesIn(['operator'], supplies)).toEqual(['operator', 'supplier']);
    expect(platformRolesIn(['supplier'], supplies)).toEqual(['supplier']);
  });

  it.each<[string, Parameters<typeof delegableScopes>, boolean]>([
    ['a whole key of an owner', [{ scopes: roles.owner, mode: 'live' }, 'owner', ['supplier']], true],
    ['a whole key of an admin', [{ scopes: roles.admin, mode: 'live' }, 'admin', ['supplier']], true],
    [
      'a key that lacks one scope',
      [{ scopes: roles.owner.slice(1), mode: 'live' }, 'owner', ['supplier']],
      false,
    ],
    [
      'a key of an owner with the scopes of an admin',
      [{ scopes: roles.admin, mode: 'live' }, 'owner', ['supplier']],
      false,
    ],
    ['a test key', [{ scopes: roles.owner, mode: 'test' }, 'owner', ['supplier']], false],
    [
      'a key of an organisation that is not a supplier',
      [{ scopes: roles.owner, mode: 'live' }, 'owner', []],
      false,
    ],
  ])('can be granted to other keys by %s: %s', (_what, args, isHandedOn) => {
    const scopes = delegableScopes(...args);
    expect(scopes.includes('supplier:write')).toBe(isHandedOn);
    expect(new Set(scopes).size).toBe(scopes.length);
    expect(scopes).toEqual(expect.arrayContaining([...effectiveScopes(...args)]));
    expect(scopes.some((scope) => scope.startsWith('admin:'))).toBe(false);
  });
});
