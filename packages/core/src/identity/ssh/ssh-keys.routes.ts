import type { Contract, ResponseBody } from '@millrace/contract';
import { Fault } from '@millrace/platform/fault';
import { requirePrincipal } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import type { SshKeyRecord } from '../model/identity.ts';
import { callContextOf, pageById, positionFromCursor, readCommitted } from '../route-helpers.ts';
import type { RouteDeps } from '../route-helpers.ts';
import { addSshKey, removeSshKey, requireSshPublicKey } from './ssh-keys.service.ts';
import { listSshKeys } from './ssh-keys.store.ts';
import type { SshAlgorithm } from './ssh-public-key.ts';

type WireSshKey = ResponseBody<Contract['operations']['createSshPublicKey']>;

/** SSH public keys of the calling user. */
export function serveSshKeys({ server, operations, db }: RouteDeps): void {
  server.serve(operations.createSshPublicKey, ({ body, context, transact }) => {
    const fields = { name: body.name, key: requireSshPublicKey(body.publicKey) };
    return transact({ name: 'add ssh key', isolation: readCommitted }, async (tx) => {
      const added = await addSshKey(tx, callContextOf(context), fields);
      return { body: toWireSshKey(added), resource: { kind: 'ssh-public-key', id: added.id } };
    });
  });

  server.serve(operations.listSshPublicKeys, async ({ query, context }) => {
    const { orgId, userId, mode } = requirePrincipal(context);
    const { limit } = query;
    const after = positionFromCursor('ssh', query.cursor);
    return pageById(await listSshKeys(db, orgId, { userId, mode }, { limit, after }), limit, toWireSshKey);
  });

  server.serve(operations.deleteSshPublicKey, ({ params, context, transact }) => {
    const id = parseId('ssh', params.sshKeyId);
    if (id === null) throw new Fault('SSH_KEY_NOT_FOUND');
    return transact({ name: 'remove ssh key', isolation: readCommitted }, async (tx) => {
      await removeSshKey(tx, callContextOf(context), id);
      return { body: undefined };
    });
  });
}

function toWireSshKey(key: SshKeyRecord): WireSshKey {
  return {
    id: key.id,
    name: key.name,
    publicKey: key.publicKey,
    fingerprint: key.fingerprint,
    // Only algorithms of the contract are stored.
    algorithm: key.algorithm as SshAlgorithm,
    createdAt: key.createdAt.toISOString(),
  };
}
