import type { DBAdapter, DBTransactionAdapter } from '@better-auth/core/db/adapter';
import type { AuthSecrets } from './auth-secrets.ts';

/** Encrypts a second factor again with the current secret when the library reads it, because it knows no other. */

interface SecondFactor {
  readonly id: string;
  readonly secret: string;
  readonly backupCodes: string;
}

function isSecondFactor(model: string, row: unknown): row is SecondFactor {
  return model === 'twoFactor' && typeof row === 'object' && row !== null && 'backupCodes' in row;
}

function reencryptTransaction(inner: DBTransactionAdapter, secrets: AuthSecrets): DBTransactionAdapter {
  const findOne = async <T>(call: Parameters<DBAdapter['findOne']>[0]): Promise<T | null> => {
    const row = await inner.findOne<T>(call);
    if (!isSecondFactor(call.model, row)) return row;
    const secret = await secrets.reencrypt(row.secret);
    const backupCodes = await secrets.reencrypt(row.backupCodes);
    if (secret === null && backupCodes === null) return row;
    // Stored, because the library compares the stored codes when one is used.
    const stored = await inner.incrementOne<T>({
      model: call.model,
      where: (['id', 'secret', 'backupCodes'] as const).map((field) => ({ field, value: row[field] })),
      increment: {},
      set: { secret: secret ?? row.secret, backupCodes: backupCodes ?? row.backupCodes },
    });
    // Null if another request changed the row meanwhile.
    return stored ?? findOne<T>(call);
  };
  return { ...inner, findOne };
}

export function reencryptSecondFactorsIn(inner: DBAdapter, secrets: AuthSecrets): DBAdapter {
  if (!secrets.hasOthers) return inner;
  return {
    ...inner,
    ...reencryptTransaction(inner, secrets),
    transaction: (work) => inner.transaction((adapter) => work(reencryptTransaction(adapter, secrets))),
  };
}
