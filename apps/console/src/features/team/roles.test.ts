import { roleNames, roles } from '@millrace/contract/scopes';
import { describe, expect, it } from 'vitest';
import { canAssignRole, roleMeanings } from './roles.ts';

describe('canAssignRole', () => {
  it('allows an owner to assign every role', () => {
    expect(roleNames.filter((role) => canAssignRole(roles.owner, role))).toEqual([...roleNames]);
  });

  it('allows an admin to assign every role except owner', () => {
    expect(roleNames.filter((role) => canAssignRole(roles.admin, role))).toEqual([
      'admin',
      'member',
      'billing',
      'viewer',
    ]);
  });

  it('has a description for every role', () => {
    expect(Object.keys(roleMeanings)).toEqual([...roleNames]);
  });
});
