import type { NatsPermissions } from '@millrace/platform/nats';

export interface NatsUser {
  /** Shown as a comment. */
  readonly name: string;
  /** Public nkeys, several while keys are being replaced. */
  readonly publicKeys: readonly string[];
  /** Null: all subjects. */
  readonly permissions: NatsPermissions | null;
}

/** Renders the `authorization` block of a nats-server configuration. */
export function renderNatsUsers(users: readonly NatsUser[]): string {
  return [
    'authorization {',
    '  users: [',
    ...users.flatMap((user) => user.publicKeys.flatMap((key) => renderUser(user, key))),
    '  ]',
    '}',
    '',
  ].join('\n');
}

function renderUser({ name, permissions }: NatsUser, publicKey: string): readonly string[] {
  const key = `nkey: ${publicKey}`;
  if (permissions === null) return [`    # ${name}`, `    { ${key} }`];
  const { publish, subscribe, mayRespond } = permissions;
  return [
    `    # ${name}`,
    '    {',
    `      ${key}`,
    '      permissions: {',
    ...renderList('publish', publish),
    ...renderList('subscribe', subscribe),
    // One response to each request, wherever its sender expects it.
    ...(mayRespond ? ['        allow_responses: { max: 1, expires: "1m" }'] : []),
    '      }',
    '    }',
  ];
}

function renderList(name: string, subjects: readonly string[]): readonly string[] {
  const lines = subjects.map((subject) => `          ${JSON.stringify(subject)}`);
  return [`        ${name}: { allow: [`, ...lines, '        ] }'];
}
