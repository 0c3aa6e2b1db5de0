import type { NatsPermissions } from '@millrace/platform/nats';

interface NatsUserInFile {
  readonly publicKey: string;
  /** Null: everything. */
  readonly permissions: NatsPermissions | null;
}

/** Reads the users that `millrace-admin nats users` has printed. For a file in another format, the lists of subjects are empty. */
export function parseNatsUsers(text: string): readonly NatsUserInFile[] {
  const users = text.split('nkey: ').slice(1);
  return users.map((part) => {
    const [publicKey = ''] = /^\w+/.exec(part) ?? [];
    const isLimited = part.includes('permissions:');
    return {
      publicKey,
      permissions: isLimited
        ? {
            publish: subjectsOf(part, 'publish'),
            subscribe: subjectsOf(part, 'subscribe'),
            mayRespond: part.includes('allow_responses'),
          }
        : null,
    };
  });
}

function subjectsOf(part: string, list: 'publish' | 'subscribe'): readonly string[] {
  const start = part.indexOf(`${list}:`);
  if (start < 0) return [];
  const block = part.slice(start, part.indexOf(']', start));
  return [...block.matchAll(/"([^"]+)"/g)].map(([, subject = '']) => subject);
}
