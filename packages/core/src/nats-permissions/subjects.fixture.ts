import type { NatsPermissions } from '@millrace/platform/nats';

/** NATS's rules for wildcards: whether every subject of `wanted` is one of `allowed`. */
export function covers(allowed: string, wanted: string): boolean {
  const [have, need] = [allowed.split('.'), wanted.split('.')];
  for (const [index, token] of have.entries()) {
    if (token === '>') return need.length > index;
    const other = need[index];
    if (other === undefined || other === '>') return false;
    if (token !== '*' && token !== other) return false;
  }
  return have.length === need.length;
}

export function mayUse(permissions: readonly string[], subject: string): boolean {
  return permissions.some((allowed) => covers(allowed, subject));
}

/** A subject without wildcards that the pattern covers. */
export function concrete(pattern: string): string {
  return pattern
    .split('.')
    .map((token) => (token === '*' ? 'any' : token === '>' ? 'any.more' : token))
    .join('.');
}

/** All actions of the JetStream API on a stream, whether or not a role uses them. */
const streamActions = [
  ...['STREAM.CREATE', 'STREAM.UPDATE', 'STREAM.INFO', 'STREAM.DELETE', 'STREAM.PURGE', 'STREAM.MSG.GET'],
  ...['STREAM.MSG.DELETE', 'STREAM.SNAPSHOT', 'STREAM.RESTORE', 'STREAM.PEER.REMOVE'],
  ...['STREAM.LEADER.STEPDOWN', 'CONSUMER.NAMES', 'CONSUMER.LIST', 'CONSUMER.CREATE', 'DIRECT.GET'],
];
const consumerActions = [
  ...['CREATE', 'DURABLE.CREATE', 'INFO', 'DELETE', 'MSG.NEXT', 'PAUSE', 'RESET', 'UNPIN', 'LEADER.STEPDOWN'],
];
const accountSubjects = [
  ...['$JS.API.INFO', '$JS.API.STREAM.NAMES', '$JS.API.STREAM.LIST', '$JS.API.ACCOUNT.PURGE.any'],
  ...['$JS.API.META.LEADER.STEPDOWN', '$SYS.REQ.SERVER.PING', '$SYS.REQ.USER.INFO'],
];

/**
 * Every subject that any role may use, every action on every stream and consumer, and every stored subject, derived from the
 * permissions of all roles: the list that each role is tried with.
 */
export function subjectsToTry(roles: readonly NatsPermissions[]): {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
} {
  const published = roles.flatMap((role) => role.publish);
  const subscribed = roles.flatMap((role) => role.subscribe);
  const streams = new Set(
    published.flatMap((subject) => /^\$JS\.API\.STREAM\.INFO\.([^.*>]+)$/.exec(subject)?.[1] ?? []),
  );
  const ofStreams = [...streams].flatMap((stream) => [
    ...streamActions.map((action) => `$JS.API.${action}.${stream}`),
    ...consumerActions.map((action) => `$JS.API.CONSUMER.${action}.${stream}.any`),
    `$JS.API.CONSUMER.CREATE.${stream}.any.filter`,
    `$JS.API.DIRECT.GET.${stream}.any`,
    `$JS.ACK.${stream}.any.1.1.1.1.1`,
  ]);
  const all = [...published, ...subscribed];
  const widest = ['>', '$JS.API.>', '$JS.EVENT.>', '$KV.>', '_INBOX.>', '*.>'];
  return {
    publish: [...new Set([...all.map(concrete), ...ofStreams, ...accountSubjects])],
    subscribe: [...new Set([...all, ...all.map(concrete), ...ofStreams, ...widest])],
  };
}
