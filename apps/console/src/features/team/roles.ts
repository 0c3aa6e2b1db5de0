import { roles, type Role, type Scope } from '@millrace/contract/scopes';

export const roleMeanings: Readonly<Record<Role, string>> = {
  owner: 'Full access, including the organisation itself.',
  admin: 'Full access except to the organisation itself.',
  member: 'Can rent machines, use models, manage own keys and see the balance.',
  billing: 'Can see and manage billing, but no resources.',
  viewer: 'Read-only access to resources.',
};

/** Users cannot assign a role with more scopes than their own. The service checks the same rule. */
export function canAssignRole(scopes: readonly Scope[], role: Role): boolean {
  const own = new Set<Scope>(scopes);
  return roles[role].every((scope) => own.has(scope));
}
