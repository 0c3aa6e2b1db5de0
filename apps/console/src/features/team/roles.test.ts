import { roleNames, roles } from '@millrace/contract/scopes';
import { describe, expect, it } from 'vitest';
import { canAssignRole, roleMeanings } from './roles.ts';

describe('what can be handed out', () => {
  it('an owner gives every role', () => {
    expect(roleNames.filter((role) => canAssignRole(roles.owner, role))).toEqual([...roleNames]);
  });

  it('an admin gives every role but the owner', () => {
    expect(roleNames.filter((role) => canAssignRole(roles.admin, role))).toEqual([
      'admin',
      'member',
      'billing',
      'viewer',
    ]);
  });

  it('every role says what it is for', () => {
    expect(Object.keys(roleMeanings)).toEqual([...roleNames]);
  });
});
