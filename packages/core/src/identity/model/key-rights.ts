import { platformRoleScopes, roles, scopeNames, scopesOf } from '@millrace/contract';
import type { ApiKeyLimits, PlatformRole, Role, Scope } from '@millrace/contract';
import type { FaultIssue } from '@millrace/platform/fault';
import type { KeyMode } from './api-key.ts';
import { coversNetwork, formatNetwork, parseNetwork, type Network } from './networks.ts';

/** The rights of a requested, stored or calling key. */
export interface KeyRights {
  readonly mode: KeyMode;
  readonly scopes: readonly Scope[];
  readonly limits: ApiKeyLimits;
  /** Networks in CIDR notation; empty means any address. */
  readonly allowedIps: readonly string[];
  readonly expiresAt: Date | null;
}

export type RightsDecision =
  | { readonly ok: true; readonly rights: KeyRights }
  /** `invalid`: the request is inconsistent. `escalation`: it is valid, but exceeds the creator's rights. */
  | { readonly ok: false; readonly kind: 'invalid' | 'escalation'; readonly issues: readonly FaultIssue[] };

/** Scopes that test keys cannot have. Test keys leak more easily, and organisations, users and money are the same in both modes. */
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

/** Limits on an amount. A key with one of these cannot create keys, because each new key would have the amount again. */
const amountLimits = ['maxUsdPerHour', 'maxLiveRentals', 'budget', 'rpm', 'tpm'] as const;

/**
 * The platform roles of a user in an organisation: the user's own, plus supplier for owners and admins of a supplier. Joining,
 * leaving and role changes therefore take effect at once.
 */
export function platformRolesIn(
  own: readonly PlatformRole[],
  organisation: { readonly role: Role | null; readonly supplies: boolean },
): readonly PlatformRole[] {
  const { role, supplies } = organisation;
  const speaksForIt = role === 'owner' || role === 'admin';
  return supplies && speaksForIt && !own.includes('supplier') ? [...own, 'supplier'] : own;
}

/** The scopes that a user can put on a key of that mode. */
export function grantableScopes(role: Role, platformRoles: readonly PlatformRole[], mode: KeyMode): Scope[] {
  return scopesOf(role, platformRoles).filter((scope) => mode === 'live' || !liveOnlyScopes.has(scope));
}

/** The key's scopes limited to what its user may do now. So a demotion weakens every key of the user without changing it. */
export function effectiveScopes(
  key: { readonly scopes: readonly string[]; readonly mode: KeyMode },
  role: Role,
  platformRoles: readonly PlatformRole[],
): ReadonlySet<Scope> {
  const given = new Set(key.scopes);
  return new Set(grantableScopes(role, platformRoles, key.mode).filter((scope) => given.has(scope)));
}

/**
 * The scopes that a key can put on keys it creates: its own, plus the supplier scopes if it has all scopes of its user's role.
 * Keys that are older than the supplier approval cannot have those scopes, so a full key can grant them; a narrower key cannot.
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

/** Resolves the rights of a new key: never more than its creator has, in any respect. Missing values are inherited. */
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
        `a key limited by ${amount} cannot have api-keys:write, because each key that it creates would have the limit again`,
      ),
    );
  }
  if (invalid.length > 0) return { ok: false, kind: 'invalid', issues: invalid };
  if (escalation.length > 0) return { ok: false, kind: 'escalation', issues: escalation };
  return { ok: true, rights: { mode: request.mode, scopes, limits, allowedIps, expiresAt } };
}

/**
 * Whether the actor may change a membership from one role to another (null: no membership). The current role must be within
 * what the actor's role grants, the new one within the scopes of the calling key.
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

/** Owners and admins manage all keys of the organisation, other members their own. */
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
      invalid.push(issue(['scopes', index], 'live_only_scope', `a test key cannot have ${scope}`));
    } else if (!held.has(scope)) {
      escalation.push(issue(['scopes', index], 'scope_escalation', `the key you use does not have ${scope}`));
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
        issue(['allowedIps', index], 'network_escalation', 'is outside the networks of the key you use'),
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
  if (wanted.getTime() <= nowMs) invalid.push(issue(['expiresAt'], 'in_the_past', 'must be in the future'));
  if (held !== null && wanted > held) {
    escalation.push(
      issue(
        ['expiresAt'],
        'expiry_escalation',
        `is later than the expiry of the key you use, ${held.toISOString()}`,
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
    escalation.push(
      issue(['limits', name], 'limit_escalation', `exceeds the limit of the key you use, ${most}`),
    );
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

/** Whether `outer` matches every name that `inner` matches. A pattern is a name, or a prefix and `*`. */
export function patternCovers(outer: string, inner: string): boolean {
  return outer.endsWith('*') ? inner.startsWith(outer.slice(0, -1)) : outer === inner;
}

function issue(path: readonly (string | number)[], code: string, message: string): FaultIssue {
  return { path, code, message };
}
