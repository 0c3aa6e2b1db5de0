import { roles, type Role, type Scope } from '@millrace/contract/scopes';

/** What each role is for, in the words of those who choose one. */
export const roleMeanings: Readonly<Record<Role, string>> = {
  owner: 'Everything, and the organisation itself.',
  admin: 'Everything but the organisation itself.',
  member: 'Rents machines, uses models, manages own keys; sees the balance.',
  billing: 'Sees and moves money; nothing that runs.',
  viewer: 'Sees what runs; changes nothing.',
};

/** Whether somebody with these scopes may hand out a role: nobody gives more than they have. The service decides the same. */
export function canAssignRole(scopes: readonly Scope[], role: Role): boolean {
  const own = new Set<Scope>(scopes);
  return roles[role].every((scope) => own.has(scope));
}
