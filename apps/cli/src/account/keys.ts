import type { Context } from '../framework/context.ts';
import { CliError, UsageError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import type { Column } from '../framework/output.ts';
import type { Item } from '../sdk.ts';
import { relativeText } from '@millrace/sdk/text';
import { dayText } from '../text/timestamps.ts';

export type Key = Item<'listApiKeys'>;

export function keyColumns(context: Context): readonly Column<Key>[] {
  const nowMs = context.clock.now().getTime();
  const ago = (instant: string | null): string => (instant === null ? 'never' : relativeText(instant, nowMs));
  return [
    { name: 'id', value: ({ id }) => id },
    { name: 'name', value: ({ name }) => name },
    { name: 'prefix', value: ({ prefix }) => prefix },
    { name: 'mode', value: ({ mode }) => mode },
    { name: 'state', value: (key) => keyState(key, nowMs), paint: (text) => paintState(context, text) },
    { name: 'used', value: ({ lastUsedAt }) => ago(lastUsedAt) },
    {
      name: 'expires',
      value: ({ expiresAt }) => (expiresAt === null ? 'never' : relativeText(expiresAt, nowMs)),
    },
    { name: 'created', value: ({ createdAt }) => dayText(createdAt), extra: true },
    { name: 'by', value: ({ createdBy }) => createdBy, extra: true },
    { name: 'scopes', value: ({ scopes }) => scopes.join(', '), extra: true },
    { name: 'addresses', value: ({ allowedIps }) => allowedIps.join(', ') || 'anywhere', extra: true },
  ];
}

export function keyState(
  { revokedAt, expiresAt }: Pick<Key, 'revokedAt' | 'expiresAt'>,
  nowMs: number,
): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= nowMs ? 'expired' : 'active';
}

function paintState({ io }: Context, text: string): string {
  return text.trim() === 'active' ? io.paint('green', text) : io.paint('dim', text);
}

/** Finds a key by its id, its name, or the start of the key. */
export async function findKey(context: Context, words: string): Promise<Key> {
  const keys = await context.client().keys.list({ limit: 200 }, { signal: context.signal }).all();
  const exact = keys.find(({ id, publicId }) => id === words || publicId === words);
  if (exact !== undefined) return exact;
  const named = keys.filter(
    ({ name, prefix, revokedAt }) => revokedAt === null && (name === words || prefix === words),
  );
  const [only, ...others] = named;
  if (only === undefined) {
    throw new CliError(`There is no key ${JSON.stringify(words)}.`, {
      why: 'You have no access to a key with this id or name.',
      fix: 'millrace key list',
      exitCode: exitCodes.notFound,
    });
  }
  if (others.length > 0) {
    const ids = named.map(({ id }) => id).join(', ');
    throw new UsageError(`Several keys have the name ${JSON.stringify(words)}: ${ids}.`, {
      fix: 'Use the id of the key.',
    });
  }
  return only;
}
