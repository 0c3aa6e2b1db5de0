import type { Column } from '../framework/output.ts';
import type { Output } from '../sdk.ts';

export type Me = Output<'getMe'>;

export const meColumns: readonly Column<Me>[] = [
  { name: 'user', value: ({ user }) => user.email },
  { name: 'organisation', value: ({ organisation }) => `${organisation.name} (${organisation.id})` },
  { name: 'role', value: ({ role, platformRoles }) => [role, ...platformRoles].join(', ') },
  { name: 'mode', value: ({ mode }) => mode },
  { name: 'key', value: ({ key }) => (key === null ? undefined : `${key.name} (${key.prefix}…)`) },
  { name: 'key-expires', value: ({ key }) => key?.expiresAt },
  { name: 'may', value: ({ scopes }) => scopes.join(', ') },
];
