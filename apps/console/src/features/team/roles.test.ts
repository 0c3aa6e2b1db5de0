import { roleNames, roles } from '@millrace/contract/scopes';
import { describe, expect, it } from 'vitest';
import { mayGive, roleMeanings } from './roles.ts';

describe('what can be handed out', () => {
  it('an owner gives every role', () => {
    expect(roleNames.filter((role) => mayGive(roles.owner, role))).toEqual([...roleNames]);
  });

  it('an admin gives every role but the owner', () => {
    expect(roleNames.filter((role) => mayGive(roles.admin, role))).toEqual([
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
