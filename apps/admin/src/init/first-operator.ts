import { bootstrapInstallation, systemAuditContext, type Organisation } from '@millrace/core/identity';
import type { Db } from '@millrace/platform/db';
import { createPassword, storePassword } from '../user-password.ts';

export interface OperatorRequest {
  readonly email: string;
  readonly name: string;
  readonly organisation: string;
  readonly cell: number;
}

export interface FirstOperator {
  readonly email: string;
  readonly organisation: Organisation;
  readonly key: string;
  readonly keyId: string;
  readonly password: string;
}

/**
 * Returns null if the installation has an operator. The password is set in the same transaction: a new installation has no
 * email, so without a password the operator could not sign in.
 */
export async function createFirstOperator(db: Db, request: OperatorRequest): Promise<FirstOperator | null> {
  const { password, hash } = await createPassword();
  return db.transaction({ name: 'bootstrap', isolation: 'serializable' }, async (tx) => {
    const made = await bootstrapInstallation(tx, systemAuditContext('millrace-admin', 'live'), {
      name: request.organisation,
      homeCell: request.cell,
      owner: { email: request.email, name: request.name },
    });
    if (made === null) return null;
    const { organisation, owner, issued } = made;
    await storePassword(tx, owner.email, hash);
    return { email: owner.email, organisation, key: issued.text, keyId: issued.key.id, password };
  });
}
