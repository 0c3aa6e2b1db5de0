import { platformRoleScopes, roles, scopeNames, scopesOf } from '@millrace/contract';
import type { ApiKeyLimits, PlatformRole, Role, Scope } from '@millrace/contract';
import type { FaultIssue } from '@millrace/platform/fault';
import type { KeyMode } from './api-key.ts';
import { coversNetwork, formatNetwork, parseNetwork, type Network } from './networks.ts';

/** What a key may be used for, whatever form it is in: asked for, stored, or at work. */
export interface KeyRights {
  readonly mode: KeyMode;
  readonly scopes: readonly Scope[];
  readonly limits: ApiKeyLimits;
  /** Networks in CIDR form; empty means anywhere. */
  readonly allowedIps: readonly string[];
  readonly expiresAt: Date | null;
}

export type RightsDecision =
  | { readonly ok: true; readonly rights: KeyRights }
  /** `invalid`: the wish makes no sense. `escalation`: it makes sense, but not for this creator. */
  | { readonly ok: false; readonly kind: 'invalid' | 'escalation'; readonly issues: readonly FaultIssue[] };

/**
 * Scopes no test key may hold. Test keys live in scripts and examples and leak more easily; organisations, people and
 * money are the same in both modes, so changing them is left to live keys.
 */
const liveOnlyScopes: ReadonlySet<Scope> = new Set<Scope>([
  'organisation:write',
  'members:write',
  'billing:write',
  'admin:read',
  'admin:write',
  'admin:money',
  'supplier:read',
  'supplier:write',
]);

/**
 * Limits on an amount. A key with one of these must not create keys: every key it made would have the amount again.
 */
const amountLimits = ['maxUsdPerHour', 'maxLiveRentals', 'budget', 'rpm', 'tpm'] as const;

/**
 * The platform roles that a person acts in for an organisation: their own, and that of a supplier where the organisation
 * is one and they speak for it. So whoever joins, leaves or is given another role in it gains and loses that at once.
 */
export function platformRolesIn(
  own: readonly PlatformRole[],
  organisation: { readonly role: Role | null; readonly supplies: boolean },
): readonly PlatformRole[] {
  const { role, supplies } = organisation;
  const speaksForIt = role === 'owner' || role === 'admin';
  return supplies && speaksForIt && !own.includes('supplier') ? [...own, 'supplier'] : own;
}

/** What a person may put on a key of that mode. */
export function grantableScopes(role: Role, platformRoles: readonly PlatformRole[], mode: KeyMode): Scope[] {
  return scopesOf(role, platformRoles).filter((scope) => mode === 'live' || !liveOnlyScopes.has(scope));
}

/**
 * What a key may do now: what it was given, cut with what its user may do at this moment. So a demotion weakens every
 * key the person ever made, without touching one of them.
 */
export function effectiveScopes(
  key: { readonly scopes: readonly string[]; readonly mode: KeyMode },
  role: Role,
  platformRoles: readonly PlatformRole[],
): ReadonlySet<Scope> {
  const given = new Set(key.scopes);
  return new Set(grantableScopes(role, platformRoles, key.mode).filter((scope) => given.has(scope)));
}

/**
 * What a key may put on keys that it makes: what it may do itself, and the scopes of a supplier if it was given all that
 * its user's role has. Keys are made by keys, and none that is older than the approval of a supplier has its scopes: a
 * key that stands for its person in everything may name them, one that was made for less may not.
 */
export function delegableScopes(
  key: { readonly scopes: readonly string[]; readonly mode: KeyMode },
  role: Role,
  platformRoles: readonly PlatformRole[],
): readonly Scope[] {
  const own = effectiveScopes(key, role, platformRoles);
  const isWhole = grantableScopes(role, [], key.mode).every((scope) => own.has(scope));
  if (!isWhole || !platformRoles.includes('supplier')) return [...own];
  const gained = platformRoleScopes.supplier.filter((scope) => key.mode === 'live' && !own.has(scope));
  return [...own, ...gained];
}

/** Settles what a new key gets: never more than its creator has, in any respect. What is left open is inherited. */
export function resolveKeyRights(creator: KeyRights, request: KeyRights, nowMs: number): RightsDecision {
  const invalid: FaultIssue[] = [];
  const escalation: FaultIssue[] = [];
  const scopes = decideScopes(creator, request, invalid, escalation);
  const allowedIps = decideNetworks(creator.allowedIps, request.allowedIps, invalid, escalation);
  const expiresAt = decideExpiry(creator.expiresAt, request.expiresAt, nowMs, invalid, escalation);
  const limits = decideLimits(creator.limits, request.limits, escalation);
  const amount = amountLimits.find((name) => limits[name] !== null);
  if (amount !== undefined && scopes.includes('api-keys:write')) {
    invalid.push(
      issue(
        ['scopes'],
        'limited_key_creates_keys',
        `a key limited by ${amount} cannot hold api-keys:write: each key it made would have the limit again`,
      ),
    );
  }
  if (invalid.length > 0) return { ok: false, kind: 'invalid', issues: invalid };
  if (escalation.length > 0) return { ok: false, kind: 'escalation', issues: escalation };
  return { ok: true, rights: { mode: request.mode, scopes, limits, allowedIps, expiresAt } };
}

/**
 * Whether someone may change a membership from one role to another (null: no membership). The present role must be
 * within what the person's own role grants, the new one within what the calling key may do.
 */
export function mayChangeRole(
  actor: { readonly role: Role; readonly scopes: ReadonlySet<Scope> },
  from: Role | null,
  to: Role | null,
): boolean {
  const own = new Set(roles[actor.role]);
  return (
    (from === null || roles[from].every((scope) => own.has(scope))) &&
    (to === null || roles[to].every((scope) => actor.scopes.has(scope)))
  );
}

/** Owners and admins look after every key of the organisation, others after their own. */
export function mayManageAllKeys(role: Role): boolean {
  return role === 'owner' || role === 'admin';
}

function decideScopes(
  creator: KeyRights,
  request: KeyRights,
  invalid: FaultIssue[],
  escalation: FaultIssue[],
): readonly Scope[] {
  const held = new Set(creator.scopes);
  if (creator.mode === 'test' && request.mode === 'live') {
    escalation.push(
      issue(['mode'], 'mode_escalation', 'a test key creates test keys only; send "mode": "test"'),
    );
  }
  request.scopes.forEach((scope, index) => {
    if (request.mode === 'test' && liveOnlyScopes.has(scope)) {
      invalid.push(issue(['scopes', index], 'live_only_scope', `a test key cannot hold ${scope}`));
    } else if (!held.has(scope)) {
      escalation.push(
        issue(['scopes', index], 'scope_escalation', `${scope} is not among the scopes of the key you use`),
      );
    }
  });
  const wanted = new Set(request.scopes);
  return scopeNames.filter((scope) => wanted.has(scope));
}

function decideNetworks(
  held: readonly string[],
  wanted: readonly string[],
  invalid: FaultIssue[],
  escalation: FaultIssue[],
): readonly string[] {
  const outer = held.flatMap((text) => readNetwork(text));
  const accepted: string[] = [];
  wanted.forEach((text, index) => {
    const parsed = parseNetwork(text);
    if (!parsed.ok) {
      invalid.push(issue(['allowedIps', index], 'invalid_network', parsed.why));
    } else if (outer.length > 0 && !outer.some((network) => coversNetwork(network, parsed.network))) {
      escalation.push(
        issue(['allowedIps', index], 'network_escalation', 'lies outside the networks of the key you use'),
      );
    } else {
      accepted.push(formatNetwork(parsed.network));
    }
  });
  return wanted.length === 0 ? held : [...new Set(accepted)];
}

function readNetwork(text: string): readonly Network[] {
  const parsed = parseNetwork(text);
  return parsed.ok ? [parsed.network] : [];
}

function decideExpiry(
  held: Date | null,
  wanted: Date | null,
  nowMs: number,
  invalid: FaultIssue[],
  escalation: FaultIssue[],
): Date | null {
  if (wanted === null) return held;
  if (wanted.getTime() <= nowMs) invalid.push(issue(['expiresAt'], 'in_the_past', 'must lie in the future'));
  if (held !== null && wanted > held) {
    escalation.push(
      issue(
        ['expiresAt'],
        'expiry_escalation',
        `is later than that of the key you use, ${held.toISOString()}`,
      ),
    );
  }
  return wanted;
}

type NumberLimit = 'maxUsdPerHour' | 'maxLiveRentals' | 'maxRentalSeconds' | 'rpm' | 'tpm';
type ListLimit = 'models' | 'regions' | 'gpuTypes';

function decideLimits(held: ApiKeyLimits, wanted: ApiKeyLimits, escalation: FaultIssue[]): ApiKeyLimits {
  const refuse = (name: keyof ApiKeyLimits) => {
    const most = JSON.stringify(held[name]);
    escalation.push(issue(['limits', name], 'limit_escalation', `exceeds that of the key you use, ${most}`));
  };
  const number = (name: NumberLimit): number | null => {
    const [most, limit] = [held[name], wanted[name]];
    if (most !== null && limit !== null && limit > most) refuse(name);
    return limit ?? most;
  };
  const list = <Name extends ListLimit>(name: Name): ApiKeyLimits[Name] => {
    const allowed: readonly string[] = held[name] ?? ['*'];
    const entries: readonly string[] = wanted[name] ?? [];
    if (!entries.every((entry) => allowed.some((pattern) => patternCovers(pattern, entry)))) refuse(name);
    return wanted[name] ?? held[name];
  };
  const budgetFits =
    held.budget === null ||
    wanted.budget === null ||
    (wanted.budget.period === held.budget.period && wanted.budget.usd <= held.budget.usd);
  if (!budgetFits) refuse('budget');
  return {
    maxUsdPerHour: number('maxUsdPerHour'),
    maxLiveRentals: number('maxLiveRentals'),
    maxRentalSeconds: number('maxRentalSeconds'),
    budget: wanted.budget ?? held.budget,
    rpm: number('rpm'),
    tpm: number('tpm'),
    models: list('models'),
    regions: list('regions'),
    gpuTypes: list('gpuTypes'),
  };
}

/** True when every name that `inner` matches is matched by `outer`. A pattern is a name, or a start of one and `*`. */
export function patternCovers(outer: string, inner: string): boolean {
  return outer.endsWith('*') ? inner.startsWith(outer.slice(0, -1)) : outer === inner;
}

function issue(path: readonly (string | number)[], code: string, message: string): FaultIssue {
  return { path, code, message };
}
