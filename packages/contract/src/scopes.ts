/** All scopes with descriptions. Operations name the scope they need; roles are sets of scopes. */
export const scopes = {
  'organisation:read': 'See the organisation and its settings.',
  'organisation:write': 'Change the organisation and its settings.',
  'members:read': 'See the members of the organisation.',
  'members:write': 'Invite people, change roles, remove members.',
  'api-keys:read': 'See API keys, never their secrets.',
  'api-keys:write': 'Create, rotate and revoke API keys.',
  'ssh-keys:read': 'See SSH public keys.',
  'ssh-keys:write': 'Add and remove SSH public keys.',
  'audit:read': 'Read the audit log.',
  'events:read': 'Read the event feed.',
  'notices:write': 'Choose which notices you get by email.',
  'operations:read': 'See the result of a request.',
  'webhooks:read': 'See webhooks and their deliveries.',
  'webhooks:write': 'Create, change, replay and delete webhooks.',
  'catalog:read': 'See offers, quotes and placement.',
  'rentals:read': 'See rentals, their metrics, console and cost.',
  'rentals:write': 'Create, change and terminate rentals.',
  'volumes:read': 'See storage volumes.',
  'volumes:write': 'Create, attach, detach, change and delete storage volumes.',
  'marketplace:read': 'See marketplace instances and their history.',
  'marketplace:write': 'Create and terminate marketplace instances.',
  'inference:read': 'See models and their prices.',
  'inference:write': 'Send inference requests.',
  'usage:read': 'See what requests cost and how they ran.',
  'billing:read': 'See balance, ledger, invoices, budgets and limits.',
  'billing:write': 'Top up, set budgets and payment settings.',
  'admin:read': 'Operators: see every organisation, node, price and job.',
  'admin:write': 'Operators: change organisations, fleet, catalog and settings.',
  'admin:money': 'Operators: grant, adjust, refund and reverse.',
  'supplier:read': 'Suppliers: see your machines, their use and payouts.',
  'supplier:write': 'Suppliers: list, price, drain and withdraw your machines.',
} as const satisfies Record<string, string>;

export type Scope = keyof typeof scopes;

export const scopeNames = Object.keys(scopes) as readonly Scope[];

export function isScope(value: string): value is Scope {
  return Object.hasOwn(scopes, value);
}

export type Role = 'owner' | 'admin' | 'member' | 'billing' | 'viewer';

/** From most to least powerful. */
export const roleNames = ['owner', 'admin', 'member', 'billing', 'viewer'] as const satisfies readonly Role[];

const operatorScopes = ['admin:read', 'admin:write', 'admin:money'] as const satisfies readonly Scope[];
const supplierScopes = ['supplier:read', 'supplier:write'] as const satisfies readonly Scope[];

const platformScopes: ReadonlySet<Scope> = new Set<Scope>([...operatorScopes, ...supplierScopes]);

const everyTenantScope = scopeNames.filter((scope) => !platformScopes.has(scope));

const viewerScopes = [
  'organisation:read',
  'members:read',
  'api-keys:read',
  'ssh-keys:read',
  'events:read',
  'notices:write',
  'operations:read',
  'catalog:read',
  'rentals:read',
  'volumes:read',
  'marketplace:read',
  'inference:read',
  'usage:read',
] as const satisfies readonly Scope[];

/**
 * The scopes of each role in an organisation. Only owners can change the organisation itself. Members use
 * machines and models and manage their own keys. Billing members see and move money only.
 */
export const roles: Readonly<Record<Role, readonly Scope[]>> = {
  owner: everyTenantScope,
  admin: everyTenantScope.filter((scope) => scope !== 'organisation:write'),
  member: [
    ...viewerScopes,
    'api-keys:write',
    'ssh-keys:write',
    'webhooks:read',
    'rentals:write',
    'volumes:write',
    'marketplace:write',
    'inference:write',
    'billing:read',
  ],
  billing: [
    'organisation:read',
    'members:read',
    'audit:read',
    'events:read',
    'notices:write',
    'operations:read',
    'catalog:read',
    'usage:read',
    'billing:read',
    'billing:write',
  ],
  viewer: viewerScopes,
};

/** Roles of a user in the installation, independent of any organisation. */
export type PlatformRole = 'operator' | 'supplier';

export const platformRoleNames = ['operator', 'supplier'] as const satisfies readonly PlatformRole[];

export const platformRoleScopes: Readonly<Record<PlatformRole, readonly Scope[]>> = {
  operator: operatorScopes,
  supplier: supplierScopes,
};

/** Every scope that a user may give to a key: those of the role and of all platform roles. */
export function scopesOf(role: Role, platformRoles: readonly PlatformRole[] = []): readonly Scope[] {
  const granted = new Set<Scope>(roles[role]);
  for (const platformRole of platformRoles) {
    for (const scope of platformRoleScopes[platformRole]) granted.add(scope);
  }
  return scopeNames.filter((scope) => granted.has(scope));
}
