import { redactPrivateKeys } from './redact-private-keys.ts';

/** Hides secrets in the log by property name, such as `password`, and by pattern, such as an API key. */

const hidden = '[redacted]';

/** Names in lower case without `-` and `_`, so that `set-cookie`, `setCookie` and `set_cookie` are equal. */
const secretNames: ReadonlySet<string> = new Set([
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'xapikey',
  'apikey',
  'password',
  'passphrase',
  'passwd',
  'secret',
  'clientsecret',
  'signingsecret',
  'webhooksecret',
  'token',
  'accesstoken',
  'refreshtoken',
  'idtoken',
  'sessiontoken',
  'privatekey',
  'secretkey',
  'sealingkey',
  'sealingkeys',
  'sealed',
  'sealedsecret',
  'ciphertext',
  'credentials',
]);

interface Shape {
  readonly pattern: RegExp;
  readonly replacement: string;
}

const shapes: readonly Shape[] = [
  // The mode and the public id identify the key in a support case and grant no access.
  { pattern: /\bmr_(live|test)_([0-9A-Za-z]{12})_[0-9A-Za-z]+/g, replacement: `mr_$1_$2_${hidden}` },
  {
    pattern: /\bmr_(live|test)_(?![0-9A-Za-z]{12}_\[redacted\])[0-9A-Za-z_-]+/g,
    replacement: `mr_$1_${hidden}`,
  },
  {
    pattern: /\b(Bearer|Basic)\s+(?!mr_(?:live|test)_)[A-Za-z0-9._~+/=-]{8,}/gi,
    replacement: `$1 ${hidden}`,
  },
  // A sealed secret is encrypted but still must not be logged.
  { pattern: /\bv1\.([A-Za-z0-9_-]{1,32})\.[A-Za-z0-9_-]{36,}/g, replacement: `v1.$1.${hidden}` },
  // scheme://user:password@host from the colon on, because a scheme of any length would be quadratic.
  { pattern: /(:\/\/[^\s:/@"]*):[^\s@/"]+@/g, replacement: `$1:${hidden}@` },
  {
    pattern: /([?&](?:password|passwd|secret|token|access_token|api_key|apikey|key|signature)=)[^&\s"#]+/gi,
    replacement: `$1${hidden}`,
  },
  {
    pattern:
      /(\\?"(?:password|passphrase|secret|token|privateKey|private_key|sealed)\\?"\s*:\s*\\?")(?!\[redacted\])(?:[^"\\]|\\(?!"))+/gi,
    replacement: `$1${hidden}`,
  },
];

/** Hides all secret patterns in a text. Idempotent. */
export function redactText(text: string): string {
  let result = redactPrivateKeys(text, hidden);
  for (const { pattern, replacement } of shapes) result = result.replace(pattern, replacement);
  return result;
}

const maxDepth = 8;
const maxEntries = 200;

function isSecretName(name: string): boolean {
  return secretNames.has(name.toLowerCase().replaceAll(/[-_]/g, ''));
}

/** Returns a copy for the log: secrets hidden, depth and width limited, cycles cut. */
export function redactValue(value: unknown): unknown {
  return redactInner(value, 0, new Set());
}

function redactInner(value: unknown, depth: number, ancestors: Set<object>): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (ancestors.has(value)) return '[circular]';
  if (depth >= maxDepth) return '[deep]';
  ancestors.add(value);
  try {
    return redactObject(value, depth, ancestors);
  } finally {
    ancestors.delete(value);
  }
}

function redactObject(value: object, depth: number, ancestors: Set<object>): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) {
    return value.slice(0, maxEntries).map((item) => redactInner(item, depth + 1, ancestors));
  }
  if (value instanceof Map || value instanceof Set) return redactInner([...value], depth, ancestors);
  const entries = value instanceof Error ? errorEntries(value) : Object.entries(value);
  const copy: Record<string, unknown> = {};
  for (const [name, item] of entries.slice(0, maxEntries)) {
    copy[name] =
      isSecretName(name) && item !== null && item !== undefined
        ? hidden
        : redactInner(item, depth + 1, ancestors);
  }
  return copy;
}

/**
 * Name, message and stack of an error are not enumerable, but properties that a driver adds (`code`, `detail`) are.
 * Added objects are omitted, because a database driver attaches its whole connection, including the password.
 */
function errorEntries(error: Error): [string, unknown][] {
  const standard: [string, unknown][] = [
    ['type', error.name],
    ['message', error.message],
    ['stack', error.stack],
  ];
  if (error.cause !== undefined) standard.push(['cause', error.cause]);
  if (error instanceof AggregateError) standard.push(['errors', error.errors]);
  const own = Object.entries(error).filter(
    ([name, value]) =>
      !['name', 'message', 'stack', 'cause', 'errors'].includes(name) &&
      (typeof value !== 'object' || value === null),
  );
  return [...standard, ...own];
}
