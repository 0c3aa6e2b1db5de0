import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { SshKeyId } from '@millrace/platform/ids';
import { appendAuditEntry } from '../model/audit.store.ts';
import { authorizeCaller, type CallContext } from '../authorize-caller.service.ts';
import type { SshKeyRecord } from '../model/identity.ts';
import { readSshPublicKey, type SshPublicKey } from './ssh-public-key.ts';
import { countSshKeys, deleteSshKey, insertSshKey } from './ssh-keys.store.ts';

export const SSH_KEYS_MAX = 100;

/** Parses a pasted key or rejects it with the reason. The text itself is neither stored nor logged. */
export function requireSshPublicKey(text: string): SshPublicKey {
  const reading = readSshPublicKey(text);
  if (reading.ok) return reading.key;
  const { code, why, suggestion } = reading.error;
  throw new Fault('SSH_KEY_INVALID', {
    message: code === 'private_key' ? why : `This SSH public key was not accepted: ${why}.`,
    issues: [{ path: ['publicKey'], code, message: why }],
    ...(suggestion === undefined ? {} : { suggestion }),
  });
}

export async function addSshKey(
  tx: Tx,
  call: CallContext,
  fields: { readonly name: string; readonly key: SshPublicKey },
): Promise<SshKeyRecord> {
  const { orgId, cause } = call;
  const { key: owner } = await authorizeCaller(tx, call, 'ssh-keys:write');
  if ((await countSshKeys(tx, orgId, owner)) >= SSH_KEYS_MAX) throw new Fault('SSH_KEY_LIMIT_REACHED');
  const added = await insertSshKey(tx, orgId, owner, fields);
  if (added === null) throw new Fault('SSH_KEY_DUPLICATE');
  await appendAuditEntry(tx, orgId, cause, {
    action: 'ssh_key.created',
    resource: { kind: 'ssh-public-key', id: added.id },
    after: { name: added.name, algorithm: added.algorithm, fingerprint: added.fingerprint },
  });
  return added;
}

export async function removeSshKey(tx: Tx, call: CallContext, id: SshKeyId): Promise<void> {
  const { orgId, cause } = call;
  const { key: owner } = await authorizeCaller(tx, call, 'ssh-keys:write');
  const removed = await deleteSshKey(tx, orgId, owner, id);
  if (removed === null) throw new Fault('SSH_KEY_NOT_FOUND');
  await appendAuditEntry(tx, orgId, cause, {
    action: 'ssh_key.deleted',
    resource: { kind: 'ssh-public-key', id: removed.id },
    before: { name: removed.name, algorithm: removed.algorithm, fingerprint: removed.fingerprint },
  });
}
