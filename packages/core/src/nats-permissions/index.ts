export { natsPermissions, natsRoles, type NatsPlace } from './permissions-of-roles.ts';
export { renderNatsUsers, type NatsUser } from './render-users.ts';
